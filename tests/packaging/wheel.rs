//! The wheel: made by maturin of the program that all tests run, installed by pip and run by uvx as people do.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::peers;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

#[track_caller]
fn passes(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{command:?}: {said}{wrong}");
    said
}

/// Installs the wheel of `folder` into a new environment at `place`.
fn install(python: &Path, folder: &Path, place: &Path) {
    passes(Command::new(python).args(["-m", "venv"]).arg(place));
    let mut pip = Command::new(place.join("bin/pip"));
    pip.args(["install", "--quiet", "--no-index", "--no-deps"]);
    pip.arg(wheel_in(folder));
    passes(&mut pip);
}

/// The one wheel there.
fn wheel_in(folder: &Path) -> PathBuf {
    let mut wheels = std::fs::read_dir(folder).unwrap();
    let wheel = wheels.next().unwrap().unwrap().path();
    assert!(wheels.next().is_none());
    wheel
}

/// A stand-in for Cargo that has compiled already: asked to, it tells of the program that is there. (Compiling for
/// maturin takes minutes, since it asks for other features of the libraries than tests do.)
fn compiled(home: &Home) -> std::path::PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    let facts = [
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
    ];
    let facts = passes(cargo.args(facts).current_dir(HERE));
    let facts: Value = serde_json::from_str(&facts).unwrap();
    let packages = facts["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"] == "ipycodex")
        .unwrap();
    let targets = package["targets"].as_array().unwrap();
    let target = targets
        .iter()
        .find(|target| target["kind"] == json!(["bin"]));
    // maturin moves it away: other tests run the original.
    let program = home.path().join("built/ipycodex");
    std::fs::create_dir(program.parent().unwrap()).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_ipycodex"), &program).unwrap();
    let told = json!({
        "reason": "compiler-artifact", "package_id": package["id"], "manifest_path": package["manifest_path"],
        "target": target.unwrap(), "features": [], "filenames": [program], "executable": program, "fresh": true,
        "profile": {"opt_level": "0", "debuginfo": 1, "debug_assertions": true, "overflow_checks": true, "test": false},
    });
    let done = json!({"reason": "build-finished", "success": true});
    let said = home.write("said.json", format!("{told}\n{done}\n"));
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in rustc) exec cat '{}';; *) exec '{}' \"$@\";; esac\n",
        said.display(),
        env!("CARGO")
    );
    home.install_script("cargo", &script);
    home.path().join("bin/cargo")
}

#[test]
fn a_wheel_is_built_installed_and_runs() {
    let Some(python) = peers::maturin() else {
        return;
    };
    let home = Home::new();
    let (wheels, place) = (home.path().join("wheels"), home.path().join("venv"));
    let mut maturin = Command::new(python.with_file_name("maturin"));
    let cargo = compiled(&home);
    let own = std::env::var_os("PATH").unwrap_or_default();
    let before = cargo.parent().map(Path::to_owned);
    let path = before.into_iter().chain(std::env::split_paths(&own));
    maturin
        .args(["build", "--profile", "dev", "--locked", "--out"])
        .arg(&wheels)
        .current_dir(HERE)
        .env("CARGO", &cargo)
        .env("PATH", std::env::join_paths(path).unwrap());
    passes(&mut maturin);
    install(&python, &wheels, &place);

    let program = place.join("bin/ipycodex");
    let ran = |arguments: &[&str]| {
        let mut command = home.foreign(&program, arguments);
        passes(&mut command)
    };
    let version = format!("ipycodex {}\n", env!("CARGO_PKG_VERSION"));
    assert!(ran(&["--version"]).starts_with(&version));
    assert_eq!(ran(&["-c", "6 * 7"]).trim(), "42");
    let metadata = passes(
        Command::new(place.join("bin/python")).args(["-c", "import importlib.metadata as m; \
            print(m.version('ipycodex'), sorted(f.name for f in m.files('ipycodex') if 'licenses' in f.parts))"]),
    );
    let licences = "['LICENSE-APACHE', 'LICENSE-MIT', 'licences.txt']";
    assert_eq!(
        metadata.trim(),
        format!("{} {licences}", env!("CARGO_PKG_VERSION"))
    );

    let wheel = wheel_in(&wheels);
    let mut uvx = home.foreign(&python.with_file_name("uvx"), &["--offline", "--from"]);
    uvx.arg(wheel).args(["ipycodex", "-c", "6 * 7"]);
    uvx.env("UV_PYTHON_DOWNLOADS", "never")
        .env("UV_CACHE_DIR", home.path().join("uv-cache"));
    assert_eq!(passes(&mut uvx).trim(), "42");
}
