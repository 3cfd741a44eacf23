//! Tests of history on the real thing.
