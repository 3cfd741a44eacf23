//! The In numbers: the next one, where the session began, and which cells ran in an interpreter that is gone.
//!
//! Pure, but for the next number, which handles read at any time. Invariants: a number is given once; none is given
//! before the start of a resumed session is known; handles see the remaining steps of a file counted in, so that
//! the next input's number is known while the file runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::record::SessionStart;
use crate::text::report::Report;

pub(super) struct Numbering {
    next: u32,
    ahead: u32,
    start: StartState,
    recorded: bool,
    /// Cells with a lower number ran in an interpreter that is gone.
    gone_before: u32,
    shown: Arc<AtomicU32>,
}

enum StartState {
    /// Not read yet; inputs of a resumed session wait for the record.
    Awaited {
        taken_up: bool,
    },
    Known(Result<SessionStart, Report>),
}

impl Numbering {
    /// Begins at 1, or after the end of the earlier session that is `taken_up`.
    pub(super) fn new(taken_up: bool, shown: Arc<AtomicU32>) -> Self {
        let numbering = Numbering {
            next: 1,
            ahead: 0,
            start: StartState::Awaited { taken_up },
            recorded: false,
            gone_before: 0,
            shown,
        };
        numbering.show();
        numbering
    }

    fn show(&self) {
        let shown = self.next.saturating_add(self.ahead);
        self.shown.store(shown, Ordering::Relaxed);
    }

    /// Returns true when inputs can be numbered.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.start, StartState::Awaited { taken_up: true })
    }

    pub(super) fn on_start(&mut self, start: Result<SessionStart, Report>) {
        if let Ok(start) = &start
            && start.resumed
        {
            self.next = start.next_line;
            self.mark_interpreter_lost();
        }
        self.start = StartState::Known(start);
        self.show();
    }

    /// Continues with the numbers of another session in the record.
    pub(super) fn on_change(&mut self, start: SessionStart) {
        self.on_fork(start);
        self.mark_interpreter_lost();
    }

    /// Continues with the numbers of a fork of this session, whose cells ran where those of this one did.
    pub(super) fn on_fork(&mut self, start: SessionStart) {
        self.next = start.next_line;
        self.recorded = true;
        self.start = StartState::Known(Ok(start));
        self.show();
    }

    /// Returns the next number, for an input that is recorded.
    pub(super) fn take(&mut self) -> u32 {
        self.recorded = true;
        self.take_private()
    }

    /// Returns the next number, for an input that is not recorded.
    pub(super) fn take_private(&mut self) -> u32 {
        let line = self.next;
        self.next += 1;
        self.show();
        line
    }

    /// Returns the number shown for an input that takes none; the next input gets the same number.
    pub(super) fn passing(&self) -> u32 {
        self.next
    }

    /// Returns the next number, for a step of the running file.
    pub(super) fn take_ahead(&mut self) -> u32 {
        self.ahead = self.ahead.saturating_sub(1);
        self.take()
    }

    /// Reserves numbers for the steps of a file; 0 when the file is over.
    pub(super) fn expect(&mut self, steps: usize) {
        self.ahead = u32::try_from(steps).unwrap_or(u32::MAX);
        self.show();
    }

    pub(super) fn mark_interpreter_lost(&mut self) {
        self.gone_before = self.next;
    }

    /// Records that all cells of the record have been run again.
    pub(super) fn clear_interpreter_lost(&mut self) {
        self.gone_before = 0;
    }

    /// Returns the number below which cells ran in an interpreter that is gone.
    pub(super) fn gone_before(&self) -> u32 {
        self.gone_before
    }

    /// Returns `None` until the record was read.
    pub(super) fn start(&self) -> Option<&Result<SessionStart, Report>> {
        match &self.start {
            StartState::Awaited { .. } => None,
            StartState::Known(start) => Some(start),
        }
    }

    /// Returns the session's number; 0 while it is not known.
    pub(super) fn session(&self) -> i64 {
        match self.start() {
            Some(Ok(start)) => start.number,
            _ => 0,
        }
    }

    /// Returns the session's number, when there is something to resume.
    pub(super) fn resumable(&self) -> Option<i64> {
        let start = self.start()?.as_ref().ok()?;
        (start.recorded && self.recorded).then_some(start.number)
    }
}

/// Names cells: `In [3]`, `In [3] and In [4]`, `In [3] to In [9]`.
pub(super) fn in_words(lines: impl Iterator<Item = u32>) -> String {
    let names: Vec<String> = lines.map(|line| format!("In [{line}]")).collect();
    match names.as_slice() {
        [first, _, .., last] => format!("{first} to {last}"),
        names => names.join(" and "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(number: i64, next_line: u32, resumed: bool) -> SessionStart {
        SessionStart {
            number,
            next_line,
            resumed,
            recorded: true,
        }
    }

    fn numbering(taken_up: bool) -> (Numbering, impl Fn() -> u32) {
        let shown = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&shown);
        let numbering = Numbering::new(taken_up, shown);
        (numbering, move || seen.load(Ordering::Relaxed))
    }

    #[test]
    fn a_new_session_counts_before_the_record_has_told_anything() {
        let (mut numbering, shown) = numbering(false);
        assert!(numbering.is_open());
        assert_eq!((numbering.take_private(), shown()), (1, 2));
        assert_eq!(numbering.resumable(), None);
        numbering.on_start(Ok(start(7, 1, false)));
        assert_eq!((numbering.session(), numbering.resumable()), (7, None));
        assert_eq!((numbering.take(), shown()), (2, 3));
        assert_eq!(numbering.resumable(), Some(7));
    }

    #[test]
    fn a_session_taken_up_counts_from_its_end_and_lacks_its_cells() {
        let (mut numbering, shown) = numbering(true);
        assert!(!numbering.is_open());
        numbering.on_start(Ok(start(3, 9, true)));
        assert!(numbering.is_open());
        assert_eq!((shown(), numbering.gone_before()), (9, 9));
        numbering.clear_interpreter_lost();
        assert_eq!(numbering.gone_before(), 0);
        numbering.on_change(start(4, 2, true));
        assert_eq!((numbering.take(), numbering.gone_before()), (2, 2));
        assert_eq!(numbering.resumable(), Some(4));
    }

    #[test]
    fn a_record_that_fails_holds_nobody_up() {
        let (mut numbering, _) = numbering(true);
        numbering.on_start(Err(Report::usage("no session 9")));
        assert!(numbering.is_open());
        assert_eq!((numbering.take(), numbering.session()), (1, 0));
        assert_eq!(numbering.resumable(), None);
    }

    #[test]
    fn a_file_takes_its_numbers_before_the_next_input() {
        let (mut numbering, shown) = numbering(false);
        numbering.expect(3);
        assert_eq!(shown(), 4);
        assert_eq!((numbering.take_ahead(), shown()), (1, 4));
        numbering.expect(0);
        assert_eq!(shown(), 2);
    }
}
