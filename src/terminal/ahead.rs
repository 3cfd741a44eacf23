//! Keys that came in one burst with the Enter that began a run: the editor's reader has them already.
//!
//! They are taken from it and turned back into the bytes a terminal sent, so that they go where all keys go while
//! something runs: Ctrl-C to what runs, the rest to the cell or to the next prompt.

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};

/// Takes what has been read already; never waits.
pub(super) fn read_ahead() -> Vec<u8> {
    let mut bytes = Vec::new();
    while poll(Duration::ZERO).unwrap_or(false) {
        match read() {
            Ok(Event::Key(key)) => bytes_of(&key, &mut bytes),
            Ok(Event::Paste(text)) => bytes.extend_from_slice(text.as_bytes()),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    bytes
}

/// Appends what a terminal sends for a key.
fn bytes_of(key: &KeyEvent, bytes: &mut Vec<u8>) {
    if key.kind == KeyEventKind::Release {
        return;
    }
    let modifiers = key.modifiers;
    // 1 and a bit each: shift 1, alt 2, control 4.
    let number = 1
        + u8::from(modifiers.contains(KeyModifiers::SHIFT))
        + 2 * u8::from(modifiers.contains(KeyModifiers::ALT))
        + 4 * u8::from(modifiers.contains(KeyModifiers::CONTROL));
    let mut escape = |plain: &str, last: char| {
        let sequence = if number == 1 {
            format!("\x1b[{plain}{last}")
        } else {
            let first = if plain.is_empty() { "1" } else { plain };
            format!("\x1b[{first};{number}{last}")
        };
        bytes.extend_from_slice(sequence.as_bytes());
    };
    match key.code {
        KeyCode::Up => return escape("", 'A'),
        KeyCode::Down => return escape("", 'B'),
        KeyCode::Right => return escape("", 'C'),
        KeyCode::Left => return escape("", 'D'),
        KeyCode::Home => return escape("", 'H'),
        KeyCode::End => return escape("", 'F'),
        KeyCode::Insert => return escape("2", '~'),
        KeyCode::Delete => return escape("3", '~'),
        KeyCode::PageUp => return escape("5", '~'),
        KeyCode::PageDown => return escape("6", '~'),
        KeyCode::BackTab => return bytes.extend_from_slice(b"\x1b[Z"),
        _ => {}
    }
    if modifiers.contains(KeyModifiers::ALT) {
        bytes.push(0x1b);
    }
    let control = modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char(c) if control => bytes.push(control_byte(c)),
        KeyCode::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        KeyCode::Enter => bytes.push(b'\r'),
        KeyCode::Tab => bytes.push(b'\t'),
        KeyCode::Backspace => bytes.push(0x7f),
        KeyCode::Esc => bytes.push(0x1b),
        KeyCode::Null => bytes.push(0),
        _ => {}
    }
}

/// The control character on a key: `c` 0x03; `4` to `7` are those beyond the letters, as terminals have them.
fn control_byte(c: char) -> u8 {
    match c {
        '4'..='7' => c as u8 - b'4' + 0x1c,
        ' ' | '2' => 0,
        '8' => 0x7f,
        c => u8::try_from(c.to_ascii_uppercase()).unwrap_or(0) & 0x1f,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_the_bytes_they_came_as() {
        let check = |code: KeyCode, modifiers: KeyModifiers, expected: &[u8]| {
            let mut bytes = Vec::new();
            bytes_of(&KeyEvent::new(code, modifiers), &mut bytes);
            assert_eq!(bytes, expected, "{code:?} {modifiers:?}");
        };
        let none = KeyModifiers::NONE;
        let control = KeyModifiers::CONTROL;
        check(KeyCode::Char('c'), control, b"\x03");
        check(KeyCode::Char('d'), control, b"\x04");
        check(KeyCode::Char('4'), control, b"\x1c");
        check(KeyCode::Char('é'), none, "é".as_bytes());
        check(KeyCode::Char('A'), KeyModifiers::SHIFT, b"A");
        check(KeyCode::Char('f'), KeyModifiers::ALT, b"\x1bf");
        check(KeyCode::Enter, none, b"\r");
        check(KeyCode::Backspace, none, b"\x7f");
        check(KeyCode::Up, none, b"\x1b[A");
        check(
            KeyCode::Up,
            KeyModifiers::ALT | KeyModifiers::SHIFT,
            b"\x1b[1;4A",
        );
        check(KeyCode::Delete, none, b"\x1b[3~");
    }
}
