//! The Python blocks of an answer.
//!
//! In: markdown. Out: the text of each fenced block tagged exactly `python` or `py`, at top level or in lists,
//! stripped, without the empty ones, in order. Their numbers on the screen follow the same rule: `is_python`, not in
//! a quote, and counted at their first line that is not blank. Absent on purpose: indented code, other tags
//! (`python3`, `Python`), blocks inside quotes, and content nested too deep to be shown as code.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::blocks::options;
use super::depth::bounded;
use crate::NESTING;

/// True for an info string of Python that keys can insert.
pub(crate) fn is_python(info: &str) -> bool {
    matches!(info.trim(), "python" | "py")
}

/// Returns the Python blocks of `markdown`, by the rule of this module.
pub fn python_blocks(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current: Option<String> = None;
    let (mut quotes, mut others) = (0, 0);
    let mut room = String::new();
    let bounded = bounded(markdown, &mut room);
    for event in Parser::new_ext(bounded.source, options()) {
        match event {
            Event::Start(Tag::BlockQuote(_)) => quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => quotes -= 1,
            Event::Start(Tag::List(_) | Tag::FootnoteDefinition(_)) => others += 1,
            Event::End(TagEnd::List(_) | TagEnd::FootnoteDefinition) => others -= 1,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let seen = quotes == 0 && others <= NESTING;
                current = (is_python(&info) && seen).then(String::new);
            }
            Event::Text(text) => {
                if let Some(block) = &mut current {
                    block.push_str(&bounded.written(&text));
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some(block) = current.take()
                    && !block.trim().is_empty()
                {
                    found.push(block.trim().to_owned());
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_blocks_tagged_python_or_py() {
        let text = "```python\na = 1\n```\n\n1. item\n\n   ```py\n   if a:\n       b\n   ```\n\n```python3\nno\n```\n\n\
                    ```py\n \n```\n\n    indented\n\n~~~py\nc\n~~~\n```Python\nno\n```\n```py title\nno\n```\n";
        assert_eq!(python_blocks(text), ["a = 1", "if a:\n    b", "c"]);
        assert_eq!(python_blocks("```py\nopen = True"), ["open = True"]);
        assert!(python_blocks("> ```py\n> quoted\n> ```\n").is_empty());
    }
}
