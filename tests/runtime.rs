//! Tests of runtime on the real thing.
