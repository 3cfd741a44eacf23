//! ipycodex: an IPython-style shell where Python cells and an AI agent share one live session.
//!
//! # The flow
//!
//! ```text
//!  keys ──> terminal/ ──submit(text)──> session/ ──RuntimeRequest──> runtime/python ──NDJSON──> runner.py
//!           batch/   <──SessionEvent──  (one loop) <──RuntimeEvent──      host reads fds 0-2 itself
//!             │                          │   │  └──TurnRequest──> agent/codex ──JSON-RPC──> codex app-server
//!           screen/ (one writer)         │   └<──AgentEvent──────
//!                                      history/ (one thread, one SQLite file)
//! ```
//!
//! # Layers
//!
//! `1 values <- 2 contracts <- 3 adapters <- 4 session <- 5 front-ends <- 6 start-up`. Imports point to a lower
//! number; `tests/tidy.rs` reads the `use crate::` lines and fails on an arrow pointing up.
//!
//! | folder | layer | owns |
//! |---|---|---|
//! | [`environment`], [`report`] | 1 | surroundings as values; the error a user sees |
//! | [`text`] | 1 | positions, widths, foreign text made safe |
//! | [`input`] | 1 | what a submitted text is |
//! | [`dialog`] | 1 | entries, context XML, stored answers |
//! | [`output`] | 1 | MIME bundles, terminal bytes, tracebacks |
//! | [`notebook`] | 1 | notebook files as values |
//! | [`markdown`] | 1 | streamed markdown to lines |
//! | [`runtime`] | 2, 3 | the contract; `python/` and `scripted` behind it |
//! | [`agent`] | 2, 3 | the contract; `codex/`, `demo/` and `scripted` behind it |
//! | [`process`] | 3 | child processes, the one file with `unsafe` |
//! | [`rpc`] | 3 | JSON-RPC over a child |
//! | [`history`] | 3 | the record |
//! | [`files`] | 3 | whole files or none |
//! | [`config`] | 3 | settings |
//! | [`screen`] | 3 | the one writer to the terminal |
//! | [`session`] | 4 | the turn, the record, the queue |
//! | [`magics`] | 4 | `%ipycodex` commands |
//! | [`display`] | 5 | runs on a terminal: cells, streamed answers |
//! | [`terminal`] | 5 | the REPL |
//! | [`batch`] | 5 | `-c`, piped text, `ask`, `run` |
//! | [`assemble`], [`cli`] | 6 | wiring and subcommands |

pub mod agent;
pub mod assemble;
pub mod batch;
pub mod cli;
pub mod config;
pub mod dialog;
pub mod display;
pub mod environment;
pub mod files;
pub mod history;
pub mod input;
pub mod magics;
pub mod markdown;
pub mod notebook;
pub mod output;
pub mod process;
pub mod report;
pub mod rpc;
pub mod runtime;
pub mod screen;
pub mod session;
pub mod terminal;
pub mod text;
