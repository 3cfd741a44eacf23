//! Tests of batch on the real thing.
