//! Shell mode beside the shell itself, and `ipycodex.ask` beside a prompt: the real program on a pseudo-terminal, from
//! Enter to the next prompt.

use std::time::Instant;

use crate::round_trip::Lazy;
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::table::{Row, Target, in_turn};

const RUNS: usize = 21;

/// What a terminal varies by.
const AS_QUICK: f64 = 1.1;

pub fn rows() -> Vec<Row> {
    let shells = [("/bin/bash", "bash"), ("/bin/zsh", "zsh")];
    let mut rows: Vec<Row> = shells.map(of_shell).into();
    let mut asking = Lazy::new(|| Ok(Typed::ours("", "import ipycodex")));
    let mut prompting = Lazy::new(|| Ok(Typed::ours("", "pass")));
    let [ours, peer] = in_turn(
        RUNS,
        [
            // The turn takes a number, too.
            &mut || asking.get()?.enter("x = ipycodex.ask('hi')", 2),
            &mut || prompting.get()?.enter(".hi", 1),
        ],
    );
    rows.push(Row {
        what: "ask() in a cell, Enter to prompt".into(),
        unit: "ms",
        ours,
        peer: Some(("a prompt", peer)),
        target: Target::None,
    });
    rows.push(of_file_history());
    rows
}

/// A cell that changes no file, with the history of files and without.
fn of_file_history() -> Row {
    let set = |setting: &'static str| {
        Lazy::new(move || {
            let home = Home::new();
            home.write_config("config.json", format!(r#"{{"rewind_files": "{setting}"}}"#));
            Ok(Typed::ours_in(home, "", "pass"))
        })
    };
    let (mut ask, mut off) = (set("ask"), set("off"));
    let [ours, peer] = in_turn(
        5 * RUNS,
        [&mut || ask.get()?.enter("1 + 1", 1), &mut || {
            off.get()?.enter("1 + 1", 1)
        }],
    );
    Row {
        what: "1 + 1 with the history of files, Enter to prompt".into(),
        unit: "ms",
        ours,
        peer: Some(("rewind_files off", peer)),
        target: Target::TimesPeerAtMost(AS_QUICK),
    }
}

fn of_shell((path, name): (&'static str, &'static str)) -> Row {
    let mut ours = Lazy::new(|| Ok(Typed::ours(path, "true")));
    let mut peer = Lazy::new(|| Ok(Typed::itself(path)));
    let [ours, peer] = in_turn(
        RUNS,
        [&mut || ours.get()?.enter("echo hi", 1), &mut || {
            peer.get()?.enter("echo hi", 1)
        }],
    );
    Row {
        what: format!("a command of {name}, Enter to prompt"),
        unit: "ms",
        ours,
        peer: Some((name, peer)),
        target: Target::None,
    }
}

/// A program at its prompt.
struct Typed {
    pty: Pty,
    number: usize,
    /// What stands before a number in the prompt, and after it.
    prompt: (&'static str, &'static str),
    _home: Home,
}

impl Typed {
    /// Ours, in the mode of this shell where one is given; `first` has been run.
    fn ours(shell: &str, first: &str) -> Typed {
        Typed::ours_in(Home::new(), shell, first)
    }

    fn ours_in(mut home: Home, shell: &str, first: &str) -> Typed {
        home.set("SHELL", shell);
        let pty = Pty::spawn(&home, &["--no-ipython", "--agent", "demo"], (80, 500));
        pty.wait_for("In [1]:");
        let prompt = match shell {
            "" => ("In [", "]:"),
            _ => {
                pty.send("\x1bs");
                ("$ [", "]:")
            }
        };
        let mut typed = Typed {
            pty,
            number: 1,
            prompt,
            _home: home,
        };
        typed.pty.wait_for(&typed.shown(1));
        // The first one starts what runs it.
        typed.enter(first, 1).expect("a prompt");
        typed
    }

    /// The shell itself, which counts its prompts.
    fn itself(path: &str) -> Typed {
        let home = Home::new();
        let arguments: &[&str] = match path.ends_with("zsh") {
            true => &["-f", "-i"],
            false => &["--norc", "-i"],
        };
        let pty = Pty::spawn_program(&home, std::path::Path::new(path), arguments, (80, 500));
        pty.send_line("PS1='now [$((++n))]: '; setopt promptsubst 2>/dev/null");
        let typed = Typed {
            pty,
            number: 1,
            prompt: ("now [", "]:"),
            _home: home,
        };
        typed.pty.wait_for("now [1]:");
        typed
    }

    fn shown(&self, more: usize) -> String {
        format!(
            "{}{}{}",
            self.prompt.0,
            self.number + more - 1,
            self.prompt.1
        )
    }

    /// In ms: from Enter to the prompt that comes after, whose number is so much higher.
    fn enter(&mut self, line: &str, more: usize) -> Result<f64, String> {
        self.pty.send(line);
        self.pty.wait_for(&format!("{} {line}", self.shown(1)));
        let enter = Instant::now();
        self.pty.send("\r");
        self.number += more;
        self.pty.wait_for(&self.shown(1));
        Ok(enter.elapsed().as_secs_f64() * 1e3)
    }
}
