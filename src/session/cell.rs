//! A running cell: collects its output and returns its effects, its row of the record among them, and its result.
//!
//! Only a cell of the user may leave the shell or fill the editor; the agent's code may not.

mod origin;

use std::time::Duration;

use serde_json::{Map, Value};

use crate::artifacts::MOST_BYTES;
use crate::background_magic;
use crate::effect::{Effect, Event, RecordWrite, RecordedOutput, To};
use crate::events::{AfterEvent, CellEvent, Notice, SessionEvent, TextEvent};
use crate::output::MODEL_CHARACTERS;
use crate::output::mime::MimeBundle;
use crate::output_collector::OutputCollector;
use crate::outputs::Outputs;
use crate::record::CellStatus;
use crate::run::{RunSender, stream};
use crate::runtime::{Death, Ending, Finish, OutputStream, RequestId, RuntimeEvent};
use crate::runtimes::RuntimeRole;
use crate::text::cut;

pub(super) use origin::{CellOrigin, CellResult};

/// Bytes of output kept, head and tail; the rest is counted.
const KEPT: usize = MOST_BYTES;
/// Longest first line kept, in characters.
const FIRST_LINE: usize = 60;
/// Bytes of output that the record keeps; of longer output it keeps the text that the model gets.
const RECORDED: usize = 1 << 20;

pub(super) struct CellRun {
    /// Once the runtime has the cell.
    pub id: Option<RequestId>,
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
    /// The first line of its source, cut when it is long.
    first_line: String,
    /// The cell goes to the background as soon as it runs.
    starts_behind: bool,
    out: RunSender,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verbosity {
    Full,
    /// Nothing unless the cell fails.
    OnError,
    /// Nothing, not even an interruption.
    Off,
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
    pub(super) fn new(origin: CellOrigin, out: RunSender) -> Self {
        CellRun {
            id: None,
            role: RuntimeRole::User,
            origin,
            shown: OutputCollector::new(KEPT),
            raised: None,
            leaving: false,
            begun: false,
            verbosity: Verbosity::Full,
            kept: None,
            metadata: Map::new(),
            first_line: String::new(),
            starts_behind: false,
            out,
        }
    }

    pub(super) fn on_runtime_of(mut self, role: RuntimeRole) -> Self {
        self.role = role;
        self
    }

    pub(super) fn with_source(mut self, source: &str) -> Self {
        let source = background_magic::rest(source).unwrap_or(source);
        let line = source.trim().lines().next().unwrap_or_default();
        self.first_line = cut(line, FIRST_LINE).into_owned();
        self
    }

    pub(super) fn first_line(&self) -> &str {
        &self.first_line
    }

    pub(super) fn start_behind(&mut self, behind: bool) {
        self.starts_behind = behind;
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun
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

    /// The cell goes on in this runtime, where nobody looks.
    pub(super) fn move_to(&mut self, role: RuntimeRole) {
        self.role = role;
        self.hide();
    }

    pub(super) fn hide(&mut self) {
        self.verbosity = Verbosity::Off;
        self.out = stream().0;
    }

    /// Shows what comes from now on there; returns the output so far, as text.
    pub(super) fn show_to(&mut self, out: RunSender) -> String {
        self.verbosity = Verbosity::Full;
        self.out = out;
        self.shown.whole_text()
    }

    /// Returns true for a cell of the user's in the user's interpreter.
    pub(super) fn is_movable(&self) -> bool {
        self.role == RuntimeRole::User && matches!(self.origin, CellOrigin::User(_))
    }

    pub(super) fn skip(&mut self) {
        self.verbosity = Verbosity::Off;
    }

    fn emit(&self, event: impl Into<SessionEvent>) -> Effect {
        Effect::Emit(To::Run(self.out.clone()), event.into())
    }

    fn show(&self, event: impl Into<SessionEvent>) -> Vec<Effect> {
        match self.verbosity {
            Verbosity::Full => vec![self.emit(event)],
            Verbosity::OnError | Verbosity::Off => Vec::new(),
        }
    }

    /// Shows, as text, the output withheld so far.
    fn show_withheld(&mut self) -> Option<Effect> {
        if self.verbosity != Verbosity::OnError {
            return None;
        }
        self.verbosity = Verbosity::Full;
        let mut text = self.shown.text();
        if text.is_empty() {
            return None;
        }
        text.push('\n');
        Some(self.emit(CellEvent::Output {
            stream: OutputStream::Stdout,
            bytes: text.into_bytes(),
            foreign: false,
        }))
    }

    /// Takes an event of this cell: shows and keeps it; records the cell when the event was its last. `outputs` keeps
    /// what is too long for the record.
    pub(super) fn on(
        &mut self,
        event: RuntimeEvent,
        outputs: &Outputs,
    ) -> (Vec<Effect>, CellProgress) {
        let effects = match event {
            RuntimeEvent::Started { .. } if self.origin != CellOrigin::Internal => {
                self.begun = true;
                let behind = self.starts_behind;
                let behind = behind.then_some(Effect::Raise(Event::BackgroundWanted));
                let begun = self.emit(CellEvent::Started);
                [begun].into_iter().chain(behind).collect()
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
                })
            }
            RuntimeEvent::Display { display, .. } => {
                self.shown.display(&display);
                self.show(CellEvent::Display(display))
            }
            RuntimeEvent::Comm { message, .. } => self.show(CellEvent::Comm(message)),
            RuntimeEvent::Status { text, .. } => self.show(CellEvent::Status(text)),
            RuntimeEvent::Error { error, .. } => {
                let withheld = self.show_withheld();
                self.shown.error(&error);
                self.raised = Some(error.summary());
                let raised = self.show(CellEvent::Raised(error));
                withheld.into_iter().chain(raised).collect()
            }
            RuntimeEvent::Clear { wait, .. } => {
                self.shown = OutputCollector::new(KEPT);
                self.show(CellEvent::Clear { wait })
            }
            RuntimeEvent::Page { bundle, .. } => self.show(TextEvent::Page(bundle)),
            RuntimeEvent::InputRequested {
                call,
                prompt,
                password,
                ..
            } => {
                vec![self.emit(CellEvent::InputRequested {
                    call,
                    prompt,
                    password,
                })]
            }
            RuntimeEvent::ExitRequested { code, stays, .. } => {
                self.leaving = !stays;
                match stays {
                    _ if !self.is_users() => Vec::new(),
                    true => vec![self.emit(AfterEvent::Detach)],
                    false => vec![self.emit(AfterEvent::Leave(code))],
                }
            }
            RuntimeEvent::NextInput { text, replaces, .. } if self.is_users() => {
                vec![self.emit(match replaces {
                    true => AfterEvent::Replace(text),
                    false => AfterEvent::Refill(text),
                })]
            }
            RuntimeEvent::Finished { finish, .. } => return self.finish(finish, outputs),
            _ => Vec::new(),
        };
        (effects, CellProgress::On)
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

    fn finish(&mut self, finish: Finish, outputs: &Outputs) -> (Vec<Effect>, CellProgress) {
        let mut effects = Vec::new();
        if finish.ending != Ending::Ok {
            effects.extend(self.show_withheld());
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
        let kept_outputs = match self.origin {
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
            outputs: kept_outputs,
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
                effects.push(Effect::Record(RecordWrite::ShellExit { line, exit }));
            }
            let shown = &result.shown;
            let (text, layout) = if shown.cut || shown.text.len() > RECORDED {
                // Leaves room for the note about the cut: a second cut would state the sizes of the first one's
                // rest.
                let text = outputs.cut_cell(line, shown, MODEL_CHARACTERS - 200);
                (text, layout.unplaced())
            } else {
                (shown.text.clone(), layout)
            };
            let output = RecordedOutput {
                line,
                text,
                bundles,
                layout,
                state,
                took,
            };
            effects.push(Effect::Record(RecordWrite::Output(Box::new(output))));
        }
        if self.origin == CellOrigin::Startup && !self.begun && finish.ending == Ending::Interrupted
        {
            let notice = Notice::note("interrupted: start-up files were not run");
            effects.push(self.emit(notice));
        }
        let step = match &finish.ending {
            Ending::Died(Death::NotStarted(failure)) => {
                if !matches!(
                    self.origin,
                    CellOrigin::Agent(_) | CellOrigin::Internal | CellOrigin::Startup
                ) {
                    let notice = Notice::warning(failure.message.clone());
                    let notice = notice.hint(failure.hint.clone());
                    effects.push(self.emit(notice));
                }
                CellProgress::Ended(result)
            }
            Ending::Died(_) | Ending::Lost(_) => CellProgress::Died(result),
            _ => CellProgress::Ended(result),
        };
        if self.origin != CellOrigin::Internal {
            effects.push(self.emit(CellEvent::Ended {
                ending: finish.ending,
                typeahead: finish.typeahead,
            }));
        }
        (effects, step)
    }
}

#[cfg(test)]
mod tests;
