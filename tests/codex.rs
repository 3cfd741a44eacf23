//! Tests of codex on the real thing.
