//! What an agent does in the live interpreter, as the user sees it: cells, tools that ask, changed files.

use serde_json::{Value, json};

use super::questioning_agent::{Asker, call};
use super::questions::HOSTILE;
use super::shell::{CTRL_C, ENDLESS};
use crate::support::home::Home;
use crate::support::pty::{SIZE, cursor_line};

fn cells(cells: &[(&str, &str)]) -> Value {
    let cells: Vec<Value> = cells
        .iter()
        .map(|(title, code)| json!({"title": title, "code": code}))
        .collect();
    call("run_cells", json!({"cells": cells}))
}

fn told(answer: &Value) -> String {
    answer["contentItems"][0]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn cells_are_asked_for_shown_and_numbered_as_the_users_own() {
    let run = cells(&[
        (
            "make a table",
            "rows = [1, 2]\nfor row in rows:\n    print('row', row)",
        ),
        ("", "sum(rows)"),
    ]);
    let asker = Asker::new(json!([[{"text": "I look."}, run, {"text": "Done."}]]));
    asker.prompt(1);
    asker.choices();
    asker.shell.shows(
        "? The agent asks to run 2 cells in your session\n  cell 1 of 2: make a table\n  1 rows = [1, 2]\n  2 for row \
         in rows:\n  3     print('row', row)\n  cell 2 of 2\n  1 sum(rows)\n",
    );
    asker.shell.pty.wait_for("  w no, say why");
    asker.shell.pty.send("y");
    asker.shell.at(4);
    let text = asker.shell.text();
    let shown = "make a table\nIn [2]: rows = [1, 2]\n   ...: for row in rows:\n   ...:     print('row', row)\nrow 1\n\
                 row 2\n";
    assert!(text.contains(shown), "{text}");
    assert!(text.contains("In [3]: sum(rows)\nOut[3]: 3\n"), "{text}");
    assert!(
        text.find("Out[3]").unwrap() < text.find("Done.").unwrap(),
        "{text}"
    );
    assert!(
        told(&asker.given(1)[0]).contains("row 1"),
        "{:?}",
        asker.given(1)
    );
    asker.shell.cell(4, "rows");
    asker.shell.shows("Out[4]: [1, 2]");
}

#[test]
fn cells_can_be_refused_with_a_reason_and_allowed_for_good() {
    let one = || cells(&[("", "print('it ' + 'ran')")]);
    let asker = Asker::new(json!([[one()], [one()], [one()]]));
    asker.prompt(1);
    asker.choices();
    asker.shell.pty.send("w");
    asker.shell.pty.wait_for("why not?");
    asker.shell.pty.send("not yet, später\r");
    asker.shell.at(2);
    asker
        .shell
        .shows("✗ not allowed (not yet, später): print('it ' + 'ran')");
    asker.shell.lacks("it ran");
    assert!(told(&asker.given(1)[0]).contains("not yet, später"));
    asker.prompt(2);
    asker.choices();
    asker.shell.pty.send("s");
    asker.shell.at(4);
    asker.shell.shows("In [3]: print('it ' + 'ran')\nit ran\n");
    asker.prompt(4);
    asker.shell.at(6);
    asker.shell.shows("In [5]: print('it ' + 'ran')\nit ran\n");
}

#[test]
fn a_cell_that_would_lose_the_variables_says_so() {
    let reset = call(
        "run_cells",
        json!({"cells": [{"code": "1 + 1", "reset": true}]}),
    );
    let asker = Asker::new(json!([[reset]]));
    asker.shell.cell(1, "kept = 1");
    asker.prompt(2);
    asker.choices();
    asker
        .shell
        .shows("! starts a new interpreter first: all variables are lost\n  1 1 + 1\n");
    asker.shell.pty.wait_for("Lose all variables and run this?");
    asker.shell.pty.send("\r");
    asker.shell.at(3);
    asker.shell.cell(3, "kept");
    asker.shell.shows("Out[3]: 1");
}

#[test]
fn keys_are_the_cells_while_it_runs_and_the_prompts_afterwards() {
    let run = cells(&[("", "name = input('who' + '? ')\nprint('hello', name)")]);
    let asker = Asker::new(json!([[run, {"text": "waiting"}, {"until": "go"}]]));
    asker.prompt(1);
    asker.choices();
    asker.shell.pty.send("y");
    asker.shell.pty.wait_for("who? ");
    asker.shell.pty.send("Ada\r");
    asker.shell.pty.wait_for("hello Ada");
    asker.shell.pty.wait_for("waiting");
    asker.shell.pty.send("later = 1");
    asker.shell.home.write("go", "");
    asker.shell.at_with(3, "later = 1");
}

#[test]
fn ctrl_c_in_a_cell_stops_it_and_the_turn() {
    for code in [
        "import time\nprint('be' + 'gun')\ntime.sleep(600)",
        ENDLESS,
        "input('be' + 'gun')",
    ] {
        let asker = Asker::new(json!([[cells(&[("", code)])]]));
        asker.prompt(1);
        asker.choices();
        let from = asker.shell.pty.raw().len();
        asker.shell.pty.send("y");
        let from = asker.shell.pty.wait_raw(b"In [2]", from);
        asker.shell.pty.wait_raw(b"begun", from);
        asker.shell.pty.send(CTRL_C);
        asker.shell.at(3);
        asker.shell.shows("stopped");
        asker.shell.lacks("turn over");
        asker.shell.cell(3, "'alive'");
        asker.shell.shows("Out[3]: 'alive'");
    }
}

#[test]
fn a_tool_asks_for_lines() {
    let asker = Asker::new(json!([
        [call("ask", json!({}))],
        [call("ask", json!({}))],
        [call("ask", json!({}))]
    ]));
    asker.shell.home.write(
        "tools.py",
        "import getpass\ndef ask():\n    'Asks.'\n    print('ask' + 'ing')\n    try:\n        name = \
         input('your\\x1b]0;t\\x07 name: ')\n        return [name, len(getpass.getpass('the key: '))]\n    except \
         EOFError:\n        return 'no more'\n",
    );
    asker.shell.cell(1, "from tools import ask");
    let pty = &asker.shell.pty;
    pty.send_line(".use &`ask`");
    pty.wait_for("your^[]0;t^G name: ");
    pty.send("Ad漢x\x7fa\x1b[D\x1b[D\x1b[D\x08E");
    pty.wait_for("name: Ed漢a");
    pty.send("\r");
    pty.wait_for("the key: ");
    pty.send("hunter2\r");
    asker.shell.at(3);
    assert!(
        memchr::memmem::find(&pty.raw(), b"hunter2").is_none_or(|_| false),
        "it is not echoed"
    );
    let text = told(&asker.given(1)[0]);
    assert!(
        text.contains("Ed漢a") || text.contains("Ed\\u6f22a"),
        "{text}"
    );
    assert!(text.contains('7'), "{text}");
    asker
        .shell
        .shows("asking\nyour^[]0;t^G name: Ed漢a\nthe key: \n");
    pty.send_line(".use &`ask`");
    pty.wait_until("the second question", |screen| {
        cursor_line(screen).contains("your^[]0;t^G name:")
    });
    pty.send("\x04");
    asker.shell.at(4);
    assert!(told(&asker.given(2)[1]).contains("no more"));
    pty.send_line(".use &`ask`");
    pty.wait_until("the third question", |screen| {
        cursor_line(screen).contains("your^[]0;t^G name:")
    });
    pty.send(CTRL_C);
    asker.shell.at(5);
    asker.shell.shows("stopped");
    asker.shell.cell(5, "'alive'");
}

#[test]
fn changed_files_are_shown_as_diffs_and_long_ones_unfold() {
    let lines: String = (0..60).map(|n| format!("+line {n}\n")).collect();
    let change = json!({"item": {"type": "fileChange", "id": "e1", "status": "completed", "changes": [
        {"path": "/p/a\u{1b}[2J.py", "kind": {"type": "update"}, "diff": format!("@@ -0,0 +1,60 @@\n{lines}")},
        {"path": "/p/b.py", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@\n-a\n+b\n"},
    ]}});
    let asker = Asker::new(json!([[{"note": "item/completed", "params": change}]]));
    asker.prompt(1);
    asker.shell.at(2);
    asker
        .shell
        .shows("✎ update /p/a^[[2J.py +60 -0\n  @@ -0,0 +1,60 @@\n  +line 0\n");
    asker
        .shell
        .shows("  +line 18\n  … 41 more lines (Ctrl-O at the prompt shows all)\n");
    asker
        .shell
        .shows("✎ update /p/b.py +1 -1\n  @@ -1 +1 @@\n  -a\n  +b\n");
    asker.shell.pty.send("\x0f");
    asker.shell.shows("  +line 59 ");
    asker.shell.at(2);
    asker.shell.cell(2, "6 * 7");
}

#[test]
fn a_look_that_nothing_protects_is_asked_for() {
    let home = Home::with(&[("IPYCODEX_NO_LANDLOCK", "1")]);
    let look = || call("pyrun", json!({"code": format!("len('''{HOSTILE}''')")}));
    let asker = Asker::of(home, json!([[look()], [look(), look()]]), SIZE);
    asker.prompt(1);
    asker.choices();
    asker.shell.shows(
        "? The agent asks to run code without write protection\n  why: \
                       IPYCODEX_NO_LANDLOCK is set",
    );
    asker.shell.shows("  1 len(");
    asker.shell.pty.send("n");
    asker.shell.at(2);
    asker.shell.shows("✗ not allowed: len(");
    assert!(told(&asker.given(1)[0]).contains("did not run"));
    asker.prompt(2);
    asker.choices();
    asker.shell.pty.send("s");
    asker.shell.at(3);
    asker.shell.shows("✓ allowed for this session: len(");
    assert_eq!(asker.given(3)[2]["success"], true);
}

#[test]
fn skills_of_a_project_and_their_code_are_asked_for() {
    let home = Home::new();
    let (hostile, _) = HOSTILE.split_once('\r').unwrap();
    let block = format!(
        "```python\n#| eval: true\nmark = 'from' + ' a skill'\nprint(mark) # {hostile}\n```\n"
    );
    let text = format!("---\nname: plots\ndescription: Makes plots.\n---\nUse it.\n\n{block}");
    home.write(".agents/skills/plots/SKILL.md", text);
    let load = || call("load_skill", json!({"path": "plots"}));
    let asker = Asker::of(home, json!([[load()], [load()], [load()]]), SIZE);
    asker.prompt(1);
    asker.choices();
    asker.shell.shows(
        "? The agent asks to read a skill that comes with this project\n  skill: plots\n  file: ",
    );
    asker.shell.pty.send("n");
    asker.shell.at(2);
    assert_eq!(asker.given(1)[0]["success"], false);
    asker.prompt(2);
    asker.choices();
    asker.shell.pty.send("y");
    asker.shell.pty.wait_for("Run this code?");
    asker
        .shell
        .shows("? A skill asks to run code in your session\n  skill: plots\n  file: ");
    asker.shell.shows("  2 mark = 'from' + ' a skill'\n");
    asker.choices();
    asker.shell.pty.send("y");
    asker.shell.at(3);
    asker
        .shell
        .shows("✓ always allowed: code of the skill plots");
    asker.shell.cell(3, "mark");
    asker.shell.shows("Out[3]: 'from a skill'");
    let raw = asker.shell.pty.raw();
    for bytes in ["\x1b]52", "\u{202e}", "\u{e0041}"] {
        assert!(
            memchr::memmem::find(&raw, bytes.as_bytes()).is_none(),
            "{bytes:?}"
        );
    }
}

#[test]
fn a_dry_run_of_a_reset_runs_without_the_names_of_before() {
    let run = call(
        "run_cells",
        json!({"cells": [{"code": "print('kept' in dir())", "reset": true}]}),
    );
    let asker = Asker::new(json!([[run]]));
    asker.shell.cell(1, "kept = 1");
    asker.prompt(2);
    asker.choices();
    asker.shell.pty.send("d");
    asker.shell.shows(
        "\nFalse\n! cell 1 starts a new interpreter: in this dry run the earlier names are gone",
    );
    asker.shell.shows("\n- kept: int\n");
    asker.choices();
    asker.shell.pty.send("n");
    asker.shell.at(3);
    asker.shell.cell(3, "kept");
    asker.shell.shows("Out[3]: 1");
}

#[test]
fn a_dry_run_tells_what_cells_would_do_and_asks_again() {
    let run = cells(&[(
        "",
        "rows = [1, 2]; print('in', 'it'); open('made.txt', 'w')",
    )]);
    let again = cells(&[("", "rows = 3")]);
    let asker = Asker::new(json!([[run, {"text": "Done."}], [again, {"text": "Again."}]]));
    asker.prompt(1);
    asker.choices();
    asker.shell.pty.wait_for("  d dry run first");
    asker.shell.pty.send("d");
    asker.shell.shows("\nin it\n");
    asker.shell.shows("\n+ rows: list of 2\ntried to write ");
    asker.shell.shows("your session is unchanged");
    asker.choices();
    asker.shell.pty.send("n");
    asker.shell.at(2);
    asker.shell.cell(
        2,
        "'rows' in dir(), __import__('os').path.exists('made.txt')",
    );
    asker.shell.shows("Out[2]: (False, False)");
    asker.shell.cell(3, "%ipycodex run_cells preview");
    asker.prompt(4);
    asker.shell.shows("\n+ rows: int\n");
    asker.choices();
    asker.shell.pty.send("y");
    asker.shell.at(6);
    asker.shell.cell(6, "rows");
    asker.shell.shows("Out[6]: 3");
}
