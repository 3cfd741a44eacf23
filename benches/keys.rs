//! What one key costs in the editor, on a pseudo-terminal: a cell of so many lines stands in it, keys are typed at its
//! end and in its middle, one at a time, each waited for on the screen.
//!
//! Of each key: the processor time of our process (all of its threads, from one echo to the next, so what is done after
//! an echo counts too), the time from the key to its echo, and for lines that are slow the bytes it sends and the
//! questions it asks the terminal. The peer is `ipython` with the same text.

use std::path::Path;
use std::time::{Duration, Instant};

use memchr::memmem;

use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::Pty;
use crate::table::{Figures, Row, Target, guarded};

const KEYS: usize = 50;

/// ms of processor time, in a cell of 200 lines.
const MOST: f64 = 4.0;

/// Bytes that a key may send: a line of its cell, coloured.
const SENT: f64 = 400.0;

/// Where is the cursor; what are you; what is your background.
pub(crate) const QUESTIONS: [&[u8]; 3] = [b"\x1b[6n", b"\x1b[c", b"\x1b]11;?"];

const SIZE: (u16, u16) = (100, 40);

pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for lines in [10, 200, 500] {
        for place in ["end", "middle"] {
            let up = if place == "end" { 0 } else { lines / 2 };
            let (ours, peer) = measure(lines, up);
            let row = |what: &str, unit, of: fn(&Key) -> f64, target| Row {
                what: format!("{what}, {lines} lines, at the {place}"),
                unit,
                ours: figures(&ours, of),
                peer: Some(("ipython", figures(&peer, of))),
                target,
            };
            rows.extend([
                row("CPU of a key", "ms", |key| key.cpu, Target::AtMost(MOST)),
                row("key to echo", "ms", |key| key.wall, Target::None),
                row(
                    "sent for a key",
                    "bytes",
                    |key| key.bytes,
                    Target::AtMost(SENT),
                ),
                row(
                    "asked of the terminal",
                    "times",
                    |key| key.questions,
                    Target::AtMost(0.0),
                ),
            ]);
        }
    }
    rows
}

/// What a key cost: ms, bytes to the terminal, and questions to it, each of which is a round trip on a slow line.
pub(crate) struct Key {
    cpu: f64,
    wall: f64,
    bytes: f64,
    questions: f64,
}

fn figures(keys: &Result<Vec<Key>, String>, of: fn(&Key) -> f64) -> Figures {
    let keys = keys.as_ref().map_err(String::clone)?;
    Ok(keys.iter().map(of).collect())
}

/// Types in both editors in turn.
fn measure(lines: usize, up: usize) -> (Result<Vec<Key>, String>, Result<Vec<Key>, String>) {
    let home = Home::new();
    let ours = Path::new(env!("CARGO_BIN_EXE_ipycodex"));
    let mut ours = guarded(|| Typist::new(&home, ours, &["--agent", "demo"], lines, up));
    let mut peer = match peers::ipython_environment() {
        Ok(python) => guarded(|| {
            let program = python.with_file_name("ipython");
            Typist::new(&home, &program, &["--no-banner"], lines, up)
        }),
        Err(why) => Err(why.clone()),
    };
    let mut figures = (Ok(Vec::new()), Ok(Vec::new()));
    for _ in 0..KEYS {
        for (typist, figures) in [(&mut ours, &mut figures.0), (&mut peer, &mut figures.1)] {
            // Who failed once is not waited for again.
            let Ok(known) = figures else {
                continue;
            };
            let key = match typist {
                Ok(typist) => guarded(|| typist.key()),
                Err(why) => Err(why.clone()),
            };
            match key {
                Ok(key) => known.push(key),
                Err(why) => *figures = Err(why),
            }
        }
    }
    figures
}

/// An editor with a cell in it.
pub(crate) struct Typist {
    pty: Pty,
    typed: String,
    cpu: f64,
}

impl Typist {
    pub(crate) fn new(
        home: &Home,
        program: &Path,
        arguments: &[&str],
        lines: usize,
        up: usize,
    ) -> Typist {
        let mut pty = Pty::spawn_program(home, program, arguments, SIZE);
        pty.patience = Duration::from_secs(30);
        pty.wait_for("In [1]:");
        let cell: Vec<String> = (0..lines)
            .map(|n| format!("value_{n:03} = compute({n}, \"text\", key=[1, 2])  # note"))
            .collect();
        pty.send(&format!("\x1b[200~{}\x1b[201~", cell.join("\n")));
        let at = |line: usize| {
            let start = format!("value_{line:03} ");
            pty.wait_until(&format!("the cursor in line {line}"), |screen| {
                before_cursor(screen).contains(&start)
            });
        };
        at(lines - 1);
        for step in 1..=up {
            pty.send("\x1b[A");
            at(lines - 1 - step);
        }
        // What is done behind the last echo is not the first key's.
        std::thread::sleep(Duration::from_millis(500));
        let cpu = cpu(pty.pid());
        Typist {
            pty,
            typed: String::new(),
            cpu,
        }
    }

    /// Waits until the program does nothing, after what it does behind the echo.
    pub(crate) fn rest(&self) {
        loop {
            let before = cpu(self.pty.pid());
            std::thread::sleep(Duration::from_millis(50));
            if cpu(self.pty.pid()) - before < 0.5 {
                return;
            }
        }
    }

    /// Leaves the program: the cell is cleared first.
    pub(crate) fn leave(self) {
        self.pty.send("\x03");
        self.pty.wait_until("an empty prompt", |screen| {
            before_cursor(screen).trim_end().ends_with("]:")
        });
        self.pty.send("\x04");
        self.pty.exit_status();
    }

    pub(crate) fn key(&mut self) -> Key {
        let letter = char::from(b'a' + u8::try_from(self.typed.len() % 26).expect("a letter"));
        self.typed.push(letter);
        let before = self.pty.look(|screen| screen.cursor_position());
        let sent = self.pty.raw_length();
        let begin = Instant::now();
        self.pty.send(&letter.to_string());
        // The last letters: the row may have wrapped.
        let tail = self.typed.len().saturating_sub(4);
        let tail = &self.typed[tail..];
        self.pty.wait_until("the key's echo", |screen| {
            screen.cursor_position() != before && echoed(screen, tail)
        });
        let wall = begin.elapsed().as_secs_f64() * 1e3;
        let now = cpu(self.pty.pid());
        let spent = now - std::mem::replace(&mut self.cpu, now);
        let sent = self.pty.raw().split_off(sent);
        let questions = QUESTIONS
            .iter()
            .map(|question| memmem::find_iter(&sent, question).count());
        Key {
            cpu: spent,
            wall,
            bytes: sent.len() as f64,
            questions: questions.sum::<usize>() as f64,
        }
    }
}

/// These letters stand before the cursor; where the row has wrapped, the last of them, behind whatever an editor puts
/// in front of a row that goes on (`ipython` does), or in the row above.
pub(crate) fn echoed(screen: &vt100::Screen, letters: &str) -> bool {
    let here = before_cursor(screen);
    let word = here.rsplit([' ', ':']).next().unwrap_or_default();
    if !word.is_empty() {
        return word.ends_with(letters) || letters.ends_with(word);
    }
    let (row, _) = screen.cursor_position();
    let columns = screen.size().1.get();
    let above = row
        .checked_sub(1)
        .map(|above| screen.contents_between(above, 0, above, columns));
    above.is_some_and(|above| above.ends_with(letters))
}

fn before_cursor(screen: &vt100::Screen) -> String {
    let (row, column) = screen.cursor_position();
    screen.contents_between(row, 0, row, column)
}

/// ms that all threads of a process have run, to the nanosecond.
fn cpu(process: u32) -> f64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let of_thread = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    let sum: f64 = threads
        .flatten()
        .filter_map(|entry| of_thread(entry.path()))
        .sum();
    sum / 1e6
}
