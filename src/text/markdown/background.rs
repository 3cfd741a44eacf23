//! The terminal's background, light or dark, and the theme for code where the user has named none.
//!
//! In: `COLORFGBG` (set by rxvt, konsole and others: palette numbers, the background last), or the reply to
//! `OSC 11 ; ?` (XParseColor's `rgb:` forms with one to four digits per channel, as xterm sends it). Absent on
//! purpose: the query to the terminal, which belongs to the terminal's owner.

/// The background that code is shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Background {
    /// Light text on dark; the default.
    #[default]
    Dark,
    /// Dark text on light.
    Light,
}

impl Background {
    /// Returns the name of the theme for code on this background.
    pub fn theme(self) -> &'static str {
        match self {
            Background::Dark => "monokai",
            Background::Light => "github",
        }
    }

    /// Returns the background that a theme for code is made for.
    pub fn of_theme(name: &str) -> Self {
        if name == Background::Light.theme() || name.ends_with("-light") {
            Background::Light
        } else {
            Background::Dark
        }
    }

    /// Parses `COLORFGBG`: `15;0`, `0;default;15`.
    pub fn of_variable(value: &str) -> Option<Self> {
        let (_, background) = value.rsplit_once(';')?;
        match background.trim().parse::<u8>().ok()? {
            7 | 9..=15 => Some(Background::Light),
            0..=6 | 8 => Some(Background::Dark),
            _ => None,
        }
    }

    /// Parses a colour: `rgb:ffff/ffff/ffff`, `rgba:…`.
    pub fn of_colour(colour: &str) -> Option<Self> {
        let (form, channels) = colour.split_once(':')?;
        if !matches!(form, "rgb" | "rgba") {
            return None;
        }
        let mut channels = channels.split('/').map(|digits| {
            let most = 16u32.checked_pow(u32::try_from(digits.len()).ok()?)? - 1;
            let value = u16::from_str_radix(digits, 16).ok()?;
            (most > 0).then(|| f64::from(value) / f64::from(most))
        });
        let (red, green, blue) = (channels.next()??, channels.next()??, channels.next()??);
        let brightness = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        Some(if brightness > 0.5 {
            Background::Light
        } else {
            Background::Dark
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::Theme;

    #[test]
    fn backgrounds_are_told_apart() {
        use Background::{Dark, Light};
        for (value, background) in [
            ("15;0", Some(Dark)),
            ("0;15", Some(Light)),
            ("0;default;15", Some(Light)),
            ("7;8", Some(Dark)),
            ("0;7", Some(Light)),
            ("12;default", None),
            ("", None),
        ] {
            assert_eq!(Background::of_variable(value), background, "{value:?}");
        }
        for (colour, background) in [
            ("rgb:ffff/ffff/ffff", Some(Light)),
            ("rgb:0000/0000/0000", Some(Dark)),
            ("rgb:fd/f6/e3", Some(Light)),
            ("rgb:0000/2b2b/3636", Some(Dark)),
            ("rgba:f/f/f/f", Some(Light)),
            ("#ffffff", None),
            ("rgb:ffff/ffff", None),
            ("rgb://", None),
            ("rgb:fffff/0/0", None),
        ] {
            assert_eq!(Background::of_colour(colour), background, "{colour:?}");
        }
    }

    #[test]
    fn its_themes_are_known() {
        for background in [Background::Dark, Background::Light] {
            assert!(Theme::named(background.theme()).is_ok());
            assert_eq!(Background::of_theme(background.theme()), background);
        }
    }
}
