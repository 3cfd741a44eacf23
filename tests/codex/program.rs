//! The whole program with the real app-server 0.169.0 and a scripted model: piped, `ask`, and on a terminal.
//!
//! Every test looks at what reached the model, and at the screen or the record.

mod agent_tools;
mod answers;
mod approvals;
mod aside;
mod built_in_tools;
mod compaction;
mod context;
mod failures;
pub mod faults;
mod host_calls;
mod interrupts;
mod notebook;
mod questions;
mod references;
mod secrets;
mod servers;
mod steering;
mod threads;
mod tools;
mod undo;

use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::home::{Home, Ran};
use crate::support::peers;
use crate::support::pty::{Pty, SIZE};
use crate::support::responses::{Endpoint, Reply, conversation};

/// The program, its home, and the model behind it.
pub(super) struct Program {
    pub(super) home: Home,
    pub(super) endpoint: Endpoint,
}

/// A home whose Codex talks to `endpoint`; `None` (and a passed test) where Codex cannot be had.
pub(super) fn program(model: &str, endpoint: Endpoint) -> Option<Program> {
    let codex = peers::codex()?;
    let mut home = Home::new();
    endpoint.write_home(&home.codex(), model);
    home.set("IPYAI_CODEX_CMD", quoted(&codex));
    let program = Program { home, endpoint };
    program.configure(json!({}));
    Some(program)
}

/// A model that always answers `fine`.
pub(super) fn endless() -> Endpoint {
    Endpoint::answering(|_, _| Reply::text("fine"))
}

/// A path as a word of a command line.
pub(super) fn quoted(path: &Path) -> String {
    let path = path.to_str().expect("our paths are UTF-8");
    shlex::try_quote(path)
        .expect("a path has no NUL")
        .into_owned()
}

impl Program {
    /// Writes `config.json`. Commands of the agent run without a sandbox: not every machine can make one.
    pub(super) fn configure(&self, mut settings: Value) {
        settings["sandbox"] = json!("danger-full-access");
        self.home.write_config("config.json", settings.to_string());
    }

    /// Runs these cells and prompts from standard input.
    pub(super) fn piped(&self, text: &str) -> Ran {
        self.home.run::<&str>(&[], text)
    }

    /// Runs these cells and prompts from standard input, in the session of this number.
    pub(super) fn resumed(&self, session: &str, text: &str) -> Ran {
        self.home.run(&["-r", session], text)
    }

    /// The REPL, ready for keys.
    pub(super) fn repl(&self) -> Pty {
        let pty = Pty::spawn::<&str>(&self.home, &[], SIZE);
        pty.wait_for("In [1]:");
        pty
    }

    /// The first column of what `query` gives, as text.
    pub(super) fn recorded(&self, query: &str) -> Vec<String> {
        let record = Connection::open(self.home.history()).expect("a record");
        let mut statement = record.prepare(query).unwrap();
        let rows = statement.query_map([], |row| {
            Ok(match row.get::<_, rusqlite::types::Value>(0)? {
                rusqlite::types::Value::Text(text) => text,
                rusqlite::types::Value::Integer(number) => number.to_string(),
                other => format!("{other:?}"),
            })
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// The stored answers, oldest first.
    pub(super) fn answers(&self) -> Vec<String> {
        self.recorded("SELECT response FROM ai_prompts ORDER BY id")
    }
}

/// A model of each family: plain tools, and code mode.
pub(super) const MODELS: [&str; 2] = ["gpt-5.5", "gpt-6.1-sol"];

/// How a model of this family calls `f` with these arguments.
pub(super) fn call(model: &str, name: &str, arguments: &Value) -> Reply {
    if model == "gpt-5.5" {
        Reply::calls(&[("c1", name, arguments.clone())])
    } else {
        Reply::exec("c1", &format!("text(await tools.{name}({arguments}));"))
    }
}

/// Ends a REPL by Ctrl-D; what it recorded is in the file then.
pub(super) fn leave(pty: &Pty) {
    pty.send("\x04");
    assert_eq!(pty.exit_status().exit_code(), 0);
}

/// What the prompt of a request was, context included.
pub(super) fn asked(request: &Value) -> String {
    let last = conversation(request).pop().expect("a conversation");
    let text = last.strip_prefix("user: ");
    text.unwrap_or_else(|| panic!("ends in the user's words: {last}"))
        .to_owned()
}

/// The text of all developer messages of a request.
pub(super) fn instructions(request: &Value) -> String {
    let items = request["input"].as_array().into_iter().flatten();
    let parts = items
        .filter(|item| item["role"] == "developer")
        .flat_map(|item| item["content"].as_array().into_iter().flatten());
    parts
        .filter_map(|part| part["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}
