//! Detects whether a silent kernel still runs, and whether it has skipped requests.
//!
//! In: how long the kernel has been silent, its state as its process or gateway reports it. Out: when to check, and a
//! probe request that the kernel answers only after the requests before it. Invariant: one probe at a time. Absent on
//! purpose: how the check is made (`kernel.rs`).

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use ipycodex_jupyter::{Channel, IncomingMessage, OutgoingMessage};

/// Minimum silence before a check, and minimum time between two checks.
const SILENCE: Duration = Duration::from_secs(3);

#[derive(Debug, Default)]
pub(super) struct Liveness {
    asked: Option<Instant>,
    /// Why the kernel's state is not available.
    unreachable: Option<String>,
    probe: Option<Probe>,
    /// The kernel has published the status of a request.
    worked: bool,
}

#[derive(Debug)]
struct Probe {
    name: String,
    /// Requests that were sent before the probe and have no reply.
    behind: Vec<String>,
}

impl Liveness {
    /// Returns true when a check is due, for a kernel whose requests have been silent for that long.
    pub(super) fn is_due(&mut self, silent: Option<Duration>) -> bool {
        let due = silent.is_some_and(|silent| silent > SILENCE)
            && self.asked.is_none_or(|asked| asked.elapsed() > SILENCE);
        if due {
            self.asked = Some(Instant::now());
        }
        due
    }

    pub(super) fn unreachable(&mut self, why: String) {
        self.unreachable = Some(why);
    }

    pub(super) fn reached(&mut self) {
        self.unreachable = None;
    }

    pub(super) fn unreachable_reason(&self) -> Option<&str> {
        self.unreachable.as_deref()
    }

    /// Returns true when this message shows that another kernel took the place of the old one. The first kernel
    /// announces its start as well, perhaps after its `kernel_info_reply`, but never after the status of a request.
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

    /// Returns a probe request when none covers `unanswered`: a kernel processes requests in order.
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

    /// Returns the requests that the kernel has skipped, when this message answers the probe.
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
