//! Deep nesting: followed up to the limit, then shown as source, within the stack of any of the program's threads.

use super::*;
use crate::NESTING;
use crate::markdown::blocks::images;
use crate::markdown::fences::python_blocks;
use crate::properties::on_a_small_stack;

const MARKERS: [&str; 9] = [
    ">", "> ", "- ", "1. ", "> - ", "* + 1) ", "[^a]: ", "[^a]: > ", "- [ ] ",
];

/// Reads `source` with every reader of markdown, whole and as a stream; returns what is shown.
fn read(source: &str) -> String {
    let shown = plain(source, 80);
    assert_eq!(stream(source, &[source.len() / 3 + 1], 80), shown);
    python_blocks(source);
    images(source);
    shown
}

#[test]
fn any_nesting_is_shown_whole() {
    on_a_small_stack(|| {
        let whole = |shown: &str, marker: &str, levels: usize| {
            let mark = marker.split(' ').next().unwrap_or_default();
            assert!(shown.contains("innermost"), "{marker} {levels}");
            let shown: String = shown.split_whitespace().collect();
            let found = shown.matches(mark).count();
            assert!(found >= levels - NESTING, "{found} {marker} {levels}");
        };
        for marker in MARKERS {
            for rest in [
                "innermost\n",
                "innermost\nlazy\n",
                "innermost\n\n\nnext\n",
                "```py\ninnermost",
            ] {
                whole(&read(&(marker.repeat(1_000) + rest)), marker, 1_000);
            }
            let source = marker.repeat(100_000) + "innermost\n";
            whole(&plain(&source, 200), marker, 100_000);
        }
        let steps = |n: usize| format!("{}- step{n}\n", "  ".repeat(n));
        let steps: String = (0..400).map(steps).collect();
        assert!(read(&steps).contains("step399"));
        let quotes = |n: usize| ">".repeat(n) + &format!("step{n}\n");
        let quotes: String = (1..400).map(quotes).collect();
        assert!(read(&quotes).contains("step399"));
    });
}

#[test]
fn any_nesting_in_a_line_is_shown_whole() {
    on_a_small_stack(|| {
        for (open, close) in [
            ("![", ""),
            ("[", ""),
            ("![", "](x)"),
            ("[", "](x)"),
            ("![", "]"),
            ("![a][", "]"),
            ("[a](", ")"),
            ("**a ", " b**"),
            ("*a __b ", " c__ d*"),
            ("~~a ", " b~~"),
            ("*a **b", ""),
            ("<b>", "</b>"),
            ("`a ``", ""),
            ("$", ""),
            ("$x_", "$"),
            ("\\(", ""),
            ("\\[", "\\]"),
            ("|", ""),
            ("| a", "|"),
            ("# $a ", ""),
            ("\\", ""),
            ("[^", "]"),
            ("[a]: ", ""),
            ("<!--", "-->"),
        ] {
            let source = |levels| open.repeat(levels) + "innermost" + &close.repeat(levels);
            assert!(read(&source(1_000)).contains("innermost"), "{open} {close}");
        }
        for (open, close) in [("![", ""), ("![", "](x)"), ("*a __b ", " c__ d*")] {
            let source = open.repeat(100_000) + "innermost" + &close.repeat(100_000);
            assert!(plain(&source, 200).contains("innermost"), "{open} {close}");
        }
    });
}

#[test]
fn nesting_is_followed_so_far() {
    on_a_small_stack(|| {
        let quoted = plain(&("> ".repeat(NESTING) + "*x*\n"), 400);
        assert!(quoted.ends_with("> x\n"), "{quoted}");
        let quoted = plain(&("> ".repeat(NESTING + 1) + "*x*\n"), 400);
        assert!(quoted.ends_with("> > x\n"), "{quoted}");
        // Not the `8` that a further marker may be.
        let quoted = plain(&("> ".repeat(NESTING + 1) + "&#27;\n"), 400);
        assert!(quoted.ends_with("> > ␛\n"), "{quoted}");
        let inner =
            |open: &str, close: &str| open.repeat(NESTING - 1) + "x" + &close.repeat(NESTING - 1);
        let (formula, emphasis) = (inner("\\sqrt{", "}"), inner("*a ", " b*"));
        let quotes = "> - ".repeat(NESTING / 2);
        let shown = plain(&format!("{quotes}${formula}$ {emphasis}"), 80);
        assert!(shown.contains('√') && !shown.contains('*'), "{shown}");
        assert!(plain(&format!("*a **b {emphasis} c** d*"), 80).contains('*'));
    });
}
