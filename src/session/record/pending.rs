//! Writes that the file has not taken yet, in order, in bounded memory.
//!
//! Invariant: never much over [`MAX_BYTES`] bytes. When full, parts of streamed answers (the finished answer comes
//! whole) and outputs of cells are dropped first, oldest first; then whole entries.

use std::collections::VecDeque;

use super::request::RecordWrite;

/// Bytes of pending writes at most.
const MAX_BYTES: usize = 64 << 20;

/// The estimated size of an entry without its texts, in bytes.
const ENTRY_BYTES: usize = 160;

/// A write, and the meaning of its numbers.
#[derive(Debug)]
pub(super) struct PendingWrite {
    pub(super) write: RecordWrite,
    /// Made before the session was known: all its numbers are those of this process.
    pub(super) early: bool,
}

#[derive(Debug, Default)]
pub(super) struct PendingWrites {
    entries: VecDeque<PendingWrite>,
    bytes: usize,
    has_shed: bool,
}

impl PendingWrites {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn writes(&self) -> impl Iterator<Item = &RecordWrite> {
        self.entries.iter().map(|entry| &entry.write)
    }

    pub(super) fn oldest(
        &self,
        most: usize,
    ) -> std::iter::Take<std::collections::vec_deque::Iter<'_, PendingWrite>> {
        self.entries.iter().take(most)
    }

    pub(super) fn pop(&mut self) -> Option<RecordWrite> {
        let entry = self.entries.pop_front()?;
        self.bytes = self.bytes.saturating_sub(size(&entry.write));
        if self.entries.is_empty() {
            self.has_shed = false;
        }
        Some(entry.write)
    }

    pub(super) fn push_front(&mut self, write: RecordWrite) {
        self.bytes += size(&write);
        self.entries.push_front(PendingWrite {
            write,
            early: false,
        });
    }

    /// Appends a write; true when a write had to be dropped for the first time.
    pub(super) fn push(&mut self, write: RecordWrite, early: bool) -> bool {
        self.bytes += size(&write);
        self.entries.push_back(PendingWrite { write, early });
        if self.bytes <= MAX_BYTES {
            return false;
        }
        self.shed_load();
        !std::mem::replace(&mut self.has_shed, true)
    }

    fn shed_load(&mut self) {
        let mut bytes = self.bytes;
        for entry in &mut self.entries {
            if bytes <= MAX_BYTES / 2 {
                break;
            }
            let before = size(&entry.write);
            match &mut entry.write {
                RecordWrite::Stream { text, .. } => *text = String::new(),
                RecordWrite::Output {
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
        while self.bytes > MAX_BYTES && self.pop().is_some() {}
    }
}

fn size(write: &RecordWrite) -> usize {
    ENTRY_BYTES
        + match write {
            RecordWrite::Input {
                source, raw, shell, ..
            } => source.len() + raw.len() + shell.as_ref().map_or(0, String::len),
            RecordWrite::Output {
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
            RecordWrite::BeginTurn { start, .. } => {
                let images = start.expansion.images.iter().map(|url| url.len());
                start.prompt.len() + start.expansion.xml.len() + images.sum::<usize>()
            }
            RecordWrite::Stream { text, .. } => text.len(),
            RecordWrite::FinishTurn { response, .. } => response.len(),
            RecordWrite::Rename(name) => name.len(),
            RecordWrite::Decision(decided) => decided.subject.len() + decided.decision.len(),
            RecordWrite::StepOver { lines, .. } => lines.len() * 4,
            RecordWrite::Thread { .. }
            | RecordWrite::InAnswer { .. }
            | RecordWrite::ShellExit { .. }
            | RecordWrite::Hide { .. }
            | RecordWrite::Reset => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::super::values::StoredBundle;
    use super::super::{CellStatus, PromptStart, RecordedOutcome, TurnKey};
    use super::*;

    fn output(line: u32, bytes: usize) -> RecordWrite {
        RecordWrite::Output {
            line,
            text: "x".repeat(bytes),
            bundles: vec![],
            layout: String::new(),
            state: CellStatus::Complete,
            execution_ms: 0,
        }
    }

    #[test]
    fn a_hundred_thousand_small_entries_all_wait() {
        let mut waiting = PendingWrites::default();
        let told = (0..100_000).any(|line| waiting.push(output(line, 200), false));
        assert_eq!((told, waiting.len()), (false, 100_000));
    }

    #[test]
    fn memory_is_bounded_and_the_newest_stays_whole() {
        let mut waiting = PendingWrites::default();
        let told: Vec<bool> = (0..300)
            .map(|line| waiting.push(output(line, 1 << 20), false))
            .collect();
        assert_eq!(told.iter().filter(|told| **told).count(), 1);
        assert_eq!(waiting.len(), 300, "only outputs were let go");
        assert!(waiting.bytes <= MAX_BYTES);
        let kept: usize = waiting.writes().map(size).sum();
        assert_eq!(kept, waiting.bytes);
        assert!(
            matches!(waiting.writes().last(), Some(RecordWrite::Output { text, .. }) if text.len() == 1 << 20)
        );
        // Inputs cannot be made smaller: the oldest are dropped.
        for line in 0..100 {
            waiting.push(
                RecordWrite::Input {
                    line,
                    source: "x".repeat(1 << 20),
                    shell: None,
                    raw: String::new(),
                    at: std::time::UNIX_EPOCH,
                },
                false,
            );
        }
        assert!(waiting.bytes <= MAX_BYTES);
        while waiting.pop().is_some() {}
        assert_eq!(waiting.bytes, 0);
    }

    #[test]
    fn a_write_counts_with_all_its_texts() {
        let bundle = |length: usize| StoredBundle {
            json: "x".repeat(length),
            has_picture: false,
        };
        let text = |length: usize| "x".repeat(length);
        let mut start = PromptStart::new(1, 0, text(1));
        start.expansion.xml = text(20);
        start.expansion.images = vec![text(300).into(), text(4_000).into()];
        let begin = RecordWrite::BeginTurn {
            key: TurnKey(1),
            start: Box::new(start),
        };
        for (write, expected) in [
            (
                RecordWrite::Input {
                    line: 1,
                    source: text(1),
                    raw: text(20),
                    shell: Some(text(300)),
                    at: std::time::UNIX_EPOCH,
                },
                321,
            ),
            (
                RecordWrite::Output {
                    line: 1,
                    text: text(1),
                    bundles: vec![bundle(300), bundle(4_000)],
                    layout: text(20),
                    state: CellStatus::Complete,
                    execution_ms: 0,
                },
                4_321 + 2 * 24,
            ),
            (begin, 4_321),
            (
                RecordWrite::FinishTurn {
                    key: TurnKey(1),
                    outcome: RecordedOutcome::Complete,
                    response: text(7),
                    usage: None,
                },
                7,
            ),
            (RecordWrite::Rename(text(7)), 7),
            (
                RecordWrite::StepOver {
                    session: None,
                    lines: vec![1, 2],
                    over: true,
                },
                8,
            ),
            (RecordWrite::Reset, 0),
        ] {
            assert_eq!(size(&write), ENTRY_BYTES + expected, "{write:?}");
            let mut waiting = PendingWrites::default();
            assert!(waiting.is_empty());
            waiting.push(RecordWrite::Reset, true);
            waiting.push_front(write);
            assert_eq!(waiting.bytes(), 2 * ENTRY_BYTES + expected);
            assert_eq!(waiting.oldest(1).count(), 1);
            assert!(waiting.oldest(9).map(|entry| entry.early).eq([false, true]));
            waiting.pop();
            assert_eq!((waiting.len(), waiting.bytes()), (1, ENTRY_BYTES));
            assert!(matches!(waiting.pop(), Some(RecordWrite::Reset)));
        }
    }

    #[test]
    fn what_is_dropped_is_told_once_until_all_is_written() {
        let mut waiting = PendingWrites::default();
        let fill = |waiting: &mut PendingWrites| {
            (0..90)
                .filter(|line| waiting.push(output(*line, 1 << 20), false))
                .count()
        };
        assert_eq!((fill(&mut waiting), fill(&mut waiting)), (1, 0));
        while waiting.pop().is_some() {}
        assert_eq!(fill(&mut waiting), 1);
    }
}
