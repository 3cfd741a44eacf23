//! The program without libraries: for any Linux of its architecture, whatever C library that has.

use std::path::Path;
use std::process::Command;

use crate::support::home::{Home, finish};
use crate::support::peers;

/// Also shows that no loader is asked for: what has one names it (`/lib64/ld-linux-x86-64.so.2`, `/lib/ld-linux-…`).
#[test]
#[ignore = "compiles a release anew: cargo test --test it static_program -- --ignored"]
fn it_needs_no_libraries_and_works() {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("static");
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--release",
            "--bin",
            "ipycodex",
            "--target",
            &target,
        ])
        .arg("--target-dir")
        .arg(&folder)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .status();
    assert!(built.unwrap().success());
    let program = folder.join(target).join("release/ipycodex");
    let headers = Command::new("readelf").args(["-lW"]).arg(&program).output();
    let headers = String::from_utf8(headers.unwrap().stdout).unwrap();
    assert!(
        headers.contains("LOAD") && !headers.contains("INTERP"),
        "{headers}"
    );
    let home = Home::new();
    let python = peers::plain_python();
    for (arguments, stdin, shown) in [
        (&["--version"][..], "", "ipycodex "),
        (
            &["--python", python.to_str().unwrap()],
            "20 * 2.1\n",
            "42.0",
        ),
        (&["--agent", "demo"], ".hello\n", "Demo answer"),
    ] {
        let ran = finish(home.foreign(&program, arguments), stdin.as_bytes());
        assert!(
            ran.status.success() && ran.stdout.contains(shown),
            "{ran:?}"
        );
    }
}
