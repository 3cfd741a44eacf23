//! Detects whether a silent kernel still runs, and whether it has skipped requests.
//!
//! In: how long the kernel has been silent, its state as its process or gateway reports it. Out: when to check, and a
//! probe request that the kernel answers only after the requests before it. Invariant: one probe at a time. Absent on
//! purpose: how the check is made (`kernel.rs`).

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::jupyter::{Channel, IncomingMessage, OutgoingMessage};

/// Silence shorter than this asks nothing; two questions are so far apart at least.
const SILENCE: Duration = Duration::from_secs(3);

/// What is known of a kernel that is silent.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    asked: Option<Instant>,
    /// Why whoever runs it does not say.
    unreachable: Option<String>,
    probe: Option<Probe>,
    /// It has told everybody of a request.
    worked: bool,
}

#[derive(Debug)]
struct Probe {
    name: String,
    /// What was sent before it and has no reply.
    behind: Vec<String>,
}

impl Liveness {
    /// Whether it is to be asked for now, when nothing has come of what waits for so long.
    pub(super) fn is_due(&mut self, silent: Option<Duration>) -> bool {
        let due = silent.is_some_and(|silent| silent > SILENCE)
            && self.asked.is_none_or(|asked| asked.elapsed() > SILENCE);
        if due {
            self.asked = Some(Instant::now());
        }
        due
    }

    /// It cannot be asked for.
    pub(super) fn unreachable(&mut self, why: String) {
        self.unreachable = Some(why);
    }

    /// It was heard of.
    pub(super) fn reached(&mut self) {
        self.unreachable = None;
    }

    /// Why it cannot be asked for.
    pub(super) fn unreachable_reason(&self) -> Option<&str> {
        self.unreachable.as_deref()
    }

    /// It is another one in the place of the one that was there, as this message tells. The first one says that it
    /// starts as well, and may be heard after its answer to who it is, but not after what everybody hears of a request.
    pub(super) fn is_restart(&mut self, message: &IncomingMessage) -> bool {
        if message.channel != Channel::Iopub {
            return false;
        }
        let starts = message.msg_type == "status" && message.text("execution_state") == "starting";
        self.worked |= message
            .parent
            .as_ref()
            .is_some_and(|parent| !parent.is_empty());
        starts && self.worked
    }

    /// What it answers once it has done with `unanswered`: a kernel works requests off in their order.
    pub(super) fn probe(&mut self, unanswered: Vec<String>) -> Option<OutgoingMessage> {
        let known = |probe: &Probe| unanswered.iter().all(|name| probe.behind.contains(name));
        if unanswered.is_empty() || self.probe.as_ref().is_some_and(known) {
            return None;
        }
        let message = OutgoingMessage::new(Channel::Shell, "kernel_info_request", json!({}));
        self.probe = Some(Probe {
            name: message.id.clone(),
            behind: unanswered,
        });
        Some(message)
    }

    /// What it has passed over, as this message tells.
    pub(super) fn skipped(&mut self, message: &IncomingMessage) -> Option<Vec<String>> {
        let answers = |probe: &mut Probe| {
            message.channel == Channel::Shell && message.parent.as_ref() == Some(&probe.name)
        };
        Some(self.probe.take_if(answers)?.behind)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn answer(to: &OutgoingMessage) -> IncomingMessage {
        let header = json!({"msg_type": "kernel_info_reply"});
        let values = [header, json!({"msg_id": to.id}), json!({}), json!({})];
        IncomingMessage::from_values(Channel::Shell, values, Vec::new()).unwrap()
    }

    #[test]
    fn the_start_of_the_first_kernel_is_no_restart() {
        let status = |state: &str, parent: Value| {
            let values = [
                json!({"msg_type": "status"}),
                parent,
                json!({}),
                json!({"execution_state": state}),
            ];
            IncomingMessage::from_values(Channel::Iopub, values, Vec::new()).unwrap()
        };
        let mut liveness = Liveness::default();
        assert!(!liveness.is_restart(&status("starting", json!({}))));
        assert!(!liveness.is_restart(&status("busy", json!({"msg_id": "question"}))));
        assert!(liveness.is_restart(&status("starting", json!({}))));
    }

    #[test]
    fn silence_is_asked_about_once_in_a_while() {
        let mut liveness = Liveness::default();
        assert!(!liveness.is_due(None));
        assert!(!liveness.is_due(Some(SILENCE / 2)));
        assert!(liveness.is_due(Some(SILENCE * 2)));
        assert!(!liveness.is_due(Some(SILENCE * 2)));
    }

    #[test]
    fn what_waits_behind_an_answered_probe_is_passed_over_once() {
        let mut liveness = Liveness::default();
        let names = || vec!["cell".to_owned()];
        assert!(liveness.probe(Vec::new()).is_none());
        let probe = liveness.probe(names()).unwrap();
        assert!(liveness.probe(names()).is_none());
        let other = OutgoingMessage::new(Channel::Shell, "kernel_info_request", json!({}));
        assert_eq!(liveness.skipped(&answer(&other)), None);
        assert_eq!(liveness.skipped(&answer(&probe)), Some(names()));
        assert_eq!(liveness.skipped(&answer(&probe)), None);
    }
}
