//! The user's variables, saved when a session ends and restored when it is resumed: requests and replies.
//!
//! Invariant: an interpreter reads only a file that no other user could have written.

use serde::Deserialize;

/// Operations on the file of a session's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariablesRequest {
    /// Writes the variables that can be saved, in a bounded time. The reply lists those saved and those left out.
    Save,
    /// Lists the variables in the file.
    List,
    /// Sets the variables, except names that are taken. The reply lists those set and those left out.
    Restore,
}

/// Variables in a file, and those that were left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct SavedVariables {
    /// Seconds since they were saved.
    pub age: u64,
    /// In the order in which they were bound.
    pub rows: Vec<SavedVariable>,
    /// Names left out, each with its reason.
    pub left: Vec<(String, String)>,
}

/// A saved variable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct SavedVariable {
    /// Its name.
    pub name: String,
    /// Name of its type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Size in the file, in bytes.
    pub bytes: u64,
}
