//! What is handed in becomes work: classified, numbered, recorded, begun; one input at a time.
//!
//! Invariant: an input has its number and is in the record before anything comes of it.

use std::sync::atomic::Ordering;

use crate::input::{Input, classify, prompt_source};
use crate::runtime::{Execute, RuntimeRequest};
use crate::session::cell::{CellRun, Whose};
use crate::session::events::{Notice, RunKind, RunSender, SessionEvent};
use crate::session::prompt::PromptRun;
use crate::session::task::{Current, Session};
use crate::session::{Command, Submission};

impl Session {
    pub(super) fn set_next_line(&mut self, line: u32) {
        self.next_line = line;
        self.shared.next_line.store(line, Ordering::Relaxed);
    }

    /// Works off what waits, one at a time.
    pub(super) fn take_next(&mut self) {
        while self.current.is_none() && !self.numbering_unknown {
            let Some((submission, out)) = self.waiting.pop_front() else {
                return;
            };
            self.begin(submission, out);
        }
    }

    fn begin(&mut self, submission: Submission, out: RunSender) {
        let source = submission.text.trim_end_matches(['\n', '\r']).to_owned();
        match classify(&source, submission.mode()) {
            Input::Empty => {}
            Input::Leave => out.send(SessionEvent::Leave(0)),
            Input::Command { line } => {
                self.number(&source, RunKind::Command, &out);
                self.command(&line, &out);
            }
            Input::Prompt(prompt) => {
                if let Some(hint) = prompt.hint {
                    out.send(SessionEvent::Notice(Notice::note(hint)));
                }
                let line = self.number(&prompt_source(&prompt.text), RunKind::Prompt, &out);
                let mut run = PromptRun::new(line, prompt.text, source, out);
                run.attached = submission.attached;
                run.schema = submission.schema;
                self.current = Some(Current::Prompt(Box::new(run)));
                self.read_record();
            }
            Input::Note { source: code, .. } | Input::Cell { source: code } => {
                let line = self.number(&code, RunKind::Cell, &out);
                let stdin = self.stdin;
                let execute = Execute {
                    code: code.clone(),
                    execution_count: Some(line),
                    silent: false,
                    stdin,
                };
                let id = self
                    .connected_runtime()
                    .submit(RuntimeRequest::Execute(execute));
                let whose = Whose::User(line);
                let run = CellRun::new(id, whose, code, out, self.outputs.clone());
                self.current = Some(Current::Cell(Box::new(run)));
            }
        }
    }

    /// Gives the input its number and records it, before anything comes of it.
    fn number(&mut self, source: &str, kind: RunKind, out: &RunSender) -> u32 {
        let line = self.next_line;
        self.set_next_line(line + 1);
        self.recorded = true;
        self.history.input(line, source, source);
        out.send(SessionEvent::Numbered { line, kind });
        line
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
