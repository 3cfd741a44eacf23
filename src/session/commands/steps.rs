//! `back` and `forward`: the interpreter steps between checkpoints, and the conversation follows.
//!
//! The record keeps the cells that were stepped over, outside of the conversation and of replays; a step forward
//! restores what a step back removed. Absent on purpose: how an interpreter steps; files (`rewind.rs`).

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::dialog::Dialog;
use crate::effect::{Effect, Found, RecordWrite, emit, warn};
use crate::events::{Notice, TextEvent};
use crate::magics::StepRequest;
use crate::numbering::in_words;
use crate::record::RecordHandle;
use crate::rewind::FileHistory;
use crate::rewind_plan::{RewindFollowUp, RewindRequest, RewindScope};
use crate::runtime::{CellStep, CheckpointRequest, CheckpointStep, Checkpoints, RuntimeReply};
use crate::text::{age_in_words, aligned, bytes_in_words, counted};
use crate::undo::{InterpreterSessions, SteppedLines};

/// Names of files or programs that one line lists.
const NAMED: usize = 3;

/// What a step back does to the conversation of this session.
pub(super) enum StepScope {
    /// The cells that are stepped over leave it.
    Cells,
    /// So do these exchanges, with the next prompt.
    Exchanges(RangeInclusive<u32>),
    /// Nothing: another session goes on from there.
    Fork,
}

pub(super) fn request(steps: StepRequest, sessions: &InterpreterSessions) -> CheckpointRequest {
    match steps {
        StepRequest::List => CheckpointRequest::List,
        StepRequest::Back(to) => sessions.back(to),
        StepRequest::Forward => CheckpointRequest::Forward,
    }
}

/// Returns the effects of the interpreter's answer.
pub(super) async fn on_answer(
    told: oneshot::Receiver<RuntimeReply>,
    wish: CheckpointRequest,
    record: RecordHandle,
    sessions: InterpreterSessions,
    files: Option<FileHistory>,
    scope: StepScope,
) -> Vec<Effect> {
    match told.await {
        Ok(RuntimeReply::Checkpoints(there)) => emit(TextEvent::Text(listed(&there, &sessions))),
        Ok(RuntimeReply::Stepped(stepped)) => {
            let back = wish != CheckpointRequest::Forward;
            on_stepped(*stepped, back, &record, &sessions, files, &scope).await
        }
        Ok(RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why)) => warn(why),
        _ => warn("the interpreter ended before it had stepped"),
    }
}

/// Returns the messages about a step, and its effects on the conversation.
async fn on_stepped(
    stepped: CheckpointStep,
    back: bool,
    record: &RecordHandle,
    sessions: &InterpreterSessions,
    files: Option<FileHistory>,
    scope: &StepScope,
) -> Vec<Effect> {
    let over = sessions.parted(&stepped.over);
    let forks = matches!(scope, StepScope::Fork);
    let telling = match back && !forks {
        true => mention_note(&record.dialog().await, &over.here, scope),
        false => None,
    };
    let said = TextEvent::Text(said(&stepped, back, &over, forks, sessions));
    let lines = (!forks).then_some((None, over.here)).into_iter();
    let lines = lines.chain(
        over.elsewhere
            .into_iter()
            .map(|(it, lines)| (Some(it), lines)),
    );
    let mut effects = vec![Effect::InterpreterMoved];
    effects.extend(lines.map(|(session, lines)| {
        Effect::Record(RecordWrite::StepOver {
            session,
            lines,
            over: back,
        })
    }));
    effects.push(Effect::show(said));
    effects.extend(
        telling
            .into_iter()
            .flat_map(|line| emit(Notice::note(line))),
    );
    if back {
        effects.extend(
            stays(&stepped, files.as_ref())
                .into_iter()
                .map(|line| Effect::show(Notice::note(line))),
        );
        if stepped.there.rows.len() > 1 {
            effects.extend(emit(TextEvent::Text(listed(&stepped.there, sessions))));
        }
    }
    let place = stepped.cwd.map(PathBuf::from);
    effects.extend(place.map(|place| Effect::found(Found::Directory(place))));
    if let StepScope::Cells = scope {
        let scope = match (back, stepped.over.first()) {
            (false, _) => Some(RewindScope::Back),
            (true, Some(first)) => Some(RewindScope::Since {
                session: first.session,
                line: first.number,
            }),
            (true, None) => None,
        };
        let request = scope.map(|scope| RewindRequest::new(scope, RewindFollowUp::Nothing));
        let rewind = request.map(|request| Effect::found(Found::Rewind(Box::new(request))));
        effects.extend(rewind);
    }
    effects
}

/// Returns the note about exchanges that stay in the conversation although their answers mention the cells in
/// `over`.
fn mention_note(dialog: &Dialog, over: &[u32], scope: &StepScope) -> Option<String> {
    let leaves = |line: &u32| matches!(scope, StepScope::Exchanges(lines) if lines.contains(line));
    let cells = dialog.cells.iter();
    let gone = cells.filter(|cell| !cell.is_excluded() && over.contains(&cell.line));
    let told: BTreeSet<u32> = gone.filter_map(|cell| cell.in_answer_of).collect();
    let prompts = dialog
        .prompts
        .iter()
        .map(|prompt| (prompt.line, prompt.hidden));
    let stay = prompts.filter(|(line, hidden)| !hidden && !leaves(line) && told.contains(line));
    let stay: Vec<String> = stay.map(|(line, _)| line.to_string()).collect();
    (!stay.is_empty()).then(|| {
        format!(
            "some answers still mention these cells; `%ipycodex hide {}` takes the answers out of the conversation",
            stay.join(" ")
        )
    })
}

fn said(
    stepped: &CheckpointStep,
    back: bool,
    over: &SteppedLines,
    forks: bool,
    sessions: &InterpreterSessions,
) -> String {
    let out = match over.here.len() {
        _ if !back || forks => "",
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

/// Returns notes about what a step does not take back; files that are kept are asked about.
fn stays(stepped: &CheckpointStep, kept: Option<&FileHistory>) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut files, mut programs) = (Vec::new(), Vec::new());
    for CellStep { wrote, .. } in &stepped.over {
        for name in wrote {
            match name.strip_prefix("process: ") {
                Some(program) => programs.push(program.to_owned()),
                None if kept.is_some_and(|kept| kept.knows(Path::new(name))) => {}
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

/// Lists the checkpoints, oldest first, and the cells that have none.
fn listed(there: &Checkpoints, sessions: &InterpreterSessions) -> String {
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
    if there.thinned > 0 {
        let were = if there.thinned == 1 { "was" } else { "were" };
        lines.push(format!(
            "{} {were} thinned out: the last {} cells keep theirs, and before them every 2nd, 4th, 8th …",
            counted(there.thinned as usize, "older checkpoint"),
            there.most
        ));
    }
    if there.forward {
        lines.push("`%ipycodex forward` returns to where the last step back was made.".to_owned());
    }
    lines.join("\n")
}
