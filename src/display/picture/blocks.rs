//! A picture as half blocks: two pixels per cell, `▀` with the upper pixel as foreground and the lower as
//! background.
//!
//! In: pixels, no more than there are half cells. Out: rows of text, each with its newline and no colour left open.
//! Nearly transparent pixels show the terminal's own background; others are laid over `background`.

use crate::picture::Pixels;

/// Alpha below which a pixel is transparent.
const CLEAR: u8 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Palette {
    /// 24 bits per colour, else one of 256.
    pub(super) true_colour: bool,
    /// The terminal's background, below partly transparent pixels.
    pub(super) background: [u8; 3],
}

/// `None`: the terminal's own background.
pub(super) type Colour = Option<[u8; 3]>;

pub(super) fn draw(picture: &Pixels, palette: Palette) -> Vec<u8> {
    let mut out = String::new();
    for row in 0..picture.height().div_ceil(2) {
        let mut now: (Colour, Colour) = (None, None);
        for column in 0..picture.width() {
            let upper = over(picture.get(column, 2 * row), palette.background);
            let lower = over(picture.get(column, 2 * row + 1), palette.background);
            // Foreground, background and character of the cell.
            let (front, back, block) = match (upper, lower) {
                (None, None) => (now.0, None, ' '),
                (None, lower) => (lower, None, '▄'),
                (upper, lower) => (upper, lower, '▀'),
            };
            if front != now.0 {
                paint(38, front, palette.true_colour, &mut out);
            }
            if back != now.1 {
                paint(48, back, palette.true_colour, &mut out);
            }
            now = (front, back);
            out.push(block);
        }
        if now != (None, None) {
            out.push_str("\x1b[0m");
        }
        out.push('\n');
    }
    out.into_bytes()
}

pub(super) fn over(pixel: Option<[u8; 4]>, background: [u8; 3]) -> Colour {
    let [red, green, blue, alpha] = pixel?;
    (alpha >= CLEAR).then(|| {
        let mix = |colour: u8, background: u8| {
            let alpha = u32::from(alpha);
            ((u32::from(colour) * alpha + u32::from(background) * (255 - alpha) + 127) / 255) as u8
        };
        [
            mix(red, background[0]),
            mix(green, background[1]),
            mix(blue, background[2]),
        ]
    })
}

/// Writes a colour; `kind` is 38 for the foreground, 48 for the background.
fn paint(kind: u8, colour: Colour, true_colour: bool, out: &mut String) {
    let sequence = match colour {
        None => format!("\x1b[{}m", kind + 1),
        Some([red, green, blue]) if true_colour => {
            format!("\x1b[{kind};2;{red};{green};{blue}m")
        }
        Some(colour) => format!("\x1b[{kind};5;{}m", nearest(colour)),
    };
    out.push_str(&sequence);
}

/// Nearest of the 240 colours of xterm's palette that no theme changes: a cube of six steps, and 24 greys.
fn nearest(colour: [u8; 3]) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let step = |value: u8| {
        (0..6u8)
            .min_by_key(|step| STEPS[usize::from(*step)].abs_diff(value))
            .unwrap_or_default()
    };
    let distance = |other: [u8; 3]| -> u32 {
        colour
            .iter()
            .zip(other)
            .map(|(a, b)| u32::from(a.abs_diff(b)).pow(2))
            .sum()
    };
    let steps = colour.map(step);
    let cube = steps.map(|step| STEPS[usize::from(step)]);
    let mean = colour.iter().map(|value| u32::from(*value)).sum::<u32>() / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    if distance([8 + 10 * grey; 3]) < distance(cube) {
        232 + grey
    } else {
        16 + 36 * steps[0] + 6 * steps[1] + steps[2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: [u8; 4] = [255, 0, 0, 255];
    const BLUE: [u8; 4] = [0, 0, 255, 255];
    const CLEAR_PIXEL: [u8; 4] = [255, 255, 255, 0];

    fn drawn(width: u32, height: u32, pixels: &[[u8; 4]], true_colour: bool) -> String {
        let picture = Pixels::new(width, height, pixels.concat()).unwrap();
        let palette = Palette {
            true_colour,
            background: [0, 0, 0],
        };
        String::from_utf8(draw(&picture, palette)).unwrap()
    }

    #[test]
    fn four_pixels_byte_by_byte() {
        assert_eq!(
            drawn(2, 2, &[RED, BLUE, BLUE, BLUE], true),
            "\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀\x1b[38;2;0;0;255m▀\x1b[0m\n"
        );
        assert_eq!(
            drawn(2, 2, &[RED, BLUE, BLUE, BLUE], false),
            "\x1b[38;5;196m\x1b[48;5;21m▀\x1b[38;5;21m▀\x1b[0m\n"
        );
    }

    #[test]
    fn clear_pixels_show_the_background() {
        let half = [255, 0, 0, 128];
        assert_eq!(drawn(1, 2, &[CLEAR_PIXEL, CLEAR_PIXEL], true), " \n");
        assert_eq!(
            drawn(1, 2, &[CLEAR_PIXEL, RED], true),
            "\x1b[38;2;255;0;0m▄\x1b[0m\n"
        );
        assert_eq!(
            drawn(2, 2, &[RED, CLEAR_PIXEL, BLUE, CLEAR_PIXEL], true),
            "\x1b[38;2;255;0;0m\x1b[48;2;0;0;255m▀\x1b[49m \x1b[0m\n"
        );
        assert_eq!(drawn(1, 1, &[half], true), "\x1b[38;2;128;0;0m▀\x1b[0m\n");
    }

    #[test]
    fn colours_of_the_palette() {
        let check = |colour, expected| assert_eq!(nearest(colour), expected, "{colour:?}");
        check([0, 0, 0], 16);
        check([255, 255, 255], 231);
        check([255, 0, 0], 196);
        check([128, 128, 128], 244);
        check([31, 119, 180], 31);
        check([8, 8, 8], 232);
    }
}
