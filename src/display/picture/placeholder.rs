//! Placeholders for pictures of kitty's protocol: characters that a multiplexer treats as text, and that the
//! terminal draws as cells of a picture.
//!
//! In: a picture's id and its cells. Out: rows of U+10EEEE, each with marks for its row, its column and the id's
//! highest byte; the lowest byte is the foreground colour, one of 256, which every multiplexer passes on unchanged.
//! Document: kitty's graphics protocol, "Unicode placeholders"; the marks are those of combining class 230 without a
//! decomposition in Unicode 6.0, in the order of their code points.

use std::sync::atomic::{AtomicU32, Ordering};

const PLACEHOLDER: char = '\u{10EEEE}';

/// Number of marks: most rows or columns of a picture.
pub(super) const MARKS: u32 = 297;

static IDS_TAKEN: AtomicU32 = AtomicU32::new(0);

/// The id of a picture: the lowest byte is a colour, the highest is free, those between are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PictureId {
    pub(super) colour: u8,
    pub(super) highest: u8,
}

impl PictureId {
    /// Returns an id that this process has not used for its last 60,000 pictures; another process is unlikely to use
    /// it.
    pub(super) fn next() -> Self {
        PictureId::from_parts(
            std::process::id(),
            IDS_TAKEN.fetch_add(1, Ordering::Relaxed),
        )
    }

    /// Colours below 16 are left out: a multiplexer may rewrite them in a shorter form.
    fn from_parts(process: u32, n: u32) -> Self {
        let n = process.wrapping_mul(37).wrapping_add(n);
        PictureId {
            colour: 16 + (n % 240) as u8,
            highest: (n / 240) as u8,
        }
    }

    pub(super) fn number(self) -> u32 {
        u32::from(self.highest) << 24 | u32::from(self.colour)
    }
}

pub(super) fn rows(id: PictureId, columns: u32, rows: u32, out: &mut Vec<u8>) {
    let highest = mark(u32::from(id.highest));
    for row in 0..rows.min(MARKS) {
        out.extend_from_slice(format!("\x1b[38;5;{}m", id.colour).as_bytes());
        let mut text = String::new();
        for column in 0..columns.min(MARKS) {
            text.push(PLACEHOLDER);
            text.extend([mark(row), mark(column), highest]);
        }
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(b"\x1b[39m\n");
    }
}

fn mark(number: u32) -> char {
    let mut left = number;
    for (first, last) in RANGES {
        if left <= last - first {
            return char::from_u32(first + left).expect("the ranges hold characters");
        }
        left -= last - first + 1;
    }
    '\u{305}'
}

/// The marks: first and last code point of each range.
const RANGES: [(u32, u32); 86] = [
    (0x0305, 0x0305),
    (0x030D, 0x030E),
    (0x0310, 0x0310),
    (0x0312, 0x0312),
    (0x033D, 0x033F),
    (0x0346, 0x0346),
    (0x034A, 0x034C),
    (0x0350, 0x0352),
    (0x0357, 0x0357),
    (0x035B, 0x035B),
    (0x0363, 0x036F),
    (0x0483, 0x0487),
    (0x0592, 0x0595),
    (0x0597, 0x0599),
    (0x059C, 0x05A1),
    (0x05A8, 0x05A9),
    (0x05AB, 0x05AC),
    (0x05AF, 0x05AF),
    (0x05C4, 0x05C4),
    (0x0610, 0x0617),
    (0x0657, 0x065B),
    (0x065D, 0x065E),
    (0x06D6, 0x06DC),
    (0x06DF, 0x06E2),
    (0x06E4, 0x06E4),
    (0x06E7, 0x06E8),
    (0x06EB, 0x06EC),
    (0x0730, 0x0730),
    (0x0732, 0x0733),
    (0x0735, 0x0736),
    (0x073A, 0x073A),
    (0x073D, 0x073D),
    (0x073F, 0x0741),
    (0x0743, 0x0743),
    (0x0745, 0x0745),
    (0x0747, 0x0747),
    (0x0749, 0x074A),
    (0x07EB, 0x07F1),
    (0x07F3, 0x07F3),
    (0x0816, 0x0819),
    (0x081B, 0x0823),
    (0x0825, 0x0827),
    (0x0829, 0x082D),
    (0x0951, 0x0951),
    (0x0953, 0x0954),
    (0x0F82, 0x0F83),
    (0x0F86, 0x0F87),
    (0x135D, 0x135F),
    (0x17DD, 0x17DD),
    (0x193A, 0x193A),
    (0x1A17, 0x1A17),
    (0x1A75, 0x1A7C),
    (0x1B6B, 0x1B6B),
    (0x1B6D, 0x1B73),
    (0x1CD0, 0x1CD2),
    (0x1CDA, 0x1CDB),
    (0x1CE0, 0x1CE0),
    (0x1DC0, 0x1DC1),
    (0x1DC3, 0x1DC9),
    (0x1DCB, 0x1DCC),
    (0x1DD1, 0x1DE6),
    (0x1DFE, 0x1DFE),
    (0x20D0, 0x20D1),
    (0x20D4, 0x20D7),
    (0x20DB, 0x20DC),
    (0x20E1, 0x20E1),
    (0x20E7, 0x20E7),
    (0x20E9, 0x20E9),
    (0x20F0, 0x20F0),
    (0x2CEF, 0x2CF1),
    (0x2DE0, 0x2DFF),
    (0xA66F, 0xA66F),
    (0xA67C, 0xA67D),
    (0xA6F0, 0xA6F1),
    (0xA8E0, 0xA8F1),
    (0xAAB0, 0xAAB0),
    (0xAAB2, 0xAAB3),
    (0xAAB7, 0xAAB8),
    (0xAABE, 0xAABF),
    (0xAAC1, 0xAAC1),
    (0xFE20, 0xFE26),
    (0x10A0F, 0x10A0F),
    (0x10A38, 0x10A38),
    (0x1D185, 0x1D189),
    (0x1D1AA, 0x1D1AD),
    (0x1D242, 0x1D244),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_of_the_protocol() {
        let check = |number, expected| assert_eq!(mark(number), expected, "{number}");
        check(0, '\u{305}');
        check(1, '\u{30D}');
        check(15, '\u{357}');
        check(16, '\u{35B}');
        check(30, '\u{483}');
        check(296, '\u{1D244}');
        let count: u32 = RANGES.iter().map(|(first, last)| last - first + 1).sum();
        assert_eq!(count, MARKS);
    }

    #[test]
    fn ids_are_colours_and_differ() {
        let ids: std::collections::HashSet<u32> = (0..240 * 256)
            .map(|n| PictureId::from_parts(7, n).number())
            .collect();
        assert_eq!(ids.len(), 240 * 256);
        assert!(ids.iter().all(|id| (16..=255).contains(&(id & 0xff_ffff))));
    }

    #[test]
    fn a_row_names_itself_in_every_cell() {
        let mut out = Vec::new();
        let id = PictureId {
            colour: 42,
            highest: 1,
        };
        rows(id, 2, 2, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\x1b[38;5;42m\u{10EEEE}\u{305}\u{305}\u{30D}\u{10EEEE}\u{305}\u{30D}\u{30D}\x1b[39m\n\
             \x1b[38;5;42m\u{10EEEE}\u{30D}\u{305}\u{30D}\u{10EEEE}\u{30D}\u{30D}\u{30D}\x1b[39m\n"
        );
    }
}
