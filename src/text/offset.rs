//! Positions in text, each with its unit in its type.
//!
//! Python and Jupyter count code points, browsers and some agents UTF-16 units, Rust and the line editor bytes. All
//! conversions of the project are in this file.

/// A count of Unicode code points from the start of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CodePoints(pub usize);

impl CodePoints {
    /// Returns the code-point position of byte offset `bytes` in `text`; an offset past the end or inside a
    /// character is rounded down.
    pub fn from_bytes(text: &str, bytes: usize) -> Self {
        CodePoints(
            text.char_indices()
                .take_while(|(at, c)| at + c.len_utf8() <= bytes)
                .count(),
        )
    }

    /// Returns the byte offset of this position in `text`; `text.len()` past the end.
    pub fn to_bytes(self, text: &str) -> usize {
        text.char_indices()
            .nth(self.0)
            .map_or(text.len(), |(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_at_every_boundary() {
        let text = "aé漢🙂z";
        for (n, (at, _)) in text.char_indices().enumerate() {
            assert_eq!(CodePoints::from_bytes(text, at), CodePoints(n));
            assert_eq!(CodePoints(n).to_bytes(text), at);
        }
        assert_eq!(CodePoints::from_bytes(text, 999), CodePoints(5));
        assert_eq!(CodePoints(999).to_bytes(text), text.len());
        assert_eq!(CodePoints::from_bytes(text, 2), CodePoints(1));
    }
}
