//! Ends of cells that wait for the rest of what was typed.
//!
//! A runner takes back unread bytes when its cell is over, the host takes none from when it learns of that; what was
//! typed in between is asked for once more, and until it is here the cell has not finished. In: ends of cells, what
//! was taken back later. Out: the ends, each once. Invariants: at most one waits, and not for long; no byte is dropped:
//! what comes after its cell's end goes to the next one. Absent on purpose: asking.

use std::time::{Duration, Instant};

use super::super::{Finish, RequestId, RuntimeEvent};

/// How long an end waits for a runner that is kept busy by tasks of the user.
const PATIENCE: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ends {
    waiting: Option<Waiting>,
    /// Came after its cell's end.
    late: Vec<u8>,
}

#[derive(Debug)]
struct Waiting {
    id: RequestId,
    finish: Finish,
    until: Instant,
}

impl Ends {
    /// The cell whose end waits.
    pub(super) fn id(&self) -> Option<RequestId> {
        self.waiting.as_ref().map(|waiting| waiting.id)
    }

    /// The time until the end is told in any case.
    pub(super) fn left(&self) -> Option<Duration> {
        let until = self.waiting.as_ref()?.until;
        Some(until.saturating_duration_since(Instant::now()))
    }

    /// A cell has ended: its end, or nothing when more of what was typed `is_coming`.
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

    /// More of what was typed for `id` has come: its end, if that waited.
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

    /// The end that waits, with what is known.
    pub(super) fn release(&mut self) -> Option<RuntimeEvent> {
        let Waiting { id, finish, .. } = self.waiting.take()?;
        Some(RuntimeEvent::Finished { id, finish })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Ending;
    use crate::runtime::python::map::finished;

    fn end(ends: &mut Ends, id: u64, typed: &str, is_coming: bool) -> Option<(u64, String)> {
        let RuntimeEvent::Finished { id, mut finish } = finished(RequestId(id), Ending::Ok) else {
            unreachable!("it is a cell");
        };
        finish.typeahead = typed.into();
        told(ends.end(id, finish, is_coming))
    }

    fn told(event: Option<RuntimeEvent>) -> Option<(u64, String)> {
        event.map(|event| match event {
            RuntimeEvent::Finished { id, finish } => {
                (id.0, String::from_utf8(finish.typeahead).unwrap())
            }
            other => panic!("{other:?}"),
        })
    }

    fn typed(ends: &mut Ends, id: u64, bytes: &str) -> Option<(u64, String)> {
        told(ends.typed(Some(RequestId(id)), bytes.into()))
    }

    #[test]
    fn ends_carry_all_that_was_typed_in_order() {
        let mut ends = Ends::default();
        assert_eq!(end(&mut ends, 1, "a", false), Some((1, "a".into())));
        assert!(ends.left().is_none());
        assert_eq!(end(&mut ends, 2, "b", true), None);
        assert!(ends.left().is_some() && ends.id() == Some(RequestId(2)));
        assert_eq!(typed(&mut ends, 2, "c"), Some((2, "bc".into())));
        // Told before the answer came: the next cell has it.
        assert_eq!(end(&mut ends, 3, "d", true), None);
        assert_eq!(told(ends.release()), Some((3, "d".into())));
        assert_eq!(typed(&mut ends, 3, "e"), None);
        assert_eq!(end(&mut ends, 4, "f", false), Some((4, "ef".into())));
        // An earlier cell's answer is not the one that is waited for.
        assert_eq!(end(&mut ends, 5, "g", true), None);
        assert_eq!(typed(&mut ends, 4, "h"), None);
        assert_eq!(typed(&mut ends, 5, "i"), Some((5, "ghi".into())));
        assert_eq!(told(ends.release()), None);
    }
}
