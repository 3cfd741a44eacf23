//! A picture in memory: four bytes a pixel, red, green, blue, alpha (straight), row by row.
//!
//! In: such bytes. Out: a smaller picture, a PNG. Invariant: there are as many bytes as the size says.

use super::decode::Trouble;

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pixels {
    width: u32,
    height: u32,
    bytes: Vec<u8>,
}

impl Pixels {
    /// A picture of these bytes; nothing when it is empty or they are not as many as the size says.
    pub(super) fn new(width: u32, height: u32, bytes: Vec<u8>) -> Option<Self> {
        let wanted = u64::from(width) * u64::from(height) * 4;
        (wanted > 0 && bytes.len() as u64 == wanted).then_some(Pixels {
            width,
            height,
            bytes,
        })
    }

    pub(super) fn width(&self) -> u32 {
        self.width
    }

    pub(super) fn height(&self) -> u32 {
        self.height
    }

    /// The pixel at a place; nothing outside.
    pub(super) fn get(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let at = (y as usize * self.width as usize + x as usize) * 4;
        self.bytes[at..at + 4].try_into().ok()
    }

    /// The picture at this smaller (or equal) size: each pixel is the mean of those it covers, weighed by their alpha.
    pub(super) fn shrunk(&self, width: u32, height: u32) -> Pixels {
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

    /// The picture as a PNG, packed fast rather than small: it goes to a terminal and is gone.
    ///
    /// # Errors
    /// [`Trouble::Broken`] when the encoder refuses, which it has no reason to.
    pub(super) fn to_png(&self) -> Result<Vec<u8>, Trouble> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().map_err(|_| Trouble::Broken)?;
        writer
            .write_image_data(&self.bytes)
            .map_err(|_| Trouble::Broken)?;
        writer.finish().map_err(|_| Trouble::Broken)?;
        Ok(out)
    }
}

/// `length` places cut into `count` stretches, none empty: where each begins and ends.
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
