//! Where the inputs of this process lie in the file.
//!
//! In and out: In numbers. Invariant: a row that is there is never written over. When the place of an input is taken
//! (two processes on one session, or a session taken up only after its first inputs had their numbers), it and all
//! after it move behind the last row.

/// Numbers of this process to numbers in the file.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    /// From this number of ours on, so much is added; ascending.
    shifts: Vec<(u32, u32)>,
}

impl Lines {
    /// The number in the file.
    pub(super) fn of(&self, line: u32) -> u32 {
        let shift = self.shifts.iter().rfind(|(from, _)| *from <= line);
        shift.map_or(line, |(_, by)| line.saturating_add(*by))
    }

    /// Our `line`, and with it all later ones, moves to `target`.
    pub(super) fn move_to(&mut self, line: u32, target: u32) {
        self.shifts.retain(|(from, _)| *from < line);
        self.shifts.push((line, target.saturating_sub(line)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moved_takes_the_later_ones_along() {
        let mut lines = Lines::default();
        assert_eq!(lines.of(3), 3);
        lines.move_to(3, 10);
        lines.move_to(5, 20);
        let all: Vec<u32> = (1..=6).map(|line| lines.of(line)).collect();
        assert_eq!(all, [1, 2, 10, 11, 20, 21]);
        lines.move_to(4, 30);
        assert_eq!((lines.of(3), lines.of(5)), (10, 31));
    }
}
