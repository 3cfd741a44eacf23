//! A cell asks, as the user sees it: the turn stands between what the cell prints, questions are answered in it, Ctrl-C
//! stops it, and the cell goes on.

use serde_json::json;

use super::asker::{Asker, call, command};
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
        shell.shows(" waited for an answer when ");
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
