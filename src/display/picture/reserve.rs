//! Rows for a picture that the terminal draws itself.
//!
//! The rows are made first, by newlines, so that the screen has scrolled before the picture is drawn, wherever the
//! terminal leaves its cursor afterwards: then every terminal ends in the row below.

/// Makes `rows` rows; the cursor is at the start of the first.
pub(super) fn reserve(rows: u32, out: &mut Vec<u8>) {
    out.extend(std::iter::repeat_n(b'\n', rows as usize));
    out.extend_from_slice(format!("\x1b[{rows}A").as_bytes());
}

/// From the first row to the start of the one below the last.
pub(super) fn below(rows: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("\x1b[{rows}B\r").as_bytes());
}
