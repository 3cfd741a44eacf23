//! Two terminals: one gets every paint as reedline writes it, the other gets the filter's output. After each paint
//! both show the same.

use std::num::NonZeroU16;

use proptest::prelude::*;

use super::*;
use crate::properties;

/// The content of a paint.
#[derive(Debug, Clone)]
struct Scene {
    /// Each line in pieces with a style (0: none).
    lines: Vec<Vec<(u8, String)>>,
    /// The cursor's line, and the piece of it that the cursor is behind.
    cursor: (usize, usize),
    menu: Vec<String>,
    shape: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Paint(Scene),
    /// A paint, and lines printed above it right afterwards.
    Above(Scene, String),
    Resize(u16, u16),
}

struct Stage {
    whole: vt100::Parser,
    less: vt100::Parser,
    filter: PaintFilter,
    size: (u16, u16),
    anchor: u16,
    /// Bytes that each terminal got.
    bytes: (usize, usize),
}

fn cells(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

impl Stage {
    fn new(columns: u16, rows: u16, anchor: u16) -> Stage {
        let terminal = || vt100::Parser::new(cells(rows), cells(columns), 100);
        let mut stage = Stage {
            whole: terminal(),
            less: terminal(),
            filter: PaintFilter::default(),
            size: (columns, rows),
            anchor,
            bytes: (0, 0),
        };
        stage.both(&"above\r\n".repeat(usize::from(anchor)));
        stage
    }

    fn both(&mut self, text: &str) {
        self.whole.process(text.as_bytes());
        self.less.process(text.as_bytes());
    }

    /// Returns false when the scene is higher than the screen: such paints are not ours.
    fn take(&mut self, step: &Step) -> bool {
        match step {
            Step::Resize(columns, rows) => {
                self.size = (*columns, *rows);
                for terminal in [&mut self.whole, &mut self.less] {
                    terminal
                        .screen_mut()
                        .set_size(cells(*rows), cells(*columns));
                }
                let (row, _) = self.whole.screen().cursor_position();
                self.anchor = row.min(rows - 1);
                self.both(&format!("\x1b[{};1H", self.anchor + 1));
            }
            Step::Paint(scene) => return self.paint(scene),
            Step::Above(scene, text) => {
                self.filter.forget();
                self.both(&format!("\x1b[{};1H{text}\x1b[K\r\n", self.anchor + 1));
                self.anchor = self.whole.screen().cursor_position().0;
                return self.paint(scene);
            }
        }
        true
    }

    /// Paints as reedline does.
    fn paint(&mut self, scene: &Scene) -> bool {
        let (columns_, rows) = self.size;
        let text = |line: &Vec<(u8, String)>| -> String {
            line.iter().map(|(_, text)| text.as_str()).collect()
        };
        let heights: Vec<u16> = scene
            .lines
            .iter()
            .map(|line| height(&text(line), columns_))
            .collect();
        let above: u16 = heights[..scene.cursor.0].iter().sum();
        let before: String = scene.lines[scene.cursor.0][..scene.cursor.1]
            .iter()
            .map(|(_, text)| text.as_str())
            .collect();
        let (cursor_rows, full) = ends(&before, columns_);
        let to_cursor = above + cursor_rows + u16::from(full);
        let menu = u16::try_from(scene.menu.len()).unwrap();
        let required = heights.iter().sum::<u16>().max(to_cursor) + menu;
        if required >= rows {
            return false;
        }
        let mut out = String::from("\x1b[0m\x1b[?25l");
        if required >= rows - self.anchor {
            let extra = required - (rows - self.anchor);
            out += &format!("\x1b[{rows};1H{}", "\r\n".repeat(usize::from(extra)));
            self.anchor -= extra;
        }
        clear(&mut out, self.anchor);
        for (number, line) in scene.lines.iter().enumerate() {
            if number > 0 {
                out += "\r\n";
            }
            for (piece, (style, text)) in line.iter().enumerate() {
                if scene.cursor == (number, piece) {
                    out += "\x1b7";
                }
                match style {
                    0 => out += text,
                    style => out += &format!("\x1b[1;3{}m{text}\x1b[0m", style % 8),
                }
            }
            if scene.cursor == (number, line.len()) {
                out += "\x1b7";
            }
        }
        if !scene.menu.is_empty() {
            clear(&mut out, self.anchor + to_cursor);
            out += &scene.menu.join("\r\n");
        }
        if full {
            out += &format!("\x1b[{};1H", self.anchor + to_cursor);
        } else {
            out += "\x1b8";
        }
        if scene.shape {
            out += "\x1b[6 q";
        }
        out += "\x1b[?25h";
        let bytes = self
            .filter
            .pass(out.as_bytes(), Some(self.size))
            .into_owned();
        self.bytes = (out.len(), bytes.len());
        self.whole.process(out.as_bytes());
        self.less.process(&bytes);
        true
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let all = |terminal: &mut vt100::Parser| {
            terminal.screen_mut().set_scrollback(usize::MAX);
            let above = terminal.screen().contents();
            terminal.screen_mut().set_scrollback(0);
            let screen = terminal.screen();
            let (rows, columns) = screen.size();
            let cells: Vec<vt100::Cell> = (0..rows.get())
                .flat_map(|row| (0..columns.get()).map(move |column| (row, column)))
                .filter_map(|(row, column)| screen.cell(row, column).cloned())
                .collect();
            (
                screen.contents(),
                above,
                screen.cursor_position(),
                screen.hide_cursor(),
                cells,
            )
        };
        let (whole, less) = (all(&mut self.whole), all(&mut self.less));
        prop_assert_eq!(&whole.0, &less.0);
        prop_assert_eq!(&whole.1, &less.1);
        prop_assert_eq!((whole.2, whole.3), (less.2, less.3));
        prop_assert!(whole.4 == less.4, "the looks differ:\n{}", whole.0);
        Ok(())
    }
}

fn clear(out: &mut String, row: u16) {
    *out += &match row {
        0 => "\x1b[1;2H\x1b[J\x1b[1;1H".to_owned(),
        row => format!("\x1b[{};1H\x1b[J", row + 1),
    };
}

/// Returns the number of rows, and whether the last one is full.
fn ends(text: &str, columns_: u16) -> (u16, bool) {
    let mut walk = frame::Walk::begin(1, columns_);
    for (_, width) in crate::text::clusters(text) {
        walk.go(u16::try_from(width).unwrap());
    }
    (walk.row, walk.is_full())
}

fn height(text: &str, columns_: u16) -> u16 {
    ends(text, columns_).0
}

fn piece() -> impl Strategy<Value = (u8, String)> {
    let texts = prop_oneof![
        6 => "[a-z ()=]{1,9}",
        2 => "[a-z]{20,50}",
        1 => "[漢字é]{1,12}",
        1 => "[…😀★\u{301}]{1,3}",
    ];
    (0..4_u8, texts)
}

/// Scenes with much in common, like those of an editor.
fn scene() -> impl Strategy<Value = Scene> {
    let line = prop_oneof![
        3 => Just(vec![(2, "   ...: ".to_owned()), (0, "same".to_owned())]),
        3 => prop::collection::vec(piece(), 1..5).prop_map(|mut pieces| {
            pieces.insert(0, (2, "   ...: ".to_owned()));
            pieces
        }),
    ];
    let menu = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec("[a-z]{1,8}", 1..4)];
    let lines = prop::collection::vec(line, 1..8);
    (
        lines,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        menu,
        any::<bool>(),
    )
        .prop_map(|(lines, line, piece, menu, shape)| {
            let line = line.index(lines.len());
            let piece = 1 + piece.index(lines[line].len());
            Scene {
                lines,
                cursor: (line, piece),
                menu,
                shape,
            }
        })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => scene().prop_map(Step::Paint),
        1 => (scene(), "[a-z]{1,60}").prop_map(|(scene, text)| Step::Above(scene, text)),
        1 => (20..50_u16, 8..20_u16).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
    ]
}

proptest! {
    #![proptest_config(properties::cases(properties::USUAL))]

    #[test]
    fn the_screen_is_the_same(
        steps in prop::collection::vec(step(), 1..24),
        columns in 20..50_u16,
        rows in 8..20_u16,
        anchor in 0..8_u16,
    ) {
        let mut stage = Stage::new(columns, rows, anchor);
        for step in &steps {
            stage.take(step);
            stage.check()?;
        }
    }
}

fn lines(texts: &[&str]) -> Scene {
    let line = |text: &&str| vec![(2, "...: ".to_owned()), (1, (*text).to_owned())];
    Scene {
        lines: texts.iter().map(line).collect(),
        cursor: (texts.len() - 1, 2),
        menu: Vec::new(),
        shape: false,
    }
}

/// Goes from one paint to the next with at most `most` bytes; both screens are the same.
#[track_caller]
fn check(first: &[&str], second: &[&str], most: usize) {
    let mut stage = Stage::new(40, 12, 2);
    for scene in [lines(first), lines(second)] {
        assert!(stage.take(&Step::Paint(scene)));
        stage.check().unwrap();
    }
    let (whole, less) = stage.bytes;
    assert!(
        less <= most,
        "{less} of {whole}, from {first:?} to {second:?}"
    );
}

#[test]
fn what_stays_is_not_written() {
    let long = "a".repeat(34 + 40);
    let longer = "a".repeat(35 + 40);
    let (long, longer) = (long.as_str(), longer.as_str());
    for (first, second, most) in [
        (vec!["one", "two"], vec!["one", "two"], 6),
        (vec!["one", "★"], vec!["one", "★"], 6),
        (vec!["one", "two"], vec!["one", "twos"], 45),
        (vec!["one", "two"], vec!["one", "tw"], 50),
        (vec![long, "two"], vec![long, "twos"], 50),
        (vec!["two", long], vec!["two", longer], 55),
        (vec!["one", "two"], vec!["one"], 40),
        (vec!["one"], vec!["one", "two"], 80),
        // The width of the star depends on the terminal.
        (vec!["one", "two"], vec!["one", "★"], 80),
        (vec!["one", "漢"], vec!["one", "漢字"], 55),
    ] {
        check(&first, &second, most);
    }
}

/// Where positions are uncertain, everything is written.
#[test]
fn an_unreadable_paint_is_painted_whole() {
    let mut stage = Stage::new(40, 12, 2);
    let wide = "★".repeat(20);
    for texts in [["one", &wide], ["one", &wide]] {
        assert!(stage.take(&Step::Paint(lines(&texts))));
        stage.check().unwrap();
        assert_eq!(stage.bytes.0, stage.bytes.1);
    }
    let mut filter = PaintFilter::default();
    let paint = b"\x1b[0m\x1b[?25l\x1b[3;1H\x1b[Jone\x1b7\x1b8\x1b[?25h";
    let size = Some((40, 12));
    assert_eq!(*filter.pass(paint, size), paint[..]);
    assert_eq!(*filter.pass(paint, size), b"\x1b[?25h"[..]);
    // Another size, no size, other output in between, bytes behind the paint.
    assert_eq!(*filter.pass(paint, Some((41, 12))), paint[..]);
    assert_eq!(*filter.pass(paint, None), paint[..]);
    assert_eq!(*filter.pass(paint, size), paint[..]);
    filter.forget();
    assert_eq!(*filter.pass(paint, size), paint[..]);
    let last = [&paint[..], b"\x1b[J\r\n"].concat();
    assert_eq!(*filter.pass(&last, size), b"\x1b[?25h\x1b[J\r\n"[..]);
    assert_eq!(*filter.pass(paint, size), paint[..]);
    assert_eq!(*filter.pass(b"no paint", size), b"no paint"[..]);
    assert_eq!(*filter.pass(&paint[..9], size), paint[..9]);
    assert_eq!(*filter.pass(&paint[..20], size), paint[..20]);
}

#[test]
fn lines_above_begin_where_the_input_does() {
    // Columns: first row of the input, whether the row above is erased, rows the editor goes up, rows of the
    // screen; then: first cleared row, rows scrolled, the cursor's row.
    for (first, replaces, goes_up, rows, from, scrolled, at) in [
        (5, false, 0, 24, 6, 0, 6),
        (5, false, 3, 24, 6, 0, 9),
        (5, true, 3, 24, 5, 0, 8),
        (0, true, 0, 24, 1, 0, 1),
        (22, false, 3, 24, 23, 2, 24),
        (22, true, 1, 24, 22, 0, 23),
        (2, false, 40, 24, 3, 2, 24),
    ] {
        let scroll = match scrolled {
            0 => String::new(),
            scrolled => format!("\x1b[{rows};1H{}", "\n".repeat(scrolled)),
        };
        assert_eq!(
            room(first, replaces, goes_up, rows),
            format!("\x1b[{from};1H\x1b[J{scroll}\x1b[{at};1H")
        );
    }
}
