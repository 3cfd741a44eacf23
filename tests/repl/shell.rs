//! A running shell and what tests do with it: type, wait for the next prompt, read the record.
//!
//! In: cells as text. Out: the screen. Invariant: nothing waits for a time; a number that does not come shows the
//! screen in the failure. Absent on purpose: expectations; tests hold them.

use std::ffi::OsStr;
use std::path::Path;

use rusqlite::Connection;

use crate::support::await_true;
use crate::support::home::Home;
use crate::support::pty::{Pty, SIZE, cursor_line};

/// Control keys.
pub const CTRL_C: &str = "\x03";

/// A program that writes `begun` itself: dash misses a Ctrl-C that comes while it starts one.
pub const ENDLESS: &str =
    r#"!python3 -c "print('be' + 'gun', flush=True); any(iter(lambda: 0, 1))"; exit 7"#;
pub const CTRL_D: &str = "\x04";
pub const CTRL_R: &str = "\x12";
pub const CTRL_Z: &str = "\x1a";
pub const UP: &str = "\x1b[A";

/// The shell under test with the offline agent.
pub struct Shell {
    pub home: Home,
    pub pty: Pty,
}

impl Shell {
    /// In a new home, at its first prompt.
    pub fn new() -> Shell {
        Shell::of(Home::new())
    }

    /// In this home, at its first prompt.
    pub fn of(home: Home) -> Shell {
        let shell = Shell::start(home, &["--agent", "demo"], SIZE);
        shell.at(1);
        shell
    }

    /// With other arguments; not waited for.
    pub fn start<S: AsRef<OsStr>>(home: Home, arguments: &[S], size: (u16, u16)) -> Shell {
        let pty = Pty::spawn(&home, arguments, size);
        Shell { home, pty }
    }

    /// On a terminal that tells its background; not waited for.
    pub fn start_on(home: Home, arguments: &[&str], background: &str) -> Shell {
        let pty = Pty::spawn_on(&home, arguments, (80, 50), background);
        Shell { home, pty }
    }

    /// Waits for an empty prompt with this number.
    #[track_caller]
    pub fn at(&self, number: u32) {
        self.at_with(number, "");
    }

    /// Waits for the prompt with this number and this one line typed at it.
    #[track_caller]
    pub fn at_with(&self, number: u32, typed: &str) {
        self.pty.at_line(&format!("In [{number}]: {typed}"));
    }

    /// Types one line of code, Enter, and waits for the prompt after it.
    #[track_caller]
    pub fn cell(&self, number: u32, code: &str) {
        self.at(number);
        self.pty.send_line(code);
        self.at(number + 1);
    }

    /// Text of the screen and above it.
    pub fn text(&self) -> String {
        self.pty.all_lines()
    }

    /// Waits until the screen, or what is above it, shows this.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        self.pty.wait_for_anywhere(text);
    }

    /// Fails when the screen, or what is above it, shows this.
    #[track_caller]
    pub fn lacks(&self, text: &str) {
        let all = self.text();
        assert!(!all.contains(text), "{text:?} is shown:\n{all}");
    }

    /// Leaves with Ctrl-D and waits for the end; returns the exit code.
    pub fn leave(&self) -> u32 {
        self.pty.wait_until("an empty prompt", |screen| {
            cursor_line(screen).trim_end().ends_with("]:")
        });
        self.pty.send(CTRL_D);
        self.pty.exit_status().exit_code()
    }

    /// The record.
    pub fn record(&self) -> Connection {
        record(&self.home.history())
    }

    /// The prompts and answers recorded, oldest first, once `count` turns are over.
    pub fn answers(&self, count: i64) -> Vec<(String, String)> {
        let record = self.record();
        await_true(&format!("{count} turns in the record"), || {
            let ended = "select count(*) from ipycodex_turns where state <> 'running'";
            record
                .query_row(ended, [], |row| row.get::<_, i64>(0))
                .is_ok_and(|ended| ended >= count)
        });
        let mut rows = record
            .prepare("select prompt, response from ai_prompts order by id")
            .unwrap();
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// Sources of the inputs recorded, once there are `count` of them.
    pub fn inputs(&self, count: usize) -> Vec<String> {
        if !self.home.history().exists() {
            assert_eq!(count, 0, "there is no record yet");
            return Vec::new();
        }
        await_true(&format!("{count} inputs in the record"), || {
            inputs(&self.record()).len() >= count
        });
        inputs(&self.record())
    }
}

/// A home with this `config.json`.
pub fn with_settings(settings: &str) -> Home {
    let home = Home::new();
    home.write_config("config.json", settings);
    home
}

/// Sources of the inputs in a record; none while it is still being made.
pub fn inputs(record: &Connection) -> Vec<String> {
    let select = "select source_raw from history order by session, line";
    let Ok(mut rows) = record.prepare(select) else {
        return Vec::new();
    };
    let rows = rows.query_map([], |row| row.get(0));
    rows.unwrap().map(Result::unwrap).collect()
}

/// Opens a record to read it.
pub fn record(path: &Path) -> Connection {
    Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}
