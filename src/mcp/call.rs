//! One tool call of a client, followed to its end: progress while it runs, answers to questions that no user sees, the
//! result.

use std::time::Duration;

use serde_json::Value;

use super::permissions::PermissionSet;
use super::wire;
use crate::agent::InputPart;
use crate::rpc::{Peer, RpcMessage};
use crate::session::{
    BeginEvent, CellEvent, EndEvent, QuestionEvent, Run, SessionEvent, SessionHandle,
};

/// Interval of progress notifications: clients give up on calls that stay silent.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Sends `notifications/progress` for one call.
pub(super) struct ToolProgress<'a> {
    peer: &'a Peer,
    token: Option<Value>,
    sent: u64,
}

impl<'a> ToolProgress<'a> {
    pub(super) fn new(peer: &'a Peer, token: Option<Value>) -> Self {
        ToolProgress {
            peer,
            token,
            sent: 0,
        }
    }

    fn send(&mut self, message: &str) {
        if let Some(token) = &self.token {
            self.sent += 1;
            self.peer.send(RpcMessage::Notification {
                method: "notifications/progress".into(),
                params: wire::progress(token, self.sent, message),
            });
        }
    }
}

/// Follows a call to its end; returns its content and whether it succeeded.
pub(super) async fn follow(
    run: Run,
    session: &SessionHandle,
    allowance: Option<&PermissionSet>,
    mut progress: ToolProgress<'_>,
) -> (Vec<InputPart>, bool) {
    let mut state = "waiting for its turn";
    loop {
        let Ok(event) = tokio::time::timeout(HEARTBEAT, run.next()).await else {
            progress.send(state);
            continue;
        };
        match event {
            Some(SessionEvent::End(EndEvent::Call { content, success })) => {
                return (content, success);
            }
            Some(SessionEvent::Question(QuestionEvent::Asked(question))) => match allowance {
                Some(allowance) => session.answer(question.id, allowance.answer(&question.about)),
                None => {
                    state = "waiting for the user's answer";
                    progress.send(state);
                }
            },
            Some(SessionEvent::Begin(BeginEvent::AgentCell { line, title, .. })) => {
                state = "running";
                let cell = format!("In [{line}] {title}");
                progress.send(cell.trim_end());
            }
            Some(SessionEvent::Cell(CellEvent::Status(text))) => progress.send(&text),
            Some(_) => state = "running",
            None => {
                let why = "Error: the session has ended".to_owned();
                return (vec![InputPart::Text(why)], false);
            }
        }
    }
}
