//! How far a kernel is: on its way, until it has said who it is, or there.
//!
//! Invariant: it is there once its answer and a message to everybody have come, since what is shown before the
//! subscription reaches it is lost. Absent on purpose: sockets, processes.

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::jupyter::{Channel, Incoming, Outgoing};

/// Where the kernel is.
pub(super) enum Stage {
    /// There is none.
    Away,
    /// It is on its way, since then; its answer and a message to everybody have come.
    Coming {
        since: Instant,
        open: bool,
        asked: Vec<String>,
        answer: Option<Map<String, Value>>,
        heard: bool,
    },
    /// It can be asked.
    Up,
}

impl Stage {
    /// It sets out.
    pub(super) fn coming() -> Self {
        Stage::Coming {
            since: Instant::now(),
            open: false,
            asked: Vec::new(),
            answer: None,
            heard: false,
        }
    }

    /// What asks one that is on its way who it is; `attached`: it was there before us.
    pub(super) fn questions(&mut self, attached: bool) -> Vec<Outgoing> {
        let Stage::Coming { asked, .. } = self else {
            return Vec::new();
        };
        let channels: &[Channel] = match (attached, asked.is_empty()) {
            (false, _) => &[Channel::Shell],
            // The other one waits for what the kernel runs; not every kernel answers on this one.
            (true, true) => &[Channel::Control],
            (true, false) => &[Channel::Control, Channel::Shell],
        };
        let question =
            |channel: &Channel| Outgoing::new(*channel, "kernel_info_request", json!({}));
        let questions: Vec<Outgoing> = channels.iter().map(question).collect();
        asked.extend(questions.iter().map(|question| question.id.clone()));
        questions
    }

    /// Takes a message of one that is on its way; once all is there, who it says it is, and after how many ms.
    pub(super) fn hear(&mut self, message: Incoming) -> Option<(Map<String, Value>, f64)> {
        let Stage::Coming {
            since,
            asked,
            answer,
            heard,
            ..
        } = self
        else {
            return None;
        };
        let ours = message
            .parent
            .as_ref()
            .is_some_and(|parent| asked.contains(parent));
        *heard |= message.channel == Channel::Iopub && (ours || message.kind == "iopub_welcome");
        if ours && message.kind == "kernel_info_reply" {
            *answer = Some(message.content);
        }
        let answer = answer.take_if(|_| *heard)?;
        Some((answer, since.elapsed().as_secs_f64() * 1000.0))
    }
}
