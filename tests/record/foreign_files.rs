//! Files that are not ours, or not whole, under the name of the record: what a person named by mistake stays as it is.
//!
//! Everything below the home is compared: bytes, modes, times, and what lies in which directory; of the directory for
//! temporary files not its time, since copies are made there and removed.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use super::*;
use crate::support::home::Home;

/// Mode, time of change and content of everything below a directory, by path.
fn trace(directory: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let found = fs::symlink_metadata(&path).unwrap();
            let content = match () {
                () if found.is_dir() => {
                    directories.push(path.clone());
                    Vec::new()
                }
                () if found.is_file() => fs::read(&path).unwrap(),
                () => Vec::new(),
            };
            let times = match path.ends_with("tmp") {
                true => (0, 0),
                false => (found.mtime(), found.mtime_nsec()),
            };
            let of_it = (found.mode(), times.0, times.1, content);
            all.insert(path, of_it);
        }
    }
    all
}

fn same(
    what: &str,
    before: &BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)>,
    after: &BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)>,
) {
    for path in before.keys().chain(after.keys()) {
        let [before, after] = [before, after].map(|all| all.get(path));
        assert!(
            before == after,
            "{what}: {} was {:?}, is {:?}",
            path.display(),
            before.map(|found| (found.0, found.3.len())),
            after.map(|found| (found.0, found.3.len()))
        );
    }
}

/// A record of one session with `needle = 1`, whole in one file.
fn record(path: &Path) {
    let (record, reports) = start(path, None);
    cell(&record, 1, "needle = 1", "1");
    end(record, reports);
}

fn sql(path: &Path, text: &str) {
    Connection::open(path).unwrap().execute_batch(text).unwrap();
}

/// The database as it is while somebody writes to it, companions and all.
fn cut_off(path: &Path, text: &str) {
    let other = path.with_extension("open");
    let db = Connection::open(&other).unwrap();
    db.execute_batch(text).unwrap();
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let with = |path: &Path| format!("{}{suffix}", path.display());
        if Path::new(&with(&other)).exists() {
            fs::copy(with(&other), with(path)).unwrap();
        }
    }
    drop(db);
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(format!("{}{suffix}", other.display()));
    }
}

const NOTES: &str = "milk, eggs, call the bank\n";
const FOREIGN: &str =
    "CREATE TABLE passwords (site, word); INSERT INTO passwords VALUES ('a', 'b');";
const IPYTHONS: &str = "CREATE TABLE sessions (session integer primary key autoincrement, start timestamp,
        end timestamp, num_cmds integer, remark text);
    CREATE TABLE history (session integer, line integer, source text, source_raw text, PRIMARY KEY (session, line));
    CREATE TABLE output_history (session integer, line integer, output text, PRIMARY KEY (session, line));
    INSERT INTO sessions VALUES (1, '2026-01-01 10:00:00.000000', NULL, 1, '');
    INSERT INTO history VALUES (1, 1, 'needle = 1', 'needle = 1');";

type Make = fn(&Path);

/// What a file may be, and how it is made.
fn files() -> Vec<(&'static str, Make)> {
    fn damaged(path: &Path, from: usize) {
        record(path);
        let mut bytes = fs::read(path).unwrap();
        bytes[from..].fill(0xa5);
        fs::write(path, bytes).unwrap();
    }
    vec![
        ("nothing", |_| {}),
        ("notes", |path| fs::write(path, NOTES).unwrap()),
        ("a byte", |path| fs::write(path, "x").unwrap()),
        ("no byte", |path| fs::write(path, "").unwrap()),
        ("long notes", |path| {
            fs::write(path, NOTES.repeat(9000)).unwrap()
        }),
        ("a header alone", |path| {
            fs::write(path, "SQLite format 3\0").unwrap()
        }),
        ("a header and notes", |path| {
            fs::write(path, format!("SQLite format 3\0{}", NOTES.repeat(300))).unwrap();
        }),
        ("another program's", |path| sql(path, FOREIGN)),
        ("another program's, with a log", |path| {
            cut_off(path, &format!("PRAGMA journal_mode=WAL; {FOREIGN}"));
        }),
        ("another program's, its log tidied", |path| {
            sql(path, &format!("PRAGMA journal_mode=WAL; {FOREIGN}"));
        }),
        ("ours, its tables unreadable", |path| damaged(path, 100)),
        ("another program's, damaged", |path| {
            sql(path, FOREIGN);
            let mut bytes = fs::read(path).unwrap();
            let last = bytes.len() - 4096;
            bytes[last..].fill(0xa5);
            fs::write(path, bytes).unwrap();
        }),
        ("a directory", |path| fs::create_dir(path).unwrap()),
        ("a pipe", |path| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        }),
        ("a link to notes", |path| {
            let notes = path.with_file_name("linked.txt");
            fs::write(&notes, NOTES).unwrap();
            std::os::unix::fs::symlink(notes, path).unwrap();
        }),
        ("ours", |path| record(path)),
        ("ours, with a log", |path| {
            record(path);
            cut_off(path, IPYTHONS);
            sql(path, "PRAGMA journal_mode=WAL");
            let db = Connection::open(path).unwrap();
            db.execute_batch("INSERT INTO history VALUES (1, 2, 'needle = 2', 'needle = 2')")
                .unwrap();
            std::mem::forget(db);
        }),
        ("IPython's", |path| sql(path, IPYTHONS)),
        ("IPython's, in the middle of a change", |path| {
            sql(path, IPYTHONS);
            let lines = "PRAGMA cache_size = 1; BEGIN; WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n \
                         WHERE i < 3000)
                INSERT INTO history SELECT 1, i, 'x', 'x' FROM n;";
            let copy = path.with_extension("copy");
            fs::copy(path, &copy).unwrap();
            let db = Connection::open(&copy).unwrap();
            db.execute_batch(lines).unwrap();
            fs::copy(&copy, path).unwrap();
            let journal = |path: &Path| format!("{}-journal", path.display());
            fs::copy(journal(&copy), journal(path)).unwrap();
            drop(db);
            fs::remove_file(copy).unwrap();
        }),
        ("ours, of the first schema", |path| {
            sql(path, super::schemas::FIRST);
            sql(
                path,
                "INSERT INTO history VALUES (1, 3, 'needle = 1', 'needle = 1')",
            );
        }),
        ("a newer program's", |path| {
            record(path);
            sql(path, "UPDATE ipycodex_meta SET value = '99'");
        }),
    ]
}

/// A home with such a file in the working directory, as other programs leave one; by turns named in two ways.
fn home_with(make: Make, turn: usize) -> (Home, Vec<String>) {
    let mut home = Home::new();
    let path = home.work().join("notes.txt");
    make(&path);
    if fs::metadata(&path).is_ok_and(|found| found.is_file()) {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    }
    let path = path.to_string_lossy().into_owned();
    if turn.is_multiple_of(2) {
        return (home, vec!["--hist-file".into(), path]);
    }
    home.set("IPYCODEX_HIST_FILE", path);
    (home, Vec::new())
}

#[test]
fn what_only_reads_changes_nothing() {
    let commands: &[&[&str]] = &[
        &["sessions"],
        &["sessions", "--all", "--json"],
        &["search", "needle"],
        &["search", "--all", "needle", "--json"],
        &["export", "77", "-o", "out.md"],
        &["-r", "no such name", "-c", "1"],
        &["skills", "--json"],
        &["skills", "check", "."],
        &["skills", "show", "nothing"],
        &["sessions", "--help"],
        &["--version"],
    ];
    for (turn, (what, make)) in files().into_iter().enumerate() {
        let (home, named) = home_with(make, turn);
        let before = trace(&home.path());
        for command in commands {
            let arguments: Vec<&str> = named
                .iter()
                .map(String::as_str)
                .chain(command.iter().copied())
                .collect();
            let ran = home.run(&arguments, "");
            let shown = format!("{what}, {command:?}: {}{}", ran.stdout, ran.stderr);
            assert!(!ran.stderr.contains("panicked"), "{shown}");
            same(&shown, &before, &trace(&home.path()));
            let readable = what.starts_with("ours,") && !what.contains("unreadable")
                || what == "ours"
                || what.starts_with("IPython's");
            if command[0] == "search" && command.contains(&"--all") {
                assert_eq!(ran.code(), i32::from(!readable), "{shown}");
                assert_eq!(ran.stdout.contains("needle = 1"), readable, "{shown}");
            }
            let lists = command[0] == "sessions" && !command.contains(&"--help");
            let fit = readable || what == "nothing" || what == "no byte";
            if lists && !fit {
                assert_eq!(ran.code(), 1, "{shown}");
                assert!(ran.stderr.contains("notes.txt"), "{shown}");
                assert!(!ran.stderr.contains("new history file"), "{shown}");
            }
        }
    }
}

#[test]
fn what_is_no_record_is_refused_and_stays_as_it_is() {
    for (turn, (what, make)) in files().into_iter().enumerate() {
        let taken = what == "nothing"
            || what == "no byte"
            || what == "ours"
            || what.starts_with("IPython's")
            || what.starts_with("ours, with")
            || what.starts_with("ours, of");
        if taken {
            continue;
        }
        let (home, named) = home_with(make, turn);
        let before = trace(&home.work());
        let named = named.iter().map(String::as_str);
        let arguments: Vec<&str> = named.chain(["-c", "print(6 * 7)"]).collect();
        let ran = home.run(&arguments, "");
        let shown = format!("{what}: {}{}", ran.stdout, ran.stderr);
        assert_eq!((ran.stdout.as_str(), ran.code()), ("42\n", 0), "{shown}");
        assert!(
            ran.stderr.contains("history is kept in memory only"),
            "{shown}"
        );
        assert!(ran.stderr.contains("notes.txt"), "{shown}");
        assert!(ran.stderr.contains("hint: "), "{shown}");
        assert!(
            !what.contains("unreadable") || ran.stderr.contains(".recover"),
            "{shown}"
        );
        same(&shown, &before, &trace(&home.work()));
    }
}

#[test]
fn what_is_a_record_is_taken_and_made_private() {
    for (turn, (what, make)) in files().into_iter().enumerate() {
        if !(what == "no byte"
            || what == "ours"
            || what.starts_with("IPython's")
            || what.contains("schema"))
        {
            continue;
        }
        let (home, named) = home_with(make, turn);
        let named = named.iter().map(String::as_str);
        let arguments: Vec<&str> = named.chain(["-c", "after = 1"]).collect();
        let ran = home.run(&arguments, "");
        assert_eq!((ran.stderr.as_str(), ran.code()), ("", 0), "{what}");
        let path = home.work().join("notes.txt");
        assert_eq!(
            text(
                &path,
                "SELECT count(*) FROM history WHERE source = 'after = 1'"
            ),
            "1",
            "{what}"
        );
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600, "{what}");
    }
}

#[test]
fn a_record_that_is_damaged_is_renamed_also_where_the_user_named_it() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    for line in 1..=200 {
        cell(&record, line, &"x".repeat(200), "");
    }
    end(record, reports);
    let mut bytes = fs::read(&path).unwrap();
    // Its tables can be told; what is in them is gone.
    let last = bytes.len() - 32_768;
    bytes[last..].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let home = Home::new();
    let ran = home.run(
        &["--hist-file", &path.to_string_lossy(), "-c", "after = 1"],
        "",
    );
    assert!(
        ran.stderr
            .contains("was damaged: a new history file was begun"),
        "{}",
        ran.stderr
    );
    let names = fs::read_dir(path.parent().unwrap()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let kept = names.filter(|name| name.contains(".corrupt-") && name.ends_with('Z'));
    assert_eq!(kept.count(), 1);
    assert_eq!(
        text(&path, "SELECT group_concat(source) FROM history"),
        "after = 1"
    );
}

#[test]
fn a_record_overwritten_while_it_is_open_is_not_renamed_where_the_user_named_it() {
    let (_directory, path) = directory();
    let begin = SessionSpec {
        cwd: "/w".into(),
        resume: None,
        fork: None,
        provider: "codex".into(),
        once: false,
    };
    let opening = RecordOptions {
        path: path.clone(),
        named: true,
        record: true,
        leave_log: false,
    };
    let (record, reports) = open(opening, begin);
    cell(&record, 1, "x", "");
    wait(record.flush());
    // As `cp notes.txt history.sqlite` does: the same file with another content.
    fs::write(&path, NOTES.repeat(9000)).unwrap();
    fs::write(format!("{}-wal", path.display()), "").unwrap();
    for line in 2..50 {
        cell(&record, line, "y", "");
        wait(record.dialog());
    }
    let said = end(record, reports).concat();
    assert!(!said.contains("new history file"), "{said}");
    let beside: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("corrupt"))
        .collect();
    assert_eq!(beside, [] as [&str; 0], "{said}");
}

#[test]
fn a_look_at_the_record_of_a_running_shell_takes_none_of_its_locks_away() {
    let (directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "before", "");
    wait(record.flush());
    let mut archive = Archive::open(&path, directory.path()).unwrap().unwrap();
    archive.rename(1, "mine").unwrap();
    assert_eq!(archive.named("mine").unwrap(), [1]);
    drop(archive);
    // Another process that comes and goes would tidy the log away if it found the file held by nobody.
    let home = Home::new();
    let script = "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\n\
                  print(db.execute('select count(*) from history').fetchall())\ndb.close()";
    let python = home.path().join("bin/python3");
    let command = home.foreign(&python, &["-c", script, &path.to_string_lossy()]);
    let ran = crate::support::home::finish(command, b"");
    assert_eq!(ran.stdout, "[(1,)]\n", "{}", ran.stderr);
    cell(&record, 2, "after", "");
    wait(record.flush());
    assert_eq!(
        text(&path, "SELECT group_concat(source) FROM history"),
        "before,after"
    );
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(
        text(&path, "SELECT group_concat(source) FROM history"),
        "before,after"
    );
}
