//! A peer that misbehaves under the real program, on a terminal and through a pipe.
//!
//! In: a home, a first input under which the fault happens, and what is to come of it. Out: nothing, or a failure that
//! names the fault. Invariant: each try ends within the patience of the harness, says what is wrong in words that name
//! the peer, takes `40 + 2` and a second prompt, leaves with a code that fits, and leaves no process behind.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::home::{Home, finish_within};
use super::pty::{Pty, cursor_line};
use super::{await_true, await_within};

/// What becomes of the first input.
#[derive(Debug, Clone, Copy)]
pub enum Outcome<'a> {
    /// It works, and shows this.
    Works(&'a str),
    /// It fails, and each of these words is said.
    Fails(&'a [&'a str]),
    /// As `Fails`; or it has failed before the prompt came, was started again for it, and shows this line: an agent
    /// starts while the prompt is typed.
    FailsEarly(&'a [&'a str], &'a str),
    /// Each of these words is said, with a hint; or it works, and shows this line: a kernel starts beside the prompt,
    /// and the input may run in the one after that.
    IsSaid(&'a [&'a str], &'a str),
    /// The interpreter dies of it, for this cause.
    Dies(&'a str),
    /// It shows this, and goes on until Ctrl-C.
    Stops(&'a str),
    /// It shows this, and goes on whatever it is told: the third Ctrl-C ends the interpreter, a second the program.
    Hangs(&'a str),
}

/// One fault.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub arguments: &'a [&'a str],
    /// The input under which the fault happens.
    pub first: &'a str,
    pub outcome: Outcome<'a>,
    /// Beside `40 + 2`, what works afterwards, and what it shows.
    pub second: (&'a str, &'a str),
}

impl<'a> Case<'a> {
    /// The case as it came, by what was said.
    fn settled(&self, said: &str) -> Case<'a> {
        let outcome = match self.outcome {
            Outcome::FailsEarly(words, _) if said.contains("error: ") => Outcome::Fails(words),
            Outcome::FailsEarly(_, line) => Outcome::Works(line),
            outcome => outcome,
        };
        Case { outcome, ..*self }
    }
}

/// How long one step may take: longer than any limit of the program's own.
const PATIENCE: Duration = Duration::from_secs(100);

/// Between two interrupts of a program that does not listen: the second within two seconds ends it.
const AGAIN: Duration = Duration::from_millis(300);

/// A wide terminal, so that no message is wrapped.
const SIZE: (u16, u16) = (300, 60);

/// Answers "no" to a question.
const NO: &str = "▸ n no";

/// Tries `count` of these on a terminal and through a pipe, from the first to the last; says how many.
///
/// # Panics
/// With all that failed.
pub fn both_ways<'a, T: Sync>(
    all: &'a [T],
    count: u32,
    name: impl Fn(&T) -> String + Sync,
    case: impl Fn(&'a T) -> (Home, Case<'a>) + Sync,
) -> String {
    in_both_ways(all, count, name, |one, terminal| {
        let (home, case) = case(one);
        if terminal {
            on_a_terminal(&home, &case);
        } else {
            through_a_pipe(&home, &case);
        }
    })
}

/// The same with a test of one's own, which is told whether it is to be on a terminal.
///
/// # Panics
/// As [`both_ways`].
pub fn in_both_ways<'a, T: Sync>(
    all: &'a [T],
    count: u32,
    name: impl Fn(&T) -> String + Sync,
    test: impl Fn(&'a T, bool) + Sync,
) -> String {
    let tried = spread(all, count, &name);
    let named = |(one, terminal): &(&T, bool)| {
        let way = if *terminal { "terminal" } else { "pipe" };
        format!("{} ({way})", name(one))
    };
    each(&tried, named, |(one, terminal)| test(one, *terminal));
    "each in bounded time and said, the next input works; on a terminal and piped".to_owned()
}

/// `count` of these, from the first to the last, each for a terminal and for a pipe. To look into a failure:
/// `IPYCODEX_FAULT=WORDS` takes those whose name has them.
fn spread<T>(all: &[T], count: u32, name: impl Fn(&T) -> String) -> Vec<(&T, bool)> {
    let count = count as usize;
    assert!(0 < count && count <= all.len(), "there are {}", all.len());
    let taken: Vec<&T> = match std::env::var("IPYCODEX_FAULT") {
        Ok(words) => all
            .iter()
            .filter(|one| name(one).contains(&words))
            .collect(),
        Err(_) => (0..count)
            .map(|index| &all[index * all.len() / count])
            .collect(),
    };
    taken
        .into_iter()
        .flat_map(|one| [(one, true), (one, false)])
        .collect()
}

/// Tries all of these, some at a time: most of it is waiting.
fn each<T: Sync>(all: &[T], name: impl Fn(&T) -> String + Sync, test: impl Fn(&T) + Sync) {
    let (next, failures) = (Mutex::new(all.iter()), Mutex::new(Vec::new()));
    let take = || next.lock().expect("nothing panics with it").next();
    std::thread::scope(|scope| {
        for _ in 0..all.len().min(6) {
            scope.spawn(|| {
                while let Some(one) = take() {
                    if let Err(why) = catch_unwind(AssertUnwindSafe(|| test(one))) {
                        let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
                        let mut failures = failures.lock().expect("nothing panics with it");
                        failures.push(format!("{}: {why}", name(one)));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("nothing panics with it");
    let (failed, all) = (failures.len(), all.len());
    assert!(failed == 0, "{failed} of {all}:\n{}", failures.join("\n"));
}

/// On a terminal.
fn on_a_terminal(home: &Home, case: &Case) {
    let mut pty = Pty::spawn(home, case.arguments, SIZE);
    pty.patience = PATIENCE;
    pty.at_line("In [1]:");
    pty.send_line(case.first);
    if let Outcome::Stops(shown) = case.outcome {
        pty.wait_for_anywhere(shown);
        pty.send("\x03");
    }
    if let Outcome::Hangs(shown) = case.outcome {
        pty.wait_for_anywhere(shown);
        pty.send("\x03\x03");
        pty.wait_for_anywhere("press Ctrl-C once more");
        pty.send("\x03");
        pty.wait_for_anywhere("the interpreter ended");
    }
    let over = |screen: &vt100::Screen| cursor_line(screen).starts_with("In [2]:");
    loop {
        pty.wait_until("the end, or a question", |screen| {
            over(screen) || screen.contents().contains(NO)
        });
        if pty.look(over) {
            break;
        }
        pty.send("n");
        pty.wait_until("the question gone", |screen| {
            over(screen) || !screen.contents().contains(NO)
        });
    }
    let said = pty.all_lines();
    let case = &case.settled(&said);
    check(case, &said);
    // A prompt that failed is there again, to be sent once more.
    let kept = format!("In [2]: {}", case.first);
    let expected = match case.outcome {
        Outcome::Fails(_) if case.first.starts_with('.') => kept.as_str(),
        _ => "In [2]:",
    };
    pty.at_line(expected);
    pty.send("\x15");
    pty.at_line("In [2]:");
    pty.send_line("40 + 2");
    pty.wait_for_anywhere("Out[2]: 42");
    pty.at_line("In [3]:");
    let (second, shows) = case.second;
    pty.send_line(second);
    pty.at_line("In [4]:");
    let rest = pty.all_lines();
    let (_, rest) = rest.rsplit_once("In [3]:").expect("it was there");
    assert!(rest.contains(shows), "the second shows {rest}");
    pty.send("\x04");
    assert_eq!(pty.exit_status().exit_code(), 0);
    await_true("no process is left", || pty.processes().is_empty());
}

/// Through a pipe.
fn through_a_pipe(home: &Home, case: &Case) {
    let (second, shows) = case.second;
    let rest = format!("40 + 2\n{second}\n");
    let (said, ran) = match case.outcome {
        Outcome::Stops(shown) | Outcome::Hangs(shown) => {
            let said = stopped(home, case, shown);
            (said, home.run(case.arguments, rest))
        }
        _ => {
            let input = format!("{}\n{rest}", case.first);
            let ran = finish_within(home.command(case.arguments), input.as_bytes(), PATIENCE);
            (format!("{}{}", ran.stdout, ran.stderr), ran)
        }
    };
    let case = &case.settled(&said);
    check(case, &said);
    match case.outcome {
        // The exit code is that of the cell, which may have ended well before.
        Outcome::Dies(_) | Outcome::IsSaid(..) => assert!(ran.code() <= 1, "{ran:?}"),
        Outcome::Fails(_) | Outcome::FailsEarly(..) => assert_eq!(ran.code(), 1, "{ran:?}"),
        Outcome::Works(_) | Outcome::Stops(_) | Outcome::Hangs(_) => {
            assert_eq!(ran.code(), 0, "{ran:?}");
        }
    }
    assert!(ran.stdout.contains("42\n"), "{ran:?}");
    assert!(ran.stdout.trim_end().ends_with(shows), "{ran:?}");
}

/// Interrupts the program once it has shown this; what it said by its end.
fn stopped(home: &Home, case: &Case, shown: &str) -> String {
    let mut command = home.command(case.arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn().expect("our program");
    let mut input = child.stdin.take().expect("piped above");
    input
        .write_all(format!("{}\n", case.first).as_bytes())
        .expect("it reads");
    let mut output = BufReader::new(child.stdout.take().expect("piped above"));
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains(shown) {
        let part = output.fill_buf().expect("a pipe can be read").to_owned();
        assert!(
            !part.is_empty(),
            "it ended: {:?}",
            String::from_utf8_lossy(&said)
        );
        output.consume(part.len());
        said.extend(part);
    }
    let process = Pid::from_raw(child.id().cast_signed()).expect("positive");
    kill_process(process, Signal::INT).expect("it runs");
    let reads = std::thread::spawn(move || output.read_to_end(&mut said).map(|_| said));
    let mut last = Instant::now();
    await_within("its end", PATIENCE, || {
        if matches!(case.outcome, Outcome::Hangs(_)) && last.elapsed() > AGAIN {
            kill_process(process, Signal::INT).expect("our child");
            last = Instant::now();
        }
        reads.is_finished()
    });
    let said = reads.join().expect("it reads").expect("a pipe can be read");
    let status = child.wait().expect("our child");
    let hangs = matches!(case.outcome, Outcome::Hangs(_));
    let ended = status.code() == Some(130) || hangs && status.signal() == Some(2);
    assert!(ended, "{status}");
    String::from_utf8_lossy(&said).into_owned()
}

fn check(case: &Case, said: &str) {
    let shown: String = said.chars().take(3000).collect();
    assert!(!said.contains("panicked"), "{shown}");
    let errors = said.matches("error: ").count();
    match case.outcome {
        Outcome::Works(words) => {
            assert!(said.contains(words) && errors == 0, "{shown}");
        }
        Outcome::Fails(words) => {
            for words in words {
                assert!(said.contains(words), "{words:?} is not said: {shown}");
            }
            assert!(errors == 1 && said.contains("hint: "), "{shown}");
        }
        Outcome::FailsEarly(..) => unreachable!("it is settled"),
        Outcome::IsSaid(_, line) if said.lines().any(|said| said == line) => {}
        Outcome::IsSaid(words, _) => {
            for words in words {
                assert!(said.contains(words), "{words:?} is not said: {shown}");
            }
            assert!(said.contains("hint: "), "{shown}");
        }
        Outcome::Dies(cause) => {
            let line = said
                .lines()
                .find(|line| line.contains("the interpreter ended"));
            assert!(line.is_some_and(|line| line.contains(cause)), "{shown}");
            assert!(
                said.contains("are lost") && said.contains("hint: "),
                "{shown}"
            );
        }
        Outcome::Stops(words) | Outcome::Hangs(words) => {
            assert!(said.contains(words) && errors == 0, "{shown}")
        }
    }
}
