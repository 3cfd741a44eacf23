//! The reference client, from PyPI: both revisions, progress, changes of the list, cancelling.

use std::path::Path;

use super::client::socket;
use crate::repl::shell::Shell;
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::peers;

fn script() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/reference/client.py")
}

/// Runs it against `ipycodex mcp` with these arguments; what it printed.
fn run(home: &Home, python: &Path, mode: &str, arguments: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_ipycodex");
    let script = script().display().to_string();
    let all = [&[script.as_str(), mode, program, "mcp"], arguments].concat();
    let ran = crate::support::home::finish(home.foreign(python, &all), b"");
    assert_eq!(ran.code(), 0, "{ran:?}");
    ran.stdout
}

#[test]
fn the_reference_client_works_without_a_shell() {
    let Some(python) = peers::mcp_reference() else {
        return;
    };
    let home = Home::new();
    for (mode, version) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        let told = run(&home, &python, mode, &["--allow", "cells"]);
        let expected = format!(
            "version {version}\ntools pyrun look_back run_cells read_output notebook load_skill\npyrun 42 False\n\
             run_cells True\nkept 42\nunknown tool refused\ncancelled\nafter 2\n"
        );
        assert_eq!(told, expected, "{mode}");
    }
}

#[test]
fn the_reference_client_attaches_to_a_shell_and_hears_of_new_tools() {
    let Some(python) = peers::mcp_reference() else {
        return;
    };
    for mode in ["watch", "watch-legacy"] {
        let shell = Shell::new();
        shell.cell(1, "def weather(city: str): return 'sunny in ' + city");
        shell.at(2);
        await_true("a door", || socket(&shell.home, shell.pty.pid()).exists());
        let home = &shell.home;
        let told = std::thread::scope(|scope| {
            let watching = scope.spawn(|| run(home, &python, mode, &["--here"]));
            await_true("a client that listens", || {
                home.work().join("ready").exists() || watching.is_finished()
            });
            shell.cell(2, ".remember &`weather`");
            watching.join().unwrap()
        });
        assert_eq!(told, "changed weather\nweather sunny in Rome\n", "{mode}");
        shell.shows("mcp: weather(city='Rome') => sunny in Rome");
        shell.leave();
    }
}
