//! Rows of cells as text with aligned columns. Pure.

use super::columns;

/// Returns one line per row, with two blanks between columns.
pub fn aligned<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| columns(&row[at])).max().unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let cells =
            cells.map(|(cell, width)| format!("{cell}{}", " ".repeat(width - columns(cell))));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
