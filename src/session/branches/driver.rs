//! A cell goes to the background, ends there, and has the prompt again or waits for a merge.
//!
//! In: the user's wish, the events of branches and the answers of interpreters. Out: effects, and one line for the user
//! at each of these moments. Invariant: what cannot be done leaves all as it was, and is said.

use super::ask::{ask, ask_branch, ask_prompt, drop_branch, names_in, none, why_not};
use super::event::{BranchEvent, BranchQuestion};
use super::tell::{AfterEnd, folder, tell_end};
use super::{BranchEnd, BranchJob, BranchWork, aside, merge, offer};
use crate::cell::{CellProgress, CellResult};
use crate::effect::{Effect, Event, To};
use crate::events::{BeginEvent, CellEvent, Notice, TextEvent};
use crate::ids::JobId;
use crate::jobs;
use crate::run::RunSender;
use crate::runtime::{
    BackgroundRequest, Ending, HostReply, InputReply, OutputStream, RuntimeEvent, RuntimeReply,
    RuntimeRequest,
};
use crate::runtimes::RuntimeRole;
use crate::scheduler::{ActiveJob, MovableCell};
use crate::step::Step;

/// Moves the running cell to the background, if that is possible.
pub(crate) fn begin(step: &mut Step<'_>) {
    let (job, cell) = match step.state.scheduler.movable_cell() {
        MovableCell::Now(job, cell) => (job, cell),
        MovableCell::Later => return,
        MovableCell::None => {
            let text = "only a cell that was typed can go to the background, and none runs";
            return step.show(Notice::note(text));
        }
    };
    let branch = step.state.branches.take_number();
    let request = RuntimeRequest::HandOff { cell, branch };
    let question = BranchQuestion::HandOff(job);
    ask(step, RuntimeRole::User, branch, question, request);
}

pub(crate) fn on_event(step: &mut Step<'_>, branch: u32, event: BranchEvent) {
    let (question, reply) = match event {
        BranchEvent::Answered(question, reply) => (question, reply),
        BranchEvent::Aside(event) => return aside::on_event(step, branch, event),
    };
    match question {
        BranchQuestion::Fork => aside::on_forked(step, branch, reply),
        BranchQuestion::HandOff(job) => on_handed_off(step, branch, job, reply),
        BranchQuestion::Base => on_base(step, branch, reply),
        BranchQuestion::Digest => on_digest(step, branch, reply),
        BranchQuestion::TakeBack => on_taken_back(step, branch, reply),
        BranchQuestion::Plan(job) => merge::on_plan(step, branch, job, reply),
        BranchQuestion::Pack(job) => merge::on_packed(step, branch, job, reply),
        BranchQuestion::Unpack => merge::on_unpacked(step, branch, reply),
        BranchQuestion::Nothing => {}
    }
}

fn on_handed_off(step: &mut Step<'_>, number: u32, job: JobId, reply: RuntimeReply) {
    let branch = match reply {
        RuntimeReply::Branch(branch) => branch,
        reply => {
            let why = why_not(&reply);
            return step.show(Notice::note(format!("the cell stays in front: {why}")));
        }
    };
    let Some((mut run, out)) = step.state.scheduler.take_cell(job) else {
        return;
    };
    let (line, Some(id)) = (run.line().unwrap_or_default(), run.id) else {
        return;
    };
    run.move_to(RuntimeRole::Branch(number));
    let folder = folder(number);
    let cell = BranchJob {
        line,
        title: run.first_line().to_owned(),
        work: BranchWork::Cell {
            run: Box::new(run),
            branch: branch.clone(),
            uses: step.ctx.user().uses(),
        },
        folder: folder.clone(),
        begun: step.ctx.now,
        waiting: None,
        rows: Vec::new(),
        end: None,
        merge: None,
    };
    step.state.branches.insert(number, cell);
    step.push(Effect::AddBranch(number, id, branch));
    step.push(Effect::MakeFolder(folder));
    step.push(Effect::InterpreterMoved);
    let ended = CellEvent::Ended {
        ending: Ending::Ok,
        typeahead: Vec::new(),
    };
    step.send(&out, ended);
    let text = format!(
        "In [{line}] goes on in the background (`%ipycodex jobs`); here everything is as before it"
    );
    step.send(&out, Notice::note(text));
    step.raise(Event::Free);
}

/// Takes an event of a branch.
pub(crate) fn on_runtime(step: &mut Step<'_>, number: u32, event: RuntimeEvent) {
    match event {
        RuntimeEvent::Died { death, .. } => {
            on_gone(step, number, &format!("its interpreter ended: {death}"));
        }
        RuntimeEvent::Lost { why } => on_gone(step, number, &why),
        RuntimeEvent::Notice(text) => step.send_to_background(Notice::note(text)),
        RuntimeEvent::RecordRequested { call, .. } => {
            let reply = RuntimeRequest::ReplyRecord { call, place: None };
            step.push(Effect::Notify(RuntimeRole::Branch(number), reply));
        }
        RuntimeEvent::HostCalled { call, .. } => {
            let why = "a cell in the background can ask nothing of the session";
            let reply = HostReply::Refused(why.to_owned());
            let call = call.call;
            let reply = RuntimeRequest::ReplyCall { call, reply };
            step.push(Effect::Notify(RuntimeRole::Branch(number), reply));
        }
        RuntimeEvent::InputRequested { call, .. } => {
            let reply = InputReply::Eof;
            let reply = RuntimeRequest::ReplyInput { call, reply };
            step.push(Effect::Notify(RuntimeRole::Branch(number), reply));
        }
        // They are about the shell in front.
        RuntimeEvent::ExitRequested { .. } | RuntimeEvent::NextInput { .. } => {}
        event => {
            let id = event.request();
            let run = id.and_then(|id| step.state.branches.cell(number, id));
            let Some(run) = run else { return };
            let (effects, progress) = run.on(event, step.ctx.outputs);
            step.extend(effects);
            match progress {
                CellProgress::On => {}
                CellProgress::Ended(result) | CellProgress::Died(result) => {
                    on_cell_ended(step, number, &result);
                }
            }
        }
    }
}

fn on_cell_ended(step: &mut Step<'_>, number: u32, result: &CellResult) {
    let Some(cell) = step.state.branches.get(number) else {
        return;
    };
    let died = matches!(result.ending, Ending::Died(_) | Ending::Lost(_));
    let what = match &result.ending {
        Ending::Ok => "has ended".to_owned(),
        Ending::Interrupted => "was interrupted".to_owned(),
        Ending::Error => match &result.raised {
            Some(raised) => format!("has failed ({raised})"),
            None => "has failed".to_owned(),
        },
        Ending::Died(death) => format!("has ended with its interpreter ({death})"),
        Ending::Lost(why) => format!("was lost ({why})"),
    };
    let took = step.ctx.now.saturating_duration_since(cell.begun);
    if let BranchWork::Cell { run, .. } = &mut cell.work {
        run.hide();
    }
    cell.end = Some(BranchEnd {
        what,
        took: result.took.max(took),
        cwd: result.cwd.clone(),
        has_output: !result.shown.text.is_empty(),
        is_compared: true,
    });
    if died {
        return tell_end(step, number, AfterEnd::Died);
    }
    let request = BackgroundRequest::Base {
        branch: number,
        path: cell.folder.join("base"),
    };
    ask_prompt(step, number, BranchQuestion::Base, request);
}

fn on_base(step: &mut Step<'_>, number: u32, reply: RuntimeReply) {
    if let Err(why) = names_in(reply) {
        return tell_end(step, number, AfterEnd::NotCompared(why));
    }
    let Some(cell) = step.state.branches.get(number) else {
        return;
    };
    let request = BackgroundRequest::Digest {
        base: cell.folder.join("base"),
        path: cell.folder.join("theirs"),
    };
    ask_branch(step, number, BranchQuestion::Digest, request);
}

fn on_digest(step: &mut Step<'_>, number: u32, reply: RuntimeReply) {
    let told = match names_in(reply) {
        Ok(told) => told,
        Err(why) => return tell_end(step, number, AfterEnd::NotCompared(why)),
    };
    let uses = step.ctx.user().uses();
    let Some(cell) = step.state.branches.get(number) else {
        return;
    };
    cell.rows = told.rows;
    if let BranchWork::Cell {
        branch,
        uses: before,
        ..
    } = &cell.work
        && *before == uses
    {
        let request = RuntimeRequest::TakeBack(branch.clone());
        let question = BranchQuestion::TakeBack;
        return ask(step, RuntimeRole::User, number, question, request);
    }
    tell_end(step, number, AfterEnd::Merge);
}

fn on_taken_back(step: &mut Step<'_>, number: u32, reply: RuntimeReply) {
    if !matches!(reply, RuntimeReply::Done) {
        return tell_end(step, number, AfterEnd::Merge);
    }
    ask_prompt(
        step,
        number,
        BranchQuestion::Nothing,
        BackgroundRequest::Return,
    );
    step.push(Effect::InterpreterMoved);
    let cell = step.state.branches.get(number);
    let end = cell.and_then(|cell| cell.end.as_ref());
    if let Some(cwd) = end.and_then(|end| end.cwd.clone()) {
        jobs::change_directory(step, RuntimeRole::User, cwd.into());
    }
    tell_end(step, number, AfterEnd::AtPrompt);
}

/// The interpreter of a branch has ended; its cell, if it ran, has been told of before.
fn on_gone(step: &mut Step<'_>, number: u32, why: &str) {
    merge::fail(step, number, why);
    if let Some(cell) = step.state.branches.get(number) {
        let text = format!("the names of In [{}] are gone: {why}", cell.line);
        step.send_to_background(Notice::warning(text));
        drop_branch(step, number);
    }
}

pub(crate) fn list(step: &mut Step<'_>, out: &RunSender) {
    let runtimes = step.ctx.runtimes;
    let waits = |number| runtimes.branch_waits_for_input(number);
    let text = step.state.branches.listing(step.ctx.now, waits);
    step.send(out, TextEvent::Text(text));
}

/// Waits for the end of a cell in the background.
pub(crate) fn wait(step: &mut Step<'_>, line: u32, out: &RunSender) {
    let Some((number, cell)) = step.state.branches.of_line(line) else {
        return step.send(out, none(line));
    };
    match &cell.end {
        None => drop(begin_wait(step, number, out)),
        Some(end) => {
            let text = format!("In [{line}] {}", end.what);
            step.send(out, Notice::note(text));
        }
    }
}

fn begin_wait<'a>(
    step: &'a mut Step<'_>,
    number: u32,
    out: &RunSender,
) -> Option<&'a mut BranchJob> {
    let holder = ActiveJob::Command { firm: false };
    let job = step.state.scheduler.start(holder, out.clone());
    step.send(out, BeginEvent::Wait);
    let cell = step.state.branches.get(number)?;
    cell.waiting = Some(job);
    Some(cell)
}

/// Shows the output of a cell that runs in the background, or the answer of a turn, until it ends; returns false for a
/// cell that does not run there.
pub(crate) fn watch(step: &mut Step<'_>, line: u32, out: &RunSender) -> bool {
    let Some((number, job)) = step.state.branches.of_line(line) else {
        return false;
    };
    let (runs, is_cell) = (
        job.is_running(),
        matches!(job.work, BranchWork::Cell { .. }),
    );
    if runs {
        begin_wait(step, number, out);
    }
    if !is_cell {
        return aside::watch(step, number, out);
    }
    let job = step.state.branches.get(number).filter(|_| runs);
    let Some(BranchWork::Cell { run, .. }) = job.map(|job| &mut job.work) else {
        return false;
    };
    let output = CellEvent::Output {
        stream: OutputStream::Stdout,
        bytes: run.show_to(out.clone()).into_bytes(),
        foreign: false,
    };
    step.send(out, output);
    true
}

/// Types a line for a cell in the background that waits for one.
pub(crate) fn answer(step: &mut Step<'_>, line: u32, text: &str, out: &RunSender) {
    let Some((number, _)) = step.state.branches.of_line(line) else {
        return step.send(out, none(line));
    };
    let runtimes = step.ctx.runtimes;
    let waits = runtimes.branch_waits_for_input(number);
    if !waits || !runtimes.type_into_branch(number, format!("{text}\r").as_bytes()) {
        let text = format!("In [{line}] does not wait for input");
        step.send(out, Notice::note(text));
    }
}

/// Why the session cannot be left for another one: cells in the background are its own.
pub(crate) fn why_stay(step: &Step<'_>) -> Option<Notice> {
    let line = step.state.branches.first_line()?;
    let text = format!("In [{line}] is beside the prompt, so this session stays");
    let hint = format!("`%ipycodex wait {line}`, `merge {line}` or `kill {line}`, then again");
    Some(Notice::warning(text).hint(hint))
}

/// Ends what is beside the prompt, or drops what it has left.
pub(crate) fn kill(step: &mut Step<'_>, line: u32, out: &RunSender) {
    let Some((number, job)) = step.state.branches.of_line(line) else {
        return step.send(out, none(line));
    };
    let (runs, is_cell) = (
        job.is_running(),
        matches!(job.work, BranchWork::Cell { .. }),
    );
    if runs && is_cell {
        let kill = Effect::Kill {
            role: RuntimeRole::Branch(number),
            over_time: false,
            to: To::Job,
        };
        return step.push_for(kill, out);
    }
    drop_branch(step, number);
    step.state.branches.remove(number);
    let text = match runs {
        true => format!("In [{line}] was ended"),
        false => format!("what In [{line}] has left was dropped"),
    };
    step.send(out, Notice::note(text));
}

/// Merges what a branch has left, or asks about it.
pub(crate) fn merge(step: &mut Step<'_>, line: u32, out: &RunSender) {
    let Some((number, cell)) = step.state.branches.of_line(line) else {
        return step.send(out, none(line));
    };
    if cell.end.as_ref().is_none_or(|end| end.is_compared) {
        let text = format!("In [{line}] still runs: `%ipycodex wait {line}`");
        return step.send(out, Notice::note(text));
    }
    match &cell.work {
        BranchWork::Answer(_) => {
            let text = format!("In [{line}] offers nothing more; `%ipycodex show {line}`");
            step.send(out, Notice::note(text));
        }
        BranchWork::Aside(_) => offer::begin(step, number, out),
        BranchWork::Cell { .. } => merge::start(step, number, out),
    }
}
