//! The start-up request (profile, flags, files), sent once by the session and repeated for every restarted interpreter.
//!
//! In: the request and its frames. Out: its line for a new interpreter, under an id that no request has, so its output
//! belongs to no request. Invariant: a start-up that ended an interpreter is not repeated before the session sends it
//! again.

use super::super::control::EventSender;
use super::super::{RequestId, RuntimeEvent, RuntimeRequest, StartupPlan};
use super::interpreter::Interpreter;
use super::requests::set_up_line;
use super::wire::RunnerFrame;

/// Id of a repeated start-up, which belongs to no request.
const AGAIN: RequestId = RequestId(0);

#[derive(Debug, Default)]
pub(super) struct Startup {
    wanted: Option<Box<StartupPlan>>,
    under_way: Option<RequestId>,
}

impl Startup {
    /// Records a request that was sent, if it is a start-up.
    pub(super) fn asked(&mut self, id: RequestId, request: &RuntimeRequest) {
        if let RuntimeRequest::Startup(wanted) = request {
            self.wanted = Some(wanted.clone());
            self.under_way = Some(id);
        }
    }

    /// Repeats the start-up in an interpreter that replaces another.
    pub(super) fn again(&mut self, interpreter: &mut Interpreter) {
        if let Some(wanted) = &self.wanted {
            interpreter.request(&set_up_line(AGAIN, wanted));
            self.under_way = Some(AGAIN);
        }
    }

    /// Records the end of the start-up, if the frame is that.
    pub(super) fn saw(&mut self, frame: &RunnerFrame) {
        if let RunnerFrame::Done { id, .. } = frame
            && id.0.is_some()
            && id.0 == self.under_way
        {
            self.under_way = None;
        }
    }

    /// Records the interpreter's death; a start-up that was running is not repeated.
    pub(super) fn died(&mut self, events: &EventSender) {
        if self.under_way.take().is_some() {
            self.wanted = None;
            let text = "start-up files ended the interpreter: the next one begins without them";
            events.send(RuntimeEvent::Notice(text.into()));
        }
    }
}
