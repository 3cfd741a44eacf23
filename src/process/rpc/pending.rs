//! Our requests that wait for a response: the purpose of each, and its deadline.
//!
//! A table without IO or clock; the caller passes the time. Ids are whole numbers from 1, never used twice.

use std::collections::HashMap;
use std::time::Instant;

use super::message::RpcId;

/// Open requests, each with its purpose `T`.
#[derive(Debug)]
pub struct Pending<T> {
    last: i64,
    open: HashMap<RpcId, (T, Instant)>,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Pending {
            last: 0,
            open: HashMap::new(),
        }
    }
}

impl<T> Pending<T> {
    /// Returns the id of a new request that expires at `deadline`.
    pub fn register(&mut self, purpose: T, deadline: Instant) -> RpcId {
        self.last += 1;
        let id = RpcId::Number(self.last);
        self.open.insert(id.clone(), (purpose, deadline));
        id
    }

    /// Removes the request of a response; `None` for a second or unknown response.
    pub fn complete(&mut self, id: &RpcId) -> Option<T> {
        self.open.remove(id).map(|(purpose, _)| purpose)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.open.values().map(|(_, deadline)| *deadline).min()
    }

    /// Removes one request whose deadline has passed.
    pub fn expire(&mut self, now: Instant) -> Option<T> {
        let id = self
            .open
            .iter()
            .find(|(_, (_, deadline))| *deadline <= now)?
            .0
            .clone();
        self.complete(&id)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Pending;
    use crate::rpc::message::RpcId;

    #[test]
    fn a_request_is_completed_once() {
        let mut pending = Pending::default();
        let now = Instant::now();
        let first = pending.register("first", now);
        let second = pending.register("second", now);
        assert_ne!(first, second);
        assert_eq!(pending.complete(&second), Some("second"));
        assert_eq!(pending.complete(&second), None);
        assert_eq!(pending.complete(&RpcId::Text("1".into())), None);
        assert_eq!(pending.complete(&first), Some("first"));
    }

    #[test]
    fn only_overdue_requests_expire() {
        let mut pending = Pending::default();
        let now = Instant::now();
        let later = now + Duration::from_secs(5);
        pending.register("late", later);
        pending.register("due", now);
        assert_eq!(pending.deadline(), Some(now));
        assert_eq!(pending.expire(now), Some("due"));
        assert_eq!(pending.expire(now), None);
        assert_eq!(pending.deadline(), Some(later));
    }
}
