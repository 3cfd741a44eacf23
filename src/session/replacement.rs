//! What goes when a prompt is sent in place of an earlier one, and how far the interpreter steps back for it. Values,
//! for the question that shows them.
//!
//! Absent on purpose: how they are found out (`replacement_plan.rs`).

use crate::file_rewind::FileRewind;
use crate::numbering::in_words;

/// What goes when a prompt takes the place of an earlier one, or when a session is forked before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// In number of the earlier prompt.
    pub line: u32,
    pub purpose: ReplacementPurpose,
    /// What leaves the conversation, in order.
    pub leaves: Vec<LeavingEntry>,
    pub interpreter: InterpreterStep,
    /// `None` where no files are kept.
    pub files: Option<Box<FileRewind>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplacementPurpose {
    /// The prompt and all that came after it leave the conversation.
    Replace,
    /// A new session begins before the prompt; nothing leaves the conversation of this one.
    Fork,
}

/// An exchange or a cell that leaves the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeavingEntry {
    pub line: u32,
    /// Its first line.
    pub text: String,
    pub is_exchange: bool,
}

/// How far the interpreter steps back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterpreterStep {
    /// Nothing that goes has run in it.
    Untouched,
    /// To before this cell, the first of those that go.
    Whole(u32),
    /// To before a later cell; the effects of the cells in `keeps` stay.
    Part {
        to: u32,
        keeps: Vec<u32>,
        /// Why it goes no further.
        why: String,
    },
    /// It stays where it is, for this reason.
    Stays(String),
}

impl Replacement {
    /// Returns what happens to files.
    pub fn files_in_words(&self) -> String {
        match &self.files {
            Some(files) => files.in_words(),
            None => "stay as they are".to_owned(),
        }
    }

    /// Returns true when the interpreter or files follow the conversation.
    pub fn moves_more(&self) -> bool {
        let puts_back = |files: &FileRewind| !files.plan.restores.is_empty();
        self.steps_to().is_some() || self.files.as_deref().is_some_and(puts_back)
    }

    /// Returns the cell before which the interpreter can be taken.
    pub fn steps_to(&self) -> Option<u32> {
        match &self.interpreter {
            InterpreterStep::Whole(to) | InterpreterStep::Part { to, .. } => Some(*to),
            InterpreterStep::Untouched | InterpreterStep::Stays(_) => None,
        }
    }

    pub(crate) fn why_it_stays(&self) -> Option<&str> {
        match &self.interpreter {
            InterpreterStep::Stays(why) => Some(why),
            _ => None,
        }
    }

    /// Returns what happens to the interpreter, as the end of a sentence about it.
    pub fn interpreter_in_words(&self) -> String {
        match &self.interpreter {
            InterpreterStep::Untouched => {
                "stays as it is: nothing of this has run in it".to_owned()
            }
            InterpreterStep::Whole(to) => format!("steps back to before In [{to}]"),
            InterpreterStep::Part { to, keeps, why } => format!(
                "steps back to before In [{to}] and keeps what {} did: {why}",
                in_words(keeps.iter().copied())
            ),
            InterpreterStep::Stays(why) => format!("stays as it is: {why}"),
        }
    }
}
