//! A terminal's screen as an SVG: its cells, its colours, the pictures drawn by kitty's protocol.
//!
//! In: all bytes a program has written to a terminal on which nothing scrolled off, and its size. Out: the file, and
//! the text of its rows. Invariant: each run of text has the width of its cells whatever the font of whoever looks.

use std::fmt::Write as _;
use std::num::NonZeroU16;

use memchr::memmem;

/// A cell, in pixels of the drawing.
const CELL: (f32, f32) = (8.4, 18.0);

/// What stands around the screen, and the bar above it.
const MARGIN: f32 = 16.0;
const BAR: f32 = 34.0;

/// What marks calls of tools: not every font has it.
const WRENCH: &str = "M10.5 1a4.5 4.5 0 0 0-4.3 5.9L1.3 11.8a1.7 1.7 0 0 0 2.4 2.4l4.9-4.9A4.5 4.5 0 0 0 14.7 4l-2.5 \
                      2.5-2.2-.5-.5-2.2L12 1.3A4.5 4.5 0 0 0 10.5 1z";

const GROUND: &str = "#0d1117";
const INK: &str = "#e6edf3";

/// The sixteen colours that themes of terminals choose.
const COLOURS: [&str; 16] = [
    "#484f58", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#c9d1d9",
    "#6e7681", "#ffa198", "#9af2a5", "#f2cc60", "#a5d6ff", "#e2c5ff", "#84e1e8", "#ffffff",
];

/// A screen with its pictures.
pub(super) struct Drawing {
    screen: vt100::Parser,
    pictures: Vec<Picture>,
    size: (u16, u16),
}

struct Picture {
    row: u16,
    column: u16,
    columns: u16,
    rows: u16,
    png: String,
}

impl Drawing {
    /// What such a terminal shows after these bytes.
    pub(super) fn of(raw: &[u8], size: (u16, u16)) -> Self {
        let at_least = |count| NonZeroU16::new(count).expect("not empty");
        let mut drawing = Drawing {
            screen: vt100::Parser::new(at_least(size.1), at_least(size.0), 0),
            pictures: Vec::new(),
            size,
        };
        let mut rest = raw;
        while let Some(start) = memmem::find(rest, b"\x1b_G") {
            drawing.screen.process(&rest[..start]);
            let end = start + memmem::find(&rest[start..], b"\x1b\\").expect("a whole sequence");
            let sequence = std::str::from_utf8(&rest[start + 3..end]).expect("base64");
            drawing.picture(sequence);
            rest = &rest[end + 2..];
        }
        drawing.screen.process(rest);
        drawing
    }

    fn picture(&mut self, sequence: &str) {
        let (control, data) = sequence.split_once(';').unwrap_or((sequence, ""));
        let number = |name: &str| {
            let pairs = control.split(',').filter_map(|pair| pair.split_once('='));
            let mut found = pairs.filter(|(key, _)| *key == name);
            found.next().and_then(|(_, value)| value.parse().ok())
        };
        match number("r") {
            Some(rows) => {
                let (row, column) = self.screen.screen().cursor_position();
                self.pictures.push(Picture {
                    row,
                    column,
                    columns: number("c").expect("with its rows"),
                    rows,
                    png: data.to_owned(),
                });
            }
            None => {
                if let Some(picture) = self.pictures.last_mut() {
                    picture.png.push_str(data);
                }
            }
        }
    }

    /// How many pictures there are.
    pub(super) fn pictures(&self) -> usize {
        self.pictures.len()
    }

    /// The rows as text, without those below the last that has any.
    pub(super) fn rows(&self) -> Vec<String> {
        let rows = self.screen.screen().rows(0, self.size.0);
        let mut rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// The whole file.
    pub(super) fn svg(&self) -> String {
        let rows = u16::try_from(self.rows().len()).expect("a screen");
        let width = f32::from(self.size.0) * CELL.0 + 2.0 * MARGIN;
        let height = f32::from(rows) * CELL.1 + BAR + MARGIN;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"ui-monospace,'SFMono-Regular','DejaVu Sans Mono',Menlo,Consolas,monospace\" \
             font-size=\"14\">\n<title>A session of ipycodex</title>\n\
             <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{GROUND}\"/>\n"
        );
        for (nth, colour) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
            let x = 20 + 20 * nth;
            writeln!(
                out,
                "<circle cx=\"{x}\" cy=\"18\" r=\"6\" fill=\"{colour}\"/>"
            )
            .expect("a text");
        }
        for row in 0..rows {
            self.row(row, &mut out);
        }
        for picture in &self.pictures {
            let (x, y) = (left(picture.column), top(picture.row));
            let width = f32::from(picture.columns) * CELL.0;
            let height = f32::from(picture.rows) * CELL.1;
            writeln!(
                out,
                "<image x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
                 href=\"data:image/png;base64,{}\"/>",
                picture.png
            )
            .expect("a text");
        }
        out.push_str("</svg>\n");
        out
    }

    /// The runs of a row that look alike.
    fn row(&self, row: u16, out: &mut String) {
        let mut column = 0;
        while column < self.size.0 {
            let Some(first) = self.screen.screen().cell(row, column) else {
                return;
            };
            let (start, look) = (column, look(first));
            let mut text = String::new();
            while let Some(cell) = self.screen.screen().cell(row, column) {
                // A wide character is a run of its own: fonts disagree about it.
                let wide = cell.is_wide();
                if self::look(cell) != look || (wide && column > start) {
                    break;
                }
                text.push_str(if cell.has_contents() {
                    cell.contents()
                } else {
                    " "
                });
                column += if wide { 2 } else { 1 };
                if wide {
                    break;
                }
            }
            run(&text, (row, start, column), &look, out);
        }
    }
}

/// How a cell looks.
#[derive(PartialEq)]
struct Look {
    ink: String,
    ground: Option<String>,
    style: String,
}

fn look(cell: &vt100::Cell) -> Look {
    let ink = colour(cell.fgcolor()).unwrap_or_else(|| INK.to_owned());
    let ground = colour(cell.bgcolor());
    let (ink, ground) = match cell.inverse() {
        true => (ground.unwrap_or_else(|| GROUND.to_owned()), Some(ink)),
        false => (ink, ground),
    };
    let mut style = String::new();
    for (has, attribute) in [
        (cell.bold(), " font-weight=\"bold\""),
        (cell.italic(), " font-style=\"italic\""),
        (cell.underline(), " text-decoration=\"underline\""),
        (cell.dim(), " opacity=\".6\""),
    ] {
        if has {
            style.push_str(attribute);
        }
    }
    Look { ink, ground, style }
}

fn colour(colour: vt100::Color) -> Option<String> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Idx(index @ 0..16) => Some(COLOURS[usize::from(index)].to_owned()),
        vt100::Color::Idx(index @ 16..232) => {
            let level = |place: u8| match (index - 16) / place % 6 {
                0 => 0,
                step => 55 + 40 * step,
            };
            Some(format!(
                "#{:02x}{:02x}{:02x}",
                level(36),
                level(6),
                level(1)
            ))
        }
        vt100::Color::Idx(index) => {
            let level = 8 + 10 * (index - 232);
            Some(format!("#{level:02x}{level:02x}{level:02x}"))
        }
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

/// A run of cells, its blanks at the end only where they have a ground.
fn run(text: &str, (row, start, end): (u16, u16, u16), look: &Look, out: &mut String) {
    let (x, y) = (left(start), top(row));
    let width = f32::from(end - start) * CELL.0;
    if let Some(ground) = &look.ground {
        let height = CELL.1;
        writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{ground}\"/>"
        )
        .expect("a text");
    }
    let blanks = text.len() - text.trim_start_matches(' ').len();
    let shown = text.trim_matches(' ');
    if shown.is_empty() {
        return;
    }
    if shown == "🔧" {
        let (x, y) = (x + 1.0, y + 2.0);
        writeln!(
            out,
            "<path transform=\"translate({x:.1} {y:.1})\" d=\"{WRENCH}\" fill=\"{}\"/>",
            look.ink
        )
        .expect("a text");
        return;
    }
    let before = f32::from(u16::try_from(blanks).expect("a row")) * CELL.0;
    let after = text.len() - text.trim_end_matches(' ').len();
    let after = f32::from(u16::try_from(after).expect("a row")) * CELL.0;
    let shown = shown.replace('&', "&amp;").replace('<', "&lt;");
    writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{}\"{} xml:space=\"preserve\" textLength=\"{:.1}\" \
         lengthAdjust=\"spacingAndGlyphs\">{shown}</text>",
        x + before,
        y + CELL.1 * 0.75,
        look.ink,
        look.style,
        width - before - after,
    )
    .expect("a text");
}

fn left(column: u16) -> f32 {
    MARGIN + f32::from(column) * CELL.0
}

fn top(row: u16) -> f32 {
    BAR + f32::from(row) * CELL.1
}
