//! The last answer for use in the editor: its Python blocks, its prompt, its text.
//!
//! Pure: a [`BlockCommand`] in, a [`BlockOutcome`] out. Cycling starts over with another answer. Absent on purpose:
//! the key bindings and the editor's buffer.

use crate::dialog::display_form;
use crate::markdown::fences::python_blocks;
use crate::session::LastExchange;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockCommand {
    /// Insert all blocks at the cursor.
    All,
    /// Insert the nth block, from 1, at the cursor.
    Nth(usize),
    /// Replace the text by the next block.
    Next,
    /// Replace the text by the previous block.
    Previous,
    /// Edit the prompt, to be sent in place of the old one.
    Recall,
    Copy,
    /// Show the whole of an output that was shortened.
    Unfold,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockOutcome {
    Insert(String),
    Replace(String),
    /// Copy this text of the exchange with this In number to the clipboard.
    Clip(u32, String),
    /// Replace the buffer by the prompt with this In number.
    Prompt(u32, String),
    /// Do nothing, for this reason.
    Nothing(&'static str),
}

impl BlockCommand {
    /// Returns the name for reedline's host command.
    pub(super) fn name(self) -> String {
        match self {
            BlockCommand::All => "blocks".into(),
            BlockCommand::Nth(number) => format!("block {number}"),
            BlockCommand::Next => "block next".into(),
            BlockCommand::Previous => "block previous".into(),
            BlockCommand::Recall => "recall".into(),
            BlockCommand::Copy => "copy".into(),
            BlockCommand::Unfold => "unfold".into(),
        }
    }

    /// Parses [`BlockCommand::name`].
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "blocks" => Some(BlockCommand::All),
            "block next" => Some(BlockCommand::Next),
            "block previous" => Some(BlockCommand::Previous),
            "recall" => Some(BlockCommand::Recall),
            "copy" => Some(BlockCommand::Copy),
            "unfold" => Some(BlockCommand::Unfold),
            name => name
                .strip_prefix("block ")
                .and_then(|number| number.parse().ok())
                .map(BlockCommand::Nth),
        }
    }
}

/// The position of cycling.
#[derive(Debug, Default)]
pub(super) struct BlockCycle {
    /// The answer that is cycled through, and the index of the block shown.
    shown: Option<(LastExchange, usize)>,
}

impl BlockCycle {
    pub(super) fn run(
        &mut self,
        command: BlockCommand,
        last: Option<LastExchange>,
    ) -> BlockOutcome {
        let Some(last) = last else {
            return BlockOutcome::Nothing("there is no answer yet");
        };
        if command == BlockCommand::Recall {
            return BlockOutcome::Prompt(last.line, format!(".{}", last.prompt));
        }
        if command == BlockCommand::Copy {
            let answer = display_form(&last.response).trim_end().to_owned();
            return BlockOutcome::Clip(last.line, answer);
        }
        // Reasoning is quoted in this form, and quoted blocks are not offered.
        let blocks = python_blocks(&display_form(&last.response));
        let Some(newest) = blocks.len().checked_sub(1) else {
            return BlockOutcome::Nothing("the last answer has no Python block");
        };
        match command {
            BlockCommand::All => BlockOutcome::Insert(blocks.join("\n")),
            BlockCommand::Nth(number) => {
                match number.checked_sub(1).and_then(|at| blocks.get(at)) {
                    Some(block) => {
                        let block = block.clone();
                        self.shown = Some((last, number - 1));
                        BlockOutcome::Insert(block)
                    }
                    None => BlockOutcome::Nothing("the last answer has fewer Python blocks"),
                }
            }
            command => {
                let known = self
                    .shown
                    .take()
                    .filter(|(known, _)| *known == last)
                    .map(|(_, at)| at);
                let at = match (command, known) {
                    (BlockCommand::Previous, None | Some(0)) => newest,
                    (BlockCommand::Previous, Some(at)) => at - 1,
                    (_, Some(at)) if at < newest => at + 1,
                    _ => 0,
                };
                self.shown = Some((last, at));
                BlockOutcome::Replace(blocks[at].clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_commands_parse_their_own_names() {
        for command in [
            BlockCommand::All,
            BlockCommand::Nth(1),
            BlockCommand::Nth(9),
            BlockCommand::Next,
            BlockCommand::Previous,
            BlockCommand::Recall,
            BlockCommand::Copy,
            BlockCommand::Unfold,
        ] {
            assert_eq!(BlockCommand::from_name(&command.name()), Some(command));
        }
        assert_eq!(BlockCommand::from_name("indent"), None);
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
        let mut blocks = BlockCycle::default();
        let mut check = |command: BlockCommand, got: BlockOutcome| {
            assert_eq!(blocks.run(command, exchange(4, ANSWER)), got, "{command:?}");
        };
        let insert = |text: &str| BlockOutcome::Insert(text.into());
        let replace = |text: &str| BlockOutcome::Replace(text.into());
        check(BlockCommand::All, insert("a = 1\nb = 2\nc = 3"));
        check(BlockCommand::Nth(2), insert("b = 2"));
        check(
            BlockCommand::Nth(4),
            BlockOutcome::Nothing("the last answer has fewer Python blocks"),
        );
        // Cycling goes on from the block that was inserted.
        for text in ["c = 3", "a = 1"] {
            check(BlockCommand::Next, replace(text));
        }
        for text in ["c = 3", "b = 2"] {
            check(BlockCommand::Previous, replace(text));
        }
        check(
            BlockCommand::Recall,
            BlockOutcome::Prompt(4, ".how?".into()),
        );
        let other = "```py\nz = 9\n```\n```py\ny = 8\n```";
        assert_eq!(
            blocks.run(BlockCommand::Next, exchange(5, other)),
            replace("z = 9")
        );
        let mut fresh = BlockCycle::default();
        assert_eq!(
            fresh.run(BlockCommand::Previous, exchange(5, other)),
            replace("y = 8")
        );
        assert_eq!(
            fresh.run(BlockCommand::All, exchange(6, "none")),
            BlockOutcome::Nothing("the last answer has no Python block")
        );
        assert_eq!(
            fresh.run(BlockCommand::Recall, None),
            BlockOutcome::Nothing("there is no answer yet")
        );
    }
}
