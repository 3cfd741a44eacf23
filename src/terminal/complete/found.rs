//! A completion found.

/// Something that can stand between `start` and the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundCompletion {
    /// Bytes from the start of the text.
    pub(super) start: usize,
    pub(super) value: String,
    /// Its kind, for the second column.
    pub(super) detail: String,
}
