//! Agent skills against the specification's validator, the real Codex, hostile files, and the program itself.

mod agreement;
mod cases;
mod command;
mod edges;
mod hostile;
mod shipped;
