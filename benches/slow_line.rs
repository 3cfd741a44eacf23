//! The editor at the end of a slow line, as over ssh: a key takes 100 ms to the program, and what the program writes
//! takes 100 ms back. `ipython`, `python3 -q` and `bash` stand behind the same line.
//!
//! The line is this program again, told by [`CHILD`]: on the pseudo-terminal of the bench it starts the program on one
//! of its own, and carries the bytes of each direction over when they have been on their way for long enough. So an
//! answer of the terminal takes as long as a key, and an editor that waits for one before it draws its prompt takes
//! 200 ms more.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use memchr::memmem;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::keys::{QUESTIONS, echoed};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::Pty;
use crate::table::{Figures, Row, Target, in_turn};

/// Its value: ms that a byte is on its way, in either direction.
pub const CHILD: &str = "IPYCODEX_BENCH_LINE";

const ONE_WAY: &str = "100";

/// One way, and what a start may take: an editor that waits for an answer takes 300.
const DRAWN: f64 = 150.0;

/// Both ways, and what an echo may take.
const ECHOED: f64 = 210.0;

/// What the line itself varies by.
const AS_QUICK: f64 = 1.05;

const STARTS: usize = 5;
const KEYS: usize = 20;
const BURSTS: usize = 4;

/// Keys of a burst: a word that is typed faster than it comes back.
const BURST: usize = 10;

const SIZE: (u16, u16) = (100, 30);

const PEERS: [&str; 3] = ["ipython", "python3 -q", "bash"];

/// What stands behind the line: the program, its arguments and its prompt.
type Program = (PathBuf, Vec<&'static str>, &'static str);

pub fn rows() -> Vec<Row> {
    let home = Home::with(&[(CHILD, ONE_WAY)]);
    let ipython = peers::ipython_environment().clone();
    let programs: [Result<Program, String>; 4] = [
        Ok((
            env!("CARGO_BIN_EXE_ipycodex").into(),
            vec!["--no-ipython", "--agent", "demo"],
            "In [1]:",
        )),
        ipython.map(|python| {
            let program = python.with_file_name("ipython");
            (program, vec!["--no-banner"], "In [1]:")
        }),
        Ok((peers::plain_python(), vec!["-q"], ">>>")),
        Ok(("/bin/bash".into(), vec!["--norc", "--noprofile"], "bash-")),
    ];
    let mut asked = Vec::new();
    let started = {
        let mut asked = |pty: &Pty| asked.push(questions(&pty.raw()));
        let mut ours = || start(&home, &programs[0]).map(|(pty, took)| (asked(&pty), took).1);
        let peer = |number: usize| start(&home, &programs[number]).map(|(_, took)| took);
        let (mut ipython, mut python, mut bash) = (|| peer(1), || peer(2), || peer(3));
        in_turn(STARTS, [&mut ours, &mut ipython, &mut python, &mut bash])
    };
    let mut typists = programs.map(|program| Typist::start(&home, &program));
    let keys = type_in_turn(&mut typists, KEYS, 1);
    let sent = typists.each_ref().map(|typist| spent(typist, |key| key.0));
    let questions = typists.each_ref().map(|typist| spent(typist, |key| key.1));
    let bursts = type_in_turn(&mut typists, BURSTS, BURST);
    let [our_start, starts @ ..] = started;
    let [our_keys, keys @ ..] = keys;
    let [our_bursts, bursts @ ..] = bursts;
    let [our_bytes, bytes, ..] = sent;
    let [our_questions, questions, ..] = questions;
    let row = |what: &str, unit, ours: &Figures, peer, target| Row {
        what: what.into(),
        unit,
        ours: ours.clone(),
        peer,
        target,
    };
    let mut rows = vec![
        row(
            "start to the prompt drawn",
            "ms",
            &our_start,
            None,
            Target::AtMost(DRAWN),
        ),
        row(
            "asked of the terminal till then",
            "times",
            &our_start.as_ref().map(|_| asked).map_err(String::clone),
            None,
            Target::None,
        ),
        row("key to echo", "ms", &our_keys, None, Target::AtMost(ECHOED)),
        row(
            "sent for a key",
            "bytes",
            &our_bytes,
            Some((PEERS[0], bytes)),
            Target::TimesPeerAtMost(1.0),
        ),
        row(
            "asked of the terminal for a key",
            "times",
            &our_questions,
            Some((PEERS[0], questions)),
            Target::AtMost(0.0),
        ),
    ];
    let compared = [
        ("start to the prompt drawn", our_start, starts),
        ("key to echo", our_keys, keys),
        ("10 keys at once, to the last echo", our_bursts, bursts),
    ];
    for (what, ours, peers) in compared {
        for (name, figures) in PEERS.into_iter().zip(peers) {
            let target = Target::TimesPeerAtMost(AS_QUICK);
            rows.push(row(what, "ms", &ours, Some((name, figures)), target));
        }
    }
    rows
}

fn type_in_turn(
    typists: &mut [Result<Typist, String>; 4],
    runs: usize,
    letters: usize,
) -> [Figures; 4] {
    let [ours, ipython, python, bash] = typists;
    let typed = |typist: &mut Result<Typist, String>| match typist {
        Ok(typist) => Ok(typist.write(letters)),
        Err(why) => Err(why.clone()),
    };
    in_turn(
        runs,
        [
            &mut || typed(ours),
            &mut || typed(ipython),
            &mut || typed(python),
            &mut || typed(bash),
        ],
    )
}

fn spent(typist: &Result<Typist, String>, of: fn(&(f64, f64)) -> f64) -> Figures {
    let typist = typist.as_ref().map_err(String::clone)?;
    Ok(typist.spent.iter().map(of).collect())
}

/// A program at its prompt, behind the line, and the ms till that was seen.
fn start(home: &Home, program: &Result<Program, String>) -> Result<(Pty, f64), String> {
    let (program, arguments, prompt) = program.as_ref().map_err(String::clone)?;
    let line = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = program.to_str().ok_or("paths of peers are UTF-8")?;
    let begin = Instant::now();
    let mut pty = Pty::spawn_program(home, &line, &[&[program], &arguments[..]].concat(), SIZE);
    pty.patience = Duration::from_secs(20);
    pty.wait_for(prompt);
    Ok((pty, begin.elapsed().as_secs_f64() * 1e3))
}

fn questions(bytes: &[u8]) -> f64 {
    let questions = QUESTIONS.iter();
    let count = questions.map(|question| memmem::find_iter(bytes, question).count());
    count.sum::<usize>() as f64
}

/// Types at the prompt of a program.
struct Typist {
    pty: Pty,
    typed: String,
    /// Bytes to the terminal and questions to it, of each single key.
    spent: Vec<(f64, f64)>,
}

impl Typist {
    fn start(home: &Home, program: &Result<Program, String>) -> Result<Typist, String> {
        let (pty, _) = start(home, program)?;
        let mut typist = Typist {
            pty,
            typed: String::new(),
            spent: Vec::new(),
        };
        // Whatever is asked and loaded at the start is over with the first echo.
        typist.write(1);
        typist.spent.clear();
        Ok(typist)
    }

    /// Types so many letters at once; the ms to the echo of the last.
    fn write(&mut self, letters: usize) -> f64 {
        let known = self.typed.len();
        let new = (known..known + letters).map(|at| char::from(b'a' + (at % 26) as u8));
        self.typed.extend(new);
        let tail = &self.typed[self.typed.len().saturating_sub(4)..];
        let sent = self.pty.raw_length();
        let begin = Instant::now();
        self.pty.send(&self.typed[known..]);
        self.pty
            .wait_until("the last key's echo", |screen| echoed(screen, tail));
        let elapsed = begin.elapsed().as_secs_f64() * 1e3;
        if letters == 1 {
            let sent = self.pty.raw().split_off(sent);
            self.spent.push((sent.len() as f64, questions(&sent)));
        }
        elapsed
    }
}

/// The line: our arguments are the program behind it.
pub fn carry() {
    let delay = std::env::var(CHILD).ok().and_then(|text| text.parse().ok());
    let delay = Duration::from_millis(delay.expect("a number of ms"));
    let mut words = std::env::args_os().skip(1);
    let program = words.next().expect("a program");
    let terminal = std::io::stdin();
    let mut modes = tcgetattr(&terminal).expect("a terminal");
    modes.make_raw();
    tcsetattr(&terminal, OptionalActions::Now, &modes).expect("our own terminal");
    let size = PtySize {
        cols: SIZE.0,
        rows: SIZE.1,
        ..PtySize::default()
    };
    let pair = native_pty_system()
        .openpty(size)
        .expect("a pseudo-terminal");
    let mut command = CommandBuilder::new(Path::new(&program));
    command.args(words);
    command.cwd(std::env::current_dir().expect("we were started in one"));
    command.env_remove(CHILD);
    let mut child = pair.slave.spawn_command(command).expect("a program");
    drop(pair.slave);
    let reader = pair.master.try_clone_reader().expect("its output");
    let writer = pair.master.take_writer().expect("its input");
    thread::spawn(move || delayed(terminal, writer, delay));
    delayed(reader, std::io::stdout(), delay);
    let _ = child.wait();
}

/// Copies until either side has left, each byte when it has been on its way for so long.
fn delayed(mut from: impl Read + Send + 'static, mut to: impl Write, delay: Duration) {
    let (sender, arriving) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let due = Instant::now() + delay;
            if sender.send((due, buffer[..count].to_vec())).is_err() {
                return;
            }
        }
    });
    for (due, bytes) in arriving {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}
