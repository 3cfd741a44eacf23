//! Files are put back with the steps that changed them, as the user sees it; what others wrote stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::checkpoints::{await_copy, cell, settled};
use super::shell::{CTRL_C, Shell, with_settings};
use super::shell_mode::ALT_S;
use crate::support::home::Home;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply};
use crate::support::{await_true, peers};

const WIDE: (u16, u16) = (160, 60);

/// Before the first cell, with a copy to step back to and all files read.
fn start(settings: &str, fill: impl FnOnce(&Home)) -> Shell {
    let home = with_settings(settings);
    fill(&home);
    let shell = Shell::start(home, &["--agent", "demo"], WIDE);
    shell.at(1);
    await_true("a copy before any cell", || settled(&shell.home) == 2);
    shell
}

fn read(shell: &Shell, name: &str) -> Option<String> {
    fs::read_to_string(shell.home.work().join(name)).ok()
}

/// What the working directory holds.
fn held(work: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![work.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                all.insert(path.clone(), b"a directory".to_vec());
                folders.push(path);
            } else {
                all.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[test]
fn a_step_back_shows_what_would_change_and_puts_it_back_after_a_yes() {
    let shell = start("{}", |home| {
        home.write("data.csv", "a\n1\n");
        home.write("old.txt", "old\n");
    });
    let before = held(&shell.home.work());
    cell(&shell, 1, "x = 1");
    cell(&shell, 2, "x = open('data.csv', 'a').write('2\\n')");
    cell(
        &shell,
        3,
        "!rm old.txt; mkdir -p out; echo made > out/new.txt",
    );
    shell.cell(4, "%ipycodex changes");
    shell.shows(
        "In [2]  changed  data.csv\nIn [3]  removed  old.txt\n        created  out\n        created  out/new.txt\n",
    );
    shell.cell(5, "%ipycodex changes 2");
    shell.shows("changed data.csv\n--- data.csv (before)\n+++ data.csv (after)\n@@ -1,2 +1,3 @@\n a\n 1\n+2\n");
    shell.at(6);
    shell.pty.send_line("%ipycodex back 2");
    shell.pty.wait_for("▸ n no, leave it");
    shell.shows(
        "? Files were changed since then\n    put back data.csv\n    bring back old.txt\n    remove out\n    remove \
         out/new.txt\nPut the files back, too?\n",
    );
    shell.pty.send("d");
    shell.shows("--- data.csv (now)\n+++ data.csv (then)\n@@ -1,3 +1,2 @@\n a\n 1\n-2\n");
    shell.shows("--- out/new.txt (now)\n");
    shell.pty.wait_for("▸ n no, leave it");
    assert_eq!(read(&shell, "data.csv").unwrap(), "a\n1\n2\n");
    shell.pty.send("y");
    shell.at(7);
    shell.shows("4 files put back\n");
    assert_eq!(held(&shell.home.work()), before);
    shell.cell(7, "%ipycodex changes 2");
    shell.pty.send_line("%ipycodex forward");
    shell.pty.wait_for("▸ n no, leave it");
    shell.shows("? The step back put files back\n");
    shell.pty.send("y");
    shell.at(9);
    shell.shows("4 files put back as before the step\n");
    assert_eq!(read(&shell, "data.csv").unwrap(), "a\n1\n2\n");
    assert_eq!(read(&shell, "out/new.txt").unwrap(), "made\n");
    // A no leaves all, and the step stands.
    shell.pty.send_line("%ipycodex back 3");
    shell.pty.wait_for("▸ n no, leave it");
    shell.pty.send("n");
    shell.at(10);
    shell.shows("files stay as they are\n");
    assert_eq!(read(&shell, "old.txt"), None);
    assert_eq!(shell.leave(), 0);
    let left = fs::read_dir(shell.home.path().join("state/ipycodex/files"));
    assert_eq!(
        left.unwrap().count(),
        0,
        "what was kept goes with the shell"
    );
}

#[test]
fn what_others_changed_since_stays_and_can_be_merged() {
    let lines: String = (0..9).map(|line| format!("line {line}\n")).collect();
    let shell = start("{}", |home| {
        home.write("a.txt", &lines);
        home.write("b.txt", &lines);
    });
    cell(
        &shell,
        1,
        "for name in 'ab': t = open(name + '.txt').read(); _ = open(name + '.txt', 'w').write('ours\\n' + t)",
    );
    // In the same lines, and in others.
    shell.home.write("a.txt", format!("theirs\n{lines}"));
    shell.home.write("b.txt", format!("ours\n{lines}theirs\n"));
    shell.at(2);
    shell.pty.send_line("%ipycodex back");
    shell.pty.wait_for("▸ n no, leave it");
    shell.shows(
        "    b.txt was changed since, too: can be merged\n    a.txt stays as it is: it has been changed since\n",
    );
    shell.lacks("y yes, put back");
    shell.pty.send("m");
    shell.at(3);
    shell.shows("1 file put back\n");
    shell.shows("`a.txt` stays as it is: it has been changed since\n");
    assert_eq!(read(&shell, "a.txt").unwrap(), format!("theirs\n{lines}"));
    assert_eq!(read(&shell, "b.txt").unwrap(), format!("{lines}theirs\n"));
}

#[test]
fn the_setting_decides_whether_it_is_asked() {
    let shell = start(r#"{"rewind_files": "always"}"#, |home| {
        home.write("a", "1");
    });
    cell(&shell, 1, "n = open('a', 'w').write('2')");
    shell.cell(2, "%ipycodex back");
    shell.shows("1 file put back: put back a\n");
    assert_eq!(read(&shell, "a").unwrap(), "1");
    shell.cell(3, "%ipycodex set rewind_files off");
    cell(&shell, 4, "n = open('a', 'w').write('3')");
    shell.cell(5, "%ipycodex back");
    shell.shows("not taken back: what was written to ");
    assert_eq!(read(&shell, "a").unwrap(), "3");
    shell.cell(6, "%ipycodex changes");
    shell.shows("No changes of files are kept: `rewind_files` is off.");
}

#[test]
fn the_working_directory_itself_comes_back_and_the_interpreter_is_in_it() {
    let shell = start("{}", |home| {
        home.write("in/it.txt", "kept\n");
    });
    cell(&shell, 1, "import os, shutil; shutil.rmtree(os.getcwd())");
    shell.at(2);
    shell.pty.send_line("%ipycodex back");
    shell.pty.wait_for("▸ n no, leave it");
    shell.pty.send("y");
    shell.at(3);
    shell.cell(3, "print(open('in/it.txt').read())");
    shell.shows("\nkept\n");
}

#[test]
fn commands_of_shell_mode_are_steps_too() {
    let shell = start("{}", |home| {
        home.write("a.txt", "one\n");
    });
    cell(&shell, 1, "x = 1");
    shell.pty.send(ALT_S);
    super::shell_mode::command(&shell, 2, "sed -i s/one/two/ a.txt");
    shell.pty.send(ALT_S);
    shell.cell(3, "%ipycodex changes");
    shell.shows("In [2]  changed  a.txt\n");
    cell(&shell, 4, "x = 2");
    shell.pty.send_line("%ipycodex back 1");
    shell.pty.wait_for("▸ n no, leave it");
    shell.pty.send("y");
    shell.at(6);
    assert_eq!(read(&shell, "a.txt").unwrap(), "one\n");
}

#[test]
fn ctrl_c_at_the_question_leaves_files_as_they_are() {
    let shell = start("{}", |home| {
        home.write("a.txt", "one\n");
    });
    cell(&shell, 1, "n = open('a.txt', 'w').write('two')");
    shell.at(2);
    shell.pty.send_line("%ipycodex back");
    shell.pty.wait_for("▸ n no, leave it");
    shell.pty.send(CTRL_C);
    shell.at(3);
    assert_eq!(read(&shell, "a.txt").unwrap(), "two");
    shell.cell(3, "1 + 1");
    shell.shows("Out[3]: 2");
}

/// The real Codex changes files by a patch and by a command, the user changes another meanwhile.
#[test]
fn an_undone_exchange_takes_the_agents_changes_along() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-one = 1\n+one = 2\n*** Add File: new.py\n+new = 1\n\
                 *** End Patch\n";
    let endpoint = Endpoint::script(vec![
        Reply::Stream(vec![
            Event::Custom("c1".into(), "apply_patch".into(), patch.into()),
            Event::Completed([1, 0, 1, 0]),
        ]),
        Reply::calls(&[(
            "c2",
            "exec_command",
            json!({"cmd": "sed -i s/red/blue/ b.txt; rm c.txt"}),
        )]),
        Reply::Stream(vec![
            Event::Message(vec!["Almost ".into()], None),
            Event::Hold,
            Event::Message(vec!["done.".into()], None),
            Event::Completed([1, 0, 1, 0]),
        ]),
        Reply::text("again"),
    ]);
    let home = with_settings(r#"{"sandbox": "danger-full-access"}"#);
    for (name, text) in [
        ("a.py", "one = 1\n"),
        ("b.txt", "red\n"),
        ("c.txt", "c\n"),
        ("mine.txt", "1\n"),
    ] {
        home.write(name, text);
    }
    let before = held(&home.work());
    endpoint.write_home(&home.codex(), "gpt-5.5");
    home.install("codex", codex);
    let shell = Shell::start(home, &["--agent", "codex"], WIDE);
    shell.at(1);
    await_copy(&shell, || shell.cell(1, "x = 1"));
    shell.pty.send_line(".change them");
    shell.pty.wait_for("Almost");
    // While the agent writes its answer, the user works on.
    shell.home.write("mine.txt", "2\n");
    endpoint.release();
    shell.at(3);
    assert_eq!(read(&shell, "b.txt").unwrap(), "blue\n");
    shell.cell(3, "%ipycodex changes");
    shell.shows("In [2], the agent  changed  a.py\n");
    shell.pty.send_line("%ipycodex undo");
    shell.pty.wait_for("▸ n no, leave it");
    shell.shows(
        "    put back a.py\n    put back b.txt\n    bring back c.txt\n    remove new.py\nPut the files back, too?\n",
    );
    shell.pty.send("y");
    shell.at(5);
    shell.shows("Taken out of the conversation: [2] change them");
    let mut expected = before;
    expected.insert(shell.home.work().join("mine.txt"), b"2\n".to_vec());
    assert_eq!(held(&shell.home.work()), expected);
}

/// After a cell, In [1], and an exchange that ran a cell, which changed `a.txt`.
fn with_a_file_of_the_agent() -> Shell {
    let shell = start(r#"{"run_cells": "auto"}"#, |home| {
        home.write("a.txt", "one\n");
    });
    cell(&shell, 1, "x = 1");
    await_copy(&shell, || {
        shell
            .pty
            .send_line(".run `n = open('a.txt', 'w').write('two')`");
        shell.at(4);
    });
    shell
}

#[test]
fn an_edited_prompt_says_what_becomes_of_files_before_the_yes() {
    let shell = with_a_file_of_the_agent();
    shell.pty.send_line("%ipycodex edit 2");
    shell.pty.wait_for("(replaces In [2] and after)");
    shell.pty.send("\x15");
    shell.pty.send_line(".hello");
    shell.pty.wait_for("▸ n no, leave it");
    shell.shows("  files: 1 file put back\n    put back a.txt\n");
    shell.pty.send("y");
    shell.at(6);
    shell.shows("1 file put back: put back a.txt\n");
    assert_eq!(read(&shell, "a.txt").unwrap(), "one\n");
}

#[test]
fn a_fork_takes_back_an_exchange_that_it_shares_with_the_files_of_that() {
    let shell = with_a_file_of_the_agent();
    shell.pty.send_line("%ipycodex fork");
    shell.shows("Session 2 is a fork of session 1");
    shell.pty.send_line("%ipycodex undo");
    // The exchange has run a cell: first the interpreter, then the files.
    shell.pty.wait_for("▸ n no, leave it");
    shell.pty.send("y");
    shell.shows("Put the files back, too?");
    shell.pty.wait_for("▸ n no, leave it");
    shell.pty.send("y");
    shell.shows("1 file put back");
    assert_eq!(read(&shell, "a.txt").unwrap(), "one\n");
}

/// A random program of cells, commands and turns that change files, and of others who do.
struct Program<'a> {
    shell: &'a Shell,
    /// Its directory, below the working directory.
    name: String,
    random: u64,
    /// The number of the next input.
    number: u32,
    /// What others wrote.
    tokens: Vec<String>,
}

impl Program<'_> {
    fn pick(&mut self, most: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.random >> 33) % most
    }

    fn folder(&self) -> PathBuf {
        self.shell.home.work().join(&self.name)
    }

    /// Runs one step; returns its number.
    fn step(&mut self, value: u32) -> u32 {
        let (at, name) = (self.number, self.name.clone());
        let file = ["a", "b", "d/c"][self.pick(3) as usize];
        let file = format!("{name}/{file}");
        let code = match self.pick(4) {
            0 => format!("open('{file}', 'w').write('{value} ' * 9 + chr(10))"),
            1 => format!("open('{file}', 'a').write('more {value}' + chr(10))"),
            2 => format!("os.path.exists('{file}') and os.remove('{file}')"),
            _ => format!("os.path.exists('{file}') and os.rename('{file}', '{name}/moved')"),
        };
        let shell = self.shell;
        match self.pick(4) {
            0 => {
                await_copy(shell, || {
                    shell.cell(at, &format!("x = {value}; done = {code}"))
                });
                self.number += 1;
            }
            1 => {
                let command = format!(
                    "echo by a command {value} >> {file}; cp {file} {name}/d/copy; chmod 600 {file}"
                );
                await_copy(shell, || {
                    shell.cell(at, &format!("x = {value}; done = os.system('{command}')"))
                });
                self.number += 1;
            }
            2 => {
                await_copy(shell, || {
                    shell.at(at);
                    shell
                        .pty
                        .send_line(&format!(".run `x = {value}; done = {code}`"));
                    shell.at(at + 2);
                });
                self.number += 2;
                return at + 1;
            }
            _ => {
                let line = format!(
                    "x = {value}; done = (shutil.rmtree('{name}/d'), os.makedirs('{name}/d/e'))"
                );
                await_copy(shell, || shell.cell(at, &line));
                self.number += 1;
            }
        }
        at
    }

    /// Somebody else writes: a file of his own, or the last line of one of ours.
    fn disturb(&mut self, ours: bool) {
        let token = format!("token {} of {}", self.tokens.len(), self.name);
        let path = match ours {
            true => self.folder().join("a"),
            false => self.folder().join(format!("mine {}", self.tokens.len())),
        };
        let old = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{old}{token}\n")).unwrap();
        self.tokens.push(token);
    }
}

fn tokens_in(held: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let texts = held.values().map(|bytes| String::from_utf8_lossy(bytes));
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    let mut tokens: Vec<String> = lines.filter(|line| line.starts_with("token ")).collect();
    tokens.sort();
    tokens.dedup();
    tokens
}

fn run_programs(count: u64, seed: u64) {
    let shell = start(r#"{"rewind_files": "always", "run_cells": "auto"}"#, |_| {});
    cell(&shell, 1, "import os, shutil");
    let mut number = 2;
    for program in 0..count {
        let name = format!("p{program}");
        shell.home.write(&format!("{name}/a"), "a\n");
        shell.home.write(&format!("{name}/d/c"), "c\n");
        let mut program = Program {
            shell: &shell,
            name,
            random: seed + program,
            number,
            tokens: Vec::new(),
        };
        let (steps, touches_ours) = (2 + program.pick(4), program.pick(3) == 0);
        let mut before = Vec::new();
        for value in 0..steps as u32 {
            let there = held(&program.folder());
            let at = program.step(value);
            before.push((at, there, value));
            if program.pick(2) == 0 {
                program.disturb(touches_ours);
            }
        }
        let to = program.pick(before.len() as u64) as usize;
        let (at, there, value) = &before[to];
        let now = held(&program.folder());
        let last = program.number;
        shell.at(last);
        shell.pty.send_line(&format!("%ipycodex back {at}"));
        shell.at(last + 1);
        let back = held(&program.folder());
        let what = format!(
            "program {} with seed {seed}, back to {at}:\n{}",
            program.name,
            shell.text()
        );
        assert_eq!(
            tokens_in(&now)
                .iter()
                .find(|token| !tokens_in(&back).contains(token)),
            None,
            "{what}"
        );
        if !touches_ours {
            let ours = |held: &BTreeMap<PathBuf, Vec<u8>>| {
                let mut ours = held.clone();
                ours.retain(|path, _| !path.to_string_lossy().contains("/mine "));
                ours
            };
            assert_eq!(ours(&back), ours(there), "{what}");
        }
        if *value > 0 {
            shell.cell(last + 1, "print('x is', x)");
            assert!(
                shell.text().contains(&format!("\nx is {}\n", value - 1)),
                "{what}"
            );
            number = last + 2;
        } else {
            number = last + 1;
        }
    }
}

#[test]
fn random_programs_are_taken_back_and_no_foreign_byte_is_lost() {
    run_programs(8, 1);
}

/// 300 of them.
#[test]
#[ignore = "takes minutes: cargo test --test it -- --ignored many_random_programs"]
fn many_random_programs_are_taken_back_and_no_foreign_byte_is_lost() {
    (0..10).for_each(|shell| run_programs(30, 1000 * (shell + 1)));
}
