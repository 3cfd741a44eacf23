//! Hostile bytes through the filter: a corpus split at every byte, properties, a virtual screen.

use super::*;
use crate::properties;
use std::num::NonZeroU16;

use proptest::prelude::*;

/// Filters `bytes` in pieces that end at the offsets in `cuts`.
fn run(policy: Policy, bytes: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut filter = Filter::new(policy);
    let mut out = Vec::new();
    let mut from = 0;
    for &cut in cuts {
        filter.push(&bytes[from..cut], &mut out);
        from = cut;
    }
    filter.push(&bytes[from..], &mut out);
    filter.finish(&mut out);
    out
}

/// Input, output under [`Policy::Text`], output under [`Policy::Cell`].
const CORPUS: &[(&[u8], &str, &str)] = &[
    (b"plain\n\ttext", "plain\n\ttext", "plain\n\ttext"),
    (b"a\x1b[31mb", "ab", "a\x1b[31mb\x1b[0m"),
    (
        b"a\x1b[1;38:2::1:2:3mb\x1b[0mc",
        "abc",
        "a\x1b[1;38:2::1:2:3mb\x1b[0mc",
    ),
    (b"\x1b[mx", "x", "\x1b[mx"),
    (b"a\rb", "ab", "a\rb"),
    (b"\x1b(0lqk~x`\x1b(Blqk", "┌─┐·│◆lqk", "┌─┐·│◆lqk"),
    (b"\x1b)0lq\x0elq\n\x0fq\x0e\x1b)Bq", "lq┌─\nqq", "lq┌─\nqq"),
    ("\x1b(0Aqé\x1bcq".as_bytes(), "A─éq", "A─éq"),
    (b"a\x08b", "ab", "a\x08b"),
    (b"a\x1b[Kb\x1b[2K", "ab", "a\x1b[Kb\x1b[2K"),
    (b"a\x1b[3Kb", "ab", "ab"),
    (b"\x1b[Aup", "up", "up"),
    (b"a\n\x1b[Ab", "a\nb", "a\n\x1b[1Ab\x1b[1B"),
    (b"a\nb\n\x1b[99Ac", "a\nb\nc", "a\nb\n\x1b[2Ac\x1b[2B"),
    (b"a\n\x1b[A\x1b[A\x1b[Bb", "a\nb", "a\n\x1b[1A\x1b[1Bb"),
    (b"a\x1b[5Bb", "ab", "ab"),
    (
        b"a\x1b[3Db\x1b[0Cc\x1b[1G",
        "abc",
        "a\x1b[3Db\x1b[1Cc\x1b[1G",
    ),
    (b"a\x1b[1;2Ab", "ab", "ab"),
    (b"a\x1b[?25lb", "ab", "ab"),
    (b"a\x1b[?1049hb", "ab", "ab"),
    (b"a\x1b[?2004hb", "ab", "ab"),
    (b"a\x1b[2Jb", "ab", "ab"),
    (b"a\x1b[3Jb", "ab", "ab"),
    (b"a\x1b[Hb\x1b[5;5Hc\x1b[5;5fd", "abcd", "abcd"),
    (b"a\x1b[5Fb\x1b[5Ec\x1b[5dd", "abcd", "abcd"),
    (b"a\x1b[6nb\x1b[cc\x1b[>cd", "abcd", "abcd"),
    (b"a\x1b[>4;1mb", "ab", "ab"),
    (b"a\x1b[?4mb", "ab", "ab"),
    (b"a\x1b[1 qb", "ab", "ab"),
    (b"a\x1b[21tb\x1b[8;1;1tc", "abc", "abc"),
    (b"a\x1b[1Lb\x1b[1Mc\x1b[1Sd\x1b[1Te", "abcde", "abcde"),
    (b"a\x1b[1;2rb\x1b[sc\x1b[ud", "abcd", "abcd"),
    (b"a\x1b[5ib", "ab", "ab"),
    (b"a\x1b]0;title\x07b", "ab", "ab"),
    (b"a\x1b]2;title\x1b\\b", "ab", "ab"),
    (b"a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\", "ab", "ab"),
    (b"a\x1b]52;c;aGk=\x07b", "ab", "ab"),
    (b"a\x1b]9;note\x07b\x1b]777;notify;x;y\x07c", "abc", "abc"),
    (b"a\x1b]133;A\x07b\x1b]1337;File=:AA\x07c", "abc", "abc"),
    (b"a\x1bP+q544e\x1b\\b", "ab", "ab"),
    (b"a\x1b_Gi=1;AA\x1b\\b", "ab", "ab"),
    (b"a\x1b^pm\x1b\\b\x1bXsos\x1b\\c", "abc", "abc"),
    (
        b"a\x1bcb\x1bMc\x1bDd\x1b7e\x1b8f\x1b=g\x1bZh",
        "abcdefgh",
        "abcdefgh",
    ),
    (b"a\x1b(0b\x1b#8c\x1b%Gd", "abcd", "abcd"),
    (b"a\xc2\x9b31mb\xc2\x9d0;x\xc2\x9c", "a31mb0;x", "a31mb0;x"),
    (b"a\x9b31mb", "a\u{fffd}31mb", "a\u{fffd}31mb"),
    (b"a\x07\x7f\x00\x0b\x0c\x0e\x0f\x18\x1ab", "ab", "ab"),
    (
        b"a\x1b]0;never ends\nb",
        "a^[]0;never ends\nb",
        "a^[]0;never ends\nb",
    ),
    (
        b"a\x1b]0;ends at the end",
        "a^[]0;ends at the end",
        "a^[]0;ends at the end",
    ),
    (b"a\x1b[12\nb", "a^[[12\nb", "a^[[12\nb"),
    (b"a\x1b\nb\x1b", "a^[\nb^[", "a^[\nb^["),
    (
        b"a\x1b[\x1b[\x1b[31mb",
        "a^[[^[[b",
        "a^[[^[[\x1b[31mb\x1b[0m",
    ),
    (b"a\x1b]0;x\x1b[31mb", "a^[]0;xb", "a^[]0;x\x1b[31mb\x1b[0m"),
    ("a\x1b[3é".as_bytes(), "a^[[3é", "a^[[3é"),
    ("é漢🙂".as_bytes(), "é漢🙂", "é漢🙂"),
    (
        b"\xe6\xbc\xff\xf0\x9f\x99",
        "\u{fffd}\u{fffd}\u{fffd}",
        "\u{fffd}\u{fffd}\u{fffd}",
    ),
];

#[test]
fn corpus_whole_and_split_at_every_byte() {
    assert!(CORPUS.len() >= 40);
    for &(bytes, text, cell) in CORPUS {
        for (policy, expected) in [(Policy::Text, text), (Policy::Cell, cell)] {
            for cut in 0..=bytes.len() {
                let out = run(policy, bytes, &[cut]);
                assert_eq!(
                    String::from_utf8_lossy(&out),
                    expected,
                    "{:?} as {policy:?}, cut at {cut}",
                    String::from_utf8_lossy(bytes)
                );
            }
            let every: Vec<usize> = (0..bytes.len()).collect();
            assert_eq!(run(policy, bytes, &every), expected.as_bytes());
        }
    }
}

#[test]
fn a_sequence_of_four_kibibytes_gives_its_text_back() {
    let mut bytes = b"\x1b]0;".to_vec();
    bytes.extend("é".repeat(5000).bytes());
    bytes.extend_from_slice(b"\x07end");
    let out = String::from_utf8(run(Policy::Text, &bytes, &[])).unwrap();
    assert_eq!(out, format!("^[]0;{}end", "é".repeat(5000)));
}

fn screen(rows: u16, columns: u16) -> vt100::Parser {
    let size = |cells| NonZeroU16::new(cells).unwrap();
    vt100::Parser::new(size(rows), size(columns), 1000)
}

#[test]
fn a_progress_bar_of_two_lines_works_and_earlier_lines_stay() {
    let mut terminal = screen(10, 40);
    terminal.process(b"earlier\r\n");
    let mut filter = Filter::new(Policy::Cell);
    let mut out = Vec::new();
    for step in 0..3 {
        filter.push(
            format!("one {step}\x1b[K\r\ntwo {step}\x1b[K\x1b[A\r").as_bytes(),
            &mut out,
        );
    }
    filter.push(b"\x1b[50A\rZ", &mut out);
    filter.finish(&mut out);
    terminal.process(&out);
    assert_eq!(terminal.screen().contents(), "earlier\nZne 2\ntwo 2");
    assert_eq!(terminal.screen().cursor_position().0, 2);
}

#[test]
fn movements_stay_among_the_rows_of_the_output() {
    for (policy, bytes, expected) in [
        // Up to the first row, down to the last one; the end is always below.
        (
            Policy::Cell,
            "a\nb\nc\x1b[A\x1b[9B",
            "a\nb\nc\x1b[1A\x1b[1B",
        ),
        (Policy::Cell, "a\nb\x1b[9A\x1b[9A", "a\nb\x1b[1A\x1b[1B"),
        // A shell may clear; what was above is no row of its any more.
        (Policy::Shell, "a\nb\x1b[2Jc\x1b[9A", "a\nb\x1b[H\x1b[2Jc"),
        // Numbers of at most nine digits.
        (Policy::Cell, "a\x1b[000000005C", "a\x1b[5C"),
        (Policy::Cell, "a\x1b[0000000005C", "a"),
        (Policy::Cell, "a\x1b[1;5C", "a"),
    ] {
        let out = run(policy, bytes.as_bytes(), &[]);
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{bytes:?}");
    }
}

#[test]
fn line_starts_are_known() {
    let check = |bytes: &[u8], expected: bool| {
        let mut filter = Filter::new(Policy::Cell);
        filter.push(bytes, &mut Vec::new());
        assert_eq!(filter.at_line_start(), expected, "{bytes:?}");
    };
    check(b"", true);
    check(b"a", false);
    check(b"a\r\n", true);
    check(b"a\n\x1b[31m", true);
    check(b"a\n\x1b[A", false);
}

/// Quadratic work on ten million bytes of the worst case would not end within the test run.
#[test]
fn ten_megabytes_of_openers_take_linear_time() {
    let bytes = b"\x1b[".repeat(5_000_000);
    let out = run(Policy::Cell, &bytes, &[]);
    assert_eq!(out.len(), 3 * 5_000_000);
    let strings = b"\x1b]".repeat(5_000_000);
    assert_eq!(run(Policy::Text, &strings, &[]).len(), 3 * 5_000_000);
}

/// Removes the sequences that a cell may use; anything else that starts with ESC stays.
fn without_allowed(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        bytes = rest;
        if first == 0x1b && rest.first() == Some(&b'[') {
            let body = rest[1..]
                .iter()
                .position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'));
            if let Some(length) = body
                && b"mKABCDG".contains(&rest[1 + length])
            {
                bytes = &rest[length + 2..];
                continue;
            }
        }
        out.push(first);
    }
    out
}

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        any::<Vec<u8>>(),
        prop::sample::select(CORPUS).prop_map(|entry| entry.0.to_vec()),
        prop::sample::select(vec![
            &b"\x1b"[..],
            b"\x1b[",
            b"\x1b]",
            b"\x9b",
            b"\n",
            b"\x1b[A"
        ])
        .prop_map(<[u8]>::to_vec),
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(properties::cases(2000))]

    #[test]
    fn only_listed_sequences_come_out(bytes in hostile()) {
        let text = String::from_utf8(run(Policy::Text, &bytes, &[])).unwrap();
        prop_assert!(text.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{:?}", text);
        let cell = run(Policy::Cell, &bytes, &[]);
        let rest = String::from_utf8(without_allowed(&cell)).unwrap();
        prop_assert!(
            rest.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t' | '\r' | '\u{8}')),
            "{:?}", rest
        );
    }

    #[test]
    fn the_split_does_not_matter(bytes in hostile(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        for policy in [Policy::Text, Policy::Cell] {
            prop_assert_eq!(run(policy, &bytes, &cuts), run(policy, &bytes, &[]));
        }
    }

    #[test]
    fn rows_above_the_cell_are_never_touched(bytes in hostile(), rows in 3u16..12, columns in 10u16..50) {
        // The cursor stays in its row: the marker above is unchanged or has scrolled away.
        let mut terminal = screen(rows, columns);
        terminal.process(b"MARK\r\n");
        let out: Vec<u8> = run(Policy::Cell, &bytes, &[])
            .iter()
            .flat_map(|&byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] })
            .collect();
        terminal.process(&out);
        terminal.screen_mut().set_scrollback(usize::MAX);
        let top = terminal.screen().rows(0, columns).next().unwrap_or_default();
        prop_assert_eq!(top, "MARK");
    }
}
