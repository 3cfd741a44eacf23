//! The prompt is on the screen before the terminal has told where the cursor is: on a slow line that takes a while.

use std::path::Path;

use super::shell::{Shell, with_settings};
use crate::support::home::Home;
use crate::support::pty::{Pty, SIZE, cursor_line};

/// Asks where the cursor is.
const QUERY: &[u8] = b"\x1b[6n";

/// Starts the shell when there is a file `go`, after these words on the terminal.
fn waiting(home: Home, arguments: &str, words: &str, size: (u16, u16)) -> Shell {
    let program = env!("CARGO_BIN_EXE_ipycodex");
    let script = format!(
        "until [ -e go ]; do sleep 0.01; done; printf '{words}'; exec '{program}' --agent demo {arguments}"
    );
    let pty = Pty::spawn_program(&home, Path::new("/bin/sh"), &["-c", &script], size);
    Shell { home, pty }
}

fn go(shell: &Shell) {
    std::fs::write(shell.home.work().join("go"), "").unwrap();
}

/// The rows of the screen that are not empty, and the cursor's column.
fn rows(shell: &Shell) -> (Vec<String>, u16) {
    let written = shell.pty.written();
    let rows = written.rows.into_iter().filter(|row| !row.is_empty());
    (rows.collect(), written.cursor.1)
}

/// Waits for this label in the cursor's row, with the cursor at its start.
fn labelled(shell: &Shell, label: &str) {
    shell.pty.wait_until(label, |screen| {
        screen.cursor_position().1 == 0 && cursor_line(screen).trim_end() == label
    });
}

#[test]
fn the_prompt_is_drawn_before_the_terminal_answers() {
    let shell = waiting(Home::new(), "", "", SIZE);
    let label = "In [1]:";
    shell.pty.unanswered(|| {
        go(&shell);
        shell.pty.wait_raw(QUERY, 0);
        labelled(&shell, label);
    });
    shell.at(1);
    let (rows, column) = rows(&shell);
    let labels = rows.iter().filter(|row| row.contains("In [")).count();
    assert_eq!((labels, column), (1, 8), "{rows:?}");
}

#[test]
fn so_is_every_later_prompt_below_what_a_cell_left() {
    let shell = Shell::new();
    for (number, printed) in [(1, "line\\n"), (2, "no line end"), (3, "")] {
        let file = shell.home.work().join(format!("go{number}"));
        let code = format!(
            "import os; print('be' 'gun{number}', flush=True); any(iter(lambda: os.path.exists({:?}), True)); \
             print('{printed}', end='')",
            file.to_str().unwrap()
        );
        shell.at(number);
        shell.pty.send_line(&code);
        let begun = format!("begun{number}");
        let from = shell.pty.wait_raw(begun.as_bytes(), 0);
        shell.pty.unanswered(|| {
            std::fs::write(&file, "").unwrap();
            shell.pty.wait_raw(QUERY, from);
            labelled(&shell, &format!("In [{}]:", number + 1));
        });
        shell.at(number + 1);
    }
    let text = shell.text();
    assert_eq!(text.matches("In [").count(), 4, "{text}");
    assert!(
        text.contains("\nline\n\nIn [2]:") && text.contains("\nno line end\n\nIn [3]:"),
        "{text}"
    );
}

/// What stands in the cursor's row stays: without a greeting nobody knows that it is empty.
#[test]
fn a_row_that_may_not_be_empty_is_left_alone() {
    let home = with_settings(r#"{"greeting": false}"#);
    let shell = waiting(home, "", "left by the shell", SIZE);
    go(&shell);
    shell.at(1);
    assert_eq!(rows(&shell).0, ["left by the shell", "In [1]:"]);
}

/// Neither in two rows, nor where the cursor cannot be moved.
#[test]
fn a_label_that_does_not_fit_is_not_drawn_before() {
    let narrow = Shell::start(Home::new(), &["--agent", "demo"], (6, 24));
    narrow.pty.wait_until("the prompt in two rows", |screen| {
        screen.cursor_position().1 == 2
    });
    let (rows, _) = rows(&narrow);
    let last = rows.len() - 2;
    assert_eq!(&rows[last..], ["In [1]", ":"], "{rows:?}");
    assert_eq!(rows.concat().matches("In [").count(), 1, "{rows:?}");
    let dumb = Shell::start(Home::with(&[("TERM", "dumb")]), &["--agent", "demo"], SIZE);
    dumb.pty.wait_for("In [1]:");
    dumb.pty.send("q");
    dumb.pty.wait_for("In [1]: q");
    let raw = String::from_utf8(dumb.pty.raw()).unwrap();
    assert!(!raw.contains("In [1]: \r"), "{raw:?}");
}
