//! The kernel of Jupyter, as real clients see it: the conformance tests of Jupyter, `nbclient`, `jupyter console`, a
//! client of its reference library, and our own.

mod agents;
mod bench;
mod clients;
mod conversations;
mod install;
