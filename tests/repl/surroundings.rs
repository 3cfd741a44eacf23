//! Surroundings that lack something: calls that a container refuses, `/proc`, descriptors, a home, rights, a terminal.
//!
//! In: how many of them. Out: which were tried. Each is tried on a terminal and through a pipe. Invariants: a cell, a
//! prompt and a cell that fails work, are recorded and end with the right code, or what is missing is said. Absent on
//! purpose: what this machine itself does not have (no root, no namespaces, no filters); such rows are left out and
//! named.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::shell::{inputs, record};
use crate::support::await_true;
use crate::support::home::{Home, finish_within};
use crate::support::peers;
use crate::support::pty::Pty;

/// Longer than any limit of the program's own.
const PATIENCE: Duration = Duration::from_secs(100);

/// What becomes of the program.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    /// All works, and is in the record.
    Recorded,
    /// All works; the record is kept in memory, which is said.
    InMemory,
    /// It does not start, and says why.
    Refused,
}

use Outcome::{InMemory, Recorded, Refused};

/// Where the program is started.
#[derive(Clone, Copy)]
enum Place {
    /// By this line of a shell, which begins with `"$@"` what follows it.
    Shell(&'static str),
    /// The same with mounts of its own.
    Mounts(&'static str),
    /// Where these calls fail with this number.
    Without(i32, &'static [&'static str]),
}

use Place::{Mounts, Shell, Without};

struct Surrounding {
    name: &'static str,
    place: Place,
    /// Variables that differ: set, or not there.
    variables: &'static [(&'static str, Option<&'static str>)],
    outcome: Outcome,
    /// What is said.
    says: &'static str,
}

const fn row(
    name: &'static str,
    place: Place,
    variables: &'static [(&'static str, Option<&'static str>)],
    (outcome, says): (Outcome, &'static str),
) -> Surrounding {
    Surrounding {
        name,
        place,
        variables,
        outcome,
        says,
    }
}

const EPERM: i32 = 1;
const ENOSYS: i32 = 38;
const PIDFD: &[&str] = &["pidfd_open", "pidfd_send_signal", "pidfd_getfd"];
const LANDLOCK: &[&str] = &[
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
];
const NEW: &[&str] = &[
    "pidfd_open",
    "pidfd_send_signal",
    "pidfd_getfd",
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
    "close_range",
    "openat2",
    "faccessat2",
    "memfd_create",
    "io_uring_setup",
    "userfaultfd",
    "ptrace",
];
const ALL: &[&str] = &[
    "clone3",
    "pidfd_open",
    "pidfd_send_signal",
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
    "close_range",
    "openat2",
    "faccessat2",
];

const GOOD: (Outcome, &str) = (Recorded, "");
const HERE: Place = Shell(r#"exec "$@""#);
const NO_THREADS: (Outcome, &str) = (Refused, "refuses `clone3`");
const MEMORY: (Outcome, &str) = (InMemory, "history is kept in memory only");

/// The first of them are tried when there is time for a few only.
const SURROUNDINGS: &[Surrounding] = &[
    row(
        "64 descriptors",
        Shell(r#"ulimit -n 64; exec "$@""#),
        &[],
        GOOD,
    ),
    row(
        "no /proc",
        Mounts(r#"umount -l /proc; exec "$@""#),
        &[],
        GOOD,
    ),
    row("all calls, ENOSYS", Without(ENOSYS, ALL), &[], GOOD),
    row("all calls, EPERM", Without(EPERM, ALL), &[], NO_THREADS),
    row(
        "another user, hidepid=2",
        Mounts(
            r#"mount -t proc -o hidepid=2 proc /proc; exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@""#,
        ),
        &[],
        GOOD,
    ),
    row(
        "a read-only home",
        Mounts(r#"mount --bind "$HOME" "$HOME"; mount -o remount,ro,bind "$HOME"; exec "$@""#),
        &[
            ("XDG_CONFIG_HOME", None),
            ("XDG_STATE_HOME", None),
            ("XDG_CACHE_HOME", None),
            ("XDG_DATA_HOME", None),
            ("IPYTHONDIR", None),
        ],
        MEMORY,
    ),
    row("clone3, ENOSYS", Without(ENOSYS, &["clone3"]), &[], GOOD),
    row(
        "clone3, EPERM",
        Without(EPERM, &["clone3"]),
        &[],
        NO_THREADS,
    ),
    row("pidfd, ENOSYS", Without(ENOSYS, PIDFD), &[], GOOD),
    row("pidfd, EPERM", Without(EPERM, PIDFD), &[], GOOD),
    row("Landlock, ENOSYS", Without(ENOSYS, LANDLOCK), &[], GOOD),
    row("Landlock, EPERM", Without(EPERM, LANDLOCK), &[], GOOD),
    row("new calls, ENOSYS", Without(ENOSYS, NEW), &[], GOOD),
    row("new calls, EPERM", Without(EPERM, NEW), &[], GOOD),
    row(
        "close_range, ENOSYS",
        Without(ENOSYS, &["close_range"]),
        &[],
        GOOD,
    ),
    row(
        "close_range, EPERM",
        Without(EPERM, &["close_range"]),
        &[],
        GOOD,
    ),
    row(
        "memfd_create, ENOSYS",
        Without(ENOSYS, &["memfd_create"]),
        &[],
        GOOD,
    ),
    row(
        "memfd_create, EPERM",
        Without(EPERM, &["memfd_create"]),
        &[],
        GOOD,
    ),
    row("seccomp, EPERM", Without(EPERM, &["seccomp"]), &[], GOOD),
    row(
        "hidepid=2",
        Mounts(r#"mount -t proc -o hidepid=2 proc /proc; exec "$@""#),
        &[],
        GOOD,
    ),
    row(
        "another user",
        Shell(r#"exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@""#),
        &[],
        GOOD,
    ),
    row(
        "another user, no /proc",
        Mounts(r#"umount -l /proc; exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@""#),
        &[],
        GOOD,
    ),
    row("no HOME", HERE, &[("HOME", None)], GOOD),
    row(
        "HOME is nowhere",
        HERE,
        &[("HOME", Some("/nonexistent"))],
        GOOD,
    ),
    row(
        "the C locale",
        HERE,
        &[("LANG", Some("C")), ("LC_ALL", Some("C"))],
        GOOD,
    ),
    row("no locale", HERE, &[("LANG", None)], GOOD),
    row("a dumb terminal", HERE, &[("TERM", Some("dumb"))], GOOD),
    row("no TERM", HERE, &[("TERM", None)], GOOD),
    row(
        "an unknown TERM",
        HERE,
        &[("TERM", Some("\u{fffd}nothing"))],
        GOOD,
    ),
    row(
        "TMPDIR is gone",
        HERE,
        &[("TMPDIR", Some("/nonexistent/tmp"))],
        GOOD,
    ),
    row(
        "no XDG_RUNTIME_DIR",
        HERE,
        &[("XDG_RUNTIME_DIR", None)],
        GOOD,
    ),
    row(
        "16 MB for each stack",
        Shell(r#"ulimit -s 16384; exec "$@""#),
        &[],
        GOOD,
    ),
    row(
        "files of 64 MiB at most",
        Shell(r#"ulimit -f 131072; exec "$@""#),
        &[],
        GOOD,
    ),
];

pub fn surroundings(count: u32) -> String {
    let mut left_out = Vec::new();
    let mut tried = 0;
    for surrounding in SURROUNDINGS.iter().take(usize::try_from(count).unwrap()) {
        let home = home(surrounding);
        if let Some(why) = lacks(&home, surrounding.place) {
            left_out.push(format!("{}: {why}", surrounding.name));
            continue;
        }
        through_a_pipe(&home, surrounding);
        drop(home);
        on_a_terminal(&self::home(surrounding), surrounding);
        tried += 1;
    }
    let left_out = match left_out.is_empty() {
        true => String::new(),
        false => format!("; left out: {}", left_out.join("; ")),
    };
    format!("{tried} of them, each on a terminal and piped: nothing lost, or said{left_out}")
}

/// A home that any user can use.
fn home(surrounding: &Surrounding) -> Home {
    let mut home = Home::new();
    for (name, value) in surrounding.variables {
        match value {
            Some(value) => home.set(name, value),
            None => home.unset(name),
        }
    }
    if others(surrounding.place) {
        // Its owner is to be the one who starts the program.
        let owned = Command::new("chown")
            .args(["-R", "65534:65534"])
            .arg(home.path())
            .status();
        assert!(owned.is_ok_and(|status| status.success()), "it is ours");
    }
    home
}

/// True where somebody else starts the program.
fn others(place: Place) -> bool {
    matches!(place, Shell(line) | Mounts(line) if line.contains("setpriv"))
}

/// The words before the program and its arguments.
fn before(place: Place) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match place {
        Shell(line) => words(&["/bin/sh", "-ec", line, "sh"]),
        Mounts(line) => words(&["unshare", "-m", "/bin/sh", "-ec", line, "sh"]),
        Without(errno, calls) => {
            let python = peers::plain_python();
            let filter = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/without.py");
            let (errno, calls) = (errno.to_string(), calls.join(","));
            words(&[python.to_str().unwrap(), filter, &errno, &calls])
        }
    }
}

/// Why this machine cannot try this place; `None` when it can.
fn lacks(home: &Home, place: Place) -> Option<String> {
    let words = before(place);
    let ran = home
        .foreign(Path::new(&words[0]), &words[1..])
        .arg("true")
        .output();
    match ran {
        Ok(ran) if ran.status.success() => None,
        Ok(ran) => Some(String::from_utf8_lossy(&ran.stderr).trim().to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// The program, its arguments and what comes before it.
fn words(surrounding: &Surrounding) -> Vec<String> {
    let mut words = before(surrounding.place);
    words.extend([env!("CARGO_BIN_EXE_ipycodex"), "--agent", "demo"].map(str::to_owned));
    if others(surrounding.place) {
        // Ours may lie where nobody else may look.
        words.extend(["--python", "/usr/bin/python3"].map(str::to_owned));
    }
    words
}

fn through_a_pipe(home: &Home, surrounding: &Surrounding) {
    let words = words(surrounding);
    let command = home.foreign(Path::new(&words[0]), &words[1..]);
    let ran = finish_within(command, b"40 + 2\n.hello\n1/0\n", PATIENCE);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let what = format!("{} (pipe)", surrounding.name);
    assert_eq!(ran.code(), 1, "{what}: {ran:?}");
    judge(&what, &said, surrounding);
    kept(&what, home, surrounding);
}

fn on_a_terminal(home: &Home, surrounding: &Surrounding) {
    let words = words(surrounding);
    let what = format!("{} (terminal)", surrounding.name);
    let mut pty = Pty::spawn_program(home, Path::new(&words[0]), &words[1..], (200, 60));
    pty.patience = PATIENCE;
    let mut code = 1;
    if surrounding.outcome != Refused {
        for (number, line) in [(1, "40 + 2"), (2, ".hello"), (3, "1/0")] {
            pty.at_line(&format!("In [{number}]:"));
            pty.send_line(line);
        }
        pty.at_line("In [4]:");
        pty.send("\x04");
        code = 0;
    }
    let status = pty.exit_status();
    pty.read_to_end();
    let said = pty.all_lines();
    assert_eq!(status.exit_code(), code, "{what}: {said}");
    judge(&what, &said, surrounding);
    await_true(&format!("{what}: no process is left"), || {
        pty.processes().is_empty()
    });
    kept(&what, home, surrounding);
}

fn judge(what: &str, said: &str, surrounding: &Surrounding) {
    assert!(!said.contains("panicked"), "{what}: {said}");
    assert!(said.contains(surrounding.says), "{what}: {said}");
    for shown in ["42", "no AI", "ZeroDivisionError"] {
        let there = said.contains(shown);
        assert_eq!(
            there,
            surrounding.outcome != Refused,
            "{what}, {shown}: {said}"
        );
    }
    // Nothing else is wrong.
    let errors = said.matches("error: ").count();
    let expected = usize::from(surrounding.outcome == Refused);
    assert_eq!(errors, expected, "{what}: {said}");
}

fn kept(what: &str, home: &Home, surrounding: &Surrounding) {
    match surrounding.outcome {
        Recorded => {
            let record = record(&home.history());
            assert_eq!(inputs(&record), ["40 + 2", ".hello", "1/0"], "{what}");
        }
        InMemory | Refused => assert!(!home.history().exists(), "{what}"),
    }
}
