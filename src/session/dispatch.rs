//! Submissions become jobs: classified, numbered, recorded and started, one at a time.
//!
//! Invariant: an input has its number and, unless it is private, is in the record before any effect of it.

use std::ops::RangeInclusive;
use std::time::Instant;

use crate::Submission;
use crate::attachments::{self, Attachments};
use crate::cell::{CellOrigin, CellRun};
use crate::commands::{turns, undo};
use crate::config::Images;
use crate::effect::{CellStart, Effect, Event, Found, RecordWrite};
use crate::event_loop::Session;
use crate::events::{AfterEvent, BeginEvent, Notice, RunKind};
use crate::handle::Command;
use crate::input::{Input, classify, prompt_source, shell_cell};
use crate::loading;
use crate::markdown::Background;
use crate::prompt::Prompt;
use crate::replay::{ReplayCell, ReplayRun};
use crate::resume;
use crate::run::RunSender;
use crate::runtime::{DarkRendering, Execute, RuntimeRequest};
use crate::runtimes::RuntimeRole;
use crate::scheduler::{ActiveJob, CellJob, QueuedJob};

impl Session {
    /// Queues an input; runs `%ipycodex interrupt` at once.
    pub(super) fn on_submit(&mut self, submission: Submission, out: RunSender) {
        let beside = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            words == ["%ipycodex", "interrupt"]
        };
        if self.state.scheduler.active().is_some() && beside(&submission.text) {
            return self.begin(submission, out);
        }
        self.enqueue(QueuedJob::Input(submission), out);
    }

    pub(super) fn enqueue(&mut self, work: QueuedJob, out: RunSender) {
        self.state.scheduler.enqueue(work, out);
        self.advance();
    }

    /// Begins the next queued job if none is active; `Event::Advance` follows for the one after it.
    pub(super) fn advance(&mut self) {
        if !self.state.numbering.is_open() {
            return;
        }
        let Some((job, out)) = self.state.scheduler.next() else {
            return;
        };
        match job {
            QueuedJob::Input(submission) => self.begin(submission, out),
            QueuedJob::Replay(replay) => {
                let record = self.io.record.clone();
                self.await_effects(&out, resume::handed_in(replay, record));
            }
            QueuedJob::Load(loading) => {
                let language = self.io.runtimes.user.able().language.clone();
                let loaded = loading::load(loading, self.io.record.clone(), language, out.clone());
                self.await_effects(&out, loaded);
            }
            QueuedJob::SetUp => self.begin_set_up(out),
            QueuedJob::RestoreVariables => self.bring_back(&out),
            QueuedJob::Call(call) => self.begin_call(call, out),
        }
        self.raise(Event::Advance);
    }

    /// Begins an input. Where it replaces exchanges that have run cells, asks the user first whether the
    /// interpreter steps back over those.
    fn begin(&mut self, submission: Submission, out: RunSender) {
        let ran_for = &self.state.step_log.ran_for;
        let from = submission.replaces;
        let Some(from) = from.filter(|from| ran_for.values().any(|line| line >= from)) else {
            return self.begin_now(submission, out);
        };
        // After an interrupt at the question, Up finds the text.
        if let Input::Prompt(prompt) = classify(&submission.text, submission.mode) {
            let recalled = RecordWrite::Recall(prompt_source(&prompt.text));
            self.run_effects(vec![Effect::Record(recalled)], &out);
        }
        let ran_for = self.state.step_log.ran_for.clone();
        let replaced = undo::replace(self.io.record.clone(), from, submission, ran_for);
        self.await_effects(&out, replaced);
    }

    pub(super) fn begin_now(&mut self, submission: Submission, out: RunSender) {
        let source = submission.text.trim_end_matches(['\n', '\r']).to_owned();
        let retention = Retention::from_submission(&submission);
        match classify(&source, submission.mode) {
            Input::Empty => {}
            Input::Exit => out.send(AfterEvent::Leave(0)),
            Input::Shell { command } => self.begin_shell(command, &submission, out),
            Input::Command { line } => {
                let number = self.number(&source, RunKind::Command, retention, &out);
                self.command(&line, number, &out);
            }
            Input::Prompt(prompt) if prompt.repeats() => {
                self.await_effects(&out, turns::repeat(self.io.record.clone()));
            }
            Input::Prompt(prompt) => {
                let hint = prompt.hint.map(Notice::note);
                for notice in self.state.unreported.take().into_iter().chain(hint) {
                    out.send(notice);
                }
                let own = prompt_source(&prompt.text);
                let line = self.number(&own, RunKind::Prompt, Retention::Recorded, &out);
                let prompt = Prompt::new(line, prompt.text, source, Instant::now())
                    .with_attachments(submission.attached, submission.schema)
                    .with_can_ask(submission.asks)
                    .replacing(replaced(submission.replaces, line));
                self.begin_prompt(prompt, out);
            }
            Input::Note { source: code, .. } | Input::Cell { source: code } => {
                self.begin_cell(code, submission, out);
            }
        }
    }

    /// Numbers a prompt and reads the record for it, once the skills are known.
    pub(super) fn begin_prompt(&mut self, prompt: Prompt, out: RunSender) {
        let (named, replaced) = (prompt.named_files(), prompt.replaced_lines());
        let ticket = self
            .state
            .scheduler
            .start(ActiveJob::Prompt(Box::new(prompt)), out);
        let (record, inbox) = (self.io.record.clone(), self.io.inbox.clone());
        let skills = self.state.skill_registry.ready();
        let (cwd, places) = (self.state.cwd.clone(), self.io.deps.notebooks.clone());
        tokio::spawn(async move {
            let read = match named.is_empty() {
                true => Ok(Attachments::default()),
                false => {
                    tokio::task::spawn_blocking(move || attachments::read(named, &cwd, &places))
                        .await
                }
            };
            skills.await;
            let mut dialog = Box::new(record.dialog().await);
            if let Some(replaced) = replaced {
                dialog.hide(&replaced, true);
            }
            // Fails when the session has ended.
            let _ = inbox.send(Command::RecordRead(
                ticket,
                dialog,
                read.unwrap_or_default(),
            ));
        });
    }

    /// Numbers and records a cell, unless it is private or unnumbered; the cell runs once it is in the record.
    fn begin_cell(&mut self, code: String, submission: Submission, out: RunSender) {
        let retention = Retention::from_submission(&submission);
        let line = match submission.silent {
            true => None,
            false => Some(self.number(&code, RunKind::Cell, retention, &out)),
        };
        if let Some(line) = line
            && let Some(lines) = replaced(submission.replaces, line)
        {
            let hidden = true;
            self.run_effects(
                vec![Effect::Record(RecordWrite::Hide { lines, hidden })],
                &out,
            );
        }
        let execute = Execute {
            execution_count: line,
            store_history: line.is_some(),
            silent: submission.silent,
            stdin: self.io.runtimes.user.stdin(submission.stdin),
            location: submission.place,
            dark: self.dark(),
            parent: submission.parent,
            ..Execute::unnumbered(code)
        };
        let stops = submission.stop_on_error;
        let (Some(line), Retention::Recorded) = (line, retention) else {
            let start = CellStart {
                role: RuntimeRole::User,
                execute,
                origin: CellOrigin::Private,
                stops,
            };
            return self.run_cell(start, out);
        };
        // The interpreter starts while the record is written.
        self.io.runtimes.user.get();
        self.run_recorded(RuntimeRole::User, execute, line, stops, &out);
    }

    pub(super) fn run_recorded(
        &mut self,
        role: RuntimeRole,
        execute: Execute,
        line: u32,
        stops: bool,
        out: &RunSender,
    ) {
        let recording = ActiveJob::Recording { interrupted: false };
        let record = self.io.record.clone();
        self.await_effects_as(recording, out, async move {
            record.wait_written().await;
            vec![Effect::found(Found::Cell(Box::new(CellStart {
                role,
                execute,
                origin: CellOrigin::User(line),
                stops,
            })))]
        });
    }

    pub(super) fn run_cell(&mut self, start: CellStart, out: RunSender) {
        let CellStart {
            role,
            execute,
            origin,
            stops,
        } = start;
        let kept = self.io.workbook.is_open().then(|| match role {
            RuntimeRole::Shell => shell_cell(&execute.code, &self.io.shell_name()),
            _ => execute.code.clone(),
        });
        let mut run = CellRun::new(origin, out.clone()).on_runtime_of(role);
        if let Some(source) = kept {
            run.keep(source);
        }
        let cell = CellJob::new(run, None).stopping(stops);
        self.start_cell(cell, RuntimeRequest::Execute(execute), out);
    }

    /// Starts the job of a cell, and sends what it runs.
    pub(super) fn start_cell(&mut self, cell: CellJob, request: RuntimeRequest, out: RunSender) {
        let (role, request) = (cell.run.role, Box::new(request));
        let active = ActiveJob::Cell(Box::new(cell));
        let job = self.state.scheduler.start(active, out);
        self.carry_out(vec![Effect::Execute { job, role, request }]);
    }

    /// Returns whether output is shown on a dark terminal, as far as known, and whether pictures are adapted to
    /// that.
    pub(super) fn dark(&self) -> DarkRendering {
        let choices = &self.state.choices;
        let named = || Background::of_theme(&choices.code_theme);
        let background = self
            .state
            .terminal_background
            .or(choices.code_theme_chosen.then(named));
        let is_dark = self.io.runtimes.user.has_terminal() && background == Some(Background::Dark);
        match choices.images != Images::Off && choices.fit_plots {
            _ if !is_dark => DarkRendering::Off,
            true => DarkRendering::TextAndPictures,
            false => DarkRendering::Text,
        }
    }

    /// Numbers a prompt and sends it again, in place of the exchange at `line` if there is one.
    pub(super) fn resend(&mut self, line: Option<u32>, text: String, out: &RunSender) {
        let source = prompt_source(&text);
        let own = self.number(&source, RunKind::Prompt, Retention::Recorded, out);
        let prompt =
            Prompt::new(own, text, source, Instant::now()).replacing(line.map(|line| line..=line));
        self.begin_prompt(prompt, out.clone());
    }

    pub(super) fn continue_replay(&mut self, replay: Box<ReplayRun>) {
        let (dark, out) = (self.dark(), replay.out().clone());
        let (effects, next) = replay.go_on(&mut self.state.numbering, dark);
        self.run_effects(effects, &out);
        if let Some(ReplayCell {
            run,
            replay,
            execute,
        }) = next
        {
            let cell = CellJob::new(run, Some(replay));
            self.start_cell(cell, RuntimeRequest::Execute(execute), out);
        }
    }

    /// Assigns an input its number and, unless it is private, records it before it has any effect.
    fn number(
        &mut self,
        source: &str,
        kind: RunKind,
        retention: Retention,
        out: &RunSender,
    ) -> u32 {
        let numbering = &mut self.state.numbering;
        let source = source.to_owned();
        let (line, write) = match retention {
            Retention::Unnumbered => (numbering.passing(), None),
            Retention::Private => {
                let line = numbering.take_private();
                (line, Some(RecordWrite::Recall(source)))
            }
            Retention::Recorded => {
                let line = numbering.take();
                (line, Some(RecordWrite::Input { line, source }))
            }
        };
        let begun = Effect::show(BeginEvent::Input { line, kind });
        let effects = write.map(Effect::Record).into_iter().chain([begun]);
        self.run_effects(effects.collect(), out);
        line
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retention {
    Recorded,
    Private,
    Unnumbered,
}

impl Retention {
    fn from_submission(submission: &Submission) -> Self {
        match (submission.store_history, submission.counts) {
            (true, _) => Retention::Recorded,
            (false, true) => Retention::Private,
            (false, false) => Retention::Unnumbered,
        }
    }
}

/// Returns the In numbers that are removed for an input that took `own` and replaces everything from `from` on.
fn replaced(from: Option<u32>, own: u32) -> Option<RangeInclusive<u32>> {
    let from = from.filter(|from| (1..own).contains(from))?;
    Some(from..=own - 1)
}
