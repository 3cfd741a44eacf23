//! Printed text as in a saved notebook: what a reader would have seen in the end, with its colours.
//!
//! Differs from the transcript: colours and newlines at the end stay, and of a long text only the beginning is kept.
//! JupyterLab stores streams the same way: of a progress bar, its last state.

use super::Page;
use super::rows::Rows;
use super::store::Store;
use crate::output::sequence::Sequences;

/// One `stream` output of a cell.
#[derive(Debug)]
pub struct Printed(Page);

impl Printed {
    /// Creates an empty output that keeps the first `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Printed(Page {
            rows: Rows::default(),
            store: Store::beginning(limit),
            full_screen: false,
            colours: true,
        })
    }

    /// Takes the next bytes of the stream that `sequences` reads.
    pub fn push(&mut self, sequences: &mut Sequences, bytes: &[u8]) {
        sequences.push(bytes, |piece| self.0.apply(piece));
    }

    /// True when more was printed than is kept.
    pub fn is_cut(&self) -> bool {
        self.0.store.has_dropped()
    }

    /// The final text, and the rows that may still change.
    pub fn parts(&self) -> (&str, String) {
        let mut rest = Store::beginning(usize::MAX);
        if !self.is_cut() {
            self.0.rows.write_to(&mut rest);
        }
        (self.0.store.head(), rest.head().to_owned())
    }

    /// Bytes of the text, at most the limit.
    pub fn length(&self) -> usize {
        self.0.store.head().len() + usize::try_from(self.0.rows.length()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(chunks: &[&[u8]]) -> String {
        let (mut sequences, mut printed) = (Sequences::default(), Printed::new(1 << 20));
        for chunk in chunks {
            printed.push(&mut sequences, chunk);
        }
        printed.0.rows.size();
        let (head, rest) = printed.parts();
        assert_eq!(printed.length(), head.len() + rest.len());
        format!("{head}{rest}")
    }

    #[test]
    fn the_last_state_is_kept_with_its_colours_however_the_bytes_are_split() {
        for (text, expected) in [
            ("a\nb\n\n", "a\nb\n\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("\r0%\r50%\r100%\n", "100%\n"),
            ("100%\rab", "ab0%"),
            ("abc\x08\x08X", "aXc"),
            ("50%|###   |\r\x1b[K", ""),
            // Two bars, as tqdm draws them.
            (
                "\router 0\n\rinner 0\x1b[A\router 1\n\rinner 1\x1b[A\r\n\n",
                "outer 1\ninner 1\n",
            ),
            ("\x1b[31mred\x1b[0m plain\n", "\x1b[31mred\x1b[0m plain\n"),
            (
                "\x1b[31mred\nmore",
                "\x1b[31mred\x1b[0m\n\x1b[31mmore\x1b[0m",
            ),
            ("x\x1b[1;31my\x1b[39mz\x1b[m", "x\x1b[1;31my\x1b[39mz\x1b[m"),
            (
                "\r\x1b[32m10%\x1b[0m|\r\x1b[32m20%\x1b[0m|",
                "\x1b[32m20%\x1b[0m|",
            ),
            ("\x1b[31mabc\x1b[0m\rX", "X\x1b[31mbc\x1b[0m"),
            (
                "\x1b[31;1m\x1b[4mab\x1b[0m\x08\x1b[38;5;0mc",
                "\x1b[31;1m\x1b[4ma\x1b[0m\x1b[38;5;0mc\x1b[0m",
            ),
            (
                "\x1b[38;5;1ma\x1b[38;5;2mb\x1b[0m\rX",
                "X\x1b[38;5;2mb\x1b[0m",
            ),
            (
                "\x1b[48;5;1ma\x1b[48;5;2mb\x1b[0m\rX",
                "X\x1b[48;5;2mb\x1b[0m",
            ),
            ("\x1b[31ma\x1b[97mb\x1b[0m\rX", "X\x1b[97mb\x1b[0m"),
            ("\x1b[41ma\x1b[104mb\x1b[0m\rX", "X\x1b[104mb\x1b[0m"),
            ("\x1b[41ma\x1b[32mb\x1b[0m\rX", "X\x1b[41m\x1b[32mb\x1b[0m"),
            ("\x1b]8;;http://x\x07link\x1b]8;;\x07\x07", "link"),
        ] {
            assert_eq!(shown(&[text.as_bytes()]), expected, "{text:?}");
            for at in 0..text.len() {
                let (one, other) = text.as_bytes().split_at(at);
                assert_eq!(shown(&[one, other]), expected, "{text:?} at {at}");
            }
            let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(shown(&single), expected, "{text:?}");
        }
    }

    #[test]
    fn a_line_longer_than_the_window_keeps_its_colour() {
        let text = format!("\x1b[31m{}", "x".repeat(200_000));
        let pieces = shown(&[text.as_bytes()]);
        assert!(pieces.contains("\x1b[0m\x1b[31m"), "a piece of it is final");
        assert!(pieces.replace("\x1b[0m\x1b[31m", "") == format!("{text}\x1b[0m"));
    }

    #[test]
    fn many_lines_at_once_keep_their_colour() {
        let text = format!("\x1b[31m{}", "x\n".repeat(300));
        assert_eq!(shown(&[text.as_bytes()]), "\x1b[31mx\x1b[0m\n".repeat(300));
    }

    #[test]
    fn a_style_too_long_is_none() {
        for (parameters, kept) in [("1;".repeat(31) + "1", true), ("1;".repeat(32), false)] {
            let text = format!("\x1b[{parameters}mx\x1b[0m");
            assert_eq!(
                shown(&[text.as_bytes()]).contains(&parameters),
                kept,
                "{text:?}"
            );
        }
    }

    #[test]
    fn much_that_is_overwritten_takes_no_room() {
        let (mut sequences, mut printed) = (Sequences::default(), Printed::new(100));
        for count in 0..100_000 {
            printed.push(&mut sequences, format!("\r{count}").as_bytes());
        }
        assert!(!printed.is_cut());
        assert_eq!(printed.parts(), ("", "99999".to_owned()));
        printed.push(&mut sequences, &b"x\n".repeat(1000));
        assert!(printed.is_cut());
        assert_eq!(printed.parts().0.len(), 100);
    }

    proptest! {
        #[test]
        fn without_escapes_text_stays_as_it_is(text in "[a-zé漢\n ]{0,300}") {
            assert_eq!(shown(&[text.as_bytes()]), text);
        }
    }
}
