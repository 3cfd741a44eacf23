//! Maps lines and turns of this process to rows of the file.
//!
//! In and out: In numbers. Invariant: an existing row is never overwritten. When the number of an input is taken (two
//! processes on one session, or a session begun only after its first inputs had their numbers), the input and all
//! after it move behind the last row.

use std::collections::HashMap;

use super::values::TurnKey;

/// Numbers of this process to numbers in the file.
#[derive(Debug, Clone, Default)]
pub(super) struct LineMap {
    /// Offsets: from this number of ours on, the second is added; ascending.
    shifts: Vec<(u32, u32)>,
}

impl LineMap {
    pub(super) fn to_file(&self, line: u32) -> u32 {
        let shift = self.shifts.iter().rfind(|(from, _)| *from <= line);
        shift.map_or(line, |(_, by)| line.saturating_add(*by))
    }

    /// Moves our `line`, and with it all later ones, to `target`.
    pub(super) fn shift(&mut self, line: u32, target: u32) {
        self.shifts.retain(|(from, _)| *from < line);
        self.shifts.push((line, target.saturating_sub(line)));
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct RowMap {
    pub(super) turns: HashMap<TurnKey, i64>,
    pub(super) lines: LineMap,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_lines_move_with_the_one_that_was_shifted() {
        let mut lines = LineMap::default();
        assert_eq!(lines.to_file(3), 3);
        lines.shift(3, 10);
        lines.shift(5, 20);
        let all: Vec<u32> = (1..=6).map(|line| lines.to_file(line)).collect();
        assert_eq!(all, [1, 2, 10, 11, 20, 21]);
        lines.shift(4, 30);
        assert_eq!((lines.to_file(3), lines.to_file(5)), (10, 31));
    }
}
