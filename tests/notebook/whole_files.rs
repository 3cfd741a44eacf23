//! Whole files or none: the program is killed while it writes a notebook, its system calls fail, links are planted,
//! somebody else writes meanwhile.
//!
//! In: how often. Out: what came of it. Invariants, after each try: the notebook is the old one, byte for byte, or the
//! new one; nothing else of the user's has changed; at most one file of ours is left, and goes with the next write.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::support::await_true;
use crate::support::home::{Home, Ran, finish};
use crate::support::peers;
use crate::support::random::Random;
use crate::support::strace::{Injection, can_trace, stops, traced, was_injected};

const SEED: u64 = 22;

/// What writes a notebook.
struct Writer {
    name: &'static str,
    arguments: &'static [&'static str],
    stdin: &'static str,
    target: &'static str,
}

const APPLIED: &str = "# %% [code] cell:0\nx = 2\n# %% [code] cell:1\nprint('y' * 200_000)\n\
                       # %% [markdown] cell:2\nText\n";

/// Rows: what it is, the notebook, the arguments, what it reads.
macro_rules! writers {
    ($($name:literal: $target:literal, $arguments:expr, $stdin:expr;)+) => {
        const WRITERS: &[Writer] =
            &[$(Writer { name: $name, arguments: &$arguments, stdin: $stdin, target: $target }),+];
    };
}

// `new.ipynb` is not there yet; the others are.
writers! {
    "edit": "a.ipynb", ["notebook", "edit", "a.ipynb", "--cell", "0", "--content", "x = 2"], "";
    "apply": "a.ipynb", ["notebook", "apply", "a.ipynb"], APPLIED;
    "apply to a new file": "new.ipynb", ["notebook", "apply", "new.ipynb"], "# %% [code]\nx = 2\n";
    "edit by the agent": "a.ipynb", [], ".go\n";
    "save": "saved.ipynb", ["-r", "1"], "%ipycodex save saved.ipynb\n";
    "save to a new file": "new.ipynb", ["-r", "1"], "%ipycodex save new.ipynb\n";
    "run -o": "saved.ipynb", ["run", "a.ipynb", "-o", "saved.ipynb"], "";
    "run -o of the file itself": "a.ipynb", ["run", "a.ipynb", "-o", "a.ipynb"], "";
}

/// A home with a notebook that has an output of so many bytes, and a session that has been saved and went on.
fn home(bytes: usize) -> Home {
    let mut home = Home::new();
    let output = json!({"name": "stdout", "output_type": "stream", "text": "o".repeat(bytes)});
    let code = |id: &str, source: &str, outputs: Value| {
        let mut cell = json!({"cell_type": "code", "execution_count": 1, "id": id, "metadata": {}});
        cell["outputs"] = outputs;
        cell["source"] = json!(source);
        cell
    };
    let cells = json!([
        code("a", "x = 1", json!([output])),
        code("b", "print('y' * 200_000)", json!([])),
        {"cell_type": "markdown", "id": "c", "metadata": {}, "source": "Text"},
    ]);
    let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    home.write("a.ipynb", notebook.to_string());
    home.write("notes.txt", "mine");
    home.write("below/b.ipynb", "{}");
    // Named like a file that a kill has left.
    let planted = home.work().join(".a.ipynb.ipycodex-1-0123456789abcdef");
    symlink("notes.txt", planted).unwrap();
    let edit = json!({"action": "edit", "path": "a.ipynb", "cell": 0, "content": "x = 2"});
    let script = home.path().join("script.json");
    let turns = json!([[{"call": "notebook", "arguments": edit}]]);
    fs::write(&script, turns.to_string()).unwrap();
    let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/asks.py");
    let python = peers::plain_python();
    let words = [python.to_str(), Some(fake), script.to_str()];
    let words = words.map(|word| word.unwrap());
    home.set("IPYAI_CODEX_CMD", shlex::try_join(words).unwrap());
    let first = format!("print('o' * {bytes})\n'''why'''\n%ipycodex save saved.ipynb\n");
    assert_eq!(home.run::<&str>(&[], first).code(), 0);
    let more = format!("print('p' * {bytes})\n");
    assert_eq!(home.run(&["-r", "1"], more).code(), 0);
    home
}

/// What the user has beside the notebook that is written: names, and bytes or where a link points.
type Others = BTreeMap<PathBuf, Result<Vec<u8>, PathBuf>>;

/// A writer at work in a home: what was there before, and what it makes.
struct Try<'a> {
    home: Home,
    writer: &'a Writer,
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    others: Others,
    took: Duration,
}

impl<'a> Try<'a> {
    fn new(home: Home, writer: &'a Writer) -> Self {
        let mut one = Try {
            old: fs::read(home.work().join(writer.target)).ok(),
            home,
            writer,
            new: Vec::new(),
            others: BTreeMap::new(),
            took: Duration::ZERO,
        };
        one.others = one.others_now();
        let begin = Instant::now();
        let ran = one.write();
        one.took = begin.elapsed();
        assert_eq!(ran.code(), 0, "{}: {ran:?}", writer.name);
        one.new = fs::read(one.path()).unwrap();
        assert!(
            Some(&one.new) != one.old.as_ref(),
            "{}: {ran:?}",
            writer.name
        );
        one.check("undisturbed");
        one
    }

    fn path(&self) -> PathBuf {
        self.home.work().join(self.writer.target)
    }

    fn write(&self) -> Ran {
        self.home.run(self.writer.arguments, self.writer.stdin)
    }

    fn restore(&self) {
        match &self.old {
            Some(old) => fs::write(self.path(), old).unwrap(),
            None => drop(fs::remove_file(self.path())),
        }
    }

    fn others_now(&self) -> Others {
        let mut others = Others::new();
        let left = self.left();
        let mut folders = vec![self.home.work(), self.home.path().join("home")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let is_ours = path == self.path() || path.ends_with("answers.jsonl");
                match fs::read_link(&path) {
                    Ok(goal) => drop(others.insert(path, Err(goal))),
                    Err(_) if path.is_dir() => folders.push(path),
                    Err(_) if is_ours || left.contains(&path) => {}
                    Err(_) => drop(others.insert(path.clone(), Ok(fs::read(&path).unwrap()))),
                }
            }
        }
        others
    }

    /// Files that a writer has left.
    fn left(&self) -> Vec<PathBuf> {
        let start = format!(".{}.ipycodex-", self.writer.target);
        let entries = fs::read_dir(self.home.work()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let left = paths.filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(&start) && !path.is_symlink()
        });
        left.collect()
    }

    /// Whether the new notebook is there, after what was done; fails when it is neither, or more was touched.
    fn check(&self, done: &str) -> bool {
        let context = || format!("{}, {done} (seed {SEED})", self.writer.name);
        let now = fs::read(self.path()).ok();
        let is_old = now == self.old;
        let is_new = now.as_ref().is_some_and(|now| self.is_new(now));
        assert!(
            is_old || is_new,
            "{}: torn: {:?}",
            context(),
            now.map(|now| now.len())
        );
        assert!(
            self.others_now() == self.others,
            "{}: another file",
            context()
        );
        let left = self.left();
        assert!(left.len() <= 1, "{}: {left:?}", context());
        is_new
    }

    fn is_new(&self, now: &[u8]) -> bool {
        // Times, and names of new cells, differ from time to time.
        let varies = self.writer.name.contains("run") || self.writer.name.contains("new");
        now == self.new || varies && sources_and_outputs(now, &self.new)
    }

    /// The next write: it is done, and nothing is left.
    fn write_again(&self, done: &str) {
        let ran = self.write();
        assert_eq!(ran.code(), 0, "{} after {done}: {ran:?}", self.writer.name);
        assert!(self.check(&format!("written again after {done}")), "{done}");
        assert_eq!(
            self.left(),
            [] as [&Path; 0],
            "{}, {done}",
            self.writer.name
        );
    }
}

/// True for a notebook with the cells of the other, and outputs as far as they have come.
fn sources_and_outputs(now: &[u8], whole: &[u8]) -> bool {
    let Ok(now) = serde_json::from_slice::<Value>(now) else {
        return false;
    };
    let whole: Value = serde_json::from_slice(whole).unwrap();
    let cells = |notebook: &Value| notebook["cells"].as_array().unwrap().clone();
    let text = |value: &Value| match value {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        value => value.as_str().unwrap_or_default().to_owned(),
    };
    let shown = |cell: &Value| -> String {
        let outputs = cell["outputs"].as_array().into_iter().flatten();
        outputs.map(|output| text(&output["text"])).collect()
    };
    let (now, whole) = (cells(&now), cells(&whole));
    now.len() == whole.len()
        && now.iter().zip(&whole).all(|(now, whole)| {
            text(&now["source"]) == text(&whole["source"]) && shown(whole).starts_with(&shown(now))
        })
}

/// Kills while something writes a notebook.
pub fn kills(count: u32) -> String {
    let tries: Vec<Try> = WRITERS
        .iter()
        .take(count as usize)
        .map(|writer| Try::new(home(1_000_000), writer))
        .collect();
    let mut random = Random::new(SEED);
    let [mut before, mut during, mut behind] = [0; 3];
    for kill in 0..count {
        let one = &tries[kill as usize % tries.len()];
        one.restore();
        let span = |most: Duration, random: &mut Random| {
            most.mul_f64(f64::from(random.within(0, 1000)) / 1000.0)
        };
        // Anywhere, or within a moment from when the new file begins to be written.
        let anywhere = random.percent(40);
        let most = if anywhere {
            one.took
        } else {
            Duration::from_millis(3)
        };
        let delay = span(most, &mut random);
        let stdin = one.home.path().join("stdin");
        fs::write(&stdin, one.writer.stdin).unwrap();
        let mut command = one.home.command(one.writer.arguments);
        command.stdin(File::open(stdin).unwrap());
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while !anywhere && one.left().is_empty() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_micros(50));
        }
        std::thread::sleep(delay);
        let killed = child.kill().is_ok();
        child.wait().unwrap();
        let done = format!("kill {kill} ({delay:?}, anywhere: {anywhere}, it ran: {killed})");
        let is_new = one.check(&done);
        match (is_new, one.left().is_empty()) {
            (_, false) => during += 1,
            (true, true) => behind += 1,
            (false, true) => before += 1,
        }
        one.write_again(&done);
    }
    assert!(
        count < 100 || during > count / 10,
        "{during} in the write itself"
    );
    format!(
        "the old or the new file each time ({before} before the write, {during} in it, {behind} behind it), nothing \
         else touched, what was left goes with the next write; seed {SEED}"
    )
}

/// Calls of a program that changes a notebook, or of those beneath it.
const CALLS: &[&str] = &[
    "openat",
    "read",
    "write",
    "close",
    "fstat",
    "newfstatat",
    "statx",
    "getdents64",
    "flock",
    "faccessat,faccessat2",
    "fchmod",
    "fchown",
    "flistxattr",
    "fgetxattr",
    "fsetxattr",
    "fsync",
    "renameat,renameat2",
    "unlinkat",
    "sync_file_range",
];

/// Each call of an edit fails: the first, the second, up to `most`.
pub fn failing_calls(most: u32) -> String {
    if !can_trace() {
        return "skipped: strace cannot be had".into();
    }
    let mut failed = [0, 0];
    for writer in [&WRITERS[0], &WRITERS[2]] {
        let one = Try::new(home(1000), writer);
        let calls = CALLS
            .iter()
            .flat_map(|call| (1..=most).map(move |number| (call, number)));
        let mut over = "";
        for (call, number) in calls {
            for error in ["EIO", "ENOSPC"] {
                if over == *call {
                    break;
                }
                one.restore();
                let what = format!("error={error}:when={number}");
                let injection = Injection {
                    call,
                    what: &what,
                    files: &[],
                };
                let command = traced(&one.home, &injection, writer.arguments);
                let ran = finish(command, writer.stdin.as_bytes());
                if !was_injected(&one.home) {
                    over = call;
                    continue;
                }
                let done = format!("{call}:{what}: {ran:?}");
                let is_new = one.check(&done);
                failed[usize::from(is_new)] += 1;
                assert!(!ran.stderr.contains("panicked"), "{done}");
                // What cannot be written cannot be said, either.
                let is_said = *call == "write" || !ran.stderr.is_empty();
                assert!(
                    if is_new {
                        ran.code() == 0 || is_said
                    } else {
                        ran.code() != 0 && is_said
                    },
                    "{done}"
                );
                one.write_again(&done);
            }
        }
    }
    let [old, new] = failed;
    format!(
        "{old} failing calls said, the old file as it was; {new} without harm, the new one whole"
    )
}

#[test]
fn what_others_write_meanwhile_is_never_overwritten() {
    if !can_trace() {
        return;
    }
    for writer in WRITERS {
        let one = Try::new(home(1000), writer);
        let tries = (0..5).find_map(|_| {
            one.restore();
            change_meanwhile(&one)
        });
        let ran = tries.expect("the file was being written");
        assert_eq!(
            fs::read(one.path()).unwrap(),
            b"theirs",
            "{}: {ran:?}",
            writer.name
        );
        assert_eq!(one.left(), [] as [&Path; 0], "{}", writer.name);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        let kept = if writer.arguments.first() == Some(&"run") {
            // Hours of work may be in it: it goes into a file beside.
            let stem = writer.target.strip_suffix(".ipynb").unwrap();
            let beside = one.home.work().join(format!("{stem}-2.ipynb"));
            assert!(
                sources_and_outputs(&fs::read(&beside).unwrap(), &one.new),
                "{said}"
            );
            fs::remove_file(beside).unwrap();
            "was changed by another program while the cells ran"
        } else {
            "another program changed it at the same moment; nothing was written"
        };
        // An agent is told itself.
        let answers = fs::read_to_string(one.home.work().join("answers.jsonl")).unwrap_or_default();
        assert!(
            said.contains(kept) || answers.contains(kept),
            "{}: {said} {answers}",
            writer.name
        );
        assert!(
            one.others_now() == one.others,
            "{}: another file",
            writer.name
        );
    }
}

/// Stops the writer when the new file has been written, but is not in its place; then somebody else writes. `None`:
/// it was let go on before that, for another of its threads.
fn change_meanwhile(one: &Try) -> Option<Ran> {
    let injection = Injection {
        call: "fsync",
        what: "signal=STOP",
        files: &[],
    };
    let mut command = traced(&one.home, &injection, one.writer.arguments);
    let [stdin, stdout, stderr] =
        ["stdin", "stdout", "stderr"].map(|name| one.home.path().join(name));
    fs::write(&stdin, one.writer.stdin).unwrap();
    command.stdin(File::open(&stdin).unwrap());
    command
        .stdout(File::create(&stdout).unwrap())
        .stderr(File::create(&stderr).unwrap());
    let mut child = command.spawn().unwrap();
    let group = Pid::from_raw(child.id().cast_signed()).unwrap();
    let (mut changed, mut seen) = (false, 0);
    let mut status = None;
    await_true("the end of the writer", || {
        let stopped = stops(&one.home);
        if stopped > seen {
            seen = stopped;
            // The record is written, too.
            if !changed && !one.left().is_empty() {
                fs::write(one.path(), "theirs").unwrap();
                changed = true;
            }
            let _ = kill_process_group(group, Signal::CONT);
        }
        status = child.try_wait().unwrap();
        status.is_some()
    });
    changed.then(|| Ran {
        status: status.unwrap(),
        stdout_bytes: fs::read(&stdout).unwrap(),
        stdout: fs::read_to_string(&stdout).unwrap(),
        stderr: fs::read_to_string(&stderr).unwrap(),
    })
}

#[test]
fn planted_links_are_refused_and_nothing_behind_them_is_touched() {
    let home = home(1000);
    let outside = home.path().join("outside");
    let shared = home.work().join("shared");
    for folder in [&outside, &shared] {
        fs::create_dir(folder).unwrap();
    }
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let notebook = fs::read(home.work().join("a.ipynb")).unwrap();
    let victim = outside.join("victim.ipynb");
    fs::write(&victim, &notebook).unwrap();
    fs::write(shared.join("goal.ipynb"), &notebook).unwrap();
    symlink(&victim, shared.join("link.ipynb")).unwrap();
    symlink(shared.join("goal.ipynb"), home.work().join("into.ipynb")).unwrap();
    symlink(
        outside.join("none.ipynb"),
        home.work().join("dangling.ipynb"),
    )
    .unwrap();
    symlink(&outside, home.work().join("away")).unwrap();
    for (link, why) in [
        (
            "shared/link.ipynb",
            "is a link in a directory that others can write",
        ),
        (
            "into.ipynb",
            "is a link into a directory that others own or can write",
        ),
        ("dangling.ipynb", "cannot follow"),
    ] {
        let save = format!("%ipycodex save -f {link}\n");
        let applied = APPLIED.replace("x = 2", "x = 3");
        let tries: [(&[&str], &str); 4] = [
            (
                &[
                    "notebook",
                    "edit",
                    link,
                    "--cell",
                    "0",
                    "--content",
                    "x = 3",
                ],
                "",
            ),
            (&["notebook", "apply", link], &applied),
            (&["-r", "1"], &save),
            (&["run", "a.ipynb", "-o", link], ""),
        ];
        for (arguments, stdin) in tries {
            let ran = home.run(arguments, stdin);
            // What is not there cannot be edited.
            let is_missing = ran.stderr.contains("Notebook not found: dangling.ipynb");
            assert!(
                ran.stderr.contains(why) || is_missing,
                "{arguments:?} {link}: {ran:?}"
            );
            assert_eq!(ran.code(), 1, "{arguments:?}: {ran:?}");
        }
    }
    // An agent that writes to a linked folder writes outside of the project.
    let edit =
        json!({"action": "edit", "path": "away/victim.ipynb", "cell": 0, "content": "x = 2"});
    let turns = json!([[{"call": "notebook", "arguments": edit}]]);
    fs::write(home.path().join("script.json"), turns.to_string()).unwrap();
    let ran = home.run::<&str>(&[], ".go\n");
    let answers = fs::read_to_string(home.work().join("answers.jsonl")).unwrap();
    assert!(
        answers.contains("nothing was written: the file is not below"),
        "{answers} {ran:?}"
    );
    for path in [&victim, &shared.join("goal.ipynb")] {
        assert!(fs::read(path).unwrap() == notebook, "{}", path.display());
    }
    let names = |folder: &Path| fs::read_dir(folder).unwrap().count();
    assert_eq!((names(&outside), names(&shared)), (1, 2));
}
