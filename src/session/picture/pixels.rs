//! A picture in memory: four bytes a pixel, red, green, blue, alpha (straight), row by row.
//!
//! In: such bytes. Out: a smaller picture, a PNG. Invariant: the number of bytes matches the size.

use super::error::PictureError;

/// Samples of a pixel, across and down, that are compared: with so many, a line of a plot fills one, and a
/// photograph is not yet grainy.
const PARTS: u32 = 6;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    width: u32,
    height: u32,
    bytes: Vec<u8>,
}

impl Pixels {
    /// Creates a picture; `None` when it is empty or the number of bytes does not match the size.
    pub fn new(width: u32, height: u32, bytes: Vec<u8>) -> Option<Self> {
        let wanted = u64::from(width) * u64::from(height) * 4;
        (wanted > 0 && bytes.len() as u64 == wanted).then_some(Pixels {
            width,
            height,
            bytes,
        })
    }

    pub fn width(&self) -> u32 {
        self.width
    }

    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the pixel at a place; `None` outside of the picture.
    pub fn get(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let at = (y as usize * self.width as usize + x as usize) * 4;
        self.bytes[at..at + 4].try_into().ok()
    }

    /// Scales to a smaller (or equal) size: each pixel is the mean of those it covers, weighted by their alpha.
    pub fn shrunk(&self, width: u32, height: u32) -> Pixels {
        let (width, height) = (width.clamp(1, self.width), height.clamp(1, self.height));
        if (width, height) == (self.width, self.height) {
            return self.clone();
        }
        let across = spans(self.width, width);
        let mut bytes = Vec::with_capacity(width as usize * height as usize * 4);
        let mut sums = vec![[0u64; 4]; width as usize];
        for (top, bottom) in spans(self.height, height) {
            sums.fill([0; 4]);
            for y in top..bottom {
                let row = &self.bytes[y * self.width as usize * 4..][..self.width as usize * 4];
                for (sum, (left, right)) in sums.iter_mut().zip(&across) {
                    for pixel in row[left * 4..right * 4].chunks_exact(4) {
                        let alpha = u64::from(pixel[3]);
                        for (sum, value) in sum.iter_mut().zip(&pixel[..3]) {
                            *sum += u64::from(*value) * alpha;
                        }
                        sum[3] += alpha;
                    }
                }
            }
            for (sum, (left, right)) in sums.iter().zip(&across) {
                let count = ((bottom - top) * (right - left)) as u64;
                let alpha = sum[3].max(1);
                for colour in &sum[..3] {
                    bytes.push(((colour + alpha / 2) / alpha) as u8);
                }
                bytes.push(((sum[3] + count / 2) / count) as u8);
            }
        }
        Pixels {
            width,
            height,
            bytes,
        }
    }

    /// As [`Pixels::shrunk`], but thin lines stay visible: each pixel is halfway between the mean of the covered
    /// pixels and the covered part that differs most. Colours are weighted by their alpha.
    pub fn condensed(&self, width: u32, height: u32) -> Pixels {
        let mut mean = self.shrunk(width, height);
        let across = (self.width / mean.width).min(self.height / mean.height);
        let parts = PARTS.min(across);
        if parts < 2 {
            return mean;
        }
        let finer = self.shrunk(mean.width * parts, mean.height * parts);
        let row = mean.width as usize;
        for (n, pixel) in mean.bytes.chunks_exact_mut(4).enumerate() {
            let (x, y) = ((n % row) as u32 * parts, (n / row) as u32 * parts);
            let parts = (0..parts * parts).filter_map(|n| finer.get(x + n % parts, y + n / parts));
            let own = seen([pixel[0], pixel[1], pixel[2], pixel[3]]);
            let distance = |part: &[u32; 4]| -> u32 {
                let apart = part.iter().zip(own);
                apart.map(|(a, b)| a.abs_diff(b)).sum()
            };
            if let Some(other) = parts.map(seen).max_by_key(distance) {
                let alpha = own[3] + other[3];
                for (at, value) in pixel.iter_mut().enumerate() {
                    let both = own[at] + other[at];
                    *value = match at {
                        3 => (alpha / 2 / 255) as u8,
                        _ => (both * 255).checked_div(alpha).unwrap_or(0).min(255) as u8,
                    };
                }
            }
        }
        mean
    }

    pub fn over(mut self, ground: [u8; 3]) -> Pixels {
        for pixel in self.bytes.chunks_exact_mut(4) {
            let alpha = u32::from(pixel[3]);
            for (value, ground) in pixel.iter_mut().zip(ground) {
                let mixed = u32::from(*value) * alpha + u32::from(ground) * (255 - alpha);
                *value = ((mixed + 127) / 255) as u8;
            }
            pixel[3] = 255;
        }
        self
    }

    /// Encodes as a PNG, fast rather than small, since the file is only sent to a terminal.
    ///
    /// # Errors
    /// [`PictureError::Broken`] when the encoder fails, for which no cause is known.
    pub fn to_png(&self) -> Result<Vec<u8>, PictureError> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().map_err(|_| PictureError::Broken)?;
        writer
            .write_image_data(&self.bytes)
            .map_err(|_| PictureError::Broken)?;
        writer.finish().map_err(|_| PictureError::Broken)?;
        Ok(out)
    }
}

/// A pixel with its colours multiplied by alpha, and alpha in the same unit.
fn seen([red, green, blue, alpha]: [u8; 4]) -> [u32; 4] {
    [red, green, blue, 255].map(|value| u32::from(value) * u32::from(alpha))
}

/// Divides `length` places into `count` stretches, none empty: start and end of each.
fn spans(length: u32, count: u32) -> Vec<(usize, usize)> {
    let at = |n: u32| (u64::from(n) * u64::from(length) / u64::from(count)) as usize;
    (0..count).map(|n| (at(n), at(n + 1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    #[test]
    fn a_thin_line_is_not_lost() {
        let mut bytes = vec![255; 9 * 9 * 4];
        for y in 0..9 {
            bytes[(y * 9 + 4) * 4..][..3].fill(0);
        }
        let picture = Pixels::new(9, 9, bytes).unwrap();
        assert_eq!(picture.shrunk(1, 1).get(0, 0), Some([227, 227, 227, 255]));
        assert_eq!(
            picture.condensed(1, 1).get(0, 0),
            Some([177, 177, 177, 255])
        );
        assert_eq!(picture.condensed(9, 9), picture);
    }

    #[test]
    fn a_thin_line_on_nothing_keeps_its_colour() {
        let mut bytes = vec![0; 9 * 9 * 4];
        for y in 0..9 {
            bytes[(y * 9 + 4) * 4..][..4].fill(255);
        }
        let picture = Pixels::new(9, 9, bytes).unwrap();
        let [red, green, blue, alpha] = picture.condensed(1, 1).get(0, 0).unwrap();
        assert_eq!([red, green, blue], [255, 255, 255]);
        assert!(alpha > 50, "{alpha}");
        let dark = picture.condensed(1, 1).over([0, 0, 0]).get(0, 0).unwrap();
        assert!(dark[0] > 50, "{dark:?}");
    }

    #[test]
    fn a_line_of_a_plot_keeps_most_of_its_colour() {
        let mut bytes = vec![0; 12 * 12 * 4];
        for y in 0..12 {
            bytes[(y * 12 + 4) * 4..][..8].fill(255);
        }
        let picture = Pixels::new(12, 12, bytes).unwrap();
        let [.., alpha] = picture.condensed(1, 1).get(0, 0).unwrap();
        assert!(alpha > 128, "{alpha}");
        let halves: Vec<u8> = (0..2)
            .map(|x| picture.condensed(2, 2).get(x, 0).unwrap()[3])
            .collect();
        assert!(halves[0] > 128 && halves[1] == 0, "{halves:?}");
    }

    #[test]
    fn means_are_weighed_by_alpha() {
        let picture = Pixels::new(2, 1, vec![200, 100, 0, 255, 0, 0, 0, 0]).unwrap();
        assert_eq!(picture.shrunk(1, 1).get(0, 0), Some([200, 100, 0, 128]));
        let picture = Pixels::new(1, 2, vec![10, 0, 0, 255, 20, 0, 0, 255]).unwrap();
        assert_eq!(picture.shrunk(5, 1).get(0, 0), Some([15, 0, 0, 255]));
        assert_eq!(picture.get(1, 0), None);
        assert_eq!(Pixels::new(1, 1, vec![0; 3]), None);
        assert_eq!(Pixels::new(0, 1, vec![]), None);
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn one_colour_stays_what_it_is(
            size in (1u32..40, 1u32..40), smaller in (1u32..50, 1u32..50), colour in any::<[u8; 3]>(),
        ) {
            let pixel = [colour[0], colour[1], colour[2], 255];
            let picture = Pixels::new(size.0, size.1, pixel.repeat((size.0 * size.1) as usize)).unwrap();
            let small = picture.shrunk(smaller.0, smaller.1);
            prop_assert_eq!((small.width(), small.height()), (smaller.0.min(size.0), smaller.1.min(size.1)));
            prop_assert!(small.bytes.chunks(4).all(|found| found == pixel));
        }
    }
}
