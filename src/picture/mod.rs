//! Pictures as pixels: read, made smaller, written; and pictures as a model takes them.
//!
//! In: bytes of files. Out: [`Pixels`], or a picture [`for_model`]. Invariant: broken data is a [`PictureError`], never
//! a panic, and nothing is decoded that would take more memory than its limit says. Absent on purpose: drawing, and
//! drawings (`display/picture`).

mod decode;
mod error;
mod for_model;
mod pixels;

pub(crate) use decode::{MOST_BYTES, allowed, pixels, size};
pub(crate) use error::PictureError;
pub(crate) use for_model::for_model;
pub(crate) use pixels::Pixels;
