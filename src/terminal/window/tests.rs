//! The visible rows of a long text: texts, cursors and sizes in, the rows of a terminal out.

use proptest::prelude::*;

use super::*;
use crate::properties;

const LABEL: &str = "In [1]: ";
const CONTINUATION: &str = "   ...: ";

fn window() -> Window {
    Window {
        label: LABEL.len(),
        continuation: CONTINUATION.len(),
        top: 0,
    }
}

/// Returns the rows that a terminal makes of a text.
fn rows_on_a_terminal(front: &str, text: &str, columns: u16, height: u16) -> Vec<String> {
    let size = |n: u16| std::num::NonZeroU16::new(n).unwrap();
    let mut parser = vt100::Parser::new(size(height), size(columns), 0);
    let lines = text.replace('\n', &format!("\r\n{CONTINUATION}"));
    parser.process(format!("{front}{lines}").as_bytes());
    let last = usize::from(parser.screen().cursor_position().0);
    parser.screen().rows(0, columns).take(last + 1).collect()
}

fn numbered(lines: usize) -> String {
    (0..lines)
        .map(|n| format!("line{n}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_text_that_fits_is_shown_whole() {
    for (lines, rows) in [(1, 24), (23, 24), (22, 24)] {
        let text = numbered(lines);
        let shown = window().show(&text, text.len(), (80, rows));
        assert_eq!(shown.range, 0..text.len());
        assert_eq!(shown.rows, None);
        assert_eq!(shown.front, RowPrefix::Label);
    }
}

#[test]
fn a_window_follows_the_cursor_and_moves_no_further_than_it_must() {
    let text = numbered(100);
    let start = |line: usize| text.find(&format!("line{line}\n")).unwrap();
    let lines = |shown: &WindowShown| {
        let text = &text[shown.range.clone()];
        let number = |line: Option<&str>| line.unwrap()[4..].parse::<usize>().unwrap();
        (number(text.lines().next()), number(text.lines().last()))
    };
    let mut window = window();
    let mut show = |cursor: usize| {
        let shown = window.show(&text, cursor, (80, 24));
        (lines(&shown), shown.front)
    };
    // Six rows below the cursor are free.
    assert_eq!(show(text.len()), ((83, 99), RowPrefix::Continuation));
    assert_eq!(show(start(90)), ((83, 99), RowPrefix::Continuation));
    assert_eq!(show(start(83)), ((83, 99), RowPrefix::Continuation));
    // Two rows above a cursor that left upwards.
    assert_eq!(show(start(82)), ((80, 99), RowPrefix::Continuation));
    assert_eq!(show(start(50)), ((48, 70), RowPrefix::Continuation));
    assert_eq!(show(start(60)), ((48, 70), RowPrefix::Continuation));
    assert_eq!(show(start(64)), ((48, 70), RowPrefix::Continuation));
    assert_eq!(show(start(65)), ((49, 71), RowPrefix::Continuation));
    assert_eq!(show(0), ((0, 22), RowPrefix::Label));
}

#[test]
fn a_line_longer_than_the_screen_is_shown_from_one_of_its_rows() {
    let text = "x".repeat(5_000);
    let mut window = window();
    let shown = window.show(&text, text.len(), (80, 24));
    assert_eq!(shown.front, RowPrefix::Nothing);
    assert_eq!((shown.range.start + LABEL.len()) % 80, 0);
    assert_eq!(shown.range.end, text.len());
    let shown = window.show(&text, 0, (80, 24));
    assert_eq!(
        (shown.range, shown.front),
        (0..23 * 80 - 8, RowPrefix::Label)
    );
}

#[test]
fn a_text_that_became_shorter_leaves_no_empty_rows() {
    let mut window = window();
    let long = numbered(100);
    window.show(&long, long.len(), (80, 24));
    let short = numbered(30);
    let shown = window.show(&short, short.len(), (80, 24));
    assert_eq!(short[shown.range].lines().count(), 17);
    let shorter = numbered(10);
    let shown = window.show(&shorter, shorter.len(), (80, 24));
    assert_eq!((shown.range, shown.rows), (0..shorter.len(), None));
}

#[test]
fn tiny_terminals_get_the_text() {
    let text = numbered(100);
    for size in [(9, 24), (80, 3), (0, 0)] {
        assert_eq!(window().show(&text, 0, size).range, 0..text.len());
    }
}

proptest! {
    #![proptest_config(properties::cases(properties::USUAL))]

    /// A window is rows of the whole text as a terminal would wrap it, contains the cursor, and leaves a row free.
    #[test]
    fn a_window_is_a_part_of_the_whole(
        text in "([a漢 ]{0,45}\n){0,12}[a漢]{0,90}",
        cursors in prop::collection::vec(0usize..700, 1..6),
        columns in 12u16..30,
        rows in 4u16..16,
    ) {
        let whole = rows_on_a_terminal(LABEL, &text, columns, 200);
        let mut window = window();
        for cursor in cursors {
            let cursor = (0..=cursor.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            let shown = window.show(&text, cursor, (columns, rows));
            prop_assert!(shown.range.start <= cursor && cursor <= shown.range.end);
            let front = match shown.front {
                RowPrefix::Label => LABEL,
                RowPrefix::Continuation => CONTINUATION,
                RowPrefix::Nothing => "",
            };
            let part = rows_on_a_terminal(front, &text[shown.range.clone()], columns, 200);
            match shown.rows {
                None => prop_assert_eq!(&part, &whole),
                Some(count) => {
                    prop_assert!(count < usize::from(rows), "{} rows", count);
                    prop_assert!(part.len() == count || part.len() + 1 == count);
                    let fits = whole.windows(part.len()).any(|rows| rows[1..] == part[1..]);
                    prop_assert!(fits, "{:#?} in {:#?}", part, whole);
                }
            }
        }
    }
}
