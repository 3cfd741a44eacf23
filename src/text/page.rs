//! A page of our own for people: sections of rows in columns, and paragraphs.
//!
//! In: cells and paragraphs, which may hold foreign text (a path, a name). Out: styled lines for a width, plain text,
//! or markdown. Invariants: columns stand under columns wherever a section has as many of them; where the last one has
//! no room, it stands below the others; paragraphs are our own words, in which only code and emphasis are marked.
//! Absent on purpose: what the pages say.

use nu_ansi_term::Style;
use termimad::crossterm::style::Attribute;
use termimad::{CompoundStyle, FmtText, MadSkin};

use super::escape::visible;
use super::wrap::{Break, rows};
use super::{Line, columns};

/// Between columns.
const GAP: usize = 2;

/// A wider cell does not widen its column: what follows it stands on the next line.
const WIDEST: usize = 31;

/// The last column has at least as much, or stands below.
const LEAST: usize = 20;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// From the top.
    pub sections: Vec<Section>,
}

/// Rows under a headline, and paragraphs below them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// The headline; its rows are indented below it.
    pub title: String,
    /// The names of the columns; may be none.
    pub head: Vec<String>,
    /// The rows, each with as many cells.
    pub rows: Vec<Vec<String>>,
    /// The paragraphs.
    pub paragraphs: Vec<String>,
}

impl Section {
    /// Rows under a headline.
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
    /// The page for a screen of this width, as text that may be written to it; each line ended.
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

    /// The page as text that nobody has wrapped; its last line is not ended.
    pub fn text(&self) -> String {
        let told = |line: Line| line.plain() + "\n";
        let text = self.made(usize::MAX, told, |paragraph, indent| {
            format!("{}{}\n", " ".repeat(indent), visible(paragraph))
        });
        text.trim_end_matches('\n').to_owned()
    }

    /// Titles and rows as `told` has them, paragraphs as `put` has them in their column.
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

    /// The page for those who show markdown.
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

    /// The widths of the columns of every section that has `count` of them; that of the last one is of no account.
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

/// How paragraphs look: code in bold, on the terminal's own ground.
fn skin(colour: bool) -> MadSkin {
    let mut skin = MadSkin::no_style();
    if colour {
        skin.inline_code = CompoundStyle::with_attr(Attribute::Bold);
        skin.bold = CompoundStyle::with_attr(Attribute::Bold);
        skin.italic = CompoundStyle::with_attr(Attribute::Italic);
    }
    skin
}

/// A row: its columns under those of the others, or the last one below the rest.
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

/// A text in rows that begin in this column.
fn wrapped(text: &str, width: usize, indent: usize, style: Style) -> Vec<Line> {
    let text = visible(text);
    let blanks = " ".repeat(indent);
    let room = width.saturating_sub(indent).max(1);
    let rows = rows(&text, room, Break::Message).into_iter();
    rows.map(|row| Line::styled(style, format!("{blanks}{}", &text[row])))
        .collect()
}

/// A cell of a markdown table: nothing in it ends it.
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
