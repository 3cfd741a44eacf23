//! Holds the end of a cell back until the rest of its typeahead is here.
//!
//! The runner returns unread bytes when its cell ends; the host stops typing once it sees that end. Bytes typed in
//! between are requested once more, and the cell finishes when they arrive. In: ends of cells, bytes returned
//! later. Out: each end, once. Invariants: at most one end waits, for a bounded time; no byte is dropped: bytes
//! that arrive after the end of their cell go to the next one. Absent on purpose: the request for the bytes.

use std::time::{Duration, Instant};

use super::super::{Finish, RequestId, RuntimeEvent};

/// Maximum wait for a runner that is kept busy by tasks of the user.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct DeferredFinish {
    waiting: Option<Waiting>,
    /// Bytes that arrived after their cell's end.
    late: Vec<u8>,
}

#[derive(Debug)]
struct Waiting {
    id: RequestId,
    finish: Finish,
    until: Instant,
}

impl DeferredFinish {
    pub(super) fn id(&self) -> Option<RequestId> {
        self.waiting.as_ref().map(|waiting| waiting.id)
    }

    /// Returns the time until the end is released in any case.
    pub(super) fn left(&self) -> Option<Duration> {
        let until = self.waiting.as_ref()?.until;
        Some(until.saturating_duration_since(Instant::now()))
    }

    /// Takes the end of a cell and returns it, or holds it back when more typed bytes are expected (`is_coming`).
    pub(super) fn end(
        &mut self,
        id: RequestId,
        mut finish: Finish,
        is_coming: bool,
    ) -> Option<RuntimeEvent> {
        finish.typeahead.splice(..0, std::mem::take(&mut self.late));
        let until = Instant::now() + PATIENCE;
        self.waiting = Some(Waiting { id, finish, until });
        if is_coming { None } else { self.release() }
    }

    /// Takes returned bytes of `id`; returns the end of that cell if it waited.
    pub(super) fn typed(&mut self, id: Option<RequestId>, bytes: Vec<u8>) -> Option<RuntimeEvent> {
        match &mut self.waiting {
            Some(waiting) => waiting.finish.typeahead.extend(bytes),
            None => self.late.extend(bytes),
        }
        if self.id() == id {
            self.release()
        } else {
            None
        }
    }

    /// Releases the waiting end with the bytes received so far.
    pub(super) fn release(&mut self) -> Option<RuntimeEvent> {
        let Waiting { id, finish, .. } = self.waiting.take()?;
        Some(RuntimeEvent::Finished { id, finish })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ending;
    use crate::request_kind::finished;

    fn end(
        deferred_finish: &mut DeferredFinish,
        id: u64,
        typed: &str,
        is_coming: bool,
    ) -> Option<(u64, String)> {
        let RuntimeEvent::Finished { id, mut finish } = finished(RequestId(id), Ending::Ok) else {
            unreachable!("it is a cell");
        };
        finish.typeahead = typed.into();
        told(deferred_finish.end(id, finish, is_coming))
    }

    fn told(event: Option<RuntimeEvent>) -> Option<(u64, String)> {
        event.map(|event| match event {
            RuntimeEvent::Finished { id, finish } => {
                (id.0, String::from_utf8(finish.typeahead).unwrap())
            }
            other => panic!("{other:?}"),
        })
    }

    fn typed(deferred_finish: &mut DeferredFinish, id: u64, bytes: &str) -> Option<(u64, String)> {
        told(deferred_finish.typed(Some(RequestId(id)), bytes.into()))
    }

    #[test]
    fn ends_carry_all_that_was_typed_in_order() {
        let mut deferred_finish = DeferredFinish::default();
        assert_eq!(
            end(&mut deferred_finish, 1, "a", false),
            Some((1, "a".into()))
        );
        assert!(deferred_finish.left().is_none());
        assert_eq!(end(&mut deferred_finish, 2, "b", true), None);
        assert!(deferred_finish.left().is_some() && deferred_finish.id() == Some(RequestId(2)));
        assert_eq!(typed(&mut deferred_finish, 2, "c"), Some((2, "bc".into())));
        // Released before the reply came: the bytes go to the next cell.
        assert_eq!(end(&mut deferred_finish, 3, "d", true), None);
        assert_eq!(told(deferred_finish.release()), Some((3, "d".into())));
        assert_eq!(typed(&mut deferred_finish, 3, "e"), None);
        assert_eq!(
            end(&mut deferred_finish, 4, "f", false),
            Some((4, "ef".into()))
        );
        // A late reply of an earlier cell does not release this one.
        assert_eq!(end(&mut deferred_finish, 5, "g", true), None);
        assert_eq!(typed(&mut deferred_finish, 4, "h"), None);
        assert_eq!(typed(&mut deferred_finish, 5, "i"), Some((5, "ghi".into())));
        assert_eq!(told(deferred_finish.release()), None);
    }
}
