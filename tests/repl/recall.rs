//! Looking back: which inputs come in which order, and those that are kept out of the record.

use super::shell::{CTRL_C, CTRL_R, Shell, UP, inputs};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{Pty, SIZE, cursor_line};

const DOWN: &str = "\x1b[B";

/// Records cells in a directory of the home.
pub fn ran_in(home: &Home, folder: &str, cells: &[&str]) {
    let directory = home.work().join(folder);
    std::fs::create_dir_all(&directory).unwrap();
    for cell in cells {
        let mut command = home.command(&["-c", cell]);
        command.current_dir(&directory);
        let ran = crate::support::home::finish(command, b"");
        assert_eq!(ran.code(), 0, "{}", ran.stderr);
    }
    // As if they had been typed in a shell.
    let db = rusqlite::Connection::open(home.history()).unwrap();
    db.execute("UPDATE ipycodex_sessions SET once = NULL", [])
        .unwrap();
}

/// So many inputs more of this directory and of another, in one session each.
fn recorded(home: &Home, here: i64, elsewhere: i64) {
    ran_in(home, "", &["1"]);
    let db = rusqlite::Connection::open(home.history()).unwrap();
    let directory = home.work().to_string_lossy().into_owned();
    for (session, cwd, rows) in [(2, directory.as_str(), here), (3, "/elsewhere", elsewhere)] {
        db.execute(
            "INSERT INTO sessions VALUES (?1, '2026-01-02 03:04:05.000000', 'x', 1, ?2)",
            (session, cwd),
        )
        .unwrap();
        db.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
             INSERT INTO history SELECT ?1, i, 'x', 'session_' || ?1 || ' = ' || i FROM n",
            (session, rows),
        )
        .unwrap();
    }
}

#[test]
fn what_is_further_back_than_memory_is_found_too() {
    let home = Home::new();
    recorded(&home, 6_000, 9_000);
    let shell = Shell::start(home, &["--agent", "demo"], (110, 24));
    shell.at(1);
    // Of this directory 5,000 are in memory, of the others none.
    shell.pty.send(CTRL_R);
    shell.pty.wait_for("(reverse-search)");
    shell.pty.send("session_3 = 77");
    shell.pty.wait_for("> session_3 = 7799");
    shell.pty.wait_for("1/111");
    shell.pty.wait_for("── 2026-01-02 03:04 · /elsewhere ──");
    shell.pty.send("\x15session_2 = 99");
    shell.pty.wait_for("> session_2 = 999");
    shell.pty.send("\r");
    shell.at_with(1, "session_2 = 999");
    shell.pty.send(CTRL_C);
    shell.at(1);
    // Up with a text: what begins with it, in the record, and back.
    shell.pty.send("session_3 = 12");
    shell.at_with(1, "session_3 = 12");
    for text in ["session_3 = 1299", "session_3 = 1298"] {
        shell.pty.send(UP);
        shell.at_with(1, text);
    }
    for text in ["session_3 = 1299", "session_3 = 12"] {
        shell.pty.send(DOWN);
        shell.at_with(1, text);
    }
    shell.pty.send(CTRL_C);
    shell.at(1);
    shell.cell(1, "mine = 1 / 0");
    shell.shows("ZeroDivisionError");
    shell.at(2);
    shell.pty.send(CTRL_R);
    shell.pty.wait_for("── error · 20");
    shell.pty.wait_for("> mine = 1 / 0");
}

#[test]
fn up_walks_this_session_then_this_directory_then_the_others_each_text_once() {
    let home = Home::new();
    ran_in(&home, "", &["here = 1", "both = 1"]);
    ran_in(&home, "elsewhere", &["there = 1", "both = 1", "there = 2"]);
    let shell = Shell::of(home);
    shell.cell(1, "mine = 1");
    shell.cell(2, "here = 1");
    shell.at(3);
    for text in ["here = 1", "mine = 1", "both = 1", "there = 2", "there = 1"] {
        shell.pty.send(UP);
        shell.at_with(3, text);
    }
    shell.pty.send(UP);
    for text in ["there = 2", "both = 1", "mine = 1", "here = 1", ""] {
        shell.pty.send(DOWN);
        shell.at_with(3, text);
    }
    shell.pty.send("th");
    shell.at_with(3, "th");
    for text in ["there = 2", "there = 1"] {
        shell.pty.send(UP);
        shell.at_with(3, text);
    }
}

fn private_cells_are_recorded_nowhere(arguments: &[&str]) {
    let arguments = [&["--agent", "demo"], arguments].concat();
    let shell = Shell::start(Home::new(), &arguments, SIZE);
    shell.cell(1, " secret = 'hush' + 'hush'");
    shell.cell(2, " secret");
    shell.shows("Out[2]: 'hushhush'");
    shell.cell(3, "len(_)");
    shell.shows("Out[3]: 8");
    shell.cell(4, " %ipycodex think h");
    shell.cell(5, "len(Out[2])");
    shell.cell(6, ".what do you see?");
    shell.at(7);
    for text in [
        ".what do you see?",
        "len(Out[2])",
        " %ipycodex think h",
        "len(_)",
        " secret",
        " secret = 'hush' + 'hush'",
    ] {
        shell.pty.send(UP);
        shell.pty.at_line(&format!("In [7]: {text}"));
    }
    shell.pty.send(CTRL_C);
    shell.at(7);
    let recorded = ["len(_)", "len(Out[2])", ".what do you see?"];
    assert_eq!(shell.inputs(3), recorded);
    assert_eq!(shell.leave(), 0);
    let file = std::fs::read(shell.home.history()).unwrap();
    assert!(memchr::memmem::find(&file, b"hush").is_none());
    let context = "select group_concat(prompt || response) from ai_prompts";
    let told: String = shell
        .record()
        .query_row(context, [], |row| row.get(0))
        .unwrap();
    assert!(!told.contains("secret"), "{told}");

    // The next session does not know them.
    let again = Pty::spawn(&shell.home, &["--agent", "demo"], SIZE);
    let again = Shell {
        home: shell.home,
        pty: again,
    };
    again.at(1);
    for text in [".what do you see?", "len(Out[2])", "len(_)", "len(_)"] {
        again.pty.send(UP);
        again.at_with(1, text);
    }
    again.pty.send(CTRL_C);
    again.at(1);
    assert_eq!(again.leave(), 0);
    assert_eq!(inputs(&again.record()), recorded);
}

#[test]
fn private_cells_are_recorded_nowhere_with_the_built_in_engine() {
    private_cells_are_recorded_nowhere(&[]);
}

#[test]
fn private_cells_are_recorded_nowhere_with_ipython() {
    if let Some(python) = peers::python() {
        private_cells_are_recorded_nowhere(&["--python", python.to_str().unwrap()]);
    }
}

#[test]
fn a_session_of_private_cells_alone_leaves_no_trace() {
    let shell = Shell::new();
    shell.cell(1, " 6 * 7");
    shell.shows("Out[1]: 42");
    assert_eq!(shell.leave(), 0);
    shell.lacks("To resume");
    let sessions: i64 = shell
        .record()
        .query_row("select count(*) from sessions", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sessions, 0);
}

/// Opens the search and types into it.
fn search(shell: &Shell, text: &str) {
    shell.pty.send(CTRL_R);
    shell.pty.wait_for("(reverse-search)");
    shell.pty.send(text);
    shell.pty.wait_until(text, |screen| {
        cursor_line(screen).contains(&format!("reverse-search) {text}"))
    });
}

#[test]
fn ctrl_r_shows_the_whole_input_and_goes_on_to_older_ones() {
    for size in [SIZE, (40, 12)] {
        let shell = Shell::start(Home::new(), &["--agent", "demo"], size);
        shell.cell(1, "needle = 1");
        shell
            .pty
            .send("\x1b[200~def f():\n    needle = 2\n    return needle\x1b[201~");
        run_block(&shell);
        shell.at(3);
        shell.cell(3, "other = 3");
        let before = shell.pty.screen_text();
        shell.pty.send("draft");
        shell.at_with(4, "draft");
        search(&shell, "needle");
        shell.pty.wait_until("all lines of the newest", |screen| {
            let text = screen.contents();
            text.contains("\ndef f():\n    needle = 2\n    return needle\n")
        });
        let marked = shell.pty.look(|screen| {
            let row = screen
                .rows(0, size.0)
                .position(|row| row.starts_with("    needle = 2"))
                .unwrap();
            let row = u16::try_from(row).unwrap();
            let bold = |column| screen.cell(row, column).unwrap().bold();
            [bold(3), bold(4), bold(9), bold(10)]
        });
        assert_eq!(marked, [false, true, true, false]);
        shell.pty.send(CTRL_R);
        shell.pty.wait_for("> needle = 1");
        shell.pty.send("\x13");
        shell.pty.wait_for("> def f():");
        shell.pty.send("\x1b[A");
        shell.pty.wait_for("> needle = 1");
        for back in ["\x1b", "\x07", CTRL_C] {
            shell.pty.send(back);
            shell.at_with(4, "draft");
            search(&shell, "needle = 1");
        }
        shell.pty.send("zzz");
        shell.pty.wait_for("(failing reverse-search) needle = 1zzz");
        shell.pty.send("\r");
        shell.at_with(4, "draft");
        search(&shell, "needle = 1");
        shell.pty.send("\x1b[D#");
        shell.at_with(4, "#needle = 1");
        shell.pty.send(CTRL_C);
        shell.at(4);
        // The screen is as it was, but for the line that was left.
        let after = shell.pty.all_text();
        assert!(after.contains(before.trim_end()), "{after}");
        search(&shell, "return");
        shell.pty.send("\r");
        run_block(&shell);
        shell.at(5);
        shell.cell(5, "f()");
        shell.shows("Out[5]: 2");
    }
}

/// Runs the function that stands in the editor, as one does: Enter on an empty line.
fn run_block(shell: &Shell) {
    shell.pty.at_line("   ...:     return needle");
    shell.pty.send("\r");
    shell.pty.at_line("   ...:");
    shell.pty.send("\r");
}
