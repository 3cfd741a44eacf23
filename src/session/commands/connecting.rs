//! Another agent in mid-session: the old one's process ends, the next prompt seeds a thread of the new one from the
//! record, as with any thread that does not hold the conversation.

use crate::config::AgentChoice;
use crate::session::events::ToldEvent;
use crate::session::run::RunSender;
use crate::session::task::{Session, notice};

impl Session {
    /// Connects this agent in place of the one before, also when it is the same; false when it cannot be had.
    pub(super) fn use_agent(&mut self, choice: AgentChoice, out: &RunSender) -> bool {
        let connect = match (self.setup.agents)(&choice) {
            Ok(connect) => connect,
            Err(report) => {
                out.send(notice(&report));
                return false;
            }
        };
        if let Some(old) = self.exchanges.replace_agent(connect) {
            // Its end is waited for, and not by the loop; without a thread it has to be.
            let _ = std::thread::Builder::new()
                .name("old agent".into())
                .spawn(move || drop(old));
        }
        self.history.provider(&choice.to_string());
        let text = format!("agent is {choice}");
        self.choices.agent = choice;
        out.send(ToldEvent::Text(text));
        true
    }
}
