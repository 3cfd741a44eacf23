//! The embedded runtime on the real interpreter of this machine, through `connect`.

mod asides;
mod bench;
mod cells;
mod comms;
mod confined;
mod contract;
mod life;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::peers;

#[test]
fn the_runners_own_tests_pass() {
    runners_tests("test*.py", None);
}

#[test]
fn the_built_in_engine_shows_what_ipython_shows() {
    if let Some(python) = peers::figures() {
        runners_tests("test_as_ipython.py", Some(&python));
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
        runners_tests("test_module.py", Some(&python));
    }
}

#[test]
fn steps_and_copies_are_the_same_with_ipython_and_carry_arrays_and_tables() {
    if let Some(python) = peers::figures() {
        for pattern in ["test_checkpoints.py", "test_branch.py", "test_trial.py"] {
            passes(runners_command(pattern, Some(&python)).args(["-k", "Ipython"]));
        }
    }
}

/// Runs the Python tests in these files, beside an interpreter with IPython where there is one.
fn runners_tests(pattern: &str, ipython: Option<&Path>) {
    passes(&mut runners_command(pattern, ipython));
}

fn runners_command(pattern: &str, ipython: Option<&Path>) -> Command {
    let mut command = Command::new("python3");
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
