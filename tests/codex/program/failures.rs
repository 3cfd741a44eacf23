//! No Codex, nobody logged in, an agent that misbehaves: said at once, in the words that mend it.

use std::path::Path;

use super::{Program, leave, program, quoted};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{Pty, SIZE};
use crate::support::responses::{Endpoint, Reply};

#[test]
fn without_codex_cells_work_and_a_prompt_says_what_is_missing() {
    let home = Home::new();
    let pty = Pty::spawn::<&str>(&home, &[], SIZE);
    pty.wait_for("In [1]:");
    pty.send_line("40 + 2");
    pty.wait_for("Out[1]: 42");
    pty.wait_for("In [2]:");
    pty.send_line(".hello?");
    pty.wait_for("In [3]: .hello?");
    let screen = pty.screen_text().replace('\n', " ");
    for words in [
        "error: the AI agent is not installed: `codex` was not found",
        "`npm install -g @openai/codex`",
        "`codex login`",
        "`--agent demo`",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    pty.send("\x15");
    pty.wait_gone("In [3]: .hello?");
    leave(&pty);
}

#[test]
fn nobody_logged_in_is_said_and_nothing_is_stored() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let mut home = Home::new();
    home.set("IPYAI_CODEX_CMD", quoted(&codex));
    let ran = home.run(&["ask", "hello?"], "");
    assert_eq!((ran.code(), ran.stdout.as_str()), (1, ""));
    assert_eq!(
        ran.stderr,
        "error: Codex is not logged in\n  hint: log in with `codex login`\n  hint: or try without Codex: `--agent \
         demo`, in the shell `%ipycodex agent demo`\n"
    );
    let endpoint = Endpoint::script(Vec::new());
    let program = Program { home, endpoint };
    assert!(program.answers().is_empty());
}

#[test]
fn the_command_may_have_arguments_and_blanks() {
    let endpoint = Endpoint::script(vec![Reply::text("fine")]);
    let Some(mut program) = program("gpt-5.5", endpoint) else {
        return;
    };
    let codex = peers::codex().expect("was there");
    let folder = program.home.path().join("with a blank");
    std::fs::create_dir(&folder).unwrap();
    let link = folder.join("my codex");
    std::os::unix::fs::symlink(codex, &link).unwrap();
    let command = format!("{} -c 'model = \"gpt-5.4\"'", quoted(&link));
    program.home.set("IPYAI_CODEX_CMD", command);
    let ran = program.home.run(&["ask", "hello?"], "");
    assert_eq!(
        (ran.stdout.as_str(), ran.code()),
        ("fine\n", 0),
        "{}",
        ran.stderr
    );
    assert_eq!(program.endpoint.requests()[0]["model"], "gpt-5.4");
    program.home.set("IPYAI_CODEX_CMD", "'open quote");
    let ran = program.home.run(&["ask", "hello?"], "");
    assert_eq!(ran.code(), 1);
    assert!(ran.stderr.contains("IPYAI_CODEX_CMD"), "{}", ran.stderr);
}

/// The agent that plays `fault` in its first turn, in the REPL.
fn faulty(fault: &str) -> (Program, Pty) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/agent.py");
    let mut home = Home::new();
    let command = format!("python3 {} '{fault}'", quoted(&script));
    home.set("IPYAI_CODEX_CMD", command);
    let endpoint = Endpoint::script(Vec::new());
    let program = Program { home, endpoint };
    let pty = program.repl();
    (program, pty)
}

#[test]
fn an_agent_that_dies_gives_the_prompt_back() {
    for (fault, said) in [
        ("killed mid word", "signal: 9"),
        ("exit mid tool", "exit status: 4"),
        ("exit at thread/start", "exit status: 0"),
    ] {
        let (program, pty) = faulty(fault);
        pty.send_line(".first?");
        pty.wait_for("In [2]: .first?");
        let screen = pty.screen_text();
        assert_eq!(screen.matches("error: ").count(), 1, "{fault}: {screen}");
        assert!(screen.replace('\n', "").contains(said), "{fault}: {screen}");
        pty.send("\r");
        pty.wait_for("fine");
        pty.wait_for("In [3]:");
        leave(&pty);
        assert_eq!(program.answers(), ["fine"], "{fault}");
    }
}

#[test]
fn an_agent_that_talks_nonsense_is_understood() {
    for (fault, answer) in [
        ("junk lines", "fine"),
        // The virtual screen leaves the replacement characters out.
        ("invalid UTF-8", "fi\u{fffd}\u{fffd}ne"),
        ("stderr flood", "fine"),
        ("restarted text", "fine"),
    ] {
        let (program, pty) = faulty(fault);
        pty.send_line(".first?");
        pty.wait_for("In [2]:");
        let screen = pty.screen_text();
        assert!(
            screen.contains("\nfine\n") && !screen.contains("error:"),
            "{fault}: {screen}"
        );
        leave(&pty);
        assert_eq!(program.answers(), [answer], "{fault}");
    }
}

#[test]
fn an_agent_deaf_to_ctrl_c_does_not_keep_the_prompt() {
    let (program, pty) = faulty("deaf to interrupt");
    pty.send_line(".first?");
    pty.wait_for("par");
    pty.send("\x03");
    pty.wait_for("In [2]:");
    // It is given some seconds, then it is killed; a prompt sent meanwhile waits for the new one.
    pty.send_line(".second?");
    pty.wait_for("fine");
    pty.wait_for("In [3]:");
    leave(&pty);
    assert_eq!(
        program.answers(),
        ["par\n<system>user interrupted</system>", "fine"]
    );
}
