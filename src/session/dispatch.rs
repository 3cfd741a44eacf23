//! Takes submissions, and begins the jobs of the queue: inputs by what they are, one at a time.

use std::ops::RangeInclusive;

use crate::Submission;
use crate::background_magic;
use crate::commands::{self, plan, replace, turns};
use crate::effect::{Effect, Event, RecordWrite, To};
use crate::events::{AfterEvent, Notice, RunKind};
use crate::external_calls;
use crate::input::{Input, classify, prompt_source};
use crate::jobs::{self, Retention};
use crate::loading;
use crate::prompt::Prompt;
use crate::resume;
use crate::run::RunSender;
use crate::runtime::Execute;
use crate::runtimes::RuntimeRole;
use crate::startup;
use crate::step::Step;
use crate::submission::QueuedJob;

/// Queues an input; runs `%ipycodex interrupt` at once.
pub(super) fn on_input(step: &mut Step<'_>, submission: Submission, out: RunSender) {
    let beside = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words == ["%ipycodex", "interrupt"]
    };
    if step.state.scheduler.active().is_some() && beside(&submission.text) {
        return begin(step, submission, &out);
    }
    enqueue(step, QueuedJob::Input(submission), out);
}

pub(super) fn enqueue(step: &mut Step<'_>, work: QueuedJob, out: RunSender) {
    step.state.scheduler.enqueue(work, out);
    step.raise(Event::Advance);
}

/// Begins the next queued job if none is active; `Event::Advance` follows for the one after it.
pub(super) fn advance(step: &mut Step<'_>) {
    if !step.state.numbering.is_open() {
        return;
    }
    let Some((job, out)) = step.state.scheduler.next() else {
        return;
    };
    let record = step.ctx.record.clone();
    match job {
        QueuedJob::Input(submission) => begin(step, submission, &out),
        QueuedJob::Replay(replay) => step.wait(&out, resume::handed_in(replay, record)),
        QueuedJob::Load(loading) => {
            let language = step.ctx.user().able().language.clone();
            let loaded = loading::load(loading, record, language, out.clone());
            step.wait(&out, loaded);
        }
        QueuedJob::SetUp => startup::begin(step, &out),
        QueuedJob::RestoreVariables => startup::restore_variables(step, &out),
        QueuedJob::Call(call) => external_calls::driver::begin(step, call, out),
    }
    step.raise(Event::Advance);
}

/// Continues the replay, then the queue, once no job is active.
pub(super) fn continue_idle(step: &mut Step<'_>) {
    step.push(Effect::ToolsChanged);
    step.push(Effect::SaveOutputs(To::Job));
    if let Some(replay) = step.state.scheduler.take_replay() {
        jobs::continue_replay(step, replay);
    }
    step.raise(Event::Advance);
}

/// Begins an input. Where it replaces more than an exchange of words, the user is asked first.
fn begin(step: &mut Step<'_>, mut submission: Submission, out: &RunSender) {
    let is_prompt = matches!(
        classify(&submission.text, submission.mode),
        Input::Prompt(prompt) if !prompt.repeats()
    );
    if submission.counts && !submission.silent {
        let replaced = step.state.replaced_next.take();
        submission.replaces = submission.replaces.or(replaced.filter(|_| is_prompt));
    }
    let Some(from) = submission.replaces else {
        return begin_now(step, submission, out);
    };
    // After an interrupt at the question, Up finds the text.
    if let Input::Prompt(prompt) = classify(&submission.text, submission.mode) {
        let recalled = RecordWrite::Recall(prompt_source(&prompt.text));
        step.push(Effect::Record(recalled));
    }
    let replaced = replace::plan(step.ctx.record.clone(), from, submission);
    step.wait(out, replaced);
}

pub(super) fn begin_now(step: &mut Step<'_>, submission: Submission, out: &RunSender) {
    let source = submission.text.trim_end_matches(['\n', '\r']).to_owned();
    let retention = Retention::from_submission(&submission);
    match classify(&source, submission.mode) {
        Input::Empty => {}
        Input::Exit => step.send(out, AfterEvent::Leave(0)),
        Input::Shell { command } => begin_shell(step, command, &submission, out),
        Input::Command { line } => {
            let number = jobs::number(step, &source, RunKind::Command, retention, out);
            commands::run(step, &line, number, out);
        }
        Input::Prompt(prompt) if prompt.repeats() => {
            step.wait(out, turns::repeat(step.ctx.record.clone()));
        }
        Input::Prompt(prompt) => {
            let hint = prompt.hint.map(Notice::note);
            for notice in step.state.unreported.take().into_iter().chain(hint) {
                step.send(out, notice);
            }
            plan::on_prompt(step, &prompt.text, out);
            let own = prompt_source(&prompt.text);
            let line = jobs::number(step, &own, RunKind::Prompt, Retention::Recorded, out);
            let prompt = Prompt::new(line, prompt.text, source, step.ctx.now)
                .with_attachments(submission.attached, submission.schema)
                .with_can_ask(submission.asks)
                .replacing(replaced(submission.replaces, line));
            jobs::begin_prompt(step, prompt, out);
        }
        Input::Note { source: code, .. } | Input::Cell { source: code } => {
            begin_cell(step, code, submission, out);
        }
    }
}

/// Numbers and records a cell, unless it is private or unnumbered, and runs it.
fn begin_cell(step: &mut Step<'_>, code: String, submission: Submission, out: &RunSender) {
    let retention = Retention::from_submission(&submission);
    let line = match submission.silent {
        true => None,
        false => Some(jobs::number(step, &code, RunKind::Cell, retention, out)),
    };
    if let Some(line) = line
        && let Some(lines) = replaced(submission.replaces, line)
    {
        let hidden = true;
        step.push(Effect::Record(RecordWrite::Hide { lines, hidden }));
    }
    let is_interactive = step.ctx.deps.asks;
    let behind = is_interactive && background_magic::rest(&code).is_some();
    let execute = Execute {
        execution_count: line,
        store_history: line.is_some(),
        silent: submission.silent,
        stdin: step.ctx.user().stdin(submission.stdin),
        location: submission.place,
        dark: jobs::dark(step),
        parent: submission.parent,
        ..Execute::unnumbered(code)
    };
    let recorded = line.filter(|_| retention == Retention::Recorded);
    if recorded.is_some() {
        // The interpreter starts while the record is written.
        step.push(Effect::StartRuntime);
    }
    let stops = submission.stop_on_error;
    let how = (stops, behind && recorded.is_some());
    jobs::run_code(step, RuntimeRole::User, execute, recorded, how, out);
}

/// Numbers and records a command of the session's shell, unless it is private, and runs it; the interpreter follows
/// the shell's directory.
fn begin_shell(step: &mut Step<'_>, command: String, given: &Submission, out: &RunSender) {
    let retention = match given.store_history {
        true => Retention::Recorded,
        false => Retention::Private,
    };
    let line = jobs::number(step, &command, RunKind::Shell, retention, out);
    let execute = Execute {
        directory: Some(step.state.cwd.clone()),
        ..Execute::numbered(command, line)
    };
    let recorded = given.store_history.then_some(line);
    let stops = given.stop_on_error;
    let how = (stops, false);
    jobs::run_code(step, RuntimeRole::Shell, execute, recorded, how, out);
}

/// Returns the In numbers that are removed for an input that took `own` and replaces everything from `from` on.
fn replaced(from: Option<u32>, own: u32) -> Option<RangeInclusive<u32>> {
    let from = from.filter(|from| (1..own).contains(from))?;
    Some(from..=own - 1)
}
