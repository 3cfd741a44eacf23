//! A completion, before it is converted for reedline.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundCompletion {
    /// Bytes from the start of the text.
    pub(super) start: usize,
    pub(super) value: String,
    /// Its kind, for the second column.
    pub(super) detail: String,
}
