//! Rewinds of files: what the steps that are taken back have changed is put back, when the user agrees.
//!
//! In: which steps are taken back. Invariants: nothing is written before the user's yes, unless `rewind_files` is
//! `always`; where nobody can be asked, files stay; what others have changed since stays, or is merged when the user
//! says so; what follows the rewind (the end of an `undo`, a prompt) follows after either answer.

use std::borrow::Cow;
use std::path::PathBuf;

use similar::{Algorithm, udiff::unified_diff};

use crate::approvals::ApprovalRequester;
use crate::config::RewindFiles;
use crate::effect::{Effect, Event, Found, emit};
use crate::events::{Notice, TextEvent};
use crate::file_rewind::{FileRewind, RewindDirection};
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::rewind::{FileHistory, FileState, Owner, Restore, RestoreError, StepKind};
use crate::rewind_plan::{RewindFollowUp, RewindRequest, is_of};
use crate::run::RunSender;
use crate::step::Step;
use crate::text::{aligned, counted};
use crate::undo::InterpreterSessions;

use super::{replace, undo};

/// Paths that one line lists.
const NAMED: usize = 3;
/// Unchanged lines around a difference.
const CONTEXT: usize = 3;

/// Finds out what would be put back; goes on without files where none are kept.
pub(crate) fn begin(step: &mut Step<'_>, request: RewindRequest, out: &RunSender) {
    let Some(history) = step.files() else {
        return step.extend_for(follow(request.then), out);
    };
    let cwd = step.state.cwd.clone();
    step.wait_firmly(out, async move {
        let mut request = request;
        if request.rewind.is_none() {
            request.rewind = request.scope.planned(history, cwd).await;
        }
        vec![Effect::found(Found::RewindPlanned(Box::new(request)))]
    });
}

/// Asks the user, unless that is not needed or nobody can be asked.
pub(crate) fn offer(step: &mut Step<'_>, request: RewindRequest, out: &RunSender) {
    let (Some(history), Some(rewind)) = (step.files(), &request.rewind) else {
        return step.extend_for(follow(request.then), out);
    };
    if rewind.plan.restores.is_empty() && rewind.plan.merges.is_empty() {
        let mut effects = kept(rewind);
        history.mark(request.scope.owner());
        effects.extend(follow(request.then));
        return step.extend_for(effects, out);
    }
    if request.agreed || step.state.choices.rewind_files == RewindFiles::Always {
        return put_back(step, history, request, false, out);
    }
    if !step.ctx.deps.asks {
        let why = "nobody can be asked here; `%ipycodex rewind_files always` puts them back";
        return step.extend_for(stay(&history, request, why), out);
    }
    step.hold_for_question(out);
    let about = QuestionSubject::Files(rewind.clone());
    step.ask_user(about, ApprovalRequester::Rewind(Box::new(request)));
}

pub(crate) fn on_answer(step: &mut Step<'_>, request: RewindRequest, reply: &Reply) {
    let Some(out) = step.release_question() else {
        return;
    };
    let (Some(history), Some(rewind)) = (step.files(), &request.rewind) else {
        return;
    };
    match reply {
        Reply::Chosen(QuestionChoice::Once) => {
            return put_back(step, history, request, false, &out);
        }
        Reply::Chosen(QuestionChoice::Merge) => {
            return put_back(step, history, request, true, &out);
        }
        Reply::Chosen(QuestionChoice::Diff) => {
            let text = diff(&history, rewind);
            step.send(&out, TextEvent::Verbatim(text));
            return offer(step, request, &out);
        }
        _ => {
            let effects = stay(&history, request, "");
            step.extend_for(effects, &out);
        }
    }
    step.raise(Event::Advance);
}

/// Puts the files back, as the active job; Ctrl-C leaves all as it is.
fn put_back(
    step: &mut Step<'_>,
    history: FileHistory,
    request: RewindRequest,
    merges: bool,
    out: &RunSender,
) {
    let asked = !request.agreed && step.state.choices.rewind_files != RewindFiles::Always;
    step.wait(out, async move {
        let Some(rewind) = request.rewind.clone() else {
            return follow(request.then);
        };
        let mut restores = rewind.plan.restores.clone();
        if merges {
            restores.extend(rewind.plan.merges.iter().cloned());
        }
        let owner = request.scope.owner();
        let wanted = restores.clone();
        let done = tokio::task::spawn_blocking(move || history.restore(&wanted, owner)).await;
        let mut effects = match done {
            Ok(Ok(left)) => {
                let mut effects = said(asked, &rewind, &restores, &left);
                // The interpreter may be in a directory that was removed and is there again.
                let is_back = |it: &Restore| {
                    matches!(it.to, FileState::Directory { .. }) && rewind.cwd.starts_with(&it.path)
                };
                if restores.iter().any(is_back) {
                    effects.push(Effect::FollowShell(rewind.cwd.clone()));
                }
                effects
            }
            Ok(Err(error @ RestoreError::Stopped)) => emit(Notice::note(error.to_string())),
            Ok(Err(error)) => emit(Notice::warning(error.to_string())),
            Err(_) => emit(Notice::warning("the files could not be put back")),
        };
        effects.extend(follow(request.then));
        effects
    });
}

/// Leaves files as they are.
fn stay(history: &FileHistory, request: RewindRequest, why: &str) -> Vec<Effect> {
    history.mark(request.scope.owner());
    let colon = if why.is_empty() { "" } else { ": " };
    let mut effects = emit(Notice::note(format!("files stay as they are{colon}{why}")));
    effects.extend(follow(request.then));
    effects
}

fn follow(then: RewindFollowUp) -> Vec<Effect> {
    match then {
        RewindFollowUp::Nothing => Vec::new(),
        RewindFollowUp::Undo(request) => undo::remove_exchange(&request),
        RewindFollowUp::Replacement(request) => vec![replace::follow(request)],
    }
}

fn said(asked: bool, rewind: &FileRewind, restores: &[Restore], left: &[PathBuf]) -> Vec<Effect> {
    let done: Vec<Restore> = restores
        .iter()
        .filter(|it| !left.contains(&it.path))
        .cloned()
        .collect();
    let mut effects = Vec::new();
    if !done.is_empty() {
        let count = counted(done.len(), "file");
        // The question has named them.
        let names = match asked {
            true => String::new(),
            false => format!(": {}", some(&rewind.lines(&done))),
        };
        let text = match rewind.direction {
            RewindDirection::Back => format!("{count} put back{names}"),
            RewindDirection::Forward => format!("{count} put back as before the step{names}"),
        };
        effects.extend(emit(TextEvent::Text(text)));
    }
    for path in left {
        let name = rewind.name(path);
        effects.extend(emit(Notice::note(format!(
            "`{name}` stays as it is: it has just been changed"
        ))));
    }
    effects.extend(kept(rewind));
    effects
}

fn kept(rewind: &FileRewind) -> Vec<Effect> {
    let mut lines: Vec<String> = rewind
        .kept()
        .into_iter()
        .map(|(name, why)| format!("`{name}` stays as it is: {why}"))
        .collect();
    let more = lines.len().saturating_sub(2 * NAMED);
    if more > 0 {
        lines.truncate(2 * NAMED);
        lines.push(format!("{} more stay as they are", counted(more, "file")));
    }
    let notices = lines.into_iter().map(Notice::note);
    notices.flat_map(emit).collect()
}

fn some(names: &[String]) -> String {
    match names.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}

/// Returns what a rewind would change, as unified diffs.
fn diff(history: &FileHistory, rewind: &FileRewind) -> String {
    let plan = &rewind.plan;
    let all = plan.restores.iter().chain(&plan.merges);
    let parts = all.map(|it| difference(history, &rewind.name(&it.path), &it.from, &it.to));
    parts.collect::<Vec<_>>().join("\n")
}

/// Returns the difference between two states of a path, as a unified diff where both are texts.
fn difference(history: &FileHistory, name: &str, from: &FileState, to: &FileState) -> String {
    let texts = (text(history, from), text(history, to));
    let (Some(old), Some(new)) = texts else {
        return format!("{name}: {} -> {}", described(from), described(to));
    };
    if old == new {
        return format!("{name}: {} -> {}", described(from), described(to));
    }
    let header = (format!("{name} (now)"), format!("{name} (then)"));
    let diff = unified_diff(
        Algorithm::default(),
        &old,
        &new,
        CONTEXT,
        Some((&header.0, &header.1)),
    );
    diff.trim_end().to_owned()
}

fn text(history: &FileHistory, state: &FileState) -> Option<String> {
    match state {
        FileState::Absent => Some(String::new()),
        FileState::File { .. } => String::from_utf8(history.read(state)?).ok(),
        _ => None,
    }
}

fn described(state: &FileState) -> Cow<'static, str> {
    match state {
        FileState::Absent => "nothing".into(),
        FileState::File { mode, size, .. } => format!(
            "a file of {}, mode {mode:o}",
            counted(*size as usize, "byte")
        )
        .into(),
        FileState::Link { target } => format!("a link to {}", target.display()).into(),
        FileState::Directory { mode } => format!("a directory, mode {mode:o}").into(),
        FileState::Unknown(_) => "not known".into(),
    }
}

/// Lists what steps have changed in files: all of them, or one cell or prompt with its differences.
pub(super) fn list(step: &mut Step<'_>, line: Option<u32>, out: &RunSender) {
    let Some(history) = step.files() else {
        let text = match step.state.choices.rewind_files {
            RewindFiles::Off => "No changes of files are kept: `rewind_files` is off.",
            _ => "No changes of files are kept here.",
        };
        return step.send(out, TextEvent::Text(text.to_owned()));
    };
    let log = &step.state.step_log;
    let (sessions, cwd) = (log.sessions.clone(), step.state.cwd.clone());
    let ran = log.ran_for.iter();
    let ran = ran.filter(|(_, prompt)| Some(**prompt) == line);
    let cells: Vec<u32> = ran.map(|(cell, _)| *cell).collect();
    step.wait(out, async move {
        let listed = tokio::task::spawn_blocking(move || {
            let name = |path: &std::path::Path| crate::file_rewind::shown(path, &cwd);
            match line {
                None => all_changes(&history, &sessions, name),
                Some(line) => changes_of(&history, &sessions, line, &cells, name),
            }
        });
        match listed.await {
            Ok(text) => emit(TextEvent::Verbatim(text)),
            Err(_) => Vec::new(),
        }
    });
}

fn all_changes(
    history: &FileHistory,
    sessions: &InterpreterSessions,
    name: impl Fn(&std::path::Path) -> String,
) -> String {
    let mut rows = Vec::new();
    for set in history.changes() {
        let Some(owner) = set.owner else { continue };
        let mut who = named(owner, sessions);
        for (path, change) in &set.changes {
            let who = std::mem::take(&mut who);
            rows.push([
                who,
                verb(&change.before, &change.after).to_owned(),
                name(path),
            ]);
        }
    }
    let refused = history.refused();
    let refused = refused
        .iter()
        .map(|(path, why)| format!("Files below {} are not kept: {why}.", path.display()));
    let mut lines = match rows.is_empty() {
        true => vec!["No step has changed a file that is kept.".to_owned()],
        false => aligned(&rows),
    };
    lines.extend(refused);
    lines.join("\n")
}

fn changes_of(
    history: &FileHistory,
    sessions: &InterpreterSessions,
    line: u32,
    cells: &[u32],
    name: impl Fn(&std::path::Path) -> String,
) -> String {
    let session = sessions.ran(line);
    let sets = history.changes();
    let sets = sets.iter().filter(|set| {
        set.owner
            .is_some_and(|owner| is_of(owner, session, line, cells))
    });
    let changes = sets.flat_map(|set| &set.changes);
    let parts: Vec<String> = changes
        .map(|(path, change)| {
            let path = name(path);
            let verb = verb(&change.before, &change.after);
            let diff = difference(history, &path, &change.before, &change.after);
            let diff = diff
                .replacen("(now)", "(before)", 1)
                .replacen("(then)", "(after)", 1);
            format!("{verb} {path}\n{diff}")
        })
        .collect();
    match parts.is_empty() {
        true => format!("In [{line}] has changed no file that is kept."),
        false => parts.join("\n"),
    }
}

fn named(owner: Owner, sessions: &InterpreterSessions) -> String {
    let cell = crate::runtime::CellStep {
        number: owner.line,
        session: owner.session,
        ..Default::default()
    };
    match owner.kind {
        StepKind::Cell => sessions.name(&cell),
        StepKind::Turn => format!("{}, the agent", sessions.name(&cell)),
        StepKind::Back => "back".to_owned(),
        StepKind::Forward => "forward".to_owned(),
    }
}

fn verb(before: &FileState, after: &FileState) -> &'static str {
    match (before, after) {
        (_, FileState::Absent) => "removed",
        (FileState::Absent, _) => "created",
        _ => "changed",
    }
}
