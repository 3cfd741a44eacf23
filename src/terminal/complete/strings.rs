//! Classifies a string being typed: a key of an object, the name of a symbol, or neither.
//!
//! In: the code before the string, or what has been typed of it. Out: yes or no. Total. Absent on purpose: finding the
//! string (`code_context`).

/// Returns true before a string that is the key of an object, or one of several: `d[`, `d["a", `, `d[["a", `, and
/// not an item of a list.
pub(super) fn is_key(before: &str) -> bool {
    let before = before.trim_end();
    let owner = match before.strip_suffix('[') {
        Some(owner) => owner,
        None if before.ends_with(',') => match open_bracket(before) {
            Some(at) if before[at..].starts_with('[') => &before[..at],
            _ => return false,
        },
        None => return false,
    };
    let blank = |c| c == ' ' || c == '\t';
    let owner = owner.trim_end_matches(blank);
    let owner = owner
        .strip_suffix('[')
        .map_or(owner, |outer| outer.trim_end_matches(blank));
    let Some(last) = owner.chars().next_back() else {
        return false;
    };
    let word = owner
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_'))
        .map_or(owner, |at| &owner[at..])
        .trim_start_matches(|c: char| !(c.is_alphanumeric() || c == '_'));
    let keyword = matches!(
        word,
        "in" | "return"
            | "yield"
            | "and"
            | "or"
            | "not"
            | "if"
            | "else"
            | "elif"
            | "while"
            | "is"
            | "lambda"
            | "assert"
            | "del"
            | "await"
            | "raise"
            | "case"
            | "match"
    );
    (last.is_alphanumeric() || matches!(last, '_' | ')' | ']' | '\'' | '"')) && !keyword
}

/// Returns true where a string ends in the name of a symbol, `\alpha`, or in a symbol whose name to look up, `\α`.
/// A single letter may be an escape instead.
pub(super) fn names_symbol(typed: &str) -> bool {
    let Some((before, name)) = typed.rsplit_once('\\') else {
        return false;
    };
    let escaped = before
        .bytes()
        .rev()
        .take_while(|byte| *byte == b'\\')
        .count()
        % 2
        == 1;
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|first| first != ' ');
    let alone = letters.next().is_none();
    !escaped
        && first
        && (!alone || !name.is_ascii())
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "^_ -".contains(c) || !c.is_ascii())
}

/// Returns the offset of the last bracket that is open at the end of `code`. Brackets in strings do not count.
fn open_bracket(code: &str) -> Option<usize> {
    let mut closed = 0usize;
    let mut quote = None;
    for (at, byte) in code.bytes().enumerate().rev() {
        match (quote, byte) {
            (Some(open), _) => quote = Some(open).filter(|open| *open != byte),
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b')' | b']' | b'}') => closed += 1,
            (None, b'(' | b'[' | b'{') if closed == 0 => return Some(at),
            (None, b'(' | b'[' | b'{') => closed -= 1,
            (None, _) => {}
        }
    }
    None
}
