//! One line of text being typed: a value, a cursor, the usual editing keys.
//!
//! Pure. The cursor stands between grapheme clusters. A secret shows nothing, not even its length. Absent on purpose:
//! history and completion.

use super::keys::Key;
use crate::text::clusters;
use crate::text::escape::visible;

/// Bytes of text taken.
const LONGEST: usize = 1 << 20;

/// Text and cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::display) struct Entry {
    text: String,
    /// Bytes before the cursor.
    cursor: usize,
    secret: bool,
}

impl Entry {
    /// Nothing typed yet.
    pub(in crate::display) fn new(secret: bool) -> Self {
        Entry {
            secret,
            ..Entry::default()
        }
    }

    /// What was typed.
    pub(in crate::display) fn text(&self) -> &str {
        &self.text
    }

    /// What may be shown of it afterwards.
    pub(in crate::display) fn shown(&self) -> &str {
        if self.secret { "" } else { &self.text }
    }

    /// Takes an editing key; false when it is none.
    pub(in crate::display) fn take(&mut self, key: &Key) -> bool {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Paste(text) => self.insert(&one_line(text)),
            Key::Backspace => self.remove(self.before(), self.cursor),
            Key::Delete | Key::Control('d') => self.remove(self.cursor, self.after()),
            Key::Control('u') => self.remove(0, self.cursor),
            Key::Control('k') => self.remove(self.cursor, self.text.len()),
            Key::Control('w') => self.remove(self.word(), self.cursor),
            Key::Left | Key::Control('b') => self.cursor = self.before(),
            Key::Right | Key::Control('f') => self.cursor = self.after(),
            Key::Home | Key::Control('a') => self.cursor = 0,
            Key::End | Key::Control('e') => self.cursor = self.text.len(),
            _ => return false,
        }
        true
    }

    /// The part of the text that fits `room` columns around the cursor, and how many columns of it lie behind the cursor.
    pub(in crate::display) fn window(&self, room: usize) -> (&str, usize) {
        if self.secret {
            return ("", 0);
        }
        let room = room.max(2);
        let (before, after) = self.text.split_at(self.cursor);
        let mut start = before.len();
        let mut used = 0;
        let widths: Vec<(usize, usize)> = clusters(before).map(|(c, w)| (c.len(), w)).collect();
        // A column stays free for the cursor.
        for (bytes, width) in widths.into_iter().rev() {
            if used + width > room - 1 {
                break;
            }
            used += width;
            start -= bytes;
        }
        let mut end = self.cursor;
        let mut behind = 0;
        for (cluster, width) in clusters(after) {
            if used + behind + width > room - 1 {
                break;
            }
            behind += width;
            end += cluster.len();
        }
        (&self.text[start..end], behind)
    }

    fn insert(&mut self, text: &str) {
        // What reorders or hides is not typed by people.
        let text = &text.replace(
            |c: char| visible(c.encode_utf8(&mut [0; 4])).len() != c.len_utf8(),
            "",
        );
        if self.text.len() + text.len() <= LONGEST {
            self.text.insert_str(self.cursor, text);
            self.cursor += text.len();
        }
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.drain(from..to);
        self.cursor = from;
    }

    fn before(&self) -> usize {
        let last = clusters(&self.text[..self.cursor]).last();
        self.cursor - last.map_or(0, |(cluster, _)| cluster.len())
    }

    fn after(&self) -> usize {
        let next = clusters(&self.text[self.cursor..]).next();
        self.cursor + next.map_or(0, |(cluster, _)| cluster.len())
    }

    /// Where the word before the cursor begins.
    fn word(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before
            .char_indices()
            .rev()
            .find(|(_, c)| c.is_whitespace())
            .map_or(0, |(at, c)| at + c.len_utf8())
    }
}

/// Pasted text as one line without control characters.
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
    use crate::text::columns;
    use proptest::prelude::*;

    fn typed(keys: &[Key]) -> Entry {
        let mut entry = Entry::new(false);
        for key in keys {
            entry.take(key);
        }
        entry
    }

    fn text(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn editing_keys() {
        use Key::*;
        let check = |start: &str, keys: &[Key], value: &str, cursor: usize| {
            let mut all = text(start);
            all.extend_from_slice(keys);
            let entry = typed(&all);
            assert_eq!(
                (entry.text(), entry.cursor),
                (value, cursor),
                "{start} {keys:?}"
            );
        };
        check("ab", &[Backspace], "a", 1);
        check("漢e\u{301}", &[Backspace], "漢", 3);
        check("漢字", &[Left, Char('x')], "漢x字", 4);
        check("one two ", &[Control('w')], "one ", 4);
        check("one two", &[Control('w'), Control('w')], "", 0);
        check("abc", &[Left, Control('u')], "c", 0);
        check("abc", &[Home, Right, Control('k')], "a", 1);
        check("abc", &[Home, Delete, End, Char('!')], "bc!", 3);
        check("", &[Backspace, Delete, Left, Right, Control('w')], "", 0);
        check("", &[Paste("a\r\nb\tc\x1b[2J\r\n".into())], "a b c[2J", 8);
        assert!(!Entry::new(false).take(&Enter));
    }

    #[test]
    fn a_window_shows_the_text_around_the_cursor() {
        let mut entry = typed(&text("0123456789"));
        assert_eq!(entry.window(80), ("0123456789", 0));
        assert_eq!(entry.window(5), ("6789", 0));
        entry.take(&Key::Home);
        assert_eq!(entry.window(5), ("0123", 4));
        assert_eq!(typed(&text("漢字漢字")).window(6), ("漢字", 0));
        let mut secret = Entry::new(true);
        secret.take(&Key::Char('x'));
        assert_eq!(
            (secret.window(9), secret.shown(), secret.text()),
            (("", 0), "", "x")
        );
    }

    proptest! {
        #[test]
        fn a_window_fits(start in "\\PC{0,40}", left in 0usize..50, room in 2usize..30) {
            let mut entry = typed(&text(&start));
            (0..left).for_each(|_| { entry.take(&Key::Left); });
            let (shown, behind) = entry.window(room);
            prop_assert!(columns(shown) < room.max(3), "{shown:?}");
            prop_assert!(behind <= columns(shown));
        }
    }
}
