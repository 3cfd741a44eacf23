//! Marked text, the form of a notebook for readers and editors: each cell under a mark, `# %% [code] cell:0`.
//!
//! In: a [`Document`], or such a text. Out: the text, some of its lines, or the cells it names. Invariants: a text
//! that was shown reads back as the same cells; a source line that looks like a mark gains one `%` when shown and
//! loses it when read.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use super::fault::NotebookError;
use super::model::{Cell, CellKind, Document};

/// The beginning of every mark, and of source lines that could be taken for one.
const MARK: &str = "# %%";

const NUMBER: &str = " cell:";

/// The heading of a cell's outputs where they are shown; not a cell mark.
const OUTPUT: &str = "# %% [output] cell:";

/// A cell of a marked text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedCell<'a> {
    pub kind: CellKind,
    /// The number of the notebook's cell that this one stands for.
    pub number: Option<usize>,
    pub source: Cow<'a, str>,
    /// The line of its mark, from 1.
    pub line: usize,
}

/// Why a text is not a marked text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// A line stands before the first mark.
    #[error(
        "line 1 is not a cell mark: expected `# %% [code]`, `# %% [markdown]` or `# %% [raw]`, \
         optionally followed by ` cell:N`"
    )]
    NoMark,
    /// The marks have Windows line ends.
    #[error("the text has Windows line ends (CRLF): expected lines that end in a newline alone")]
    LineEnds,
    /// The text contains an output heading, at this line.
    #[error(
        "line {0} is an output, not part of a cell: expected the text that is shown without outputs"
    )]
    Output(usize),
    /// The range of lines is malformed.
    #[error(
        "`{0}` is not a range of lines: expected `A-B`, `A-` or `A`, from 1, with commas between several"
    )]
    Range(String),
    /// The range begins behind the end of the text.
    #[error("line {0} is past the end: the text has {1} lines")]
    Behind(usize, usize),
}

/// A range of lines, from 1, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    pub first: usize,
    pub last: usize,
}

impl LineRange {
    /// Parses `A-B,C-D`.
    ///
    /// # Errors
    /// [`TextError::Range`].
    pub fn parse_list(text: &str) -> Result<Vec<Self>, TextError> {
        let one = |text: &str| {
            let (first, last) = match text.trim().split_once('-') {
                None => (text.trim().parse().ok()?, text.trim().parse().ok()?),
                Some((first, "")) => (first.parse().ok()?, usize::MAX),
                Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
            };
            (1 <= first && first <= last).then_some(LineRange { first, last })
        };
        text.split(',')
            .map(|part| one(part).ok_or_else(|| TextError::Range(part.trim().to_owned())))
            .collect()
    }

    fn contains(self, line: usize) -> bool {
        (self.first..=self.last).contains(&line)
    }
}

/// The part of a text to show; empty lists select everything.
#[derive(Debug, Clone, Default)]
pub struct ShownPart {
    /// Cells to show, by number.
    pub cells: Vec<usize>,
    /// Lines to show, of the text of all cells.
    pub lines: Vec<LineRange>,
    /// Marks have no numbers, so that an inserted cell changes no other line.
    pub unnumbered: bool,
}

/// The marked text of a notebook, or a part of it; the result of `below` stands under its cell. Ends in a newline.
///
/// # Errors
/// A cell cannot be read, or a range begins behind the end.
pub fn show(
    document: &Document,
    part: &ShownPart,
    mut below: impl FnMut(usize, Cell<'_>) -> String,
) -> Result<Result<String, TextError>, NotebookError> {
    let mut out = String::new();
    let mut lines = 0;
    for (number, cell) in document.cells().enumerate() {
        let wanted = part.cells.is_empty() || part.cells.contains(&number);
        if !wanted && part.lines.is_empty() {
            continue;
        }
        let mut text = show_cell(number, cell)?;
        if part.unnumbered {
            let mark = text.find('\n').unwrap_or(text.len());
            let start = text[..mark].rfind(NUMBER).unwrap_or(mark);
            text.replace_range(start..mark, "");
        }
        let first = lines + 1;
        lines += text.matches('\n').count() + 1;
        if part.lines.is_empty() {
            out.push_str(&text);
            out.push('\n');
        } else if wanted {
            let numbered = (first..).zip(text.split('\n'));
            for (_, line) in numbered.filter(|(line, _)| contains_line(&part.lines, *line)) {
                out.push_str(line);
                out.push('\n');
            }
        }
        if wanted && (part.lines.is_empty() || contains_line(&part.lines, lines)) {
            out.push_str(&below(number, cell));
        }
    }
    let behind = part.lines.iter().find(|range| range.first > lines);
    Ok(match behind {
        Some(range) => Err(TextError::Behind(range.first, lines)),
        None => Ok(out),
    })
}

/// The given lines of any text, line ends included.
///
/// # Errors
/// A range begins behind the end.
pub fn lines_of(text: &str, ranges: &[LineRange]) -> Result<String, TextError> {
    let lines = text.split_inclusive('\n').count();
    if let Some(range) = ranges.iter().find(|range| range.first > lines) {
        return Err(TextError::Behind(range.first, lines));
    }
    let numbered = (1..).zip(text.split_inclusive('\n'));
    let wanted = numbered.filter(|(line, _)| contains_line(ranges, *line));
    Ok(wanted.map(|(_, line)| line).collect())
}

fn contains_line(ranges: &[LineRange], line: usize) -> bool {
    ranges.iter().any(|range| range.contains(line))
}

/// The text of one cell: its mark, and its source if it has one; no newline at the end.
///
/// # Errors
/// The cell cannot be read.
pub fn show_cell(number: usize, cell: Cell<'_>) -> Result<String, NotebookError> {
    let kind = match (cell.fault(), cell.kind()) {
        (None, Some(kind)) => kind,
        (fault, _) => return Err(NotebookError::Cell(number, fault.unwrap_or_default())),
    };
    let mut text = format!("{MARK} [{}]{NUMBER}{number}", kind.name());
    let source = cell.source();
    if !source.is_empty() {
        text.push('\n');
        text.push_str(&escape_marks(&source));
    }
    Ok(text)
}

/// The heading of a cell's outputs.
pub fn output_mark(number: usize) -> String {
    format!("{OUTPUT}{number}")
}

/// Adds one `%` to lines of `source` that look like marks.
fn escape_marks(source: &str) -> Cow<'_, str> {
    replace_lines(source, |line| {
        CellMark::parse(line).map(|_| format!("# %{}", &line[2..]))
    })
}

/// Replaces the lines for which `spell` returns a new spelling.
fn replace_lines(source: &str, spell: impl Fn(&str) -> Option<String>) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for at in memmem::find_iter(source.as_bytes(), MARK) {
        if at > 0 && source.as_bytes()[at - 1] != b'\n' {
            continue;
        }
        let end = memchr(b'\n', &source.as_bytes()[at..]).map_or(source.len(), |end| at + end);
        if let Some(line) = spell(&source[at..end]) {
            out.push_str(&source[done..at]);
            out.push_str(&line);
            done = end;
        }
    }
    if done == 0 {
        return Cow::Borrowed(source);
    }
    out.push_str(&source[done..]);
    Cow::Owned(out)
}

struct CellMark<'a> {
    percents: usize,
    kind: CellKind,
    number: Option<&'a str>,
}

impl<'a> CellMark<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let rest = line.strip_prefix("# ")?;
        let after = rest.trim_start_matches('%');
        let percents = rest.len() - after.len();
        let (kind, after) = after.strip_prefix(" [")?.split_once(']')?;
        let number = match after {
            "" => None,
            after => Some(after.strip_prefix(NUMBER)?),
        };
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (percents >= 2 && number.is_none_or(digits)).then_some(CellMark {
            percents,
            kind: CellKind::from_name(kind)?,
            number,
        })
    }
}

/// The form in which lines are compared: marks without their numbers.
pub(super) fn without_number(line: &str) -> &str {
    match CellMark::parse(line) {
        Some(CellMark {
            percents: 2,
            number: Some(number),
            ..
        }) => &line[..line.len() - number.len()],
        _ => line,
    }
}

/// The first output heading in a source, with its line from 0.
pub(super) fn output_line(source: &str) -> Option<(usize, &str)> {
    let numbered = source.split('\n').enumerate();
    numbered.into_iter().find(|(_, line)| {
        line.strip_prefix(OUTPUT).is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

/// The cells of a marked text. One newline at the end of the text belongs to no cell.
///
/// # Errors
/// A line stands before the first mark.
pub fn read_marked(text: &str) -> Result<Vec<MarkedCell<'_>>, TextError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let first = text.split('\n').next().unwrap_or_default();
    let is_mark = |line: &str| CellMark::parse(line).is_some_and(|mark| mark.percents == 2);
    if !is_mark(first) {
        return Err(match first.strip_suffix('\r') {
            Some(line) if is_mark(line) => TextError::LineEnds,
            _ => TextError::NoMark,
        });
    }
    let mut cells: Vec<MarkedCell<'_>> = Vec::new();
    // The start of the last cell's source, behind the newline of its mark.
    let mut start = None;
    let (mut line, mut counted) = (1, 0);
    for at in memmem::find_iter(text.as_bytes(), MARK) {
        if at > 0 && text.as_bytes()[at - 1] != b'\n' {
            continue;
        }
        let end = memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end);
        let Some(mark) = CellMark::parse(&text[at..end]).filter(|mark| mark.percents == 2) else {
            continue;
        };
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..at]).count();
        counted = at;
        set_last_source(&mut cells, text, start, at.saturating_sub(1));
        cells.push(MarkedCell {
            kind: mark.kind,
            number: mark.number.and_then(|number| number.parse().ok()),
            source: Cow::Borrowed(""),
            line,
        });
        start = Some(end + 1);
    }
    set_last_source(&mut cells, text, start, text.len());
    Ok(cells)
}

fn set_last_source<'a>(
    cells: &mut [MarkedCell<'a>],
    text: &'a str,
    start: Option<usize>,
    end: usize,
) {
    if let (Some(cell), Some(start)) = (cells.last_mut(), start)
        && start <= end
    {
        cell.source = replace_lines(&text[start..end], |line| {
            let mark = CellMark::parse(line)?;
            (mark.percents > 2).then(|| line.replacen('%', "", 1))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_parsed_or_refused() {
        let range = |first, last| LineRange { first, last };
        for (text, expected) in [
            ("1", vec![range(1, 1)]),
            (" 4 ,5-6", vec![range(4, 4), range(5, 6)]),
            ("3-3,2-", vec![range(3, 3), range(2, usize::MAX)]),
        ] {
            assert_eq!(LineRange::parse_list(text), Ok(expected), "{text}");
        }
        for (text, wrong) in [("1, 0", "0"), ("0-2", "0-2"), ("3-2", "3-2"), ("1,,2", "")] {
            let error = TextError::Range(wrong.into());
            assert_eq!(LineRange::parse_list(text), Err(error), "{text}");
        }
    }

    #[test]
    fn marks_know_their_lines() {
        let cells = read_marked("# %% [code]\n\na\n# %% [raw]\n# %% [code] cell:3\nb").unwrap();
        let lines: Vec<usize> = cells.iter().map(|cell| cell.line).collect();
        assert_eq!(lines, [1, 4, 5]);
        let byte_order_mark = read_marked("\u{feff}# %% [code]\nx").unwrap();
        assert_eq!(byte_order_mark[0].source, "x");
    }

    #[test]
    fn headings_of_outputs_have_a_number() {
        for (source, expected) in [
            ("# %% [output] cell:12", Some((0, "# %% [output] cell:12"))),
            (
                "a\n\n# %% [output] cell:0\nb",
                Some((2, "# %% [output] cell:0")),
            ),
            (
                "# %% [output] cell:\n# %% [output] cell:1x\n # %% [output] cell:1",
                None,
            ),
        ] {
            assert_eq!(output_line(source), expected, "{source}");
        }
    }

    #[test]
    fn marks_are_compared_without_their_numbers() {
        for (line, expected) in [
            ("# %% [code] cell:12", "# %% [code] cell:"),
            ("# %% [code]", "# %% [code]"),
            ("# %%% [code] cell:12", "# %%% [code] cell:12"),
            ("# %% [sql] cell:12", "# %% [sql] cell:12"),
        ] {
            assert_eq!(without_number(line), expected);
        }
    }
}
