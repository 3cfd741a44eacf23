//! Chords: one or more keys pressed one after the other, and their notation.
//!
//! `ctrl-x ctrl-e`, `alt-.`, `alt-shift-up`, `f2`, `esc p` (the same as `alt-p`); letters in either case. A
//! [`Stroke`] is one key in a normal form for all encodings of terminals: `ESC W`, `CSI 87;4u` and `CSI 119;4u` are
//! all `alt-shift-w`. Invariant: the notation of a stroke parses back to that stroke.
//!
//! Absent on purpose: the actions of chords (`table`), and the parsing of bytes, which the terminal library does.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyModifiers};

use crate::config::InvalidValue;

/// Keys with names; the first name of a key is the one displayed.
const NAMED: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("del", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("space", KeyCode::Char(' ')),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
];

/// Modifiers with their names, in the order in which they are displayed.
const MODIFIERS: &[(&str, KeyModifiers)] = &[
    ("super-", KeyModifiers::SUPER),
    ("ctrl-", KeyModifiers::CONTROL),
    ("alt-", KeyModifiers::ALT),
    ("meta-", KeyModifiers::ALT),
    ("shift-", KeyModifiers::SHIFT),
];

/// Characters that need Shift on a US keyboard; their strokes have no Shift modifier.
const SHIFTED: &str = "!@#$%^&*()_+{}|:\"<>?~";

const LONGEST: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stroke {
    code: KeyCode,
    modifiers: KeyModifiers,
}

impl Stroke {
    /// The stroke for a key that a terminal sent.
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let control = modifiers.contains(KeyModifiers::CONTROL);
        let (code, modifiers) = match code {
            KeyCode::BackTab => (KeyCode::Tab, modifiers | KeyModifiers::SHIFT),
            KeyCode::Char(c) if c.is_ascii_uppercase() => (
                KeyCode::Char(c.to_ascii_lowercase()),
                modifiers | KeyModifiers::SHIFT,
            ),
            KeyCode::Char(c) if SHIFTED.contains(c) => {
                (KeyCode::Char(c), modifiers - KeyModifiers::SHIFT)
            }
            // The terminal library reports the bytes 0x1c to 0x1f as digits with Ctrl.
            KeyCode::Char(c @ '4'..='7') if control => {
                let c = match c {
                    '4' => '\\',
                    '5' => ']',
                    '6' => '^',
                    _ => '_',
                };
                (KeyCode::Char(c), modifiers)
            }
            code => (code, modifiers),
        };
        Stroke { code, modifiers }
    }

    pub fn code(self) -> KeyCode {
        self.code
    }

    /// The modifiers, without those that the character implies.
    pub fn modifiers(self) -> KeyModifiers {
        self.modifiers
    }

    pub fn with_alt(self) -> Self {
        Stroke {
            modifiers: self.modifiers | KeyModifiers::ALT,
            ..self
        }
    }

    pub fn is_escape(self) -> bool {
        self.code == KeyCode::Esc && self.modifiers.is_empty()
    }

    /// True for a key that types a character; no chord may begin with it.
    pub fn types_character(self) -> bool {
        matches!(self.code, KeyCode::Char(_)) && self.is_plain()
    }

    /// True for a key that has a meaning of its own where letters are commands (vi's normal mode): one that types or
    /// edits.
    pub fn is_vi_command_key(self) -> bool {
        let edits = matches!(
            self.code,
            KeyCode::Char(_)
                | KeyCode::Backspace
                | KeyCode::Delete
                | KeyCode::Esc
                | KeyCode::Insert
        );
        edits && self.is_plain()
    }

    fn is_plain(self) -> bool {
        (self.modifiers - KeyModifiers::SHIFT).is_empty()
    }
}

impl FromStr for Stroke {
    type Err = InvalidValue;

    fn from_str(word: &str) -> Result<Self, InvalidValue> {
        let lower = word.to_lowercase();
        let mut rest = lower.as_str();
        let mut modifiers = KeyModifiers::empty();
        while let Some((inner, modifier)) = MODIFIERS.iter().find_map(|&(name, modifier)| {
            let inner = rest.strip_prefix(name)?;
            // `ctrl--` is the minus sign.
            (!inner.is_empty()).then_some((inner, modifier))
        }) {
            modifiers |= modifier;
            rest = inner;
        }
        let mut characters = rest.chars();
        let code = match (characters.next(), characters.next()) {
            (Some(c), None) if !c.is_control() => Some(KeyCode::Char(c)),
            _ => named(rest),
        };
        let code = code.ok_or_else(wrong)?;
        Ok(Stroke::new(code, modifiers))
    }
}

fn named(name: &str) -> Option<KeyCode> {
    let function = name
        .strip_prefix('f')
        .and_then(|number| number.parse().ok())
        .filter(|number| (1..=24).contains(number))
        .map(KeyCode::F);
    let known = NAMED.iter().find(|(known, _)| *known == name);
    known.map(|&(_, code)| code).or(function)
}

impl fmt::Display for Stroke {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.modifiers;
        for &(name, modifier) in MODIFIERS {
            if left.contains(modifier) {
                f.write_str(name)?;
                left -= modifier;
            }
        }
        match (self.code, NAMED.iter().find(|(_, code)| *code == self.code)) {
            (_, Some((name, _))) => f.write_str(name),
            (KeyCode::F(number), _) => write!(f, "f{number}"),
            (KeyCode::Char(c), _) => write!(f, "{c}"),
            (code, _) => write!(f, "{code:?}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chord(Vec<Stroke>);

impl Chord {
    /// Never empty.
    pub fn strokes(&self) -> &[Stroke] {
        &self.0
    }

    /// True when the two are equal or one is a prefix of the other, so that one cannot be pressed without the other.
    pub fn conflicts_with(&self, other: &Chord) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }
}

impl FromStr for Chord {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let mut strokes: Vec<Stroke> = Vec::new();
        let mut escaped = false;
        for word in text.split_whitespace() {
            let stroke: Stroke = word.parse()?;
            if stroke.is_escape() {
                if std::mem::replace(&mut escaped, true) {
                    return Err(wrong());
                }
                continue;
            }
            strokes.push(if std::mem::take(&mut escaped) {
                stroke.with_alt()
            } else {
                stroke
            });
        }
        let first = strokes.first().copied();
        if escaped || first.is_none_or(Stroke::types_character) || strokes.len() > LONGEST {
            return Err(wrong());
        }
        Ok(Chord(strokes))
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, stroke) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{stroke}")?;
        }
        Ok(())
    }
}

fn wrong() -> InvalidValue {
    InvalidValue {
        allowed: "keys like alt-., ctrl-x ctrl-e, alt-shift-up, f2, esc p; \"\" for none".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_spellings_of_a_terminal_are_one_stroke() {
        let (alt, shift, control) = (
            KeyModifiers::ALT,
            KeyModifiers::SHIFT,
            KeyModifiers::CONTROL,
        );
        for (code, modifiers, written) in [
            (KeyCode::Char('W'), alt | shift, "alt-shift-w"),
            (KeyCode::Char('W'), alt, "alt-shift-w"),
            (KeyCode::Char('w'), alt | shift, "alt-shift-w"),
            (KeyCode::Char('w'), alt, "alt-w"),
            (KeyCode::Char('!'), alt, "alt-!"),
            (KeyCode::Char('!'), alt | shift, "alt-!"),
            (KeyCode::Char('1'), alt | shift, "alt-shift-1"),
            (KeyCode::Char('.'), alt | shift, "alt-shift-."),
            (KeyCode::BackTab, shift, "shift-tab"),
            (KeyCode::BackTab, KeyModifiers::NONE, "shift-tab"),
            (KeyCode::Tab, shift, "shift-tab"),
            (KeyCode::Char('7'), control, "ctrl-_"),
            (KeyCode::Char('_'), control | shift, "ctrl-_"),
            (KeyCode::Up, alt | shift, "alt-shift-up"),
            (KeyCode::F(2), KeyModifiers::NONE, "f2"),
            (KeyCode::Char(' '), control, "ctrl-space"),
            (KeyCode::Char('-'), control, "ctrl--"),
        ] {
            let stroke = Stroke::new(code, modifiers);
            assert_eq!(stroke.to_string(), written);
            assert_eq!(written.parse(), Ok(stroke));
        }
    }

    #[test]
    fn chords_are_read_as_people_write_them() {
        for (written, shown) in [
            ("Ctrl-X Ctrl-E", "ctrl-x ctrl-e"),
            ("esc p", "alt-p"),
            ("Escape Enter", "alt-enter"),
            ("meta-shift-Up", "alt-shift-up"),
            ("shift-alt-up", "alt-shift-up"),
            ("  alt-.  ", "alt-."),
            ("ctrl-x u", "ctrl-x u"),
            ("ctrl-x esc u", "ctrl-x alt-u"),
            ("return", "enter"),
        ] {
            let chord: Chord = written.parse().unwrap();
            assert_eq!(chord.to_string(), shown);
        }
        for wrong in [
            "",
            " ",
            "p",
            "shift-p",
            "space",
            "alt-",
            "ctrl-xx",
            "f0",
            "f25",
            "hyper-x",
            "esc",
            "esc esc",
            "a b",
            "ctrl-x ctrl-y ctrl-z ctrl-c",
            "ctrl-\u{1}",
        ] {
            assert!(wrong.parse::<Chord>().is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #![proptest_config(crate::properties::cases(crate::properties::USUAL))]

        #[test]
        fn what_is_shown_is_read_back(
            code in prop_oneof![
                any::<char>().prop_filter("typed", |c| !c.is_control() && !c.is_whitespace()
                    && c.to_lowercase().to_string() == c.to_string()).prop_map(KeyCode::Char),
                proptest::sample::select(NAMED.iter().map(|(_, code)| *code).collect::<Vec<_>>()),
                (1u8..=24).prop_map(KeyCode::F),
            ],
            modifiers in (0u8..16).prop_map(KeyModifiers::from_bits_truncate),
        ) {
            let stroke = Stroke::new(code, modifiers);
            prop_assert_eq!(stroke.to_string().parse(), Ok(stroke));
        }
    }
}
