//! Tables: column widths, and rows of cells to rows of the screen.
//!
//! In: cells as inline pieces, alignments, the width. Out: lines, each with the offset of its source row. Invariant:
//! with [`Columns`] given, a row's lines depend on that row alone, so a table whose head has scrolled away can be
//! continued. Where columns would get too narrow to read, each row becomes a list of `head: cell` lines. Absent on
//! purpose: a crate for tables; none supports links and styles inside a cell as this module does.

use nu_ansi_term::Style;
use pulldown_cmark::Alignment;

use super::inline::InlinePiece;
use super::theme;
use super::wrap::wrap;
use crate::{Line, columns};

const NARROWEST: usize = 5;
const SEPARATOR: &str = " │ ";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    widths: Vec<usize>,
    count: usize,
    total: usize,
}

type Cells = Vec<Vec<InlinePiece>>;

impl Columns {
    /// True while the widths still apply.
    pub(crate) fn fit(&self, total: usize, rows: &[(usize, Cells)]) -> bool {
        self.total == total
            && rows
                .first()
                .is_some_and(|(_, head)| head.len() == self.count)
    }

    fn measure(rows: &[(usize, Cells)], total: usize) -> Self {
        let count = rows.first().map_or(0, |(_, head)| head.len());
        let mut widths = vec![1; count];
        for (_, cells) in rows {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell_columns(cell));
            }
        }
        let room = total.saturating_sub(columns(SEPARATOR) * count.saturating_sub(1));
        let narrow: usize = widths.iter().map(|width| (*width).min(NARROWEST)).sum();
        if narrow > room {
            widths.clear();
        }
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter().copied().max().unwrap_or(0);
            let next = widths
                .iter()
                .copied()
                .filter(|width| *width < widest)
                .max()
                .unwrap_or(1);
            let over = widths.iter().sum::<usize>() - room;
            let sharing = widths.iter().filter(|width| **width == widest).count();
            let step = (over / sharing).clamp(1, (widest - next).max(1));
            let mut left = over;
            for width in widths.iter_mut().filter(|width| **width == widest) {
                let cut = step.min(left);
                *width -= cut;
                left -= cut;
            }
        }
        Columns {
            widths,
            count,
            total,
        }
    }
}

fn cell_columns(cell: &[InlinePiece]) -> usize {
    cell.iter().map(|piece| columns(&piece.text)).sum()
}

pub(crate) fn lay_out_table(
    alignments: &[Alignment],
    rows: &[(usize, Cells)],
    total: usize,
    fixed: Option<&Columns>,
) -> (Columns, Vec<(usize, Line)>) {
    let used = fixed
        .cloned()
        .unwrap_or_else(|| Columns::measure(rows, total));
    let mut out = Vec::new();
    if used.widths.is_empty() {
        stacked(rows, total, &mut out);
        return (used, out);
    }
    for (n, (at, cells)) in rows.iter().enumerate() {
        grid_row(cells, alignments, &used.widths, *at, &mut out);
        if n == 0 {
            let parts: Vec<String> = used.widths.iter().map(|width| "─".repeat(*width)).collect();
            let mut line = Line::default();
            line.push(&parts.join("─┼─"), theme::faint(), None);
            out.push((*at, line));
        }
    }
    (used, out)
}

fn grid_row(
    cells: &Cells,
    alignments: &[Alignment],
    widths: &[usize],
    at: usize,
    out: &mut Vec<(usize, Line)>,
) {
    let wrapped: Vec<Vec<Line>> = widths
        .iter()
        .enumerate()
        .map(|(n, width)| {
            let cell = cells.get(n).map(Vec::as_slice).unwrap_or_default();
            wrap(cell, *width, 0)
                .into_iter()
                .map(|row| row.line)
                .collect()
        })
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let last = widths.len().saturating_sub(1);
    for row in 0..height {
        let mut line = Line::default();
        for (n, width) in widths.iter().enumerate() {
            if n > 0 {
                line.push(SEPARATOR, theme::faint(), None);
            }
            let empty = Line::default();
            let content = wrapped[n].get(row).unwrap_or(&empty);
            let room = width.saturating_sub(content.width());
            let before = match alignments.get(n) {
                Some(Alignment::Right) => room,
                Some(Alignment::Center) => room / 2,
                _ => 0,
            };
            line.push(&" ".repeat(before), Style::new(), None);
            for span in content.spans() {
                line.push(&span.text, span.style, span.link.as_ref());
            }
            if n < last {
                line.push(&" ".repeat(room - before), Style::new(), None);
            }
        }
        out.push((at, line));
    }
}

/// Makes `head: cell` lines with a short rule between rows.
fn stacked(rows: &[(usize, Cells)], total: usize, out: &mut Vec<(usize, Line)>) {
    let Some(((head_at, head), body)) = rows.split_first() else {
        return;
    };
    let plain = |text: &str, at: usize| InlinePiece {
        text: text.to_owned(),
        style: Style::new(),
        link: None,
        at,
        exact: false,
    };
    if body.is_empty() {
        for cell in head {
            out.extend(
                wrap(cell, total, 0)
                    .into_iter()
                    .map(|row| (*head_at, row.line)),
            );
        }
        return;
    }
    for (at, cells) in body {
        // The rule precedes a row rather than following one, so that a row's lines depend on that row alone.
        let mut rule = Line::default();
        rule.push(&"─".repeat(total.min(8)), theme::faint(), None);
        out.push((*at, rule));
        for (name, cell) in head.iter().zip(cells) {
            let mut pieces = name.clone();
            if cell_columns(name) > 0 {
                pieces.push(plain(": ", *at));
            }
            pieces.extend(cell.iter().cloned());
            out.extend(
                wrap(&pieces, total, 0)
                    .into_iter()
                    .map(|row| (*at, row.line)),
            );
        }
    }
}
