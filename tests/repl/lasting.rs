//! Approvals that last, with the real Codex: given at a question, good in the next session, revoked by number.

use serde_json::json;

use super::shell::{Shell, with_settings};
use crate::support::peers;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply};

const WIDE: (u16, u16) = (140, 45);

fn command(command: &str) -> Reply {
    Reply::calls(&[("c", "exec_command", json!({ "cmd": command }))])
}

fn patch(name: &str) -> Reply {
    let patch = format!("*** Begin Patch\n*** Add File: {name}\n+new = 1\n*** End Patch\n");
    Reply::Stream(vec![
        Event::Custom("p".into(), "apply_patch".into(), patch),
        Event::Completed([1, 0, 1, 0]),
    ])
}

#[test]
fn changes_of_files_are_allowed_for_good_until_that_is_revoked() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let done = || Reply::text("turn over");
    let endpoint = Endpoint::script(vec![
        command("echo 1 >> made"),
        patch("src/a.py"),
        done(),
        patch("src/b.py"),
        patch("src/c.rs"),
        done(),
        patch("src/d.py"),
        done(),
    ]);
    let home = with_settings(r#"{"approvals": "ask", "sandbox": "workspace-write"}"#);
    endpoint.write_home(&home.codex(), "gpt-5.5");
    home.install("codex", codex);
    home.write("src/old.py", "");
    let work = home.work().canonicalize().unwrap();
    let there = |name: &str| work.join("src").join(name).exists();
    let shell = Shell::start(home, &["--agent", "codex"], WIDE);
    shell.at(1);
    shell.pty.send_line(".go");
    shell.pty.wait_for("▸ n no");
    // Codex may run what is allowed outside of its sandbox: no yes to a command lasts.
    shell.shows("Run this command?");
    shell.lacks("always");
    shell.pty.send("n");
    shell.pty.wait_for("Make these changes?");
    shell.pty.wait_for("▸ n no");
    let offered = |pattern: &str| format!("  a yes, always {pattern} in {}\n", work.display());
    shell.shows(&offered("src/*.py"));
    shell.pty.send("a");
    shell.at(2);
    assert!(there("a.py"));
    shell.leave();
    let Shell { pty, home } = shell;
    drop(pty);

    let shell = Shell::start(home, &["--agent", "codex"], WIDE);
    shell.at(1);
    shell.pty.send_line(".go on");
    // The first question is about the first thing that is not covered.
    shell.pty.wait_for("▸ n no");
    shell.shows(&offered("src/*.rs"));
    assert!(there("b.py") && !there("c.rs"));
    shell.pty.send("n");
    shell.cell(2, "%ipycodex allowed");
    shell.shows("  1  changes of src/*.py\n");
    shell.cell(3, "%ipycodex allowed revoke 1");
    shell.shows("Revoked: src/*.py in ");
    shell.at(4);
    shell.pty.send_line(".again");
    shell.pty.wait_for("▸ n no");
    shell.pty.send("n");
    shell.at(5);
    assert!(!there("d.py"));
}

/// The offline agent runs nothing that it asks for.
#[test]
fn a_command_is_allowed_for_good_in_its_directory() {
    let home = with_settings(r#"{"approvals": "ask", "sandbox": "workspace-write"}"#);
    let work = home.work().canonicalize().unwrap();
    let shell = Shell::start(home, &["--agent", "demo"], WIDE);
    shell.at(1);
    shell.pty.send_line(".approve it in the sandbox");
    shell.pty.wait_for("▸ n no");
    shell.shows(&format!("  a yes, always this in {}\n", work.display()));
    shell.pty.send("a");
    shell.at(2);
    shell.shows("✓ always allowed here: echo hello");
    shell.pty.send_line(".approve it in the sandbox again");
    shell.at(3);
    shell.cell(3, "%ipycodex allowed");
    shell.shows("  1  the command echo hello\n");
    let decisions: Vec<String> = {
        let record = shell.record();
        let mut rows = record
            .prepare("SELECT decision FROM ipycodex_decisions")
            .unwrap();
        let rows = rows.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    assert_eq!(decisions, ["always in this directory"; 2]);
}
