//! Instructions of the hot paths, which a busy machine does not change: counted by callgrind, compared with those that
//! `counts.tsv` keeps.
//!
//! In: the release binary and this program again, each run under `valgrind --tool=callgrind`. Out: a row for each path;
//! `--update` writes the file anew. A path that takes more than [`TOLERANCE`] over its count fails the run.
//!
//! Invariants: only instructions of the process itself count, those of all its threads, none of its children; what a
//! path repeats is the difference of two runs, so that start and set-up fall out. Absent on purpose: time, and the
//! kernel's share.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ipycodex::input::{Mode, classify};
use ipycodex::session::write_file;

use crate::dialog::{begin, fill, wait};
use crate::keys::Typist;
use crate::markdown::play;
use crate::round_trip::Ours;
use crate::saving::beside;
use crate::support::home::{Home, finish, finish_within};
use crate::support::peers;

/// Names the path that a child repeats, its rounds and its folder.
pub const CHILD: &str = "IPYCODEX_BENCH_COUNT";

/// What a count may grow by; less is what compilers and addresses make of it.
const TOLERANCE: f64 = 0.03;

/// How long a path may take under valgrind.
const PATIENCE: Duration = Duration::from_secs(600);

const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/counts.tsv");

/// Texts of all kinds; the last is a long cell.
const TEXTS: [&str; 6] = [
    "sum(range(10))",
    ".why is this slow?",
    "'the cutoff is arbitrary'",
    "%ipycodex undo",
    "!ls -l",
    "def f(x):\n    if x:\n        return [y for y in x if y > 1]\n    raise ValueError('no x')\nf([1, 2, 3])",
];

/// Name, what is counted, and how.
type HotPath = (
    &'static str,
    &'static str,
    fn(&Counter) -> Result<f64, String>,
);

const PATHS: [HotPath; 11] = [
    ("version", "`ipycodex --version`", |counter| {
        counter.program(&["--version"], b"")
    }),
    ("pipe", "our process for a piped `1+1`", |counter| {
        let python = peers::plain_python();
        let python = python.to_str().expect("paths of peers are UTF-8");
        counter.program(&["--no-ipython", "--python", python], b"1+1\n")
    }),
    (
        "cell",
        "`1+1` with IPython, in the interpreter",
        Counter::cell,
    ),
    (
        "ipython",
        "`1+1` of IPython itself (a peer)",
        Counter::ipython,
    ),
    ("key", "a key in a cell of 10 lines", Counter::key),
    ("delta", "a delta of an answer, drawn", |counter| {
        let deltas = play(ANSWER, 1).deltas;
        Ok(counter.difference("delta", 2, 4)? / deltas as f64)
    }),
    ("turn", "the context of 100 cells", |counter| {
        counter.difference("turn", 20, 40)
    }),
    (
        "context",
        "the context of 10,000 cells, 1,000 prompts",
        |counter| counter.difference("context", 1, 5),
    ),
    ("save", "a session of 1,000 cells to its file", |counter| {
        counter.difference("save", 2, 4)
    }),
    ("edit", "one cell of a notebook of 2 MB", Counter::edit),
    ("classify", "six texts", |counter| {
        counter.difference("classify", 200, 400)
    }),
];

const ANSWER: &str = include_str!("../tests/data/markdown/typical.md");

/// Prints the table; the exit code.
pub fn run(update: bool) -> i32 {
    let version = Command::new("valgrind").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        println!("skipped: `valgrind` is not installed");
        return 0;
    }
    let counter = Counter::new();
    let kept = kept();
    let mut lines = String::from("# Instructions, by `cargo bench -- counts --update`.\n");
    let mut grown = Vec::new();
    println!(
        "{:10} {:44} {:>14} {:>14} {:>8}",
        "path", "what (instructions)", "now", "kept", "change"
    );
    for (name, what, count) in PATHS {
        let before = kept.iter().find(|(known, _)| known == name);
        match count(&counter) {
            Ok(now) => {
                let change = before.map(|(_, before)| now / before - 1.0);
                println!(
                    "{name:10} {what:44} {now:>14.0} {:>14} {:>8}",
                    before.map_or("-".into(), |(_, before)| format!("{before:.0}")),
                    change.map_or("-".into(), |change| format!("{:+.1} %", change * 1e2)),
                );
                if change.is_some_and(|change| change > TOLERANCE) {
                    grown.push(name);
                }
                lines += &format!("{name}\t{now:.0}\n");
            }
            Err(why) => {
                println!("{name:10} {what:44} not counted: {why}");
                if let Some((_, before)) = before {
                    lines += &format!("{name}\t{before:.0}\n");
                }
            }
        }
    }
    if update {
        std::fs::write(KEPT, lines).expect("the tree can be written");
        return 0;
    }
    for name in &grown {
        println!("MORE: {name} takes over {} % more", TOLERANCE * 1e2);
    }
    i32::from(!grown.is_empty())
}

/// The counts in the tree.
fn kept() -> Vec<(String, f64)> {
    let text = std::fs::read_to_string(KEPT).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(name, count)| Some((name.to_owned(), count.parse().ok()?)))
        .collect()
}

struct Counter {
    home: Home,
    log: PathBuf,
}

impl Counter {
    fn new() -> Counter {
        // Python's hashes differ from run to run, and so does what its dictionaries take.
        let home = Home::with(&[("PYTHONHASHSEED", "0")]);
        let log = home.path().join("valgrind.log");
        Counter { home, log }
    }

    fn options(&self) -> [String; 3] {
        [
            "--tool=callgrind".into(),
            "--callgrind-out-file=/dev/null".into(),
            format!("--log-file={}", self.log.display()),
        ]
    }

    /// The whole of our program; what it makes at its first start is there already.
    fn program(&self, arguments: &[&str], stdin: &[u8]) -> Result<f64, String> {
        let _ = finish(self.home.command(arguments), stdin);
        let program = Path::new(env!("CARGO_BIN_EXE_ipycodex"));
        self.count(program, arguments, "", stdin)
    }

    /// Runs a program to its end. `told` is for [`repeat`].
    fn count(
        &self,
        program: &Path,
        arguments: &[&str],
        told: &str,
        stdin: &[u8],
    ) -> Result<f64, String> {
        let mut words: Vec<OsString> = self.options().map(Into::into).into();
        words.push(program.into());
        words.extend(arguments.iter().map(Into::into));
        let mut command = self.home.foreign(Path::new("valgrind"), &words);
        command.env(CHILD, told);
        let ran = crate::table::guarded(|| finish_within(command, stdin, PATIENCE))?;
        self.collected()
            .filter(|_| ran.status.success())
            .ok_or(ran.stderr)
    }

    /// One round of a path in this program.
    fn difference(&self, name: &str, few: u32, many: u32) -> Result<f64, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let once = |rounds: u32| self.count(&program, &[], &format!("{name} {rounds}"), b"");
        // The first run makes the files that the others use.
        once(0)?;
        Ok((least(|| once(many))? - least(|| once(few))?) / f64::from(many - few))
    }

    fn cell(&self) -> Result<f64, String> {
        let python = peers::ipython_environment().clone()?;
        let wrapper = "valgrind-python";
        let words = [&self.options()[..], &[python.display().to_string()]].concat();
        let words = shlex::try_join(words.iter().map(String::as_str)).expect("no path has a NUL");
        self.home.install_script(
            wrapper,
            &format!("#!/bin/sh\nexec valgrind {words} \"$@\"\n"),
        );
        let once = |cells: u32| {
            let wrapper = self.home.path().join("bin").join(wrapper);
            let mut ours = Ours::start(&self.home, &wrapper, false)?;
            ours.await_warm()?;
            for _ in 0..cells {
                ours.once()?;
            }
            // It dies of this, and says nothing.
            let _ = ours.run("import os; os._exit(0)");
            self.collected().ok_or("valgrind said nothing".to_owned())
        };
        // The first run compiles what the others load.
        once(0)?;
        Ok((once(220)? - once(20)?) / 200.0)
    }

    fn ipython(&self) -> Result<f64, String> {
        let python = peers::ipython_environment().clone()?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/round_trip.py");
        let once = |cells: u32| {
            let arguments = [script, "cells", &cells.to_string()];
            self.count(&python, &arguments, "", b"")
        };
        Ok((once(220)? - once(20)?) / 200.0)
    }

    fn key(&self) -> Result<f64, String> {
        let once = |keys: u32| {
            let mut words: Vec<String> = self.options().into();
            let program = [env!("CARGO_BIN_EXE_ipycodex"), "--agent", "demo"];
            words.extend(program.map(str::to_owned));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            crate::table::guarded(|| {
                let mut typist = Typist::new(&self.home, Path::new("valgrind"), &words, 10, 0);
                for _ in 0..keys {
                    typist.key();
                    typist.rest();
                }
                typist.leave();
            })?;
            self.collected().ok_or("valgrind said nothing".to_owned())
        };
        once(0)?;
        Ok((least(|| once(120))? - least(|| once(20))?) / 100.0)
    }

    fn edit(&self) -> Result<f64, String> {
        let cell = |n: u32| {
            let output = "a line that was printed\\n".repeat(80);
            format!(
                r#"{{"cell_type": "code", "execution_count": {n}, "id": "id-{n}", "metadata": {{}}, "outputs": [
                {{"name": "stdout", "output_type": "stream", "text": ["{output}"]}}], "source": ["x = {n}"]}}"#
            )
        };
        let cells: Vec<String> = (0..1_000).map(cell).collect();
        let text = format!(
            r#"{{"cells": [{}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}"#,
            cells.join(",")
        );
        let file = self.home.write("large.ipynb", text);
        let file = file.to_str().expect("our paths are UTF-8");
        self.program(
            &[
                "notebook",
                "edit",
                file,
                "--cell",
                "7",
                "--content",
                "y = 1",
            ],
            b"",
        )
    }

    /// What callgrind has written of the process that it started, whose lines come first.
    fn collected(&self) -> Option<f64> {
        let log = std::fs::read_to_string(&self.log).ok()?;
        let process = log.split_whitespace().next()?;
        let line = log
            .lines()
            .find(|line| line.starts_with(process) && line.contains("Collected :"))?;
        line.split_whitespace().last()?.parse().ok()
    }
}

/// The least of five counts: threads that work beside the path come to more or less, by the clock.
fn least(once: impl Fn() -> Result<f64, String>) -> Result<f64, String> {
    (1..5).try_fold(once()?, |least, _| Ok(least.min(once()?)))
}

/// What a child does: a path, so often.
pub fn repeat() {
    let told = std::env::var(CHILD).unwrap_or_default();
    let (name, rounds) = told.split_once(' ').expect("the parent names both");
    let rounds: u32 = rounds.parse().expect("the parent writes a number");
    match name {
        "delta" => {
            for _ in 0..rounds {
                play(ANSWER, 1);
            }
        }
        "classify" => {
            for text in (0..rounds).flat_map(|_| TEXTS) {
                std::hint::black_box(classify(text, Mode::Cells));
            }
        }
        _ => of_record(name, rounds),
    }
}

fn of_record(name: &str, rounds: u32) {
    let (cells, prompts) = match name {
        "turn" => (100, 10),
        "save" => (1_000, 10),
        _ => (10_000, 1_000),
    };
    let path = std::env::current_dir().expect("it is there").join(name);
    if !path.exists() {
        return fill(&path, 1, cells, prompts);
    }
    let (record, _reports) = begin(&path, Some(1));
    wait(record.session()).expect("it is there");
    let file = beside(&path);
    for _ in 0..rounds {
        if name == "save" {
            let session = wait(record.saved());
            write_file(&session, "Session 1", &file, |_| {}).expect("our own folder");
        } else {
            std::hint::black_box(wait(record.dialog()).next_context());
        }
    }
}
