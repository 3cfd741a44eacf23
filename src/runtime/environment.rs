//! Changes to the environment variables that a process starts with.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Environment variables by name; `None` removes the variable.
pub type EnvironmentChanges = Vec<(String, Option<String>)>;

/// Applies the changes to the environment a process starts with.
pub(super) fn apply_environment(
    process: &mut BTreeMap<OsString, OsString>,
    told: &EnvironmentChanges,
) {
    for (name, value) in told {
        match value {
            Some(value) => process.insert(name.into(), value.into()),
            None => process.remove(&OsString::from(name)),
        };
    }
}
