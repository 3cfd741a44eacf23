//! Terminal bytes to plain text: cases as data, properties over any split.

use super::*;
use crate::properties;
use proptest::prelude::*;

fn text_of(bytes: &[u8]) -> String {
    let mut transcript = Transcript::new(1 << 20);
    transcript.push(bytes);
    transcript.finish();
    transcript.page.rows.size();
    transcript.snapshot().text
}

#[test]
fn what_a_reader_would_have_seen() {
    let check = |bytes: &[u8], expected: &str| {
        assert_eq!(
            text_of(bytes),
            expected,
            "{:?}",
            String::from_utf8_lossy(bytes)
        );
        let mut bytewise = Transcript::new(1 << 20);
        for byte in bytes {
            bytewise.push(&[*byte]);
        }
        bytewise.finish();
        assert_eq!(bytewise.snapshot().text, expected, "byte by byte");
    };
    check(b"", "");
    check(b"a\nb\n", "a\nb");
    check(b"a\r\nb\r\n\r\n", "a\nb");
    check(b"\n\na", "\n\na");
    check(b"\x1b(0lqk\x1b(B x", "┌─┐ x");
    check(b"trailing blanks  \nx", "trailing blanks  \nx");
    check(b"abc\rX", "Xbc");
    check(b"10%\r20%\r100%\n", "100%");
    check(b"working\r       \rdone\n", "done");
    check(b"working\r       \r", "");
    check(b"abc\x08\x08X", "aXc");
    check(b"/\x08-\x08\\\x08|\x08ok", "ok");
    check(b"abc\r\x1b[Kd", "d");
    check(b"abcdef\x1b[3D\x1b[K", "abc");
    check(b"abcdef\x1b[3D\x1b[1KX", "   Xef");
    check(b"abc\x1b[2Kd", "   d");
    check(b"\x1b[31mred\x1b[0m \x1b]0;t\x07x\x1b[?25l", "red x");
    check(b"one\ntwo\x1b[A\rONE", "ONE\ntwo");
    check(b"a 1\r\nb 1\x1b[1A\ra 2\nb 2\n", "a 2\nb 2");
    check(b"a\nb\nc\x1b[99A\rX\x1b[99B\rZ", "X\nb\nZ");
    check(b"a\nb\nc\x1b[2F\x1b[JX", "X");
    check(b"abc\x1b[6GX", "abc  X");
    check(b"abc\x1b[GX", "Xbc");
    check(b"a\tb\rX", "X\tb");
    check(b"a\tb\x1b[4GX", "a  X    b");
    check("漢字\rab".as_bytes(), "ab字");
    check("漢字\ra".as_bytes(), "a 字");
    check("漢字\r\x1b[CX".as_bytes(), " X字");
    check("e\u{301}x\ry".as_bytes(), "yx");
    check("ax\re\u{301}".as_bytes(), "e\u{301}x");
    check("é🙂\n".as_bytes(), "é🙂");
    check(b"\xff\xfea", "\u{fffd}\u{fffd}a");
    check(
        b"before\n\x1b[?1049hvim stuff\x1b[5;5Hmore\x1b[?1049lafter",
        "before\n[full-screen program]\nafter",
    );
    check(
        b"x\x1b[?1049;25hy\x1b[?1049l\x1b[?1049hz\x1b[?1049l",
        "x\n[full-screen program]\n[full-screen program]",
    );
    check(b"x\x1b]0;never ends\ny", "x0;never ends\ny");
    check(b"x\x1b[12", "x");
    check(b"\rab  \nx", "ab  \nx");
    check(b"abc\x1b[2K\rab  \nx", "ab  \nx");
    check(b"a\x1b[?25hb\x1b[?25lc", "abc");
    check(
        b"\x1b[?1049hx\x1b[?47hy\x1b[?25lz\x1b[?1047l",
        "[full-screen program]",
    );
    check(
        b"ab\x1b[?47h\x1b[2D\x08\r\x1b[2K\x1b[?47lX",
        "ab\n[full-screen program]\nX",
    );
    check(b"ab\x1b[000000001DX", "aX");
    check(b"ab\x1b[0000000001DX", "abX");
    check(b"ab\x1b[0DX", "aX");
    check(b"ab\x1b[1;1DX\x1b[>1DY", "abXY");
    check(b"a\nb\nc\x1b[2A\x1b[EX\x1b[1BY", "a\nX\ncY");
    check(b"ab\ncd\x1b[AX\x1b[BY", "abX\ncd Y");
    check(b"a\nbc\nd\x1b[A\x1b[1JX\x1b[2JY", "a\nbXY\nd");
    check(b"abcd\x1b[2G\x1b[0KX", "aX");
    check(b"abcd\x1b[3G\x1b[3KX", "abXd");
}

#[test]
fn the_last_rows_can_be_changed_and_earlier_ones_are_final() {
    for (rows, first) in [(128, "X0"), (129, "00")] {
        let lines: Vec<String> = (0..rows).map(|row| format!("{row:02}")).collect();
        let mut expected = lines.clone();
        expected[usize::from(first == "00")].replace_range(..1, "X");
        let text = format!("{}\x1b[999A\rX", lines.join("\n"));
        assert_eq!(text_of(text.as_bytes()), expected.join("\n"), "{rows}");
    }
}

#[test]
fn a_line_longer_than_the_window_leaves_the_others_whole() {
    for length in [60_000, 70_000, 200_000] {
        for change in ["", "\rx", "\x1b[2D\x1b[C"] {
            let long = "x".repeat(length);
            let text = format!("first\nsecond\n{long}{change}\nlast");
            let expected = format!("first\nsecond\n{long}\nlast");
            let got = text_of(text.as_bytes());
            assert!(got == expected, "{length} {change:?}: {} bytes", got.len());
        }
    }
}

#[test]
fn a_text_up_to_the_limit_is_whole_and_the_ends_of_a_longer_one_are_lines_where_these_are_near() {
    let ends = |text: &str| {
        let mut transcript = Transcript::new(100);
        transcript.push(text.as_bytes());
        let result = transcript.snapshot();
        let parts = result.text.split_once("\n[…").map(|(head, rest)| {
            let (_, tail) = rest.split_once('\n').expect("a tail");
            (head.to_owned(), tail.to_owned())
        });
        assert_eq!(result.cut, parts.is_some(), "{}", result.text);
        assert!(result.cut || result.text == text, "{}", result.text);
        parts
    };
    assert_eq!(ends(&"x".repeat(100)), None);
    for length in [101, 149, 151, 500] {
        let (head, tail) = ends(&"x".repeat(length)).expect("it is cut");
        assert_eq!((head.len(), tail.len()), (50, 50), "{length}");
        let mut transcript = Transcript::new(100);
        transcript.push("x".repeat(length).as_bytes());
        let middle = marker(length as u64, 1, length as u64 - 100, 0, Rest::Gone);
        assert!(transcript.snapshot().text.contains(&middle), "{middle}");
    }
    let line = |number: usize| format!("line {number:02}");
    let lines = |numbers: Range<usize>| numbers.map(line).collect::<Vec<_>>().join("\n");
    assert_eq!(ends(&lines(0..40)), Some((lines(0..6), lines(34..40))));
    let far = format!("a\n{}\nb", "x".repeat(300));
    let (x, y) = (far[..50].to_owned(), far[far.len() - 50..].to_owned());
    assert_eq!(ends(&far), Some((x, y)));
}

#[test]
fn the_length_is_that_of_the_text_and_own_lines_have_their_place_in_it() {
    let mut transcript = Transcript::new(1 << 20);
    let mut expected = String::new();
    for (chunk, length) in [("", 0), ("abc", 3), ("\rX", 3), ("\n\n", 5), ("\u{e9}", 7)] {
        transcript.push(chunk.as_bytes());
        assert_eq!(transcript.length(), length, "{chunk:?}");
    }
    expected.push_str("Xbc\n\n\u{e9}\n");
    for line in 0..300 {
        let text = format!("line {line}");
        let place = transcript.own_lines(&text);
        let start = expected.len() as u64;
        expected.push_str(&text);
        expected.push('\n');
        assert_eq!(place, start..expected.len() as u64, "{line}");
        assert_eq!(transcript.length(), expected.len() as u64);
    }
    assert_eq!(transcript.snapshot().text, expected.trim_end());
}

#[test]
fn two_bars_at_once() {
    let mut bytes = Vec::new();
    for step in 0..=100 {
        bytes.extend(format!("\rfirst {step}%\n\rsecond {step}%\x1b[A").bytes());
    }
    bytes.extend_from_slice(b"\n\n");
    assert_eq!(text_of(&bytes), "first 100%\nsecond 100%");
}

#[test]
fn long_output_keeps_both_ends_and_true_sizes() {
    let mut transcript = Transcript::new(1000);
    let mut whole = String::new();
    for line in 0..100_000 {
        whole.push_str(&format!("line {line} é\r\n"));
    }
    for chunk in whole.as_bytes().chunks(4093) {
        transcript.push(chunk);
    }
    let plain = whole.replace('\r', "");
    let plain = plain.trim_end();
    let result = transcript.snapshot();
    assert!(result.cut);
    assert_eq!(result.total_bytes, plain.len() as u64);
    assert_eq!(result.total_characters, plain.chars().count() as u64);
    assert_eq!(result.total_lines, 100_000);
    assert!(
        result.text.starts_with("line 0 é\nline 1 é\n"),
        "{}",
        result.text
    );
    assert!(result.text.ends_with("\nline 99999 é"), "{}", result.text);
    assert!(
        result.text.contains("100,000 lines in all"),
        "{}",
        result.text
    );
    assert!(result.text.len() < 1200);
}

#[test]
fn memory_stays_bounded_and_the_split_of_much_does_not_matter() {
    let check = |unit: &[u8]| {
        let mut transcript = Transcript::new(10_000);
        let chunk = unit.repeat(64 * 1024 / unit.len());
        for _ in 0..8 {
            transcript.push(&chunk);
        }
        let mut split = Transcript::new(10_000);
        for piece in chunk.repeat(8).chunks(1021) {
            split.push(piece);
        }
        assert_eq!(split.snapshot(), transcript.snapshot(), "{unit:?}");
        assert!(transcript.page.rows.size() < 1 << 20, "{unit:?}");
        assert!(transcript.page.store.held() < 40_000, "{unit:?}");
        assert!(transcript.snapshot().text.len() < 11_000, "{unit:?}");
    };
    check(b"x");
    check(b"\rx");
    check(b"x\n");
    check(b"x\r\n");
    check(b"x\x1b[Ay");
    check(b"\x1b[999Gx\n");
    check("a\u{301}".as_bytes());
    check("\u{301}".as_bytes());
    check(b"abcdefgh\x08");
    check(b"xyz\x1b[A\x1b[B\n\x1b[A");
    check(b"\x1b[");
    check(b"\x1b]");
    check(b"\xff");
    check(b"abc\r");
    check(b"\t\rabc\x1b[K\n\n\x1b[A");
    check(b"\n");
}

#[test]
fn more_may_come_after_a_snapshot() {
    let mut transcript = Transcript::new(100);
    transcript.push(b"10%");
    assert_eq!(transcript.snapshot().text, "10%");
    transcript.push(b"\r20%");
    assert_eq!(transcript.snapshot().text, "20%");
}

proptest! {
    #![proptest_config(properties::cases(1000))]

    #[test]
    fn plain_text_passes_unchanged(text in "[ -~é漢\t\n]{0,400}") {
        prop_assert_eq!(text_of(text.as_bytes()), text.trim_end_matches('\n'));
    }

    #[test]
    fn text_is_put_into_rows_late_or_at_once(
        parts in prop::collection::vec((0..4_usize, prop::sample::select(vec![
            "a\n", "漢\r\n", "\n", "line of text\n", "no end", "\r", "\x08", "\x1b[A", "\x1b[999A", "\x1b[2B",
            "\r\x1b[K",
        ])), 0..30),
    ) {
        // It puts all text so far into rows; there is no such part of a line, so it erases nothing.
        const LAID_OUT: &[u8] = b"\x1b[3K";
        let mut late = Transcript::new(1000);
        let mut at_once = Transcript::new(1000);
        for (power, part) in parts {
            let times = 7_usize.pow(power as u32);
            late.push(part.repeat(times).as_bytes());
            for _ in 0..times {
                at_once.push(&[part.as_bytes(), LAID_OUT].concat());
            }
        }
        prop_assert_eq!(late.into_text(), at_once.into_text());
    }

    #[test]
    fn the_split_does_not_matter(
        parts in prop::collection::vec(prop::sample::select(vec![
            "abc", "漢", "\t", "\r", "\n", "\x08", "\x1b[A", "\x1b[B", "\x1b[K", "\x1b[2K", "\x1b[1K", "\x1b[J",
            "\x1b[5G", "\x1b[2D", "\x1b[C", "\u{301}", "\x1b[?1049h", "\x1b[?1049l", "\x1b]0;", "\x07",
        ]), 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = parts.concat().into_bytes();
        let cut = cut.index(bytes.len() + 1);
        let mut split = Transcript::new(1 << 20);
        split.push(&bytes[..cut]);
        split.push(&bytes[cut..]);
        split.finish();
        let text = split.snapshot().text;
        prop_assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
        prop_assert_eq!(text, text_of(&bytes));
    }
}
