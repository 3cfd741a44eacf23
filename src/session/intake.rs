//! What is handed in becomes work: classified, numbered, recorded, begun; one input at a time.
//!
//! Invariant: an input has its number and, unless it is private, is in the record before anything comes of it.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

use crate::input::{Input, classify, prompt_source};
use crate::runtime::{Execute, RuntimeRequest};
use crate::session::cell::{CellRun, Whose};
use crate::session::events::{Notice, RunKind, RunSender, SessionEvent};
use crate::session::prompt::PromptRun;
use crate::session::task::{Current, Session, Work};
use crate::session::{Command, Submission};

impl Session {
    pub(super) fn set_next_line(&mut self, line: u32) {
        self.next_line = line;
        let shown = line.saturating_add(self.ahead);
        self.shared.next_line.store(shown, Ordering::Relaxed);
    }

    /// Takes an input: the order to interrupt what runs at once, all else in its turn.
    pub(super) fn submitted(&mut self, submission: Submission, out: RunSender) {
        let beside = |text: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            words == ["%ipycodex", "interrupt"]
        };
        if self.current.is_some() && !self.numbering_unknown && beside(&submission.text) {
            return self.begin(submission, out);
        }
        self.wait_for(Work::Input(submission), out);
    }

    /// Takes up work in its turn.
    pub(super) fn wait_for(&mut self, work: Work, out: RunSender) {
        self.waiting.push_back((work, out));
        self.take_next();
    }

    /// Works off what waits, one at a time.
    pub(super) fn take_next(&mut self) {
        while self.current.is_none() && !self.numbering_unknown {
            if self.replay_step() {
                continue;
            }
            match self.waiting.pop_front() {
                Some((Work::Input(submission), out)) => self.begin(submission, out),
                Some((Work::Replay(replay), out)) => self.begin_replay(replay, &out),
                Some((Work::Load(loading), out)) => self.begin_load(loading, &out),
                None => return,
            }
        }
    }

    fn begin(&mut self, submission: Submission, out: RunSender) {
        let source = submission.text.trim_end_matches(['\n', '\r']).to_owned();
        let private = submission.private;
        match classify(&source, submission.mode()) {
            Input::Empty => {}
            Input::Leave => out.send(SessionEvent::Leave(0)),
            Input::Command { line } => {
                let number = self.number(&source, RunKind::Command, private, &out);
                self.command(&line, number, &out);
            }
            Input::Prompt(prompt) => {
                let hint = prompt.hint.map(Notice::note);
                for notice in self.unsaid.take().into_iter().chain(hint) {
                    out.send(SessionEvent::Notice(notice));
                }
                let line = self.number(&prompt_source(&prompt.text), RunKind::Prompt, false, &out);
                let mut run = PromptRun::new(line, prompt.text, source, out);
                run.attached = submission.attached;
                run.schema = submission.schema;
                run.replaces = replaced(submission.replaces, line);
                self.begin_prompt(run);
            }
            Input::Note { source: code, .. } | Input::Cell { source: code } => {
                let line = self.number(&code, RunKind::Cell, private, &out);
                if let Some(replaced) = replaced(submission.replaces, line) {
                    self.history.hide(replaced, true);
                }
                let stdin = self.stdin;
                let execute = Execute {
                    code: code.clone(),
                    execution_count: Some(line),
                    silent: false,
                    stdin,
                    place: submission.place,
                };
                let id = self
                    .connected_runtime()
                    .submit(RuntimeRequest::Execute(execute));
                let whose = if private {
                    Whose::Private
                } else {
                    Whose::User(line)
                };
                let run = CellRun::new(id, whose, code, out, self.outputs.clone());
                self.current = Some(Current::Cell(Box::new(run)));
            }
        }
    }

    /// Gives the input its number and, unless it is private, records it, before anything comes of it.
    fn number(&mut self, source: &str, kind: RunKind, private: bool, out: &RunSender) -> u32 {
        let line = if private {
            let line = self.next_line;
            self.set_next_line(line + 1);
            self.history.recall().push(source);
            line
        } else {
            self.take_number(source)
        };
        out.send(SessionEvent::Numbered { line, kind });
        line
    }

    /// Gives a number to what is recorded; whoever asked says so.
    pub(super) fn take_number(&mut self, source: &str) -> u32 {
        let line = self.next_line;
        self.set_next_line(line + 1);
        self.recorded = true;
        self.history.input(line, source, source);
        line
    }

    /// Sends a prompt that took its number.
    pub(super) fn begin_prompt(&mut self, run: PromptRun) {
        self.current = Some(Current::Prompt(Box::new(run)));
        self.read_record();
    }

    /// Gives a prompt its number and sends it again, in place of the exchange at `line`.
    pub(super) fn send_again(&mut self, line: u32, text: String, out: &RunSender) {
        let source = prompt_source(&text);
        let own = self.number(&source, RunKind::Prompt, false, out);
        let mut run = PromptRun::new(own, text, source, out.clone());
        run.replaces = Some(line..=line);
        self.begin_prompt(run);
    }

    /// Reads the conversation; it comes back as a command, after the skills.
    fn read_record(&self) {
        let (history, inbox) = (self.history.clone(), self.inbox.clone());
        let skills = self.shelf.found();
        tokio::spawn(async move {
            skills.await;
            let _ = inbox.send(Command::RecordRead(Box::new(history.dialog().await)));
        });
    }
}

/// The In numbers that leave for an input that took `own` and replaces everything from `from` on.
fn replaced(from: Option<u32>, own: u32) -> Option<RangeInclusive<u32>> {
    let from = from.filter(|from| (1..own).contains(from))?;
    Some(from..=own - 1)
}
