//! A running cell: what it has shown so far, what of it goes to the record, and what the agent is told of its own.
//!
//! A cell of the user may ask to leave the shell and to fill the editor; code the agent brought may not.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::artifacts::MOST_BYTES;
use crate::history::{CellEnd, History};
use crate::output::mime::MimeBundle;
use crate::output::transcript::TranscriptText;
use crate::output::{CellOutput, MODEL_CHARACTERS};
use crate::runtime::{Death, Ending, Finish, OutputStream, RequestId, RuntimeEvent};
use crate::session::events::{AfterEvent, CellEvent, Notice, SessionEvent, ToldEvent};
use crate::session::outputs::Outputs;
use crate::session::run::RunSender;
use crate::session::runtimes::Role;
use crate::session::shown::CellCollector;

/// Bytes of output kept, head and tail; the rest is counted.
const KEPT: usize = MOST_BYTES;
/// Bytes of output that stand in the record; of what is longer it has what the model gets.
const RECORDED: usize = 1 << 20;

/// A cell between its submission and its end.
pub(super) struct CellRun {
    /// The request it is.
    pub id: RequestId,
    /// Whose runtime runs it.
    pub role: Role,
    whose: Whose,
    shown: CellCollector,
    raised: Option<String>,
    leaving: bool,
    begun: bool,
    voice: Voice,
    /// Its text, where it goes into a notebook that is open.
    kept: Option<String>,
    /// The metadata of the notebook's cell that it is.
    metadata: Map<String, Value>,
    out: RunSender,
    outputs: Outputs,
}

/// How much of the cell is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    /// All.
    Loud,
    /// Nothing as long as it goes well.
    Hushed,
    /// Nothing any more, not even that it was interrupted.
    Skipped,
}

/// Who brought the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The user, under this In number.
    User(u32),
    /// The user, who keeps it private: numbered, recorded nowhere.
    Private,
    /// The agent, under this In number.
    Agent(u32),
    /// The user, by a replay: under this In number, recorded or not.
    Replay { line: u32, recorded: bool },
    /// What users have done before their first input: not numbered, not recorded.
    SetUp,
    /// A skill, or the agent in a kernel of its own: not numbered, not recorded, no cell to a front-end.
    Aside,
}

/// What a cell that has ended leaves behind.
#[derive(Debug, Clone)]
pub(super) struct Remains {
    /// How it ended.
    pub ending: Ending,
    /// What it showed, as plain text.
    pub shown: TranscriptText,
    /// The same in order, with its values; of a cell of the agent, and of one that goes into a notebook.
    pub outputs: Vec<CellOutput>,
    /// The In number and the text of one that goes into a notebook.
    pub kept: Option<(u32, String)>,
    /// Its pictures, as `data:` URLs, in order.
    pub images: Vec<String>,
    /// What it raised: `Name: value`.
    pub raised: Option<String>,
    /// How long it took.
    pub took: Duration,
    /// It asked to leave the shell.
    pub leaving: bool,
    /// The interpreter's directory afterwards, when it said.
    pub cwd: Option<String>,
}

/// What came of an event.
pub(super) enum CellStep {
    /// The cell goes on.
    On,
    /// The cell ended.
    Ended(Box<Remains>),
    /// It ended with its interpreter: how is about to be said.
    Died(Box<Remains>),
}

impl CellRun {
    pub(super) fn new(id: RequestId, whose: Whose, out: RunSender, outputs: Outputs) -> Self {
        CellRun {
            id,
            role: Role::User,
            whose,
            shown: CellCollector::new(KEPT),
            raised: None,
            leaving: false,
            begun: false,
            voice: Voice::Loud,
            kept: None,
            metadata: Map::new(),
            out,
            outputs,
        }
    }

    /// The runtime of this role runs it.
    pub(super) fn on_runtime_of(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// It goes into the notebook that is open.
    pub(super) fn keep(&mut self, source: String) {
        self.kept = Some(source);
    }

    /// It is a notebook's cell with this metadata.
    pub(super) fn loaded_with(&mut self, metadata: Map<String, Value>) {
        self.metadata = metadata;
    }

    /// What it shows is told only if it fails.
    pub(super) fn hush(&mut self) {
        self.voice = Voice::Hushed;
    }

    /// The user wants nothing more of it.
    pub(super) fn skip(&mut self) {
        self.voice = Voice::Skipped;
    }

    fn tell(&self, event: impl Into<SessionEvent>) {
        if self.voice == Voice::Loud {
            self.out.send(event);
        }
    }

    /// It did not go well: what it had shown so far is told, as text.
    fn speak_up(&mut self) {
        if self.voice != Voice::Hushed {
            return;
        }
        self.voice = Voice::Loud;
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

    /// Takes an event of this cell: shows it, keeps it, and records the cell when it was the last.
    pub(super) fn on(&mut self, event: RuntimeEvent, history: &History) -> CellStep {
        match event {
            RuntimeEvent::Started { .. } if self.whose != Whose::Aside => {
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
                self.tell(CellEvent::Output {
                    stream,
                    bytes,
                    foreign,
                });
            }
            RuntimeEvent::Display { display, .. } => {
                self.shown.display(&display);
                self.tell(CellEvent::Display(display));
            }
            RuntimeEvent::Comm { message, .. } => self.tell(CellEvent::Comm(message)),
            RuntimeEvent::Status { text, .. } => self.tell(CellEvent::Status(text)),
            RuntimeEvent::Error { error, .. } => {
                self.speak_up();
                self.shown.error(&error);
                self.raised = Some(error.summary());
                self.tell(CellEvent::Raised(error));
            }
            RuntimeEvent::Clear { wait, .. } => {
                self.shown = CellCollector::new(KEPT);
                self.tell(CellEvent::Clear { wait });
            }
            RuntimeEvent::Page { bundle, .. } => self.tell(ToldEvent::Page(bundle)),
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
            RuntimeEvent::Finished { finish, .. } => return self.finish(finish, history),
            _ => {}
        }
        CellStep::On
    }

    /// A failure to start is said by it.
    pub(super) fn says_why_not(&self) -> bool {
        self.whose != Whose::SetUp
    }

    /// Its In number, if it has one.
    pub(super) fn line(&self) -> Option<u32> {
        match self.whose {
            Whose::User(line) | Whose::Agent(line) | Whose::Replay { line, .. } => Some(line),
            Whose::Private | Whose::Aside | Whose::SetUp => None,
        }
    }

    fn is_users(&self) -> bool {
        matches!(self.whose, Whose::User(_) | Whose::Private)
    }

    fn finish(&mut self, finish: Finish, history: &History) -> CellStep {
        if finish.ending != Ending::Ok {
            self.speak_up();
        }
        let state = match &finish.ending {
            // What a shell says is wrong.
            Ending::Ok if finish.exit.is_some_and(|exit| exit != 0) => CellEnd::Failed,
            Ending::Ok => CellEnd::Complete,
            Ending::Error => CellEnd::Failed,
            Ending::Interrupted => CellEnd::Cancelled,
            Ending::Died(death) => {
                let what = match self.role {
                    Role::Shell => "shell",
                    _ => "interpreter",
                };
                self.shown.say(&format!("[the {what} ended: {death}]"));
                CellEnd::Failed
            }
            Ending::Lost(why) => {
                self.shown.say(&format!("[the connection was lost: {why}]"));
                CellEnd::Failed
            }
        };
        let (shown, bundles, mut layout) =
            std::mem::replace(&mut self.shown, CellCollector::new(0)).finish();
        layout.loaded_with(std::mem::take(&mut self.metadata));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates; a duration in ms"
        )]
        let took = finish.milliseconds.max(0.0) as u64;
        let kept = match self.whose {
            Whose::User(line) => self.kept.take().map(|source| (line, source)),
            _ => None,
        };
        let outputs = match self.whose {
            Whose::Agent(_) => layout.outputs(&shown.text, bundles.clone()),
            _ if kept.is_some() => layout.outputs(&shown.text, bundles.clone()),
            _ => Vec::new(),
        };
        let images = bundles.iter().filter_map(MimeBundle::image);
        let remains = Box::new(Remains {
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
        if let Whose::User(line)
        | Whose::Agent(line)
        | Whose::Replay {
            line,
            recorded: true,
        } = self.whose
        {
            if let Some(exit) = finish.exit {
                history.exited(line, exit);
            }
            let shown = &remains.shown;
            let (text, layout) = if shown.cut || shown.text.len() > RECORDED {
                // With room for the line that says so: a second cut would state the sizes of the first one's rest.
                let text = self.outputs.cut_cell(line, shown, MODEL_CHARACTERS - 200);
                (Cow::Owned(text), layout.unplaced())
            } else {
                (Cow::Borrowed(shown.text.as_str()), layout)
            };
            history.showed(line, &text, bundles, &layout, state, took);
        }
        if self.whose == Whose::SetUp && !self.begun && finish.ending == Ending::Interrupted {
            let notice = Notice::note("interrupted: start-up files were not run");
            self.out.send(notice);
        }
        let step = match &finish.ending {
            Ending::Died(Death::NotStarted(failure)) => {
                if !matches!(self.whose, Whose::Agent(_) | Whose::Aside | Whose::SetUp) {
                    let notice = Notice::warning(failure.message.clone());
                    let notice = notice.hint(failure.hint.clone());
                    self.out.send(notice);
                }
                CellStep::Ended(remains)
            }
            Ending::Died(_) | Ending::Lost(_) => CellStep::Died(remains),
            _ => CellStep::Ended(remains),
        };
        if self.whose != Whose::Aside {
            self.out.send(CellEvent::Ended {
                ending: finish.ending,
                typeahead: finish.typeahead,
            });
        }
        step
    }
}
