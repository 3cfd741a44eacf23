//! The session's shell: commands run as cells do, and the interpreter follows its directory.
//!
//! Invariants: a command is in the record before it runs; there is one working directory, that of the last change.
//! Absent on purpose: how a shell is run (`runtime/shell`).

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::process;
use crate::runtime::{CellTerminal, Death, Execute, RuntimeEvent};
use crate::session::Submission;
use crate::session::cell::CellOrigin;
use crate::session::event::Event;
use crate::session::event_loop::Session;
use crate::session::events::{BeginEvent, CellEvent, Notice, RunKind};
use crate::session::run::RunSender;
use crate::session::runtimes::RuntimeRole;

impl Session {
    /// Numbers and records a command, unless it is private or unnumbered; the command runs once it is in the
    /// record.
    pub(super) fn begin_shell(&mut self, command: String, given: &Submission, out: RunSender) {
        let line = if given.store_history {
            let line = self.numbering.take();
            let shell = self.shell_name();
            self.record.record_shell_command(line, &command, &shell);
            line
        } else {
            self.record.recall().push(&command);
            self.numbering.take_private()
        };
        let kind = RunKind::Shell;
        out.send(BeginEvent::Input { line, kind });
        let execute = Execute {
            directory: Some(self.cwd.clone()),
            ..Execute::numbered(command, line)
        };
        let stops = given.stop_on_error;
        match given.store_history {
            true => self.run_recorded(RuntimeRole::Shell, execute, line, stops, &out),
            false => self.run_cell(RuntimeRole::Shell, execute, CellOrigin::Private, stops, out),
        }
    }

    /// Returns the name of the program that runs commands: `bash`, `zsh`.
    pub(super) fn shell_name(&mut self) -> String {
        // Known once connected; connecting starts no process.
        self.runtimes.shell.get();
        self.runtimes.shell.able().language.clone()
    }

    pub(super) fn reply_shell_terminal(
        &mut self,
        answer: oneshot::Sender<Option<Arc<dyn CellTerminal>>>,
    ) {
        // Fails when the caller has gone.
        let _ = answer.send(self.runtimes.shell.get().terminal());
    }

    /// Takes a change of directory by the code of this role.
    pub(super) fn goes_to(&mut self, role: RuntimeRole, place: PathBuf) {
        if role == RuntimeRole::User {
            self.runtimes.user.has_gone();
        } else if place != self.cwd {
            self.runtimes.user.go_to(place.clone());
        }
        self.cwd = place;
    }

    pub(super) fn reply_jobs(&self, answer: oneshot::Sender<Vec<String>>) {
        let leader = self.runtimes.shell.process();
        // Listing the system's processes may take a while.
        tokio::task::spawn_blocking(move || {
            let jobs = leader.map_or(Vec::new(), process::session_commands);
            // Fails when the caller has gone.
            let _ = answer.send(jobs);
        });
    }

    pub(super) fn on_shell(&mut self, event: RuntimeEvent) {
        match event {
            RuntimeEvent::Ready(info) => {
                self.runtimes.shell.is_ready();
                self.runtimes.shell.has_process(info.process);
            }
            // The command that needs the shell reports why not.
            RuntimeEvent::StartFailed(_) => self.runtimes.shell.is_gone(),
            RuntimeEvent::Died { death, .. } => {
                self.runtimes.shell.has_died();
                self.out_or_background().send(ended(&death));
                self.raise(Event::DeathTold);
            }
            RuntimeEvent::Notice(text) => self.out_or_background().send(Notice::note(text)),
            RuntimeEvent::Replied { id, answer } => self.on_answer(RuntimeRole::Shell, id, answer),
            RuntimeEvent::Output {
                id: None,
                stream,
                bytes,
                ..
            } => {
                let foreign = false;
                self.background.send(CellEvent::Output {
                    stream,
                    bytes,
                    foreign,
                });
            }
            event => self.on_code_or_cell(RuntimeRole::Shell, event),
        }
    }
}

fn ended(death: &Death) -> Notice {
    let text = format!("the shell ended ({death}); the next command starts a new one");
    match death {
        Death::Exited(0) => Notice::note(text),
        _ => Notice::warning(text),
    }
}
