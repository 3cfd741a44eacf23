//! Something that could stand at the cursor.

/// Something that can stand between `start` and the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundCompletion {
    /// Bytes from the start of the text.
    pub(super) start: usize,
    pub(super) value: String,
    /// What it is, for the second column.
    pub(super) detail: String,
}
