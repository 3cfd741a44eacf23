//! Tests of streamed markdown: snapshots, splits, settling, safety, cost. How it looks on a terminal:
//! `screen::live`.

mod depth;
mod numbers;

use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::columns;
use crate::properties;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/markdown");

fn text_of(lines: &[Line]) -> String {
    lines.iter().map(|line| line.plain() + "\n").collect()
}

fn plain(text: &str, width: usize) -> String {
    text_of(&render(text, width, &Appearance::default()))
}

fn stream(text: &str, cuts: &[usize], width: usize) -> String {
    let mut stream = MarkdownStream::new(Appearance::default());
    let mut settled = Vec::new();
    let mut rest = text;
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let mut cut = (*cut).clamp(1, rest.len());
        while !rest.is_char_boundary(cut) {
            cut += 1;
        }
        stream.push(&rest[..cut]);
        rest = &rest[cut..];
        settled.extend(stream.frame(width, usize::MAX).settled);
    }
    stream.finish();
    let last = stream.frame(width, usize::MAX);
    assert!(last.live.is_empty());
    settled.extend(last.settled);
    text_of(&settled)
}

/// Compares `NAME.md` with `NAME.80.txt`, `NAME.40.txt` and `NAME.20.txt`. Set `UPDATE_SNAPSHOTS` to rewrite them.
#[test]
fn snapshots() {
    let mut seen = 0;
    for entry in std::fs::read_dir(DATA).expect("the data folder is there") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        for width in [80, 40, 20] {
            let shown = plain(&text, width);
            check_snapshot(&path.with_extension(format!("{width}.txt")), &shown);
            assert_eq!(stream(&text, &[4], width), shown, "{path:?} in deltas of 4");
            seen += 1;
        }
    }
    assert!(seen >= 15, "{seen} snapshots");
}

fn check_snapshot(path: &Path, shown: &str) {
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(path, shown).expect("writable");
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(shown, expected, "{}", path.display());
}

pub(crate) fn answer() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => "[a-z]{1,9}",
        1 => Just("漢字かな".to_owned()),
        1 => Just("👩\u{200d}💻".to_owned()),
        1 => Just("e\u{301}te\u{301}".to_owned()),
        1 => Just("**bold words**".to_owned()),
        1 => Just("*it".to_owned()),
        1 => Just("`code x`".to_owned()),
        1 => Just("~~no~~".to_owned()),
        1 => Just("[text](https://e.org/a)".to_owned()),
        1 => Just("[ref]".to_owned()),
        1 => Just("&amp;".to_owned()),
        1 => Just("<b>".to_owned()),
        1 => Just("\\*".to_owned()),
        1 => Just("a_b_c".to_owned()),
        1 => Just("$x_1^2 + y$".to_owned()),
        1 => Just("$5".to_owned()),
        1 => Just("$$".to_owned()),
        1 => Just("\\(a_b\\)".to_owned()),
        1 => Just("![p](a.png)".to_owned()),
        1 => Just("1.".to_owned()),
        1 => Just("-".to_owned()),
    ];
    let words = proptest::collection::vec(word, 1..12).prop_map(|words| words.join(" "));
    let line = prop_oneof![
        6 => words.clone(),
        1 => words.clone().prop_map(|text| format!("# {text}")),
        2 => words.clone().prop_map(|text| format!("- {text}")),
        1 => words.clone().prop_map(|text| format!("* {text}")),
        2 => words.clone().prop_map(|text| format!("  - {text}")),
        2 => words.clone().prop_map(|text| format!("1. {text}")),
        1 => words.clone().prop_map(|text| format!("   {text}")),
        1 => words.clone().prop_map(|text| format!("    {text}")),
        2 => words.clone().prop_map(|text| format!("> {text}")),
        1 => words.clone().prop_map(|text| format!("| {text} | x |")),
        1 => Just("| a | b |\n|---|--:|".to_owned()),
        1 => words.prop_map(|text| format!("| a | b |\n|---|--:|\n| {text} | 漢 |")),
        1 => Just("```python".to_owned()),
        2 => Just("```".to_owned()),
        1 => Just("   ```".to_owned()),
        1 => Just("~~~".to_owned()),
        1 => Just("---".to_owned()),
        1 => Just("===".to_owned()),
        1 => Just("<div>".to_owned()),
        1 => Just("<!-- x".to_owned()),
        1 => Just("[ref]: https://r.org".to_owned()),
        1 => Just("[^1]: note".to_owned()),
        1 => Just("- [ ] task".to_owned()),
        1 => Just("\tx = 1".to_owned()),
        6 => Just(String::new()),
    ];
    proptest::collection::vec(line, 0..25).prop_map(|lines| lines.join("\n"))
}

#[test]
fn tasks_have_boxes() {
    assert_eq!(
        plain("- [ ] a\n- [x] b\n  - [ ] c\n- d\n\n1. [x] e\n", 80),
        "☐ a\n☑ b\n  ☐ c\n• d\n\n1. ☑ e\n"
    );
}

proptest! {
    #![proptest_config(properties::cases(200))]

    #[test]
    fn any_split_settles_the_same(text in answer(), cuts in proptest::collection::vec(1usize..30, 1..8),
        width in 1usize..90) {
        prop_assert_eq!(stream(&text, &cuts, width), plain(&text, width));
    }

    #[test]
    fn no_row_is_wider_than_asked(text in answer(), width in 1usize..30) {
        let colour = Appearance { colour: true, ..Appearance::default() };
        for line in render(&text, width, &colour) {
            prop_assert!(line.width() <= width, "{:?}", line.plain());
        }
    }

    #[test]
    fn no_control_character_comes_out(text in "(\\PC|\\PC|[\\x00-\\x1f\\x7f-\\u{9f}\\n\\-`*|#]|&#[0-9]{1,3};){0,80}",
        links in any::<bool>()) {
        let look = Appearance { colour: true, links, ..Appearance::default() };
        for line in render(&text, 30, &look) {
            prop_assert!(!line.plain().chars().any(char::is_control), "{:?}", line);
            let targets: Vec<_> = line.spans().iter().filter_map(|span| span.link.as_deref()).collect();
            prop_assert!(!targets.iter().any(|target| target.chars().any(char::is_control)));
        }
    }

    #[test]
    fn colour_changes_no_layout(text in answer()) {
        let colour = Appearance { colour: true, ..Appearance::default() };
        prop_assert_eq!(text_of(&render(&text, 40, &colour)), plain(&text, 40));
    }

    #[test]
    fn frozen_rows_lose_and_repeat_nothing(
        kind in 0usize..5,
        count in 1usize..150,
        widths in proptest::collection::vec(14usize..60, 1..6),
        ceiling in 2usize..9,
    ) {
        let text = numbered(kind, count);
        let mut stream = MarkdownStream::new(Appearance::default());
        let mut lines = Vec::new();
        for (n, piece) in text.as_bytes().chunks(7).enumerate() {
            stream.push(std::str::from_utf8(piece).expect("ASCII"));
            let frame = stream.frame(widths[(n / 20) % widths.len()], ceiling);
            // One row of a table or one line of code may be taller than the limit; prose may not.
            prop_assert!(matches!(kind, 2 | 3) || frame.live.len() <= ceiling);
            lines.extend(frame.settled);
        }
        stream.finish();
        lines.extend(stream.frame(widths[0], ceiling).settled);
        let shown = text_of(&lines).replace(['\n', ' '], "");
        let found: Vec<usize> = shown
            .split('w')
            .skip(1)
            .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>())
            .filter_map(|digits| digits.parse().ok())
            .collect();
        prop_assert_eq!(found, (0..count).collect::<Vec<_>>(), "{}", text_of(&lines));
    }
}

/// `w0; w1; …` as a paragraph, list, code in a list, table, quote.
fn numbered(kind: usize, count: usize) -> String {
    let mut out = match kind {
        2 => "- item\n\n  ```py\n".to_owned(),
        3 => "| a | b |\n|---|---|\n".to_owned(),
        _ => String::new(),
    };
    for n in 0..count {
        match kind {
            0 => write!(out, "w{n}; "),
            1 => writeln!(out, "- w{n}; "),
            2 => writeln!(out, "  w{n}; "),
            3 => writeln!(out, "| w{n:03}; | x |"),
            _ => writeln!(out, "> w{n}; "),
        }
        .expect("writing to a string");
    }
    out
}

#[test]
fn attacks_come_out_as_text() {
    for (text, shown) in [
        ("a\x1b]0;title\x07b", "a␛]0;title␇b\n"),
        ("&#27;[2J &#x9b;1m", "␛[2J \u{fffd}1m\n"),
        ("a\rb", "ab\n"),
        ("`x\x08y`", "x␈y\n"),
        ("```\n\x1bc\n```", "  ␛c\n"),
        ("x\u{202e}y", "x\u{fffd}y\n"),
        ("[a](<https://e.org/&#7;>)", "a (https://e.org/␇)\n"),
        ("[a](javascript:alert(1))", "a (javascript:alert(1))\n"),
    ] {
        assert_eq!(plain(text, 60), shown, "{text:?}");
    }
}

#[test]
fn links_are_told_to_the_terminal_only_if_safe_and_honest() {
    let look = Appearance {
        links: true,
        ..Appearance::default()
    };
    let ansi = |text: &str| render(text, 80, &look)[0].to_ansi(false);
    assert_eq!(
        ansi("[a](https://e.org)"),
        "\x1b]8;;https://e.org\x1b\\a\x1b]8;;\x1b\\"
    );
    assert_eq!(ansi("[a](javascript:x)"), "a (javascript:x)");
    assert!(ansi("[https://good.org](https://evil.org)").contains("(https://evil.org)"));
    assert!(!ansi("[a](<https://e.org/&#27;>)").contains("\x1b]8"));
}

#[test]
fn a_settled_line_is_handed_out_at_once_and_once() {
    let mut stream = MarkdownStream::new(Appearance::default());
    stream.push("one\n\ntw");
    let frame = stream.frame(80, 20);
    assert_eq!(text_of(&frame.settled), "one\n");
    assert_eq!(text_of(&frame.live), "\ntw\n");
    stream.push("o\n\n```py\na = 1\nb =");
    let frame = stream.frame(80, 20);
    assert_eq!(text_of(&frame.settled), "\ntwo\n\n  a = 1\n");
    assert_eq!(text_of(&frame.live), "  b =\n");
    stream.restart();
    stream.push("again");
    assert_eq!(text_of(&stream.frame(80, 20).live), "\nagain\n");
    stream.finish();
    assert_eq!(text_of(&stream.frame(80, 20).settled), "\nagain\n");
    assert_eq!(stream.frame(80, 20), MarkdownFrame::default());
}

#[test]
fn pictures_are_named_where_they_stand() {
    let text = "one ![a](a.png) ![b](<b c.png>)\n\n`![no](x.png)`\n\n- item ![d](d.png)\n- last\n";
    for cuts in [vec![1000], vec![1], vec![7, 3]] {
        let mut stream = MarkdownStream::new(Appearance::default());
        let mut named = Vec::new();
        let mut lines = 0;
        let mut rest = text;
        for length in cuts.iter().cycle() {
            let (now, after) = rest.split_at((*length).min(rest.len()));
            rest = after;
            stream.push(now);
            if rest.is_empty() {
                stream.finish();
            }
            let frame = stream.frame(80, 20);
            let below = |(at, target): (usize, String)| (lines + at, target);
            named.extend(frame.pictures.into_iter().map(below));
            lines += frame.settled.len();
            if rest.is_empty() {
                break;
            }
        }
        let found: Vec<(usize, &str)> = named
            .iter()
            .map(|(at, target)| (*at, target.as_str()))
            .collect();
        assert_eq!(found[..2], [(1, "a.png"), (1, "b c.png")]);
        assert_eq!(found[2].1, "d.png");
        assert_eq!(found.len(), 3);
    }
}

#[test]
fn reasoning_is_a_faint_quote() {
    let mut stream = MarkdownStream::quoted(Appearance {
        colour: true,
        ..Appearance::default()
    });
    stream.push("**Plan**\n\nthink about it");
    stream.finish();
    let lines = stream.frame(12, 10).settled;
    assert_eq!(text_of(&lines), "> Plan\n>\n> think\n> about it\n");
    assert!(lines[2].to_ansi(true).starts_with("\x1b[2m"));
    assert!(lines[2].to_ansi(true).ends_with("\x1b[0m"));
}

#[test]
fn references_reach_back_not_forward() {
    let text = "[a] and [x][b]\n\n[a]: https://a.org\n[b]: https://b.org\n\n[a], [x][b], [y][a]\n";
    assert_eq!(
        plain(text, 99),
        "[a] and [x][b]\n\na (https://a.org), x (https://b.org), y (https://a.org)\n"
    );
    assert_eq!(stream(text, &[1], 99), plain(text, 99));
}

#[test]
fn awkward_texts_settle_the_same_in_pieces() {
    for (text, shown) in [
        // A definition between a list and a line that would be code by itself.
        (
            "a\na\na\n- a\n\n[ref]: https://r.org\n    a\na",
            "a\na\na\n\na\n\na\na\n",
        ),
        ("1.\n[ref]: https://r.org\n\tx = 1\na", "\n\nx\n=\n1\na\n"),
        ("- a\n\n[ref]: https://r.org\n    a\na", "a\n\na\na\n"),
        (
            "---\n[^1]: note\n1.\n   ```\n1. a\na",
            "─\n\nn\no\nt\ne\n\na\na\n",
        ),
        ("1. a\n\n1.\n   ```\n1. a", "a\na\n"),
    ] {
        assert_eq!(plain(text, 1), shown, "{text:?}");
        assert_eq!(stream(text, &[1], 1), shown, "{text:?} in pieces");
        assert_eq!(stream(text, &[1], 60), plain(text, 60), "{text:?} wider");
    }
}

/// On a wide terminal prose keeps a readable measure; code and rows of a table are not broken there.
#[test]
fn code_and_tables_are_set_wider_than_prose() {
    let code = format!("{}()", "call_".repeat(30));
    let cells = "| a cell of twenty-three ".repeat(6);
    let text = format!(
        "{}\n\n```python\n{code}\n```\n\n{cells}|\n{}|\n",
        "word ".repeat(60),
        "|---".repeat(6)
    );
    let shown = plain(&text, 200);
    assert!(shown.contains(&format!("  {code}\n")), "{shown}");
    let row = shown.lines().find(|line| line.contains("a cell"));
    assert_eq!(
        row.map(|row| row.matches("a cell of twenty-three").count()),
        Some(6)
    );
    let prose = shown.lines().filter(|line| line.contains("word"));
    assert!(prose.map(columns).max() <= Some(100), "{shown}");
    assert_eq!(stream(&text, &[4], 200), shown);
}

/// The beginning of a paragraph taller than the live rows is dropped, but not the definition before it.
#[test]
fn a_definition_outlives_the_paragraph_after_it() {
    let text = format!(
        "[r]: https://r.org\n{}[r] end\n\n[r]\n",
        "word ".repeat(200)
    );
    let mut stream = MarkdownStream::new(Appearance::default());
    let mut settled = Vec::new();
    for piece in text.as_bytes().chunks(4) {
        stream.push(std::str::from_utf8(piece).expect("ASCII"));
        settled.extend(stream.frame(20, 3).settled);
    }
    stream.finish();
    settled.extend(stream.frame(20, 3).settled);
    assert_eq!(text_of(&settled), plain(&text, 20));
}

/// Bytes given to the parser for a text in deltas of 4 with a frame at each, per byte of the text.
fn work_per_byte(text: &str) -> f64 {
    let mut stream = MarkdownStream::new(Appearance::default());
    for piece in text.as_bytes().chunks(4) {
        stream.push(std::str::from_utf8(piece).expect("ASCII"));
        stream.frame(80, 8);
    }
    stream.parsed_bytes() as f64 / text.len() as f64
}

#[test]
fn work_is_linear() {
    for kind in [0, 1, 3] {
        let small = work_per_byte(&numbered(kind, 500));
        let large = work_per_byte(&numbered(kind, 2_000));
        assert!(large < small * 1.1, "kind {kind}: {small} -> {large}");
        assert!(large < 600.0, "kind {kind}: {large}");
    }
    let code = format!("```python\n{}```\n", "value = f(1, 'two')\n".repeat(800));
    assert!(work_per_byte(&code) < 1.0);
}
