//! 50 MB printed: in lines of 80 bytes, and in one write.
//!
//! From a word the cell prints first to the last byte, so that starting an interpreter is no part of it. The raw pipe
//! is the same Python with the line buffering it has on a terminal and in our runner.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::lines::LinePeer;
use crate::support::home::Home;
use crate::support::peers;
use crate::table::{Row, Target, in_turn};

const BYTES: usize = 80 * 655_360;

const RUNS: usize = 3;

const LINES: &str = "print('begin', flush=True)\nfor _ in range(655360): print('x' * 79)";

const ONE_WRITE: &str =
    "print('begin', flush=True)\nimport sys\n_ = sys.stdout.write(('x' * 79 + '\\n') * 655360)";

const LINE_BUFFERED: &str = "import sys; sys.stdout.reconfigure(line_buffering=True)\n";

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let mut rows = Vec::new();
    for (what, mode, code) in [
        ("50 MB in lines", "lines", LINES),
        ("50 MB in one write", "write", ONE_WRITE),
    ] {
        rows.extend(against_pipe(&home, what, code));
        rows.push(against_kernel(&home, what, mode, code));
    }
    rows
}

/// Against the same Python on a raw pipe; our peak memory beside it.
fn against_pipe(home: &Home, what: &str, code: &str) -> [Row; 2] {
    let python = peers::plain_python();
    let interpreter = python.to_str().expect("paths of peers are UTF-8");
    let mut peak = Vec::new();
    let mut ours = || {
        let mut command = home.command(&["--no-ipython", "--python", interpreter, "-c", code]);
        let (rate, memory) = drain(&mut command)?;
        peak.push(memory);
        Ok(rate)
    };
    let piped = format!("{LINE_BUFFERED}{code}");
    let mut peer = || Ok(drain(&mut home.foreign(&python, &["-c", piped.as_str()]))?.0);
    let [ours, peer] = in_turn(RUNS, [&mut ours, &mut peer]);
    let memory = ours.clone().map(|_| peak);
    [
        Row {
            what: what.into(),
            unit: "MB/s",
            ours,
            peer: Some(("python3 on a raw pipe", peer)),
            target: Target::TimesPeerAtLeast(0.9),
        },
        Row {
            what: format!("{what}: peak memory of our process"),
            unit: "MiB",
            ours: memory,
            peer: None,
            target: Target::AtMost(64.0),
        },
    ]
}

fn against_kernel(home: &Home, what: &str, mode: &str, code: &str) -> Row {
    let environment = peers::ipython_environment();
    let started = environment
        .clone()
        .and_then(|python| LinePeer::start(home, &python, "output.py", &[mode]));
    let mut ours = || {
        let python = environment.as_ref().map_err(Clone::clone)?;
        let interpreter = python.to_str().expect("paths of peers are UTF-8");
        Ok(drain(&mut home.command(&["--python", interpreter, "-c", code]))?.0)
    };
    let (ours, peer) = match started {
        Ok(mut kernel) => {
            let [ours, peer] = in_turn(RUNS, [&mut ours, &mut || kernel.measure()]);
            (ours, peer)
        }
        Err(why) => {
            let [ours] = in_turn(RUNS, [&mut ours]);
            (ours, Err(why))
        }
    };
    Row {
        what: format!("{what}, with IPython"),
        unit: "MB/s",
        ours,
        peer: Some(("ipykernel", peer)),
        target: Target::TimesPeerAtLeast(2.0),
    }
}

/// Reads all a program prints: MB/s from first byte to last, and its peak resident memory in MiB.
fn drain(command: &mut Command) -> Result<(f64, f64), String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let status = format!("/proc/{}/status", child.id());
    let mut pipe = child.stdout.take().expect("piped above");
    let mut buffer = vec![0; 1 << 16];
    let (mut total, mut asked, mut peak) = (0, 0, 0.0_f64);
    let mut begin = None;
    let mut end = Instant::now();
    loop {
        let count = pipe.read(&mut buffer).map_err(|error| error.to_string())?;
        if count == 0 {
            break;
        }
        end = Instant::now();
        begin.get_or_insert(end);
        total += count;
        // The high-water mark goes with the process, so it is asked for on the way.
        if total >= asked || total + 65_536 >= BYTES {
            asked = total + 4_000_000;
            peak = peak.max(high_water_mark(&status));
        }
    }
    let mut errors = String::new();
    let _ = child
        .stderr
        .take()
        .expect("piped above")
        .read_to_string(&mut errors);
    child.wait().map_err(|error| error.to_string())?;
    let Some(begin) = begin.filter(|_| total >= BYTES) else {
        return Err(format!(
            "{total} bytes of {BYTES} arrived; {}",
            errors.trim()
        ));
    };
    let seconds = (end - begin).as_secs_f64();
    Ok((BYTES as f64 / 1e6 / seconds, peak))
}

fn high_water_mark(status: &str) -> f64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| {
        line.trim()
            .trim_end_matches("kB")
            .trim()
            .parse::<f64>()
            .ok()
    });
    kibibytes.unwrap_or(0.0) / 1024.0
}
