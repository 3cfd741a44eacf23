//! The embedded runtime on the real interpreter of this machine, through `connect`.

mod cells;
mod comms;
pub mod confinement;
mod contract;
mod evaluations;
mod harness;
mod lifecycle;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::peers;

/// Files of the runner's own tests, a test each: they mostly wait, and so wait beside each other.
macro_rules! runner_tests {
    ($module:ident, $run:path: $($name:ident)*) => {
        mod $module {
            #[allow(dead_code, reason = "of one module only")]
            pub(super) const FILES: &[&str] = &[$(stringify!($name)),*];
            $(#[test]
            fn $name() {
                $run(concat!(stringify!($name), ".py"));
            })*
        }
    };
}

runner_tests! { the_runners_own_tests_pass, super::passes_alone:
    test_as_ipython test_background test_bindings test_branch test_built_in test_calls test_checkpoints
    test_complete test_confinement test_forks test_home test_ipython test_isolation test_kept test_kernel test_libraries
    test_look_back test_merge test_merge_arrays test_merge_programs test_module test_record test_references test_rules
    test_runner test_schemas test_shadows test_signals test_snapshot test_streams test_terminal test_tools test_trial
    test_upstream
}

// Those whose engine matters, with IPython.
runner_tests! { the_same_cases_pass_with_ipython, super::passes_with_ipython_9:
    test_bindings test_calls test_confinement test_forks test_ipython test_record test_runner test_signals test_streams
}

runner_tests! { the_runner_is_the_same_in_every_python_of_this_machine, super::passes_in_other_pythons:
    test_built_in test_libraries test_runner
}

runner_tests! { the_built_in_engine_shows_what_ipython_shows, super::passes_with_figures:
    test_as_ipython
}

runner_tests! { what_users_have_at_home_counts_with_ipython_8, super::passes_with_ipython_8:
    test_home test_kernel test_module
}

runner_tests! { what_users_have_at_home_counts_with_ipython_9, super::passes_with_ipython_9:
    test_home test_kernel test_module
}

runner_tests! { steps_and_copies_are_the_same_with_ipython_and_carry_arrays_and_tables, super::passes_with_figures:
    test_branch test_checkpoints test_kept test_look_back test_merge test_trial
}

runner_tests! { arrays_and_tables_are_merged, super::passes_where_figures_are:
    test_merge_arrays
}

#[test]
fn no_file_of_the_runners_own_tests_is_left_out() {
    let listed = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runner")).unwrap();
    let names = listed.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| Some(name.strip_suffix(".py")?.to_owned()))
        .filter(|name| name.starts_with("test"))
        .collect();
    names.sort();
    assert_eq!(names, the_runners_own_tests_pass::FILES);
}

#[test]
fn schemas_of_a_hundred_types_are_taken_by_a_real_validator() {
    if let Some(python) = peers::schemas() {
        let said = passes(&mut runners_command_in(&python, "test_schemas.py"));
        assert!(!said.contains("skipped"), "{said}");
    }
}

#[test]
fn ipythons_own_tests_pass_in_the_engine_that_has_it() {
    if let Some((python, sources)) = peers::ipythons_tests() {
        let mut command = runners_command_in(Path::new("python3"), "test_upstream.py");
        command.env("IPYCODEX_TEST_IPYTHON", python);
        command.env("IPYCODEX_TEST_IPYTHON_SOURCES", sources);
        let said = passes(&mut command);
        assert!(!said.contains("skipped"), "{said}");
    }
}

/// Pythons from 3.8 to 3.13 of other minor versions than `python3`: on the path, or where pyenv keeps them; each once.
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
    let minor = "import sys; print(sys.version_info[1])";
    let own = Command::new("python3").args(["-c", minor]).output();
    let own = own.map_or_else(|_| Vec::new(), |told| told.stdout);
    let others = (8..=13).filter(|minor| minor.to_string().as_bytes() != own.trim_ascii());
    others.filter_map(of).collect()
}

fn passes_alone(file: &str) {
    passes(&mut runners_command_in(Path::new("python3"), file));
}

fn passes_in_other_pythons(file: &str) {
    for python in other_pythons() {
        passes(&mut runners_command_in(&python, file));
    }
}

fn passes_with_figures(file: &str) {
    passes_with(file, peers::figures());
}

fn passes_where_figures_are(file: &str) {
    if let Some(python) = peers::figures() {
        passes(&mut runners_command_in(&python, file));
    }
}

fn passes_with_ipython_8(file: &str) {
    passes_with(file, peers::ipython_8());
}

fn passes_with_ipython_9(file: &str) {
    passes_with(file, peers::python());
}

fn passes_with(file: &str, ipython: Option<PathBuf>) {
    if let Some(python) = ipython {
        passes(&mut with_ipython(file, &python));
    }
}

/// The tests of the engine with IPython, on this interpreter.
fn with_ipython(file: &str, python: &Path) -> Command {
    let mut command = runners_command_in(Path::new("python3"), file);
    command.args(["-k", "*.*I[pP]ython*"]);
    command.env("IPYCODEX_TEST_IPYTHON", python);
    command
}

fn runners_command_in(python: &Path, file: &str) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-m", "unittest", "discover", "-p", file])
        .args(["-s", "tests/runner", "-t", "tests/runner"])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")));
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
