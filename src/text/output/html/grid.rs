//! A table's cells as lines with aligned columns, within a width.
//!
//! In: rows of cells, including those that span several columns or rows. Out: lines. Invariants: no line is wider
//! than the width; numeric columns are aligned right, others left; where there is no room the widest columns are cut
//! (`…`), then columns in the middle are replaced by one `…`, as pandas does. Absent on purpose: frames.

use crate::{columns, counted, cut_with, joined_words};

const GAP: usize = 2;

/// Columns are not cut below this width.
const NARROWEST: usize = 6;

const MOST_COLUMNS: usize = 200;

const MOST_ROWS: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Grid {
    rows: Vec<Vec<Cell>>,
    open: Option<Open>,
    /// For each column, how many of the next rows are covered by a cell above.
    taken: Vec<usize>,
}

#[derive(Debug, Clone, Default)]
struct Cell {
    text: String,
    header: bool,
}

#[derive(Debug)]
struct Open {
    header: bool,
    across: usize,
    down: usize,
}

impl Grid {
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Begins a cell that spans `across` columns and `down` rows.
    pub(super) fn begin_cell(&mut self, header: bool, across: usize, down: usize) {
        if self.rows.is_empty() {
            self.row();
        }
        self.open = Some(Open {
            header,
            across: across.clamp(1, MOST_COLUMNS),
            down: down.clamp(1, MOST_ROWS),
        });
    }

    pub(super) fn is_in_cell(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn end_cell(&mut self, text: String) {
        let (Some(open), Some(row)) = (self.open.take(), self.rows.last_mut()) else {
            return;
        };
        fill(row, &mut self.taken);
        let text = joined_words(&text);
        let mut text = Some(text);
        for _ in 0..open.across {
            if row.len() >= MOST_COLUMNS {
                break;
            }
            row.push(Cell {
                text: text.take().unwrap_or_default(),
                header: open.header,
            });
            self.taken.resize(self.taken.len().max(row.len()), 0);
            self.taken[row.len() - 1] = open.down - 1;
        }
    }

    pub(super) fn lines(mut self, width: usize) -> Vec<String> {
        self.rows.retain(|row| !row.is_empty());
        let left_out = self.rows.len().saturating_sub(MOST_ROWS);
        self.rows.truncate(MOST_ROWS);
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        for row in &mut self.rows {
            row.resize(count, Cell::default());
        }
        let widths = self.widths(count);
        let (kept, widths) = fit(widths, width);
        let numeric: Vec<bool> = (0..count).map(|column| self.is_numeric(column)).collect();
        let line = |row: &Vec<Cell>| {
            let mut line = String::new();
            for (n, (column, width)) in kept.iter().zip(&widths).enumerate() {
                let (text, right) = match column {
                    Some(column) => (row[*column].text.as_str(), numeric[*column]),
                    None => ("…", false),
                };
                let text = cut_with(text, *width, "…");
                let blanks = " ".repeat(width - columns(&text).min(*width));
                let before = if n > 0 {
                    " ".repeat(GAP)
                } else {
                    String::new()
                };
                line.push_str(&before);
                if right {
                    line.push_str(&blanks);
                }
                line.push_str(&text);
                if !right {
                    line.push_str(&blanks);
                }
            }
            line.truncate(line.trim_end().len());
            line
        };
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
        if left_out > 0 {
            lines.push(format!("… {}", counted(left_out, "more row")));
        }
        lines
    }

    fn widths(&self, count: usize) -> Vec<usize> {
        let width = |column: usize| {
            let texts = self.rows.iter().map(|row| columns(&row[column].text));
            texts.max().unwrap_or(0)
        };
        (0..count).map(width).collect()
    }

    /// True when all cells of the column but its headers are numbers.
    fn is_numeric(&self, column: usize) -> bool {
        let mut cells = self
            .rows
            .iter()
            .map(|row| &row[column])
            .filter(|cell| !cell.header && !cell.text.is_empty())
            .peekable();
        cells.peek().is_some() && cells.all(|cell| is_number(&cell.text))
    }
}

/// Inserts into `row` the places covered by cells of rows above.
fn fill(row: &mut Vec<Cell>, taken: &mut [usize]) {
    while let Some(left) = taken.get_mut(row.len())
        && *left > 0
    {
        *left -= 1;
        row.push(Cell::default());
    }
}

fn is_number(text: &str) -> bool {
    let text = text.trim_end_matches('%').replace([',', '_', ' '], "");
    matches!(text.as_str(), "NaN" | "nan" | "-" | "—" | "...") || text.parse::<f64>().is_ok()
}

/// Returns the columns that are shown (`None`: the mark for those left out) and their widths.
fn fit(mut widths: Vec<usize>, room: usize) -> (Vec<Option<usize>>, Vec<usize>) {
    let total =
        |widths: &[usize]| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    let mut kept: Vec<Option<usize>> = (0..widths.len()).map(Some).collect();
    // The widest columns shrink first, down to a common width.
    let mut most = widths.iter().copied().max().unwrap_or(0);
    while total(&widths) > room && most > NARROWEST {
        most -= 1;
        let over = total(&widths) - room;
        let wide: Vec<usize> = (0..widths.len()).filter(|n| widths[*n] > most).collect();
        wide.into_iter().take(over).for_each(|n| widths[n] -= 1);
    }
    while total(&widths) > room && widths.len() > 1 {
        match kept.iter().position(Option::is_none) {
            None => {
                let middle = kept.len() / 2;
                (kept[middle], widths[middle]) = (None, 1);
            }
            // The last column shows more than the mark would.
            Some(mark) if kept.len() == 2 => {
                kept.remove(mark);
                widths.remove(mark);
            }
            // Columns are removed from the longer side.
            Some(mark) if mark > 0 && mark > kept.len() - 1 - mark => {
                kept.remove(mark - 1);
                widths.remove(mark - 1);
            }
            Some(mark) => {
                kept.remove(mark + 1);
                widths.remove(mark + 1);
            }
        }
    }
    if let [width] = widths.as_mut_slice() {
        *width = (*width).min(room);
    }
    (kept, widths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    fn grid(rows: &[&[&str]]) -> Grid {
        let mut grid = Grid::default();
        for (n, row) in rows.iter().enumerate() {
            grid.row();
            for cell in *row {
                grid.begin_cell(n == 0, 1, 1);
                grid.end_cell((*cell).to_owned());
            }
        }
        grid
    }

    #[test]
    fn columns_within_a_width() {
        let rows: &[&[&str]] = &[
            &["name", "size", "what it is for"],
            &["a", "10", "a long text about it"],
            &["bcd", "2.5", "short"],
        ];
        let check = |width, expected: &[&str]| assert_eq!(grid(rows).lines(width), expected);
        check(
            80,
            &[
                "name  size  what it is for",
                "a       10  a long text about it",
                "bcd    2.5  short",
            ],
        );
        check(
            24,
            &[
                "name  size  what it is …",
                "a       10  a long text…",
                "bcd    2.5  short",
            ],
        );
        check(12, &["name  …", "a     …", "bcd   …"]);
        check(2, &["n…", "a", "b…"]);
        assert_eq!(grid(&[]).lines(80), Vec::<String>::new());
    }

    #[test]
    fn cells_that_span() {
        let mut grid = Grid::default();
        for (row, cells) in [
            vec![("k", 1, 2), ("v", 2, 1)],
            vec![("x", 1, 1), ("y", 1, 1)],
        ]
        .into_iter()
        .enumerate()
        {
            assert!(row < 2);
            grid.row();
            for (text, across, down) in cells {
                grid.begin_cell(false, across, down);
                grid.end_cell(text.to_owned());
            }
        }
        assert_eq!(grid.lines(80), ["k  v", "   x  y"]);
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn no_line_is_too_wide(
            rows in prop::collection::vec(prop::collection::vec("[a-z0-9 漢é]{0,12}", 0..8), 0..6), width in 1usize..60,
        ) {
            let mut grid = Grid::default();
            for row in rows {
                grid.row();
                for cell in row {
                    grid.begin_cell(false, 1, 1);
                    grid.end_cell(cell);
                }
            }
            for line in grid.lines(width) {
                prop_assert!(columns(&line) <= width, "{:?}", line);
            }
        }
    }
}
