//! The requests of ours that wait for an answer: what each was for, and until when.
//!
//! A table without IO or clock; the caller passes the time. Ids are whole numbers from 1, never used twice.

use std::collections::HashMap;
use std::time::Instant;

use super::message::RpcId;

/// Open requests and what `T` each stands for.
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
    /// Names a new request that wants its answer by `deadline`.
    pub fn open(&mut self, purpose: T, deadline: Instant) -> RpcId {
        self.last += 1;
        let id = RpcId::Number(self.last);
        self.open.insert(id.clone(), (purpose, deadline));
        id
    }

    /// Takes the request an answer belongs to; `None` for a second or unknown answer.
    pub fn close(&mut self, id: &RpcId) -> Option<T> {
        self.open.remove(id).map(|(purpose, _)| purpose)
    }

    /// When the first open request runs out of time.
    pub fn deadline(&self) -> Option<Instant> {
        self.open.values().map(|(_, deadline)| *deadline).min()
    }

    /// Takes one request whose time is over.
    pub fn expire(&mut self, now: Instant) -> Option<T> {
        let id = self
            .open
            .iter()
            .find(|(_, (_, deadline))| *deadline <= now)?
            .0
            .clone();
        self.close(&id)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Pending;
    use crate::rpc::message::RpcId;

    #[test]
    fn an_answer_is_taken_once() {
        let mut pending = Pending::default();
        let now = Instant::now();
        let first = pending.open("first", now);
        let second = pending.open("second", now);
        assert_ne!(first, second);
        assert_eq!(pending.close(&second), Some("second"));
        assert_eq!(pending.close(&second), None);
        assert_eq!(pending.close(&RpcId::Text("1".into())), None);
        assert_eq!(pending.close(&first), Some("first"));
    }

    #[test]
    fn only_what_is_due_expires() {
        let mut pending = Pending::default();
        let now = Instant::now();
        let later = now + Duration::from_secs(5);
        pending.open("late", later);
        pending.open("due", now);
        assert_eq!(pending.deadline(), Some(now));
        assert_eq!(pending.expire(now), Some("due"));
        assert_eq!(pending.expire(now), None);
        assert_eq!(pending.deadline(), Some(later));
    }
}
