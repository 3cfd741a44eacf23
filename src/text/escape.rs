//! Untrusted text made safe: to show on one line, to show on several, to put into XML.
//!
//! In: any text (a path, a command, a tool's name, an error message). Out: text without control characters that a
//! terminal or an XML parser acts on. Characters hidden on screen (bidirectional overrides, tag characters) become
//! visible, so that the reader sees what will run. Absent on purpose: terminal output of cells, whose colours and
//! progress bars are kept (`output::filter`).

use std::borrow::Cow;

/// Text on one line for people: control characters as `^[`, others that hide or reorder as `\u{202e}`, a newline as
/// `⏎`.
pub fn visible(text: &str) -> Cow<'_, str> {
    rewrite(text, is_hidden, |c, out| match c {
        '\n' => out.push('⏎'),
        other => push_visible(other, out),
    })
}

/// As [`visible`] for text of several lines: `\n` and `\t` stay, `\r\n` becomes `\n`.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    let text = if text.contains("\r\n") {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    };
    let hidden = |c: char| is_hidden(c) && c != '\n' && c != '\t';
    match text {
        Cow::Borrowed(text) => rewrite(text, hidden, push_visible),
        Cow::Owned(text) => Cow::Owned(rewrite(&text, hidden, push_visible).into_owned()),
    }
}

/// Text for the content of an XML element: `& < >` escaped, a carriage return as `&#13;` (a parser would turn it
/// into a newline), characters that XML 1.0 forbids dropped.
pub fn xml_text(text: &str) -> Cow<'_, str> {
    let special = |c: char| matches!(c, '&' | '<' | '>' | '\r') || !xml_allows(c);
    rewrite(text, special, push_xml)
}

/// Text for an XML attribute in double quotes: as [`xml_text`], with `"`, newline and tab escaped too.
pub fn xml_attribute(text: &str) -> Cow<'_, str> {
    let special =
        |c: char| matches!(c, '&' | '<' | '>' | '"' | '\r' | '\n' | '\t') || !xml_allows(c);
    rewrite(text, special, push_xml)
}

/// Text for the line editor, which paints its buffer unescaped: control characters are spelled as in Python.
pub fn editable(text: &str) -> Cow<'_, str> {
    let plain = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    if text.chars().all(plain) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let spelled = text.chars().map(|c| match c {
        c if plain(c) => c.to_string(),
        c => format!("\\x{:02x}", u32::from(c)),
    });
    Cow::Owned(spelled.collect())
}

/// Replaces the characters for which `special` gives a text; borrows when there is none.
fn rewrite<'a>(
    text: &'a str,
    special: impl Fn(char) -> bool,
    replace: impl Fn(char, &mut String),
) -> Cow<'a, str> {
    let Some(first) = text.find(&special) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        if special(c) {
            replace(c, &mut out);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// True for control characters and those that reorder, hide or smuggle text, but not for the joiners of emoji.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn push_visible(c: char, out: &mut String) {
    match c {
        '\u{7f}' => out.push_str("^?"),
        '\0'..='\u{1f}' => {
            out.push('^');
            out.push(char::from(c as u8 ^ 0x40));
        }
        other => out.extend(other.escape_unicode()),
    }
}

fn xml_allows(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn push_xml(c: char, out: &mut String) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\r' => out.push_str("&#13;"),
        '\n' => out.push_str("&#10;"),
        '\t' => out.push_str("&#9;"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    #[test]
    fn the_editor_holds_no_control_characters() {
        for (text, held) in [
            ("a = 'ä'\n\tb", "a = 'ä'\n\tb"),
            ("'\x1b[2J\x07'", "'\\x1b[2J\\x07'"),
            ("\u{9b}2J\x7f\0", "\\x9b2J\\x7f\\x00"),
            ("a\r\nb\rc", "a\nb\nc"),
        ] {
            assert_eq!(editable(text), held);
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let check = |text: &str, one_line: &str, lines: &str| {
            assert_eq!(visible(text), one_line, "{text:?}");
            assert_eq!(visible_lines(text), lines, "{text:?}");
        };
        check("plain é 漢 👩‍👧", "plain é 漢 👩‍👧", "plain é 漢 👩‍👧");
        check("a\x1b[31mb\x07", "a^[[31mb^G", "a^[[31mb^G");
        check("a\nb\tc", "a⏎b^Ic", "a\nb\tc");
        check("a\r\nb\rc", "a^M⏎b^Mc", "a\nb^Mc");
        check("\0\x7f\u{9b}", "^@^?\\u{9b}", "^@^?\\u{9b}");
        check("rm \u{202e}txt", "rm \\u{202e}txt", "rm \\u{202e}txt");
        check("\u{e0041}", "\\u{e0041}", "\\u{e0041}");
        check(
            "\u{2066}x\u{200b}",
            "\\u{2066}x\\u{200b}",
            "\\u{2066}x\\u{200b}",
        );
    }

    #[test]
    fn safe_text_is_not_copied() {
        assert!(matches!(visible("safe"), Cow::Borrowed(_)));
        assert!(matches!(visible_lines("safe\n\t"), Cow::Borrowed(_)));
        assert!(matches!(xml_text("safe"), Cow::Borrowed(_)));
    }

    #[test]
    fn xml_special_characters() {
        assert_eq!(
            xml_text("</a> & \"q\"\0\u{fffe}\r\n"),
            "&lt;/a&gt; &amp; \"q\"&#13;\n"
        );
        assert_eq!(xml_attribute("\"<\n\t"), "&quot;&lt;&#10;&#9;");
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn nothing_hidden_comes_out(text in any::<String>()) {
            prop_assert!(!visible(&text).chars().any(is_hidden));
            prop_assert!(!visible_lines(&text).chars().any(|c| is_hidden(c) && c != '\n' && c != '\t'));
        }

        #[test]
        fn xml_parses_back_to_the_same_text(text in any::<String>()) {
            let allowed: String = text.chars().filter(|&c| xml_allows(c)).collect();
            let source = format!("<a b=\"{}\">{}</a>", xml_attribute(&text), xml_text(&text));
            let document = roxmltree::Document::parse(&source).unwrap();
            let root = document.root_element();
            prop_assert_eq!(root.text().unwrap_or_default(), &allowed);
            prop_assert_eq!(root.attribute("b").unwrap_or_default(), &allowed);
        }
    }
}
