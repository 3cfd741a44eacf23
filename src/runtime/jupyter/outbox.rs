//! Buffers events for a session that is slower than the kernel.
//!
//! Invariants: messages of a kernel are always read, since kernels drop what is not; the buffer is bounded: printed
//! text beyond [`MOST`] bytes is dropped with a notice, everything else is kept; the order is kept.

use std::collections::VecDeque;

use crate::{OutputStream, RequestId, RuntimeEvent};

/// Maximum bytes of printed text in the buffer.
const MOST: usize = 32 << 20;
/// Maximum bytes of one event.
const CHUNK: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Outbox {
    events: VecDeque<RuntimeEvent>,
    printed: usize,
    /// Request and number of bytes that were dropped.
    left_out: (Option<RequestId>, usize),
}

impl Outbox {
    pub(super) fn push(&mut self, event: RuntimeEvent) {
        let RuntimeEvent::Output {
            id,
            stream,
            mut bytes,
            foreign,
        } = event
        else {
            self.push_omission_notice();
            return self.events.push_back(event);
        };
        let fits = MOST.saturating_sub(self.printed).min(bytes.len());
        if fits < bytes.len() {
            self.left_out = (id, self.left_out.1 + bytes.len() - fits);
            bytes.truncate(fits);
        } else {
            self.push_omission_notice();
        }
        if bytes.is_empty() {
            return;
        }
        self.printed += bytes.len();
        if let Some(RuntimeEvent::Output {
            id: last_id,
            stream: last_stream,
            bytes: last,
            ..
        }) = self.events.back_mut()
            && (*last_id, *last_stream) == (id, stream)
            && last.len() + bytes.len() <= CHUNK
        {
            last.append(&mut bytes);
            return;
        }
        self.events.push_back(RuntimeEvent::Output {
            id,
            stream,
            bytes,
            foreign,
        });
    }

    pub(super) fn push_all(&mut self, events: impl IntoIterator<Item = RuntimeEvent>) {
        events.into_iter().for_each(|event| self.push(event));
    }

    fn push_omission_notice(&mut self) {
        let (id, missing) = std::mem::take(&mut self.left_out);
        if missing == 0 {
            return;
        }
        let text = format!(
            "\n[{missing} bytes of output came faster than they could be shown and are left out]\n"
        );
        self.events.push_back(RuntimeEvent::Output {
            id,
            stream: OutputStream::Stderr,
            bytes: text.into_bytes(),
            foreign: false,
        });
    }

    pub(super) fn pop(&mut self) -> Option<RuntimeEvent> {
        let event = self.events.pop_front()?;
        if let RuntimeEvent::Output { bytes, .. } = &event {
            self.printed = self.printed.saturating_sub(bytes.len());
        }
        Some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(bytes: usize) -> RuntimeEvent {
        RuntimeEvent::Output {
            id: Some(RequestId(1)),
            stream: OutputStream::Stdout,
            bytes: vec![b'x'; bytes],
            foreign: false,
        }
    }

    #[test]
    fn a_flood_is_bounded_and_said() {
        let mut outbox = Outbox::default();
        for _ in 0..100 {
            outbox.push(printed(1 << 20));
        }
        outbox.push(RuntimeEvent::Notice("end".into()));
        let mut bytes = 0;
        let mut said = String::new();
        while let Some(event) = outbox.pop() {
            match event {
                RuntimeEvent::Output { bytes: out, .. } if out.starts_with(b"x") => {
                    bytes += out.len()
                }
                RuntimeEvent::Output { id, bytes, .. } => {
                    assert_eq!(id, Some(RequestId(1)));
                    said = String::from_utf8(bytes).unwrap();
                }
                _ => {}
            }
        }
        assert_eq!(bytes, MOST);
        assert!(
            said.contains(&format!("[{} bytes", (100 << 20) - MOST)),
            "{said}"
        );
    }

    #[test]
    fn small_pieces_become_one() {
        let mut outbox = Outbox::default();
        for _ in 0..1000 {
            outbox.push(printed(3));
        }
        assert!(
            matches!(outbox.pop(), Some(RuntimeEvent::Output { bytes, .. }) if bytes.len() == 3000)
        );
        assert!(outbox.is_empty());
    }
}
