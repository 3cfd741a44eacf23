//! The one integration binary. A file in `tests/` that is not declared here fails `tidy`.
#![allow(clippy::unwrap_used, reason = "a test that fails says where")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]
#![allow(unreachable_pub, reason = "a test binary has no outside")]

mod acp;
mod batch;
mod codex;
mod counts;
mod fuzz;
mod jupyter;
mod kernel;
mod mcp;
mod notebook;
mod packaging;
mod readme;
mod record;
mod repl;
mod runtime;
mod skills;
mod support;
mod tidy;

/// Where homes may lie: the tests make and remove a hundred thousand files.
const HOMES_IN_MEMORY: Option<&str> = Some("/dev/shm");
