//! Tests of the live region on a virtual terminal that re-wraps on resize, as terminals do and `vt100` does not.

use std::num::NonZeroU16;

use proptest::prelude::*;

use super::*;
use crate::markdown::{Appearance, MarkdownStream, render};
use crate::properties;
use crate::text::{clusters, columns};

struct Screen {
    parser: vt100::Parser,
    size: TerminalSize,
    bytes: usize,
}

fn nonzero(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("sizes are at least one")
}

fn size(columns: u16, rows: u16) -> TerminalSize {
    TerminalSize { columns, rows }
}

impl Screen {
    fn new(size: TerminalSize) -> Self {
        Screen {
            parser: vt100::Parser::new(nonzero(size.rows), nonzero(size.columns), 100_000),
            size,
            bytes: 0,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.parser.process(bytes);
    }

    /// All rows, the oldest first, without trailing blanks, up to the last that is not empty.
    fn rows(&mut self) -> Vec<String> {
        let screen = self.parser.screen_mut();
        let width = self.size.columns;
        let mut rows = Vec::new();
        for back in (1..=screen.scrollback_len()).rev() {
            screen.set_scrollback(back);
            rows.extend(screen.rows(0, width).next());
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, width));
        for row in &mut rows {
            row.truncate(row.trim_end().len());
        }
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Re-wraps the rows; the cursor stays after the last character, where a live region leaves it.
    fn resize(&mut self, size: TerminalSize) {
        let rows = self.rows();
        let cursor_fresh = self.parser.screen().cursor_position().1 == 0;
        let mut next = Screen::new(size);
        for (n, row) in rows.iter().enumerate() {
            if n > 0 {
                next.write(b"\r\n");
            }
            let mut used = 0;
            for (cluster, width) in clusters(row) {
                if used + width > usize::from(size.columns) {
                    next.write(b"\r\n");
                    used = 0;
                }
                used += width;
                next.write(cluster.as_bytes());
            }
        }
        if cursor_fresh && !rows.is_empty() {
            next.write(b"\r\n");
        }
        next.bytes = self.bytes;
        *self = next;
    }
}

fn pieces<'t>(text: &'t str, cuts: &'t [usize]) -> impl Iterator<Item = &'t str> {
    let mut rest = text;
    let mut cuts = cuts.iter().cycle();
    std::iter::from_fn(move || {
        let mut cut = (*cuts.next()?).clamp(1, rest.len().max(1));
        while !rest.is_char_boundary(cut.min(rest.len())) {
            cut += 1;
        }
        let (piece, after) = rest.split_at(cut.min(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Streams `text` onto a terminal; the n-th delta is drawn at the n-th size.
fn play(text: &str, cuts: &[usize], sizes: &[TerminalSize], look: Appearance) -> Screen {
    let mut screen = Screen::new(sizes[0]);
    let mut stream = MarkdownStream::new(look);
    let mut region = LiveRegion::new(look.colour);
    let mut draw = |stream: &mut MarkdownStream, screen: &mut Screen| {
        // Re-wrapped rows that leave the screen cannot be changed any more, so the text stays well below its height.
        let ceiling = usize::from(screen.size.rows) / 6;
        let frame = stream.frame(screen.size.columns.into(), ceiling);
        let bytes = region.draw(&frame.settled, &frame.live, screen.size);
        screen.write(&bytes);
    };
    for (n, piece) in pieces(text, cuts).enumerate() {
        let size = sizes[n * sizes.len() / (text.len() / cuts[0].max(1) + 1).max(n + 1)];
        if size != screen.size {
            screen.resize(size);
        }
        stream.push(piece);
        draw(&mut stream, &mut screen);
    }
    stream.finish();
    draw(&mut stream, &mut screen);
    screen
}

fn expected(text: &str, width: u16, look: Appearance) -> Vec<String> {
    let mut rows: Vec<String> = render(text, width.into(), &look)
        .iter()
        .map(|line| line.plain().trim_end().to_owned())
        .collect();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

const PARTS: &[&str] = &[
    "A paragraph of some words that is long enough to wrap.\n\n",
    "**bold** and *it* with `code` and [a](https://e.org) ",
    "# Head\n",
    "- item\n- item two\n  - nested 漢字かな\n",
    "1. one\n2. two\n\n   ```py\n   x = 1\n   ```\n",
    "\n```python\ndef f(x):\n    return \"s\"\n```\n",
    "\n| a | b |\n|---|--:|\n| cell 漢 | 2 |\n| **x** | e\u{301} |\n\n",
    "> quoted\n> 🙂 text\n\n",
    "\n---\n",
    "text\n===\n",
    "<div>\n\n",
    "word ",
    "\n\n",
];

fn answer() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PARTS), 0..14)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(properties::cases(120))]

    #[test]
    fn any_split_ends_on_the_same_screen(
        text in answer(),
        cuts in proptest::collection::vec(1usize..20, 1..5),
        width in 3u16..70,
        colour in any::<bool>(),
    ) {
        let look = Appearance { colour, ..Appearance::default() };
        let mut screen = play(&text, &cuts, &[size(width, 1200)], look);
        prop_assert_eq!(screen.rows(), expected(&text, width, look));
    }

    /// A low limit freezes rows; a changing width re-wraps the live ones. Every word is shown once.
    #[test]
    fn resizing_loses_and_repeats_nothing(
        count in 1usize..80,
        listed in any::<bool>(),
        cut in 1usize..9,
        widths in proptest::collection::vec(12u16..70, 1..7),
        rows in 30u16..60,
    ) {
        let end = if listed { "\n" } else { " " };
        let start = if listed { "- " } else { "" };
        let text: String = (0..count).map(|n| format!("{start}w{n};{end}")).collect();
        let sizes: Vec<TerminalSize> = widths.iter().map(|width| size(*width, rows)).collect();
        let mut screen = play(&text, &[cut], &sizes, Appearance::default());
        let shown = screen.rows().join("").replace(' ', "");
        let found: Vec<usize> = shown
            .split('w')
            .skip(1)
            .map(|rest| rest.split(';').next().unwrap_or("").parse().unwrap_or(usize::MAX))
            .collect();
        prop_assert_eq!(found, (0..count).collect::<Vec<_>>(), "{}", screen.rows().join("\n"));
    }
}

#[test]
fn appended_text_costs_itself() {
    let mut region = LiveRegion::new(false);
    let size = size(80, 24);
    let line = |text: &str| [Line::plain_text(text)];
    region.draw(&[], &line("one"), size);
    assert_eq!(region.draw(&[], &line("one two"), size), b" two");
    assert_eq!(region.draw(&[], &line("one two"), size), b"");
    let settled = String::from_utf8(region.draw(&line("one two"), &line("next"), size));
    assert_eq!(settled.as_deref(), Ok("\r\nnext"));
}

#[test]
fn clear_takes_the_rows_away() {
    let mut screen = Screen::new(size(20, 6));
    let mut region = LiveRegion::new(false);
    let live = [Line::plain_text("a"), Line::plain_text("b")];
    screen.write(&region.draw(&[Line::plain_text("kept")], &live, screen.size));
    let bytes = region.clear();
    screen.write(&bytes);
    screen.write(b"after");
    assert_eq!(screen.rows(), ["kept", "after"]);
    assert!(region.clear().is_empty());
}

#[test]
fn a_tail_taller_than_the_screen_shows_its_end() {
    let mut screen = Screen::new(size(20, 5));
    let mut region = LiveRegion::new(false);
    let live: Vec<Line> = (0..9).map(|n| Line::plain_text(&n.to_string())).collect();
    screen.write(&region.draw(&[], &live, screen.size));
    screen.write(&region.draw(&live, &[], screen.size));
    assert_eq!(screen.rows().join(""), "012345678");
}

#[test]
fn only_our_own_sequences_come_out() {
    let text = "x\x1b[2Jy\n\n- \x1b]52;c;AAAA\x07 `\u{9b}1m`\n\n```py\n\x1bc\n```\n&#27;[1J **b**";
    let mut stream = MarkdownStream::new(Appearance {
        colour: true,
        ..Appearance::default()
    });
    let mut region = LiveRegion::new(true);
    let mut bytes = Vec::new();
    for piece in pieces(text, &[1]) {
        stream.push(piece);
        let frame = stream.frame(30, 10);
        bytes.extend(region.draw(&frame.settled, &frame.live, size(30, 12)));
    }
    let text = String::from_utf8(bytes).expect("UTF-8");
    for sequence in text.split('\x1b').skip(1) {
        let end = sequence
            .find(|c: char| c.is_ascii_alphabetic())
            .expect("a final byte");
        let (parameters, last) = (&sequence[1..end], &sequence[end..=end]);
        assert!(sequence.starts_with('['), "{sequence:?}");
        assert!("mABGKhl".contains(last), "{sequence:?}");
        assert!(last != "h" && last != "l" || ["?7", "?2026"].contains(&parameters));
    }
    assert!(
        !text
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\x1b' | '\r' | '\n'))
    );
}

fn mixed(bytes: usize) -> String {
    let part = include_str!("../../../../tests/data/markdown/typical.md");
    part.repeat(bytes / part.len() + 1)
}

#[test]
fn bytes_written_stay_near_the_text_shown() {
    let text = mixed(8_000);
    for colour in [false, true] {
        let look = Appearance {
            colour,
            ..Appearance::default()
        };
        let shown: usize = render(&text, 80, &look)
            .iter()
            .map(|line| columns(&line.plain()).max(line.to_ansi(colour).len()) + 2)
            .sum();
        let screen = play(&text, &[4], &[size(80, 24)], look);
        assert!(
            screen.bytes <= 3 * shown,
            "colour {colour}: {} for {shown}",
            screen.bytes
        );
    }
}
