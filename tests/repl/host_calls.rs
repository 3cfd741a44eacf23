//! A cell asks, as the user sees it: the turn stands between what the cell prints, questions are answered in it, Ctrl-C
//! stops it, and the cell goes on.

use serde_json::json;

use super::questioning_agent::{Asker, call, command};
use super::shell::{CTRL_C, Shell};
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::SIZE;

/// At the first prompt, with or without IPython.
fn shells() -> Vec<Shell> {
    let mut shells = vec![Shell::new()];
    if let Some(python) = peers::python() {
        let home = Home::new();
        home.install("python3", &python);
        shells.push(Shell::of(home));
    }
    shells
}

#[test]
fn the_turn_stands_where_the_cell_asked() {
    for shell in shells() {
        shell.cell(1, "import ipycodex");
        shell.at(2);
        let code = "print('be' + 'fore'); x = ipycodex.ask('what is it?'); print('af' + 'ter', len(x) > 9)";
        shell.pty.send_line(code);
        shell.at(4);
        let text = shell.text();
        let places: Vec<_> = [
            "before",
            "In [3]: .what is it?",
            "Demo answer",
            "after True",
        ]
        .iter()
        .map(|part| text.find(part))
        .collect();
        assert!(
            places.is_sorted() && places.iter().all(Option::is_some),
            "{places:?} {text}"
        );
        // The exchange is part of the conversation, the cell's output is the cell's.
        let record = shell.record();
        for (query, expected) in [
            ("select prompt from ai_prompts", "what is it?"),
            (
                "select output from output_history where line = 2",
                "before\nafter True",
            ),
            (
                "select source_raw from history where line = 3",
                ".what is it?",
            ),
            (
                "select state from ipycodex_turns where line = 3",
                "complete",
            ),
        ] {
            await_true(query, || {
                let row = record.query_row(query, [], |row| row.get::<_, String>(0));
                row.is_ok_and(|row| row == expected)
            });
        }
        shell.leave();
    }
}

#[test]
fn ctrl_c_stops_the_turn_and_raises_in_the_cell() {
    for shell in shells() {
        shell.cell(1, "import ipycodex, threading");
        for (number, code) in [
            (2, "ipycodex.ask('very slowly ' * 9)"),
            (4, "await ipycodex.ask_async('very slowly ' * 9)"),
            (
                6,
                "t = threading.Thread(target=ipycodex.ask, args=['slowly ' * 9]); t.start(); t.join()",
            ),
        ] {
            shell.at(number);
            let from = shell.pty.raw().len();
            shell.pty.send_line(code);
            shell.pty.wait_raw(b"You asked:", from);
            shell.pty.send(CTRL_C);
            shell.at(number + 2);
            let interrupted = format!(
                "select count(*) from ipycodex_turns where line = {} and state = 'cancelled'",
                number + 1
            );
            let record = shell.record();
            await_true("the end of the turn in the record", || {
                let count = record.query_row(&interrupted, [], |row| row.get::<_, u32>(0));
                count.is_ok_and(|count| count == 1)
            });
        }
        shell.shows("KeyboardInterrupt");
        shell.shows(" was still waiting for an answer when ");
        shell.lacks("Exception in thread");
        shell.at(8);
        shell
            .pty
            .send_line("x = ipycodex.ask('still there?'); 'fine' + str(len(x) > 9)");
        shell.at(10);
        shell.shows("'fineTrue'");
        shell.leave();
    }
}

#[test]
fn questions_of_the_turn_are_answered_while_the_cell_waits() {
    let turns = json!([[command("touch here")], [call("f", json!({}))]]);
    let asker = Asker::new(turns);
    let shell = &asker.shell;
    shell.cell(1, "import ipycodex");
    shell.cell(2, "def f(): return 'fun' + input('who' + '? ')");
    shell.at(3);
    shell.pty.send_line("ipycodex.ask('may I?')[-9:]");
    asker.choices();
    shell.pty.send("y");
    shell.at(5);
    shell.shows("turn over'");
    shell.pty.send_line("ipycodex.ask('call it', tools=f)[-9:]");
    shell.shows("who?");
    shell.pty.send_line("Ada");
    shell.at(7);
    let given = asker.given(2);
    assert_eq!(given[0]["decision"], "accept", "{given:?}");
    assert!(given[1].to_string().contains("funAda"), "{given:?}");
}

#[test]
fn a_tool_is_a_line_between_what_the_cell_prints_and_leaves_the_terminal_to_the_cell() {
    for shell in shells() {
        shell.cell(1, "import ipycodex, os");
        let two =
            "for n in (1, 2): print(f'be{n}', end=''); _ = ipycodex.tool('pyrun', code=f'{n} * 3')";
        shell.cell(2, two);
        shell.shows(
            "\nbe1\n🔧 pyrun(code='1 * 3') => 3\nbe2\n🔧 pyrun(code='2 * 3') => 6\n\nIn [3]:",
        );
        // A program after it has the whole terminal.
        shell.at(3);
        let vim = "_ = ipycodex.tool('pyrun', code='1'); _ = os.system('vim -u NONE -N note')";
        shell.pty.send_line(vim);
        shell.pty.wait_for("[New]");
        shell
            .pty
            .wait_until("rows of vim at the left edge", |screen| {
                let rows: Vec<String> = screen.rows(0, 80).collect();
                rows[1..20].iter().all(|row| row.trim_end() == "~")
            });
        shell.pty.send("iwritten in vim\x1b:wq\r");
        shell.at(4);
        let note = std::fs::read_to_string(shell.home.work().join("note"));
        assert_eq!(note.unwrap(), "written in vim\n");
        // Code is broken into rows as text is.
        let code = "_ = ipycodex.tool('pyrun', code='if 1:\\n        print(40 + 2, \"and some more words\")')";
        shell.cell(4, code);
        let text = shell.text();
        let (_, call) = text.rsplit_once("🔧 ").unwrap();
        let rows: Vec<&str> = call.lines().take_while(|row| !row.is_empty()).collect();
        let further = |row: &&str| row.starts_with("   ") && !row.starts_with("    ");
        assert!(rows.len() > 1 && rows[1..].iter().all(further), "{rows:?}");
        // What is refused says why, and the cell fails.
        shell.cell(5, "ipycodex.tool('nope')");
        shell.shows("🔧 nope() => Error: there is no tool `nope` in this session");
        shell.leave();
    }
}

#[test]
fn a_status_line_passes_by() {
    let shell = Shell::start(Home::new(), &["--agent", "demo"], SIZE);
    shell.cell(1, "import ipycodex, time, os");
    shell.at(2);
    let code = "for n in range(3):\r    ipycodex.status(f'st{n}ep')\r    time.sleep(0.3)\r\nprint('do' + 'ne')";
    let from = shell.pty.raw().len();
    shell.pty.send(&format!("\x1b[200~{code}\x1b[201~"));
    shell.pty.send("\r");
    shell.pty.wait_raw(b"st2ep", from);
    shell.at(3);
    shell.shows("done");
    shell.lacks("st2ep");
    shell.leave();
}
