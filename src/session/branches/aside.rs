//! An agent's turn beside the prompt: in a session of its own, in a fork of the interpreter, with a fork of the
//! conversation.
//!
//! In: the user's prompt, the events of that session. Out: effects, and one line for the user when the turn begins and
//! when it has ended. Invariants: nothing of it reaches the session but by a merge; a turn that cannot begin so is not
//! begun, and the reason is said. Absent on purpose: that session (the front-end makes it, [`crate::StartAside`]), what
//! is brought over (`merge.rs`), and its files (`files.rs`).

use super::ask::{ask, ask_branch, why_not};
use super::event::{AsideEvent, BranchEvent, BranchQuestion};
use super::shown::Shown;
use super::tell::{AfterEnd, folder, tell_end};
use super::turn::AsideTurn;
use super::{BranchEnd, BranchJob, BranchWork, files, merge};
use crate::effect::{Effect, Event, emit};
use crate::events::{BeginEvent, EndEvent, Notice, RunKind, SessionEvent, TurnOutcome};
use crate::input::prompt_source;
use crate::jobs::{self, Retention};
use crate::peers::AsidePlan;
use crate::record::ForkOrigin;
use crate::run::{RunSender, stream};
use crate::runtime::{BackgroundRequest, RuntimeReply, RuntimeRequest};
use crate::runtimes::RuntimeRole;
use crate::step::Step;
use crate::text::{cut, first_line};

/// Columns of a prompt that name it.
const TITLE: usize = 60;

/// Begins a turn that the user wants while something runs, with the next number.
pub(crate) fn begin_beside(step: &mut Step<'_>, prompt: String) {
    let source = format!("%ipycodex aside {}", prompt_source(&prompt));
    let (out, _) = stream();
    let line = jobs::number(step, &source, RunKind::Command, Retention::Recorded, &out);
    begin(step, prompt, line);
}

/// Begins a turn beside the prompt, as In number `line`.
pub(crate) fn begin(step: &mut Step<'_>, prompt: String, line: u32) {
    if step.ctx.deps.asides.is_none() {
        return step.show(Notice::warning("nobody is at a prompt here"));
    }
    let number = step.state.branches.take_number();
    let (scheduler, tool) = (&step.state.scheduler, &step.state.tool_runner);
    let runs_tool = tool.is_running() && tool.role() == RuntimeRole::User;
    let runs_cell = scheduler.role() == Some(RuntimeRole::User) || scheduler.has_suspended();
    let before = step.state.scheduler.line().unwrap_or(line);
    let work = AsideTurn {
        prompt: prompt.clone(),
        shown: Shown::default(),
        cells: Vec::new(),
        files: Vec::new(),
        outcome: None,
        origin: None,
    };
    let job = BranchJob {
        line,
        title: cut(&first_line(&prompt_source(&prompt)).0, TITLE).into_owned(),
        work: BranchWork::Aside(Box::new(work)),
        folder: folder(number),
        begun: step.ctx.now,
        waiting: None,
        rows: Vec::new(),
        end: None,
        merge: None,
    };
    step.state.branches.insert(number, job);
    // While a cell runs, the checkpoint from before it is used.
    let ready = RuntimeRequest::Background(BackgroundRequest::Ready);
    let ready = (!runs_cell && !runs_tool).then(|| step.ask_runtime(ready));
    let record = step.ctx.record.clone();
    step.spawn(async move {
        let why = match ready {
            Some(told) => jobs::why_no_checkpoint(told.await),
            None => None,
        };
        let origin = match why {
            Some(why) => Err(not_forked(&why)),
            None => match record.fork_origin(before).await {
                Some(origin) => Ok(origin),
                None => Err("this session is not in the history file".to_owned()),
            },
        };
        vec![Effect::Raise(event(number, AsideEvent::Ready(origin)))]
    });
}

fn event(number: u32, event: AsideEvent) -> Event {
    Event::Branch(number, BranchEvent::Aside(event))
}

pub(super) fn on_event(step: &mut Step<'_>, number: u32, event: AsideEvent) {
    match event {
        AsideEvent::Ready(Ok(origin)) => on_ready(step, number, origin),
        AsideEvent::Ready(Err(why)) | AsideEvent::Failed(why) => fail(step, number, &why),
        AsideEvent::Shown(event) => on_shown(step, number, *event),
        AsideEvent::TurnOver => on_turn_over(step, number),
        AsideEvent::Files(files) => {
            if let Some(turn) = step.state.branches.aside(number) {
                turn.files = files;
                ask_base(step, number);
            }
        }
        AsideEvent::Brought { names, files } => merge::finish(step, number, names, files),
    }
}

fn on_ready(step: &mut Step<'_>, number: u32, origin: ForkOrigin) {
    let Some(job) = step.state.branches.get(number) else {
        return;
    };
    let folder = job.folder.clone();
    if let BranchWork::Aside(turn) = &mut job.work {
        turn.origin = Some(origin);
    }
    step.push(Effect::MakeFolder(files::offered(&folder)));
    let request = RuntimeRequest::Fork {
        branch: number,
        folder,
    };
    ask(
        step,
        RuntimeRole::User,
        number,
        BranchQuestion::Fork,
        request,
    );
}

pub(super) fn on_forked(step: &mut Step<'_>, number: u32, reply: RuntimeReply) {
    let branch = match reply {
        RuntimeReply::Branch(branch) => branch,
        reply => return fail(step, number, &not_forked(&why_not(&reply))),
    };
    let (choices, cwd) = (step.state.choices.for_aside(), step.state.cwd.clone());
    let Some(job) = step.state.branches.get(number) else {
        return;
    };
    let (line, folder) = (job.line, job.folder.clone());
    let BranchWork::Aside(turn) = &mut job.work else {
        return;
    };
    let Some(origin) = turn.origin else {
        return;
    };
    let plan = AsidePlan {
        branch,
        task: task(
            &files::offered(&folder).to_string_lossy(),
            &cwd.to_string_lossy(),
        ),
        prompt: turn.prompt.clone(),
        origin,
        choices,
        cwd,
        folder,
    };
    step.push(Effect::StartAside(number, Box::new(plan)));
    let text = format!("In [{line}] works beside the prompt (`%ipycodex jobs`)");
    step.show(Notice::note(text));
}

/// What the agent is told of its place.
fn task(folder: &str, cwd: &str) -> String {
    format!(
        "<aside>This turn is beside the user's prompt, in a fork of their session; they go on meanwhile, and nobody \
         answers questions. Run cells in the kernel `live`: it is a fork of their interpreter, and asks nobody. It can \
         write files in {folder} alone; a file there is offered to the user for the same place below {cwd}. Your own \
         commands cannot write. When you have ended, the user decides whether the names that your cells have added or \
         changed and these files come into the session.</aside>\n"
    )
}

fn not_forked(why: &str) -> String {
    format!("the interpreter cannot be forked now: {why}")
}

/// A turn that has not begun.
fn fail(step: &mut Step<'_>, number: u32, why: &str) {
    let Some(job) = step.state.branches.remove(number) else {
        return;
    };
    let text = format!("In [{}] was not begun: {why}", job.line);
    let notice = Notice::warning(text);
    match job.waiting {
        Some(wait) if step.state.scheduler.is_current(wait) => {
            step.finish_wait(wait, emit(notice));
        }
        _ => step.show(notice),
    }
    step.push(Effect::EndBranch(number, job.folder));
}

fn on_shown(step: &mut Step<'_>, number: u32, event: SessionEvent) {
    let Some(turn) = step.state.branches.aside(number) else {
        return;
    };
    match &event {
        SessionEvent::Begin(BeginEvent::AgentCell { source, .. }) => {
            turn.cells.push(source.clone());
        }
        SessionEvent::End(EndEvent::Turn { outcome, .. }) => {
            turn.outcome = Some(outcome.clone());
        }
        _ => {}
    }
    turn.shown.add(event);
}

/// The turn has ended: what it offers is looked up.
fn on_turn_over(step: &mut Step<'_>, number: u32) {
    let Some(job) = step.state.branches.get(number) else {
        return;
    };
    let took = step.ctx.now.saturating_duration_since(job.begun);
    let BranchWork::Aside(turn) = &mut job.work else {
        return;
    };
    turn.shown.hide();
    let what = match &turn.outcome {
        Some(TurnOutcome::Complete) => "has answered".to_owned(),
        Some(TurnOutcome::Interrupted) => "was interrupted".to_owned(),
        Some(TurnOutcome::Failed(failure)) => format!("has failed ({})", failure.message),
        None => "has ended without an answer".to_owned(),
    };
    job.end = Some(BranchEnd {
        what,
        took,
        cwd: None,
        has_output: true,
        is_compared: true,
    });
    let (folder, cwd) = (files::offered(&job.folder), step.state.cwd.clone());
    step.spawn_blocking(move || event(number, AsideEvent::Files(files::find(&folder, &cwd))));
}

fn ask_base(step: &mut Step<'_>, number: u32) {
    let Some(job) = step.state.branches.get(number) else {
        return;
    };
    let BranchWork::Aside(turn) = &job.work else {
        return;
    };
    if turn.cells.is_empty() {
        return tell_end(step, number, AfterEnd::Merge);
    }
    let path = job.folder.join("base");
    let request = BackgroundRequest::Base {
        branch: number,
        path,
    };
    ask_branch(step, number, BranchQuestion::Base, request);
}

/// Shows the answer so far, and what follows until it ends; false when there is none.
pub(super) fn watch(step: &mut Step<'_>, number: u32, out: &RunSender) -> bool {
    let Some(turn) = step.state.branches.aside(number) else {
        return false;
    };
    let runs = turn.outcome.is_none();
    let shown = turn.shown.events();
    if runs {
        turn.shown.show_to(out.clone());
    }
    for event in shown {
        step.send(out, event);
    }
    true
}
