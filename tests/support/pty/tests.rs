//! The pseudo-terminal, tried on programs that are not ours.
#![allow(
    unused_imports,
    reason = "built for a bench, which has no harness, the tests are left out"
)]

use std::path::Path;

use super::{MARK, Pty, SIZE, marked_processes};
use crate::support::home::Home;

#[test]
fn keys_go_in_and_the_screen_comes_out() {
    let home = Home::new();
    let pty = Pty::spawn_program(
        &home,
        Path::new("/bin/sh"),
        &["-c", "read line; echo \"got <$line>\"; exit 3"],
        SIZE,
    );
    pty.send_line("päivää");
    pty.wait_for("got <päivää>");
    assert_eq!(pty.exit_status().exit_code(), 3);
}

#[test]
fn it_answers_where_the_cursor_is() {
    let home = Home::new();
    let script =
        "stty raw -echo; printf 'abc\\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c; stty sane";
    let pty = Pty::spawn_program(&home, Path::new("/bin/sh"), &["-c", script], SIZE);
    pty.wait_for("033   [   1   ;   4   R");
}

#[test]
fn what_scrolled_off_is_kept_in_order() {
    let home = Home::new();
    let pty = Pty::spawn_program(
        &home,
        Path::new("/bin/sh"),
        &["-c", "seq 1 500; echo end"],
        (20, 5),
    );
    pty.wait_for("end");
    let expected: Vec<String> = (1..=500).map(|number| number.to_string()).collect();
    assert_eq!(pty.all_text(), format!("{}\nend", expected.join("\n")));
    assert_eq!(pty.screen_text(), "498\n499\n500\nend\n".trim_end());
    assert!(pty.raw().starts_with(b"1\r\n2\r\n"));
}

#[test]
fn a_resize_reaches_the_program() {
    let home = Home::new();
    let script = "trap 'stty size' WINCH; stty size; while :; do read line; done";
    let pty = Pty::spawn_program(&home, Path::new("/bin/sh"), &["-c", script], SIZE);
    pty.wait_for("24 80");
    pty.resize(40, 10);
    pty.send("\r");
    pty.wait_for("10 40");
}

#[test]
fn the_mode_of_the_terminal_can_be_read() {
    use rustix::termios::LocalModes;
    let home = Home::new();
    let script = "echo cooked; read line; stty -echo -icanon; echo raw; read line";
    let pty = Pty::spawn_program(&home, Path::new("/bin/sh"), &["-c", script], SIZE);
    pty.wait_for("cooked");
    let both = LocalModes::ECHO | LocalModes::ICANON;
    assert!(pty.termios().local_modes.contains(both));
    pty.send("\r");
    pty.wait_for("raw");
    assert!(!pty.termios().local_modes.intersects(both));
}

#[test]
fn a_failed_wait_shows_the_screen() {
    let home = Home::new();
    let pty = Pty::spawn_program(
        &home,
        Path::new("/bin/sh"),
        &["-c", "echo something else"],
        SIZE,
    );
    let waiting = std::panic::AssertUnwindSafe(|| pty.wait_for("never"));
    let panic = std::panic::catch_unwind(waiting).expect_err("it must not find it");
    let message = panic.downcast_ref::<String>().expect("a formatted message");
    assert!(
        message.contains("something else") && message.contains("ended"),
        "{message}"
    );
}

#[test]
fn nothing_survives_a_drop() {
    let home = Home::new();
    let script =
        "setsid sh -c 'trap \"\" HUP TERM; echo inner up; sleep 1000; true' & echo outer up; wait";
    let pty = Pty::spawn_program(&home, Path::new("/bin/sh"), &["-c", script], SIZE);
    pty.wait_for("inner up");
    pty.wait_for("outer up");
    let mark = format!("{MARK}={}", pty.mark);
    assert!(pty.processes().len() >= 2, "{:?}", pty.processes());
    drop(pty);
    assert_eq!(marked_processes(mark.as_bytes()), [] as [u32; 0]);
}
