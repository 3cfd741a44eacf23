//! System calls on the record that fail, in turn: the shell goes on, what was there stays, what is lost is said.

use std::time::Instant;

use super::*;
use crate::support::home::{Home, finish};
use crate::support::strace::{Injection, can_trace, traced, was_injected};

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
    if !can_trace() {
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
                let injected = format!("error={error}:when={number}{when}");
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
    let files = ["", "-wal", "-shm", "-journal"]
        .map(|suffix| PathBuf::from(format!("{}{suffix}", path.display())));
    let injection = Injection {
        call,
        what: injected,
        files: &files,
    };
    let begin = Instant::now();
    let command = traced(home, &injection, &["--agent", "demo"]);
    let ran = finish(command, b"x = 1\nprint('new')\n.new\ny = 2\n");
    if !was_injected(home) {
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
    let is_whole = text(&path, new) == "4 2";
    let said: Vec<&str> = ran.stderr.lines().collect();
    let shown = path.display();
    let delays = [
        format!(
            "history cannot be written to `{shown}` for now: it is kept in memory and written later: "
        ),
        format!("history is not being saved: no room for `{shown}`"),
    ];
    let lost = format!(" entries could not be written to `{shown}` and are lost");
    let is_delayed = |line: &str| delays.iter().any(|delay| line.starts_with(delay));
    let fits = match said.as_slice() {
        [] => is_whole,
        [delay, .., "history is being saved again"] => is_whole && is_delayed(delay),
        [delay, .., last] => !is_whole && is_delayed(delay) && last.ends_with(&lost),
        [_] => false,
    };
    assert!(fits, "{call}, {injected}: all there: {is_whole}: {ran:?}");
    Some(!said.is_empty())
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
