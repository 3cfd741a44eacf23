//! The start-up of a kernel: absent, starting until it has identified itself, ready.
//!
//! Invariant: a kernel is ready once its `kernel_info_reply` and an iopub message have come, since what is published
//! before the subscription arrives is lost. Absent on purpose: sockets, processes.

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use ipycodex_jupyter::{Channel, IncomingMessage, OutgoingMessage};

pub(super) enum KernelPhase {
    Absent,
    /// Ready once `answer` is set and an iopub message has been `heard`.
    Starting {
        since: Instant,
        open: bool,
        asked: Vec<String>,
        answer: Option<Map<String, Value>>,
        heard: bool,
    },
    Ready,
}

impl KernelPhase {
    /// `open`: there is a connection to the kernel.
    pub(super) fn starting(open: bool) -> Self {
        KernelPhase::Starting {
            since: Instant::now(),
            open,
            asked: Vec::new(),
            answer: None,
            heard: false,
        }
    }

    /// Returns the `kernel_info_request`s for a starting kernel; `attached`: the kernel was not started by us.
    pub(super) fn questions(&mut self, attached: bool) -> Vec<OutgoingMessage> {
        let KernelPhase::Starting { asked, .. } = self else {
            return Vec::new();
        };
        let channels: &[Channel] = match (attached, asked.is_empty()) {
            (false, _) => &[Channel::Shell],
            // The shell channel waits for what the kernel runs; not every kernel answers on control.
            (true, true) => &[Channel::Control],
            (true, false) => &[Channel::Control, Channel::Shell],
        };
        let question =
            |channel: &Channel| OutgoingMessage::new(*channel, "kernel_info_request", json!({}));
        let questions: Vec<OutgoingMessage> = channels.iter().map(question).collect();
        asked.extend(questions.iter().map(|question| question.id.clone()));
        questions
    }

    /// Takes a message of a starting kernel; once it is ready, returns its `kernel_info_reply` and the start-up
    /// time in ms.
    pub(super) fn on_message(
        &mut self,
        message: IncomingMessage,
    ) -> Option<(Map<String, Value>, f64)> {
        let KernelPhase::Starting {
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
        *heard |=
            message.channel == Channel::Iopub && (ours || message.msg_type == "iopub_welcome");
        if ours && message.msg_type == "kernel_info_reply" {
            *answer = Some(message.content);
        }
        let answer = answer.take_if(|_| *heard)?;
        Some((answer, since.elapsed().as_secs_f64() * 1000.0))
    }
}
