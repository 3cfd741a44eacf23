//! What a cell raised: a value, not an error of ours.

/// An exception as the interpreter reported it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CellError {
    /// Class name: `ZeroDivisionError`.
    pub name: String,
    /// Its text; may be empty.
    pub value: String,
    /// Lines as the interpreter rendered them, possibly with SGR colours; untrusted.
    pub traceback: Vec<String>,
}
