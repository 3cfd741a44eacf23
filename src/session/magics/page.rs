//! A page of the program's own texts: sections of rows in columns, and paragraphs.
//!
//! In: cells and paragraphs, which may hold untrusted text (a path, a name). Out: styled lines for a width, plain
//! text, or markdown. Invariants: sections with the same number of columns share their widths; a last column without
//! room is set below the others; in paragraphs only code and emphasis are marked. Absent on purpose: the content of
//! pages.

use nu_ansi_term::Style;
use termimad::crossterm::style::Attribute;
use termimad::{CompoundStyle, FmtText, MadSkin};

use crate::text::escape::visible;
use crate::text::{Break, Line, columns, rows};

const GAP: usize = 2;

/// A wider cell does not widen its column: the cells after it continue on the next line.
const WIDEST: usize = 31;

/// Least width of the last column, which else is set below the others.
const LEAST: usize = 20;

/// Sections of rows and paragraphs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub sections: Vec<Section>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// Headline; the rows are indented below it.
    pub title: String,
    /// Names of the columns; may be empty.
    pub head: Vec<String>,
    /// Rows with the same number of cells.
    pub rows: Vec<Vec<String>>,
    pub paragraphs: Vec<String>,
}

impl Section {
    pub fn titled(title: impl Into<String>, rows: Vec<Vec<String>>) -> Self {
        Section {
            title: title.into(),
            rows,
            ..Section::default()
        }
    }

    fn indent(&self) -> usize {
        if self.title.is_empty() { 0 } else { GAP }
    }

    fn all_rows(&self) -> impl Iterator<Item = &Vec<String>> {
        let head = Some(&self.head).filter(|head| !head.is_empty());
        head.into_iter().chain(&self.rows)
    }
}

impl Page {
    /// Renders the page for a screen of this width, as text that is safe to write; each line is ended.
    pub fn ansi(&self, width: usize, colour: bool) -> String {
        let skin = skin(colour);
        let told = |line: Line| line.to_ansi(colour) + "\n";
        self.made(width, told, |paragraph, indent| {
            let room = width.saturating_sub(indent).max(LEAST);
            let text = FmtText::from(&skin, paragraph, Some(room)).to_string();
            let lines = text.lines();
            lines
                .map(|line| " ".repeat(indent) + line.trim_end() + "\n")
                .collect()
        })
    }

    /// Renders the page as text without wrapping; its last line is not ended.
    pub fn text(&self) -> String {
        let told = |line: Line| line.plain() + "\n";
        let text = self.made(usize::MAX, told, |paragraph, indent| {
            format!("{}{}\n", " ".repeat(indent), visible(paragraph))
        });
        text.trim_end_matches('\n').to_owned()
    }

    /// Renders titles and rows with `told`, and paragraphs in their column with `put`.
    fn made(
        &self,
        width: usize,
        told: impl Fn(Line) -> String,
        put: impl Fn(&str, usize) -> String,
    ) -> String {
        let mut out = String::new();
        for section in &self.sections {
            if !out.is_empty() {
                out.push('\n');
            }
            if !section.title.is_empty() {
                let title = wrapped(&section.title, width, 0, Style::new().bold());
                out.extend(title.into_iter().map(&told));
            }
            for row in section.all_rows() {
                let style = match std::ptr::eq(row, &section.head) {
                    true => Style::new().dimmed(),
                    false => Style::new(),
                };
                let widths = self.widths(row.len());
                let rows = laid_out(row, &widths, section.indent(), width, style);
                out.extend(rows.into_iter().map(&told));
            }
            for (at, paragraph) in section.paragraphs.iter().enumerate() {
                if at > 0 || !section.rows.is_empty() {
                    out.push('\n');
                }
                out.push_str(&put(paragraph, section.indent()));
            }
        }
        out
    }

    pub fn markdown(&self) -> String {
        let mut out = String::new();
        for section in &self.sections {
            if !section.title.is_empty() {
                out.push_str(&format!("**{}**\n\n", in_cell(&section.title)));
            }
            if let Some(first) = section.all_rows().next() {
                let nothing = vec![String::new(); first.len()];
                let head = match section.head.is_empty() {
                    true => &nothing,
                    false => &section.head,
                };
                let rule = vec!["-".to_owned(); first.len()];
                for row in [head, &rule].into_iter().chain(&section.rows) {
                    let cells: Vec<String> = row.iter().map(|cell| in_cell(cell)).collect();
                    out.push_str(&format!("|{}|\n", cells.join("|")));
                }
                out.push('\n');
            }
            for paragraph in &section.paragraphs {
                out.push_str(&format!("{}\n\n", visible(paragraph)));
            }
        }
        out
    }

    /// Returns the common column widths of all sections with `count` columns; that of the last column is not used.
    fn widths(&self, count: usize) -> Vec<usize> {
        let rows = self.sections.iter().flat_map(Section::all_rows);
        let mut widths = vec![0; count];
        for row in rows.filter(|row| row.len() == count) {
            for (width, cell) in widths.iter_mut().zip(row) {
                let own = columns(&visible(cell));
                *width = (*width).max(if own <= WIDEST { own } else { 0 });
            }
        }
        widths
    }
}

/// The look of paragraphs: code in bold, on the terminal's own background.
fn skin(colour: bool) -> MadSkin {
    let mut skin = MadSkin::no_style();
    if colour {
        skin.inline_code = CompoundStyle::with_attr(Attribute::Bold);
        skin.bold = CompoundStyle::with_attr(Attribute::Bold);
        skin.italic = CompoundStyle::with_attr(Attribute::Italic);
    }
    skin
}

/// Lays out a row in the common columns, with its last cell below the others where it has no room.
fn laid_out(
    row: &[String],
    widths: &[usize],
    indent: usize,
    width: usize,
    style: Style,
) -> Vec<Line> {
    let Some((last, leading)) = row.split_last() else {
        return Vec::new();
    };
    let at: usize = indent
        + widths[..leading.len()]
            .iter()
            .map(|it| it + GAP)
            .sum::<usize>();
    if at + LEAST > width {
        let leading = leading.join("  ");
        let mut lines = wrapped(&leading, width, indent, style);
        lines.extend(wrapped(last, width, indent + 2 * GAP, style));
        return lines;
    }
    let mut lines = Vec::new();
    let mut line = " ".repeat(indent);
    for (cell, width) in leading.iter().zip(widths) {
        let cell = visible(cell);
        let column = columns(&line);
        line.push_str(&cell);
        match (width + GAP).checked_sub(columns(&cell)) {
            Some(gap) if gap >= GAP => line.push_str(&" ".repeat(gap)),
            _ => {
                lines.push(Line::styled(style, &line));
                line = " ".repeat(column + width + GAP);
            }
        }
    }
    for (nth, rest) in wrapped(last, width, at, style).into_iter().enumerate() {
        let rest = rest.plain();
        lines.push(match nth {
            0 => Line::styled(style, format!("{line}{}", &rest[at..]).trim_end()),
            _ => Line::styled(style, rest),
        });
    }
    lines
}

/// Wraps a text in rows that begin at column `indent`.
fn wrapped(text: &str, width: usize, indent: usize, style: Style) -> Vec<Line> {
    let text = visible(text);
    let blanks = " ".repeat(indent);
    let room = width.saturating_sub(indent).max(1);
    let rows = rows(&text, room, Break::Message).into_iter();
    rows.map(|row| Line::styled(style, format!("{blanks}{}", &text[row])))
        .collect()
}

/// Escapes a cell of a markdown table, so that it cannot end the cell.
fn in_cell(text: &str) -> String {
    visible(text).replace('|', "\\|").replace('<', "\\<")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        Page {
            sections: vec![
                Section {
                    head: row(["name", "value", "does"]),
                    ..Section::titled("First", vec![row(["a", "1", "one"])])
                },
                Section {
                    paragraphs: vec!["Some words below.".into()],
                    ..Section::titled(
                        "Second",
                        vec![
                            row(["long", "a|b", "what a long one does"]),
                            row(["b", &"x".repeat(WIDEST + 1), "two"]),
                        ],
                    )
                },
            ],
        }
    }

    fn check(width: usize, expected: &str) {
        assert_eq!(page().ansi(width, false).trim_end(), expected, "{width}");
    }

    #[test]
    fn columns_stand_under_columns() {
        check(
            usize::MAX,
            "First\n  name  value  does\n  a     1      one\n\nSecond\n  long  a|b    what a long one does\n  \
             b     xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n               two\n\n  Some words below.",
        );
    }

    #[test]
    fn the_last_column_wraps_and_stands_below_where_it_has_no_room() {
        for (width, rows) in [
            (36, &["  long  a|b    what a long one does"][..]),
            (30, &["  long  a|b", "      what a long one does"]),
            (12, &["      what a"]),
        ] {
            let shown = page().ansi(width, false);
            let lines: Vec<&str> = shown.lines().collect();
            assert!(
                lines.windows(rows.len()).any(|found| found == rows),
                "{shown}"
            );
        }
    }

    #[test]
    fn paragraphs_wrap_and_show_code_in_bold() {
        let page = Page {
            sections: vec![Section {
                paragraphs: vec!["Type `help NAME` to read more of a command.".into()],
                ..Section::default()
            }],
        };
        assert_eq!(page.text(), "Type `help NAME` to read more of a command.");
        let shown = page.ansi(24, false);
        assert_eq!(shown, "Type help NAME to read\nmore of a command.\n");
        let bold = page.ansi(80, true);
        assert!(bold.contains("\u{1b}[1mhelp NAME\u{1b}["), "{bold:?}");
    }

    #[test]
    fn markdown_keeps_bars_inside_their_cells() {
        let markdown = page().markdown();
        assert!(markdown.contains("**First**\n\n|name|value|does|\n|-|-|-|\n|a|1|one|\n"));
        assert!(
            markdown.contains("||||\n|-|-|-|\n|long|a\\|b|what"),
            "{markdown}"
        );
    }

    #[test]
    fn foreign_text_is_spelled() {
        let row = vec!["a\u{1b}[2J".to_owned(), "b\nc".to_owned()];
        let page = Page {
            sections: vec![Section::titled("", vec![row])],
        };
        assert_eq!(page.text(), "a^[[2J  b⏎c");
    }
}
