//! The size of a picture on the screen: pixels and cells from its own size and the room.
//!
//! Pure. Invariants: never wider than the room, never taller than two thirds of its rows, never larger than the
//! picture itself, at least one cell, proportions kept as far as whole pixels allow.

/// Size of one cell, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) width: u32,
    pub(super) height: u32,
    /// True when the terminal reported the size; else it is a common default.
    pub(super) known: bool,
}

impl Cell {
    /// The size for terminals that do not report it.
    pub(super) const USUAL: Cell = Cell {
        width: 8,
        height: 16,
        known: false,
    };

    /// The cell of the VT340, which terminals with sixels emulate when they report none.
    pub(super) const VT340: Cell = Cell {
        width: 10,
        height: 20,
        known: false,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) columns: u32,
    pub(super) rows: u32,
    pub(super) cell: Cell,
}

/// Size of a drawn picture: width and height in pixels, and the columns and rows it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fit {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) columns: u32,
    pub(super) rows: u32,
}

impl Fit {
    /// Creates the rows by newlines before anything is drawn: the screen has scrolled by then, so every terminal
    /// ends in the row below, wherever it leaves its cursor. The cursor returns to the start of the first row.
    pub(super) fn reserve_rows(&self, out: &mut Vec<u8>) {
        out.extend(std::iter::repeat_n(b'\n', self.rows as usize));
        out.extend_from_slice(format!("\x1b[{}A", self.rows).as_bytes());
    }

    /// Moves the cursor from the first row to the start of the one below the last.
    pub(super) fn move_below(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("\x1b[{}B\r", self.rows).as_bytes());
    }
}

impl Room {
    fn height(&self) -> u32 {
        (self.rows * 2 / 3).max(1)
    }

    pub(super) fn fit(&self, (width, height): (u32, u32)) -> Fit {
        let (columns, rows) = (self.columns.max(1), self.height());
        let scale = ratio(columns * self.cell.width, width)
            .min(ratio(rows * self.cell.height, height))
            .min(1.0);
        let (width, height) = (scaled(width, scale), scaled(height, scale));
        Fit {
            width,
            height,
            columns: width.div_ceil(self.cell.width).clamp(1, columns),
            rows: height.div_ceil(self.cell.height).clamp(1, rows),
        }
    }

    /// Fits a picture for half blocks: `width` counts columns, `height` half rows.
    pub(super) fn fit_blocks(&self, (width, height): (u32, u32)) -> Fit {
        let (columns, rows) = (self.columns.max(1), self.height());
        // Size in pixels of half a cell.
        let (across, down) = (
            f64::from(self.cell.width),
            f64::from(self.cell.height) / 2.0,
        );
        let scale = (ratio(columns, width) * across)
            .min(ratio(2 * rows, height) * down)
            .min(across)
            .min(down);
        let (width, height) = (scaled(width, scale / across), scaled(height, scale / down));
        let (width, height) = (width.min(columns), height.min(2 * rows));
        Fit {
            width,
            height,
            columns: width,
            rows: height.div_ceil(2),
        }
    }
}

/// Returns this size, or a smaller one with no side longer than `side`.
pub(super) fn within((width, height): (u32, u32), side: u32) -> (u32, u32) {
    let scale = ratio(side, width).min(ratio(side, height)).min(1.0);
    (scaled(width, scale), scaled(height, scale))
}

fn ratio(room: u32, size: u32) -> f64 {
    f64::from(room) / f64::from(size.max(1))
}

fn scaled(size: u32, scale: f64) -> u32 {
    // Within the bounds of `u32`, since the scale is at most one.
    ((f64::from(size) * scale).round() as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    fn room(columns: u32, rows: u32) -> Room {
        Room {
            columns,
            rows,
            cell: Cell {
                width: 10,
                height: 20,
                known: true,
            },
        }
    }

    #[test]
    fn pictures_of_some_sizes() {
        let check = |room: Room, size, expected: (u32, u32, u32, u32)| {
            let fit = room.fit(size);
            assert_eq!((fit.width, fit.height, fit.columns, fit.rows), expected);
        };
        check(room(80, 24), (2, 2), (2, 2, 1, 1));
        check(room(80, 24), (400, 300), (400, 300, 40, 15));
        check(room(80, 24), (640, 480), (427, 320, 43, 16));
        check(room(40, 60), (800, 400), (400, 200, 40, 10));
        check(room(80, 24), (1, 100_000), (1, 320, 1, 16));
        check(room(1, 1), (640, 480), (10, 8, 1, 1));
    }

    #[test]
    fn sides_that_are_too_long() {
        assert_eq!(within((640, 480), 1000), (640, 480));
        assert_eq!(within((2000, 500), 1000), (1000, 250));
        assert_eq!(within((3, 4000), 1000), (1, 1000));
    }

    #[test]
    fn half_blocks_of_some_sizes() {
        let check = |size, expected: (u32, u32, u32)| {
            let fit = room(80, 24).fit_blocks(size);
            assert_eq!((fit.width, fit.height, fit.rows), expected);
        };
        check((2, 2), (2, 2, 1));
        check((3, 3), (3, 3, 2));
        check((640, 480), (43, 32, 16));
        check((1000, 10), (80, 1, 1));
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn nothing_outgrows_the_room(
            size in (1u32..20_000, 1u32..20_000), columns in 1u32..500, rows in 1u32..300,
            cell in (1u32..40, 1u32..80),
        ) {
            let room = Room { columns, rows, cell: Cell { width: cell.0, height: cell.1, known: true } };
            for fit in [room.fit(size), room.fit_blocks(size)] {
                prop_assert!((1..=columns).contains(&fit.columns));
                prop_assert!((1..=(rows * 2 / 3).max(1)).contains(&fit.rows));
                prop_assert!((1..=size.0).contains(&fit.width) && (1..=size.1).contains(&fit.height));
            }
        }
    }
}
