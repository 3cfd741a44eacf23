//! `undo` and `retry`: the last exchange leaves the conversation, or one that a prompt replaces; the interpreter steps
//! back with it, if the user agrees.
//!
//! Invariant: where an exchange that is taken back has run cells which stay in the interpreter, that is said, with why
//! and what can be done; nobody's answer is guessed, and whoever stops at the question has taken nothing back.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use tokio::sync::oneshot;

use super::deed::{Deed, tell, warn};
use super::steps;
use crate::dialog::{CellEntry, Dialog};
use crate::history::History;
use crate::input::is_ours;
use crate::runtime::{CellStep, CheckpointWish, Checkpoints, RuntimeAnswer};
use crate::session::Submission;
use crate::session::events::{Notice, ToldEvent};
use crate::session::question::SteppedCell;
use crate::session::taken_back::{Sessions, TakenBack, Then};

const NONE_TO_TAKE_BACK: &str = "there is no exchange to take back";

/// Characters of a prompt that name it in a line.
const NAMED: usize = 60;

/// Takes the last exchange back; `ran_for` tells the agent's cells with their prompts.
pub(super) async fn take_back(
    history: History,
    then: Then,
    ran_for: BTreeMap<u32, u32>,
) -> Vec<Deed> {
    let dialog = history.dialog().await;
    let Some(last) = dialog.last_exchange() else {
        return warn(NONE_TO_TAKE_BACK);
    };
    let taken = TakenBack {
        line: last.line,
        prompt: last.prompt.clone(),
        then,
        over: over(&dialog, last.line..=last.line, &ran_for),
    };
    offer(taken)
}

/// A prompt is to replace the exchange at `line` and all that came after.
pub(in crate::session) async fn replace(
    history: History,
    line: u32,
    submission: Submission,
    ran_for: BTreeMap<u32, u32>,
) -> Vec<Deed> {
    let dialog = history.dialog().await;
    offer(TakenBack {
        line,
        prompt: submission.text.clone(),
        over: over(&dialog, line..=u32::MAX, &ran_for),
        then: Then::Begin(Box::new(submission)),
    })
}

fn offer(taken: TakenBack) -> Vec<Deed> {
    match taken.over.is_empty() {
        true => deeds(&taken),
        false => vec![Deed::TakeBack(taken)],
    }
}

/// What stands in the conversation from the first cell on that the exchanges at `lines` ran.
fn over(
    dialog: &Dialog,
    lines: RangeInclusive<u32>,
    ran_for: &BTreeMap<u32, u32>,
) -> Vec<SteppedCell> {
    let prompt_of = |cell: &CellEntry| ran_for.get(&cell.line);
    let own = |cell: &CellEntry| prompt_of(cell).is_some_and(|line| lines.contains(line));
    let cells = dialog.cells.iter().filter(|cell| !cell.is_out());
    let cells = cells.skip_while(|cell| !own(cell));
    let cells = cells.filter(|cell| cell.shell.is_none() && !is_ours(&cell.source));
    let stepped = cells.map(|cell| SteppedCell {
        line: cell.line,
        code: cell.source.trim().lines().next().unwrap_or_default().into(),
        own: own(cell),
    });
    stepped.collect()
}

/// What takes an exchange back, and nothing else.
pub(in crate::session) fn deeds(taken: &TakenBack) -> Vec<Deed> {
    let line = taken.line;
    match &taken.then {
        Then::Leave => {}
        Then::SendAgain => {
            let (line, text) = (Some(line), taken.prompt.clone());
            return vec![Deed::SendAgain { line, text }];
        }
        Then::Begin(submission) => return vec![Deed::Begin(submission.clone())],
    }
    let text = format!(
        "Taken out of the conversation: [{line}] {} (`%ipycodex show {line}` puts it back)",
        named(&taken.prompt),
    );
    let hide = Deed::Hide {
        lines: line..=line,
        hidden: true,
    };
    vec![hide, Deed::Tell(ToldEvent::Text(text).into())]
}

/// The same, and the interpreter stays where it is.
pub(in crate::session) fn stays(taken: &TakenBack, why: &str) -> Vec<Deed> {
    let note = format!("the interpreter keeps what {} did{why}", taken.ran());
    let mut all = tell(Notice::note(note));
    all.extend(deeds(taken));
    all
}

/// What comes of the list of checkpoints.
pub(in crate::session) async fn offered(
    told: oneshot::Receiver<RuntimeAnswer>,
    sessions: Sessions,
    taken: TakenBack,
) -> Vec<Deed> {
    let why = match told.await {
        Ok(RuntimeAnswer::Checkpoints(there)) => match no_way(&there, &sessions, &taken) {
            None => return vec![Deed::OfferStep(taken)],
            Some(why) => why,
        },
        Ok(RuntimeAnswer::Failed(why) | RuntimeAnswer::Unable(why)) => why,
        _ => "the interpreter gave no answer".to_owned(),
    };
    stays(&taken, &format!(": {why}"))
}

/// Why the interpreter cannot step back over it.
fn no_way(there: &Checkpoints, sessions: &Sessions, taken: &TakenBack) -> Option<String> {
    let first = taken.first()?;
    let is_first = |step: &CellStep| step.number == first && sessions.is_here(step);
    if there.rows.iter().any(|row| is_first(&row.before)) {
        return None;
    }
    let mut missing = there.missing.iter();
    let why = match missing.find(|none| is_first(&none.before)) {
        _ if there.most == 0 => "none are kept (`%ipycodex checkpoints 10` keeps ten)",
        Some(none) => &none.why,
        None => "it is no longer kept",
    };
    Some(format!("there is no checkpoint before In [{first}]: {why}"))
}

/// What comes of a step back that the user wanted.
pub(in crate::session) async fn stepped(
    told: oneshot::Receiver<RuntimeAnswer>,
    wish: CheckpointWish,
    history: History,
    sessions: Sessions,
    taken: TakenBack,
) -> Vec<Deed> {
    let leaves = Some(taken.line);
    let mut all = steps::answered(told, wish, history, sessions, leaves).await;
    let moved = all.iter().any(|deed| matches!(deed, Deed::Moved(_)));
    match taken.then {
        Then::SendAgain if !moved => {
            all.extend(tell(Notice::note("the prompt was not sent again")));
        }
        Then::Begin(_) if !moved => {
            all.extend(tell(Notice::note(
                "the prompt was not sent: Up brings it back",
            )));
        }
        _ => all.extend(deeds(&taken)),
    }
    all
}

pub(super) fn named(prompt: &str) -> String {
    let line = prompt.trim().replace('\n', " ");
    if line.chars().count() <= NAMED {
        return line;
    }
    let head: String = line.chars().take(NAMED - 3).collect();
    format!("{head}...")
}

/// Why nothing was stepped back, and how it is done.
pub(in crate::session) fn nobody(taken: &TakenBack) -> String {
    let first = taken.first().unwrap_or_default();
    format!(": nobody can be asked here; `%ipycodex back {first}` steps back")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Checkpoint;

    #[test]
    fn a_cell_of_another_session_is_no_way_back() {
        let cell = SteppedCell {
            line: 3,
            code: String::new(),
            own: true,
        };
        let taken = TakenBack {
            line: 2,
            prompt: String::new(),
            then: Then::Leave,
            over: vec![cell],
        };
        let there = |session| {
            let before = CellStep {
                number: 3,
                session,
                ..CellStep::default()
            };
            let row = Checkpoint {
                before,
                ..Checkpoint::default()
            };
            Checkpoints {
                rows: vec![row],
                most: 10,
                ..Checkpoints::default()
            }
        };
        let why = |session| no_way(&there(session), &Sessions::default(), &taken);
        assert_eq!(why(0), None);
        assert_eq!(
            why(1).unwrap(),
            "there is no checkpoint before In [3]: it is no longer kept"
        );
    }
}
