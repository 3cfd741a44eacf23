//! Bytes of the keyboard to keys, one byte at a time.
//!
//! In: input of a terminal, cut anywhere: UTF-8, control characters, `ESC [` and `ESC O` sequences, kitty's `CSI u`,
//! bracketed paste, Alt as a leading `ESC`. Out: an event of the terminal library for each complete key; meaningless
//! input gives none. Decoding is byte by byte, so that bytes after an answer can be given back untouched. A lone
//! `ESC` is complete only when nothing follows; a caller with a clock decides that ([`Decoder::escape`]). Keys that
//! only some terminals distinguish can be mapped to the form of all others ([`by_habit`], [`spelled_by_habit`]).
//! Absent on purpose: the meaning of keys.

pub mod entry;

use std::borrow::Cow;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use memchr::memmem;

/// Longest sequence, in bytes; longer ones are ignored.
const LONGEST: usize = 64;

/// Most bytes kept of one paste.
const PASTE: usize = 1 << 20;

const CSI: &[u8] = b"\x1b[";

/// Sequence before a bracketed paste.
pub const PASTE_BEGINS: &[u8] = b"\x1b[200~";
/// Sequence after a bracketed paste.
pub const PASTE_ENDS: &[u8] = b"\x1b[201~";

#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
    paste: Option<Vec<u8>>,
}

enum Read {
    More,
    Key(KeyEvent),
    /// A complete sequence without a meaning.
    Nothing,
}

impl Decoder {
    /// Takes a byte; returns the key that it completes.
    pub fn push(&mut self, byte: u8) -> Option<Event> {
        if let Some(paste) = &mut self.paste {
            paste.push(byte);
            if paste.len() > 2 * PASTE {
                // Excess bytes are dropped; the end of the paste is still found.
                paste.drain(PASTE..paste.len() - PASTE_ENDS.len());
            }
            let text = paste.strip_suffix(PASTE_ENDS)?;
            let event = Event::Paste(String::from_utf8_lossy(text).into_owned());
            self.paste = None;
            return Some(event);
        }
        self.pending.push(byte);
        if self.pending == PASTE_BEGINS {
            self.pending.clear();
            self.paste = Some(Vec::new());
            return None;
        }
        let read = read(&self.pending);
        if !matches!(read, Read::More) {
            self.pending.clear();
        }
        match read {
            Read::Key(key) => Some(Event::Key(key)),
            Read::More | Read::Nothing => None,
        }
    }

    /// Ends the wait for bytes after an `ESC`, and returns it as a key.
    pub fn escape(&mut self) -> Option<Event> {
        (self.pending == [0x1b]).then(|| {
            self.pending.clear();
            Event::Key(KeyCode::Esc.into())
        })
    }

    /// As [`Decoder::escape`] at the end of input, which also ends an open paste.
    pub fn rest(&mut self) -> Option<Event> {
        match self.paste.take() {
            Some(paste) => Some(Event::Paste(String::from_utf8_lossy(&paste).into_owned())),
            None => self.escape(),
        }
    }

    /// True in the middle of a paste or of a key.
    pub fn is_within(&self) -> bool {
        self.paste.is_some() || self.pending.len() > 1
    }

    /// Returns the keys in `bytes`, at the end of input.
    pub fn all(bytes: &[u8]) -> Vec<Event> {
        let mut decoder = Decoder::default();
        let keys = bytes.iter().filter_map(|byte| decoder.push(*byte));
        let mut keys: Vec<Event> = keys.collect();
        keys.extend(decoder.rest());
        keys
    }
}

/// Maps keys that only some terminals distinguish to their common form: Ctrl-I is Tab, Ctrl-M Enter, Ctrl-[ Esc.
/// Lock keys and the keypad are ignored.
pub fn by_habit(event: Event) -> Event {
    let Event::Key(key) = event else { return event };
    let alone = key.modifiers - KeyModifiers::ALT == KeyModifiers::CONTROL;
    let code = match key.code {
        KeyCode::Char('i') if alone => KeyCode::Tab,
        KeyCode::Char('m') if alone => KeyCode::Enter,
        KeyCode::Char('[') if alone => KeyCode::Esc,
        code => return Event::Key(KeyEvent::new(code, key.modifiers)),
    };
    Event::Key(KeyEvent::new(code, key.modifiers - KeyModifiers::CONTROL))
}

/// True for characters that Latin keyboards do not type; with Ctrl, their place on the keyboard decides the key.
pub fn is_beyond_latin(c: char) -> bool {
    c > '\u{24f}' && c.is_alphabetic()
}

/// Letters of other alphabets and the keys of a US keyboard in their places, in the most common layouts: Russian
/// with the letters of Ukrainian and Belarusian, Greek, Hebrew.
const PLACES: [(&str, &str); 3] = [
    (
        "йцукенгшщзхъфывапролджэячсмитьбюіїєў",
        "qwertyuiop[]asdfghjkl;'zxcvbnm,.s]'o",
    ),
    ("ςερτυθιοπασδφγηξκλζχψωβνμ", "wertyuiopasdfghjklzxcvbnm"),
    ("קראטוןםפשדגכעיחלךזסבהנמצתץ", "ertyuiopasdfghjklzxcvbnm,."),
];

/// Maps Ctrl with a letter of another alphabet to the key of a US keyboard in its place, where that is known.
pub fn in_place(event: Event) -> Event {
    let Event::Key(mut key) = event else {
        return event;
    };
    if let KeyCode::Char(letter) = key.code
        && key.modifiers.contains(KeyModifiers::CONTROL)
    {
        let letter = letter.to_lowercase().next().unwrap_or(letter);
        let found = PLACES.iter().find_map(|(letters, keys)| {
            let at = letters.chars().position(|other| other == letter)?;
            keys.chars().nth(at)
        });
        key.code = KeyCode::Char(found.unwrap_or(letter));
    }
    Event::Key(key)
}

/// Rewrites each `CSI … u` of kitty's keyboard protocol to the common form of that key.
pub fn spelled_by_habit(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let mut out = bytes;
    let mut from = 0;
    while let Some(at) = memmem::find(&out[from..], CSI).map(|at| from + at) {
        from = at + CSI.len();
        let is_parameter = |byte: &&u8| matches!(**byte, b'0'..=b';');
        let end = from + out[from..].iter().take_while(is_parameter).count();
        if out.get(end) == Some(&b'u')
            && let Read::Key(key) = sequence(&out[from..end], b'u')
            && let Some(key) = habitual(key)
        {
            from = at + key.len();
            out.to_mut().splice(at..=end, key);
        }
    }
    out
}

fn habitual(key: KeyEvent) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    if key.modifiers.contains(KeyModifiers::ALT) {
        bytes.push(0x1b);
    }
    match key.code {
        KeyCode::Enter => bytes.push(b'\r'),
        KeyCode::Esc => bytes.push(0x1b),
        KeyCode::Tab => bytes.push(b'\t'),
        KeyCode::BackTab => bytes.extend(b"\x1b[Z"),
        KeyCode::Backspace => bytes.push(0x7f),
        KeyCode::Char(c) if key.modifiers.contains(KeyModifiers::CONTROL) => match c {
            ' ' | '@'..='~' => bytes.push(c as u8 & 0x1f),
            '/' => bytes.push(0x1f),
            _ => return None,
        },
        KeyCode::Char(c) => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        KeyCode::Up => bytes.extend(b"\x1b[A"),
        KeyCode::Down => bytes.extend(b"\x1b[B"),
        KeyCode::Right => bytes.extend(b"\x1b[C"),
        KeyCode::Left => bytes.extend(b"\x1b[D"),
        KeyCode::Home => bytes.extend(b"\x1b[H"),
        KeyCode::End => bytes.extend(b"\x1b[F"),
        KeyCode::Insert => bytes.extend(b"\x1b[2~"),
        KeyCode::Delete => bytes.extend(b"\x1b[3~"),
        KeyCode::PageUp => bytes.extend(b"\x1b[5~"),
        KeyCode::PageDown => bytes.extend(b"\x1b[6~"),
        _ => return None,
    }
    Some(bytes)
}

/// Returns the key that was pressed without Ctrl and Alt; `Null` for any other event.
pub fn plain(event: &Event) -> KeyCode {
    match event {
        Event::Key(key) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => key.code,
        _ => KeyCode::Null,
    }
}

/// True for `letter` with Ctrl.
pub fn is_control(event: &Event, letter: char) -> bool {
    matches!(event, Event::Key(key)
        if key.code == KeyCode::Char(letter) && key.modifiers == KeyModifiers::CONTROL)
}

fn key(code: KeyCode) -> Read {
    Read::Key(code.into())
}

fn read(bytes: &[u8]) -> Read {
    match bytes {
        [0x1b] | [0x1b, b'[' | b'O'] => Read::More,
        [0x1b, 0x1b] => key(KeyCode::Esc),
        [0x1b, b'O', last] => named(*last),
        [0x1b, b'[', parameters @ ..] => match parameters.split_last() {
            Some((last @ 0x40..=0x7e, parameters)) => sequence(parameters, *last),
            Some((0x20..=0x3f, _)) if bytes.len() < LONGEST => Read::More,
            _ => Read::Nothing,
        },
        [0x1b, rest @ ..] => match read(rest) {
            Read::Key(key) => Read::Key(with(key, KeyModifiers::ALT)),
            other => other,
        },
        [b'\r' | b'\n'] => key(KeyCode::Enter),
        [b'\t'] => key(KeyCode::Tab),
        [0x7f | 0x08] => key(KeyCode::Backspace),
        [0] => control(' '),
        [byte @ 0x01..=0x1a] => control(char::from(byte + 0x60)),
        [byte @ 0x1c..=0x1f] => control(char::from(byte + 0x18)),
        text => match std::str::from_utf8(text) {
            Ok(text) => text.chars().next().map_or(Read::Nothing, character),
            Err(error) if error.error_len().is_none() => Read::More,
            Err(_) => Read::Nothing,
        },
    }
}

fn with(key: KeyEvent, modifiers: KeyModifiers) -> KeyEvent {
    KeyEvent::new(key.code, key.modifiers | modifiers)
}

fn control(letter: char) -> Read {
    Read::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL))
}

fn character(c: char) -> Read {
    match c {
        c if c.is_control() => Read::Nothing,
        c if c.is_uppercase() => Read::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::SHIFT)),
        c => key(KeyCode::Char(c)),
    }
}

fn sequence(parameters: &[u8], last: u8) -> Read {
    let text = std::str::from_utf8(parameters).unwrap_or_default();
    // Kitty separates alternatives with colons: the key with Shift, and the key of a US keyboard in the same place.
    let mut numbers = text.split(';').map(|part| {
        let mut numbers = part.split(':').map(|number| number.parse::<u32>().ok());
        [(); 3].map(|()| numbers.next().flatten())
    });
    let [first, shifted, in_place] = numbers.next().unwrap_or_default();
    let [pressed, ..] = numbers.next().unwrap_or_default();
    let pressed = pressed.unwrap_or(1).saturating_sub(1);
    let held = [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
    ];
    let modifiers = held
        .into_iter()
        .filter(|(bit, _)| pressed & bit != 0)
        .fold(KeyModifiers::NONE, |all, (_, one)| all | one);
    // Other modifiers than these are not bound.
    if pressed & 0x38 != 0 {
        return Read::Nothing;
    }
    let read = match (last, first) {
        (b'u', Some(code)) => {
            let with_shift = shifted.filter(|_| modifiers.contains(KeyModifiers::SHIFT));
            let control = modifiers.contains(KeyModifiers::CONTROL);
            let beyond_latin = char::from_u32(code).is_some_and(is_beyond_latin);
            let in_place = in_place.filter(|_| control && beyond_latin);
            kitty(in_place.or(with_shift).unwrap_or(code), modifiers)
        }
        (b'~', Some(number)) => numbered(number),
        (last, _) => named(last),
    };
    match read {
        Read::Key(key) => Read::Key(with(key, modifiers)),
        other => other,
    }
}

fn numbered(number: u32) -> Read {
    let function = |first: u32| u8::try_from(number - first).map_or(KeyCode::Null, KeyCode::F);
    key(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => function(10),
        17..=21 => function(11),
        23 | 24 => function(12),
        _ => return Read::Nothing,
    })
}

fn named(last: u8) -> Read {
    key(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        b'M' => KeyCode::Enter,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        b'Z' => return Read::Key(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT)),
        _ => return Read::Nothing,
    })
}

/// Characters of the keypad, from the first key code on, and its other keys, after them.
const KEYPAD: (u32, &str, [KeyCode; 10]) = {
    use KeyCode::*;
    let others = [
        Left, Right, Up, Down, PageUp, PageDown, Home, End, Insert, Delete,
    ];
    (57399, "0123456789./*-+\r=,", others)
};

fn keypad(code: u32) -> Option<KeyCode> {
    let (first, characters, others) = KEYPAD;
    let at = usize::try_from(code.checked_sub(first)?).ok()?;
    match characters.chars().nth(at) {
        Some('\r') => Some(KeyCode::Enter),
        Some(c) => Some(KeyCode::Char(c)),
        None => others.get(at - characters.len()).copied(),
    }
}

fn kitty(code: u32, modifiers: KeyModifiers) -> Read {
    let shift = modifiers.contains(KeyModifiers::SHIFT);
    match code {
        13 => key(KeyCode::Enter),
        27 => key(KeyCode::Esc),
        9 if shift => key(KeyCode::BackTab),
        9 => key(KeyCode::Tab),
        127 => key(KeyCode::Backspace),
        // The private use area: keys that type nothing.
        0xe000..=0xf8ff => keypad(code).map_or(Read::Nothing, key),
        code => match char::from_u32(code) {
            Some(c) if shift && c.is_lowercase() => {
                c.to_uppercase().next().map_or(Read::Nothing, character)
            }
            Some(c) => character(c),
            None => Read::Nothing,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn letters_of_other_alphabets_have_a_place() {
        for (letters, keys) in PLACES {
            assert_eq!(letters.chars().count(), keys.chars().count());
            assert!(letters.chars().all(is_beyond_latin));
        }
        let control = |c| Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
        for (letter, key) in [('с', 'c'), ('В', 'd'), ('ψ', 'c'), ('ב', 'c'), ('漢', '漢')] {
            assert_eq!(in_place(control(letter)), control(key));
        }
        let typed = Event::Key(KeyCode::Char('с').into());
        assert_eq!(in_place(typed.clone()), typed);
    }

    #[test]
    fn keys_as_terminals_send_them() {
        use KeyCode::*;
        const ALT: KeyModifiers = KeyModifiers::ALT;
        const CONTROL: KeyModifiers = KeyModifiers::CONTROL;
        const SHIFT: KeyModifiers = KeyModifiers::SHIFT;
        let check = |bytes: &str, keys: &[(KeyCode, KeyModifiers)]| {
            let keys: Vec<Event> = keys
                .iter()
                .map(|(code, modifiers)| Event::Key(KeyEvent::new(*code, *modifiers)))
                .collect();
            assert_eq!(Decoder::all(bytes.as_bytes()), keys, "{bytes:?}");
        };
        let plain = |bytes: &str, codes: &[KeyCode]| {
            let keys: Vec<_> = codes
                .iter()
                .map(|code| (*code, KeyModifiers::NONE))
                .collect();
            check(bytes, &keys);
        };
        let one = |bytes: &str, code, modifiers| check(bytes, &[(code, modifiers)]);
        plain("yé漢", &[Char('y'), Char('é'), Char('漢')]);
        plain("\r\n\t\x7f\x08", &[Enter, Enter, Tab, Backspace, Backspace]);
        plain("\x1b[A\x1b[B\x1bOC\x1b[D", &[Up, Down, Right, Left]);
        plain(
            "\x1b[H\x1b[4~\x1b[3~\x1b[5~\x1b[6~",
            &[Home, End, Delete, PageUp, PageDown],
        );
        plain("\x1bOP\x1b[15~\x1b[24~", &[F(1), F(5), F(12)]);
        plain("\x1b", &[Esc]);
        plain("\x1b[121;1u\x1b[13u\x1b[27u", &[Char('y'), Enter, Esc]);
        plain("\u{9b}y\x1b[9;9Ry", &[Char('y'), Char('y')]);
        one("\x15", Char('u'), CONTROL);
        one("\x1f", Char('7'), CONTROL);
        one("Y", Char('Y'), SHIFT);
        one("\x1b[Z", BackTab, SHIFT);
        one("\x1by", Char('y'), ALT);
        one("\x1bé", Char('é'), ALT);
        one("\x1bY", Char('Y'), ALT | SHIFT);
        one("\x1b\x7f", Backspace, ALT);
        one("\x1b\r", Enter, ALT);
        one("\x1b[1;5C", Right, CONTROL);
        one("\x1b[1;3A", Up, ALT);
        one("\x1b[99;5u", Char('c'), CONTROL);
        one("\x1b[121;3u", Char('y'), ALT);
        one("\x1b[121;2u", Char('Y'), SHIFT);
        one("\x1b[49:33;4u", Char('!'), ALT | SHIFT);
        one("\x1b[1089::99;5u", Char('c'), CONTROL);
        // Dvorak and AZERTY, where a US keyboard has another key in the place.
        one("\x1b[99::105;5u", Char('c'), CONTROL);
        one("\x1b[97::113;5u", Char('a'), CONTROL);
        plain(
            "\x1b[57401u\x1b[57413u\x1b[57414u\x1b[57416u\x1b[57417u\x1b[57426u\x1b[57363u",
            &[Char('2'), Char('+'), Enter, Char(','), Left, Delete],
        );
        check("\x1b[121;9u", &[]);
        let pasted = Event::Paste("y\r".into());
        assert_eq!(Decoder::all(b"\x1b[200~y\r\x1b[201~"), [pasted]);
        assert_eq!(Decoder::all(b"\xff\xc3y"), []);
        let cut = Event::Paste("y\rz".into());
        assert_eq!(Decoder::all(b"\x1b[200~y\rz"), [cut]);
    }

    #[test]
    fn keys_told_apart_are_spelled_by_habit() {
        let check = |bytes: &str, expected: &str| {
            let spelled = spelled_by_habit(bytes.as_bytes().into());
            assert_eq!(String::from_utf8_lossy(&spelled), expected, "{bytes:?}");
        };
        check("a\x1b[99;5ub\x1b[27u", "a\x03b\x1b");
        check("\x1b[1089::99;5u", "\x03");
        check("\x1b[99::105;5u\x1b[228::39;5u", "\x03\x1b[228::39;5u");
        check("\x1b[57401u\x1b[57419u\x1b[57421;1u", "2\x1b[A\x1b[5~");
        check("\x1b[46;3u\x1b[49:33;4u", "\x1b.\x1b!");
        check("\x1b[13;2u\x1b[9;2u\x1b[127;5u", "\r\x1b[Z\x7f");
        check("\x1b[45:95;6u\x1b[32;5u", "\x1f\0");
        check("\x1b[105;5u", "\t");
        check(
            "\x1b[A\x1b[?1u\x1b[1;5C\x1b[99;5",
            "\x1b[A\x1b[?1u\x1b[1;5C\x1b[99;5",
        );
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_spelled_by_habit(bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b';'), Just(b'u'), b'0'..=b'9'], 0..200)) {
            spelled_by_habit(bytes.into());
        }

        #[test]
        fn any_bytes_give_no_control_character(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for event in Decoder::all(&bytes) {
                let is_control = matches!(event, Event::Key(key)
                    if matches!(key.code, KeyCode::Char(c) if c.is_control()));
                prop_assert!(!is_control);
            }
        }
    }
}
