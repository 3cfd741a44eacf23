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
fn what_is_allowed_for_good_is_not_asked_again_until_it_is_revoked() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let done = || Reply::text("turn over");
    let endpoint = Endpoint::script(vec![
        command("echo 1 >> made"),
        patch("src/a.py"),
        done(),
        command("echo 1 >> made"),
        patch("src/b.py"),
        patch("src/c.rs"),
        done(),
        command("echo 1 >> made"),
        done(),
    ]);
    let home = with_settings(r#"{"approvals": "ask", "sandbox": "workspace-write"}"#);
    endpoint.write_home(&home.codex(), "gpt-5.5");
    home.install("codex", codex);
    home.write("src/old.py", "");
    let work = home.work().canonicalize().unwrap();
    let made = || std::fs::read_to_string(work.join("made")).unwrap_or_default();
    let shell = Shell::start(home, &["--agent", "codex"], WIDE);
    shell.at(1);
    shell.pty.send_line(".go");
    shell.pty.wait_for("▸ n no");
    shell.shows(&format!("  a yes, always this in {}\n", work.display()));
    shell.pty.send("a");
    shell.pty.wait_for("Make these changes?");
    shell.pty.wait_for("▸ n no");
    shell.shows(&format!("  a yes, always src/*.py in {}\n", work.display()));
    shell.pty.send("a");
    shell.at(2);
    shell.shows(&format!(
        "✓ always allowed here: {}/src/a.py\n",
        work.display()
    ));
    assert_eq!(made(), "1\n");
    shell.leave();
    let Shell { pty, home } = shell;
    drop(pty);

    let shell = Shell::start(home, &["--agent", "codex"], WIDE);
    shell.at(1);
    shell.pty.send_line(".go on");
    // The first question is about the first thing that is not covered.
    shell.pty.wait_for("▸ n no");
    shell.shows(&format!("  a yes, always src/*.rs in {}\n", work.display()));
    assert_eq!(made(), "1\n1\n");
    assert!(work.join("src/b.py").exists() && !work.join("src/c.rs").exists());
    shell.pty.send("n");
    shell.cell(2, "%ipycodex allowed");
    shell.shows("  1  the command echo 1 >> made\n");
    shell.shows("  2  changes of src/*.py\n");
    shell.cell(3, "%ipycodex allowed revoke 1");
    shell.shows("Revoked: echo 1 >> made in ");
    shell.at(4);
    shell.pty.send_line(".again");
    shell.pty.wait_for("▸ n no");
    shell.pty.send("n");
    shell.at(5);
    assert_eq!(made(), "1\n1\n");
}
