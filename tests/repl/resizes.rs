//! The terminal changes its size while an answer streams, and while a cell does: at each piece of either.
//!
//! In: how many resizes. Out: what came of them. The judge is tmux, in which the program runs: it wraps lines again, as
//! most terminals do. Invariants: each word stands there once, in order; the prompt comes back below all of it, and
//! what is typed there runs. A piece comes once the terminal has its new size, and the next size once it is shown.
//! Absent on purpose: sizes in which what may still change does not fit.

use serde_json::{Value, json};

use super::questioning_agent::Asker;
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::random::Random;
use crate::support::tmux::Tmux;

const SEED: u64 = 28;

/// Resizes of one program.
const ROUND: u32 = 100;

/// Before and behind each word of an answer: prose, a list, code.
const BLOCKS: &[(&str, &str)] = &[
    ("# ", "\n\n"),
    ("", " "),
    ("and ", " "),
    ("some *more* of it, ", " "),
    ("", "\n\n"),
    ("- ", " "),
    ("with ", "\n"),
    ("- ", "\n"),
    ("  1. ", "\n\n"),
    ("```python\n", " = 1\n"),
    (
        "",
        "(1, 2, 3)  # a comment that is long enough to be wrapped\n",
    ),
    ("if ", ":\n    pass\n```\n\n"),
    ("> ", " "),
    ("quoted ", "\n\n"),
    ("The end of ", ".\n\n"),
];

/// Code of a cell that prints a word for each file.
const CELL: &str = "\
import os, time
for n in range(COUNT):
    while not os.path.exists(f'cell-{n}'):
        time.sleep(0.001)
    print(f'cell{n:04}', end=['\\n', ' ', ' and more of it, ', '\\x1b[1m bold\\x1b[0m '][n % 4], flush=True)
print('over')
";

pub fn resizes(count: u32) -> String {
    let mut random = Random::new(SEED);
    let mut done = 0;
    let mut screens = 0;
    while done < count {
        let pieces = ROUND.min(count - done);
        let Some(round) = Round::start(pieces / 2, pieces - pieces / 2) else {
            return "no tmux: nothing was tried".to_owned();
        };
        round.play(&mut random, done);
        done += pieces;
        screens += 1;
    }
    format!("{screens} screens of tmux: each word once and in order, the prompt below")
}

struct Round {
    home: Home,
    tmux: Tmux,
    answered: u32,
    printed: u32,
}

fn size(random: &mut Random) -> (u16, u16) {
    (random.within(30, 160), random.within(24, 60))
}

impl Round {
    fn start(answered: u32, printed: u32) -> Option<Round> {
        let mut home = Home::new();
        let pieces = (0..answered).flat_map(|n| {
            let (before, behind) = BLOCKS[n as usize % BLOCKS.len()];
            [
                json!({"until": format!("answer-{n}")}),
                json!(format!("{before}word{n:04}{behind}")),
            ]
        });
        let pieces: Vec<Value> = pieces.collect();
        Asker::script(&mut home, json!([[{"pieces": pieces}]]));
        home.write("cell.py", CELL.replace("COUNT", &printed.to_string()));
        let tmux = Tmux::start::<&str>(&home, &[], (80, 40))?;
        Some(Round {
            home,
            tmux,
            answered,
            printed,
        })
    }

    fn play(&self, random: &mut Random, done: u32) {
        self.tmux.pty.wait_for("In [1]:");
        self.at("In [1]:");
        self.tmux.pty.send(".go\r");
        self.stream(random, "answer", "word", self.answered, done);
        self.at("In [2]:");
        self.resize((100, 40));
        self.at("In [2]:");
        let cell = "exec(open('cell.py').read())";
        self.tmux.pty.send(&format!("{cell}\r"));
        await_true("the cell runs", || {
            self.last_row().ends_with(cell) && self.tmux.format("#{cursor_x}") == "0"
        });
        self.stream(random, "cell", "cell", self.printed, done);
        self.at("In [3]:");
        let pane = self.tmux.pane();
        let words = (0..self.answered).map(|n| format!("word{n:04}"));
        let words = words.chain((0..self.printed).map(|n| format!("cell{n:04}")));
        let mut from = 0;
        for word in words {
            let found: Vec<usize> = pane.match_indices(&word).map(|(at, _)| at).collect();
            assert!(
                matches!(found.as_slice(), [at] if *at >= from),
                "seed {SEED}, from {done}: {word} stands {} times, or out of order:\n{pane}",
                found.len()
            );
            from = found[0];
        }
        for (once, count) in [
            ("turn over", 1),
            ("In [2]:", 1),
            ("In [3]:", 1),
            ("over\n", 2),
        ] {
            let found = pane.matches(once).count();
            assert_eq!(found, count, "seed {SEED}, from {done}: {once:?}:\n{pane}");
        }
        let blanks = "\n\n\n";
        assert!(
            !pane.trim_end().contains(blanks),
            "seed {SEED}, from {done}: blank rows:\n{pane}"
        );
        // At the prompt itself.
        self.tmux.pty.send("40 +");
        for _ in 0..4 {
            self.resize(size(random));
        }
        self.tmux.pty.send(" 2\x0c");
        let top = || self.tmux.format("#{cursor_y}") == "0";
        await_true("a clear screen", || {
            top() && self.last_row() == "In [3]: 40 + 2"
        });
        self.tmux.pty.send("\r");
        self.at("In [4]:");
        assert!(
            self.tmux.pane().contains("Out[3]: 42\n"),
            "{}",
            self.tmux.pane()
        );
    }

    /// A size for each piece, and the piece.
    fn stream(&self, random: &mut Random, file: &str, word: &str, count: u32, done: u32) {
        for n in 0..count {
            self.resize(size(random));
            self.home.write(&format!("{file}-{n}"), "");
            let word = format!("{word}{n:04}");
            await_true(&format!("from {done}: {word}"), || {
                self.tmux.pane().contains(&word)
            });
        }
    }

    fn resize(&self, (columns, rows): (u16, u16)) {
        self.tmux.pty.resize(columns, rows);
        // tmux tells the program a moment later than it wraps the lines; what is typed or printed between the two meets
        // rows that the program does not know of.
        let device = self.tmux.format("#{pane_tty}");
        let device = std::fs::File::open(device).expect("the pane's terminal");
        await_true("the program has the size", || {
            let size = rustix::termios::tcgetwinsize(&device).expect("a terminal");
            (size.ws_col, size.ws_row) == (columns, rows)
        });
    }

    fn at(&self, prompt: &str) {
        await_true(prompt, || self.last_row() == prompt);
    }

    fn last_row(&self) -> String {
        let screen = self.tmux.screen();
        screen
            .trim_end()
            .lines()
            .last()
            .unwrap_or_default()
            .trim_end()
            .to_owned()
    }
}
