//! `merge`: names of a branch are carried over to the prompt.
//!
//! What one side alone has changed goes by itself; what both have changed is asked about, one by one; what cannot be
//! carried is named, with the reason. Invariants: names are set all at once or not at all; a stop before that changes
//! nothing, and the branch stays; the branch ends with a merge that was carried out.

use super::ask::{ask_branch, ask_prompt, drop_branch, names_in};
use super::event::{AsideEvent, BranchEvent, BranchQuestion};
use super::merge_run::{MergeRun, both};
use super::{BranchWork, files};
use crate::approvals::ApprovalRequester;
use crate::effect::{Effect, Event, RecordWrite, emit};
use crate::events::{BeginEvent, Notice};
use crate::ids::JobId;
use crate::question::{NameConflict, QuestionChoice, QuestionSubject, Reply};
use crate::run::RunSender;
use crate::runtime::{BackgroundRequest, MergeRow, RuntimeReply};
use crate::scheduler::ActiveJob;
use crate::step::Step;

/// Merges a branch that has ended.
pub(super) fn start(step: &mut Step<'_>, number: u32, out: &RunSender) {
    let holder = ActiveJob::Command { firm: false };
    let job = step.state.scheduler.start(holder, out.clone());
    step.send(out, BeginEvent::Wait);
    let Some(branch) = step.state.branches.get(number) else {
        return;
    };
    let mut run = MergeRun::new(job);
    if let BranchWork::Aside(turn) = &branch.work {
        run.files.clone_from(&turn.files);
    }
    branch.merge = Some(run);
    if branch.rows.is_empty() {
        return next(step, number, job);
    }
    let request = BackgroundRequest::Plan {
        base: branch.folder.join("base"),
        theirs: branch.folder.join("theirs"),
    };
    ask_prompt(step, number, BranchQuestion::Plan(job), request);
}

pub(super) fn on_plan(step: &mut Step<'_>, number: u32, job: JobId, reply: RuntimeReply) {
    let Some((_, run)) = running(step, number, job) else {
        return;
    };
    let told = match names_in(reply) {
        Ok(told) => told,
        Err(why) => return fail(step, number, &why),
    };
    let refused = told.rows.iter();
    let refused = refused.filter_map(|row| Some((row.name.clone(), row.refused.clone()?)));
    run.refused = refused.collect();
    (run.rows, run.shared, run.outdated) = (told.rows, told.shared, told.outdated);
    next(step, number, job);
}

/// Asks about the next conflict; carries the names over once there is none.
fn next(step: &mut Step<'_>, number: u32, job: JobId) {
    let asks = step.ctx.deps.asks;
    let Some((line, run)) = running(step, number, job) else {
        return;
    };
    let is_open = |row: &&MergeRow| {
        row.conflict && row.refused.is_none() && !run.decided.contains_key(&row.name)
    };
    let conflict = run.rows.iter().find(is_open).map(|row| NameConflict {
        line,
        both: both(&row.name, line),
        name: row.name.clone(),
        theirs: row.theirs.clone(),
        ours: row.ours.clone(),
        is_file: false,
    });
    let Some(conflict) = conflict.or_else(|| run.open_file(line)) else {
        return carry(step, number, job);
    };
    let name = conflict.key();
    if !asks {
        run.decided.insert(name, QuestionChoice::Mine);
        return next(step, number, job);
    }
    let about = QuestionSubject::NameConflict(conflict);
    let branch = number;
    step.ask_user(about, ApprovalRequester::Merge { branch, name });
}

pub(crate) fn on_answer(step: &mut Step<'_>, number: u32, name: String, reply: &Reply) {
    let cell = step.state.branches.get(number);
    let Some(run) = cell.and_then(|cell| cell.merge.as_mut()) else {
        return;
    };
    match reply {
        Reply::Chosen(
            choice @ (QuestionChoice::Theirs | QuestionChoice::Mine | QuestionChoice::Both),
        ) => {
            run.decided.insert(name, *choice);
            let job = run.job;
            next(step, number, job);
        }
        _ => fail(step, number, "stopped"),
    }
}

/// Carries over what was decided.
fn carry(step: &mut Step<'_>, number: u32, job: JobId) {
    let Some((line, run)) = running(step, number, job) else {
        return;
    };
    let mut names = Vec::new();
    for row in run.rows.iter().filter(|row| row.refused.is_none()) {
        match run.decided.get(&row.name) {
            Some(QuestionChoice::Mine) => continue,
            Some(QuestionChoice::Both) => {
                run.renames.insert(row.name.clone(), both(&row.name, line));
            }
            _ => {}
        }
        match row.change == "deleted" {
            true => run.deleted.push(row.name.clone()),
            false => names.push(row.name.clone()),
        }
    }
    let (shared, outdated) = (run.shared.clone(), run.outdated.clone());
    if names.is_empty() {
        return match run.deleted.is_empty() {
            true => bring_files(step, number, Vec::new()),
            false => unpack(step, number, job, false),
        };
    }
    let Some(cell) = step.state.branches.get(number) else {
        return;
    };
    let request = BackgroundRequest::Pack {
        names,
        shared,
        outdated,
        path: cell.folder.join("values"),
    };
    ask_branch(step, number, BranchQuestion::Pack(job), request);
}

pub(super) fn on_packed(step: &mut Step<'_>, number: u32, job: JobId, reply: RuntimeReply) {
    let Some((_, run)) = running(step, number, job) else {
        return;
    };
    match names_in(reply) {
        Ok(told) => {
            run.refused.extend(told.refused);
            run.olds = told.olds;
            unpack(step, number, job, true);
        }
        Err(why) => fail(step, number, &why),
    }
}

/// From here on a stop comes too late: what was brought over is said all the same.
fn unpack(step: &mut Step<'_>, number: u32, job: JobId, packed: bool) {
    let Some((_, run)) = running(step, number, job) else {
        return;
    };
    let (renames, deleted) = (run.renames.clone(), run.deleted.clone());
    let folder = step.state.branches.get(number).map(|cell| &cell.folder);
    let request = BackgroundRequest::Unpack {
        path: folder
            .filter(|_| packed)
            .map(|folder| folder.join("values")),
        renames,
        deleted,
    };
    ask_prompt(step, number, BranchQuestion::Unpack, request);
}

pub(super) fn on_unpacked(step: &mut Step<'_>, number: u32, reply: RuntimeReply) {
    match names_in(reply) {
        Ok(told) => bring_files(step, number, told.names),
        Err(why) => fail(step, number, &why),
    }
}

/// Copies the files that were decided for; these names have come.
fn bring_files(step: &mut Step<'_>, number: u32, names: Vec<String>) {
    let directory = step.state.cwd.clone();
    let Some(branch) = step.state.branches.get(number) else {
        return;
    };
    let Some(run) = &branch.merge else {
        return;
    };
    let (copies, folder) = (run.copies(branch.line), files::offered(&branch.folder));
    if copies.is_empty() {
        return finish(step, number, names, Vec::new());
    }
    step.spawn_blocking(move || {
        let bring = |(path, target, replaces): (String, String, bool)| {
            let brought = files::bring(&folder, &directory, &path, (&target, replaces));
            (target, brought)
        };
        let files = copies.into_iter().map(bring).collect();
        let brought = AsideEvent::Brought { names, files };
        Event::Branch(number, BranchEvent::Aside(brought))
    });
}

/// Tells what has come; the branch ends.
pub(super) fn finish(
    step: &mut Step<'_>,
    number: u32,
    mut names: Vec<String>,
    files: Vec<(String, Result<(), String>)>,
) {
    let asks = step.ctx.deps.asks;
    let Some(branch) = step.state.branches.get(number) else {
        return;
    };
    let Some(mut run) = branch.merge.take() else {
        return;
    };
    for (path, brought) in files {
        match brought {
            Ok(()) => names.push(path),
            Err(why) => drop(run.refused.insert(path, why)),
        }
    }
    let effects = run.report(branch.line, &names, asks);
    match step.state.scheduler.is_current(run.job) {
        true => step.finish_wait(run.job, effects),
        false => {
            let background = step.state.background.clone();
            step.extend_for(effects, &background);
        }
    }
    if !names.is_empty() {
        record_merge(step, number, &names.join(", "));
    }
    drop_branch(step, number);
}

/// Ends a merge that changes nothing; the branch stays.
pub(super) fn fail(step: &mut Step<'_>, number: u32, why: &str) {
    let Some(cell) = step.state.branches.get(number) else {
        return;
    };
    if let Some(run) = cell.merge.take() {
        let text = format!("nothing was brought over from In [{}]: {why}", cell.line);
        step.finish_wait(run.job, emit(Notice::note(text)));
    }
}

/// Returns the In number and the merge of this job, unless the user has stopped it.
fn running<'a>(step: &'a mut Step<'_>, number: u32, job: JobId) -> Option<(u32, &'a mut MergeRun)> {
    let is_current = step.state.scheduler.is_current(job);
    let cell = step.state.branches.get(number)?;
    let run = cell.merge.as_mut()?;
    (is_current && run.job == job).then_some((cell.line, run))
}

/// Keeps in the conversation what was brought over.
fn record_merge(step: &mut Step<'_>, number: u32, brought: &str) {
    let Some(turn) = step.state.branches.aside(number) else {
        return;
    };
    let answer = turn.shown.last_message();
    let note = format!(
        "You were asked beside this conversation: {}\nYou answered: {answer}\nBrought over from there: {brought}",
        turn.prompt
    );
    let source = serde_json::Value::String(note).to_string();
    let line = step.state.numbering.take();
    step.push(Effect::Record(RecordWrite::Input { line, source }));
}
