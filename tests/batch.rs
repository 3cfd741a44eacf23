//! The program without a terminal: what goes to which stream, in which order, and the exit code.

mod ask;
mod cells;
mod commands;
mod doctor;
mod earlier_inputs;
mod failures;
mod host_calls;
mod piped;
mod scripts;
mod search;
mod tool_types;
mod trace;
