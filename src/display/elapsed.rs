//! Elapsed time of a run: in the terminal's title and, while nothing is printed, in a transient line together with
//! the typeahead; the duration of a long cell stays below it. Time spent waiting for keys is not counted.
//!
//! In: the events of a run, whether it waits for keys, and the clock. Out: a title and a transient line through the
//! screen, once a second. Invariants: nothing before two seconds; the line is shown in an empty row only, never
//! where the user types an answer, and is erased before other output (by the screen); the title is restored at the
//! end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nu_ansi_term::Style;

use super::question_prompt::{Keyboard, Typeahead};
use super::rows::{Rows, print};
use crate::screen::{Screen, ScreenError};
use crate::session::{BeginEvent, CellEvent, EndEvent, RunKind, SessionEvent};
use crate::text::cut;
use crate::text::escape::visible;

/// Shorter runs show nothing.
const PATIENCE: Duration = Duration::from_secs(2);

const SECOND: Duration = Duration::from_secs(1);

const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(super) struct Elapsed {
    screen: Screen,
    keyboard: Option<Arc<dyn Keyboard>>,
    running: Option<RunningInput>,
    /// Duration of the cell that ended, if it was long.
    took: Option<Duration>,
}

struct RunningInput {
    /// `In [3]`.
    label: String,
    since: Instant,
    /// Time of the last output.
    printed: Instant,
    next: Instant,
    titled: bool,
    /// Progress reported by the running code.
    status: Option<String>,
    /// Time of the last check for a wait for keys.
    looked: Instant,
    /// Start of the current wait for keys.
    waits: Option<Instant>,
    /// Total of earlier waits for keys.
    waited: Duration,
}

impl RunningInput {
    /// Records whether the run waits for keys; the last key was pressed `quiet` ago.
    fn observe_wait(&mut self, waits: bool, quiet: Duration) {
        let now = Instant::now();
        match self.waits {
            // The prompt was printed before the wait began.
            None if waits => self.waits = Some(self.looked.max(self.printed)),
            Some(since) if !waits => {
                self.waited += (now - since).saturating_sub(quiet);
                self.waits = None;
            }
            _ => {}
        }
        self.looked = now;
    }

    /// Elapsed time without waits for keys; the last key was pressed `quiet` ago.
    fn taken(&mut self, quiet: Duration) -> Duration {
        self.observe_wait(false, quiet);
        self.since.elapsed().saturating_sub(self.waited)
    }
}

impl Elapsed {
    /// `keyboard` knows the time of the last key.
    pub(super) fn new(screen: Screen, keyboard: Option<Arc<dyn Keyboard>>) -> Self {
        Elapsed {
            screen,
            keyboard,
            running: None,
            took: None,
        }
    }

    /// Takes an event of the run; the end of a cell `in_turn` does not end the run.
    pub(super) fn on_event(
        &mut self,
        event: &SessionEvent,
        in_turn: bool,
    ) -> Result<(), ScreenError> {
        match event {
            SessionEvent::Begin(
                BeginEvent::Input {
                    kind: RunKind::Cell | RunKind::Shell | RunKind::Prompt,
                    line,
                }
                | BeginEvent::AgentCell { line, .. },
            ) => {
                self.begin(*line);
                Ok(())
            }
            SessionEvent::Cell(CellEvent::Ended { .. }) if !in_turn => {
                self.took = self.taken();
                self.end()
            }
            SessionEvent::End(EndEvent::Turn { .. }) => self.end(),
            SessionEvent::Cell(CellEvent::Status(text)) => self.set_status(text),
            SessionEvent::Begin(
                BeginEvent::Input { .. }
                | BeginEvent::Wait
                | BeginEvent::Step { .. }
                | BeginEvent::Asked { .. },
            )
            | SessionEvent::Cell(_)
            | SessionEvent::Answer(_)
            | SessionEvent::Question(_)
            | SessionEvent::End(
                EndEvent::Asked { .. }
                | EndEvent::Replay(_)
                | EndEvent::Call { .. }
                | EndEvent::NotRun,
            )
            | SessionEvent::Text(_)
            | SessionEvent::Notice(_)
            | SessionEvent::After(_)
            | SessionEvent::RuntimeDied { .. } => {
                self.on_printed();
                Ok(())
            }
        }
    }

    fn begin(&mut self, line: u32) {
        let now = Instant::now();
        let titled = self.running.take().is_some_and(|earlier| earlier.titled);
        self.running = Some(RunningInput {
            label: format!("In [{line}]"),
            since: now,
            printed: now,
            next: now + PATIENCE,
            titled,
            status: None,
            looked: now,
            waits: None,
            waited: Duration::ZERO,
        });
    }

    fn set_status(&mut self, text: &str) -> Result<(), ScreenError> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        running.status = Some(visible(text).into_owned()).filter(|text| !text.is_empty());
        running.next = Instant::now();
        match running.status {
            None => self.screen.show_transient(None),
            Some(_) => Ok(()),
        }
    }

    fn on_printed(&mut self) {
        if let Some(running) = &mut self.running {
            running.printed = Instant::now();
        }
    }

    pub(super) fn end(&mut self) -> Result<(), ScreenError> {
        match self.running.take() {
            Some(running) => {
                if running.titled || running.status.is_some() {
                    self.screen.show_transient(None)?;
                }
                match running.titled {
                    true => self.screen.set_title(None),
                    false => Ok(()),
                }
            }
            None => Ok(()),
        }
    }

    /// Elapsed time, if it was long and there is a terminal to show it on.
    fn taken(&mut self) -> Option<Duration> {
        let running = self.running.as_mut().filter(|_| self.screen.is_rich())?;
        let quiet = self
            .keyboard
            .as_ref()
            .map(|keyboard| keyboard.since_last_key());
        Some(running.taken(quiet.unwrap_or_default())).filter(|taken| *taken >= PATIENCE)
    }

    /// Prints the duration of the cell that ended below its output, if it was long.
    pub(super) fn print_duration(&mut self) -> Result<(), ScreenError> {
        let Some(taken) = self.took.take() else {
            return Ok(());
        };
        let mut row = Rows::new(usize::from(self.screen.size().columns));
        let text = format!("took {}", precise_time(taken));
        row.text(0, &text, Style::new().dimmed());
        print(&self.screen, &row.into_rows())?;
        self.screen.flush()
    }

    /// Time until the next tick; `None` when nothing runs or nothing can be shown.
    pub(super) fn until_tick(&self) -> Option<Duration> {
        let running = self.running.as_ref().filter(|_| self.screen.is_rich())?;
        let look = self
            .keyboard
            .as_ref()
            .map(|_| running.looked + POLL_INTERVAL);
        let next = look.map_or(running.next, |look| look.min(running.next));
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Shows the time when it is due; the line only where the row is `free`, the title unless the terminal is
    /// `lent`.
    pub(super) fn tick(
        &mut self,
        free: bool,
        lent: bool,
        ahead: &Typeahead,
    ) -> Result<(), ScreenError> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        if let Some(keyboard) = &self.keyboard {
            running.observe_wait(ahead.input_awaited || lent, keyboard.since_last_key());
        }
        let now = Instant::now();
        if now < running.next {
            return Ok(());
        }
        let taken = now - running.since;
        running.next = running.since + SECOND * (whole_seconds(taken) + 1);
        let time = time(taken);
        if !lent && taken >= PATIENCE {
            running.titled = true;
            self.screen
                .set_title(Some(&format!("⏳ {time} · {}", running.label)))?;
        }
        // Ticks fall on whole seconds, output between them.
        let quiet = now - running.printed + SECOND / 4 >= PATIENCE;
        let status = running.status.take();
        let stands = free && !lent && !ahead.input_awaited;
        let line = (stands && (quiet || status.is_some())).then(|| {
            let width = usize::from(self.screen.size().columns);
            let beside = status
                .clone()
                .or_else(|| queued_rows(ahead, 1, width).pop());
            let line = match beside {
                Some(queued) => format!("⏳ {time} · {queued}"),
                None => format!("⏳ {time}"),
            };
            cut(&line, width.saturating_sub(2)).into_owned()
        });
        if line.is_some() || !lent {
            self.screen.show_transient(line.as_deref())?;
        }
        running.status = status;
        self.screen.flush()
    }
}

/// Rows of the typeahead, at most `most`, the newest last.
pub(super) fn queued_rows(ahead: &Typeahead, most: usize, width: usize) -> Vec<String> {
    let back = if ahead.typed.is_empty() {
        " (Up takes it back)"
    } else {
        ""
    };
    let count = ahead.queued.len();
    let shown = &ahead.queued[count.saturating_sub(most)..];
    let mut rows: Vec<String> = shown
        .iter()
        .map(|line| {
            let room = width.saturating_sub(40).max(20);
            format!("queued: {}", cut(&visible(line.trim()), room))
        })
        .collect();
    if let Some(first) = rows.first_mut()
        && count > most
    {
        *first = first.replacen("queued", &format!("queued after {} more", count - most), 1);
    }
    if let Some(last) = rows.last_mut() {
        last.push_str(back);
    }
    rows
}

fn whole_seconds(taken: Duration) -> u32 {
    u32::try_from(taken.as_secs()).unwrap_or(u32::MAX - 1)
}

/// A duration at the end of a run: `2.4 s`, `3 min 5 s`, `2 h 3 min`.
fn precise_time(taken: Duration) -> String {
    if taken < SECOND * 60 {
        format!("{:.1} s", taken.as_secs_f64())
    } else {
        time(taken)
    }
}

/// A duration in whole seconds: `12 s`, `3 min 5 s`, `2 h 3 min`.
pub(super) fn time(taken: Duration) -> String {
    let seconds = taken.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min {} s", seconds % 60),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::time;
    use std::time::Duration;

    #[test]
    fn times_are_written_in_words() {
        for (seconds, expected) in [
            (2, "2 s"),
            (59, "59 s"),
            (60, "1 min 0 s"),
            (185, "3 min 5 s"),
            (7380, "2 h 3 min"),
        ] {
            assert_eq!(time(Duration::from_secs(seconds)), expected);
        }
    }
}
