//! What the README and the reference tell people to type is typed here.
//!
//! Blocks of a shell run whole, in their order, in one home with the offline agent; the blocks of Python are piped into
//! the shell first. What stands in a sentence is at least understood: a `%ipycodex` command is carried out, a command
//! line is given `--help` behind it.

use std::path::Path;

use crate::support::home::{Home, Ran, finish};

const README: &str = include_str!("../../README.md");
const REFERENCE: &str = include_str!("../../src/guide.md");

/// Programs of others, which change more than a home; `cargo install` is what made the program under test.
const OF_OTHERS: [&str; 3] = ["cargo install --path .", "codex mcp add", "claude mcp add"];

/// The texts of all fenced blocks of this language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let fence = format!("```{language}\n");
    let starts = text.split(&fence).skip(1);
    starts
        .map(|rest| rest.split_once("```").expect("a block ends").0)
        .collect()
}

/// What stands between backticks in a sentence and begins so.
fn in_sentences<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    let mut prose = text.split("```").step_by(2).flat_map(str::lines);
    let mut found = Vec::new();
    for line in prose.by_ref() {
        let pieces = line.split('`').skip(1).step_by(2);
        found.extend(pieces.filter(|it| it.starts_with(start)));
    }
    found
}

fn home() -> Home {
    let mut home = Home::new();
    home.install("ipycodex", env!("CARGO_BIN_EXE_ipycodex"));
    home.set("EDITOR", "true");
    home.write_config("config.json", r#"{"agent": "demo"}"#);
    home.write("script.py", "import sys\nprint(sys.argv)\n");
    home.write("data.csv", "a,b\n1,2\n");
    let cell = r#"{"cell_type": "code", "id": "a", "metadata": {}, "source": "1 + 1", "outputs": [],
        "execution_count": null}"#;
    let book =
        format!(r#"{{"cells": [{cell}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}"#);
    home.write("analysis.ipynb", book);
    assert_eq!(
        bash(&home, "git init -q && git add . && echo 3,4 >> data.csv").code(),
        0
    );
    home
}

fn bash(home: &Home, script: &str) -> Ran {
    let options = ["-e", "-u", "-o", "pipefail", "-c", script];
    finish(home.foreign(Path::new("bash"), &options), b"")
}

#[test]
fn every_block_of_the_readme_runs() {
    let home = home();
    let tour = blocks(README, "python");
    assert!(tour.len() > 4, "{tour:?}");
    let ran = home.run::<&str>(&[], tour.concat());
    assert_eq!(ran.code(), 0, "{ran:?}");
    for part in ["24", "no AI", "weather(", "Saved ", "tour.html"] {
        assert!(format!("{ran:?}").contains(part), "{part}: {ran:?}");
    }
    let mut others = Vec::new();
    for line in blocks(README, "sh").into_iter().flat_map(str::lines) {
        if let Some(known) = OF_OTHERS.iter().find(|it| line.starts_with(**it)) {
            others.push(*known);
            continue;
        }
        let ran = bash(&home, line);
        // As of `diff`: there is a difference.
        let differs = i32::from(line.contains("notebook diff"));
        assert_eq!(ran.code(), differs, "{line}\n{ran:?}");
    }
    assert_eq!(others, OF_OTHERS);
}

#[test]
fn what_is_told_in_a_sentence_is_understood() {
    let home = home();
    let commands = in_sentences(README, "%ipycodex");
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        let ran = home.run::<&str>(&[], format!("{command}\n"));
        for wrong in ["Unknown command", "Usage:", "must be", "error"] {
            assert!(!ran.stderr.contains(wrong), "{command}: {ran:?}");
        }
    }
    let of_reference = blocks(REFERENCE, "sh").into_iter().flat_map(str::lines);
    let of_reference = of_reference
        .map(|line| line.split(" #").next().unwrap_or_default())
        .filter(|line| line.starts_with("ipycodex ") && !line.contains(['|', ';', '<']));
    let lines: Vec<&str> = in_sentences(README, "ipycodex ")
        .into_iter()
        .chain(of_reference)
        .collect();
    assert!(lines.len() > 15, "{lines:?}");
    for line in lines {
        let ran = bash(&home, &format!("{line} --help"));
        assert_eq!(ran.code(), 0, "{line}: {ran:?}");
    }
}
