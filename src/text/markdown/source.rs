//! The entry of model text: control characters that a terminal could act on are removed here.
//!
//! In: any text. Out: text whose only control characters are `\n` and `\t`, without bidirectional overrides and
//! invisible tag characters. Invariant: `clean` is idempotent and works character by character, so a text may be cut
//! anywhere. Called twice: for what arrives, and for what the parser decodes (`&#27;` is an escape character).
//! Absent on purpose: escape sequences; without its first byte a sequence is ordinary text.

use std::borrow::Cow;

/// Precedes the rest of a paragraph whose first rows are settled. A noncharacter, which `clean` never returns.
pub(crate) const RESUMED: char = '\u{fdd0}';

/// Makes text safe to print; control characters become visible pictures.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| replacement(c).is_none()) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    clean_into(text, &mut out);
    Cow::Owned(out)
}

pub(crate) fn clean_into(text: &str, out: &mut String) {
    for c in text.chars() {
        match replacement(c) {
            None => out.push(c),
            Some(Some(shown)) => out.push(shown),
            Some(None) => {}
        }
    }
}

/// `None`: passes. `Some(None)`: dropped. `Some(Some(c))`: shown as `c`.
fn replacement(c: char) -> Option<Option<char>> {
    match c {
        '\n' | '\t' | ' '..='~' => None,
        '\r' => Some(None),
        '\0'..='\u{1f}' => Some(char::from_u32(0x2400 + u32::from(c))),
        '\u{7f}' => Some(Some('\u{2421}')),
        '\u{80}'..='\u{9f}' => Some(Some('\u{fffd}')),
        // Soft hyphen, zero-width space, byte-order mark: terminals disagree about their width.
        '\u{ad}' | '\u{200b}' | '\u{feff}' => Some(None),
        '\u{2028}' | '\u{2029}' => Some(Some(' ')),
        // Bidirectional embeddings, overrides and isolates; deprecated format and interlinear characters.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => {
            Some(Some('\u{fffd}'))
        }
        '\u{fff9}'..='\u{fffb}' => Some(Some('\u{fffd}')),
        // Tag characters and noncharacters.
        '\u{e0000}'..='\u{e007f}' => Some(None),
        '\u{fdd0}'..='\u{fdef}' => Some(Some('\u{fffd}')),
        _ => None,
    }
}

/// Returns `target` if a terminal may open it: a known scheme, no blank, no control character.
pub(crate) fn safe_link(target: &str) -> Option<&str> {
    let known = ["http://", "https://", "mailto:", "file://"]
        .iter()
        .any(|scheme| {
            target
                .get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
    let printable = target
        .chars()
        .all(|c| !c.is_control() && !c.is_whitespace() && replacement(c).is_none());
    (known && printable && target.len() <= 2000).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_newline_and_tab_survive_among_controls() {
        let all: String = (0..=0x2_ffff).filter_map(char::from_u32).collect();
        let cleaned = clean(&all);
        assert!(
            cleaned
                .chars()
                .all(|c| c == '\n' || c == '\t' || !c.is_control())
        );
        assert_eq!(clean(&cleaned), cleaned);
        assert_eq!(clean("a\r\nb\x1b[2J"), "a\nb␛[2J");
        assert_eq!(clean("x\u{202e}y\u{e0041}"), "x\u{fffd}y");
    }

    #[test]
    fn links_have_known_schemes() {
        assert!(safe_link("https://e.org/a?b#c").is_some());
        assert!(safe_link("MAILTO:a@b.c").is_some());
        for bad in [
            "javascript:alert(1)",
            "data:text/html,x",
            "https://e.org/\x07",
            "https://a b",
            "",
        ] {
            assert!(safe_link(bad).is_none(), "{bad}");
        }
    }
}
