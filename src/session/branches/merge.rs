//! `merge`: names of a branch are carried over to the prompt.
//!
//! What one side alone has changed goes by itself; what both have changed is asked about, one by one; what cannot be
//! carried is named, with the reason. Invariants: names are set all at once or not at all; a stop before that changes
//! nothing, and the branch stays; the branch ends with a merge that was carried out.

use std::collections::BTreeMap;

use serde_json::Value;

use super::ask::{ask_about_names, drop_branch, names_in, none};
use super::event::BranchQuestion;
use super::merge_run::MergeRun;
use super::{BranchEnd, BranchPhase};
use crate::approvals::ApprovalRequester;
use crate::effect::emit;
use crate::events::{BeginEvent, Notice, TextEvent};
use crate::question::{NameConflict, QuestionChoice, QuestionSubject, Reply};
use crate::run::RunSender;
use crate::runtime::{BackgroundRequest, RuntimeReply};
use crate::runtimes::RuntimeRole;
use crate::scheduler::ActiveJob;
use crate::step::Step;

pub(crate) fn begin(step: &mut Step<'_>, line: u32, out: &RunSender) {
    let Some((number, cell)) = step.state.branches.of_line(line) else {
        return step.send(out, none(line));
    };
    if cell.is_running() {
        let text = format!("In [{line}] still runs: `%ipycodex wait {line}`");
        return step.send(out, Notice::note(text));
    }
    let (base, theirs) = (cell.folder.join("base"), cell.folder.join("theirs"));
    let end = cell.end().cloned().unwrap_or_default();
    let holder = ActiveJob::Command { firm: false };
    let job = step.state.scheduler.start(holder, out.clone());
    step.send(out, BeginEvent::Wait);
    let run = MergeRun {
        job,
        rows: Vec::new(),
        shared: Value::Null,
        outdated: Vec::new(),
        olds: BTreeMap::new(),
        decided: BTreeMap::new(),
        refused: BTreeMap::new(),
        renames: BTreeMap::new(),
        deleted: Vec::new(),
    };
    if let Some(cell) = step.state.branches.get(number) {
        cell.phase = BranchPhase::Merging(end, Box::new(run));
    }
    let request = BackgroundRequest::Plan { base, theirs };
    ask_about_names(
        step,
        RuntimeRole::User,
        number,
        BranchQuestion::Plan,
        request,
    );
}

pub(super) fn on_plan(step: &mut Step<'_>, number: u32, reply: RuntimeReply) {
    let told = match names_in(reply) {
        Ok(told) => told,
        Err(why) => return fail(step, number, &why),
    };
    let Some(run) = running(step, number) else {
        return;
    };
    let refused = told.rows.iter();
    let refused = refused.filter_map(|row| Some((row.name.clone(), row.refused.clone()?)));
    run.refused = refused.collect();
    (run.rows, run.shared, run.outdated) = (told.rows, told.shared, told.outdated);
    next(step, number);
}

/// Asks about the next conflict; carries the names over once there is none.
fn next(step: &mut Step<'_>, number: u32) {
    let asks = step.ctx.deps.asks;
    let Some(cell) = step.state.branches.get(number) else {
        return;
    };
    let line = cell.line;
    let Some(run) = running(step, number) else {
        return;
    };
    if !asks {
        let open = run.rows.iter().filter(|row| row.conflict);
        let open = open.map(|row| (row.name.clone(), QuestionChoice::Mine));
        run.decided = open.collect();
    }
    let open = run
        .rows
        .iter()
        .find(|row| row.conflict && row.refused.is_none() && !run.decided.contains_key(&row.name));
    if let Some(row) = open.cloned() {
        let both = format!("{}_{line}", row.name);
        let about = QuestionSubject::NameConflict(NameConflict {
            line,
            name: row.name.clone(),
            theirs: row.theirs,
            ours: row.ours,
            both,
        });
        let name = row.name;
        return step.ask_user(
            about,
            ApprovalRequester::Merge {
                branch: number,
                name,
            },
        );
    }
    carry(step, number, line);
}

pub(crate) fn on_answer(step: &mut Step<'_>, number: u32, name: String, reply: &Reply) {
    let Some(run) = running(step, number) else {
        return;
    };
    match reply {
        Reply::Chosen(
            choice @ (QuestionChoice::Theirs | QuestionChoice::Mine | QuestionChoice::Both),
        ) => {
            run.decided.insert(name, *choice);
            next(step, number);
        }
        _ => fail(step, number, "stopped"),
    }
}

/// Carries over what was decided.
fn carry(step: &mut Step<'_>, number: u32, line: u32) {
    let Some(run) = running(step, number) else {
        return;
    };
    let mut names = Vec::new();
    for row in &run.rows {
        let wanted = match run.decided.get(&row.name) {
            _ if row.refused.is_some() => false,
            Some(QuestionChoice::Mine) => false,
            Some(QuestionChoice::Both) => {
                let both = format!("{}_{line}", row.name);
                run.renames.insert(row.name.clone(), both);
                true
            }
            _ => true,
        };
        match wanted {
            true if row.change == "deleted" => run.deleted.push(row.name.clone()),
            true => names.push(row.name.clone()),
            false => {}
        }
    }
    let (shared, outdated) = (run.shared.clone(), run.outdated.clone());
    if names.is_empty() {
        return unpack(step, number, false);
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
    let role = RuntimeRole::Branch(number);
    ask_about_names(step, role, number, BranchQuestion::Pack, request);
}

pub(super) fn on_packed(step: &mut Step<'_>, number: u32, reply: RuntimeReply) {
    let told = match names_in(reply) {
        Ok(told) => told,
        Err(why) => return fail(step, number, &why),
    };
    if let Some(run) = running(step, number) {
        run.refused.extend(told.refused);
        run.olds = told.olds;
        unpack(step, number, true);
    }
}

fn unpack(step: &mut Step<'_>, number: u32, packed: bool) {
    let Some(cell) = step.state.branches.get(number) else {
        return;
    };
    let path = packed.then(|| cell.folder.join("values"));
    let Some(run) = running(step, number) else {
        return;
    };
    let request = BackgroundRequest::Unpack {
        path,
        renames: run.renames.clone(),
        deleted: run.deleted.clone(),
    };
    ask_about_names(
        step,
        RuntimeRole::User,
        number,
        BranchQuestion::Unpack,
        request,
    );
}

pub(super) fn on_unpacked(step: &mut Step<'_>, number: u32, reply: RuntimeReply) {
    let told = match names_in(reply) {
        Ok(told) => told,
        Err(why) => return fail(step, number, &why),
    };
    let asks = step.ctx.deps.asks;
    let Some(cell) = step.state.branches.get(number) else {
        return;
    };
    let line = cell.line;
    let Some(run) = running(step, number) else {
        return;
    };
    let mut parts = Vec::new();
    if !told.names.is_empty() {
        parts.push(told.names.join(", "));
    }
    if !run.deleted.is_empty() {
        parts.push(format!("deleted {}", run.deleted.join(", ")));
    }
    let text = match parts.is_empty() {
        true => format!("Nothing was brought over from In [{line}]."),
        false => format!("Brought over from In [{line}]: {}", parts.join("; ")),
    };
    let mut effects = emit(TextEvent::Text(text));
    for (name, why) in &run.refused {
        effects.extend(emit(Notice::warning(format!(
            "`{name}` stays behind: {why}"
        ))));
    }
    for (name, olds) in &run.olds {
        let text = format!(
            "`{name}` holds {} as it was before In [{line}]",
            olds.join(", ")
        );
        effects.extend(emit(Notice::note(text)));
    }
    let mine = run.decided.iter();
    let mine = mine.filter(|(_, choice)| **choice == QuestionChoice::Mine);
    let mine: Vec<&str> = mine.map(|(name, _)| name.as_str()).collect();
    if !mine.is_empty() && !asks {
        let text = format!(
            "both sides changed {}: they stay as they are here",
            mine.join(", ")
        );
        effects.extend(emit(Notice::warning(text)));
    }
    let job = run.job;
    step.finish_wait(job, effects);
    drop_branch(step, number);
}

/// Ends a merge that changes nothing; the branch stays.
pub(super) fn fail(step: &mut Step<'_>, number: u32, why: &str) {
    let Some(cell) = step.state.branches.get(number) else {
        return;
    };
    let line = cell.line;
    if let BranchPhase::Merging(end, run) =
        std::mem::replace(&mut cell.phase, BranchPhase::Ended(BranchEnd::default()))
    {
        cell.phase = BranchPhase::Ended(end);
        let text = format!("nothing was brought over from In [{line}]: {why}");
        step.finish_wait(run.job, emit(Notice::note(text)));
    }
}

/// Returns the merge of this branch, unless the user has stopped it.
fn running<'a>(step: &'a mut Step<'_>, number: u32) -> Option<&'a mut MergeRun> {
    let cell = step.state.branches.get(number)?;
    let BranchPhase::Merging(end, run) = &cell.phase else {
        return None;
    };
    let (job, end) = (run.job, end.clone());
    if !step.state.scheduler.is_current(job) {
        let cell = step.state.branches.get(number)?;
        cell.phase = BranchPhase::Ended(end);
        return None;
    }
    match &mut step.state.branches.get(number)?.phase {
        BranchPhase::Merging(_, run) => Some(run),
        _ => None,
    }
}
