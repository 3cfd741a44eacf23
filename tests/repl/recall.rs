//! Looking back: which inputs come in which order, and those that are kept out of the record.

use super::shell::{CTRL_C, Shell, UP, inputs};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{Pty, SIZE};

const DOWN: &str = "\x1b[B";

/// Records cells in a directory of the home.
fn ran_in(home: &Home, folder: &str, cells: &[&str]) {
    let directory = home.work().join(folder);
    std::fs::create_dir_all(&directory).unwrap();
    for cell in cells {
        let mut command = home.command(&["-c", cell]);
        command.current_dir(&directory);
        let ran = crate::support::home::finish(command, b"");
        assert_eq!(ran.code(), 0, "{}", ran.stderr);
    }
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
        shell.pty.wait_until(text, |screen| {
            super::shell::cursor_line(screen).trim_end() == format!("In [7]: {text}")
        });
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
