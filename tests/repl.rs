//! Tests of repl on the real thing.
