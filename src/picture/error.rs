//! What keeps a picture from being shown, in words.

/// Why a picture is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PictureError {
    /// The data is not what it should be.
    #[error("the picture is damaged")]
    Broken,
    /// Nothing we can read.
    #[error("not a picture that can be drawn")]
    Unknown,
    /// More pixels than are decoded.
    #[error("{width}×{height} pixels is too large to draw")]
    Large {
        /// As its header says.
        width: u32,
        /// As its header says.
        height: u32,
    },
    /// A drawing with blur, shadows and the like.
    #[error("drawings with filters are not drawn")]
    Effects,
    /// Groups in groups, or clips of clips.
    #[error("the drawing is nested too deep to draw")]
    Deep,
    /// More bytes than are looked at.
    #[error("{0} MiB is too much to draw")]
    Long(usize),
}
