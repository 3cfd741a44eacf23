//! The messages of the Codex app-server 0.169.0, one file per family, named as its schema names them.
//!
//! Only messages and fields that are sent or read. Reading is lenient: `null` counts as absent, unknown fields and
//! unknown kinds of item are skipped. Only `agent/codex` and `agent/demo` use these types.

pub(crate) mod account;
pub(crate) mod error;
pub(crate) mod initialize;
pub(crate) mod item;
pub(crate) mod model;
pub(crate) mod request;
pub(crate) mod thread;
pub(crate) mod turn;

use serde::{Deserialize, Deserializer};

/// Reads `null` as the default.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
