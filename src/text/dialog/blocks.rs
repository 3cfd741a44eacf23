//! An answer while it grows: text, reasoning, and the work between them, in order.
//!
//! In: pieces with the numbers that the agent gives them. Out: blocks. Pure. Whoever puts an answer together does it
//! with this type and says what a work is: to the record its stored form, to a front-end a call that runs or has ended.

/// A block of an answer.
#[derive(Debug, Clone)]
pub enum AnswerBlock<W> {
    Text { message: u64, text: String },
    Thought { part: u64, text: String },
    Work(W),
}

/// The blocks of an answer so far.
#[derive(Debug, Clone)]
pub struct AnswerBlocks<W>(pub Vec<AnswerBlock<W>>);

impl<W> Default for AnswerBlocks<W> {
    fn default() -> Self {
        AnswerBlocks(Vec::new())
    }
}

impl<W> AnswerBlocks<W> {
    /// Appends to the message, unless there was work since its last piece. A later message has a higher number.
    pub fn push_text(&mut self, message: u64, delta: &str) {
        let may_follow_it = |block: &&mut AnswerBlock<W>| match block {
            AnswerBlock::Text { message: m, .. } => *m >= message,
            AnswerBlock::Thought { .. } => true,
            AnswerBlock::Work(_) => false,
        };
        let mut tail = self.0.iter_mut().rev().take_while(may_follow_it);
        let known = tail.find_map(|block| match block {
            AnswerBlock::Text { message: m, text } if *m == message => Some(text),
            _ => None,
        });
        match known {
            Some(text) => text.push_str(delta),
            None => self.0.push(AnswerBlock::Text {
                message,
                text: delta.to_owned(),
            }),
        }
    }

    /// Drops the text of `message`, which starts again.
    pub fn restart_message(&mut self, message: u64) {
        self.0.retain(
            |block| !matches!(block, AnswerBlock::Text { message: m, .. } if *m == message),
        );
    }

    /// Appends to the reasoning; a new part begins a new paragraph.
    pub fn push_thought(&mut self, part: u64, delta: &str) {
        match self.0.last_mut() {
            Some(AnswerBlock::Thought { part: p, text }) => {
                if *p != part && !text.is_empty() {
                    text.push_str("\n\n");
                }
                *p = part;
                text.push_str(delta);
            }
            _ => self.0.push(AnswerBlock::Thought {
                part,
                text: delta.to_owned(),
            }),
        }
    }

    pub fn push(&mut self, work: W) {
        self.0.push(AnswerBlock::Work(work));
    }

    /// The texts, without reasoning and work.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|block| match block {
            AnswerBlock::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    /// The texts with a blank line between each two.
    pub fn text(&self) -> String {
        self.texts().collect::<Vec<_>>().join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a script, a piece a word: `1+a` of message 1, `1-` for its restart, `1?a` of reasoning, `!a` of work.
    fn blocks(script: &str) -> AnswerBlocks<String> {
        let mut blocks = AnswerBlocks::default();
        for piece in script.split(' ') {
            if let Some(work) = piece.strip_prefix('!') {
                blocks.push(work.to_owned());
                continue;
            }
            let number = u64::from(piece.as_bytes()[0] - b'0');
            match (&piece[1..2], &piece[2..]) {
                ("+", delta) => blocks.push_text(number, delta),
                ("?", delta) => blocks.push_thought(number, delta),
                _ => blocks.restart_message(number),
            }
        }
        blocks
    }

    #[test]
    fn pieces_become_blocks_in_order() {
        let check = |script: &str, expected: &[&str]| {
            let blocks = blocks(script).0.into_iter();
            let told = blocks.map(|block| match block {
                AnswerBlock::Text { text, .. } => text,
                AnswerBlock::Thought { text, .. } => format!("?{text}"),
                AnswerBlock::Work(work) => format!("!{work}"),
            });
            assert_eq!(told.collect::<Vec<_>>(), expected, "{script}");
        };
        check("1+a 1+b 2+c 3+d", &["ab", "c", "d"]);
        check("1?a 1?b 2?c 1+d 2?e", &["?ab\n\nc", "d", "?e"]);
        // A message goes on beside reasoning, and begins a new block below work.
        check("1+a 1?t 1+b !w 1+c", &["ab", "?t", "!w", "c"]);
        // A restart voids all of a message and nothing else; its new text stands below the work so far.
        check("1+a 2+b !w 2+c 2- 2+d", &["a", "!w", "d"]);
        check("1?a 1+b 1- !w", &["?a", "!w"]);
    }

    #[test]
    fn texts_stand_apart_without_what_is_between() {
        assert_eq!(blocks("1?t 1+a !w 1+b 2+c").text(), "a\n\nb\n\nc");
    }
}
