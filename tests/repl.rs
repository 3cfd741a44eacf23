//! The REPL, as people meet it: the real program on a pseudo-terminal with a virtual screen, one file for each topic.

mod agent_cells;
mod ahead;
mod asker;
mod cells;
mod deaths;
mod editing;
mod escapes;
mod external;
mod interrupts;
mod keys;
mod leaving;
mod looks;
mod prompt_mode;
mod prompts;
mod questions;
mod recall;
mod reuse;
mod sequences;
mod shell;
mod surroundings;
mod tmux;
mod together;
mod vi;
mod writing;
