//! The program without libraries: for any Linux of its architecture, whatever C library that has.
//!
//! It is compiled for musl, where Rust has that target; the C parts by zig, which PyPI has. Libraries are not optimised
//! here, which halves the time to compile them.

use std::path::Path;
use std::process::Command;

use crate::support::home::{Home, finish};
use crate::support::peers;

/// Also shows that no loader is asked for: what has one names it (`/lib/ld-musl-x86_64.so.1`).
#[test]
fn it_needs_no_libraries_and_works() {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    if !is_installed(&target) {
        eprintln!("skipped: Rust has no {target} here; `rustup target add {target}` gets it");
        return;
    }
    let Some(zigbuild) = peers::zigbuild() else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("static");
    let built = Command::new(&zigbuild)
        .args(["zigbuild", "--bin", "ipycodex", "--target", &target])
        .args(["--config", "profile.dev.debug=0"])
        .args(["--config", "profile.dev.package.\"*\".opt-level=0"])
        .arg("--target-dir")
        .arg(&folder)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env(
            "CARGO_ZIGBUILD_ZIG_PATH",
            zigbuild.with_file_name("python-zig"),
        )
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
    let program = folder.join(target).join("debug/ipycodex");
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

fn is_installed(target: &str) -> bool {
    let told = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .unwrap();
    let place = String::from_utf8_lossy(&told.stdout);
    told.status.success() && Path::new(place.trim()).is_dir()
}
