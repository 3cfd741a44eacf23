//! The source of completions at a cursor. Offsets are bytes of the whole text.

use std::ops::Range;

/// The source of completions. Offsets are bytes of the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CompletionSource {
    /// None: prose, comments.
    Nothing,
    /// The interpreter, asked about this part of the text.
    Interpreter {
        /// The text it gets.
        part: Range<usize>,
        keep: Keep,
    },
    /// The file system.
    Files {
        /// Where the path as typed begins.
        start: usize,
        /// How it is written.
        writing: PathQuoting,
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
    /// Arguments of such a command.
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

/// The completions to keep of the interpreter's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// All of it.
    All,
    /// All of it, with our own magics.
    Magics,
    /// Callables.
    Callables,
    /// Names with a value to send: no modules, keywords, magics.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// All.
    Any,
    /// Folders only.
    Folders,
    /// Files that Python runs, and folders.
    Scripts,
    /// Notebooks, and folders.
    Notebooks,
}
