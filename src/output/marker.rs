//! The line that stands for what was left out of a text.
//!
//! [`super::parts`] reads it; the runner's `cut.py` writes the same.

/// What became of the part that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest<'a> {
    /// Nothing keeps it: what made the text has to be asked again.
    Gone,
    /// The agent's tool `read_output` has the whole text under this id.
    Kept(&'a str),
}

/// The line that stands for the `missing` code points that are left out after `before`, of a text of so many code
/// points and lines.
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

/// `1,234,567`.
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
