//! One tool call of a guest, followed to its end: progress as it goes, questions nobody sees answered, the result.

use std::time::Duration;

use serde_json::Value;

use super::allowance::Allowance;
use super::wire;
use crate::agent::InputPart;
use crate::rpc::{Peer, RpcMessage};
use crate::session::{
    BeginEvent, CellEvent, EndEvent, QuestionEvent, Run, SessionEvent, SessionHandle,
};

/// How often it is told that a call still runs: clients give up on those they hear nothing of.
const STILL: Duration = Duration::from_secs(5);

/// Tells a client how far its call is.
pub(super) struct Progress<'a> {
    peer: &'a Peer,
    token: Option<Value>,
    told: u64,
}

impl<'a> Progress<'a> {
    pub(super) fn new(peer: &'a Peer, token: Option<Value>) -> Self {
        Progress {
            peer,
            token,
            told: 0,
        }
    }

    fn tell(&mut self, message: &str) {
        if let Some(token) = &self.token {
            self.told += 1;
            self.peer.send(RpcMessage::Notification {
                method: "notifications/progress".into(),
                params: wire::progress(token, self.told, message),
            });
        }
    }
}

/// Follows a call; what came of it.
pub(super) async fn follow(
    run: Run,
    session: &SessionHandle,
    allowance: Option<&Allowance>,
    mut progress: Progress<'_>,
) -> (Vec<InputPart>, bool) {
    let mut state = "waiting for its turn";
    loop {
        let Ok(event) = tokio::time::timeout(STILL, run.next()).await else {
            progress.tell(state);
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
                    progress.tell(state);
                }
            },
            Some(SessionEvent::Begin(BeginEvent::AgentCell { line, title, .. })) => {
                state = "running";
                let cell = format!("In [{line}] {title}");
                progress.tell(cell.trim_end());
            }
            Some(SessionEvent::Cell(CellEvent::Status(text))) => progress.tell(&text),
            Some(_) => state = "running",
            None => {
                let why = "Error: the session has ended".to_owned();
                return (vec![InputPart::Text(why)], false);
            }
        }
    }
}
