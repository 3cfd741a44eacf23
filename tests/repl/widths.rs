//! Every width a terminal can have: a cell, an answer and an error are shown, and nothing breaks.

use super::shell::Shell;
use crate::support::home::Home;

/// The first of them are tried when there is time for a few only.
const TELLING: [u16; 8] = [1, 2, 3, 5, 10, 20, 80, 300];

/// Words of an answer that stand in one piece where there is room for them.
const WORDS: [&str; 4] = ["built-in", "offline", "cell", "sum(range(10))"];

pub fn widths(count: u32) -> String {
    let others = (1..).filter(|width| !TELLING.contains(width));
    let widths = TELLING.into_iter().chain(others);
    let widths: Vec<u16> = widths.take(usize::try_from(count).unwrap()).collect();
    for width in &widths {
        used(*width);
    }
    let (least, most) = (widths.iter().min().unwrap(), widths.iter().max().unwrap());
    format!("usable from {least} to {most} columns")
}

fn used(width: u16) {
    let rows = if width < 20 { 24 } else { 40 };
    let shell = Shell::start(Home::new(), &["--agent", "demo"], (width, rows));
    let mut from = 0;
    for (number, text, shown) in [
        (1, "print('x' * 3 + 'yz', 6 * 7)", "xxxyz 42"),
        (2, ".tell me", ""),
        (3, "1/0", "ZeroDivisionError"),
        (4, "exit", ""),
    ] {
        // What is one line to the program is many rows here, so the bytes are looked at.
        from = shell.pty.wait_raw(format!("[{number}]").as_bytes(), from);
        shell.pty.send_line(text);
        from = shell.pty.wait_raw(shown.as_bytes(), from);
    }
    let status = shell.pty.exit_status();
    assert_eq!(status.exit_code(), 0, "{width} columns");
    let raw = shell.pty.raw();
    let panicked = memchr::memmem::find(&raw, b"panicked");
    assert!(panicked.is_none(), "{width} columns: {}", shell.text());
    if width >= 20 {
        let rows = shell.pty.all_text();
        for word in WORDS {
            assert!(rows.contains(word), "{width} columns, {word}:\n{rows}");
        }
    }
}
