//! The front-end without an editor: `-c`, piped text, `ask`, `run`.
