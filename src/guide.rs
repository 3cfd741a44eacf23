//! The reference for users, beside what `%ipycodex help` and `--help` say at the prompt.
//!
//! It is text alone: [`guide.md`](https://docs.rs/crate/ipycodex/latest/source/src/guide.md), shown here.
#![doc = ""]
#![doc = include_str!("guide.md")]
