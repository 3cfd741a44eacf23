//! Whether the kernel is there still, and works on what it was sent, while that waits in silence.
//!
//! In: how long nothing was heard, what whoever runs the kernel says of it. Out: when that is to be asked; a request
//! that a kernel answers only after what it was sent before. Invariant: one such request at a time. Absent on purpose:
//! who asks, and how (`kernel.rs`).

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::jupyter::{Channel, Incoming, Outgoing};

/// Silence shorter than this asks nothing; two questions are so far apart at least.
const SILENCE: Duration = Duration::from_secs(3);

/// What is known of a kernel that is silent.
#[derive(Debug, Default)]
pub(super) struct Presence {
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

impl Presence {
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
    pub(super) fn trouble(&self) -> Option<&str> {
        self.unreachable.as_deref()
    }

    /// It is another one in the place of the one that was there, as this message tells. The first one says that it
    /// starts as well, and may be heard after its answer to who it is, but not after what everybody hears of a request.
    pub(super) fn begins_anew(&mut self, message: &Incoming) -> bool {
        if message.channel != Channel::Iopub {
            return false;
        }
        let starts = message.kind == "status" && message.text("execution_state") == "starting";
        self.worked |= message
            .parent
            .as_ref()
            .is_some_and(|parent| !parent.is_empty());
        starts && self.worked
    }

    /// What it answers once it has done with `unanswered`: a kernel works requests off in their order.
    pub(super) fn probe(&mut self, unanswered: Vec<String>) -> Option<Outgoing> {
        let known = |probe: &Probe| unanswered.iter().all(|name| probe.behind.contains(name));
        if unanswered.is_empty() || self.probe.as_ref().is_some_and(known) {
            return None;
        }
        let message = Outgoing::new(Channel::Shell, "kernel_info_request", json!({}));
        self.probe = Some(Probe {
            name: message.id.clone(),
            behind: unanswered,
        });
        Some(message)
    }

    /// What it has passed over, as this message tells.
    pub(super) fn passed_over(&mut self, message: &Incoming) -> Option<Vec<String>> {
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

    fn answer(to: &Outgoing) -> Incoming {
        let header = json!({"msg_type": "kernel_info_reply"});
        let values = [header, json!({"msg_id": to.id}), json!({}), json!({})];
        Incoming::of_values(Channel::Shell, values, Vec::new()).unwrap()
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
            Incoming::of_values(Channel::Iopub, values, Vec::new()).unwrap()
        };
        let mut presence = Presence::default();
        assert!(!presence.begins_anew(&status("starting", json!({}))));
        assert!(!presence.begins_anew(&status("busy", json!({"msg_id": "question"}))));
        assert!(presence.begins_anew(&status("starting", json!({}))));
    }

    #[test]
    fn silence_is_asked_about_once_in_a_while() {
        let mut presence = Presence::default();
        assert!(!presence.is_due(None));
        assert!(!presence.is_due(Some(SILENCE / 2)));
        assert!(presence.is_due(Some(SILENCE * 2)));
        assert!(!presence.is_due(Some(SILENCE * 2)));
    }

    #[test]
    fn what_waits_behind_an_answered_probe_is_passed_over_once() {
        let mut presence = Presence::default();
        let names = || vec!["cell".to_owned()];
        assert!(presence.probe(Vec::new()).is_none());
        let probe = presence.probe(names()).unwrap();
        assert!(presence.probe(names()).is_none());
        let other = Outgoing::new(Channel::Shell, "kernel_info_request", json!({}));
        assert_eq!(presence.passed_over(&answer(&other)), None);
        assert_eq!(presence.passed_over(&answer(&probe)), Some(names()));
        assert_eq!(presence.passed_over(&answer(&probe)), None);
    }
}
