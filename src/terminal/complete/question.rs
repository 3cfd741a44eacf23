//! The source of completions at a cursor.

use std::ops::Range;

/// The source of completions. Offsets are bytes of the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CompletionSource {
    /// None: prose, comments.
    Nothing,
    /// The interpreter, asked about this part of the text.
    Interpreter {
        /// The range of the text that is sent.
        part: Range<usize>,
        keep: Keep,
    },
    Files {
        /// Start of the path as typed.
        start: usize,
        writing: PathQuoting,
        wanted: FileKind,
    },
    /// Programs on the search path.
    Programs {
        /// Start of the name.
        start: usize,
    },
    /// Our commands, after `%ipycodex`.
    Commands {
        /// Start of the word.
        start: usize,
    },
    Values {
        /// Start of the word.
        start: usize,
        command: String,
    },
    /// Skills, by name.
    Skills {
        /// Start of the name.
        start: usize,
    },
}

/// Which completions of the interpreter's answer to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    All,
    /// All, and our own magics.
    Magics,
    Callables,
    /// Names of values that can be sent: no modules, keywords, magics.
    Values,
}

/// How a path is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathQuoting {
    /// In a Python string with backslash escapes, in these quotes.
    Text(char),
    /// In a raw Python string.
    Raw,
    /// Unquoted in a shell, with a backslash before blanks and the like.
    Shell,
    /// In these quotes of a shell.
    ShellQuoted(char),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Any,
    /// Folders only.
    Folders,
    /// Files that Python runs, and folders.
    Scripts,
    /// Notebooks, and folders.
    Notebooks,
}
