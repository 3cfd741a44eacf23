//! A picture for a model: unchanged, or scaled down where it is too large.
//!
//! In: bytes of a PNG, JPEG, GIF or WebP. Out: a `data:` URL, and the change of size. Invariant: the result is
//! within [`LONGEST_SIDE`] and [`LARGEST`]; a picture within both keeps its bytes. An animated GIF that is too large
//! becomes its first frame.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::decode::{pixels_of_at_most, size_of_at_most};
use super::error::PictureError;
use crate::output::picture_type;

/// Longer side in pixels: services scale larger pictures, or refuse them.
const LONGEST_SIDE: u32 = 2048;

/// Size of the file in bytes; base64 is a third longer, and services take at most 5 MB of that.
const LARGEST: usize = 3 << 20;

/// Most pixels that are decoded to be scaled down: 256 MiB of memory, briefly.
const MOST_PIXELS: u64 = 64 << 20;

/// Factor of each step of scaling while the picture is too large.
const STEP: f64 = 0.75;

/// Width and height before and after scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MadeSmaller {
    from: (u32, u32),
    to: (u32, u32),
}

impl fmt::Display for MadeSmaller {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MadeSmaller { from, to } = self;
        write!(
            out,
            "{}×{}, made smaller: {}×{}",
            from.0, from.1, to.0, to.1
        )
    }
}

/// Returns the picture as a `data:` URL, and its change of size if it was scaled down.
///
/// # Errors
/// The format is none that models take, the data is invalid, or the picture is too large even to be scaled down.
pub fn for_model(file: &[u8]) -> Result<(String, Option<MadeSmaller>), PictureError> {
    let mime = picture_type(file).ok_or(PictureError::Unknown)?;
    let from = size_of_at_most(file, MOST_PIXELS)?;
    let longest = from.0.max(from.1);
    if longest <= LONGEST_SIDE && file.len() <= LARGEST {
        return Ok((data_url(mime, file), None));
    }
    let whole = pixels_of_at_most(file, MOST_PIXELS)?;
    let mut scale = (f64::from(LONGEST_SIDE) / f64::from(longest)).min(1.0);
    loop {
        let side = |length: u32| ((f64::from(length) * scale) as u32).max(1);
        let smaller = whole.shrunk(side(from.0), side(from.1));
        let png = smaller.to_png()?;
        if png.len() <= LARGEST {
            let to = (smaller.width(), smaller.height());
            let made = (to != from).then_some(MadeSmaller { from, to });
            return Ok((data_url("image/png", &png), made));
        }
        scale *= STEP;
    }
}

fn data_url(mime: &str, bytes: &[u8]) -> String {
    format!("data:{mime};base64,{}", BASE64_STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Pixels, size};

    /// A picture that does not compress.
    fn noise(width: u32, height: u32) -> Vec<u8> {
        let mut state = 1u32;
        let bytes = (0..width * height * 4).map(|n| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if n % 4 == 3 { 255 } else { (state >> 24) as u8 }
        });
        let picture = Pixels::new(width, height, bytes.collect()).unwrap();
        picture.to_png().unwrap()
    }

    fn decoded(url: &str) -> Vec<u8> {
        let (_, data) = url.split_once(";base64,").unwrap();
        BASE64_STANDARD.decode(data).unwrap()
    }

    #[test]
    fn what_fits_keeps_its_bytes() {
        let file = noise(40, 30);
        let (url, made) = for_model(&file).unwrap();
        assert_eq!((decoded(&url), made), (file, None));
        assert!(url.starts_with("data:image/png;base64,"));
    }

    #[test]
    fn what_is_too_wide_is_made_smaller_in_proportion() {
        let wide = Pixels::new(4096, 16, [10, 20, 30, 255].repeat(4096 * 16)).unwrap();
        let (url, made) = for_model(&wide.to_png().unwrap()).unwrap();
        assert_eq!(size(&decoded(&url)), Ok((2048, 8)));
        assert_eq!(made.unwrap().to_string(), "4096×16, made smaller: 2048×8");
    }

    #[test]
    fn what_has_too_many_bytes_is_made_smaller_until_it_fits() {
        let file = noise(1200, 1000);
        assert!(file.len() > LARGEST);
        let (url, made) = for_model(&file).unwrap();
        let (small, made) = (decoded(&url), made.unwrap());
        assert!(small.len() <= LARGEST, "{}", small.len());
        assert_eq!((size(&small), made.from), (Ok(made.to), (1200, 1000)));
    }

    #[test]
    fn what_is_no_picture_or_a_broken_one_is_trouble() {
        assert_eq!(for_model(b"hello"), Err(PictureError::Unknown));
        let file = noise(20, 20);
        assert_eq!(for_model(&file[..20]), Err(PictureError::Broken));
    }
}
