//! One long session: what it holds (memory, descriptors, threads, processes) and how fast it answers stays as it was.
//!
//! In: a number of cells, with a quarter of it prompts, a tenth steps back, a twentieth restarts, and as many resumes
//! of the other of two sessions. Out: figures after the first tenth and at the end. Invariant: both are taken in one
//! state, right after a restart, when nothing is on its way. Every input typed has its row in the record, in order, and
//! other processes read the file meanwhile.

use std::iter;
use std::time::{Duration, Instant};

use super::checkpoints::{await_copy, settled};
use super::shell::Shell;
use crate::support::await_true;
use crate::support::home::Home;

/// Cells of a round; a round has five prompts, two steps back, one restart, one resume.
const ROUND: u32 = 20;

/// What a session may grow by, in bytes: the program, and all of its processes together.
const GROWTH: u64 = 50 << 20;

/// From Enter to the next prompt, when a cell does nothing: the least of [`SAMPLES`], because other programs run too.
const PROMPT: Duration = Duration::from_millis(50);

const SAMPLES: usize = 15;

/// What cells do: values, output short and long, errors, programs, names that stay.
const CELLS: [&str; 10] = [
    "value = list(range(1000))",
    "len(value)",
    "print('line\\n' * 200)",
    "1/0",
    "{'a': value[:50]}",
    "text = 'x' * 500_000",
    "!echo from the shell",
    "for n in range(50): print('\\rprogress', n, end='')",
    "'a note that is typed'",
    "undefined_name",
];

/// Two sessions in one process, by turns.
struct Soak {
    shell: Shell,
    /// The session that is open, from 0.
    open: usize,
    /// Each session's next number.
    next: [u32; 2],
    /// What was typed: session, number, text.
    typed: Vec<(i64, u32, String)>,
}

/// What the program holds at a moment.
#[derive(Debug)]
struct Held {
    memory: u64,
    all_memory: u64,
    descriptors: usize,
    threads: usize,
    processes: usize,
    prompt: Duration,
}

pub fn soak(cells: u32) -> String {
    let mut soak = Soak::new();
    let rounds = cells.div_ceil(ROUND).max(1);
    let first = rounds.div_ceil(10);
    // What is loaded once is loaded before the first look.
    soak.round();
    let mut begin = soak.held();
    for round in 1..=rounds {
        soak.round();
        if round == first && rounds > first {
            begin = soak.held();
        }
    }
    let end = soak.held();
    let growth = |before: u64, after: u64| after.saturating_sub(before);
    let counts = |held: &Held| (held.descriptors, held.threads, held.processes);
    let (own, all) = (
        growth(begin.memory, end.memory),
        growth(begin.all_memory, end.all_memory),
    );
    let both = format!("{begin:?}\n{end:?}");
    assert!(own <= GROWTH && all <= GROWTH, "it grows:\n{both}");
    assert_eq!(counts(&begin), counts(&end), "it keeps more:\n{both}");
    assert!(end.prompt <= PROMPT, "it gets slower:\n{both}");
    let inputs = soak.typed.len();
    soak.check_record();
    assert_eq!(soak.shell.leave(), 0);
    format!(
        "{inputs} inputs, all in the record; growth {:.1} MB ({:.1} MB with children), {} descriptors, {} threads, \
         {} processes as before, prompt {:.1} ms ({:.1} ms before)",
        own as f64 / 1e6,
        all as f64 / 1e6,
        end.descriptors,
        end.threads,
        end.processes,
        end.prompt.as_secs_f64() * 1e3,
        begin.prompt.as_secs_f64() * 1e3,
    )
}

impl Soak {
    fn new() -> Soak {
        let mut soak = Soak {
            shell: Shell::of(Home::new()),
            open: 0,
            next: [1, 1],
            typed: Vec::new(),
        };
        soak.input("first = 1");
        soak.switch("%ipycodex new second");
        soak
    }

    /// Types a line and waits for the prompt after it.
    fn input(&mut self, text: &str) {
        let number = self.next[self.open];
        self.shell.cell(number, text);
        self.record(text);
    }

    fn record(&mut self, text: &str) {
        let session = i64::try_from(self.open).unwrap() + 1;
        self.typed
            .push((session, self.next[self.open], text.into()));
        self.next[self.open] += 1;
    }

    /// Types what opens the other session, and waits for its prompt.
    fn switch(&mut self, text: &str) {
        self.shell.at(self.next[self.open]);
        self.shell.pty.send_line(text);
        self.record(text);
        self.open = 1 - self.open;
        self.shell.at(self.next[self.open]);
    }

    fn round(&mut self) {
        for cell in 0..ROUND as usize {
            self.input(CELLS[cell % CELLS.len()]);
            if cell % 4 == 1 {
                self.input(".what is `value`?");
            }
            if cell % 10 == 5 {
                self.step_back();
            }
            if cell == 11 {
                self.switch(&format!("%ipycodex resume {}", 2 - self.open));
            }
        }
        self.restart();
    }

    /// Waits for a copy of the interpreter that was made after a cell, and goes back to it.
    fn step_back(&mut self) {
        settled(&self.shell.home);
        let number = self.next[self.open];
        await_copy(&self.shell, || {
            self.shell.cell(number, "back_over = 1");
        });
        self.record("back_over = 1");
        let from = self.shell.pty.raw().len();
        self.input("%ipycodex back");
        self.shell
            .pty
            .wait_raw(format!("Back before In [{number}]").as_bytes(), from);
    }

    fn restart(&mut self) {
        self.input("%ipycodex restart");
        self.input("value = list(range(1000))");
    }

    /// Looks at it right after a restart, when the number of its processes stands.
    fn held(&mut self) -> Held {
        self.restart();
        self.input(".what is `value`?");
        let mut prompt = Duration::MAX;
        for _ in 0..SAMPLES {
            let begin = Instant::now();
            self.input("pass");
            prompt = prompt.min(begin.elapsed());
        }
        // Which of the copies of earlier cells are kept depends on how fast those were typed. Typed slowly, each cell
        // gets its own.
        self.input("%ipycodex checkpoints 0");
        for text in iter::once("%ipycodex checkpoints 10").chain(iter::repeat_n("pass", 11)) {
            let number = self.next[self.open];
            await_copy(&self.shell, || self.shell.cell(number, text));
            self.record(text);
        }
        settled(&self.shell.home);
        let own = self.shell.pty.pid();
        let processes = self.shell.pty.processes();
        let listed = |what: &str| {
            let folder = std::fs::read_dir(format!("/proc/{own}/{what}"));
            folder.unwrap().count()
        };
        let ran = self.shell.home.run(&["search", "value"], "");
        assert_eq!(ran.code(), 0, "{ran:?}");
        Held {
            memory: memory(own),
            all_memory: processes.iter().map(|process| memory(*process)).sum(),
            descriptors: listed("fd"),
            threads: listed("task"),
            processes: processes.len(),
            prompt,
        }
    }

    fn check_record(&self) {
        let record = self.shell.record();
        let rows = || -> Vec<(i64, u32, String)> {
            let select = "select session, line, source_raw from history order by session, line";
            let mut rows = record.prepare(select).unwrap();
            let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
            rows.unwrap().map(Result::unwrap).collect()
        };
        await_true("all rows", || rows().len() >= self.typed.len());
        let mut typed = self.typed.clone();
        typed.sort_by_key(|(session, line, _)| (*session, *line));
        assert!(rows() == typed, "the record is another than what was typed");
        let sound = record.query_row("pragma integrity_check", [], |row| row.get::<_, String>(0));
        assert_eq!(sound.unwrap(), "ok");
    }
}

/// Memory of a process alone, in bytes, with its part of what it shares; 0 for one that has gone.
fn memory(process: u32) -> u64 {
    let sums = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"));
    let sums = sums.unwrap_or_default();
    let line = sums.lines().find(|line| line.starts_with("Pss:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
