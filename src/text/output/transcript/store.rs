//! Final text: all of it up to a limit, beyond that its first and last half.
//!
//! In: pieces of text that are final. Out: head, tail, and the sizes of the whole. Absent on purpose: rows that may
//! change.

#[derive(Debug, Clone, Default)]
pub(super) struct Store {
    head: String,
    head_limit: usize,
    /// The text after `head`; its beginning is dropped from time to time.
    tail: String,
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
        self.characters += text.chars().count() as u64;
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
        if self.tail.is_empty() && self.dropped == 0 {
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
            self.dropped += (self.tail.len() + from) as u64;
            self.tail.clear();
            rest = &rest[from..];
        }
        self.tail.push_str(rest);
        if self.tail.len() > self.tail_limit.saturating_mul(2) {
            let from = self
                .tail
                .ceil_char_boundary(self.tail.len() - self.tail_limit);
            self.dropped += from as u64;
            self.tail.drain(..from);
        }
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
        self.head.len() + self.tail.len()
    }

    /// Returns the text, newlines at its end left out, when nothing is missing.
    pub(super) fn whole(&self) -> Option<String> {
        if self.is_cut() {
            return None;
        }
        Some(format!("{}{}", self.head, self.tail))
    }

    /// Returns head and tail of a cut text, at line boundaries where there are some near.
    pub(super) fn ends(&self) -> (&str, &str) {
        let head = match self.head.rfind('\n') {
            Some(at) if at >= self.head.len() / 2 => &self.head[..at],
            _ => &self.head,
        };
        let tail = &self.tail;
        let tail = &tail[tail.ceil_char_boundary(tail.len().saturating_sub(self.tail_limit))..];
        let tail = match tail.find('\n') {
            Some(at) if at <= tail.len() / 2 => &tail[at + 1..],
            _ => tail,
        };
        (head, tail)
    }
}
