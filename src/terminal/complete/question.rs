//! What Tab asks, and of whom. Offsets are bytes of the whole text.

use std::ops::Range;

/// Who knows what could stand at the cursor. Offsets are bytes of the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CompletionSource {
    /// Nobody: prose, comments.
    Nothing,
    /// The interpreter, asked about this part of the text.
    Interpreter {
        /// The text it gets.
        part: Range<usize>,
        /// What of its answer is kept.
        keep: Keep,
    },
    /// The file system.
    Files {
        /// Where the path as typed begins.
        start: usize,
        /// How it is written.
        writing: PathQuoting,
        /// Which files count.
        wanted: FileKind,
    },
    /// Programs on the search path.
    Programs {
        /// Where the name begins.
        start: usize,
    },
    /// Our commands, after `%ipycodex`.
    Commands {
        /// Where the word begins.
        start: usize,
    },
    /// What may follow such a command.
    Values {
        /// Where the word begins.
        start: usize,
        /// The command.
        command: String,
    },
    /// Skills, by name.
    Skills {
        /// Where the name begins.
        start: usize,
    },
}

/// What of the interpreter's answer is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// All of it.
    All,
    /// All of it, with our own magics.
    Magics,
    /// What can be called.
    Callables,
    /// What has a value to send: not modules, keywords, magics.
    Values,
}

/// How a path is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathQuoting {
    /// In a Python string with backslash escapes, in these quotes.
    Text(char),
    /// In a Python string without them.
    Raw,
    /// Bare, as a shell takes it: blanks and the like after a backslash.
    Shell,
    /// In these quotes of a shell.
    ShellQuoted(char),
}

/// Which files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// All.
    Any,
    /// Folders only.
    Folders,
    /// What Python runs, and folders.
    Scripts,
    /// Notebooks, and folders.
    Notebooks,
}
