//! What a running input waits for: its events, and replies of the user to `input_request`s.
//!
//! A request is for a line that code reads, or for the answer to a question with its choices. Invariants: one request
//! is open at a time; a reply goes to the last request only; output is sent when it is due.

use tokio::sync::mpsc::Receiver;

use super::cell_output::CellOutput;
use super::event_mapper::UserRequest;
use super::stream_buffer::sleep_until;
use crate::jupyter::ClientRequest;
use crate::runtime::InputReply;
use crate::session::Reply;

/// The `input_reply` messages, and the request that waits for one.
pub(super) struct Inputs {
    replies: Receiver<ClientRequest>,
    open: Option<OpenRequest>,
}

struct OpenRequest {
    /// The id of the message.
    id: String,
    request: UserRequest,
}

#[derive(Debug)]
pub(super) enum InputOutcome {
    /// A line for the call of this number.
    Line(u64, InputReply),
    /// The answer to the question of this id, and the line to print for it.
    Answered(u64, Reply, String),
}

/// What came first.
pub(super) enum Wake<A, B> {
    First(A),
    Second(B),
    Input(InputOutcome),
}

impl Inputs {
    pub(super) fn new(replies: Receiver<ClientRequest>) -> Self {
        Inputs {
            replies,
            open: None,
        }
    }

    /// Waits for one of two events or for an outcome; meanwhile sends the output that is due. Of the events, the
    /// first goes before the second.
    pub(super) async fn next<A, B>(
        &mut self,
        output: &mut CellOutput,
        first: impl Future<Output = A>,
        second: impl Future<Output = B>,
    ) -> Wake<A, B> {
        tokio::pin!(first, second);
        loop {
            output.send_due().await;
            tokio::select! {
                biased;
                event = &mut first => return Wake::First(event),
                Some(reply) = self.replies.recv() => {
                    if let Some(outcome) = self.take(output, &reply).await {
                        return Wake::Input(outcome);
                    }
                }
                event = &mut second => return Wake::Second(event),
                () = sleep_until(output.due()) => {}
            }
        }
    }

    /// Sends an `input_request`. Replies to earlier requests are dropped, since they must not answer this one.
    pub(super) async fn ask(&mut self, output: &mut CellOutput, request: UserRequest) {
        while self.replies.try_recv().is_ok() {}
        self.send(output, request).await;
    }

    async fn send(&mut self, output: &mut CellOutput, request: UserRequest) {
        output.flush().await;
        let id = match &request {
            UserRequest::Line {
                prompt, password, ..
            } => output.request_input(prompt, *password).await,
            UserRequest::Question(spoken) => {
                let (line, secret) = (spoken.line(), spoken.secret());
                output.request_input(&line, secret).await
            }
        };
        self.open = id.map(|id| OpenRequest { id, request });
    }

    /// Takes a reply; a question that it does not answer is asked again.
    async fn take(
        &mut self,
        output: &mut CellOutput,
        reply: &ClientRequest,
    ) -> Option<InputOutcome> {
        let message = &reply.message;
        let is_reply = message.msg_type == "input_reply";
        // Some clients send no parent.
        let parent = message.parent.as_deref().unwrap_or_default();
        let fits = |open: &mut OpenRequest| parent.is_empty() || parent == open.id;
        let open = self.open.take_if(|open| is_reply && fits(open))?;
        let failed = message
            .content
            .get("status")
            .is_some_and(|it| it == "error");
        let text = message.text("value");
        match open.request {
            UserRequest::Line { .. } if failed => Some(refused(&open.request)),
            UserRequest::Line { call, .. } => {
                Some(InputOutcome::Line(call, InputReply::Line(text.to_owned())))
            }
            UserRequest::Question(mut spoken) => match spoken.take(text) {
                Some((line, reply)) => Some(InputOutcome::Answered(spoken.id(), reply, line)),
                None => {
                    self.send(output, UserRequest::Question(spoken)).await;
                    None
                }
            },
        }
    }

    /// Ends the request for the question of this id, if it is open.
    pub(super) fn withdraw(&mut self, id: u64) {
        self.open.take_if(
            |open| matches!(&open.request, UserRequest::Question(spoken) if spoken.id() == id),
        );
    }

    /// Ends the open request.
    pub(super) fn cancel(&mut self) -> Option<InputOutcome> {
        Some(refused(&self.open.take()?.request))
    }
}

/// The outcome where nobody answers: the end of the input, or the answer that changes nothing.
pub(super) fn refused(request: &UserRequest) -> InputOutcome {
    match request {
        UserRequest::Line { call, .. } => InputOutcome::Line(*call, InputReply::Eof),
        UserRequest::Question(spoken) => {
            InputOutcome::Answered(spoken.id(), Reply::Declined, String::new())
        }
    }
}
