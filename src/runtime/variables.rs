//! The user's variables, kept when a session ends and brought back when it is resumed: what is asked, what is answered.
//!
//! Invariant: an interpreter reads no file but one that only its own user could have written.

use serde::Deserialize;

/// What is wanted of a session's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariablesRequest {
    /// What can be kept of them is written to it, in a bounded time. The answer has what was, and what was not.
    Save,
    /// What is in it.
    List,
    /// They are set, but for names that are taken. The answer has those that were, and those that were not.
    Restore,
}

/// Variables, and those that were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct SavedVariables {
    /// Seconds since they were kept.
    pub age: u64,
    /// In the order in which they were bound.
    pub rows: Vec<SavedVariable>,
    /// Names, and why.
    pub left: Vec<(String, String)>,
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct SavedVariable {
    /// Its name.
    pub name: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Bytes it takes in the file.
    pub bytes: u64,
}
