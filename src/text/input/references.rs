//! References in a prompt, a note or a skill: ``&`tool` ``, ``$`variable` ``, ``!`command` ``.
//!
//! In: any text. Out: its references. Invariants: total, and linear in the text. Absent on purpose: Markdown; a
//! reference inside a code block counts, since a user who writes a mark before a backtick means a reference.

use std::collections::HashSet;

/// The references of a text; each list in the order of first mention, without repeats.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct References {
    /// ``&`name` ``: functions offered to the agent.
    pub tools: Vec<String>,
    /// ``$`name` ``, ``$`f(x)` ``, ``$`d["k"]` ``: expressions whose values, or a message in their place, are sent.
    pub variables: Vec<String>,
    /// ``!`cmd` ``: commands whose output is sent.
    pub shells: Vec<String>,
}

/// Finds the references in `text`. A reference does not span lines; a `!` after a word character or a backtick is not
/// a mark.
pub fn references(text: &str) -> References {
    let mut found = References::default();
    let mut seen = HashSet::new();
    let mut before = None;
    let mut rest = text;
    while let Some(at) = rest.find(['&', '$', '!']) {
        before = rest[..at].chars().next_back().or(before);
        let mark = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        let body = rest
            .strip_prefix('`')
            .and_then(|rest| rest.split_once('`'))
            .map(|(body, _)| body)
            .filter(|body| !body.is_empty() && !body.contains('\n'));
        let Some(body) = body else {
            before = Some(char::from(mark));
            continue;
        };
        let list = match mark {
            b'&' if is_name(body) => Some(&mut found.tools),
            b'$' if !body.trim().is_empty() => Some(&mut found.variables),
            b'!' if !before.is_some_and(|c| c == '`' || c == '_' || c.is_alphanumeric())
                && !body.trim().is_empty() =>
            {
                Some(&mut found.shells)
            }
            _ => None,
        };
        before = Some(char::from(mark));
        if let Some(list) = list {
            if seen.insert((mark, body)) {
                list.push(body.to_owned());
            }
            rest = &rest[body.len() + 2..];
            before = Some('`');
        }
    }
    found
}

/// True for a valid Python identifier.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_numeric())
        && text.chars().all(|c| c == '_' || c.is_alphanumeric())
}

/// True for an expression that may contain a call, which runs the user's code with all its effects; any other
/// expression is only looked up.
pub fn may_call(expression: &str) -> bool {
    expression.trim_end().ends_with(')') || expression.contains('#')
}
