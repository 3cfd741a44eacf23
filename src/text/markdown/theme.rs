//! Colours: sixteen-colour styles for prose, a named syntect theme for code.
//!
//! In: the `code_theme` setting. Out: a [`Theme`], or an error that lists the names. Invariant: prose styles use no
//! background and no black or white, so they are readable on light and dark terminals alike. Absent on purpose:
//! loading theme files from disk.

use std::str::FromStr;

use nu_ansi_term::{Color, Style};
use syntect::highlighting::{
    Color as SyntectColor, FontStyle, ScopeSelectors, StyleModifier, Theme as SyntectTheme,
    ThemeItem, ThemeSettings,
};

use crate::MARKED;

/// The look of rendered lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Appearance {
    /// True for colours; without them lines differ in nothing but colour.
    pub colour: bool,
    /// True when the terminal supports OSC 8 links; else links are shown as `text (url)`.
    pub links: bool,
    /// Colours of code and prose.
    pub theme: Theme,
}

/// Every name that [`Theme::named`] accepts: the name in the settings, then syntect's where it differs.
const NAMES: &[(&str, &str)] = &[
    ("monokai", "monokai"),
    ("ocean-dark", "base16-ocean.dark"),
    ("ocean-light", "base16-ocean.light"),
    ("eighties", "base16-eighties.dark"),
    ("mocha", "base16-mocha.dark"),
    ("github", "InspiredGitHub"),
    ("solarized-dark", "Solarized (dark)"),
    ("solarized-light", "Solarized (light)"),
];

/// The colours of code and prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// A key of syntect's theme set, with `monokai` added.
    code: &'static str,
    /// True when the terminal takes 24-bit colours; else the nearest of 256 is used.
    true_colour: bool,
}

/// The error for an unknown theme name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown code theme `{name}`; known themes: {}", Theme::names().collect::<Vec<_>>().join(", "))]
pub struct UnknownTheme {
    /// The name as given.
    pub name: String,
}

impl Theme {
    /// Returns the theme of that name, in 256 colours. Case does not matter; syntect's own names are accepted too.
    ///
    /// # Errors
    /// [`UnknownTheme`], which lists the known names.
    pub fn named(name: &str) -> Result<Self, UnknownTheme> {
        NAMES
            .iter()
            .find(|(ours, theirs)| {
                ours.eq_ignore_ascii_case(name.trim()) || theirs.eq_ignore_ascii_case(name.trim())
            })
            .map(|(_, code)| Theme {
                code,
                true_colour: false,
            })
            .ok_or_else(|| UnknownTheme {
                name: name.to_owned(),
            })
    }

    /// Returns the theme in 24-bit colours when `true_colour` (the terminal sets `COLORTERM=truecolor`).
    pub fn with_true_colour(self, true_colour: bool) -> Self {
        Theme {
            true_colour,
            ..self
        }
    }

    /// Returns the theme with the colour depth of `other`.
    pub fn like(self, other: Theme) -> Self {
        self.with_true_colour(other.true_colour)
    }

    /// Returns the names that a user may set.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(ours, _)| *ours)
    }

    pub(crate) fn code_key(self) -> &'static str {
        self.code
    }

    pub(crate) fn colour(self, colour: SyntectColor) -> Color {
        let SyntectColor { r, g, b, .. } = colour;
        if self.true_colour {
            Color::Rgb(r, g, b)
        } else {
            Color::Fixed(nearest_of_256(r, g, b))
        }
    }
}

impl Default for Theme {
    fn default() -> Self {
        Theme {
            code: NAMES[0].1,
            true_colour: false,
        }
    }
}

pub(crate) fn heading() -> Style {
    Style::new().bold()
}

pub(crate) fn inline_code() -> Style {
    MARKED.normal()
}

/// Style of quotes, rules, markers, table lines, HTML.
pub(crate) fn faint() -> Style {
    Style::new().dimmed()
}

/// Nearest entry of the xterm palette: its 6x6x6 cube or its grey ramp.
fn nearest_of_256(r: u8, g: u8, b: u8) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let step = |v: u8| {
        (0u8..6)
            .min_by_key(|i| STEPS[usize::from(*i)].abs_diff(v))
            .unwrap_or(0)
    };
    let distance = |x: [u8; 3]| -> u32 {
        x.iter()
            .zip([r, g, b])
            .map(|(a, b)| u32::from(a.abs_diff(b)).pow(2))
            .sum()
    };
    let cube = [step(r), step(g), step(b)];
    let cube_colour = cube.map(|i| STEPS[usize::from(i)]);
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let grey = u8::try_from((mean.saturating_sub(3) / 10).min(23)).unwrap_or(23);
    let grey_level = 8 + 10 * grey;
    if distance([grey_level; 3]) < distance(cube_colour) {
        232 + grey
    } else {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]
    }
}

/// The well-known Monokai palette on the usual scopes; syntect ships none.
pub(crate) fn monokai() -> SyntectTheme {
    const PINK: [u8; 3] = [0xf9, 0x26, 0x72];
    const BLUE: [u8; 3] = [0x66, 0xd9, 0xef];
    const GREEN: [u8; 3] = [0xa6, 0xe2, 0x2e];
    const ORANGE: [u8; 3] = [0xfd, 0x97, 0x1f];
    const PURPLE: [u8; 3] = [0xae, 0x81, 0xff];
    const YELLOW: [u8; 3] = [0xe6, 0xdb, 0x74];
    const GREY: [u8; 3] = [0x88, 0x84, 0x6f];
    let rules = [
        ("comment", GREY),
        ("string, punctuation.definition.string", YELLOW),
        (
            "constant, constant.numeric, constant.character.escape",
            PURPLE,
        ),
        ("keyword, storage.modifier, entity.name.tag", PINK),
        (
            "storage.type, support.function, support.class, support.type",
            BLUE,
        ),
        (
            "entity.name.function, entity.name.class, entity.name.type, entity.other.inherited-class, \
             entity.other.attribute-name, markup.inserted",
            GREEN,
        ),
        ("variable.parameter", ORANGE),
        ("markup.deleted, invalid", PINK),
        ("markup.heading, markup.bold", GREEN),
    ];
    SyntectTheme {
        name: Some("monokai".to_owned()),
        author: None,
        settings: ThemeSettings::default(),
        scopes: rules
            .into_iter()
            .map(|(scopes, [r, g, b])| ThemeItem {
                scope: ScopeSelectors::from_str(scopes).expect("the table above parses"),
                style: StyleModifier {
                    foreground: Some(SyntectColor { r, g, b, a: 0xff }),
                    background: None,
                    font_style: Some(FontStyle::empty()),
                },
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_theme_lists_the_known_ones() {
        let message = Theme::named("nope").expect_err("unknown").to_string();
        assert!(
            message.contains("`nope`") && message.contains("monokai"),
            "{message}"
        );
        assert_eq!(Theme::named("Monokai"), Ok(Theme::default()));
        assert!(Theme::named("InspiredGitHub").is_ok());
        assert_eq!(monokai().scopes.len(), 9);
    }

    #[test]
    fn nearest_palette_entries() {
        assert_eq!(nearest_of_256(0, 0, 0), 16);
        assert_eq!(nearest_of_256(255, 255, 255), 231);
        assert_eq!(nearest_of_256(0xf9, 0x26, 0x72), 197);
        assert_eq!(nearest_of_256(128, 128, 128), 244);
    }
}
