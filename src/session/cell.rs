//! A running cell: collects its output, writes its row of the record, and returns its result.
//!
//! Only a cell of the user may leave the shell or fill the editor; the agent's code may not.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::artifacts::MOST_BYTES;
use crate::events::{AfterEvent, CellEvent, Notice, SessionEvent, TextEvent};
use crate::output::mime::MimeBundle;
use crate::output::transcript::TranscriptText;
use crate::output::{CellOutput, MODEL_CHARACTERS};
use crate::output_collector::OutputCollector;
use crate::outputs::Outputs;
use crate::record::{CellStatus, RecordHandle};
use crate::run::RunSender;
use crate::runtime::{Death, Ending, Finish, OutputStream, RequestId, RuntimeEvent};
use crate::runtimes::RuntimeRole;

/// Bytes of output kept, head and tail; the rest is counted.
const KEPT: usize = MOST_BYTES;
/// Bytes of output that the record keeps; of longer output it keeps the text that the model gets.
const RECORDED: usize = 1 << 20;

pub(super) struct CellRun {
    pub id: RequestId,
    pub role: RuntimeRole,
    origin: CellOrigin,
    shown: OutputCollector,
    raised: Option<String>,
    leaving: bool,
    begun: bool,
    verbosity: Verbosity,
    /// Its source, where it goes into an open notebook.
    kept: Option<String>,
    metadata: Map<String, Value>,
    out: RunSender,
    outputs: Outputs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verbosity {
    Full,
    /// Nothing unless the cell fails.
    OnError,
    /// Nothing, not even an interruption.
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellOrigin {
    /// The user, under this In number.
    User(u32),
    /// The user, with the wish to keep it private: numbered, recorded nowhere.
    Private,
    /// The agent, under this In number.
    Agent(u32),
    /// A replay by the user: under this In number, recorded or not.
    Replay { line: u32, recorded: bool },
    /// A start-up file: not numbered, not recorded.
    Startup,
    /// A skill, or the agent in a kernel of its own: not numbered, not recorded, not shown as a cell.
    Internal,
}

#[derive(Debug, Clone)]
pub(super) struct CellResult {
    pub ending: Ending,
    pub shown: TranscriptText,
    /// Its outputs and values in order; only for the agent's cells and for cells that go into a notebook.
    pub outputs: Vec<CellOutput>,
    /// In number and source, where it goes into a notebook.
    pub kept: Option<(u32, String)>,
    /// Its pictures, as `data:` URLs, in order.
    pub images: Vec<String>,
    /// The exception as `Name: value`.
    pub raised: Option<String>,
    pub took: Duration,
    pub leaving: bool,
    /// The interpreter's directory afterwards, if the interpreter reported one.
    pub cwd: Option<String>,
}

pub(super) enum CellProgress {
    /// The cell goes on.
    On,
    /// The cell ended.
    Ended(Box<CellResult>),
    /// The cell ended with its interpreter; the report on the interpreter's exit follows.
    Died(Box<CellResult>),
}

impl CellRun {
    pub(super) fn new(id: RequestId, origin: CellOrigin, out: RunSender, outputs: Outputs) -> Self {
        CellRun {
            id,
            role: RuntimeRole::User,
            origin,
            shown: OutputCollector::new(KEPT),
            raised: None,
            leaving: false,
            begun: false,
            verbosity: Verbosity::Full,
            kept: None,
            metadata: Map::new(),
            out,
            outputs,
        }
    }

    pub(super) fn on_runtime_of(mut self, role: RuntimeRole) -> Self {
        self.role = role;
        self
    }

    pub(super) fn keep(&mut self, source: String) {
        self.kept = Some(source);
    }

    pub(super) fn loaded_with(&mut self, metadata: Map<String, Value>) {
        self.metadata = metadata;
    }

    pub(super) fn show_only_on_error(&mut self) {
        self.verbosity = Verbosity::OnError;
    }

    pub(super) fn skip(&mut self) {
        self.verbosity = Verbosity::Off;
    }

    fn show(&self, event: impl Into<SessionEvent>) {
        if self.verbosity == Verbosity::Full {
            self.out.send(event);
        }
    }

    /// Shows, as text, the output withheld so far.
    fn show_withheld(&mut self) {
        if self.verbosity != Verbosity::OnError {
            return;
        }
        self.verbosity = Verbosity::Full;
        let mut text = self.shown.text();
        if !text.is_empty() {
            text.push('\n');
            self.out.send(CellEvent::Output {
                stream: OutputStream::Stdout,
                bytes: text.into_bytes(),
                foreign: false,
            });
        }
    }

    /// Takes an event of this cell: shows and keeps it; records the cell when the event was its last.
    pub(super) fn on(&mut self, event: RuntimeEvent, record: &RecordHandle) -> CellProgress {
        match event {
            RuntimeEvent::Started { .. } if self.origin != CellOrigin::Internal => {
                self.begun = true;
                self.out.send(CellEvent::Started);
            }
            RuntimeEvent::Output {
                stream,
                bytes,
                foreign,
                ..
            } => {
                self.shown.push(stream, &bytes);
                self.show(CellEvent::Output {
                    stream,
                    bytes,
                    foreign,
                });
            }
            RuntimeEvent::Display { display, .. } => {
                self.shown.display(&display);
                self.show(CellEvent::Display(display));
            }
            RuntimeEvent::Comm { message, .. } => self.show(CellEvent::Comm(message)),
            RuntimeEvent::Status { text, .. } => self.show(CellEvent::Status(text)),
            RuntimeEvent::Error { error, .. } => {
                self.show_withheld();
                self.shown.error(&error);
                self.raised = Some(error.summary());
                self.show(CellEvent::Raised(error));
            }
            RuntimeEvent::Clear { wait, .. } => {
                self.shown = OutputCollector::new(KEPT);
                self.show(CellEvent::Clear { wait });
            }
            RuntimeEvent::Page { bundle, .. } => self.show(TextEvent::Page(bundle)),
            RuntimeEvent::InputRequested {
                call,
                prompt,
                password,
                ..
            } => {
                self.out.send(CellEvent::InputRequested {
                    call,
                    prompt,
                    password,
                });
            }
            RuntimeEvent::ExitRequested { code, stays, .. } => {
                self.leaving = !stays;
                if self.is_users() {
                    self.out.send(match stays {
                        true => AfterEvent::Detach,
                        false => AfterEvent::Leave(code),
                    });
                }
            }
            RuntimeEvent::NextInput { text, replaces, .. } if self.is_users() => {
                self.out.send(match replaces {
                    true => AfterEvent::Replace(text),
                    false => AfterEvent::Refill(text),
                });
            }
            RuntimeEvent::Finished { finish, .. } => return self.finish(finish, record),
            _ => {}
        }
        CellProgress::On
    }

    pub(super) fn reports_start_failure(&self) -> bool {
        self.origin != CellOrigin::Startup
    }

    pub(super) fn line(&self) -> Option<u32> {
        match self.origin {
            CellOrigin::User(line) | CellOrigin::Agent(line) | CellOrigin::Replay { line, .. } => {
                Some(line)
            }
            CellOrigin::Private | CellOrigin::Internal | CellOrigin::Startup => None,
        }
    }

    fn is_users(&self) -> bool {
        matches!(self.origin, CellOrigin::User(_) | CellOrigin::Private)
    }

    fn finish(&mut self, finish: Finish, record: &RecordHandle) -> CellProgress {
        if finish.ending != Ending::Ok {
            self.show_withheld();
        }
        let state = match &finish.ending {
            // A shell reports failures by its exit status.
            Ending::Ok if finish.exit.is_some_and(|exit| exit != 0) => CellStatus::Failed,
            Ending::Ok => CellStatus::Complete,
            Ending::Error => CellStatus::Failed,
            Ending::Interrupted => CellStatus::Cancelled,
            Ending::Died(death) => {
                let what = match self.role {
                    RuntimeRole::Shell => "shell",
                    _ => "interpreter",
                };
                self.shown.say(&format!("[the {what} ended: {death}]"));
                CellStatus::Failed
            }
            Ending::Lost(why) => {
                self.shown.say(&format!("[the connection was lost: {why}]"));
                CellStatus::Failed
            }
        };
        let (shown, bundles, mut layout) =
            std::mem::replace(&mut self.shown, OutputCollector::new(0)).finish();
        layout.loaded_with(std::mem::take(&mut self.metadata));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates; a duration in ms"
        )]
        let took = finish.milliseconds.max(0.0) as u64;
        let kept = match self.origin {
            CellOrigin::User(line) => self.kept.take().map(|source| (line, source)),
            _ => None,
        };
        let outputs = match self.origin {
            CellOrigin::Agent(_) => layout.outputs(&shown.text, bundles.clone()),
            _ if kept.is_some() => layout.outputs(&shown.text, bundles.clone()),
            _ => Vec::new(),
        };
        let images = bundles.iter().filter_map(MimeBundle::image);
        let result = Box::new(CellResult {
            ending: finish.ending.clone(),
            images: images
                .map(|(mime, base64)| format!("data:{mime};base64,{base64}"))
                .collect(),
            raised: self.raised.take(),
            outputs,
            kept,
            took: Duration::from_millis(took),
            leaving: self.leaving,
            cwd: finish.cwd,
            shown,
        });
        if let CellOrigin::User(line)
        | CellOrigin::Agent(line)
        | CellOrigin::Replay {
            line,
            recorded: true,
        } = self.origin
        {
            if let Some(exit) = finish.exit {
                record.record_shell_exit(line, exit);
            }
            let shown = &result.shown;
            let (text, layout) = if shown.cut || shown.text.len() > RECORDED {
                // Leaves room for the note about the cut: a second cut would state the sizes of the first one's
                // rest.
                let text = self.outputs.cut_cell(line, shown, MODEL_CHARACTERS - 200);
                (Cow::Owned(text), layout.unplaced())
            } else {
                (Cow::Borrowed(shown.text.as_str()), layout)
            };
            record.record_output_with_layout(line, &text, bundles, &layout, state, took);
        }
        if self.origin == CellOrigin::Startup && !self.begun && finish.ending == Ending::Interrupted
        {
            let notice = Notice::note("interrupted: start-up files were not run");
            self.out.send(notice);
        }
        let step = match &finish.ending {
            Ending::Died(Death::NotStarted(failure)) => {
                if !matches!(
                    self.origin,
                    CellOrigin::Agent(_) | CellOrigin::Internal | CellOrigin::Startup
                ) {
                    let notice = Notice::warning(failure.message.clone());
                    let notice = notice.hint(failure.hint.clone());
                    self.out.send(notice);
                }
                CellProgress::Ended(result)
            }
            Ending::Died(_) | Ending::Lost(_) => CellProgress::Died(result),
            _ => CellProgress::Ended(result),
        };
        if self.origin != CellOrigin::Internal {
            self.out.send(CellEvent::Ended {
                ending: finish.ending,
                typeahead: finish.typeahead,
            });
        }
        step
    }
}
