//! The embedded runtime on the real interpreter of this machine, through `connect`.

mod asides;
mod bench;
mod cells;
mod life;
mod terminal;

use std::path::PathBuf;
use std::process::Command;

#[test]
fn the_runners_own_tests_pass() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let outcome = Command::new("python3")
        .args([
            "-m",
            "unittest",
            "discover",
            "-s",
            "tests/runner",
            "-t",
            "tests/runner",
        ])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(root)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&outcome.stderr);
    assert!(outcome.status.success(), "{said}");
    assert!(!said.contains("Ran 0 tests"), "{said}");
}
