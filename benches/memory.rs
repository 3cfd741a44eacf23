//! Memory of the shell on a terminal: at its prompt, after 2,000 cells, with 1 GB that a cell prints, with checkpoints.
//!
//! In MiB, as the kernel shares it out (`Pss`): what several processes share counts once. "our process" is the shell
//! itself; "all of them" has the interpreter, its guard and its copies with it. The peer is `ipython` at its prompt,
//! which is one process.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::support::await_true;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::Pty;
use crate::table::{Figures, Row, Target, guarded};

const RUNS: usize = 3;

/// MiB of our process at its prompt.
const IDLE: f64 = 12.0;

const SIZE: (u16, u16) = (100, 40);

/// By then free memory has been given back.
const GIVEN_BACK: Duration = Duration::from_secs(3);

/// By then no copy is being made.
const SETTLED: Duration = Duration::from_millis(500);

/// Cells of a long session.
const CELLS: usize = 2_000;

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let python = peers::plain_python();
    let python = python.to_str().expect("paths of peers are UTF-8");
    let shell = || {
        let arguments = ["--agent", "demo", "--no-ipython", "--python", python];
        let mut shell = Shell(Pty::spawn(&home, &arguments, SIZE), 1);
        shell.cell("1 + 1");
        shell
    };
    let rested = || {
        let shell = shell();
        sleep(GIVEN_BACK);
        shell
    };
    let idle = each(|| vec![rested().own()]);
    let all = each(|| vec![rested().all()]);
    let ipython = peers::ipython_environment().clone();
    let peer =
        ipython.and_then(|python| each(|| vec![ipython_at_its_prompt(&home, &python)]).map(first));
    let long = guarded(|| {
        let mut shell = shell();
        for n in 0..CELLS {
            shell.cell(&format!("value_{n} = {n}"));
        }
        vec![shell.own(), shell.all()]
    });
    let printed = guarded(|| {
        let mut shell = shell();
        let before = shell.own();
        shell.cell("for _ in range(10_000_000): print('x' * 99)");
        let after = shell.own();
        sleep(GIVEN_BACK);
        vec![after, shell.own(), before]
    });
    let steps = guarded(|| {
        let mut shell = shell();
        shell.cell("data = bytearray(1 << 30)");
        let before = shell.all();
        for n in 0..8 {
            // A process between two forks is gone by then.
            sleep(SETTLED);
            // A sixteenth of it, and a pause in which a copy is made.
            let processes = shell.0.processes().len();
            shell.cell(&format!(
                "data[{n} << 26:({n} + 1) << 26] = b'{n}' * (1 << 26)"
            ));
            await_true("a copy", || shell.0.processes().len() > processes);
        }
        vec![before, shell.all()]
    });
    let row = |what: &str, ours: Figures, peer, target| Row {
        what: what.into(),
        unit: "MiB",
        ours,
        peer,
        target,
    };
    let at = |figures: &Result<Vec<f64>, String>, place: usize| {
        figures
            .as_ref()
            .map(|all| vec![all[place]])
            .map_err(String::clone)
    };
    vec![
        row(
            "at the prompt: our process",
            idle.map(first),
            None,
            Target::AtMost(IDLE),
        ),
        row(
            "at the prompt: all of them",
            all.map(first),
            Some(("ipython", peer)),
            Target::None,
        ),
        row(
            "after 2,000 cells: our process",
            at(&long, 0),
            None,
            Target::AtMost(2.0 * IDLE),
        ),
        row(
            "after 2,000 cells: all of them",
            at(&long, 1),
            None,
            Target::None,
        ),
        row(
            "after a cell printed 1 GB: our process",
            at(&printed, 0),
            None,
            Target::AtMost(4.0 * IDLE),
        ),
        row(
            "the same, 3 s later",
            at(&printed, 1),
            Some(("before the cell", at(&printed, 2))),
            Target::TimesPeerAtMost(1.2),
        ),
        row(
            "1 GB of data: all of them",
            at(&steps, 0),
            None,
            Target::None,
        ),
        row(
            "the same, 10 checkpoints, 512 MB rewritten",
            at(&steps, 1),
            None,
            Target::None,
        ),
    ]
}

fn each(measure: impl Fn() -> Vec<f64>) -> Result<Vec<Vec<f64>>, String> {
    (0..RUNS).map(|_| guarded(&measure)).collect()
}

fn first(all: Vec<Vec<f64>>) -> Vec<f64> {
    all.into_iter().map(|figures| figures[0]).collect()
}

fn ipython_at_its_prompt(home: &Home, python: &Path) -> f64 {
    let program = python.with_file_name("ipython");
    let mut shell = Shell(
        Pty::spawn_program(home, &program, &["--no-banner"], SIZE),
        1,
    );
    shell.cell("1 + 1");
    shell.all()
}

/// A shell on a terminal, and the number of its next cell.
struct Shell(Pty, usize);

impl Shell {
    fn cell(&mut self, code: &str) {
        self.0.patience = Duration::from_secs(600);
        self.0.at_line(&format!("In [{}]:", self.1));
        self.0.send_line(code);
        self.1 += 1;
        self.0.at_line(&format!("In [{}]:", self.1));
    }

    fn own(&self) -> f64 {
        proportional(self.0.pid())
    }

    fn all(&self) -> f64 {
        self.0.processes().into_iter().map(proportional).sum()
    }
}

/// Memory of a process in MiB, with its part of what it shares; 0 for one that has gone.
fn proportional(process: u32) -> f64 {
    let sums = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let line = sums.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}
