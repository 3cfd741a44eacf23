//! `doctor` and `setup`: what is wrong is found, nothing is left behind, and nothing but our environment is changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::home::{Home, Ran};
use crate::support::peers;
use crate::support::pty::Pty;

/// The verdict and the message on each subject.
fn findings(ran: &Ran) -> BTreeMap<String, (String, String)> {
    let all: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = all["findings"].as_array().unwrap().iter();
    findings
        .map(|it| {
            let mends = it["mend"].is_string() == (it["verdict"] != "ok");
            assert!(mends, "what is wrong can be mended: {it}");
            (
                text(&it["subject"]),
                (text(&it["verdict"]), text(&it["message"])),
            )
        })
        .collect()
}

fn verdict<'f>(findings: &'f BTreeMap<String, (String, String)>, subject: &str) -> &'f str {
    &findings[subject].0
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

#[test]
fn a_healthy_place_and_one_with_everything_wrong() {
    let mut home = Home::with(&[("OPENAI_API_KEY", "canary-1234")]);
    let before = files(&home.path());
    let ran = home.run(&["doctor", "--agent", "demo", "--json"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert_eq!(files(&home.path()), before, "nothing is left behind");
    assert!(!ran.stdout.contains("canary"), "{ran:?}");
    let found = findings(&ran);
    for subject in [
        "interpreter",
        "agent",
        "skills",
        "settings",
        "record",
        "kernelspecs",
        "gateway",
    ] {
        assert_eq!(verdict(&found, subject), "ok", "{subject}: {found:?}");
    }
    assert_eq!(verdict(&found, "IPython"), "warning", "{found:?}");

    home.write_config("config.json", r#"{"think": "never"}"#);
    std::fs::create_dir_all(home.history().parent().unwrap()).unwrap();
    std::fs::write(home.history(), "no database, but notes").unwrap();
    home.set("VIRTUAL_ENV", home.path().join("gone"));
    home.set("LANG", "C");
    let ran = home.run(&["doctor"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    for words in [
        "warning interpreter",
        "gone (VIRTUAL_ENV) has no bin/python3",
        "error   agent        codex: `codex` is not on PATH",
        "`npm install -g @openai/codex`",
        "warning settings",
        "error   record",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let notes = std::fs::read_to_string(home.history()).unwrap();
    assert_eq!(notes, "no database, but notes");
}

#[test]
fn an_interpreter_that_is_none_and_a_record_with_sessions() {
    let home = Home::new();
    let ran = home.run(&["-c", "1+1"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let ran = home.run(&["doctor", "--agent", "demo", "--json"], "");
    let record = &findings(&ran)["record"].1;
    assert!(
        record.contains("1 session, schema ") && record.ends_with(", undamaged"),
        "{record}"
    );
    home.install_script("python3", "#!/bin/sh\nexit 3\n");
    let named = home.path().join("bin/python3");
    let named = named.to_str().unwrap();
    let ran = home.run(&["doctor", "--python", named, "--json"], "");
    assert_eq!(ran.code(), 1);
    assert!(ran.stdout.contains("is not a working Python"), "{ran:?}");
}

#[test]
fn a_kernelspec_whose_program_is_gone_and_a_gateway_that_does_not_answer() {
    let mut home = Home::new();
    let ran = home.run(&["kernel", "install"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let found = findings(&home.run(&["doctor", "--json"], ""));
    assert!(
        found["kernelspecs"].1.contains("that of ipycodex in"),
        "{found:?}"
    );
    let spec = home
        .path()
        .join("data/jupyter/kernels/ipycodex/kernel.json");
    let text = std::fs::read_to_string(&spec).unwrap();
    let mut written: Value = serde_json::from_str(&text).unwrap();
    written["argv"][0] = "/gone/ipycodex".into();
    std::fs::write(&spec, written.to_string()).unwrap();
    home.set("IPYCODEX_GATEWAY_URL", "http://127.0.0.1:1");
    let found = findings(&home.run(&["doctor", "--json"], ""));
    assert_eq!(verdict(&found, "kernelspecs"), "error", "{found:?}");
    assert!(
        found["kernelspecs"]
            .1
            .ends_with("`/gone/ipycodex`, which is gone")
    );
    assert_eq!(verdict(&found, "gateway"), "error", "{found:?}");
}

#[test]
fn what_tmux_keeps_back_is_found() {
    let home = Home::with(&[("TMUX", "/nowhere,1,0")]);
    let options = "case $2$3 in *escape-time) echo 500;; *) echo off;; esac";
    home.install_script("tmux", &format!("#!/bin/sh\n{options}\n"));
    let pty = Pty::spawn(&home, &["doctor", "--agent", "demo"], (120, 60));
    for words in [
        "tmux waits 500 ms after Esc",
        "`tmux set -s set-clipboard on`",
        "`tmux set -g focus-events on`",
    ] {
        pty.wait_for_anywhere(words);
    }
}

#[test]
fn codex_is_asked_for_its_version_and_its_login() {
    let Some(codex) = peers::codex() else { return };
    let home = Home::new();
    home.install("codex", codex);
    let found = findings(&home.run(&["doctor", "--json"], ""));
    assert_eq!(verdict(&found, "agent"), "ok", "{found:?}");
    assert!(found["agent"].1.contains("codex-cli"), "{found:?}");
    assert_eq!(verdict(&found, "login"), "warning", "{found:?}");
}

/// A stand-in for uv that makes environments without a network: its second word is `venv` or `pip`.
fn offline_uv(home: &Home, pip: &str) {
    home.install_script(
        "uv",
        &format!(
            "#!/bin/sh\ncase $1 in venv) exec \"$3\" -m venv --without-pip \"$4\";; pip) echo \"$@\"; {pip};; esac\n"
        ),
    );
}

#[test]
fn the_environment_is_made_used_updated_and_removed() {
    let home = Home::new();
    let managed = home.path().join("data/ipycodex/venv");
    let runs_there = |home: &Home| {
        let ran = home.run(&["-c", "import sys; print(sys.prefix)"], "");
        assert_eq!(ran.code(), 0, "{ran:?}");
        ran.stdout.trim() == managed.to_str().unwrap()
    };
    offline_uv(&home, "exit 7");
    let ran = home.run(&["setup"], "");
    assert_eq!(ran.code(), 1, "{ran:?}");
    for words in ["failed", "exit status: 7", "ipycodex setup --undo"] {
        assert!(ran.stderr.contains(words), "{words}: {ran:?}");
    }
    assert!(managed.is_dir() && !runs_there(&home), "half made");

    offline_uv(&home, "exit 0");
    let ran = home.run(&["setup"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(
        ran.stdout.contains("is incomplete: making it again"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("--upgrade ipython matplotlib-inline"),
        "{ran:?}"
    );
    assert!(runs_there(&home));
    let ran = home.run(&["setup"], "");
    assert!(
        ran.code() == 0 && ran.stdout.contains("Updating"),
        "{ran:?}"
    );

    let ran = home.run(&["setup", "--undo"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let left = files(&home.path().join("data/ipycodex"));
    assert!(left.is_empty(), "{left:?}");
    assert!(!runs_there(&home));
    let ran = home.run(&["setup", "--undo"], "");
    assert!(ran.stdout.contains("nothing to remove"), "{ran:?}");
}

#[test]
fn what_somebody_else_made_is_neither_used_nor_changed() {
    let home = Home::new();
    let theirs = home.path().join("data/ipycodex/venv/bin");
    std::fs::create_dir_all(&theirs).unwrap();
    std::fs::copy("/bin/true", theirs.join("python3")).unwrap();
    for arguments in [&["setup"][..], &["setup", "--undo"]] {
        let ran = home.run(arguments, "");
        assert_eq!(ran.code(), 1, "{ran:?}");
        assert!(
            ran.stderr.contains("was not made by `ipycodex setup`"),
            "{ran:?}"
        );
    }
    assert!(theirs.join("python3").is_file());
    assert_eq!(home.run(&["-c", "1+1"], "").stdout.trim(), "2");
}
