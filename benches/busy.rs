//! The editor while something else is busy: keys are typed one at a time at the prompt, each awaited in the terminal.
//! The 99th percentile of 300 counts, and of four such rounds the best: what the machine does beside us only adds to a
//! round, and what we do ourselves is in all of them. Then Ctrl-C in the same state, till the next prompt; of these
//! the slowest counts.
//!
//! An echo has come when the terminal can read it: the bench draws nothing while it types. The first state, in which
//! nothing else happens, says how much the bench itself takes.

use std::any::Any;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{Pty, cursor_line};
use crate::table::{Row, Target, guarded};

/// Keys of one round.
const KEYS: usize = 300;

/// Rounds, each in a shell of its own.
const REPEATS: usize = 4;

/// Keys on a line.
const LINE: usize = 40;

/// Lines while a cell in the background computes, and as many while it sleeps.
const ROUNDS: usize = 12;

const INTERRUPTS: usize = 10;

/// From the key to its echo, in ms.
const ECHO: f64 = 5.0;

/// From Ctrl-C to the next prompt, in ms.
const HEARD: f64 = 50.0;

/// As people type at their fastest: a key each 10 ms.
const PAUSE: Duration = Duration::from_millis(10);

struct State {
    name: &'static str,
    /// Input that makes the shell busy, with the prompt free to type at or while it runs.
    busy: &'static str,
    /// The prompt is not free: what is typed stands below what runs.
    runs: bool,
    /// Another program holds the record.
    locked: bool,
    /// Input that is interrupted, and what it shows once it runs.
    interrupted: (&'static str, &'static str),
}

const LOOP: (&str, &str) = ("print('be' 'gun'); any(iter(lambda: 0, 1))", "begun");

const STATES: [State; 6] = [
    State {
        name: "nothing happens",
        busy: "1 + 1",
        runs: false,
        locked: false,
        interrupted: LOOP,
    },
    State {
        name: "a cell prints 50 MB/s",
        // 80 KB each 1.6 ms.
        busy: "import threading, time; lines = ('-' * 79 + '\\n') * 1000; threading.Thread(target=lambda: \
            [print(lines, end='') or time.sleep(0.0015) for _ in iter(int, 1)], daemon=True).start()",
        runs: false,
        locked: false,
        interrupted: ("any(print('-' * 79) for _ in iter(int, 1))", "----"),
    },
    State {
        name: "a cell computes in the background",
        busy: "%%background\rany(iter(lambda: 0, 1))\r\r",
        runs: false,
        locked: false,
        interrupted: LOOP,
    },
    State {
        name: "an answer streams 1,000 deltas/s",
        busy: ".stream",
        runs: true,
        locked: false,
        interrupted: (".stream", "delta"),
    },
    State {
        name: "the record is locked",
        busy: "1 + 1",
        runs: false,
        locked: true,
        interrupted: LOOP,
    },
    State {
        name: "1 GB has its checkpoint made",
        busy: "import random; x = bytearray(random.randbytes(1 << 20)) * 1024",
        runs: false,
        locked: false,
        interrupted: LOOP,
    },
];

pub fn rows() -> Vec<Row> {
    let states = STATES.iter().flat_map(State::rows);
    states.chain([beside_a_branch()]).collect()
}

/// Keys in turns while a cell in the background computes and while it sleeps, in one shell: what it costs who types.
fn beside_a_branch() -> Row {
    let (mut computes, mut sleeps) = (Vec::new(), Vec::new());
    let measured = guarded(|| {
        let (home, pty, _) = STATES[0].shell();
        let gate = home.work().join("go");
        pty.send_line("%%background\rimport os, time\rwhile True: sum(range(20_000)) if os.path.exists('go') else \
            time.sleep(0.005)\r\r");
        pty.at_line("In [3]:");
        pty.stop_drawing();
        let mut letters = '\u{100}'..;
        for _ in 0..ROUNDS {
            std::fs::write(&gate, "").expect("a file in our home");
            computes.push(median(&pty, &mut letters));
            std::fs::remove_file(&gate).expect("the same file");
            sleeps.push(median(&pty, &mut letters));
        }
        computes
    });
    Row {
        what: "key to echo, median: a cell computes in the background".into(),
        unit: "ms",
        ours: measured,
        peer: Some(("while it sleeps", Ok(sleeps))),
        target: Target::TimesPeerAtMost(1.05),
    }
}

/// Types a line of letters; returns the median time to their echoes, in ms.
fn median(pty: &Pty, letters: &mut impl Iterator<Item = char>) -> f64 {
    sleep(5 * PAUSE);
    let mut echoes: Vec<f64> = letters.take(LINE).map(|letter| echo(pty, letter)).collect();
    pty.send("\x15");
    echoes.sort_by(f64::total_cmp);
    echoes[LINE / 2]
}

/// Types a letter that is new to the terminal, so that the first one in its bytes is the echo; returns how long that
/// took, in ms.
fn echo(pty: &Pty, letter: char) -> f64 {
    sleep(PAUSE);
    let (from, begin) = (pty.raw_length(), Instant::now());
    pty.send(letter.encode_utf8(&mut [0; 4]));
    pty.wait_raw(letter.to_string().as_bytes(), from);
    begin.elapsed().as_secs_f64() * 1e3
}

impl State {
    fn rows(&self) -> [Row; 2] {
        let bound = |what: String, ours, most| Row {
            what,
            unit: "ms",
            ours,
            peer: None,
            target: Target::AtMost(most),
        };
        let best = || {
            let rounds = (0..REPEATS).map(|_| self.keys());
            rounds.fold(f64::INFINITY, f64::min)
        };
        [
            bound(
                format!("key to echo, p99: {}", self.name),
                guarded(|| vec![best()]),
                ECHO,
            ),
            bound(
                format!("Ctrl-C, slowest: {}", self.name),
                guarded(|| self.interrupts()),
                HEARD,
            ),
        ]
    }

    /// A shell in this state, and what keeps it so.
    fn shell(&self) -> (Home, Pty, Option<Box<dyn Any>>) {
        let home = Home::new();
        let python = peers::plain_python();
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/benches/peers/streaming_acp.py"
        );
        let agent = [&python.to_string_lossy(), script];
        let agent = shlex::try_join(agent).expect("paths have no NUL");
        let agent = format!("acp:{agent}");
        let mut pty = Pty::spawn(&home, &["--no-ipython", "--agent", &agent], (100, 30));
        pty.patience = Duration::from_secs(30);
        pty.at_line("In [1]:");
        pty.send_line("print('re' 'ady')");
        pty.wait_for("ready");
        pty.at_line("In [2]:");
        let lock = self.locked.then(|| lock(&home.history()));
        (home, pty, lock)
    }

    /// The 99th percentile of a round, in ms.
    fn keys(&self) -> f64 {
        let (_home, pty, _lock) = self.shell();
        pty.send_line(self.busy);
        match self.runs {
            true => pty.wait_for("delta"),
            false => pty.at_line("In [3]:"),
        }
        pty.stop_drawing();
        let letters = ('\u{100}'..).take(KEYS).enumerate();
        let mut echoes: Vec<f64> = letters
            .map(|(typed, letter)| {
                if typed % LINE == LINE - 1 {
                    pty.send("\x15");
                }
                echo(&pty, letter)
            })
            .collect();
        echoes.sort_by(f64::total_cmp);
        echoes[KEYS * 99 / 100]
    }

    fn interrupts(&self) -> Vec<f64> {
        let (_home, pty, _lock) = self.shell();
        let (input, shows) = self.interrupted;
        if !self.runs && !self.busy.contains("thread") {
            pty.send_line(self.busy);
            pty.at_line("In [3]:");
        }
        let one = || {
            let prompt = pty.look(cursor_line);
            pty.send_line(input);
            pty.wait_for(shows);
            sleep(PAUSE);
            let begin = Instant::now();
            pty.send("\x03");
            pty.wait_until("the next prompt", |screen| {
                let line = cursor_line(screen);
                line.starts_with("In [") && line.trim_end() != prompt.trim_end()
            });
            let heard = begin.elapsed().as_secs_f64() * 1e3;
            pty.send("\x15\x0c");
            pty.wait_gone(shows);
            heard
        };
        let all: Vec<f64> = (0..INTERRUPTS).map(|_| one()).collect();
        vec![all.iter().copied().fold(0.0, f64::max)]
    }
}

fn lock(record: &Path) -> Box<dyn Any> {
    let lock = Connection::open(record).expect("the record of our shell");
    lock.busy_timeout(Duration::from_secs(10))
        .expect("a moment");
    lock.execute_batch("BEGIN EXCLUSIVE").expect("it is free");
    Box::new(lock)
}
