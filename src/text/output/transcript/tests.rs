//! Terminal bytes to plain text: cases as data, properties over any split.

use super::*;
use crate::properties;
use proptest::prelude::*;

fn text_of(bytes: &[u8]) -> String {
    let mut transcript = Transcript::new(1 << 20);
    transcript.push(bytes);
    transcript.finish();
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
fn memory_stays_bounded() {
    let check = |unit: &[u8]| {
        let mut transcript = Transcript::new(10_000);
        let chunk = unit.repeat(64 * 1024 / unit.len());
        for _ in 0..8 {
            transcript.push(&chunk);
        }
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
