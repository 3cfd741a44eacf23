//! The queue of events inside the session, depth-first: what a handler raises is handled before what waited already.

use std::collections::VecDeque;

use crate::effect::Event;

#[derive(Default)]
pub(super) struct EventQueue {
    due: VecDeque<Event>,
    /// Raised since the last [`EventQueue::pop`], in order.
    raised: Vec<Event>,
}

impl EventQueue {
    pub(super) fn raise(&mut self, event: Event) {
        self.raised.push(event);
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        for event in self.raised.drain(..).rev() {
            self.due.push_front(event);
        }
        self.due.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consequences_come_before_what_waited() {
        let mut queue = EventQueue::default();
        queue.raise(Event::NextQuestion);
        queue.raise(Event::Advance);
        assert!(matches!(queue.pop(), Some(Event::NextQuestion)));
        queue.raise(Event::Interrupted);
        queue.raise(Event::ToolInterrupted);
        assert!(matches!(queue.pop(), Some(Event::Interrupted)));
        queue.raise(Event::DeathTold);
        assert!(matches!(queue.pop(), Some(Event::DeathTold)));
        assert!(matches!(queue.pop(), Some(Event::ToolInterrupted)));
        assert!(matches!(queue.pop(), Some(Event::Advance)));
        assert!(queue.pop().is_none());
    }
}
