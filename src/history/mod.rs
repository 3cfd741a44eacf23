//! The record: one SQLite file in IPython's schema, one thread that owns it.
