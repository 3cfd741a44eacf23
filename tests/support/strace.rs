//! The program under `strace`, which makes system calls fail or stops it at them.
//!
//! In: a home, what to inject into which calls, and on which files. Out: a command that has not started; then whether
//! there was such a call.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::home::Home;

/// What to do to which call, as `strace -e inject=` spells it; on these files alone, or on all.
pub struct Injection<'a> {
    pub call: &'a str,
    /// `error=EIO:when=1`
    pub what: &'a str,
    pub files: &'a [PathBuf],
}

/// Says loudly that a test could not be done here; CI skips nothing.
pub fn skipped(why: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{why}");
    eprintln!("SKIPPED: {why}");
}

/// Whether this machine has it, and lets it trace.
pub fn can_trace() -> bool {
    let traced = Command::new("strace")
        .args(["-e", "trace=none", "true"])
        .output();
    let can = traced.is_ok_and(|ran| ran.status.success());
    if !can {
        skipped("strace cannot be had");
    }
    can
}

/// The program under test with all of its threads and children, not started.
pub fn traced(home: &Home, injection: &Injection, arguments: &[&str]) -> Command {
    let Injection { call, what, files } = injection;
    let log = log(home).display().to_string();
    let _ = std::fs::remove_file(&log);
    let (traced, injected) = (format!("trace={call}"), format!("inject={call}:{what}"));
    let mut all = vec!["strace", "-f", "-qq", "-o", &log];
    all.extend(["-e", &traced, "-e", &injected]);
    if what.starts_with("error") {
        // Much faster, but sends no signals.
        all.push("--seccomp-bpf");
    }
    for file in *files {
        all.extend(["-P", file.to_str().expect("paths of tests are UTF-8")]);
    }
    all.push(env!("CARGO_BIN_EXE_ipycodex"));
    all.extend(arguments);
    home.foreign(Path::new("/usr/bin/env"), &all)
}

/// Whether there was such a call, after the command has ended.
pub fn was_injected(home: &Home) -> bool {
    std::fs::read_to_string(log(home)).is_ok_and(|calls| calls.contains("(INJECTED)"))
}

/// How often threads of it were stopped by a signal, so far.
pub fn stops(home: &Home) -> usize {
    let calls = std::fs::read_to_string(log(home)).unwrap_or_default();
    calls.matches("--- stopped by SIGSTOP ---").count()
}

fn log(home: &Home) -> PathBuf {
    home.path().join("calls")
}
