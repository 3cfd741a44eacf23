//! One line of text being typed, its cursor at the end: a filter, a name.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Field {
    text: String,
}

impl Field {
    /// With this text in it.
    pub(super) fn with(text: &str) -> Self {
        let mut field = Field::default();
        field.insert(text);
        field
    }

    /// What was typed.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Adds text; of several lines it makes one, control characters are left out.
    pub(super) fn insert(&mut self, text: &str) {
        let line = text
            .trim_end_matches(['\r', '\n'])
            .replace(['\r', '\n', '\t'], " ");
        self.text.extend(line.chars().filter(|c| !c.is_control()));
    }

    /// Takes a key; false when it is none of a line of text, or changes nothing.
    pub(super) fn on_key(&mut self, key: &KeyEvent) -> bool {
        let before = self.text.len();
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => self.text.clear(),
            KeyCode::Char('w') if control => self.delete_word(),
            KeyCode::Char('h') if control => self.delete(),
            KeyCode::Backspace if key.modifiers.contains(KeyModifiers::ALT) => self.delete_word(),
            KeyCode::Backspace => self.delete(),
            KeyCode::Char(c) if !control && !key.modifiers.contains(KeyModifiers::ALT) => {
                self.insert(c.encode_utf8(&mut [0; 4]));
            }
            _ => return false,
        }
        self.text.len() != before
    }

    fn delete(&mut self) {
        let last = crate::text::clusters(&self.text).last();
        let length = last.map_or(0, |(cluster, _)| cluster.len());
        self.text.truncate(self.text.len() - length);
    }

    fn delete_word(&mut self) {
        let word = self.text.trim_end();
        let keep = word.rfind(char::is_whitespace).map_or(0, |at| {
            at + word[at..].chars().next().map_or(0, char::len_utf8)
        });
        self.text.truncate(keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, keys: &[(KeyCode, KeyModifiers)], expected: &str) {
        let mut field = Field::with(typed);
        for (code, modifiers) in keys {
            field.on_key(&KeyEvent::new(*code, *modifiers));
        }
        assert_eq!(field.text(), expected, "{typed:?} {keys:?}");
    }

    #[test]
    fn keys_of_a_line_work() {
        let control = |c| (KeyCode::Char(c), KeyModifiers::CONTROL);
        let plain = |code| (code, KeyModifiers::NONE);
        check("ab", &[plain(KeyCode::Char('c'))], "abc");
        check("ab", &[(KeyCode::Char('C'), KeyModifiers::SHIFT)], "abC");
        check("e\u{301}", &[plain(KeyCode::Backspace)], "");
        check("one two ", &[control('w')], "one ");
        check("one\u{3000}two", &[control('w')], "one\u{3000}");
        check("one", &[control('w'), control('w')], "");
        check("one two", &[control('u')], "");
        check("", &[plain(KeyCode::Backspace)], "");
        check("a\nb\t\x1bc\r\n", &[], "a b c");
        check(
            "a",
            &[control('x'), (KeyCode::Char('x'), KeyModifiers::ALT)],
            "a",
        );
    }
}
