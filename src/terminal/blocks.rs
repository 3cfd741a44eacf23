//! The last answer at the editor's disposal: its Python blocks, and its prompt.
//!
//! Pure: what a key may want ([`BlockWish`]), and what it gets of the last exchange. Cycling starts over with another
//! answer. Absent on purpose: which key that is, and the editor's buffer.

use crate::dialog::display_form;
use crate::markdown::fences::python_blocks;
use crate::session::LastExchange;

/// What a key wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockWish {
    /// All blocks, at the cursor.
    All,
    /// The nth block from 1, at the cursor.
    Nth(usize),
    /// The next block in place of the text.
    Next,
    /// The one before.
    Previous,
    /// The prompt, to be edited and sent in place of the old one.
    Recall,
    /// The answer, in the clipboard.
    Copy,
    /// What was shown shortened.
    Unfold,
}

/// What a wish gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Got {
    /// Text for the cursor's place.
    Insert(String),
    /// Text in place of all text.
    Replace(String),
    /// Text for the clipboard, and the In number of the exchange it is of.
    Clip(u32, String),
    /// The prompt of this In number in place of all text.
    Prompt(u32, String),
    /// Nothing; why.
    Nothing(&'static str),
}

impl BlockWish {
    /// The wish as the name of an editor's command.
    pub(super) fn name(self) -> String {
        match self {
            BlockWish::All => "blocks".into(),
            BlockWish::Nth(number) => format!("block {number}"),
            BlockWish::Next => "block next".into(),
            BlockWish::Previous => "block previous".into(),
            BlockWish::Recall => "recall".into(),
            BlockWish::Copy => "copy".into(),
            BlockWish::Unfold => "unfold".into(),
        }
    }

    /// And back.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "blocks" => Some(BlockWish::All),
            "block next" => Some(BlockWish::Next),
            "block previous" => Some(BlockWish::Previous),
            "recall" => Some(BlockWish::Recall),
            "copy" => Some(BlockWish::Copy),
            "unfold" => Some(BlockWish::Unfold),
            name => name
                .strip_prefix("block ")
                .and_then(|number| number.parse().ok())
                .map(BlockWish::Nth),
        }
    }
}

/// Where cycling stands.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The answer cycled through, and the block shown.
    shown: Option<(LastExchange, usize)>,
}

impl Blocks {
    /// Grants a wish from the last exchange.
    pub(super) fn grant(&mut self, wish: BlockWish, last: Option<LastExchange>) -> Got {
        let Some(last) = last else {
            return Got::Nothing("there is no answer yet");
        };
        if wish == BlockWish::Recall {
            return Got::Prompt(last.line, format!(".{}", last.prompt));
        }
        if wish == BlockWish::Copy {
            let answer = display_form(&last.response).trim_end().to_owned();
            return Got::Clip(last.line, answer);
        }
        // Reasoning is quoted in this form, and what is quoted is not offered.
        let blocks = python_blocks(&display_form(&last.response));
        let Some(newest) = blocks.len().checked_sub(1) else {
            return Got::Nothing("the last answer has no Python block");
        };
        match wish {
            BlockWish::All => Got::Insert(blocks.join("\n")),
            BlockWish::Nth(number) => match number.checked_sub(1).and_then(|at| blocks.get(at)) {
                Some(block) => {
                    let block = block.clone();
                    self.shown = Some((last, number - 1));
                    Got::Insert(block)
                }
                None => Got::Nothing("the last answer has fewer Python blocks"),
            },
            wish => {
                let known = self
                    .shown
                    .take()
                    .filter(|(known, _)| *known == last)
                    .map(|(_, at)| at);
                let at = match (wish, known) {
                    (BlockWish::Previous, None | Some(0)) => newest,
                    (BlockWish::Previous, Some(at)) => at - 1,
                    (_, Some(at)) if at < newest => at + 1,
                    _ => 0,
                };
                self.shown = Some((last, at));
                Got::Replace(blocks[at].clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_named() {
        for wish in [
            BlockWish::All,
            BlockWish::Nth(1),
            BlockWish::Nth(9),
            BlockWish::Next,
            BlockWish::Previous,
            BlockWish::Recall,
            BlockWish::Copy,
            BlockWish::Unfold,
        ] {
            assert_eq!(BlockWish::named(&wish.name()), Some(wish));
        }
        assert_eq!(BlockWish::named("indent"), None);
    }

    fn exchange(line: u32, response: &str) -> Option<LastExchange> {
        Some(LastExchange {
            line,
            prompt: "how?".into(),
            response: response.into(),
        })
    }

    const ANSWER: &str = "<thinking>\n```python\nno\n```\n</thinking>\n\n```python\na = 1\n```\n```bash\nno\n```\n\n\
                          ```py\nb = 2\n```\n\n```python\nc = 3\n```\n";

    #[test]
    fn blocks_go_in_one_by_one_or_together() {
        let mut blocks = Blocks::default();
        let mut check = |wish: BlockWish, got: Got| {
            assert_eq!(blocks.grant(wish, exchange(4, ANSWER)), got, "{wish:?}");
        };
        let insert = |text: &str| Got::Insert(text.into());
        let replace = |text: &str| Got::Replace(text.into());
        check(BlockWish::All, insert("a = 1\nb = 2\nc = 3"));
        check(BlockWish::Nth(2), insert("b = 2"));
        check(
            BlockWish::Nth(4),
            Got::Nothing("the last answer has fewer Python blocks"),
        );
        // It goes on from the one that was put in.
        for text in ["c = 3", "a = 1"] {
            check(BlockWish::Next, replace(text));
        }
        for text in ["c = 3", "b = 2"] {
            check(BlockWish::Previous, replace(text));
        }
        check(BlockWish::Recall, Got::Prompt(4, ".how?".into()));
        let other = "```py\nz = 9\n```\n```py\ny = 8\n```";
        assert_eq!(
            blocks.grant(BlockWish::Next, exchange(5, other)),
            replace("z = 9")
        );
        let mut fresh = Blocks::default();
        assert_eq!(
            fresh.grant(BlockWish::Previous, exchange(5, other)),
            replace("y = 8")
        );
        assert_eq!(
            fresh.grant(BlockWish::All, exchange(6, "none")),
            Got::Nothing("the last answer has no Python block")
        );
        assert_eq!(
            fresh.grant(BlockWish::Recall, None),
            Got::Nothing("there is no answer yet")
        );
    }
}
