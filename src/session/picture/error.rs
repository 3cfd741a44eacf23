//! Reasons why a picture is not shown; each displays as a phrase for the user.

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    #[error("the picture is damaged")]
    Broken,
    #[error("not a picture that can be drawn")]
    Unknown,
    #[error("{width}×{height} pixels is too large to draw")]
    Large {
        /// In pixels, from the header.
        width: u32,
        height: u32,
    },
    /// A vector drawing with blur, shadows or other filters.
    #[error("drawings with filters are not drawn")]
    Effects,
    #[error("the drawing is nested too deep to draw")]
    Deep,
    /// Size in MiB, above the limit.
    #[error("{0} MiB is too much to draw")]
    Long(usize),
}
