//! A shell whose agent asks what a script says, and what tests do with questions.
//!
//! In: turns as JSON for `tests/fakes/asks.py`. Out: the answers the agent was given. Invariant: keys are sent once the
//! choices stand on the screen; before that they would belong to the next prompt.

use serde_json::{Value, json};

use super::shell::Shell;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::SIZE;

/// A shell and its scripted agent.
pub(super) struct Asker {
    pub(super) shell: Shell,
}

/// A request of the agent.
pub(super) fn ask(method: &str, params: Value) -> Value {
    json!({"ask": method, "params": params})
}

/// The approval of a command.
pub(super) fn command(command: &str) -> Value {
    let params = json!({
        "itemId": "i", "command": command, "cwd": "/some/where", "reason": "to see",
        "availableDecisions": ["accept", "acceptForSession", "cancel"],
    });
    ask("item/commandExecution/requestApproval", params)
}

/// A call of a tool.
pub(super) fn call(tool: &str, arguments: Value) -> Value {
    json!({"call": tool, "arguments": arguments})
}

impl Asker {
    /// At its first prompt, 80 by 24.
    pub(super) fn new(turns: Value) -> Asker {
        Asker::of(Home::new(), turns, SIZE)
    }

    /// In this home, with this size.
    pub(super) fn of(mut home: Home, turns: Value, size: (u16, u16)) -> Asker {
        Asker::script(&mut home, turns);
        Asker::at_first(Shell::start::<&str>(home, &[], size))
    }

    /// At the first prompt of this shell, in whose home these turns are.
    pub(super) fn at_first(shell: Shell) -> Asker {
        shell.at(1);
        Asker { shell }
    }

    /// The turns of a shell that is started in this home.
    pub(super) fn script(home: &mut Home, turns: Value) {
        let settings = json!({"approvals": "ask", "sandbox": "danger-full-access"});
        home.write_config("config.json", settings.to_string());
        home.write("script.json", turns.to_string());
        let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/asks.py");
        let python = peers::plain_python();
        let script = home.work().join("script.json");
        let words = [python.to_str(), Some(fake), script.to_str()].map(|word| word.unwrap());
        home.set("IPYAI_CODEX_CMD", shlex::try_join(words).unwrap());
    }

    /// Submits a prompt and waits for choices.
    pub(super) fn prompt(&self, number: u32) {
        self.shell.at(number);
        self.shell.pty.send_line(".go");
    }

    /// Waits until the question can be answered.
    pub(super) fn choices(&self) {
        self.shell.pty.wait_for("▸ n no");
    }

    /// What the agent was given so far, once there are `count` answers.
    pub(super) fn given(&self, count: usize) -> Vec<Value> {
        let path = self.shell.home.work().join("answers.jsonl");
        let read = || {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let lines = text.lines().map(serde_json::from_str);
            lines.filter_map(Result::ok).collect::<Vec<Value>>()
        };
        crate::support::await_true("the answers", || read().len() >= count);
        read()
    }

    /// One turn with one question: its choices come up, `keys` are pressed, the next prompt is there. Returns the
    /// answer.
    pub(super) fn answered(turn: Value, keys: &str) -> (Asker, Value) {
        let asker = Asker::new(json!([[turn]]));
        asker.prompt(1);
        asker.choices();
        asker.shell.pty.send(keys);
        asker.shell.at(2);
        let given = asker.given(1).remove(0);
        (asker, given)
    }
}
