//! Final text: all of it up to a limit, beyond that its first and last half.
//!
//! In: pieces of text that are final. Out: head, tail, and the sizes of the whole. Absent on purpose: rows that may
//! change.

use std::collections::VecDeque;

/// Blocks that make a full tail.
const BLOCKS: usize = 16;

#[derive(Debug, Clone, Default)]
pub(super) struct Store {
    head: String,
    head_limit: usize,
    /// The text after `head` in blocks: the first ones are dropped while the others are as long as the limit.
    tail: VecDeque<String>,
    tail_bytes: usize,
    tail_limit: usize,
    /// Bytes dropped between head and tail.
    dropped: u64,
    bytes: u64,
    characters: u64,
    newlines: u64,
    /// Newlines at the very end, which do not count as text; where there is a tail, they are kept once text follows.
    trailing: u64,
}

/// Sizes of a whole text without the newlines at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) bytes: u64,
    /// In code points.
    pub(super) characters: u64,
    pub(super) lines: u64,
}

impl Store {
    pub(super) fn new(limit_bytes: usize) -> Self {
        let head_limit = limit_bytes / 2;
        Store {
            head_limit,
            tail_limit: limit_bytes - head_limit,
            ..Store::default()
        }
    }

    /// Creates a store that keeps only the beginning of the text.
    pub(super) fn beginning(limit_bytes: usize) -> Self {
        Store {
            head_limit: limit_bytes,
            ..Store::default()
        }
    }

    pub(super) fn head(&self) -> &str {
        &self.head
    }

    pub(super) fn has_dropped(&self) -> bool {
        self.dropped > 0
    }

    pub(super) fn push(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let newlines = memchr::memchr_iter(b'\n', bytes).count();
        self.bytes += bytes.len() as u64;
        self.characters += match text.is_ascii() {
            true => bytes.len() as u64,
            false => text.chars().count() as u64,
        };
        self.newlines += newlines as u64;
        let content = text.trim_end_matches('\n');
        let ending = (text.len() - content.len()) as u64;
        if content.is_empty() {
            self.trailing += ending;
        } else {
            let mut before = std::mem::replace(&mut self.trailing, ending);
            while before > 0 && self.tail_limit > 0 {
                let newlines = "\n".repeat(before.min(4096) as usize);
                self.keep(&newlines);
                before -= newlines.len() as u64;
            }
        }
        self.keep(match self.tail_limit {
            0 => text,
            _ => content,
        });
    }

    fn keep(&mut self, text: &str) {
        let mut rest = text;
        if self.tail_bytes == 0 && self.dropped == 0 {
            let room = self.head_limit - self.head.len();
            let fits = rest.floor_char_boundary(room);
            self.head.push_str(&rest[..fits]);
            rest = &rest[fits..];
            if fits < room && !rest.is_empty() {
                // A character lies across the limit: from here on everything is tail.
                self.head_limit = self.head.len();
            }
        }
        if rest.len() > self.tail_limit {
            let from = rest.ceil_char_boundary(rest.len() - self.tail_limit);
            self.dropped += (self.tail_bytes + from) as u64;
            self.tail.clear();
            self.tail_bytes = 0;
            rest = &rest[from..];
        }
        if !rest.is_empty() {
            self.tail_bytes += rest.len();
            self.last_block().push_str(rest);
        }
    }

    /// Returns the block of the tail that has room; the memory of a dropped one is used again.
    fn last_block(&mut self) -> &mut String {
        let full = self.tail_limit / BLOCKS;
        if self.tail.back().is_none_or(|last| last.len() >= full) {
            let mut next = String::new();
            let is_spare = |first: &mut String, all| all - first.len() >= self.tail_limit;
            while let Some(first) = self
                .tail
                .pop_front_if(|first| is_spare(first, self.tail_bytes))
            {
                self.tail_bytes -= first.len();
                self.dropped += first.len() as u64;
                next = first;
            }
            next.clear();
            self.tail.push_back(next);
        }
        let last = self.tail.len() - 1;
        &mut self.tail[last]
    }

    pub(super) fn pushed(&self) -> u64 {
        self.bytes
    }

    pub(super) fn totals(&self) -> Totals {
        let bytes = self.bytes - self.trailing;
        Totals {
            bytes,
            characters: self.characters - self.trailing,
            lines: if bytes == 0 {
                0
            } else {
                self.newlines - self.trailing + 1
            },
        }
    }

    pub(super) fn is_cut(&self) -> bool {
        self.dropped > 0 || self.totals().bytes > (self.head_limit + self.tail_limit) as u64
    }

    /// Bytes held in memory.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.head.len() + self.tail_bytes
    }

    /// Returns the text, newlines at its end left out, in two parts; of a cut text head and tail, at line boundaries
    /// where there are some near.
    pub(super) fn into_ends(self) -> (String, String) {
        let is_cut = self.is_cut();
        let mut head = self.head;
        let mut tail = Vec::from(self.tail).concat();
        if is_cut {
            if let Some(at) = head.rfind('\n')
                && at >= head.len() / 2
            {
                head.truncate(at);
            }
            let mut from = tail.ceil_char_boundary(tail.len().saturating_sub(self.tail_limit));
            if let Some(at) = tail[from..].find('\n')
                && at <= (tail.len() - from) / 2
            {
                from += at + 1;
            }
            tail.drain(..from);
        }
        (head, tail)
    }
}
