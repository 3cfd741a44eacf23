//! Colours that are readable on a light background and on a dark one.
//!
//! Yellow and cyan of the sixteen are unreadable on white unless the user has changed them, so these are of the 240
//! that no theme changes. Red and green, for failure and success, and for removed and added, are the terminal's own.

use nu_ansi_term::Color;

/// For text that the user should notice: questions, warnings.
pub const NOTICED: Color = Color::Fixed(136);

/// For text that differs from its surroundings: names of code in answers, the current choice, places in a file.
pub const MARKED: Color = Color::Fixed(31);

#[cfg(test)]
mod tests {
    use super::*;

    /// Luminance of a colour of the cube, by the formula of WCAG 2.
    fn luminance(colour: Color) -> f64 {
        let Color::Fixed(number @ 16..232) = colour else {
            panic!("not of the cube: {colour:?}");
        };
        let part = |step: u8| {
            let value = f64::from([0, 95, 135, 175, 215, 255][usize::from(step)]) / 255.0;
            ((value + 0.055) / 1.055).powf(2.4)
        };
        let number = number - 16;
        let [red, green, blue] = [number / 36, number / 6 % 6, number % 6].map(part);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    #[test]
    fn they_stand_out_from_white_and_from_black() {
        for colour in [NOTICED, MARKED] {
            let light = luminance(colour) + 0.05;
            assert!(1.05 / light >= 3.0, "on white: {colour:?}");
            assert!(light / 0.05 >= 4.5, "on black: {colour:?}");
        }
    }
}
