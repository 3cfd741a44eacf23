//! tmux as a second emulator, which judges the first.
//!
//! In: what a program has written to a [`Pty`](super::pty::Pty), and the sizes it had meanwhile. Out: the screen that
//! tmux has of it. Invariant: the screen is the one after all that was written; a title that is set behind it says so.

use std::fs::{File, OpenOptions};
use std::io::Write;

use super::await_true;
use super::home::Home;
use super::pty::Written;
use super::tmux::Tmux;

/// A pane of tmux that shows what it is given.
pub struct SecondTerminal {
    tmux: Tmux,
    _home: Home,
    input: File,
    /// Bytes and sizes that it has been given.
    given: (usize, usize),
    marks: u32,
}

/// Rows without the blanks at their ends, and the cursor: row, column.
pub type Shown = (Vec<String>, (u16, u16));

impl SecondTerminal {
    /// `None` where there is no tmux.
    pub fn start(size: (u16, u16)) -> Option<SecondTerminal> {
        let home = Home::new();
        let input = home.path().join("second-terminal");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, &input, mode).expect("our own folder");
        let script = format!("stty raw -echo; echo ready; exec cat {}", input.display());
        let tmux = Tmux::running(&home, "", &["/bin/sh", "-c", &script], size)?;
        tmux.pty.wait_for("ready");
        // Open for reading, too: that does not wait for the other side.
        let both = OpenOptions::new().read(true).write(true).open(&input);
        let mut second = SecondTerminal {
            tmux,
            _home: home,
            input: both.expect("just made"),
            given: (0, 0),
            marks: 0,
        };
        second.restart();
        Some(second)
    }

    /// Begins with another program, on an empty screen.
    pub fn restart(&mut self) {
        self.input.write_all(b"\x1bc").expect("it is open");
        self.given = (0, 0);
    }

    /// The screen after all of this; what it was given before is not given again.
    pub fn follow(&mut self, written: &Written) -> Shown {
        for (at, size) in &written.sizes[self.given.1..] {
            self.give(&written.bytes[self.given.0..*at]);
            self.given.0 = *at;
            self.resize(*size);
        }
        self.give(&written.bytes[self.given.0..]);
        self.given = (written.bytes.len(), written.sizes.len());
        self.shown()
    }

    /// Writes, and waits until it has been obeyed.
    fn give(&mut self, bytes: &[u8]) {
        self.marks += 1;
        let mark = format!("mark-{}", self.marks);
        self.input.write_all(bytes).expect("it is open");
        let title = format!("\x1b]2;{mark}\x1b\\");
        self.input.write_all(title.as_bytes()).expect("it is open");
        await_true("tmux has obeyed", || {
            self.tmux.format("#{pane_title}") == mark
        });
    }

    fn resize(&self, (columns, rows): (u16, u16)) {
        self.tmux.pty.resize(columns, rows);
        let size = format!("{columns} {rows}");
        await_true("tmux has the size", || {
            self.tmux.format("#{pane_width} #{pane_height}") == size
        });
    }

    fn shown(&self) -> Shown {
        let cursor = self.tmux.format("#{cursor_y} #{cursor_x}");
        let (row, column) = cursor.split_once(' ').expect("two numbers");
        let number = |text: &str| text.parse().expect("a number");
        let rows = self.tmux.screen();
        let rows = rows.lines().map(|row| row.trim_end().to_owned()).collect();
        (rows, (number(row), number(column)))
    }
}
