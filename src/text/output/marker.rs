//! The line that stands for the part left out of a text.
//!
//! Pure. [`super::parts`] reads such lines; the runner's `cut.py` writes the same.

/// How the part that is left out can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest<'a> {
    /// Not kept: the text has to be produced again.
    Gone,
    /// The agent's tool `read_output` has the whole text under this id.
    Kept(&'a str),
}

/// Returns the line that stands for `missing` code points left out after `before`, with the size of the whole text
/// in code points and lines.
pub(crate) fn marker(
    characters: u64,
    lines: u64,
    missing: u64,
    before: usize,
    rest: Rest<'_>,
) -> String {
    let (characters, missing, noun) = (
        grouped(characters),
        grouped(missing),
        if lines == 1 { "line" } else { "lines" },
    );
    let how = match rest {
        Rest::Gone => "print a slice to see it".to_owned(),
        Rest::Kept(id) => format!("read_output(id=\"{id}\", offset={before}) shows it"),
    };
    let lines = grouped(lines);
    format!(
        "[… {characters} characters, {lines} {noun} in all; {missing} in the middle are left out; {how} …]"
    )
}

/// Formats with a comma between thousands: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
