//! Files that fail: full, read-only, of others, torn, flipped. The shell goes on, and the cause is said.

use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use super::*;
use crate::support::home::{Home, Ran, finish};
use crate::support::strace::skipped;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs a shell line that may use `$IPYCODEX` and `$HIST`, as a user to whom modes mean something.
fn shell(home: &Home, path: &Path, script: &str) -> Ran {
    let line = format!("set -e\n{script}");
    let mut command = if is_root() {
        home.foreign(
            Path::new("/usr/bin/setpriv"),
            &[
                "--reuid=65534",
                "--clear-groups",
                "--inh-caps=-all",
                "sh",
                "-c",
                &line,
            ],
        )
    } else {
        home.foreign(Path::new("/bin/sh"), &["-c", &line])
    };
    command
        .env("IPYCODEX", env!("CARGO_BIN_EXE_ipycodex"))
        .env("HIST", path);
    finish(command, b"")
}

/// A home another user can use too, and a folder of its own for the history.
fn open_home() -> (Home, PathBuf) {
    let home = Home::new();
    if is_root() {
        let owned = Command::new("chown")
            .args(["-R", "65534"])
            .arg(home.path())
            .status();
        assert!(owned.unwrap().success());
    }
    let path = home.path().join("state/history.sqlite");
    (home, path)
}

#[test]
fn modes_do_not_depend_on_the_umask() {
    let (home, _) = open_home();
    for umask in ["000", "077", "022"] {
        let path = home.path().join(format!("state/of-{umask}/history.sqlite"));
        let cell = "import os, stat, time\\np = os.environ['HIST']\\nwhile not os.path.exists(p + '-wal'): \
                    time.sleep(0.01)\\nprint([oct(stat.S_IMODE(os.stat(q).st_mode)) for q in (p, p + '-wal', p + \
                    '-shm', os.path.dirname(p))])";
        let script = format!(
            "umask {umask}; \"$IPYCODEX\" --hist-file \"$HIST\" -c \"$(printf \"{cell}\")\""
        );
        let ran = shell(&home, &path, &script);
        assert_eq!(
            ran.stdout.trim(),
            "['0o600', '0o600', '0o600', '0o700']",
            "umask {umask}: {}",
            ran.stderr
        );
    }
}

#[test]
fn files_of_no_use_are_left_alone_and_the_cause_is_said() {
    let run = "\"$IPYCODEX\" --hist-file \"$HIST\" -c 'print(6 * 7)'";
    let check = |prepare: &str, cause: &str, by_root: &str| {
        let (home, path) = open_home();
        if !by_root.is_empty() {
            if !is_root() {
                return skipped("only root makes a file of another user");
            }
            let line = format!("HIST={}\n{by_root}", path.display());
            assert!(
                Command::new("sh")
                    .args(["-c", &line])
                    .status()
                    .unwrap()
                    .success()
            );
        }
        let ran = shell(&home, &path, &format!("{prepare}\n{run}"));
        assert_eq!(
            (ran.stdout.as_str(), ran.code()),
            ("42\n", 0),
            "{cause}: {}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains("memory only"),
            "{cause}: {}",
            ran.stderr
        );
        assert!(ran.stderr.contains(cause), "{cause}: {}", ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        let resumed = shell(
            &home,
            &path,
            "\"$IPYCODEX\" --hist-file \"$HIST\" -r 1 -c 1 || echo refused",
        );
        assert!(
            resumed.stderr.contains("session 1 cannot be resumed"),
            "{cause}: {}",
            resumed.stderr
        );
        assert!(
            resumed.stderr.contains(cause),
            "{cause}: {}",
            resumed.stderr
        );
        assert_eq!(resumed.stdout, "refused\n");
    };
    check(
        "echo > \"$HIST\"; chmod 400 \"$HIST\"",
        "cannot be written",
        "",
    );
    check(
        "echo > \"$HIST\"; chmod 0 \"$HIST\"",
        "cannot be written",
        "",
    );
    check(
        "D=$(dirname \"$HIST\"); chmod 500 \"$D\"",
        "cannot be written",
        "",
    );
    check("", "cannot be written", "touch $HIST; chmod 600 $HIST");
    check(
        "",
        "belongs to another user",
        "touch $HIST; chmod 666 $HIST",
    );
}

#[test]
fn resuming_says_why_it_cannot_be() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "x", "");
    end(record, reports);
    let db = Connection::open(&path).unwrap();
    db.execute_batch("UPDATE ipycodex_meta SET value = '99'")
        .unwrap();
    let (record, reports) = start(&path, Some(1));
    let refused = wait(record.session()).unwrap_err();
    assert_eq!(refused.message, "session 1 cannot be resumed");
    assert!(
        refused.causes[0].contains("newer ipycodex (schema 99)"),
        "{refused}"
    );
    assert!(refused.hints[0].contains("update ipycodex"), "{refused}");
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(text(&path, "SELECT count(*) FROM history"), "1");
}

/// A file system of its own; `None` (said loudly) where mounting is not allowed. Unmounted on drop.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(options: &str) -> Option<Mounted> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(directory.path())
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Mounted(directory));
        }
        skipped("mounting a file system is not permitted");
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// Twenty cells and three prompts; each is in the conversation at once, whatever becomes of the file.
fn work(record: &RecordHandle, from: u32) {
    for line in from..from + 20 {
        cell(record, line, &format!("x{line}"), &"out".repeat(1000));
    }
    for line in from + 20..from + 23 {
        record.record_input(line, ".p", ".p");
        let turn = record.begin_prompt(PromptStart::new(line, line - 1, "p"));
        record.finish_prompt(
            turn,
            RecordedOutcome::Complete,
            &"answer".repeat(1000),
            None,
        );
    }
}

#[test]
fn a_full_disk_is_said_and_gets_over() {
    let Some(mounted) = Mounted::new("size=1m") else {
        return;
    };
    let path = mounted.0.path().join("history.sqlite");
    let (record, mut reports) = start(&path, None);
    cell(&record, 1, "before", "1");
    wait(record.flush());
    let ballast = mounted.0.path().join("ballast");
    let filled = fs::write(&ballast, vec![1; 2 << 20]);
    assert!(filled.is_err(), "there is room for 2 MiB on 1 MiB");
    work(&record, 2);
    let said = wait(reports.recv()).unwrap();
    assert!(said.message.contains("no room"), "{said}");
    let dialog = wait(record.dialog());
    assert_eq!((dialog.cells.len(), dialog.prompts.len()), (24, 3));
    assert_eq!(dialog.exchanges().len(), 3);
    fs::remove_file(&ballast).unwrap();
    let again = wait(reports.recv()).unwrap();
    assert!(again.message.contains("saved again"), "{again}");
    assert_eq!(wait(record.dialog()).cells.len(), 24);
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(text(&path, "SELECT count(*) FROM history"), "24");
    assert_eq!(text(&path, "SELECT count(*) FROM ai_prompts"), "3");
    assert_eq!(text(&path, "PRAGMA integrity_check"), "ok");
}

#[test]
fn a_disk_full_from_the_beginning_gets_over() {
    let Some(mounted) = Mounted::new("size=1m") else {
        return;
    };
    let ballast = mounted.0.path().join("ballast");
    assert!(fs::write(&ballast, vec![1; 2 << 20]).is_err());
    let path = mounted.0.path().join("history.sqlite");
    let (record, mut reports) = start(&path, None);
    assert_eq!(wait(record.session()).unwrap().number, 0);
    work(&record, 1);
    let said = wait(reports.recv()).unwrap();
    assert!(said.message.contains("no room"), "{said}");
    fs::remove_file(&ballast).unwrap();
    let again = wait(reports.recv()).unwrap();
    assert!(again.message.contains("saved again"), "{again}");
    assert_eq!(wait(record.session()).unwrap().number, 1);
    end(record, reports);
    assert_eq!(text(&path, "SELECT count(*) FROM history"), "23");
}

/// A small generator: the same points each time.
fn random(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1);
    *state >> 33
}

/// A log that was cut anywhere opens with a clean beginning of what was written.
pub fn torn_logs(cuts: u32) -> String {
    let (directory, path) = directory();
    let (record, reports) = start(&path, None);
    for line in 1..=120 {
        cell(&record, line, &format!("x{line}"), "1");
        wait(record.flush());
    }
    let base = fs::read(&path).unwrap();
    let log = fs::read(format!("{}-wal", path.display())).unwrap();
    end(record, reports);
    let mut state = 20_261_121;
    let mut lengths = Vec::new();
    for cut in 0..cuts {
        let torn = directory.path().join(format!("torn-{cut}/history.sqlite"));
        fs::create_dir(torn.parent().unwrap()).unwrap();
        fs::write(&torn, &base).unwrap();
        let length = random(&mut state) as usize % log.len();
        fs::write(format!("{}-wal", torn.display()), &log[..length]).unwrap();
        let (record, reports) = start(&torn, None);
        cell(&record, 1, "after", "1");
        let said = end(record, reports);
        assert_eq!(said, [] as [&str; 0], "cut at {length}");
        assert_eq!(
            text(&torn, "PRAGMA integrity_check"),
            "ok",
            "cut at {length}"
        );
        let last = text(
            &torn,
            "SELECT coalesce(max(line), 0) FROM history WHERE source LIKE 'x%'",
        );
        let count = text(
            &torn,
            "SELECT count(*) FROM history WHERE source = 'x' || line",
        );
        assert_eq!(last, count, "cut at {length}: not a clean beginning");
        assert_eq!(
            text(&torn, "SELECT count(*) FROM history WHERE source = 'after'"),
            "1"
        );
        lengths.push(count);
    }
    lengths.sort();
    lengths.dedup();
    assert!(lengths.len() > 10, "the cuts were all alike: {lengths:?}");
    format!("all open, at {} different lengths", lengths.len())
}

/// Names, bytes and times of what is in a directory.
fn traces(directory: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let paths = fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = paths.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let traces = paths.into_iter().map(|path| {
        let modified = path.metadata().unwrap().modified().unwrap();
        (path.clone(), fs::read(path).unwrap(), modified)
    });
    traces.collect()
}

/// How often `x` is found in the record, by somebody who only reads.
fn found(path: &Path) -> Result<usize, String> {
    let archive = Archive::open(path, Path::new("/none")).map_err(|report| report.to_string())?;
    let Some(mut archive) = archive else {
        return Ok(0);
    };
    let scope = ipycodex::record::Scope::All;
    let needle = ipycodex::text::needle::Needle::new("x");
    let hits = archive.search(&needle, &scope, i64::MAX, 100);
    let (hits, _) = hits.map_err(|report| report.to_string())?;
    Ok(hits.len())
}

#[test]
fn what_a_crash_leaves_is_read_to_its_last_commit_without_a_trace() {
    let (directory, path) = directory();
    let (record, reports) = start(&path, None);
    for line in 1..=40 {
        cell(&record, line, &format!("x{line}"), "1");
        wait(record.flush());
    }
    let beside = |path: &Path, suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let base = fs::read(&path).unwrap();
    let [log, index] = ["-wal", "-shm"].map(|suffix| fs::read(beside(&path, suffix)).unwrap());
    end(record, reports);
    let mut state = 7;
    let cuts = (0..60).map(|_| random(&mut state) as usize % log.len());
    let cuts = cuts.chain([0, 1, 31, 32, 33, 56, log.len() - 1, log.len()]);
    let mut counts = Vec::new();
    for (number, length) in cuts.enumerate() {
        let indices = [
            None,
            Some(&index[..]),
            Some(&index[..0]),
            Some(&index[..100]),
        ];
        for (kind, index) in indices.into_iter().enumerate() {
            let folder = directory.path().join(format!("torn-{number}-{kind}"));
            fs::create_dir(&folder).unwrap();
            let torn = folder.join("history.sqlite");
            fs::write(&torn, &base).unwrap();
            fs::write(beside(&torn, "-wal"), &log[..length]).unwrap();
            if let Some(index) = index {
                fs::write(beside(&torn, "-shm"), index).unwrap();
            }
            let before = traces(&folder);
            let count = found(&torn).unwrap_or_else(|said| panic!("cut at {length}: {said}"));
            assert!(
                traces(&folder) == before,
                "cut at {length}: it left a trace"
            );
            // What a writer makes of it.
            let whole = "SELECT count(*) FROM history WHERE source LIKE 'x%'";
            assert_eq!(
                count.to_string(),
                text(&torn, whole),
                "cut at {length}, index {kind}"
            );
            counts.push(count);
        }
    }
    counts.sort();
    counts.dedup();
    assert!(
        counts.len() > 10 && counts.last() == Some(&40),
        "{counts:?}"
    );
}

#[test]
fn a_change_that_was_cut_off_is_taken_back_without_a_trace() {
    let (directory, path) = directory();
    let (record, reports) = start(&path, None);
    for line in 1..=3 {
        cell(&record, line, &format!("x{line}"), "1");
    }
    end(record, reports);
    let db = Connection::open(&path).unwrap();
    // As on a network file system; what does not fit the cache goes to the file before the change is done.
    db.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN")
        .unwrap();
    db.execute_batch(
        "UPDATE history SET source = source || hex(randomblob(20000));
         CREATE TABLE more AS SELECT randomblob(3000) FROM history, history, history, history",
    )
    .unwrap();
    let cut = directory.path().join("cut");
    fs::create_dir(&cut).unwrap();
    let torn = cut.join("history.sqlite");
    for suffix in ["", "-journal"] {
        let from = format!("{}{suffix}", path.display());
        fs::copy(from, format!("{}{suffix}", torn.display())).unwrap();
    }
    drop(db);
    assert_ne!(
        fs::read(&torn).unwrap().len(),
        fs::read(&path).unwrap().len()
    );
    let before = traces(&cut);
    assert_eq!(found(&torn), Ok(3));
    assert!(traces(&cut) == before, "it left a trace");
}

#[test]
fn a_flipped_header_never_costs_the_old_bytes() {
    let (directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "needle = 1", "1");
    end(record, reports);
    let whole = fs::read(&path).unwrap();
    for at in 0..100 {
        let flipped = directory.path().join(format!("flip-{at}/history.sqlite"));
        fs::create_dir(flipped.parent().unwrap()).unwrap();
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(&flipped, &bytes).unwrap();
        let (record, reports) = start(&flipped, None);
        wait(record.session()).unwrap();
        cell(&record, 1, "y", "2");
        assert_eq!(wait(record.dialog()).cells.len(), 1, "byte {at}");
        end(record, reports);
        let kept = fs::read_dir(flipped.parent().unwrap())
            .unwrap()
            .any(|entry| {
                let bytes = fs::read(entry.unwrap().path()).unwrap();
                memchr::memmem::find(&bytes, b"needle = 1").is_some()
            });
        assert!(kept, "byte {at}: the old rows are gone");
    }
}
