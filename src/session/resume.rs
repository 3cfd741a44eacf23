//! Resumed sessions: names the interpreter lacks, cells to run again, and the change to another session.
//!
//! In: the record's cells, and the number before which they ran in an interpreter that is gone. Out: a notice, a
//! listing or a replay. Invariants: nothing runs unless asked for; cells that failed or were stepped back over are left
//! out with a notice; a change of session keeps interpreter and choices, but no permission of the session that is left.

use std::ops::RangeInclusive;

use tokio::sync::oneshot;

use crate::LastExchange;
use crate::config::{AgentChoice, Choices};
use crate::dialog::Dialog;
use crate::effect::{Effect, Found, emit};
use crate::events::{AfterEvent, Notice, TextEvent, report_notice};
use crate::magics::ReplayRequest;
use crate::output::mime::MimeBundle;
use crate::outputs::Outputs;
use crate::peers::MissingAgent;
use crate::record::{RecordHandle, RecordedCell, RecordedThreads, SessionStart, SessionTail};
use crate::replay::{self, Replay, ReplayPurpose, ReplayStep};
use crate::runtime::{RuntimeReply, RuntimeRequest};
use crate::text::escape::visible;
use crate::text::report::Report;
use crate::text::{cut, first_line};

/// The most entries of the earlier conversation shown: one screen.
const EARLIER: u32 = 60;

/// Columns of the line that lists missing names.
const NAMES: usize = 56;

/// The longest listing, in lines, that is printed; a longer one goes to the pager.
const PRINTED: usize = 40;

/// Columns of a cell in a listing.
const SOURCE: usize = 60;

#[derive(Debug, Default, PartialEq, Eq)]
struct CellSelection {
    cells: Vec<RecordedCell>,
    left_out: Vec<u32>,
    stepped_over: Vec<u32>,
}

/// Returns the session's start in the record, and the agent's threads of a resumed one.
pub(super) async fn began(record: RecordHandle) -> (Result<SessionStart, Report>, RecordedThreads) {
    let start = record.session().await;
    let threads = match &start {
        Ok(start) if start.resumed => record.recorded_threads().await,
        _ => RecordedThreads::default(),
    };
    (start, threads)
}

/// Returns the end of the session as it was before this process.
pub(super) async fn earlier(record: RecordHandle) -> Option<SessionTail> {
    record.tail(EARLIER).await
}

/// Returns the notice that another agent than before answers from now on.
pub(super) fn other_agent(
    earlier: &SessionTail,
    choices: &Choices,
    missing: &MissingAgent,
) -> Option<Notice> {
    let (own, now) = (visible(&earlier.provider), choices.agent.to_string());
    let differs = earlier.prompts > 0 && !own.is_empty() && own != now;
    differs.then(|| {
        let mut told = format!("the agent of this session was {own}, it is {now} now");
        // The record may have been written by another program.
        if let Ok(choice) = own.parse::<AgentChoice>() {
            told += &match missing(&choice) {
                None => format!(": `%ipycodex agent {own}` goes on with it"),
                Some(why) => format!(", and cannot go on: {why}"),
            };
        }
        Notice::note(told)
    })
}

/// Cells whose names the interpreter may lack: requests, and notices about those that it lacks.
pub(super) struct MissingNames(CellSelection);

impl MissingNames {
    /// Selects the cells that ran before `gone_before`; `None` without any.
    pub(super) fn among(cells: Vec<RecordedCell>, gone_before: u32) -> Option<Self> {
        let chosen = choose(cells, &[], gone_before);
        (!chosen.cells.is_empty()).then_some(MissingNames(chosen))
    }

    pub(super) fn request(&self) -> RuntimeRequest {
        let sources = self.0.cells.iter().map(|cell| cell.source.clone());
        RuntimeRequest::FindMissingNames {
            sources: sources.collect(),
        }
    }

    pub(super) async fn said(self, told: oneshot::Receiver<RuntimeReply>) -> Vec<Effect> {
        match told.await {
            Ok(RuntimeReply::Missing(names)) if !names.is_empty() => emit(offer(&names, &self.0)),
            _ => Vec::new(),
        }
    }
}

/// Prepares a replay of a front-end; reads from the record where an exchange belongs.
pub(super) async fn handed_in(replay: Replay, record: RecordHandle) -> Vec<Effect> {
    let asks = |step: &ReplayStep| matches!(step, ReplayStep::Prompt { after: None, .. });
    let last_code = match replay.steps.iter().any(asks) {
        true => replay::last_code(&record.dialog().await),
        false => 0,
    };
    vec![Effect::found(Found::Replay {
        replay,
        last_code,
        purpose: ReplayPurpose::Again { all: false },
    })]
}

/// Runs recorded cells again, or lists them; `own` is the number of the command itself.
pub(super) async fn run_again(
    record: RecordHandle,
    again: ReplayRequest,
    own: u32,
    gone_before: u32,
) -> Vec<Effect> {
    let mut cells = record.cells().await;
    cells.retain(|cell| cell.line != own);
    let chosen = choose(cells, &again.lines, gone_before);
    if chosen.cells.is_empty() {
        return emit(Notice::note(nothing(&again.lines, &chosen)));
    }
    if again.show {
        return emit(listed(&chosen));
    }
    let mut effects = Vec::new();
    effects.extend(
        left_out(&chosen)
            .into_iter()
            .flat_map(|line| emit(Notice::note(line))),
    );
    let steps = chosen.cells.into_iter().map(|cell| ReplayStep::Cell {
        source: cell.source,
        again: Some(cell.line),
        place: None,
        metadata: Default::default(),
    });
    let session = record.session().await.map_or(0, |start| start.number);
    let all = again.lines.is_empty();
    effects.push(Effect::found(Found::Replay {
        replay: Replay {
            name: format!("session {session}"),
            steps: steps.collect(),
            quiet: true,
        },
        last_code: 0,
        purpose: ReplayPurpose::Again { all },
    }));
    effects
}

/// Looks up another session by number or name. Outputs not yet on disk belong to the session that is left.
pub(super) async fn change_session(
    record: RecordHandle,
    outputs: Outputs,
    wanted: String,
) -> Vec<Effect> {
    // Outputs that cannot be written are lost.
    let _ = tokio::task::spawn_blocking(move || outputs.write_waiting()).await;
    match record.switch_to(&wanted).await {
        Ok(taken) => {
            let found = (taken, earlier(record).await);
            vec![Effect::found(Found::Session(Box::new(found)))]
        }
        Err(report) => emit(report_notice(&report)),
    }
}

pub(super) async fn begin_session(
    record: RecordHandle,
    outputs: Outputs,
    name: Option<String>,
) -> Vec<Effect> {
    // Outputs that cannot be written are lost.
    let _ = tokio::task::spawn_blocking(move || outputs.write_waiting()).await;
    let taken = match record.switch_to_new().await {
        Ok(taken) => taken,
        Err(report) => return emit(report_notice(&report)),
    };
    let own = taken.start.number;
    let called = name.map_or_else(String::new, |name| {
        record.rename(&name);
        format!(", `{}`", visible(&name))
    });
    let back = taken.left.map_or_else(String::new, |left| {
        format!("; `%ipycodex resume {left}` goes back")
    });
    let said = TextEvent::Text(format!("Session {own}{called} begins here{back}."));
    let found = Found::Session(Box::new((taken, None)));
    vec![Effect::show(said), Effect::found(found)]
}

/// Goes on in a session that holds copies of the entries of this one before the In number `before`, with `text` in the
/// editor.
pub(super) async fn fork_session(
    record: RecordHandle,
    outputs: Outputs,
    before: u32,
    text: Option<String>,
) -> Vec<Effect> {
    let left = record.session().await.map_or(0, |start| start.number);
    let waiting = outputs.clone();
    // Outputs that cannot be written are lost.
    let _ = tokio::task::spawn_blocking(move || waiting.write_waiting()).await;
    let taken = match record.switch_to_fork(before).await {
        Ok(taken) => taken,
        Err(report) => return emit(report_notice(&report)),
    };
    let own = taken.start.number;
    // Outputs that cannot be copied are lost to the fork.
    let _ = tokio::task::spawn_blocking(move || outputs.copy_to(own)).await;
    let said = TextEvent::Text(format!(
        "Session {own} is a fork of session {left}, with what came before In [{before}]; `%ipycodex resume {left}` \
         goes back."
    ));
    let found = Found::Session(Box::new((taken, None)));
    let mut effects = vec![Effect::show(said), Effect::found(found)];
    effects.extend(
        text.into_iter()
            .flat_map(|text| emit(AfterEvent::Refill(text))),
    );
    effects
}

/// Selects the cells in `lines` (when empty, those before `gone_before`). A cell that did not end well is left out
/// unless its number alone is given; so is a cell that was stepped back over, or that left the shell.
fn choose(
    cells: Vec<RecordedCell>,
    lines: &[RangeInclusive<u32>],
    gone_before: u32,
) -> CellSelection {
    let mut chosen = CellSelection::default();
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
        if named || cell.succeeded && !cell.stepped_over {
            chosen.cells.push(cell);
        } else if cell.stepped_over {
            chosen.stepped_over.push(cell.line);
        } else {
            chosen.left_out.push(cell.line);
        }
    }
    chosen
}

pub(super) fn leaves(source: &str) -> bool {
    let word = source.trim().trim_start_matches('%').trim_end_matches("()");
    matches!(word, "exit" | "quit")
}

fn nothing(lines: &[RangeInclusive<u32>], chosen: &CellSelection) -> String {
    let left_out = left_out(chosen);
    if !left_out.is_empty() {
        return format!("nothing to run again: {}", left_out.join("; "));
    }
    match lines {
        [] => "nothing to run again: every cell of this session ran in this interpreter".to_owned(),
        _ => "there is no cell with that number".to_owned(),
    }
}

/// `12 cells`.
fn count(cells: usize) -> String {
    match cells {
        1 => "1 cell".to_owned(),
        cells => format!("{cells} cells"),
    }
}

fn left_out(chosen: &CellSelection) -> Vec<String> {
    let reasons = [
        (&chosen.left_out, "did not end well"),
        (&chosen.stepped_over, "were stepped back over"),
    ];
    let reasons = reasons.into_iter().filter(|(lines, _)| !lines.is_empty());
    reasons.map(|(lines, why)| without(lines, why)).collect()
}

fn without(lines: &[u32], why: &str) -> String {
    let mut shown: Vec<String> = lines
        .iter()
        .take(5)
        .map(|line| format!("[{line}]"))
        .collect();
    if lines.len() > shown.len() {
        shown.push("…".to_owned());
    }
    let (why, verb) = match lines.len() {
        1 => (why.replace("were", "was"), "is"),
        _ => (why.to_owned(), "are"),
    };
    format!(
        "{} that {why} {verb} left out: {}",
        count(lines.len()),
        shown.join(" ")
    )
}

/// Returns the notice about missing names, with the remedy.
fn offer(names: &[String], chosen: &CellSelection) -> Notice {
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
        1 => " (1 that failed is left out)".to_owned(),
        left => format!(" ({left} that failed are left out)"),
    };
    Notice::note(format!("not in this interpreter: {line}"))
        .hint(format!(
            "`%ipycodex replay` runs the {} again{out}",
            count(chosen.cells.len())
        ))
        .hint("`%ipycodex replay show` lists them")
}

fn listed(chosen: &CellSelection) -> TextEvent {
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
    lines.extend(left_out(chosen));
    let short = lines.len() <= PRINTED;
    let text = lines.join("\n");
    if short {
        TextEvent::Text(text)
    } else {
        TextEvent::Page(MimeBundle::plain(text))
    }
}

pub(super) fn last_exchange(dialog: &Dialog) -> Option<LastExchange> {
    let last = dialog.last_exchange()?;
    Some(LastExchange {
        line: last.line,
        prompt: last.prompt.clone(),
        response: last.response.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(cells: &[(u32, &str, bool)]) -> Vec<RecordedCell> {
        let cell = |(line, source, well): &(u32, &str, bool)| RecordedCell {
            line: *line,
            source: (*source).to_owned(),
            succeeded: *well,
            stepped_over: source.starts_with("over"),
        };
        cells.iter().map(cell).collect()
    }

    #[test]
    fn an_agent_that_can_be_chosen_is_offered() {
        let choices = Choices {
            agent: AgentChoice::Codex,
            ..Choices::default()
        };
        let check = |provider: &str, expected: Option<&str>| {
            let earlier = SessionTail {
                provider: provider.into(),
                prompts: 1,
                ..SessionTail::default()
            };
            let missing: MissingAgent = Box::new(|choice| {
                let gone = *choice == AgentChoice::Named("gone".into());
                gone.then(|| "it has left".to_owned())
            });
            let told = other_agent(&earlier, &choices, &missing).map(|notice| notice.message);
            assert_eq!(told.as_deref(), expected);
        };
        check("codex", None);
        check(
            "demo",
            Some(
                "the agent of this session was demo, it is codex now: `%ipycodex agent demo` goes on with it",
            ),
        );
        check(
            "gone",
            Some(
                "the agent of this session was gone, it is codex now, and cannot go on: it has left",
            ),
        );
        check(
            "Some Program",
            Some("the agent of this session was Some Program, it is codex now"),
        );
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
                (8, "over", true),
                (9, "over, failed", false),
            ]);
            let chosen = choose(cells, lines, gone_before);
            let lines: Vec<u32> = chosen.cells.iter().map(|cell| cell.line).collect();
            assert_eq!((&lines[..], &chosen.left_out[..]), (expected, left));
            chosen.stepped_over
        };
        check(&[], 7, &[1, 4], &[2]);
        check(&[], 0, &[], &[]);
        assert_eq!(check(&[], 99, &[1, 4, 7], &[2]), [8, 9]);
        assert_eq!(check(&[7..=9], 0, &[7], &[]), [8, 9]);
        assert_eq!(check(&[8..=8], 0, &[8], &[]), [0; 0]);
        check(&[1..=4], 0, &[1, 4], &[2]);
        check(&[2..=2], 0, &[2], &[]);
        check(&[5..=5, 7..=9], 0, &[5, 7], &[]);
        check(&[3..=3], 9, &[], &[]);
    }

    #[test]
    fn the_offer_is_a_line_of_names_and_what_to_do() {
        let chosen = CellSelection {
            cells: recorded(&[(1, "a", true)]),
            left_out: vec![2, 3],
            stepped_over: vec![4],
        };
        let names =
            |count: usize| -> Vec<String> { (0..count).map(|n| format!("name_{n}")).collect() };
        let few = offer(&names(2), &chosen);
        assert_eq!(few.message, "not in this interpreter: name_0, name_1");
        assert_eq!(
            few.hints,
            [
                "`%ipycodex replay` runs the 1 cell again (2 that failed are left out)",
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
        let chosen = CellSelection {
            cells: recorded(&[(9, "a", true), (10, "for x in y:\n    z\x1b[2J", true)]),
            left_out: vec![3],
            stepped_over: vec![4, 5],
        };
        let TextEvent::Text(text) = listed(&chosen) else {
            panic!("short");
        };
        assert_eq!(
            text,
            " In [9]: a\nIn [10]: for x in y: …\n1 cell that did not end well is left out: [3]\n\
             2 cells that were stepped back over are left out: [4] [5]"
        );
    }
}
