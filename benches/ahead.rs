//! What is typed ahead: lines that come at once, and text that is typed while a cell runs, on a pseudo-terminal, beside
//! `ipython`.
//!
//! Lines: from the first key to the result of the last. Text: from the end of the cell, told by what it prints last, to
//! the text behind the next prompt.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{Pty, cursor_line};
use crate::table::{Figures, Row, Target, guarded, in_turn};

const RUNS: usize = 7;

/// Lines that come at once.
const LINES: usize = 20;

/// One program, of which this many lines have run.
struct Typist {
    pty: Pty,
    number: usize,
}

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let ours = Path::new(env!("CARGO_BIN_EXE_ipycodex"));
    let mut ours = guarded(|| Typist::new(&home, ours, &["--no-ipython", "--agent", "demo"]));
    let mut peer = peers::ipython_environment().clone().and_then(|python| {
        let program = python.with_file_name("ipython");
        guarded(|| Typist::new(&home, &program, &["--no-banner"]))
    });
    let mut row = |what: String, measure: fn(&mut Typist) -> f64| {
        let once = |typist: &mut Result<Typist, String>| match typist {
            Ok(typist) => guarded(|| measure(typist)),
            Err(why) => Err(why.clone()),
        };
        let [ours, peer]: [Figures; 2] =
            in_turn(RUNS, [&mut || once(&mut ours), &mut || once(&mut peer)]);
        Row {
            what,
            unit: "ms",
            ours,
            peer: Some(("ipython", peer)),
            target: Target::TimesPeerAtMost(1.0),
        }
    };
    vec![
        row(
            format!("{LINES} lines typed at once, to the last result"),
            Typist::lines,
        ),
        row("text typed during a cell, after it".into(), Typist::text),
    ]
}

impl Typist {
    fn new(home: &Home, program: &Path, arguments: &[&str]) -> Typist {
        let mut pty = Pty::spawn_program(home, program, arguments, (100, 60));
        pty.patience = Duration::from_secs(30);
        pty.at_line("In [1]:");
        let mut typist = Typist { pty, number: 1 };
        // The first cell waits for the interpreter.
        typist.run("import time");
        typist
    }

    fn run(&mut self, code: &str) {
        self.pty.send_line(code);
        self.number += 1;
        self.pty.at_line(&format!("In [{}]:", self.number));
    }

    fn lines(&mut self) -> f64 {
        let lines: Vec<String> = (0..LINES).map(|line| format!("{line}+{line}\r")).collect();
        self.number += LINES;
        let begin = Instant::now();
        self.pty.send(&lines.concat());
        self.pty.at_line(&format!("In [{}]:", self.number));
        begin.elapsed().as_secs_f64() * 1e3
    }

    fn text(&mut self) -> f64 {
        let word = format!("ended{}", self.number);
        self.pty.send_line(&format!(
            "time.sleep(0.3); print('ended' + '{}')",
            self.number
        ));
        self.number += 1;
        // Both are in the cell by then.
        std::thread::sleep(Duration::from_millis(100));
        self.pty.send("typed");
        self.pty.wait_for(&word);
        let begin = Instant::now();
        let line = format!("In [{}]: typed", self.number);
        self.pty.wait_until("the text behind the prompt", |screen| {
            cursor_line(screen).starts_with(&line)
        });
        let elapsed = begin.elapsed().as_secs_f64() * 1e3;
        self.pty.send("\x15");
        self.pty.at_line(&format!("In [{}]:", self.number));
        elapsed
    }
}
