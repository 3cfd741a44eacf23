//! `%ipycodex` commands: the table, and what a command may ask of the session.
//!
//! A command is a pure function of its arguments and a [`View`]; it returns [`Order`]s and never reaches into the
//! session. A new command is a file and a row in [`TABLE`].

mod choose;
mod help;
mod settings;

use std::path::PathBuf;

use crate::session::Choices;

/// What a command may know.
#[derive(Debug)]
pub struct View<'a> {
    /// The choices in force.
    pub choices: &'a Choices,
    /// Files worth naming: label and path.
    pub places: &'a [(String, PathBuf)],
}

/// What a command asks for; carried out in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Print this.
    Say(String),
    /// Show this page of help, in markdown.
    Help(String),
    /// These choices from now on.
    Choose(Box<Choices>),
    /// Delete the session's exchanges; the context begins here.
    Reset,
    /// List the sessions of this directory.
    ListSessions,
    /// Print exactly what the next prompt would send.
    ShowContext,
    /// End the interpreter and start a new one.
    RestartRuntime,
}

/// A command.
#[derive(Debug)]
pub struct Magic {
    /// The word after `%ipycodex`.
    pub name: &'static str,
    /// What may follow, for the help.
    pub arguments: &'static str,
    /// One line.
    pub help: &'static str,
    run: fn(&Magic, &str, &View<'_>) -> Result<Vec<Order>, String>,
}

/// Every command.
pub const TABLE: &[Magic] = &[
    choose::row(
        "model",
        "[NAME]",
        "show or set the model ('' is the agent's own)",
    ),
    choose::row(
        "think",
        "[l|m|h|x]",
        "show or set how much the model thinks",
    ),
    choose::row(
        "search",
        "[off|l|m|h]",
        "show or set how much the agent searches the web",
    ),
    choose::row(
        "code_theme",
        "[NAME]",
        "show or set the theme of code in answers",
    ),
    choose::row(
        "log_exact",
        "[true|false]",
        "show or set whether raw prompts and answers are logged",
    ),
    choose::row(
        "threads",
        "[session|ephemeral]",
        "show or set how the agent keeps the conversation",
    ),
    choose::row(
        "sandbox",
        "[VALUE]",
        "what commands may touch: read-only, workspace-write, …",
    ),
    Magic {
        name: "reset",
        arguments: "",
        help: "forget the exchanges of this session; the context begins here",
        run: |_, _, _| Ok(vec![Order::Reset]),
    },
    Magic {
        name: "sessions",
        arguments: "",
        help: "list the sessions of this directory",
        run: |_, _, _| Ok(vec![Order::ListSessions]),
    },
    Magic {
        name: "context",
        arguments: "",
        help: "show exactly what the next prompt would send",
        run: |_, _, _| Ok(vec![Order::ShowContext]),
    },
    Magic {
        name: "restart",
        arguments: "",
        help: "end the interpreter and start a new one; its variables are lost",
        run: |_, _, _| Ok(vec![Order::RestartRuntime]),
    },
    help::ROW,
];

/// Works a command line off: what stands after `%ipycodex`.
///
/// # Errors
/// The one line to show for an unknown command or a bad value.
pub fn run(line: &str, view: &View<'_>) -> Result<Vec<Order>, String> {
    let line = line.trim();
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if name.is_empty() {
        return Ok(vec![Order::Say(settings::listing(view))]);
    }
    match TABLE.iter().find(|magic| magic.name == name) {
        Some(magic) => (magic.run)(magic, arguments.trim(), view),
        None => Err(format!(
            "Unknown command: '{name}'. Run %ipycodex help for available commands."
        )),
    }
}

#[cfg(test)]
mod tests;
