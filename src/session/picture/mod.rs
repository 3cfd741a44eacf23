//! Pictures as pixels: decoded, scaled down, encoded; and pictures for a model.
//!
//! In: bytes of files. Out: [`Pixels`], or a picture [`for_model`]. Invariant: invalid data is a [`PictureError`],
//! never a panic, and pictures that would take more memory than their limit are not decoded. Absent on purpose:
//! drawing on the terminal, and vector drawings (`display/picture`).

mod decode;
mod error;
mod for_model;
mod pixels;

pub use decode::{MOST_BYTES, allowed, pixels, size};
pub use error::PictureError;
pub use for_model::for_model;
pub use pixels::Pixels;
