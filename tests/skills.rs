//! Agent skills against the specification's validator, the real Codex, hostile files, and the program itself.

mod cases;
mod command;
mod conformance;
mod edge_cases;
mod hostile;
mod shipped;
