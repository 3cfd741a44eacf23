//! What the driver does when time is over: of a cancelled turn, of the agent's start, of a request.

use std::time::Instant;

use super::Driver;
use crate::agent::AgentEvent;
use crate::agent::acp::failure;
use crate::agent::acp::link::{Link, Purpose};
use crate::agent::trouble;

impl Driver {
    /// When the first of it is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let request = self.link.as_ref().and_then(Link::deadline);
        let cancel = self.current.as_ref().and_then(|it| it.cancelled);
        let start = self.starting().and_then(|(_, end)| end);
        let deadlines = [request, cancel, start, self.tells_start()];
        deadlines.into_iter().flatten().min()
    }

    /// What of the start the process has still to answer, and until when; `None`: as long as it takes.
    fn starting(&self) -> Option<(Purpose, Option<Instant>)> {
        let (purpose, since) = self.link.as_ref()?.starting()?;
        Some((purpose, since.checked_add(self.start)))
    }

    /// When the turn at hand is told that the agent is still starting.
    fn tells_start(&self) -> Option<Instant> {
        let current = self.current.as_ref().filter(|it| !it.sent);
        current.and_then(|it| it.tells_start)
    }

    pub(super) async fn overdue(&mut self) {
        let name = self.program.name.clone();
        let cancel = self.current.as_ref().and_then(|it| it.cancelled);
        if cancel.is_some_and(|deadline| deadline <= Instant::now()) {
            // Told as interrupted, which is what was asked for.
            let patience = self.plan.patience.cancel;
            let failure = trouble::silent(&name, "session/cancel", patience, 0);
            return self.give_up(failure).await;
        }
        let now = Instant::now();
        if self.tells_start().is_some_and(|due| due <= now)
            && let Some(current) = &mut self.current
        {
            current.tells_start = None;
            let starting = AgentEvent::Starting {
                turn: current.turn,
                agent: name,
                limit: now.checked_add(self.start).map(|_| self.start),
            };
            return self.orders.tell(starting).await;
        }
        if let Some((purpose, Some(end))) = self.starting()
            && end <= now
        {
            let junk = self.link.as_ref().map_or(0, Link::junk);
            let method = purpose.method();
            return self
                .give_up(failure::starts_too_slowly(&name, method, self.start, junk))
                .await;
        }
        let Some(purpose) = self.link.as_mut().and_then(Link::expire) else {
            return;
        };
        if purpose == Purpose::Courtesy {
            return;
        }
        let patience = self.plan.patience.request;
        let failure = trouble::unanswered(&name, purpose.method(), patience);
        if self.asides.expired(purpose, failure) {
            return;
        }
        let junk = self.link.as_ref().map_or(0, Link::junk);
        let failure = trouble::silent(&name, purpose.method(), patience, junk);
        self.give_up(failure).await;
    }
}
