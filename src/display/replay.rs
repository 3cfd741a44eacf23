//! A replay on the screen: a line for each step, with its duration; the output of its cell below.
//!
//! In: the starts and ends of steps. Out: `[3/12] In [3]: df = load()  1.2 s ✓`. The line of the running step is
//! live (its time ticks, and after a while the helpful keys are named); it becomes final when the step ends or when
//! something is printed below. Untrusted text in it is escaped and cut to the width. On a terminal that cannot move
//! its cursor only final lines are printed.

use std::time::{Duration, Instant};

use nu_ansi_term::{Color, Style};

use crate::runtime::{Ending, TerminalSize};
use crate::screen::live::LiveRegion;
use crate::screen::{Screen, ScreenError};
use crate::session::RunKind;
use crate::text::NOTICED;
use crate::text::{Line, columns, cut, first_line};

/// Steps that take longer show their time while they run.
const SHOW_TIME_AFTER: Duration = Duration::from_millis(300);

/// Steps that take longer show the keys.
const SHOW_KEYS_AFTER: Duration = Duration::from_secs(2);

const KEYS: &str = "  s skips it, Ctrl-C stops";

pub(super) struct ReplayView {
    screen: Screen,
    live: LiveRegion,
    step: Option<StepLine>,
}

struct StepLine {
    label: String,
    source: String,
    started: Instant,
    cell: bool,
    raised: bool,
    drawn: Option<Line>,
}

impl ReplayView {
    /// Starts the live region anew after other programs wrote to the terminal.
    pub(super) fn on_resume(&mut self) {
        self.live = LiveRegion::new(self.screen.colour());
        if let Some(step) = &mut self.step {
            step.drawn = None;
        }
    }

    pub(super) fn new(screen: Screen) -> Self {
        let live = LiveRegion::new(screen.colour());
        ReplayView {
            screen,
            live,
            step: None,
        }
    }

    /// Starts a step; the cursor must be at the start of a row.
    pub(super) fn on_step(
        &mut self,
        (step, of): (usize, usize),
        line: u32,
        kind: RunKind,
        source: &str,
    ) -> Result<(), ScreenError> {
        self.settle()?;
        let width = of.to_string().len();
        self.step = Some(StepLine {
            label: format!("[{step:>width$}/{of}] In [{line}]: "),
            source: summary(source),
            started: Instant::now(),
            cell: kind == RunKind::Cell,
            raised: false,
            drawn: None,
        });
        self.tick()
    }

    /// True while the line of a step may still change.
    pub(super) fn is_live(&self) -> bool {
        self.step.is_some()
    }

    /// Redraws the line of the running step with the time so far.
    pub(super) fn tick(&mut self) -> Result<(), ScreenError> {
        let Some(step) = self.step.as_mut().filter(|_| self.screen.is_rich()) else {
            return Ok(());
        };
        let size = self.screen.size();
        let took = step.started.elapsed();
        let mut tail = String::new();
        if took > SHOW_TIME_AFTER {
            tail = seconds(took);
        }
        if took > SHOW_KEYS_AFTER && step.cell {
            tail.push_str(KEYS);
        }
        let line = step.row(room(size), &tail, None);
        if step.drawn.as_ref() == Some(&line) {
            return Ok(());
        }
        step.drawn = Some(line.clone());
        let bytes = self.live.draw(&[], &[line], size);
        self.screen.write_trusted(&bytes)?;
        self.screen.flush()
    }

    /// Ends the step as failed, before the traceback is printed.
    pub(super) fn on_error(&mut self) -> Result<(), ScreenError> {
        if let Some(step) = &mut self.step {
            step.raised = true;
        }
        self.finish(Some(("✗", Color::Red.normal())))
    }

    pub(super) fn on_cell_end(&mut self, ending: &Ending) -> Result<(), ScreenError> {
        let raised = self.step.as_ref().is_some_and(|step| step.raised);
        let mark = match ending {
            Ending::Ok => ("✓", Color::Green.normal()),
            Ending::Error | Ending::Interrupted if !raised => ("skipped", NOTICED.normal()),
            _ => ("✗", Color::Red.normal()),
        };
        self.finish(Some(mark))
    }

    /// Makes the line final before other output.
    pub(super) fn settle(&mut self) -> Result<(), ScreenError> {
        // An exchange is done when something follows it.
        let done = self.step.as_ref().is_some_and(|step| !step.cell);
        self.finish(done.then_some(("✓", Color::Green.normal())))
    }

    fn finish(&mut self, mark: Option<(&str, Style)>) -> Result<(), ScreenError> {
        let Some(step) = self.step.take() else {
            return Ok(());
        };
        let size = self.screen.size();
        let took = step.started.elapsed();
        let tail = match mark {
            Some(_) if step.cell => seconds(took) + " ",
            _ => String::new(),
        };
        let line = step.row(room(size), &tail, mark);
        let bytes = self.live.draw(&[line], &[], size);
        self.screen.write_trusted(&bytes)?;
        self.screen.flush()
    }
}

impl StepLine {
    /// Returns the whole line, in at most `width` columns while there is room for label and time.
    fn row(&self, width: usize, tail: &str, mark: Option<(&str, Style)>) -> Line {
        let marked = mark.map_or(0, |(mark, _)| columns(mark));
        let behind = columns(tail) + marked;
        let gap = if behind > 0 { 2 } else { 0 };
        let used = columns(&self.label) + gap + behind;
        let mut line = Line::default();
        line.push(&self.label, Color::Green.normal(), None);
        line.push(
            &cut(&self.source, width.saturating_sub(used)),
            Style::new(),
            None,
        );
        line.push(&"  "[..gap], Style::new(), None);
        line.push(tail, Style::new().dimmed(), None);
        if let Some((mark, style)) = mark {
            line.push(mark, style, None);
        }
        line
    }
}

/// Columns of a line: the last one stays free, since a redraw may erase it.
fn room(size: TerminalSize) -> usize {
    usize::from(size.columns).saturating_sub(1)
}

fn summary(source: &str) -> String {
    let (first, more) = first_line(source);
    first + more
}

fn seconds(took: Duration) -> String {
    let seconds = took.as_secs();
    if seconds < 60 {
        return format!("{:.1} s", took.as_secs_f64());
    }
    format!("{}:{:02} min", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(source: &str) -> StepLine {
        StepLine {
            label: "[ 3/12] In [3]: ".into(),
            source: summary(source),
            started: Instant::now(),
            cell: true,
            raised: false,
            drawn: None,
        }
    }

    #[test]
    fn a_line_holds_what_fits() {
        let check = |width: usize, source: &str, expected: &str| {
            let mark = Some(("✓", Style::new()));
            assert_eq!(step(source).row(width, "1.2 s ", mark).plain(), expected);
        };
        check(80, "a = 1", "[ 3/12] In [3]: a = 1  1.2 s ✓");
        check(
            40,
            "for i in x:\n    y",
            "[ 3/12] In [3]: for i in x: …  1.2 s ✓",
        );
        check(
            36,
            "df = load('measurements.csv')",
            "[ 3/12] In [3]: df = loa...  1.2 s ✓",
        );
        check(80, "\n\n x\x1b[2J", "[ 3/12] In [3]: x^[[2J  1.2 s ✓");
        check(10, "a = 1", "[ 3/12] In [3]:   1.2 s ✓");
        check(20, "漢字", "[ 3/12] In [3]:   1.2 s ✓");
    }

    #[test]
    fn times_are_short() {
        let check = |ms: u64, expected: &str| {
            assert_eq!(seconds(Duration::from_millis(ms)), expected);
        };
        check(40, "0.0 s");
        check(1_249, "1.2 s");
        check(59_940, "59.9 s");
        check(61_000, "1:01 min");
    }
}
