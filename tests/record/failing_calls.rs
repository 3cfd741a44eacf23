//! System calls on the record that fail, in turn: the shell goes on, what was there stays, what is lost is said.

use std::process::Command;
use std::time::Instant;

use super::*;
use crate::support::home::{Home, finish};

/// Calls that read or write a record, or the files beside it.
const CALLS: &[&str] = &[
    "openat",
    "fsync",
    "pwrite64",
    "pread64",
    "read",
    "ftruncate",
    "fcntl",
    "mmap",
    "unlink",
];

/// Every call on the record's files fails once, and from some time on: the first, the second, up to `most`.
pub fn in_turn(most: u32) -> String {
    let traced = Command::new("strace")
        .args(["-e", "trace=none", "true"])
        .output();
    if !traced.is_ok_and(|ran| ran.status.success()) {
        return "skipped: strace cannot be had".into();
    }
    let home = Home::new();
    assert_eq!(home.demo(&[], "old = 1\nprint('old')\n.old\n").code(), 0);
    let old = home.path().join("old");
    copy_files(home.history().parent().unwrap(), &old);
    let (mut failed, mut said) = (0, 0);
    for call in CALLS {
        for number in 1..=most {
            let mut reached = false;
            for (error, when) in [("EIO", ""), ("ENOSPC", ""), ("EIO", "+"), ("ENOSPC", "+")] {
                let injected = format!("inject={call}:error={error}:when={number}{when}");
                let Some(was_said) = one_failure(&home, &old, call, &injected) else {
                    continue;
                };
                reached = true;
                failed += 1;
                said += u32::from(was_said);
            }
            if !reached {
                break;
            }
        }
    }
    format!("{failed} failing calls, {said} told of; nothing old lost")
}

/// Whether something was said; `None`: there were fewer such calls.
fn one_failure(home: &Home, old: &Path, call: &str, injected: &str) -> Option<bool> {
    let path = home.history();
    let folder = path.parent().unwrap();
    fs::remove_dir_all(folder).unwrap();
    copy_files(old, folder);
    let log = home.path().join("calls");
    let mut arguments = vec![
        "-f".into(),
        "--seccomp-bpf".into(),
        "-qq".into(),
        "-o".into(),
    ];
    arguments.push(log.display().to_string());
    for part in [&format!("trace={call}"), injected] {
        arguments.extend(["-e".into(), part.to_owned()]);
    }
    for suffix in ["", "-wal", "-shm", "-journal"] {
        arguments.extend(["-P".into(), format!("{}{suffix}", path.display())]);
    }
    let program = env!("CARGO_BIN_EXE_ipycodex");
    arguments.extend([program, "--agent", "demo"].map(String::from));
    let begin = Instant::now();
    let command = home.foreign(
        Path::new("/usr/bin/env"),
        &[&["strace".into()], &arguments[..]].concat(),
    );
    let ran = finish(command, b"x = 1\nprint('new')\n.new\ny = 2\n");
    if !fs::read_to_string(&log).unwrap().contains("(INJECTED)") {
        return None;
    }
    assert!(begin.elapsed().as_secs() < 40, "{injected}: {ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{injected}: {ran:?}");
    assert!(
        ran.stdout.contains("new\n") && ran.stdout.contains("Demo answer"),
        "{injected}: {ran:?}"
    );
    assert_eq!(ran.code(), 0, "{injected}: {ran:?}");
    assert_eq!(
        text(&path, "PRAGMA integrity_check"),
        "ok",
        "{injected}: {ran:?}"
    );
    let kept = "SELECT count(*) FROM history WHERE session = 1 AND source LIKE '%old%'";
    assert_eq!(text(&path, kept), "3", "{injected}: {ran:?}");
    let new = "SELECT (SELECT count(*) FROM history WHERE session > 1) || ' ' || (SELECT count(*) FROM ai_prompts)";
    assert!(
        text(&path, new) == "4 2" || ran.stderr.contains("history"),
        "{injected}: lost, and not told of: {ran:?}"
    );
    Some(!ran.stderr.is_empty())
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
