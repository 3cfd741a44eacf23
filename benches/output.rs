//! 50 MB printed: in lines of 80 bytes, and in one write.
//!
//! From a word the cell prints first to the last byte, so that starting an interpreter is no part of it. The raw pipe
//! is the same Python with the line buffering it has on a terminal and in our runner.
//!
//! The floor of the one write is a program that does the least that we must, in three threads as we do: one reads the
//! interpreter's pipe, one looks for escapes, checks the UTF-8, counts lines and keeps 4 MiB of each end, one writes.
//! On two cores they, Python and this bench wait for each other: the floor is 0.86 to 0.97 x the raw pipe (AMD EPYC,
//! five runs), ours 0.91 to 0.93 x the floor. The rest is in the thread that keeps: 3.8 instructions a byte by
//! callgrind, of which 1.4 are the copy, 1.0 the search for other control characters, 0.4 the check of the UTF-8.

use std::collections::VecDeque;
use std::io::{PipeWriter, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Instant;

use crate::lines::LinePeer;
use crate::support::home::Home;
use crate::support::peers;
use crate::table::{Row, Target, in_turn};

const BYTES: usize = 80 * 655_360;

/// As much as a pipe holds.
const CHUNK: usize = 1 << 16;

const LINES: &str = "print('begin', flush=True)\nfor _ in range(655360): print('x' * 79)";

const ONE_WRITE: &str =
    "print('begin', flush=True)\nimport sys\n_ = sys.stdout.write(('x' * 79 + '\\n') * 655360)";

const RAW_PIPE: &str = "python3 on a raw pipe";

const LINE_BUFFERED: &str = "import sys; sys.stdout.reconfigure(line_buffering=True)\n";

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let mut rows = Vec::new();
    for (what, floor, mode, code, runs) in [
        ("50 MB in lines", "", "lines", LINES, 3),
        (
            "50 MB in one write",
            " (floor 0.9 x)",
            "write",
            ONE_WRITE,
            9,
        ),
    ] {
        rows.extend(against_pipe(&home, what, floor, code, runs));
        rows.push(against_kernel(&home, what, mode, code));
    }
    rows.push(floor(&home));
    rows
}

/// Against the same Python on a raw pipe; our peak memory beside it.
fn against_pipe(home: &Home, what: &str, floor: &str, code: &str, runs: usize) -> [Row; 2] {
    let python = peers::plain_python();
    let interpreter = python.to_str().expect("paths of peers are UTF-8");
    let mut peak = Vec::new();
    let mut ours = || {
        let mut command = home.command(&["--no-ipython", "--python", interpreter, "-c", code]);
        let (rate, memory) = drain(&mut command)?;
        peak.push(memory);
        Ok(rate)
    };
    let mut peer = || Ok(drain(&mut on_raw_pipe(home, code))?.0);
    let [ours, peer] = in_turn(runs, [&mut ours, &mut peer]);
    let memory = ours.clone().map(|_| peak);
    [
        Row {
            what: format!("{what}{floor}"),
            unit: "MB/s",
            ours,
            peer: Some((RAW_PIPE, peer)),
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

/// The least that we must do with one write, against a raw pipe.
fn floor(home: &Home) -> Row {
    let mut passed_on = || drain_passed_on(&mut on_raw_pipe(home, ONE_WRITE));
    let mut peer = || Ok(drain(&mut on_raw_pipe(home, ONE_WRITE))?.0);
    let [ours, peer] = in_turn(9, [&mut passed_on, &mut peer]);
    Row {
        what: "50 MB in one write, its floor: three threads".into(),
        unit: "MB/s",
        ours,
        peer: Some((RAW_PIPE, peer)),
        target: Target::None,
    }
}

fn on_raw_pipe(home: &Home, code: &str) -> Command {
    let code = format!("{LINE_BUFFERED}{code}");
    home.foreign(&peers::plain_python(), &["-c", code.as_str()])
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
            let [ours, peer] = in_turn(3, [&mut ours, &mut || kernel.measure()]);
            (ours, peer)
        }
        Err(why) => {
            let [ours] = in_turn(3, [&mut ours]);
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
    let (mut child, pipe) = start(command)?;
    let measured = drain_from(pipe, &format!("/proc/{}/status", child.id()));
    finish(&mut child, measured)
}

/// Reads all a program prints, behind three threads that pass it on: MB/s from first byte to last.
fn drain_passed_on(command: &mut Command) -> Result<f64, String> {
    let (mut child, source) = start(command)?;
    let (pipe, sink) = std::io::pipe().map_err(|error| error.to_string())?;
    pass_on(source, sink);
    let measured = drain_from(pipe, "");
    Ok(finish(&mut child, measured)?.0)
}

fn start(command: &mut Command) -> Result<(Child, ChildStdout), String> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let pipe = child.stdout.take().expect("piped above");
    Ok((child, pipe))
}

fn finish<T>(child: &mut Child, measured: Result<T, String>) -> Result<T, String> {
    let mut errors = String::new();
    let _ = child
        .stderr
        .take()
        .expect("piped above")
        .read_to_string(&mut errors);
    child.wait().map_err(|error| error.to_string())?;
    measured.map_err(|why| format!("{why}; {}", errors.trim()))
}

/// Reads to the end, on this thread; `status` is the file that tells of the writer's memory.
fn drain_from(mut pipe: impl Read, status: &str) -> Result<(f64, f64), String> {
    let mut buffer = vec![0; CHUNK];
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
        if total >= asked || total + CHUNK >= BYTES {
            asked = total + 4_000_000;
            peak = peak.max(high_water_mark(status));
        }
    }
    let Some(begin) = begin.filter(|_| total >= BYTES) else {
        return Err(format!("{total} bytes of {BYTES} arrived"));
    };
    let seconds = (end - begin).as_secs_f64();
    Ok((BYTES as f64 / 1e6 / seconds, peak))
}

fn pass_on(source: ChildStdout, mut sink: PipeWriter) {
    let (read, to_keep) = sync_channel::<Vec<u8>>(16);
    let (kept, to_write) = sync_channel::<Vec<u8>>(16);
    thread::spawn(move || {
        loop {
            let mut chunk = Vec::with_capacity(CHUNK);
            let got = rustix::io::read(&source, rustix::buffer::spare_capacity(&mut chunk));
            if !matches!(got, Ok(1..)) || read.send(chunk).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        let half = (4 << 20) / CHUNK;
        let (mut head, mut tail, mut lines) = (Vec::new(), VecDeque::new(), 0);
        for chunk in to_keep {
            if memchr::memchr(0x1b, &chunk).is_some() || std::str::from_utf8(&chunk).is_err() {
                return;
            }
            lines += memchr::memchr_iter(b'\n', &chunk).count();
            if head.len() < half {
                head.push(chunk.clone());
            } else {
                if tail.len() == half {
                    tail.pop_front();
                }
                tail.push_back(chunk.clone());
            }
            if kept.send(chunk).is_err() {
                return;
            }
        }
        std::hint::black_box((head, tail, lines));
    });
    thread::spawn(move || {
        for chunk in to_write {
            if sink.write_all(&chunk).is_err() {
                return;
            }
        }
    });
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
