//! One line of text that the user types, with a cursor and the usual editing keys.
//!
//! In: keys and pastes, one at a time, from the owner of the keyboard. Out: the text and the part of it to show.
//! Pure. The editing is the line editor's own ([`LineBuffer`]); its loop cannot be used here, since it reads the
//! terminal itself and paints a prompt, while a question or a picker is part of a larger view. The keys are
//! readline's and fixed, so that a question can be answered whatever the user has bound. A secret shows nothing, not
//! even its length. Absent on purpose: several lines, history and completion, which the prompt has.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use reedline::LineBuffer;

use crate::text::escape::visible;
use crate::text::{clusters, last_word};

/// Longest text, in bytes.
const LONGEST: usize = 1 << 20;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    line: LineBuffer,
    secret: bool,
}

impl Entry {
    pub fn new(secret: bool) -> Self {
        Entry {
            secret,
            ..Entry::default()
        }
    }

    /// Creates an entry that holds `text`, with the cursor at its end.
    pub fn with(text: &str) -> Self {
        let mut entry = Entry::default();
        entry.paste(text);
        entry
    }

    pub fn text(&self) -> &str {
        self.line.get_buffer()
    }

    /// Text that may be shown afterwards; empty for a secret.
    pub fn shown(&self) -> &str {
        if self.secret { "" } else { self.text() }
    }

    pub fn before(&self) -> &str {
        &self.text()[..self.line.insertion_point()]
    }

    /// Takes a key or a paste; returns true when the text has changed.
    pub fn take(&mut self, event: &Event) -> bool {
        match event {
            Event::Key(key) => self.on_key(key),
            Event::Paste(text) => {
                self.paste(text);
                !text.is_empty()
            }
            _ => false,
        }
    }

    /// Takes a key; returns true when the text has changed.
    pub fn on_key(&mut self, key: &KeyEvent) -> bool {
        let length = self.text().len();
        let line = &mut self.line;
        let (control, alt) = (KeyModifiers::CONTROL, KeyModifiers::ALT);
        match key.code {
            KeyCode::Char(c) if key.modifiers == control => match c {
                'a' => line.move_to_start(),
                'b' => line.move_left(),
                'd' => line.delete_right_grapheme(),
                'e' => line.move_to_end(),
                'f' => line.move_right(),
                'h' => line.delete_left_grapheme(),
                'k' => line.clear_to_end(),
                'u' => line.clear_to_insertion_point(),
                'w' => self.cut_word(),
                _ => {}
            },
            KeyCode::Backspace if key.modifiers == alt => self.cut_word(),
            _ if key.modifiers.intersects(control | alt) => {}
            KeyCode::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => line.delete_left_grapheme(),
            KeyCode::Delete => line.delete_right_grapheme(),
            KeyCode::Left => line.move_left(),
            KeyCode::Right => line.move_right(),
            KeyCode::Home => line.move_to_start(),
            KeyCode::End => line.move_to_end(),
            _ => {}
        }
        self.text().len() != length
    }

    /// Inserts text at the cursor; several lines become one.
    pub fn paste(&mut self, text: &str) {
        self.insert(&one_line(text));
    }

    /// Returns the part of the text around the cursor that fits `room` columns, and how many of its columns follow
    /// the cursor.
    pub fn window(&self, room: usize) -> (&str, usize) {
        if self.secret {
            return ("", 0);
        }
        let room = room.max(2);
        let (before, after) = self.text().split_at(self.line.insertion_point());
        let mut start = before.len();
        let mut used = 0;
        let widths: Vec<(usize, usize)> = clusters(before).map(|(c, w)| (c.len(), w)).collect();
        // One column stays free for the cursor.
        for (bytes, width) in widths.into_iter().rev() {
            if used + width > room - 1 {
                break;
            }
            used += width;
            start -= bytes;
        }
        let mut end = before.len();
        let mut behind = 0;
        for (cluster, width) in clusters(after) {
            if used + behind + width > room - 1 {
                break;
            }
            behind += width;
            end += cluster.len();
        }
        (&self.text()[start..end], behind)
    }

    fn insert(&mut self, text: &str) {
        // Characters that reorder or hide text are not typed by people.
        let text = &text.replace(
            |c: char| visible(c.encode_utf8(&mut [0; 4])).len() != c.len_utf8(),
            "",
        );
        if self.text().len() + text.len() <= LONGEST {
            self.line.insert_str(text);
        }
    }

    fn cut_word(&mut self) {
        let before = self.before();
        self.line.clear_range_safe(last_word(before)..before.len());
    }
}

fn one_line(text: &str) -> String {
    let text = text.trim_end_matches(['\r', '\n']).replace("\r\n", "\n");
    text.chars()
        .map(|c| {
            if matches!(c, '\r' | '\n' | '\t') {
                ' '
            } else {
                c
            }
        })
        .filter(|c| !c.is_control())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Decoder;
    use crate::text::columns;
    use proptest::prelude::*;

    fn typed(keys: &str) -> Entry {
        let mut entry = Entry::new(false);
        for event in Decoder::all(keys.as_bytes()) {
            entry.take(&event);
        }
        entry
    }

    #[test]
    fn editing_keys() {
        let check = |keys: &str, value: &str, cursor: usize| {
            let entry = typed(keys);
            assert_eq!(
                (entry.text(), entry.before().len()),
                (value, cursor),
                "{keys:?}"
            );
        };
        const LEFT: &str = "\x1b[D";
        check("ab\x7f", "a", 1);
        check("abC", "abC", 3);
        check("漢e\u{301}\x7f", "漢", 3);
        check(&format!("漢字{LEFT}x"), "漢x字", 4);
        check("one two \x17", "one ", 4);
        check("one\u{3000}two\x1b\x7f", "one\u{3000}", 6);
        check("one two\x17\x17", "", 0);
        check(&format!("abc{LEFT}\x15"), "c", 0);
        check("abc\x01\x06\x0b", "a", 1);
        check("abc\x1b[H\x1b[3~\x1b[F!", "bc!", 3);
        check(&format!("\x7f\x1b[3~{LEFT}\x1b[C\x17\x18\x1bx"), "", 0);
        check("\x1b[200~a\r\nb\tc\x1b[2J\r\n\x1b[201~", "a b c[2J", 8);
        assert_eq!(Entry::with("a\nb\t\x1bc\r\n").text(), "a b c");
        let took = |text: &str, key: KeyCode| Entry::with(text).on_key(&key.into());
        assert!(took("a", KeyCode::Backspace) && took("", KeyCode::Char('x')));
        assert!(!took("", KeyCode::Enter) && !took("a", KeyCode::Left));
    }

    #[test]
    fn a_window_shows_the_text_around_the_cursor() {
        let mut entry = typed("0123456789");
        assert_eq!(entry.window(80), ("0123456789", 0));
        assert_eq!(entry.window(5), ("6789", 0));
        entry.on_key(&KeyCode::Home.into());
        assert_eq!(entry.window(5), ("0123", 4));
        assert_eq!(typed("漢字漢字").window(6), ("漢字", 0));
        let mut secret = Entry::new(true);
        secret.on_key(&KeyCode::Char('x').into());
        assert_eq!(
            (secret.window(9), secret.shown(), secret.text()),
            (("", 0), "", "x")
        );
    }

    proptest! {
        #[test]
        fn a_window_fits(start in "\\PC{0,40}", left in 0usize..50, room in 2usize..30) {
            let mut entry = Entry::with(&start);
            (0..left).for_each(|_| { entry.on_key(&KeyCode::Left.into()); });
            let (shown, behind) = entry.window(room);
            prop_assert!(columns(shown) < room.max(3), "{shown:?}");
            prop_assert!(behind <= columns(shown));
        }
    }
}
