//! The Python blocks of an answer.
//!
//! In: markdown. Out: the text of each fenced block tagged exactly `python` or `py`, at top level or in lists, stripped,
//! without the empty ones, in order. Absent on purpose: indented code, other tags (`python3`, `Python`), quotes'
//! blocks are included as the parser finds them.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::blocks::options;

/// The Python blocks of `markdown`.
pub fn python_blocks(markdown: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current: Option<String> = None;
    for event in Parser::new_ext(markdown, options()) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                current = matches!(info.trim(), "python" | "py").then(String::new);
            }
            Event::Text(text) => {
                if let Some(block) = &mut current {
                    block.push_str(&text);
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
        let text = "```python\na = 1\n```\n\n1. item\n\n   ```py\n   if a:\n       b\n   ```\n\n```python3\nno\n```\n\n```py\n \n```\n\n    indented\n\n~~~py\nc\n~~~\n```Python\nno\n```\n```py title\nno\n```\n";
        assert_eq!(python_blocks(text), ["a = 1", "if a:\n    b", "c"]);
        assert_eq!(python_blocks("```py\nopen = True"), ["open = True"]);
    }
}
