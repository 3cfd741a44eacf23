//! Who does not look at the terminal is told on the desktop when a long run is over.

use std::time::Duration;

use super::shell::Shell;
use crate::support::home::Home;
use crate::support::pty::SIZE;

const LEFT: &str = "\x1b[O";
const CAME_BACK: &str = "\x1b[I";

fn shell() -> Shell {
    let home = Home::with(&[("TERM", "foot")]);
    let shell = Shell::start(home, &["--agent", "demo"], SIZE);
    shell.cell(1, "%ipycodex notify_after 1");
    shell.cell(
        2,
        "import os, time; wait = lambda: [time.sleep(0.01) for _ in iter(lambda: os.path.exists('go'), True)] and None",
    );
    shell
}

/// Lets the cell go on that waits, when it has taken longer than a second.
fn go(shell: &Shell, next: u32) {
    std::thread::sleep(Duration::from_millis(1100));
    let go = shell.home.work().join("go");
    std::fs::write(&go, "").unwrap();
    shell.at(next);
    std::fs::remove_file(&go).unwrap();
}

fn begins(shell: &Shell, code: &str) {
    shell.pty.send_line(code);
    shell.pty.wait_until("the cell's first word", |screen| {
        screen.contents().contains("\nbegan")
    });
}

fn notices(shell: &Shell) -> usize {
    let raw = String::from_utf8_lossy(&shell.pty.raw()).into_owned();
    raw.matches("\x1b]777;").count()
}

#[test]
fn a_long_cell_that_ends_unseen_is_told_and_one_that_is_seen_is_not() {
    let shell = shell();
    shell.at(3);
    begins(&shell, "print('began'); wait()");
    shell.pty.send_and_await_read(LEFT);
    go(&shell, 4);
    let notice = b"\x1b]777;notify;ipycodex;In [3] is done\x07";
    shell.pty.wait_raw(notice, 0);
    begins(&shell, "print('began 4'); wait(); 1/0");
    shell.pty.send_and_await_read(LEFT);
    shell.pty.send_and_await_read(CAME_BACK);
    go(&shell, 5);
    shell.pty.send_line("print('short')");
    shell.pty.send_and_await_read(LEFT);
    shell.at(6);
    assert_eq!(notices(&shell), 1);
    // What the terminal says is nobody's key.
    shell.cell(6, "'x' + 'y'");
    shell.shows("Out[6]: 'xy'");
}

#[test]
fn a_cell_reads_what_is_typed_and_nothing_of_what_the_terminal_says() {
    let shell = shell();
    shell.at(3);
    shell.pty.send_line("a = input('began? ')");
    shell.pty.wait_until("the question", |screen| {
        screen.contents().contains("\nbegan? ")
    });
    shell.pty.send_and_await_read(LEFT);
    shell.pty.send_and_await_read(CAME_BACK);
    shell.pty.send_line("me");
    shell.at(4);
    shell.cell(4, "a");
    shell.shows("Out[4]: 'me'");
}
