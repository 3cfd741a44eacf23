//! Sessions taken up: which names the interpreter lacks is told, their cells can be run again, and a running session
//! can change to another one.
//!
//! In: the record's cells, and the numbers up to which they ran in an interpreter that is gone. Out: a notice, a
//! listing or a replay. Invariants: nothing is run unless it is asked for; cells that did not end well are left out,
//! and that is said; who changes the session keeps interpreter and choices, but nothing that was allowed for the
//! session left.

use std::ops::RangeInclusive;

use crate::config::RunCells;
use crate::history::{Earlier, RecordedCell, TakenUp};
use crate::magics::Again;
use crate::output::mime::MimeBundle;
use crate::report::Report;
use crate::runtime::{RuntimeAnswer, RuntimeRequest};
use crate::session::Command;
use crate::session::events::{Notice, SessionEvent, ToldEvent};
use crate::session::replay::{Purpose, Replay, ReplayStep};
use crate::session::run::RunSender;
use crate::session::slots::Waiter;
use crate::session::task::{Session, notice};
use crate::text::escape::visible;
use crate::text::{cut, first_line};

/// Entries of the earlier conversation that are told; more do not fit on a screen.
const EARLIER: u32 = 60;

/// Columns of the names that are gone, in one line.
const NAMES: usize = 56;

/// Lines of a listing that are simply printed; more go to the pager.
const PRINTED: usize = 40;

/// Columns of a cell in a listing.
const SOURCE: usize = 60;

/// Cells to run again, and those that are left out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Chosen {
    cells: Vec<RecordedCell>,
    left_out: Vec<u32>,
}

impl Session {
    /// Tells the end of the session as it was before this process.
    pub(super) fn tell_earlier(&self, answer: tokio::sync::oneshot::Sender<Option<Earlier>>) {
        let history = self.history.clone();
        tokio::spawn(async move {
            // Whoever asked may have gone.
            let _ = answer.send(history.earlier(EARLIER).await);
        });
    }

    /// Finds out what of an earlier session the interpreter lacks, and says so in the background.
    pub(super) fn look_for_gone(&self) {
        let (history, inbox) = (self.history.clone(), self.inbox.clone());
        tokio::spawn(async move {
            // A session that has ended wants nothing any more.
            let _ = inbox.send(Command::CellsRead(history.cells().await));
        });
    }

    /// The cells are there: the interpreter is asked.
    pub(super) fn on_cells_read(&mut self, cells: Vec<RecordedCell>) {
        let (gone, out, inbox) = (
            self.gone(cells),
            self.background.clone(),
            self.inbox.clone(),
        );
        tokio::spawn(async move {
            if let Some(notice) = gone.await {
                let _ = inbox.send(Command::Said(out, SessionEvent::Notice(notice)));
            }
        });
    }

    /// What is said of the names that are gone; nothing when all of them are there.
    fn gone(
        &mut self,
        cells: Vec<RecordedCell>,
    ) -> impl Future<Output = Option<Notice>> + Send + use<> {
        let chosen = choose(cells, &[], self.numbering.gone_before());
        let sources = chosen.cells.iter().map(|cell| cell.source.clone());
        let request = RuntimeRequest::Missing {
            sources: sources.collect(),
        };
        let (tell, told) = tokio::sync::oneshot::channel();
        if !chosen.cells.is_empty() {
            self.ask_runtime(request, Waiter::Asker(tell));
        }
        async move {
            match told.await {
                Ok(RuntimeAnswer::Missing(names)) if !names.is_empty() => {
                    Some(offer(&names, &chosen))
                }
                _ => None,
            }
        }
    }

    /// Runs cells of the record again, or lists them.
    pub(super) fn run_again(&mut self, again: Again, own: u32, out: &RunSender) {
        let history = self.history.clone();
        let cells = async move { history.cells().await };
        self.later(out, cells, move |session, mut cells, out| {
            cells.retain(|cell| cell.line != own);
            let chosen = choose(cells, &again.lines, session.numbering.gone_before());
            if chosen.cells.is_empty() {
                let why = nothing(&again.lines, &chosen);
                return out.send(Notice::note(why));
            }
            if again.show {
                return out.send(listed(&chosen));
            }
            if !chosen.left_out.is_empty() {
                out.send(Notice::note(left_out(&chosen.left_out)));
            }
            let steps = chosen.cells.into_iter().map(|cell| ReplayStep::Cell {
                source: cell.source,
                again: Some(cell.line),
                place: None,
            });
            let replay = Replay {
                name: format!("session {}", session.numbering.session()),
                steps: steps.collect(),
                quiet: true,
            };
            let all = again.lines.is_empty();
            session.begin_replay(replay, Purpose::Again { all }, out);
        });
    }

    /// Goes on in another session: its number or name. Interpreter, variables and choices stay.
    pub(super) fn change_session(&mut self, wanted: String, out: &RunSender) {
        let (history, outputs) = (self.history.clone(), self.outputs.clone());
        let change = async move {
            // What waits belongs to the session that is left; what the disk refuses stays readable no longer.
            let _ = tokio::task::spawn_blocking(move || outputs.write_waiting()).await;
            let taken = history.take_up(&wanted).await?;
            Ok((taken, history.earlier(EARLIER).await))
        };
        self.firmly_later(out, change, |session, changed, out| match changed {
            Ok((taken, earlier)) => session.changed(taken, earlier, out),
            Err(report) => tell(&report, out),
        });
    }

    fn changed(&mut self, taken: TakenUp, earlier: Option<Earlier>, out: &RunSender) {
        let TakenUp { start, thread } = taken;
        self.exchanges.thread_known(thread);
        self.shelf.nothing_fresh();
        self.end_all_kernels();
        self.outputs = self.outputs.anew();
        self.outputs.settle(&start);
        // What was allowed for the session that is left is not allowed in this one.
        let allowed = std::mem::take(&mut self.asking.allowed);
        if allowed.resets_are_asked {
            self.choices.run_cells = RunCells::Ask;
        }
        self.numbering.on_change(start);
        if let Some(earlier) = earlier {
            out.send(ToldEvent::Earlier(Box::new(earlier)));
        }
        let history = self.history.clone();
        let cells = async move { history.cells().await };
        self.later(out, cells, |session, cells, out| {
            let gone = session.gone(cells);
            session.later(out, gone, |_, gone, out| {
                if let Some(notice) = gone {
                    out.send(notice);
                }
            });
        });
    }
}

fn tell(report: &Report, out: &RunSender) {
    out.send(notice(report));
}

/// The cells meant by `lines` (none: those before `gone_before`). One that did not end well is left out unless its
/// number alone is named, and so is one that left the shell.
fn choose(cells: Vec<RecordedCell>, lines: &[RangeInclusive<u32>], gone_before: u32) -> Chosen {
    let mut chosen = Chosen::default();
    for cell in cells {
        let ranges = || lines.iter().filter(|range| range.contains(&cell.line));
        let wanted = match lines {
            [] => cell.line < gone_before,
            _ => ranges().next().is_some(),
        };
        let named = ranges().any(|range| range.start() == range.end());
        if !wanted || leaves(&cell.source) && !named {
            continue;
        }
        if cell.well || named {
            chosen.cells.push(cell);
        } else {
            chosen.left_out.push(cell.line);
        }
    }
    chosen
}

fn leaves(source: &str) -> bool {
    let word = source.trim().trim_start_matches('%').trim_end_matches("()");
    matches!(word, "exit" | "quit")
}

fn nothing(lines: &[RangeInclusive<u32>], chosen: &Chosen) -> String {
    if !chosen.left_out.is_empty() {
        return format!("nothing to run again: {}", left_out(&chosen.left_out));
    }
    match lines {
        [] => "nothing to run again: every cell of this session ran in this interpreter".to_owned(),
        _ => "there is no cell with such a number".to_owned(),
    }
}

/// `12 cells`.
fn count(cells: usize) -> String {
    match cells {
        1 => "1 cell".to_owned(),
        cells => format!("{cells} cells"),
    }
}

fn left_out(lines: &[u32]) -> String {
    let mut shown: Vec<String> = lines
        .iter()
        .take(5)
        .map(|line| format!("[{line}]"))
        .collect();
    if lines.len() > shown.len() {
        shown.push("…".to_owned());
    }
    let verb = if lines.len() == 1 { "is" } else { "are" };
    format!(
        "{} that did not end well {verb} left out: {}",
        count(lines.len()),
        shown.join(" ")
    )
}

/// Which names are gone, and how they come back.
fn offer(names: &[String], chosen: &Chosen) -> Notice {
    let mut line = String::new();
    let mut shown = 0;
    for name in names {
        let name = visible(name);
        if shown > 0 && line.chars().count() + name.chars().count() > NAMES {
            break;
        }
        if shown > 0 {
            line.push_str(", ");
        }
        line.push_str(&cut(&name, NAMES));
        shown += 1;
    }
    if shown < names.len() {
        line.push_str(&format!(", … ({} names)", names.len()));
    }
    let out = match chosen.left_out.len() {
        0 => String::new(),
        left => format!(" ({left} that failed left out)"),
    };
    Notice::note(format!("not in this interpreter: {line}"))
        .hint(format!(
            "`%ipycodex replay` runs the {} again{out}",
            count(chosen.cells.len())
        ))
        .hint("`%ipycodex replay show` lists them")
}

/// The cells that would run.
fn listed(chosen: &Chosen) -> SessionEvent {
    let width = chosen.cells.iter().map(|cell| cell.line.to_string().len());
    let width = width.max().unwrap_or(1) + 6;
    let mut lines: Vec<String> = chosen
        .cells
        .iter()
        .map(|cell| {
            let (first, more) = first_line(&cell.source);
            let label = format!("In [{}]:", cell.line);
            format!("{label:>width$} {}{more}", cut(&first, SOURCE))
        })
        .collect();
    if !chosen.left_out.is_empty() {
        lines.push(left_out(&chosen.left_out));
    }
    let short = lines.len() <= PRINTED;
    let text = lines.join("\n");
    if short {
        SessionEvent::Told(ToldEvent::Text(text))
    } else {
        SessionEvent::Told(ToldEvent::Page(MimeBundle::plain(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(cells: &[(u32, &str, bool)]) -> Vec<RecordedCell> {
        let cell = |(line, source, well): &(u32, &str, bool)| RecordedCell {
            line: *line,
            source: (*source).to_owned(),
            well: *well,
        };
        cells.iter().map(cell).collect()
    }

    #[test]
    fn what_went_well_and_is_gone_is_chosen() {
        let check = |lines: &[RangeInclusive<u32>], gone_before, expected: &[u32], left: &[u32]| {
            let cells = recorded(&[
                (1, "a", true),
                (2, "1/0", false),
                (4, "b", true),
                (5, "exit()", true),
                (6, "%quit", true),
                (7, "c", true),
            ]);
            let chosen = choose(cells, lines, gone_before);
            let lines: Vec<u32> = chosen.cells.iter().map(|cell| cell.line).collect();
            assert_eq!((&lines[..], &chosen.left_out[..]), (expected, left));
        };
        check(&[], 7, &[1, 4], &[2]);
        check(&[], 0, &[], &[]);
        check(&[], 99, &[1, 4, 7], &[2]);
        check(&[1..=4], 0, &[1, 4], &[2]);
        check(&[2..=2], 0, &[2], &[]);
        check(&[5..=5, 7..=9], 0, &[5, 7], &[]);
        check(&[3..=3], 9, &[], &[]);
    }

    #[test]
    fn the_offer_is_a_line_of_names_and_what_to_do() {
        let chosen = Chosen {
            cells: recorded(&[(1, "a", true)]),
            left_out: vec![2, 3],
        };
        let names =
            |count: usize| -> Vec<String> { (0..count).map(|n| format!("name_{n}")).collect() };
        let few = offer(&names(2), &chosen);
        assert_eq!(few.message, "not in this interpreter: name_0, name_1");
        assert_eq!(
            few.hints,
            [
                "`%ipycodex replay` runs the 1 cell again (2 that failed left out)",
                "`%ipycodex replay show` lists them"
            ]
        );
        let many = offer(&names(500), &chosen);
        assert!(many.message.ends_with(", … (500 names)"), "{many:?}");
        assert!(many.message.chars().count() < 110, "{many:?}");
        let long = offer(&["x".repeat(500)], &chosen);
        assert!(long.message.chars().count() < 110, "{long:?}");
    }

    #[test]
    fn cells_are_listed_by_their_first_lines() {
        let chosen = Chosen {
            cells: recorded(&[(9, "a", true), (10, "for x in y:\n    z\x1b[2J", true)]),
            left_out: vec![3],
        };
        let SessionEvent::Told(ToldEvent::Text(text)) = listed(&chosen) else {
            panic!("short");
        };
        assert_eq!(
            text,
            " In [9]: a\nIn [10]: for x in y: …\n1 cell that did not end well is left out: [3]"
        );
    }
}
