//! The code blocks that a skill asks to run when it is loaded.

use crate::markdown::fences::python_blocks;
use crate::skills::frontmatter;

/// The marked blocks of a `SKILL.md`, in order, each with its mark.
pub(super) fn eval_blocks(text: &str) -> Vec<String> {
    let body = match frontmatter::fences(text) {
        frontmatter::Fences::Closed { body, .. } => body,
        _ => text,
    };
    let mut blocks = python_blocks(body);
    blocks.retain(|block| is_eval_option(block.lines().next().unwrap_or_default()));
    blocks
}

/// Matches `#| eval: true`, with any blanks.
fn is_eval_option(line: &str) -> bool {
    let Some(option) = line.trim().strip_prefix("#|") else {
        return false;
    };
    let Some((key, value)) = option.split_once(':') else {
        return false;
    };
    key.trim() == "eval" && value.trim() == "true"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_python_blocks_with_eval_true_run() {
        let text = "---\nname: x\n---\n```python\n#| eval: true\na = 1\n```\n```py\n#|eval:true\nb\n```\n\
                    ```python\nno = 1\n#| eval: true\n```\n```sh\n#| eval: true\n```\n~~~python\n#|  eval: true \nc\n\
                    ~~~\n```python\n#| eval: false\n```\n> ```python\n> #| eval: true\n> ```\n\
                    ```python\n# eval: true\n```\n";
        assert_eq!(
            eval_blocks(text),
            [
                "#| eval: true\na = 1",
                "#|eval:true\nb",
                "#|  eval: true \nc"
            ]
        );
    }
}
