//! `back` and `forward`: the interpreter steps between cells, and the conversation goes with it.
//!
//! The record keeps what was stepped back over, out of the conversation and of what runs again; a step forward takes
//! back in what a step took out. Absent on purpose: how an interpreter does it, and files, which are where the cells
//! left them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::oneshot;

use super::deed::{Deed, Moved, tell, warn};
use crate::dialog::Dialog;
use crate::history::History;
use crate::magics::Steps;
use crate::runtime::{CellStep, CheckpointWish, Checkpoints, RuntimeAnswer, Stepped};
use crate::session::events::{Notice, ToldEvent};
use crate::session::taken_back::{Over, Sessions, in_words};
use crate::text::{age_in_words, aligned, bytes_in_words};

/// Names that a line holds of what a cell has written.
const NAMED: usize = 3;

/// What is asked of the interpreter.
pub(super) fn wish(steps: Steps, sessions: &Sessions) -> CheckpointWish {
    match steps {
        Steps::List => CheckpointWish::List,
        Steps::Back(to) => sessions.back(to),
        Steps::Forward => CheckpointWish::Forward,
    }
}

/// What comes of its answer; the exchange at `leaves` leaves the conversation with it.
pub(super) async fn answered(
    told: oneshot::Receiver<RuntimeAnswer>,
    wish: CheckpointWish,
    history: History,
    sessions: Sessions,
    leaves: Option<u32>,
) -> Vec<Deed> {
    match told.await {
        Ok(RuntimeAnswer::Checkpoints(there)) => tell(ToldEvent::Text(listed(&there, &sessions))),
        Ok(RuntimeAnswer::Stepped(stepped)) => {
            let back = wish != CheckpointWish::Forward;
            has_stepped(*stepped, back, &history, &sessions, leaves).await
        }
        Ok(RuntimeAnswer::Failed(why) | RuntimeAnswer::Unable(why)) => warn(why),
        _ => warn("the interpreter ended before it had stepped"),
    }
}

/// What is told of a step, and what it does to the conversation.
async fn has_stepped(
    stepped: Stepped,
    back: bool,
    history: &History,
    sessions: &Sessions,
    leaves: Option<u32>,
) -> Vec<Deed> {
    let over = sessions.parted(&stepped.over);
    let telling = match back {
        true => tell_of(&history.dialog().await, &over.here, leaves),
        false => None,
    };
    let mut deeds = tell(ToldEvent::Text(said(&stepped, back, &over, sessions)));
    let moved = Moved {
        cwd: stepped.cwd.clone().map(PathBuf::from),
        over,
        back,
    };
    deeds.insert(0, Deed::Moved(Box::new(moved)));
    deeds.extend(
        telling
            .into_iter()
            .flat_map(|line| tell(Notice::note(line))),
    );
    if back {
        deeds.extend(
            stays(&stepped)
                .into_iter()
                .map(|line| Deed::Tell(Notice::note(line).into())),
        );
        if stepped.there.rows.len() > 1 {
            deeds.extend(tell(ToldEvent::Text(listed(&stepped.there, sessions))));
        }
    }
    deeds
}

/// Exchanges that stay, and whose answers hold what these cells showed.
fn tell_of(dialog: &Dialog, over: &[u32], leaves: Option<u32>) -> Option<String> {
    let cells = dialog.cells.iter();
    let gone = cells.filter(|cell| !cell.is_out() && over.contains(&cell.line));
    let told: BTreeSet<u32> = gone.filter_map(|cell| cell.told).collect();
    let prompts = dialog
        .prompts
        .iter()
        .map(|prompt| (prompt.line, prompt.hidden));
    let stay =
        prompts.filter(|(line, hidden)| !hidden && leaves != Some(*line) && told.contains(line));
    let stay: Vec<String> = stay.map(|(line, _)| line.to_string()).collect();
    (!stay.is_empty()).then(|| {
        format!(
            "some answers still mention these cells; `%ipycodex hide {}` takes the answers out of the conversation",
            stay.join(" ")
        )
    })
}

/// Where the interpreter is.
fn said(stepped: &Stepped, back: bool, over: &Over, sessions: &Sessions) -> String {
    let out = match over.here.len() {
        _ if !back => "",
        1 => ", which is out of the conversation",
        _ => ", which are out of the conversation",
    };
    let names = |lines: &[u32]| in_words(lines.iter().copied());
    let elsewhere = over.elsewhere.iter();
    let elsewhere =
        elsewhere.map(|(session, lines)| format!("{} of session {session}", names(lines)));
    let here = (!over.here.is_empty()).then(|| names(&over.here) + out);
    let names = elsewhere.chain(here).collect::<Vec<_>>().join(" and ");
    match (stepped.over.first(), back) {
        (Some(first), true) => format!(
            "Back before {} {}; stepped over {names} \
             (`%ipycodex forward` returns as long as nothing else has run)",
            sessions.name(first),
            first.line,
        ),
        (None, true) => "Back to the same place".to_owned(),
        (_, false) => format!("Forward again, after {names}"),
    }
}

/// What no step takes back.
fn stays(stepped: &Stepped) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut files, mut programs) = (Vec::new(), Vec::new());
    for CellStep { wrote, .. } in &stepped.over {
        for name in wrote {
            match name.strip_prefix("process: ") {
                Some(program) => programs.push(program.to_owned()),
                None => files.push(name.clone()),
            }
        }
    }
    if !files.is_empty() {
        lines.push(format!(
            "not taken back: what was written to {}",
            some(&files)
        ));
    }
    if !programs.is_empty() {
        lines.push(format!(
            "not taken back: what was done by {}",
            some(&programs)
        ));
    }
    if stepped.connections > 0 {
        let connections = match stepped.connections {
            1 => "a connection".to_owned(),
            number => format!("{number} connections"),
        };
        lines.push(format!(
            "not taken back: {connections} to other programs that stayed open"
        ));
    }
    lines
}

fn some(names: &[String]) -> String {
    match names.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}

/// The checkpoints, oldest first, and of what there is none.
fn listed(there: &Checkpoints, sessions: &Sessions) -> String {
    if there.most == 0 {
        return "No checkpoints are kept (`%ipycodex checkpoints 10` keeps ten).".to_owned();
    }
    let mut rows = vec![["before", "age", "memory", "cell"].map(str::to_owned)];
    rows.extend(there.rows.iter().map(|row| {
        [
            sessions.name(&row.before),
            age_in_words(Duration::try_from_secs_f64(row.age).unwrap_or_default()),
            match row.memory {
                0 => "-".to_owned(),
                bytes => bytes_in_words(bytes),
            },
            row.before.line.clone(),
        ]
    }));
    let mut lines = match rows.len() {
        1 => vec!["There is no checkpoint to go back to.".to_owned()],
        _ => aligned(&rows),
    };
    lines.extend(there.missing.iter().map(|none| {
        format!(
            "no checkpoint before {}: {}",
            sessions.name(&none.before),
            none.why
        )
    }));
    if there.forward {
        lines.push("`%ipycodex forward` returns to where the last step back was made.".to_owned());
    }
    lines.join("\n")
}
