//! From spawn to the result of a first piped `1+1` and the end of the process.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::support::home::{Home, finish};
use crate::support::peers;
use crate::table::{Row, Target, in_turn};

const RUNS: usize = 15;

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let plain = peers::plain_python();
    let mut rows = vec![built_in(&home, &plain)];
    rows.extend(peers::python().map(|python| with_ipython(&home, &python)));
    rows
}

fn built_in(home: &Home, python: &Path) -> Row {
    let interpreter = python.to_str().expect("paths of peers are UTF-8");
    let measure_ours = || {
        result(
            home.command(&["--no-ipython", "--python", interpreter]),
            b"1+1\n",
        )
    };
    let measure_peer = || result(home.foreign(python, &["-c", "print(1+1)"]), b"");
    let _ = in_turn(1, measure_ours, measure_peer);
    let (ours, peer) = in_turn(RUNS, measure_ours, measure_peer);
    Row {
        what: "piped 1+1 and exit, built-in engine".into(),
        unit: "ms",
        ours,
        peer_name: "python3 -c 'print(1+1)'",
        peer,
        target: Target::TimesPeerAtMost(1.3),
    }
}

fn with_ipython(home: &Home, python: &Path) -> Row {
    let interpreter = python.to_str().expect("paths of peers are UTF-8");
    let ipython = python.with_file_name("ipython");
    let measure_ours = || result(home.command(&["--python", interpreter]), b"1+1\n");
    let measure_peer = || result(home.foreign(&ipython, &["--no-banner", "-c", "1+1"]), b"");
    let _ = in_turn(1, measure_ours, measure_peer);
    let (ours, peer) = in_turn(RUNS, measure_ours, measure_peer);
    Row {
        what: "piped 1+1 and exit, with IPython".into(),
        unit: "ms",
        ours,
        peer_name: "ipython -c 1+1",
        peer,
        target: Target::TimesPeerAtMost(0.6),
    }
}

/// In ms.
fn result(command: Command, stdin: &[u8]) -> Result<f64, String> {
    let begin = Instant::now();
    let ran = finish(command, stdin);
    let elapsed = begin.elapsed().as_secs_f64() * 1e3;
    let answered = ran
        .stdout
        .lines()
        .any(|line| line.trim_end().ends_with('2'));
    if answered && ran.status.success() {
        Ok(elapsed)
    } else {
        Err(format!(
            "no 2 on standard output ({}): {:?} {:?}",
            ran.status, ran.stdout, ran.stderr
        ))
    }
}
