//! Finds our marks in a cell's output and removes them.
//!
//! In: chunks of one output stream as they were read, cut anywhere. Out: [`StreamPiece`]s, in order: the bytes of
//! the cell and the marks between them. A mark is `ESC ] 7717 ; NONCE ; WORD BEL`; the words are defined by the
//! [`Mark`] type.
//!
//! Invariant: bytes and marks do not depend on how the stream was cut. A sequence that looks like a mark but has
//! another nonce or an unknown word is output of the cell. Cost: one search for an escape per chunk, from there on one
//! for a mark; no copy of a chunk without a mark.

use std::io;
use std::marker::PhantomData;

use memchr::memchr;
use memchr::memmem::Finder;

/// Longest word of a mark in bytes: twenty digits.
const LONGEST_WORD: usize = 20;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum StreamPiece<M> {
    /// Output, never empty.
    Bytes(Vec<u8>),
    Mark(M),
}

/// The meaning of a mark's word, which has at most 20 bytes.
pub(super) trait Mark: Sized {
    /// Parses a whole word; `None`: the sequence is no mark.
    fn parse(word: &[u8]) -> Option<Self>;

    /// Returns true when a valid word may begin with these bytes.
    fn is_prefix(word: &[u8]) -> bool;
}

#[derive(Debug)]
pub(super) struct MarkFilter<M> {
    marks: PhantomData<M>,
    finder: Finder<'static>,
    /// Bytes before `at` have been returned, the rest not yet.
    buffer: Vec<u8>,
    at: usize,
    /// Number of bytes from `at` that are known to hold no start of a mark.
    plain: usize,
}

impl<M: Mark> MarkFilter<M> {
    pub(super) fn new(nonce: &str) -> Self {
        let prefix = format!("\x1b]7717;{nonce};");
        MarkFilter {
            marks: PhantomData,
            finder: Finder::new(prefix.as_bytes()).into_owned(),
            buffer: Vec::new(),
            at: 0,
            plain: 0,
        }
    }

    pub(super) fn push(&mut self, chunk: Vec<u8>) {
        if self.at == self.buffer.len() {
            self.buffer = chunk;
            self.at = 0;
        } else {
            self.buffer.drain(..self.at);
            self.at = 0;
            self.buffer.extend_from_slice(&chunk);
        }
    }

    /// Returns the next piece that is certain; `None` until more is pushed.
    pub(super) fn next(&mut self) -> Option<StreamPiece<M>> {
        loop {
            let rest = &self.buffer[self.at..];
            let searched = &rest[self.plain..];
            // Most output has no escape at all, which is quicker to find out.
            let escape = memchr(0x1b, searched).unwrap_or(searched.len());
            let found = self.finder.find(&searched[escape..]);
            let Some(found) = found.map(|at| escape + at) else {
                let plain = rest.len() - self.unfinished_prefix(searched);
                self.plain = 0;
                return self.take(plain);
            };
            let start = self.plain + found;
            let word_at = start + self.finder.needle().len();
            let word = &rest[word_at..];
            let window = &word[..word.len().min(LONGEST_WORD + 1)];
            match memchr(0x07, window) {
                Some(end) => match M::parse(&window[..end]) {
                    Some(mark) if start == 0 => {
                        self.at += word_at + end + 1;
                        return Some(StreamPiece::Mark(mark));
                    }
                    Some(_) => {
                        self.plain = 0;
                        return self.take(start);
                    }
                    None => self.plain = start + 1,
                },
                None if window.len() <= LONGEST_WORD && M::is_prefix(window) => {
                    self.plain = 0;
                    return self.take(start);
                }
                None => self.plain = start + 1,
            }
        }
    }

    /// Returns the bytes held back as a possible start of a mark; called at the end of the stream.
    pub(super) fn finish(&mut self) -> Option<StreamPiece<M>> {
        self.take(self.buffer.len() - self.at)
    }

    /// Takes the next `count` bytes as output; `None` when `count` is zero.
    fn take(&mut self, count: usize) -> Option<StreamPiece<M>> {
        if count == 0 {
            return None;
        }
        if self.at == 0 && count == self.buffer.len() {
            return Some(StreamPiece::Bytes(std::mem::take(&mut self.buffer)));
        }
        let bytes = self.buffer[self.at..self.at + count].to_vec();
        self.at += count;
        Some(StreamPiece::Bytes(bytes))
    }

    /// Returns how many bytes at the end of `text` may be the start of the prefix.
    fn unfinished_prefix(&self, text: &[u8]) -> usize {
        let prefix = self.finder.needle();
        let longest = text.len().min(prefix.len() - 1);
        let tail = &text[text.len() - longest..];
        memchr::memchr_iter(0x1b, tail)
            .map(|at| &tail[at..])
            .find(|candidate| prefix.starts_with(candidate))
            .map_or(0, <[u8]>::len)
    }
}

/// Returns sixteen random hexadecimal digits.
pub(super) fn nonce() -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(random)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use crate::python::RunnerMark as Runner;
    use proptest::prelude::*;

    const NONCE: &str = "c0ffee";

    fn mark(word: &str) -> Vec<u8> {
        format!("\x1b]7717;{NONCE};{word}\x07").into_bytes()
    }

    /// Output joined between marks, and the marks.
    fn split(chunks: &[Vec<u8>]) -> Vec<StreamPiece<Runner>> {
        let mut filter = MarkFilter::<Runner>::new(NONCE);
        let mut pieces: Vec<StreamPiece<Runner>> = Vec::new();
        let mut add = |piece: StreamPiece<Runner>| match (pieces.last_mut(), piece) {
            (Some(StreamPiece::Bytes(before)), StreamPiece::Bytes(more)) => before.extend(more),
            (_, piece) => pieces.push(piece),
        };
        for chunk in chunks {
            filter.push(chunk.clone());
            while let Some(piece) = filter.next() {
                add(piece);
            }
        }
        if let Some(piece) = filter.finish() {
            add(piece);
        }
        assert_eq!(filter.finish(), None);
        pieces
    }

    fn bytes(text: &[u8]) -> StreamPiece<Runner> {
        StreamPiece::Bytes(text.to_vec())
    }

    #[test]
    fn marks_are_taken_out_wherever_they_stand() {
        let text = [
            b"a".to_vec(),
            mark("1"),
            mark("own"),
            b"b\x1b[1m".to_vec(),
            mark("back"),
            mark("18446744073709551615"),
        ]
        .concat();
        assert_eq!(
            split(&[text]),
            [
                bytes(b"a"),
                StreamPiece::Mark(Runner::Sync(1)),
                StreamPiece::Mark(Runner::Own),
                bytes(b"b\x1b[1m"),
                StreamPiece::Mark(Runner::Back),
                StreamPiece::Mark(Runner::Sync(u64::MAX)),
            ]
        );
    }

    #[test]
    fn what_is_not_quite_a_mark_is_output() {
        let nearly: &[&[u8]] = &[
            b"\x1b]7717;other;1\x07",
            b"\x1b]7717;c0ffee;\x07",
            b"\x1b]7717;c0ffee;0\x07",
            b"\x1b]7717;c0ffee;owner\x07",
            b"\x1b]7717;c0ffee;1x\x07",
            b"\x1b]7717;c0ffee;18446744073709551616\x07",
            b"\x1b]7717;c0ffee;111111111111111111111111\x07",
            b"\x1b]7717;c0ffee;12",
            b"\x1b]7717;c0ff",
            b"\x1b",
        ];
        for text in nearly {
            assert_eq!(split(&[text.to_vec()]), [bytes(text)], "{text:?}");
            let with_mark = [text.to_vec(), mark("3")].concat();
            assert_eq!(
                split(&[with_mark]),
                [bytes(text), StreamPiece::Mark(Runner::Sync(3))],
                "{text:?} before a mark"
            );
        }
    }

    #[test]
    fn a_chunk_without_marks_is_not_copied() {
        let mut filter = MarkFilter::<Runner>::new(NONCE);
        let chunk = vec![b'x'; 65536];
        let address = chunk.as_ptr();
        filter.push(chunk);
        let Some(StreamPiece::Bytes(out)) = filter.next() else {
            panic!("nothing came out")
        };
        assert_eq!(out.as_ptr(), address);
    }

    fn part() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..12),
            Just(b"\x1b]7717;".to_vec()),
            Just(b"\x1b]7717;c0ffee;".to_vec()),
            Just(b"\x1b]7717;c0ffee;1".to_vec()),
            Just(b"\x07".to_vec()),
            (1u64..200).prop_map(|n| mark(&n.to_string())),
            Just(mark("own")),
            Just(mark("back")),
        ]
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_cut_gives_the_same(parts in proptest::collection::vec(part(), 0..12),
            cuts in proptest::collection::vec(1usize..9, 0..64)) {
            let whole = parts.concat();
            let mut chunks = Vec::new();
            let mut rest = &whole[..];
            for cut in cuts {
                let (front, back) = rest.split_at(cut.min(rest.len()));
                chunks.push(front.to_vec());
                rest = back;
            }
            chunks.push(rest.to_vec());
            prop_assert_eq!(split(&chunks), split(&[whole]));
        }

        #[test]
        fn nothing_is_lost_or_made_up(parts in proptest::collection::vec(part(), 0..12)) {
            let whole = parts.concat();
            let mut rebuilt = Vec::new();
            for piece in split(std::slice::from_ref(&whole)) {
                match piece {
                    StreamPiece::Bytes(bytes) => rebuilt.extend(bytes),
                    StreamPiece::Mark(Runner::Sync(n)) => rebuilt.extend(mark(&n.to_string())),
                    StreamPiece::Mark(Runner::Own) => rebuilt.extend(mark("own")),
                    StreamPiece::Mark(Runner::Back) => rebuilt.extend(mark("back")),
                }
            }
            prop_assert_eq!(rebuilt, whole);
        }
    }
}
