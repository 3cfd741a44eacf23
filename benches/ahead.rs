//! What is typed ahead: lines that come at once, text that is typed while a cell runs, and text typed at the start of
//! the program, on a pseudo-terminal, beside `ipython`.
//!
//! Lines: from the first key to the result of the last. Text: from the end of the cell, told by what it prints last, or
//! from the start, to the text behind the prompt.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{Pty, cursor_line};
use crate::table::{Figures, Row, Target, guarded, in_turn};

const RUNS: usize = 7;

/// Lines that come at once.
const LINES: usize = 20;

const SIZE: (u16, u16) = (100, 60);

type Program = (PathBuf, &'static [&'static str]);

/// One program, of which this many lines have run.
struct Typist {
    pty: Pty,
    number: usize,
}

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let programs: [Result<Program, String>; 2] = [
        Ok((
            env!("CARGO_BIN_EXE_ipycodex").into(),
            &["--no-ipython", "--agent", "demo"],
        )),
        peers::ipython_environment()
            .clone()
            .map(|python| (python.with_file_name("ipython"), &["--no-banner"][..])),
    ];
    let mut typists = programs.each_ref().map(|program| {
        let program = program.as_ref().map_err(String::clone)?;
        guarded(|| Typist::new(&home, program))
    });
    let start = |program: &Result<Program, String>| {
        let program = program.as_ref().map_err(String::clone)?;
        guarded(|| start(&home, program))
    };
    let [ours, peer] = &programs;
    let started = in_turn(RUNS, [&mut || start(ours), &mut || start(peer)]);
    let mut typed = |measure: fn(&mut Typist) -> f64| -> [Figures; 2] {
        let [ours, peer] = &mut typists;
        let once = |typist: &mut Result<Typist, String>| match typist {
            Ok(typist) => guarded(|| measure(typist)),
            Err(why) => Err(why.clone()),
        };
        in_turn(RUNS, [&mut || once(ours), &mut || once(peer)])
    };
    let row = |what: &str, [ours, peer]: [Figures; 2]| Row {
        what: what.into(),
        unit: "ms",
        ours,
        peer: Some(("ipython", peer)),
        target: Target::TimesPeerAtMost(1.0),
    };
    vec![
        row(
            "20 lines typed at once, to the last result",
            typed(Typist::lines),
        ),
        row("text typed during a cell, after it", typed(Typist::text)),
        row("start to a prompt with the text typed meanwhile", started),
    ]
}

/// From the start to the prompt with what was typed at once, in ms.
fn start(home: &Home, (program, arguments): &Program) -> f64 {
    let begin = Instant::now();
    let mut pty = Pty::spawn_program(home, program, arguments, SIZE);
    pty.patience = Duration::from_secs(30);
    pty.send("typed");
    pty.at_line("In [1]: typed");
    begin.elapsed().as_secs_f64() * 1e3
}

impl Typist {
    fn new(home: &Home, (program, arguments): &Program) -> Typist {
        let mut pty = Pty::spawn_program(home, program, arguments, SIZE);
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
