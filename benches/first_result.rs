//! From spawn to the result of a first piped `1+1` and the end of the process.
//!
//! For scale, what two processes more than Python's take, whatever they are: a shell in a shell starts it. Ours are the
//! program itself and the guard, which ends what a cell leaves behind.
//!
//! Where the time goes, by the kernel's events on an idle machine of two cores, for a Python whose `-c` takes 8.3 ms
//! (14.7 ms in all, 1.75 times; the fixed address has since taken 0.5 ms off the first part): 2.8 ms from our start to
//! Python's, of which 1.7 ms load the program and read its arguments; 11 ms of Python, which spends 12 % more
//! instructions (14 modules of the runner, the cell) and 40 % more on fresh pages than with `-c`; 0.7 ms from its end
//! to ours. The bound of 1.3 times would need a Python that is there before we are.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::support::home::{Home, finish};
use crate::support::peers;
use crate::table::{Figures, Row, Target, in_turn};

const RUNS: usize = 15;

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let mut rows = Vec::from(built_in(&home, &peers::plain_python()));
    match peers::ipython_environment() {
        Ok(python) => rows.extend(with_ipython(&home, python)),
        Err(why) => rows.push(row(
            "piped 1+1 and exit, with IPython",
            Err("not measured without its peer".into()),
            ("ipython -c 1+1", Err(why.clone())),
            0.6,
        )),
    }
    rows
}

fn built_in(home: &Home, python: &Path) -> [Row; 2] {
    let interpreter = python.to_str().expect("paths of peers are UTF-8");
    let mut ours = || {
        result(
            home.command(&["--no-ipython", "--python", interpreter]),
            b"1+1\n",
        )
    };
    let mut peer = || result(home.foreign(python, &["-c", "print(1+1)"]), b"");
    let nested = "sh -c '\"$0\" -c \"print(1+1)\"; exit $?' \"$0\"; exit $?";
    let mut shells = || {
        result(
            home.foreign(Path::new("/bin/sh"), &["-c", nested, interpreter]),
            b"",
        )
    };
    let _ = in_turn(1, [&mut ours, &mut peer, &mut shells]);
    let [ours, peer, shells] = in_turn(RUNS, [&mut ours, &mut peer, &mut shells]);
    let what = "piped 1+1 and exit, built-in (floor 1.7 x)";
    let python = "python3 -c 'print(1+1)'";
    [
        row(what, ours.clone(), (python, peer), 1.3),
        Row {
            target: Target::None,
            ..row(what, ours, ("the same in two shells", shells), 0.0)
        },
    ]
}

/// Against `ipython -c`, and against `ipython` that is piped the same line.
fn with_ipython(home: &Home, python: &Path) -> [Row; 2] {
    let interpreter = python.to_str().expect("paths of peers are UTF-8");
    let ipython = python.with_file_name("ipython");
    let mut ours = || result(home.command(&["--python", interpreter]), b"1+1\n");
    let mut command = || result(home.foreign(&ipython, &["--no-banner", "-c", "1+1"]), b"");
    let mut piped = || result(home.foreign(&ipython, &["--no-banner"]), b"1+1\n");
    let _ = in_turn(1, [&mut ours, &mut command, &mut piped]);
    let [ours, command, piped] = in_turn(RUNS, [&mut ours, &mut command, &mut piped]);
    [
        row(
            "piped 1+1 and exit, with IPython",
            ours.clone(),
            ("ipython -c 1+1", command),
            0.6,
        ),
        row(
            "piped 1+1 and exit, with IPython",
            ours,
            ("echo 1+1 | ipython", piped),
            0.6,
        ),
    ]
}

fn row(what: &str, ours: Figures, peer: (&'static str, Figures), most: f64) -> Row {
    Row {
        what: what.into(),
        unit: "ms",
        ours,
        peer: Some(peer),
        target: Target::TimesPeerAtMost(most),
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
