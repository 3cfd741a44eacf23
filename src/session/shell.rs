//! The session's shell: commands run as cells do, and the interpreter follows its directory.
//!
//! Invariants: a command is in the record before it runs; there is one working directory, that of the last change.
//! Absent on purpose: how a shell is run (`runtime/shell`).

use std::path::PathBuf;

use crate::Submission;
use crate::cell::CellOrigin;
use crate::effect::{CellStart, Effect, Event, RecordWrite};
use crate::event_loop::Session;
use crate::events::{BeginEvent, CellEvent, Notice, RunKind};
use crate::run::RunSender;
use crate::runtime::{Death, Execute, RuntimeEvent};
use crate::runtimes::RuntimeRole;

impl Session {
    /// Numbers and records a command, unless it is private or unnumbered; the command runs once it is in the
    /// record.
    pub(super) fn begin_shell(&mut self, command: String, given: &Submission, out: RunSender) {
        let numbering = &mut self.state.numbering;
        let text = command.clone();
        let (line, write) = if given.store_history {
            let line = numbering.take();
            (
                line,
                RecordWrite::ShellCommand {
                    line,
                    command: text,
                },
            )
        } else {
            (numbering.take_private(), RecordWrite::Recall(text))
        };
        let kind = RunKind::Shell;
        let begun = Effect::show(BeginEvent::Input { line, kind });
        self.run_effects(vec![Effect::Record(write), begun], &out);
        let execute = Execute {
            directory: Some(self.state.cwd.clone()),
            ..Execute::numbered(command, line)
        };
        let stops = given.stop_on_error;
        match given.store_history {
            true => self.run_recorded(RuntimeRole::Shell, execute, line, stops, &out),
            false => {
                let start = CellStart {
                    role: RuntimeRole::Shell,
                    execute,
                    origin: CellOrigin::Private,
                    stops,
                };
                self.run_cell(start, out);
            }
        }
    }

    /// Takes a change of directory by the code of this role.
    pub(super) fn goes_to(&mut self, role: RuntimeRole, place: PathBuf) {
        if role == RuntimeRole::User {
            self.io.runtimes.user.has_gone();
        } else if place != self.state.cwd {
            self.io.runtimes.user.go_to(place.clone());
        }
        self.state.cwd = place;
    }

    pub(super) fn on_shell(&mut self, event: RuntimeEvent) {
        match event {
            RuntimeEvent::Ready(info) => {
                self.io.runtimes.shell.is_ready();
                self.io.runtimes.shell.has_process(info.process);
            }
            // The command that needs the shell reports why not.
            RuntimeEvent::StartFailed(_) => self.io.runtimes.shell.is_gone(),
            RuntimeEvent::Died { death, .. } => {
                self.io.runtimes.shell.has_died();
                self.state.out_or_background().send(ended(&death));
                self.raise(Event::DeathTold);
            }
            RuntimeEvent::Notice(text) => self.state.out_or_background().send(Notice::note(text)),
            RuntimeEvent::Replied { id, answer } => self.on_answer(RuntimeRole::Shell, id, answer),
            RuntimeEvent::Output {
                id: None,
                stream,
                bytes,
                ..
            } => {
                let foreign = false;
                self.state.background.send(CellEvent::Output {
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
