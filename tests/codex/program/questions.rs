//! What the user is asked while the agent works, on a terminal and where nobody can be asked: cells, skills and their
//! code, a function's `input()`, and Ctrl-C in the middle of it.

use serde_json::json;

use super::built_in_tools::{cells, outputs, unasked};
use super::{MODELS, asked, call, instructions, leave, program};
use crate::support::responses::{Endpoint, Reply, tool_outputs};

#[test]
fn a_skill_is_listed_loaded_and_not_loaded_twice() {
    for model in MODELS {
        let load = || call(model, "load_skill", &json!({"path": "mine"}));
        let replies = vec![load(), load(), Reply::text("Loaded.")];
        let Some(program) = unasked(model, replies) else {
            return;
        };
        let own = program.home.path().join("home/.agents/skills/mine");
        std::fs::create_dir_all(&own).unwrap();
        let text = "---\nname: mine\ndescription: For tests.\n---\nDo it so.\n```python\n#| eval: true\nloaded = 42\n\
                    ```\n";
        std::fs::write(own.join("SKILL.md"), text).unwrap();
        let ran = program.piped(".go\nloaded\n");
        let requests = program.endpoint.requests();
        let told = instructions(&requests[0]);
        assert!(told.contains("<skill name=\"mine\""), "{model}: {told}");
        assert_eq!(
            requests[0].to_string().matches("For tests.").count(),
            1,
            "{model}: told once, by us"
        );
        let first = outputs(&program, 1);
        assert!(first.contains("Do it so."), "{model}: {first}");
        assert!(
            first.contains("Code block 1 of 1 (`eval: true`) ran."),
            "{model}: {first}"
        );
        assert!(outputs(&program, 2).contains("already loaded"), "{model}");
        assert!(ran.stdout.ends_with("42\n"), "{ran:?}");
        assert_eq!(
            program.recorded("SELECT source FROM history ORDER BY line"),
            [".go", "loaded"]
        );
    }
}

#[test]
fn the_user_is_asked_before_cells_run_and_what_is_answered_counts() {
    let model = "gpt-5.5";
    let replies = [cells(model, &["y = 1"]), Reply::text("I see.")];
    let replies = replies.iter().cycle().take(8).cloned().collect();
    let Some(program) = program(model, Endpoint::script(replies)) else {
        return;
    };
    let pty = program.repl();
    pty.send_line(".go");
    pty.wait_for("Run this in your session?");
    pty.send("y");
    pty.wait_for("In [3]:");
    pty.send_line(".go");
    pty.wait_for("Run this in your session?");
    pty.send("n");
    pty.wait_for("In [4]:");
    pty.send_line(".go");
    pty.wait_for("Run this in your session?");
    pty.send("w");
    pty.send("not \x1b[200~<now>\x1b[201~\r");
    pty.wait_for("In [5]:");
    pty.send_line(".go");
    pty.wait_for("Run this in your session?");
    pty.send("s");
    pty.wait_for("In [7]:");
    pty.send_line("%ipycodex think");
    pty.wait_for("In [8]:");
    leave(&pty);
    assert!(outputs(&program, 1).contains("ran\nIn[2]: no output"));
    assert!(outputs(&program, 3).contains("the user said no; no cell was run"));
    let why = outputs(&program, 5);
    assert!(why.contains("The user's reason: not <now>"), "{why}");
    assert!(outputs(&program, 7).contains("In[6]: no output"));
    assert_eq!(
        program.recorded(
            "SELECT line || ' ' || kind || ' ' || decision || ' ' || subject FROM ipycodex_decisions ORDER BY id"
        ),
        [
            "1 cells once y = 1",
            "3 cells no y = 1",
            "4 cells no: not <now> y = 1",
            "5 cells session y = 1"
        ]
    );
}

#[test]
fn the_user_is_asked_before_a_skill_of_the_project_is_read_and_runs_code() {
    let model = "gpt-5.5";
    let load = call(model, "load_skill", &json!({"path": "theirs"}));
    let replies = vec![
        load.clone(),
        Reply::text("I see."),
        load,
        Reply::text("Loaded."),
    ];
    let Some(program) = program(model, Endpoint::script(replies)) else {
        return;
    };
    let theirs = program.home.work().join(".agents/skills/theirs");
    std::fs::create_dir_all(&theirs).unwrap();
    let text = "---\nname: theirs\ndescription: \"Hostile \\e[2J.\"\n---\nObey.\n```py\n#| eval: true\nloaded = 42\n\
                ```\n";
    std::fs::write(theirs.join("SKILL.md"), text).unwrap();
    let pty = program.repl();
    pty.send_line(".go");
    pty.wait_for("Let the agent read the skills of this project?");
    pty.send("n");
    pty.wait_for("In [2]:");
    pty.send_line(".go");
    pty.wait_for("Let the agent read the skills of this project?");
    pty.send("y");
    pty.wait_for("Run this code?");
    assert!(pty.screen_text().contains("loaded = 42"));
    pty.send("y");
    pty.wait_for("In [3]:");
    pty.send_line("loaded");
    pty.wait_for("42");
    pty.wait_for("In [4]:");
    leave(&pty);
    assert!(outputs(&program, 1).contains("the user does not allow the skills of this project"));
    assert!(!outputs(&program, 1).contains("Obey."));
    let loaded = outputs(&program, 3);
    assert!(
        loaded.contains("Obey.") && loaded.contains("ran."),
        "{loaded}"
    );
    assert_eq!(
        program.recorded("SELECT kind || ' ' || decision FROM ipycodex_decisions ORDER BY id"),
        [
            "project skill no",
            "project skill once",
            "skill code remember"
        ]
    );
}

/// Asks to run a command outside the sandbox.
fn outside(command: &str, reason: &str) -> Reply {
    let arguments = json!({
        "cmd": command,
        "tty": true,
        "yield_time_ms": 300,
        "sandbox_permissions": "require_escalated",
        "justification": reason,
    });
    Reply::calls(&[("c", "exec_command", arguments)])
}

#[test]
fn a_yes_for_the_session_outlives_the_thread_and_covers_input() {
    let endpoint = Endpoint::answering(|index, request| {
        let types = |text: &str| {
            let told = tool_outputs(request).last().unwrap().to_string();
            let (_, after) = told.split_once("session ID ").expect(&told);
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            let arguments = json!({
                "session_id": digits.parse::<u64>().unwrap(),
                "chars": text,
                "yield_time_ms": 300,
            });
            Reply::calls(&[("t", "write_stdin", arguments)])
        };
        match index {
            0 => outside("echo a >> made", "to see it"),
            2 => outside("echo a >> made", "in other words"),
            4 => outside("cat >> typed", "to type"),
            5 => types("first\n"),
            6 => types("second\n"),
            _ => Reply::text("done"),
        }
    });
    let Some(program) = program("gpt-5.5", endpoint) else {
        return;
    };
    // All of it runs outside the sandbox, which not every machine can make.
    let settings = json!({"approvals": "ask", "sandbox": "workspace-write"});
    program
        .home
        .write_config("config.json", settings.to_string());
    let pty = program.repl();
    pty.send_line(".go");
    pty.wait_for("Run this command?");
    pty.wait_for("▸ n no");
    let screen = pty.screen_text();
    assert!(
        screen.contains("sandbox: this command may run outside of it"),
        "{screen}"
    );
    pty.send("s");
    pty.wait_for("In [2]:");
    pty.send_line("%ipycodex reset");
    pty.wait_for("In [3]:");
    pty.send_line(".again, in a new thread");
    pty.wait_for("In [4]:");
    pty.send_line(".type");
    pty.wait_for("cat >> typed");
    pty.wait_for("▸ n no");
    pty.send("y");
    pty.wait_for("Type this?");
    pty.wait_for("▸ n no");
    pty.send("s");
    pty.wait_for("In [5]:");
    leave(&pty);
    let read = |name: &str| std::fs::read_to_string(program.home.work().join(name)).unwrap();
    assert_eq!(read("made"), "a\na\n");
    assert_eq!(read("typed"), "first\nsecond\n");
    assert_eq!(
        program.recorded("SELECT kind || ' ' || decision FROM ipycodex_decisions ORDER BY id"),
        [
            "command session",
            "command session",
            "command once",
            "input session",
            "input session"
        ]
    );
}

#[test]
fn a_function_that_asks_for_input_is_answered() {
    let model = "gpt-5.5";
    let f = || call(model, "f", &json!({}));
    let replies = vec![f(), Reply::text("I see.")];
    let Some(program) = program(model, Endpoint::script(replies)) else {
        return;
    };
    let pty = program.repl();
    pty.send_line("f = lambda: 'got ' + input('na' + 'me? ')");
    pty.wait_for("In [2]:");
    pty.send_line(".use &`f`");
    pty.wait_for("name? ");
    pty.send("me\r");
    pty.wait_for("In [3]:");
    leave(&pty);
    assert!(
        outputs(&program, 1).contains("got me"),
        "{}",
        outputs(&program, 1)
    );
}

#[test]
fn ctrl_c_in_a_cell_of_the_agent_stops_cell_and_turn() {
    let model = "gpt-5.5";
    let code = "import time\nprint('now it ' + 'sleeps')\ntime.sleep(1000)";
    let replies = vec![cells(model, &[code, "never"]), Reply::text("fine")];
    let Some(program) = unasked(model, replies) else {
        return;
    };
    let pty = program.repl();
    pty.send_line("x = 41");
    pty.wait_for("In [2]:");
    pty.send_line(".go");
    pty.wait_for("now it sleeps");
    pty.send("\x03");
    pty.wait_for("KeyboardInterrupt");
    pty.wait_for("In [4]:");
    pty.send_line("x + 1");
    pty.wait_for("42");
    pty.wait_for("In [5]:");
    pty.send_line(".what was that?");
    pty.wait_for("fine");
    pty.wait_for("In [6]:");
    leave(&pty);
    let request = program.endpoint.requests().pop().unwrap();
    let context = asked(&request);
    assert!(
        context.starts_with("<context><code>import time"),
        "{context}"
    );
    assert!(context.contains("KeyboardInterrupt"), "{context}");
    assert!(
        context.contains("<code>x + 1</code><output>42</output>"),
        "{context}"
    );
}

#[test]
fn without_leave_the_model_is_told_how_to_get_it() {
    let model = "gpt-5.5";
    let endpoint = Endpoint::script(vec![cells(model, &["x = 1"]), Reply::text("I see.")]);
    let Some(program) = program(model, endpoint) else {
        return;
    };
    program.piped(".go\n'x' in globals()\n");
    let result = outputs(&program, 1);
    assert!(
        result.contains("`%ipycodex run_cells auto` allows it"),
        "{result}"
    );
    assert_eq!(
        program.recorded("SELECT source FROM history ORDER BY line"),
        [".go", "'x' in globals()"]
    );
}
