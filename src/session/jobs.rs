//! Starts jobs: numbers and records their inputs, and sends what they run.
//!
//! Invariant: an input has its number and, unless it is private, is in the record before any effect of it.

use std::path::PathBuf;

use tokio::sync::oneshot::error::RecvError;

use crate::Submission;
use crate::agent::Usage;
use crate::attachments::{self, Attachments};
use crate::cell::{CellOrigin, CellRun};
use crate::config::{Images, RewindFiles};
use crate::effect::{CellStart, CodeStarter, Effect, Event, Found, RecordWrite, warn};
use crate::events::{BeginEvent, RunKind};
use crate::input::prompt_source;
use crate::markdown::Background;
use crate::prompt::Prompt;
use crate::record::TurnRow;
use crate::replay::{ReplayCell, ReplayRun};
use crate::run::RunSender;
use crate::runtime::{BackgroundRequest, DarkRendering, Execute, RuntimeReply, RuntimeRequest};
use crate::runtimes::RuntimeRole;
use crate::scheduler::{ActiveJob, CellJob};
use crate::step::Step;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retention {
    Recorded,
    Private,
    Unnumbered,
}

impl Retention {
    pub(super) fn from_submission(submission: &Submission) -> Self {
        match (submission.store_history, submission.counts) {
            (true, _) => Retention::Recorded,
            (false, true) => Retention::Private,
            (false, false) => Retention::Unnumbered,
        }
    }
}

/// Assigns an input its number and, unless it is private, records it before it has any effect.
pub(super) fn number(
    step: &mut Step<'_>,
    source: &str,
    kind: RunKind,
    retention: Retention,
    out: &RunSender,
) -> u32 {
    let numbering = &mut step.state.numbering;
    let source = source.to_owned();
    let (line, write) = match retention {
        Retention::Unnumbered => (numbering.passing(), None),
        Retention::Private => {
            let line = numbering.take_private();
            (line, Some(RecordWrite::Recall(source)))
        }
        Retention::Recorded => {
            let line = numbering.take();
            let write = match kind {
                RunKind::Shell => RecordWrite::ShellCommand {
                    line,
                    command: source,
                },
                _ => RecordWrite::Input { line, source },
            };
            (line, Some(write))
        }
    };
    let begun = Effect::show(BeginEvent::Input { line, kind });
    step.extend_for(write.map(Effect::Record).into_iter().chain([begun]), out);
    line
}

/// Starts a prompt and reads the record for it, once the skills are known.
pub(super) fn begin_prompt(step: &mut Step<'_>, prompt: Prompt, out: &RunSender) {
    let (named, replaced) = (prompt.named_files(), prompt.replaced_lines());
    let is_preview = prompt.is_preview();
    let active = ActiveJob::Prompt(Box::new(prompt));
    let job = step.state.scheduler.start(active, out.clone());
    let record = step.ctx.record.clone();
    let skills = step.state.skill_registry.ready();
    let (cwd, places) = (step.state.cwd.clone(), step.ctx.deps.notebooks.clone());
    step.spawn(async move {
        let read = match named.is_empty() {
            true => Ok(Attachments::default()),
            false => {
                tokio::task::spawn_blocking(move || attachments::read(named, &cwd, &places)).await
            }
        };
        skills.await;
        let mut dialog = Box::new(record.dialog().await);
        if let Some(replaced) = replaced {
            dialog.hide(&replaced, true);
        }
        let used = match is_preview {
            true => last_known_window(record.turns().await),
            false => None,
        };
        let read = Event::RecordRead(job, dialog, read.unwrap_or_default(), used);
        vec![Effect::Raise(read)]
    });
}

/// Returns the tokens of the last turn that told the size of the model's window.
fn last_known_window(turns: Vec<TurnRow>) -> Option<Usage> {
    let used = turns.into_iter().rev().filter_map(|turn| turn.usage);
    used.into_iter().find(|usage| usage.window.is_some())
}

/// Sends a prompt again under a new number, in place of the exchange at `line` if there is one.
pub(super) fn resend(step: &mut Step<'_>, line: Option<u32>, text: String, out: &RunSender) {
    let source = prompt_source(&text);
    let own = number(step, &source, RunKind::Prompt, Retention::Recorded, out);
    let prompt =
        Prompt::new(own, text, source, step.ctx.now).replacing(line.map(|line| line..=line));
    begin_prompt(step, prompt, out);
}

/// Shortens the conversation, keeping what the user wants to be kept: by the agent's own command if it has one, else in
/// a turn of its own.
pub(super) fn compact(step: &mut Step<'_>, keep: String, out: &RunSender) {
    let commands = step.ctx.agent().capabilities().commands;
    let known = step.state.turns.profile.commands();
    if commands && known.iter().any(|command| command.id == "compact") {
        let text = format!("/compact {keep}").trim_end().to_owned();
        return resend(step, None, text, out);
    }
    let text = match keep.as_str() {
        "" => "Shorten the conversation so far.".to_owned(),
        keep => format!("Shorten the conversation so far, and keep: {keep}"),
    };
    let source = prompt_source(&text);
    let own = number(step, &source, RunKind::Prompt, Retention::Recorded, out);
    let typed = format!("%ipycodex compact {keep}").trim_end().to_owned();
    let prompt = Prompt::new(own, text, typed, step.ctx.now).compacting(keep);
    begin_prompt(step, prompt, out);
}

/// Runs code of the user: once its input is in the record, if it is recorded at all. With `behind`, it runs in the
/// background, where there is a checkpoint of this moment that can have the prompt.
pub(super) fn run_code(
    step: &mut Step<'_>,
    role: RuntimeRole,
    execute: Execute,
    recorded: Option<u32>,
    (stops, behind): (bool, bool),
    out: &RunSender,
) {
    let start = |origin| CellStart {
        role,
        execute,
        origin,
        stops,
        behind,
    };
    let Some(line) = recorded else {
        return run_cell(step, start(CellOrigin::Private), out);
    };
    let start = Box::new(start(CellOrigin::User(line)));
    let recording = ActiveJob::Recording {
        interrupted: false,
        behind: false,
    };
    let ready = RuntimeRequest::Background(BackgroundRequest::Ready);
    let ready = behind.then(|| step.ask_runtime(ready));
    let record = step.ctx.record.clone();
    step.wait_as(recording, out, async move {
        record.wait_written().await;
        let why = match ready {
            Some(told) => why_no_checkpoint(told.await),
            None => None,
        };
        match why {
            None => vec![Effect::found(Found::Cell(start))],
            Some(why) => warn(format!(
                "not run, since it cannot go to the background: {why}"
            )),
        }
    });
}

pub(super) fn why_no_checkpoint(told: Result<RuntimeReply, RecvError>) -> Option<String> {
    match told {
        Ok(RuntimeReply::Background(told)) => told.why,
        Ok(RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why)) => Some(why),
        _ => Some("the interpreter has ended".to_owned()),
    }
}

pub(super) fn run_cell(step: &mut Step<'_>, start: CellStart, out: &RunSender) {
    let CellStart {
        role,
        execute,
        origin,
        stops,
        behind,
    } = start;
    let mut run = CellRun::new(origin, out.clone())
        .on_runtime_of(role)
        .with_source(&execute.code);
    run.start_behind(behind);
    if step.ctx.workbook.is_open() {
        run.keep(execute.code.clone());
    }
    let cell = CellJob::new(run, None).stopping(stops);
    start_cell(step, cell, RuntimeRequest::Execute(execute), out);
}

/// Starts the job of a cell, and sends what it runs.
pub(super) fn start_cell(
    step: &mut Step<'_>,
    cell: CellJob,
    request: RuntimeRequest,
    out: &RunSender,
) {
    let (role, request) = (cell.run.role, Box::new(request));
    let active = ActiveJob::Cell(Box::new(cell));
    let starter = CodeStarter::Job(step.state.scheduler.start(active, out.clone()));
    step.push(Effect::Execute {
        starter,
        role,
        request,
    });
}

/// Begins the next step of a replay, or ends it.
pub(super) fn continue_replay(step: &mut Step<'_>, replay: Box<ReplayRun>) {
    let (dark, out) = (dark(step), replay.out().clone());
    let (effects, next) = replay.go_on(&mut step.state.numbering, dark);
    step.extend_for(effects, &out);
    if let Some(next) = next {
        let ReplayCell {
            run,
            replay,
            execute,
        } = next;
        let cell = CellJob::new(run, Some(replay));
        start_cell(step, cell, RuntimeRequest::Execute(execute), &out);
    }
}

/// Returns whether output is shown on a dark terminal, as far as known, and whether pictures are adapted to that.
pub(super) fn dark(step: &Step<'_>) -> DarkRendering {
    let choices = &step.state.choices;
    let named = || Background::of_theme(&choices.code_theme);
    let background = step
        .state
        .terminal_background
        .or(choices.code_theme_chosen.then(named));
    let is_dark = step.ctx.user().has_terminal() && background == Some(Background::Dark);
    match choices.images != Images::Off && choices.fit_plots {
        _ if !is_dark => DarkRendering::Off,
        true => DarkRendering::TextAndPictures,
        false => DarkRendering::Text,
    }
}

/// Takes a change of directory by the code of this role; there is one working directory, that of the last change.
pub(super) fn change_directory(step: &mut Step<'_>, role: RuntimeRole, directory: PathBuf) {
    if role == RuntimeRole::User {
        step.push(Effect::DirectoryChanged);
    } else if directory != step.state.cwd {
        step.push(Effect::FollowShell(directory.clone()));
    }
    if directory != step.state.cwd {
        let keeps = step.state.choices.rewind_files != RewindFiles::Off;
        step.push(Effect::KeepFiles(keeps, directory.clone()));
    }
    step.state.cwd = directory;
}
