//! The embedded runtime on the real interpreter of this machine, through `connect`.

mod cells;
mod comms;
mod confinement;
mod contract;
mod evaluations;
mod harness;
mod lifecycle;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::peers;

#[test]
fn the_runners_own_tests_pass() {
    runners_tests("test*.py", None);
}

#[test]
fn the_runner_is_the_same_in_every_python_of_this_machine() {
    for python in other_pythons() {
        for pattern in ["test_runner.py", "test_built_in.py", "test_libraries.py"] {
            passes(&mut runners_command_in(&python, pattern, None));
        }
    }
}

#[test]
fn the_built_in_engine_shows_what_ipython_shows() {
    if let Some(python) = peers::figures() {
        runners_tests("test_as_ipython.py", Some(&python));
    }
}

#[test]
fn schemas_of_a_hundred_types_are_taken_by_a_real_validator() {
    if let Some(python) = peers::schemas() {
        let said = passes(&mut runners_command_in(&python, "test_schemas.py", None));
        assert!(!said.contains("skipped"), "{said}");
    }
}

#[test]
fn ipythons_own_tests_pass_in_the_engine_that_has_it() {
    if let Some((python, sources)) = peers::ipythons_tests() {
        let mut command = runners_command("test_upstream.py", Some(&python));
        command.env("IPYCODEX_TEST_IPYTHON_SOURCES", sources);
        let said = passes(&mut command);
        assert!(!said.contains("skipped"), "{said}");
    }
}

#[test]
fn what_users_have_at_home_counts_with_ipython_8_and_9() {
    for python in [peers::python(), peers::ipython_8()].into_iter().flatten() {
        runners_tests("test_home.py", Some(&python));
        runners_tests("test_kernel.py", Some(&python));
        runners_tests("test_module.py", Some(&python));
    }
}

#[test]
fn steps_and_copies_are_the_same_with_ipython_and_carry_arrays_and_tables() {
    if let Some(python) = peers::figures() {
        for pattern in [
            "test_checkpoints.py",
            "test_branch.py",
            "test_trial.py",
            "test_kept.py",
        ] {
            passes(runners_command(pattern, Some(&python)).args(["-k", "Ipython"]));
        }
    }
}

/// Pythons from 3.8 to 3.13 beside `python3`: on the path, or where pyenv keeps them; each minor version once.
fn other_pythons() -> Vec<PathBuf> {
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".pyenv")));
    let kept = pyenv.and_then(|folder| std::fs::read_dir(folder.join("versions")).ok());
    let kept: Vec<PathBuf> = kept
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path())
        .collect();
    let runs = |python: &PathBuf| {
        let asked = Command::new(python).args(["-c", ""]).output();
        asked.is_ok_and(|told| told.status.success())
    };
    let of = |minor: u32| {
        let begin = format!("3.{minor}.");
        let named = |folder: &&PathBuf| {
            let name = folder.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with(&begin)
        };
        let kept = kept
            .iter()
            .find(named)
            .map(|folder| folder.join("bin/python3"));
        let ways = [Some(PathBuf::from(format!("python3.{minor}"))), kept];
        ways.into_iter().flatten().find(runs)
    };
    (8..=13).filter_map(of).collect()
}

/// Runs the Python tests in these files, beside an interpreter with IPython where there is one.
fn runners_tests(pattern: &str, ipython: Option<&Path>) {
    passes(&mut runners_command(pattern, ipython));
}

fn runners_command(pattern: &str, ipython: Option<&Path>) -> Command {
    runners_command_in(Path::new("python3"), pattern, ipython)
}

fn runners_command_in(python: &Path, pattern: &str, ipython: Option<&Path>) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-m", "unittest", "discover", "-p", pattern])
        .args(["-s", "tests/runner", "-t", "tests/runner"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    if let Some(python) = ipython {
        command.env("IPYCODEX_TEST_IPYTHON", python);
    }
    command
}

/// Gives what was said.
fn passes(command: &mut Command) -> String {
    let outcome = command.output().unwrap();
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{said}");
    assert!(!said.contains("Ran 0 tests"), "{said}");
    said.into_owned()
}
