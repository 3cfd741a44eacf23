//! The REPL: line editor, cells on their own terminal, streamed answers.
