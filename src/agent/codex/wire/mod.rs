//! The messages of the Codex app-server 0.169.0, one file per family, named as its schema names them.
//!
//! Only messages and fields that are sent or read. Reading is lenient: `null` counts as absent, unknown fields and
//! unknown kinds of item are skipped. Only `agent/codex` and `agent/demo` use these types.

/// Structs whose fields are absent, `null` or of their type.
macro_rules! lenient {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$of_field:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub(crate) struct $name {
            $($(#[$of_field])* #[serde(deserialize_with = "crate::codex::wire::or_default")] pub(crate) $field: $type,)*
        }
    )*};
}

/// As `lenient`, for the variants of an enum that its `type` names; the last ones have no fields.
macro_rules! lenient_variants {
    (
        $(#[$meta:meta])*
        enum $name:ident { $($variant:ident { $($(#[$of_field:meta])* $field:ident: $type:ty,)* },)* }
        $($(#[$of_unit:meta])* $unit:ident,)*
    ) => {
        $(#[$meta])*
        #[derive(Debug, serde::Deserialize)]
        #[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
        pub(crate) enum $name {
            $($variant {
                $($(#[$of_field])* #[serde(default, deserialize_with = "crate::codex::wire::or_default")]
                $field: $type,)*
            },)*
            $($(#[$of_unit])* $unit,)*
        }
    };
}

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
