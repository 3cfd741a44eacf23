//! A running cell: what it has shown so far, and what of it goes to the record.

use crate::artifacts::MOST_BYTES;
use crate::history::{History, State};
use crate::output::limits::{Rest, shorten_transcript};
use crate::output::mime::MimeBundle;
use crate::output::transcript::Transcript;
use crate::output::{MODEL_CHARACTERS, cell_id};
use crate::runtime::{Death, Ending, Finish, RequestId, RuntimeEvent};
use crate::session::events::{RunSender, SessionEvent};
use crate::session::outputs::Outputs;

/// Bytes of output kept, head and tail; the rest is counted.
const KEPT: usize = MOST_BYTES;
/// Bytes of output that stand in the record; of what is longer it has what the model gets.
const RECORDED: usize = 1 << 20;

/// A cell between its submission and its end.
pub(super) struct CellRun {
    /// The request it is.
    pub id: RequestId,
    /// `n` of `In [n]`.
    line: u32,
    source: String,
    shown: Transcript,
    bundles: Vec<MimeBundle>,
    out: RunSender,
    outputs: Outputs,
}

/// What came of an event.
pub(super) enum CellStep {
    /// The cell goes on.
    On,
    /// The cell ended; the interpreter's directory afterwards, when it said.
    Ended(Option<String>),
    /// It ended with its interpreter: how is about to be said.
    Died,
}

impl CellRun {
    pub(super) fn new(
        id: RequestId,
        line: u32,
        source: String,
        out: RunSender,
        outputs: Outputs,
    ) -> Self {
        CellRun {
            id,
            line,
            source,
            shown: Transcript::new(KEPT),
            bundles: Vec::new(),
            out,
            outputs,
        }
    }

    /// Where its events go.
    pub(super) fn out(&self) -> &RunSender {
        &self.out
    }

    /// Takes an event of this cell: shows it, keeps it, and records the cell when it was the last.
    pub(super) fn on(&mut self, event: RuntimeEvent, history: &History) -> CellStep {
        match event {
            RuntimeEvent::Started { .. } => self.out.send(SessionEvent::CellStarted),
            RuntimeEvent::Output {
                stream,
                bytes,
                foreign,
                ..
            } => {
                self.shown.push(&bytes);
                self.out.send(SessionEvent::Output {
                    stream,
                    bytes,
                    foreign,
                });
            }
            RuntimeEvent::Display { display, .. } => {
                self.shown.own_lines(&display.bundle.for_model());
                self.bundles.push(display.bundle.clone());
                self.out.send(SessionEvent::Display(display));
            }
            RuntimeEvent::Error { error, .. } => {
                self.shown.own_lines(&error.plain());
                self.out.send(SessionEvent::Raised(error));
            }
            RuntimeEvent::Clear { wait, .. } => {
                self.shown = Transcript::new(KEPT);
                self.out.send(SessionEvent::Clear { wait });
            }
            RuntimeEvent::Page { bundle, .. } => self.out.send(SessionEvent::Page(bundle)),
            RuntimeEvent::InputRequested {
                call,
                prompt,
                password,
                ..
            } => {
                self.out.send(SessionEvent::InputRequested {
                    call,
                    prompt,
                    password,
                });
            }
            RuntimeEvent::ExitRequested { code, .. } => self.out.send(SessionEvent::Leave(code)),
            RuntimeEvent::NextInput { text, .. } => self.out.send(SessionEvent::Refill(text)),
            RuntimeEvent::Finished { finish, .. } => return self.finish(finish, history),
            _ => {}
        }
        CellStep::On
    }

    fn finish(&mut self, finish: Finish, history: &History) -> CellStep {
        let state = match &finish.ending {
            Ending::Ok => State::Complete,
            Ending::Error => State::Failed,
            Ending::Interrupted => State::Cancelled,
            Ending::Died(death) => {
                self.shown
                    .own_lines(&format!("[the interpreter ended: {death}]"));
                State::Failed
            }
        };
        self.shown.finish();
        let shown = self.shown.snapshot();
        let text = if shown.cut || shown.text.len() > RECORDED {
            // Cut once only, with room for the line that says so: a second cut would state the sizes of the first one's
            // rest.
            let id = cell_id(self.line);
            let text = shorten_transcript(&shown, MODEL_CHARACTERS - 200, Rest::Kept(&id));
            self.outputs.keep_cell(self.line, shown.text);
            text
        } else {
            shown.text
        };
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates; a duration in ms"
        )]
        let took = finish.milliseconds.max(0.0) as u64;
        history.output(
            self.line,
            &text,
            std::mem::take(&mut self.bundles),
            state,
            took,
        );
        let step = match &finish.ending {
            Ending::Died(Death::NotStarted(_)) => {
                // There is nobody to ask, but leaving must be possible.
                if matches!(self.source.trim(), "exit" | "quit" | "exit()" | "quit()") {
                    self.out.send(SessionEvent::Leave(0));
                }
                CellStep::Ended(None)
            }
            Ending::Died(_) => CellStep::Died,
            _ => CellStep::Ended(finish.cwd),
        };
        self.out.send(SessionEvent::CellEnded {
            ending: finish.ending,
            typeahead: finish.typeahead,
        });
        step
    }
}
