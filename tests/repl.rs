//! The REPL, as people meet it: the real program on a pseudo-terminal with a virtual screen, one file for each topic.

mod agent_cells;
mod ahead;
mod asker;
mod cells;
mod completion;
mod deaths;
mod editing;
mod elapsed;
mod escapes;
mod inspection;
mod interrupts;
mod leaving;
mod looks;
mod pictures;
mod prompts;
mod questions;
mod recall;
mod resume;
mod reuse;
mod sequences;
pub mod shell;
mod suggestions;
mod surroundings;
mod tmux;
