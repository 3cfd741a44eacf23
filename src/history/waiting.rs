//! Writes the file has not taken yet, in order, in bounded memory.
//!
//! Invariant: never much over [`MOST`] bytes. What is let go first is what costs most and says least: answers in
//! progress (the finished one comes whole) and outputs of cells, from the oldest on; then whole entries.

use std::collections::VecDeque;

use super::message::Write;

/// Bytes that may wait.
const MOST: usize = 64 << 20;

/// What an entry takes beside its texts, in bytes.
const EACH: usize = 160;

/// A write, and what its numbers mean.
#[derive(Debug)]
pub(super) struct WaitingWrite {
    /// The change.
    pub(super) write: Write,
    /// Made while the session was not known: all its numbers are those of this process.
    pub(super) early: bool,
}

#[derive(Debug, Default)]
pub(super) struct WaitingWrites {
    entries: VecDeque<WaitingWrite>,
    bytes: usize,
    shed: bool,
}

impl WaitingWrites {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn writes(&self) -> impl Iterator<Item = &Write> {
        self.entries.iter().map(|entry| &entry.write)
    }

    /// The oldest ones.
    pub(super) fn first(
        &self,
        most: usize,
    ) -> std::iter::Take<std::collections::vec_deque::Iter<'_, WaitingWrite>> {
        self.entries.iter().take(most)
    }

    pub(super) fn pop(&mut self) -> Option<Write> {
        let entry = self.entries.pop_front()?;
        self.bytes = self.bytes.saturating_sub(size(&entry.write));
        if self.entries.is_empty() {
            self.shed = false;
        }
        Some(entry.write)
    }

    /// Puts a write before all others.
    pub(super) fn push_front(&mut self, write: Write) {
        self.bytes += size(&write);
        self.entries.push_front(WaitingWrite {
            write,
            early: false,
        });
    }

    /// Adds a write; true when for the first time something had to be let go.
    pub(super) fn push(&mut self, write: Write, early: bool) -> bool {
        self.bytes += size(&write);
        self.entries.push_back(WaitingWrite { write, early });
        if self.bytes <= MOST {
            return false;
        }
        self.let_go();
        !std::mem::replace(&mut self.shed, true)
    }

    fn let_go(&mut self) {
        let mut bytes = self.bytes;
        for entry in &mut self.entries {
            if bytes <= MOST / 2 {
                break;
            }
            let before = size(&entry.write);
            match &mut entry.write {
                Write::Stream { text, .. } => *text = String::new(),
                Write::Output {
                    text,
                    bundles,
                    layout,
                    ..
                } => {
                    (*text, *bundles, *layout) = (String::new(), Vec::new(), String::new());
                }
                _ => {}
            }
            bytes = bytes + size(&entry.write) - before;
        }
        self.bytes = bytes;
        while self.bytes > MOST && self.pop().is_some() {}
    }
}

fn size(write: &Write) -> usize {
    EACH + match write {
        Write::Input {
            source, raw, shell, ..
        } => source.len() + raw.len() + shell.as_ref().map_or(0, String::len),
        Write::Output {
            text,
            bundles,
            layout,
            ..
        } => {
            text.len()
                + layout.len()
                + bundles
                    .iter()
                    .map(|bundle| bundle.json.len() + 24)
                    .sum::<usize>()
        }
        Write::BeginTurn { start, .. } => {
            let images = start.expansion.images.iter().map(|url| url.len());
            start.prompt.len() + start.expansion.xml.len() + images.sum::<usize>()
        }
        Write::Stream { text, .. } => text.len(),
        Write::FinishTurn { response, .. } => response.len(),
        Write::Rename(name) => name.len(),
        Write::Decided(decided) => decided.subject.len() + decided.decision.len(),
        Write::StepOver { lines, .. } => lines.len() * 4,
        Write::Thread { .. }
        | Write::Told { .. }
        | Write::Exited { .. }
        | Write::Hide { .. }
        | Write::Reset => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::CellEnd;
    use super::*;

    fn output(line: u32, bytes: usize) -> Write {
        Write::Output {
            line,
            text: "x".repeat(bytes),
            bundles: vec![],
            layout: String::new(),
            state: CellEnd::Complete,
            execution_ms: 0,
        }
    }

    #[test]
    fn a_hundred_thousand_small_entries_all_wait() {
        let mut waiting = WaitingWrites::default();
        let told = (0..100_000).any(|line| waiting.push(output(line, 200), false));
        assert_eq!((told, waiting.len()), (false, 100_000));
    }

    #[test]
    fn memory_is_bounded_and_the_newest_stays_whole() {
        let mut waiting = WaitingWrites::default();
        let told: Vec<bool> = (0..300)
            .map(|line| waiting.push(output(line, 1 << 20), false))
            .collect();
        assert_eq!(told.iter().filter(|told| **told).count(), 1);
        assert_eq!(waiting.len(), 300, "only outputs were let go");
        assert!(waiting.bytes <= MOST);
        let kept: usize = waiting.writes().map(size).sum();
        assert_eq!(kept, waiting.bytes);
        assert!(
            matches!(waiting.writes().last(), Some(Write::Output { text, .. }) if text.len() == 1 << 20)
        );
        // Inputs cannot be made smaller: the oldest leave.
        for line in 0..100 {
            waiting.push(
                Write::Input {
                    line,
                    source: "x".repeat(1 << 20),
                    shell: None,
                    raw: String::new(),
                    at: std::time::UNIX_EPOCH,
                },
                false,
            );
        }
        assert!(waiting.bytes <= MOST);
        while waiting.pop().is_some() {}
        assert_eq!(waiting.bytes, 0);
    }
}
