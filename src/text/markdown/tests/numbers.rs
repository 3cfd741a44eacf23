//! The numbers of Python blocks on the screen, by which keys take the blocks.

use proptest::prelude::*;

use super::{answer, text_of};
use crate::markdown::{Appearance, MarkdownStream, fences};
use crate::properties;

/// Renders the text with its Python blocks numbered after `before`, cut at `cuts`, in at most `rows` live rows;
/// returns the lines and the last number.
fn numbered(text: &str, cuts: &[usize], rows: usize, before: usize) -> (String, usize) {
    let mut stream = MarkdownStream::numbered(Appearance::default(), Some(before));
    let mut settled = Vec::new();
    let mut rest = text;
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let cut = rest.ceil_char_boundary((*cut).min(rest.len()));
        stream.push(&rest[..cut]);
        rest = &rest[cut..];
        settled.extend(stream.frame(80, rows).settled);
    }
    stream.finish();
    settled.extend(stream.frame(80, rows).settled);
    settled.extend(stream.frame(80, usize::MAX).settled);
    (text_of(&settled), stream.count().unwrap())
}

#[test]
fn python_blocks_have_the_numbers_that_keys_insert_them_by() {
    let text = "```python\n\na = 1\nb\n```\n```bash\nno\n```\n\n> ```py\n> quoted\n> ```\n\n```py\n \n```\n\n1. x\n\
                \n   ```py\n   c\n   d\n   ```\n\n~~~py\ne\n~~~\n";
    let expected =
        "  \n1 a = 1\n  b\n\n  no\n\n>   quoted\n\n  \n\n1. x\n\n   2 c\n     d\n\n3 e\n";
    let trimmed = |text: &str| -> String {
        text.lines()
            .map(|line| line.trim_end().to_owned() + "\n")
            .collect()
    };
    for cuts in [1, 3, 7, 1000] {
        let (shown, count) = numbered(text, &[cuts], usize::MAX, 0);
        assert_eq!((trimmed(&shown), count), (trimmed(expected), 3), "{cuts}");
    }
    assert_eq!(fences::python_blocks(text).len(), 3);
    // Keys end at nine, and the count continues from an earlier part of the answer.
    let (shown, count) = numbered("```py\na\n```\n```py\nb\n```\n", &[9], usize::MAX, 8);
    assert_eq!((shown.as_str(), count), ("9 a\n\n  b\n", 10));
    let mut stream = MarkdownStream::numbered(Appearance::default(), Some(2));
    stream.push("```py\na\n```\ntext\n\n");
    assert_eq!(
        (stream.frame(80, 9).settled.len() > 1, stream.count()),
        (true, Some(3))
    );
    stream.restart();
    assert_eq!(stream.count(), Some(2));
    for before in ["", "- item\n\n", "1. x\n   - y\n\n"] {
        let indent = " ".repeat(
            before
                .find("y")
                .map_or(if before.is_empty() { 0 } else { 2 }, |_| 5),
        );
        let lines: String = (0..60).map(|n| format!("{indent}line({n})\n")).collect();
        let text =
            format!("{before}{indent}```py\n{lines}{indent}```\n\n{indent}```py\n{indent}z\n");
        let (shown, count) = numbered(&text, &[5], 6, 0);
        assert_eq!(count, 2, "{shown}");
        assert_eq!(shown.matches("1 line(0)\n").count(), 1, "{shown}");
        assert_eq!(shown.matches("2 z\n").count(), 1, "{shown}");
        assert_eq!(shown.matches("line(").count(), 60, "{shown}");
    }
}

proptest! {
    #![proptest_config(properties::cases(200))]

    #[test]
    fn numbers_agree_with_the_blocks(text in answer(), cuts in proptest::collection::vec(1usize..30, 1..8),
        rows in 1usize..30) {
        let blocks = fences::python_blocks(&text).len();
        prop_assert_eq!(numbered(&text, &cuts, rows, 0).1, blocks);
    }
}
