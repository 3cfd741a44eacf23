//! Bytes of the keyboard to keys, one byte at a time.
//!
//! In: what a terminal sends, cut anywhere: UTF-8, control characters, `ESC [` and `ESC O` sequences, kitty's `CSI u`,
//! bracketed paste. Out: a [`Key`] where one is complete. Byte by byte, so that what follows an answer can be given back
//! untouched. A lone `ESC` is complete only when nothing follows it: whoever knows the time says so
//! ([`Decoder::escape`]). Absent on purpose: what keys mean.

/// A sequence longer than this is none.
const LONGEST: usize = 64;

/// Bytes of one paste that are kept.
const PASTE: usize = 1 << 20;

const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What was pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Enter, or Ctrl-J.
    Enter,
    /// Esc.
    Escape,
    /// Backspace, or Ctrl-H.
    Backspace,
    /// Delete.
    Delete,
    /// The arrow.
    Left,
    /// The arrow.
    Right,
    /// The arrow.
    Up,
    /// The arrow.
    Down,
    /// Home.
    Home,
    /// End.
    End,
    /// Tab.
    Tab,
    /// Shift-Tab.
    BackTab,
    /// With a small letter.
    Control(char),
    /// Text that was pasted, not typed.
    Paste(String),
    /// Anything else; means nothing.
    Other,
}

/// Collects the bytes of one key.
#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
}

impl Decoder {
    /// Takes a byte; returns the key it completes.
    pub fn push(&mut self, byte: u8) -> Option<Key> {
        if let Some(paste) = &mut self.paste {
            paste.push(byte);
            if paste.len() > 2 * PASTE {
                // What is too much goes; the end is still found.
                paste.drain(PASTE..paste.len() - PASTE_ENDS.len());
            }
            let text = paste.strip_suffix(PASTE_ENDS)?;
            let key = Key::Paste(String::from_utf8_lossy(text).into_owned());
            self.paste = None;
            return Some(key);
        }
        self.pending.push(byte);
        if self.pending == PASTE_BEGINS {
            self.pending.clear();
            self.paste = Some(Vec::new());
            return None;
        }
        let key = complete(&self.pending)?;
        self.pending.clear();
        Some(key)
    }

    /// True when an `ESC` waits for what may follow it.
    pub(in crate::display) fn holds_escape(&self) -> bool {
        self.pending == [0x1b]
    }

    /// Nothing followed: the `ESC` was the key.
    pub fn escape(&mut self) -> Option<Key> {
        self.holds_escape().then(|| {
            self.pending.clear();
            Key::Escape
        })
    }
}

/// The key `bytes` are; `None` while more must come.
fn complete(bytes: &[u8]) -> Option<Key> {
    match bytes {
        [0x1b] => None,
        [0x1b, b'[' | b'O'] => None,
        [0x1b, b'O', last] => Some(named(*last)),
        [0x1b, b'[', parameters @ ..] => match parameters.split_last() {
            Some((last @ 0x40..=0x7e, parameters)) => Some(sequence(parameters, *last)),
            Some((0x20..=0x3f, _)) if bytes.len() < LONGEST => None,
            _ => Some(Key::Other),
        },
        // Alt with a key.
        [0x1b, ..] => Some(Key::Other),
        [b'\r' | b'\n'] => Some(Key::Enter),
        [b'\t'] => Some(Key::Tab),
        [0x7f | 0x08] => Some(Key::Backspace),
        [control @ 0x01..=0x1a] => Some(Key::Control(char::from(control + 0x60))),
        [0x00..=0x1f] => Some(Key::Other),
        text => match std::str::from_utf8(text) {
            Ok(text) => text.chars().next().map(character),
            Err(error) if error.error_len().is_none() => None,
            Err(_) => Some(Key::Other),
        },
    }
}

fn character(c: char) -> Key {
    if c.is_control() {
        Key::Other
    } else {
        Key::Char(c)
    }
}

fn sequence(parameters: &[u8], last: u8) -> Key {
    let text = std::str::from_utf8(parameters).unwrap_or_default();
    // Kitty puts alternatives behind colons.
    let mut numbers = text
        .split(';')
        .map(|part| part.split(':').next().and_then(|n| n.parse::<u32>().ok()));
    let first = numbers.next().flatten();
    let modifiers = numbers.next().flatten().unwrap_or(1).saturating_sub(1);
    let (shift, control, others) = (modifiers & 1 != 0, modifiers & 4 != 0, modifiers & 0x3a);
    if others != 0 {
        return Key::Other;
    }
    match (last, first) {
        (b'u', Some(code)) => kitty(code, shift, control),
        _ if control => Key::Other,
        (b'~', Some(1 | 7)) => Key::Home,
        (b'~', Some(4 | 8)) => Key::End,
        (b'~', Some(3)) => Key::Delete,
        (b'~', _) => Key::Other,
        (b'Z', _) => Key::BackTab,
        (last, _) => named(last),
    }
}

fn named(last: u8) -> Key {
    match last {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'M' => Key::Enter,
        _ => Key::Other,
    }
}

fn kitty(code: u32, shift: bool, control: bool) -> Key {
    match (code, control) {
        (13 | 57414, false) => Key::Enter,
        (27, false) => Key::Escape,
        (9, false) if shift => Key::BackTab,
        (9, false) => Key::Tab,
        (127, false) => Key::Backspace,
        (code, true) => char::from_u32(code)
            .filter(char::is_ascii_lowercase)
            .map_or(Key::Other, Key::Control),
        (code, false) => char::from_u32(code).map_or(Key::Other, |c| {
            if shift && c.is_lowercase() {
                c.to_uppercase().next().map_or(Key::Other, character)
            } else {
                character(c)
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(bytes: &[u8]) -> Vec<Key> {
        let mut decoder = Decoder::default();
        let mut keys: Vec<Key> = bytes
            .iter()
            .filter_map(|byte| decoder.push(*byte))
            .collect();
        keys.extend(decoder.escape());
        keys
    }

    #[test]
    fn keys_as_terminals_send_them() {
        use Key::*;
        let check = |bytes: &str, keys: &[Key]| {
            assert_eq!(decoded(bytes.as_bytes()), keys, "{bytes:?}");
        };
        check("yé漢", &[Char('y'), Char('é'), Char('漢')]);
        check("\r\n\t\x7f\x08", &[Enter, Enter, Tab, Backspace, Backspace]);
        check("\x15\x17\x04", &[Control('u'), Control('w'), Control('d')]);
        check("\x1b[A\x1b[B\x1bOC\x1b[D", &[Up, Down, Right, Left]);
        check("\x1b[H\x1b[4~\x1b[3~\x1b[Z", &[Home, End, Delete, BackTab]);
        check("\x1b", &[Escape]);
        check("\x1by", &[Other]);
        check("\x1b[121;1u\x1b[13u\x1b[27u", &[Char('y'), Enter, Escape]);
        check(
            "\x1b[99;5u\x1b[121;3u\x1b[121;2u",
            &[Control('c'), Other, Char('Y')],
        );
        check(
            "\x1b[1;5C\x1b[200~y\r\x1b[201~n",
            &[Other, Paste("y\r".into()), Char('n')],
        );
        check("\u{9b}y", &[Other, Char('y')]);
        assert_eq!(decoded(b"\xff\xc3y"), [Other, Other]);
    }

    proptest! {
        #[test]
        fn any_bytes_give_no_control_character(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for key in decoded(&bytes) {
                prop_assert!(!matches!(key, Key::Char(c) if c.is_control()));
            }
        }
    }
}
