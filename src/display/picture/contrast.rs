//! The background of a picture with transparent pixels, so that the pixels next to them can be seen.
//!
//! In: pixels, the terminal's background. Out: the background to lay them over, when the terminal's own would hide
//! them: black labels of a plot without a background on a dark terminal, white ones on a light one. Invariant: an
//! opaque picture, and one that is visible as it is, is not changed; parts with a background of their own keep it.

use crate::picture::Pixels;

/// Alpha below which a pixel is transparent.
const CLEAR: u8 = 64;

/// Brightness below which a colour is dark, of 255.
const DARK: u32 = 90;

/// Brightness above which a colour is light, of 255.
const LIGHT: u32 = 165;

/// Returns the background that a picture needs on a terminal with the background `terminal`.
pub(super) fn background_for(picture: &Pixels, terminal: [u8; 3]) -> Option<[u8; 3]> {
    let (mut dark, mut light) = (0u32, 0u32);
    for y in 0..picture.height() {
        for x in 0..picture.width() {
            let Some([red, green, blue, alpha]) = picture.get(x, y) else {
                continue;
            };
            if alpha < CLEAR || !touches_clear_pixel(picture, x, y) {
                continue;
            }
            match brightness([red, green, blue]) {
                ..DARK => dark += 1,
                LIGHT.. => light += 1,
                _ => {}
            }
        }
    }
    let on_dark = brightness(terminal) < 128;
    match dark.cmp(&light) {
        std::cmp::Ordering::Greater if on_dark => Some([255; 3]),
        std::cmp::Ordering::Less if !on_dark => Some([0; 3]),
        _ => None,
    }
}

/// True when a neighbour of the pixel is transparent.
fn touches_clear_pixel(picture: &Pixels, x: u32, y: u32) -> bool {
    let beside = [
        (x.checked_sub(1), Some(y)),
        (Some(x + 1), Some(y)),
        (Some(x), y.checked_sub(1)),
        (Some(x), Some(y + 1)),
    ];
    beside.into_iter().any(|place| match place {
        (Some(x), Some(y)) => picture.get(x, y).is_some_and(|pixel| pixel[3] < CLEAR),
        _ => false,
    })
}

/// Perceived brightness, of 255 (ITU-R BT.709).
fn brightness([red, green, blue]: [u8; 3]) -> u32 {
    (2126 * u32::from(red) + 7152 * u32::from(green) + 722 * u32::from(blue)) / 10_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLACK: [u8; 3] = [0; 3];
    const WHITE: [u8; 3] = [255; 3];

    /// A row of pixels: `.` transparent, `k` black, `w` white, `b` blue.
    fn row(pixels: &str) -> Pixels {
        let bytes = pixels.chars().flat_map(|c| match c {
            'k' => [0, 0, 0, 255],
            'w' => [255, 255, 255, 255],
            'b' => [90, 120, 220, 255],
            _ => [0; 4],
        });
        Pixels::new(pixels.len() as u32, 1, bytes.collect()).unwrap()
    }

    #[test]
    fn what_could_not_be_read_gets_a_ground() {
        for (pixels, on_black, on_white) in [
            (".k.k.", Some(WHITE), None),
            (".w.w.", None, Some(BLACK)),
            // Labels on a transparent part beside an area with a background of its own.
            (".k.k.wwwwwkwwwww", Some(WHITE), None),
            (".b.b.", None, None),
            ("kkkk", None, None),
            ("wkwk", None, None),
            ("....", None, None),
        ] {
            assert_eq!(background_for(&row(pixels), BLACK), on_black, "{pixels}");
            assert_eq!(background_for(&row(pixels), WHITE), on_white, "{pixels}");
        }
    }

    #[test]
    fn laid_over_a_ground_nothing_is_clear() {
        let laid = row(".kw").over([255, 0, 0]);
        assert_eq!(laid.get(0, 0), Some([255, 0, 0, 255]));
        assert_eq!(laid.get(1, 0), Some([0, 0, 0, 255]));
        assert_eq!(laid.get(2, 0), Some([255, 255, 255, 255]));
    }
}
