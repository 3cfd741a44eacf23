//! Settings from files, environments and flags, through one `check`; reports on broken files name the line.

use super::*;
use crate::agent::{Approvals, Effort, Sandbox, ThreadMode, WebSearchUse};
use crate::config::{
    AgentChoice, AgentTools, ChoiceSetting, EditMode, Images, KernelMode, KeyAction, RunCells,
    RuntimeChoice,
};
use crate::screen::ColorChoice;
use serde_json::json;
use std::fs;
use tempfile::TempDir;

fn with_file(content: &str) -> (TempDir, Environment) {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join(".config/ipycodex");
    crate::files::private_dir(&directory).unwrap();
    fs::write(directory.join("config.json"), content).unwrap();
    let environment = Environment {
        home: Some(home.path().to_owned()),
        cwd: Some("/project".into()),
        ..Environment::default()
    };
    (home, environment)
}

fn set(environment: &mut Environment, name: &str, value: &str) {
    environment.variables.insert(name.into(), value.into());
}

#[test]
fn defaults_and_nothing_created() {
    let home = tempfile::tempdir().unwrap();
    let environment = Environment {
        home: Some(home.path().to_owned()),
        ..Environment::default()
    };
    let (settings, reports) = resolve(&ConfigFlags::default(), &environment);
    assert_eq!(reports, []);
    assert_eq!(settings.choices.model, "");
    assert_eq!(
        (settings.choices.think, settings.choices.search),
        (Effort::Low, WebSearchUse::Low)
    );
    assert_eq!(settings.choices.code_theme, "monokai");
    assert_eq!(settings.choices.agent, AgentChoice::Codex);
    assert_eq!(settings.choices.runtime, RuntimeChoice::Embedded);
    assert_eq!(
        (settings.choices.threads, settings.choices.approvals),
        (ThreadMode::Session, Approvals::Never)
    );
    assert_eq!(settings.choices.kernel_mode, KernelMode::Session);
    assert_eq!(
        (settings.choices.run_cells, settings.choices.images),
        (RunCells::Ask, Images::Auto)
    );
    assert_eq!(
        (settings.choices.sandbox, settings.choices.edit_mode),
        (Sandbox::WorkspaceWrite, EditMode::Emacs)
    );
    assert!(
        settings.ipython
            && settings.record
            && !settings.choices.prompt_mode
            && !settings.choices.log_exact
    );
    assert!(
        settings.choices.history_hint && settings.choices.greeting && settings.choices.fit_plots
    );
    assert_eq!(settings.codex_command, ["codex"]);
    assert!(settings.system_prompt.contains("<context>"));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn every_key_of_the_file_is_read() {
    let content = json!({
        "model": "m1", "completion_model": "m2", "think": "X", "search": "off", "code_theme": "github",
        "log_exact": true, "prompt_mode": true, "greeting": false, "agent": "acp:gemini --acp",
        "python": "~/venv/bin/python",
        "runtime": "jupyter:ir", "threads": "ephemeral", "approvals": "ask", "sandbox": "read-only",
        "run_cells": "auto", "kernel_mode": "per-call", "agent_tools": "shell",
        "images": "kitty", "fit_plots": false, "checkpoints": 4, "rewind_files": "always",
        "keep_variables": true, "notify_after": 3,
        "history_hint": false, "edit_mode": "vi", "ipython_profile": "sci", "agent_start": 600,
        "keys": {"suggest": "alt-x"},
    });
    assert_eq!(content.as_object().unwrap().len(), SETTINGS.len() + 1);
    let (home, environment) = with_file(&content.to_string());
    let (settings, reports) = resolve(&ConfigFlags::default(), &environment);
    assert_eq!(reports, []);
    assert_eq!(settings.choices.model, "m1");
    assert_eq!(settings.choices.completion_model, "m2");
    assert_eq!(
        (settings.choices.think, settings.choices.search),
        (Effort::ExtraHigh, WebSearchUse::Off)
    );
    assert_eq!(settings.choices.code_theme, "github");
    assert_eq!(settings.choices.ipython_profile, "sci");
    assert!(settings.choices.log_exact && settings.choices.prompt_mode);
    assert!(
        !settings.choices.history_hint && !settings.choices.greeting && !settings.choices.fit_plots
    );
    assert_eq!(
        settings.choices.agent,
        AgentChoice::Acp("gemini --acp".into())
    );
    assert_eq!(
        settings.choices.python,
        Some(home.path().join("venv/bin/python"))
    );
    assert_eq!(
        settings.choices.runtime,
        RuntimeChoice::Jupyter("ir".into())
    );
    assert_eq!(
        (settings.choices.threads, settings.choices.approvals),
        (ThreadMode::Ephemeral, Approvals::Ask)
    );
    assert_eq!(settings.choices.kernel_mode, KernelMode::PerCall);
    assert_eq!(settings.choices.agent_tools, AgentTools::Shell);
    assert_eq!(
        (settings.choices.run_cells, settings.choices.images),
        (RunCells::Auto, Images::Kitty)
    );
    assert_eq!(
        (settings.choices.sandbox, settings.choices.edit_mode),
        (Sandbox::ReadOnly, EditMode::Vi)
    );
    let suggest: Vec<String> = settings
        .keys
        .bindings_of(KeyAction::Suggest)
        .map(|binding| binding.chord.to_string())
        .collect();
    assert_eq!(suggest, ["alt-x"]);
}

#[test]
fn flag_before_environment_before_file() {
    let (_home, mut environment) =
        with_file(r#"{"model": "file", "think": "m", "prompt_mode": true, "python": "py"}"#);
    let model = |flags: &ConfigFlags, environment: &Environment| {
        resolve(flags, environment).0.choices.model
    };
    let none = ConfigFlags::default();
    assert_eq!(model(&none, &environment), "file");
    set(&mut environment, "IPYAI_MODEL", "variable");
    assert_eq!(model(&none, &environment), "variable");
    set(&mut environment, "IPYCODEX_TOOLS", "all");
    let (settings, reports) = resolve(&none, &environment);
    assert_eq!(settings.choices.agent_tools, AgentTools::Both);
    assert!(
        reports[0].message.starts_with("`IPYCODEX_TOOLS`: "),
        "{reports:?}"
    );
    set(&mut environment, "IPYCODEX_TOOLS", "python");
    let (settings, reports) = resolve(&none, &environment);
    assert_eq!(
        (settings.choices.agent_tools, reports.len()),
        (AgentTools::Python, 0)
    );
    let flags = ConfigFlags {
        model: Some("flag".into()),
        think: Some(Effort::High),
        prompt_mode: true,
        no_ipython: true,
        no_record: true,
        python: Some("./bin/python".into()),
        color: Some(ColorChoice::Never),
        ..ConfigFlags::default()
    };
    assert_eq!(model(&flags, &environment), "flag");
    let (settings, _) = resolve(&flags, &environment);
    assert_eq!(settings.choices.think, Effort::High);
    assert!(!settings.choices.prompt_mode && !settings.ipython && !settings.record);
    assert_eq!(settings.choices.python, Some("/project/bin/python".into()));
    assert_eq!(settings.color, ColorChoice::Never);
    assert_eq!(
        resolve(&none, &environment).0.choices.python,
        Some("py".into())
    );
}

#[test]
fn a_wrong_value_is_told_and_the_default_holds() {
    let check = |key: &str, value: Value, allowed: &str| {
        let (_home, environment) = with_file(&format!("{{\n\n \"{key}\": {value}\n}}"));
        let (settings, reports) = resolve(&ConfigFlags::default(), &environment);
        assert_eq!(reports.len(), 1, "{key}: {reports:?}");
        let text = reports[0].to_string();
        for part in [key, &value.to_string(), allowed, "config.json", "line 3"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let (_home, environment) = with_file("{}");
        let (mut expected, _) = resolve(&ConfigFlags::default(), &environment);
        expected.paths = settings.paths.clone();
        let origin = |row| settings.provenance.origin(row, &settings.choices);
        let origin = Setting::from_name(key).map_or(SettingOrigin::Default, origin);
        assert_eq!(origin, SettingOrigin::Default, "{key}");
        expected.provenance = settings.provenance.clone();
        assert_eq!(settings, expected, "{key}");
    };
    check("think", json!("z"), "l, m, h, x");
    check("think", json!(true), "l, m, h, x");
    check("search", json!(1), "off, l, m, h");
    check("model", json!(["a"]), "a string");
    check("log_exact", json!("perhaps"), "true, false");
    check("prompt_mode", json!(0), "true, false");
    check("agent", json!("acp:"), "codex, demo, acp:COMMAND ARGUMENTS");
    check("runtime", json!("remote"), "embedded");
    check("threads", json!(""), "session, ephemeral");
    check("approvals", json!("always"), "never, ask");
    check(
        "sandbox",
        json!("none"),
        "read-only, workspace-write, danger-full-access",
    );
    check("run_cells", json!("yes"), "ask, preview, auto, off");
    check(
        "images",
        json!("sharp"),
        "auto, kitty, iterm2, sixel, blocks, off",
    );
    check("edit_mode", json!("nano"), "emacs, vi");
    check("keys", json!([]), "an object of actions and chords");
    check(
        "keys",
        json!({"a": 1}).get("a").cloned().unwrap(),
        "an object of actions and chords",
    );
}

#[test]
fn wrong_keys_are_told_with_their_line_and_the_others_hold() {
    let (_home, environment) = with_file(
        "{\n\"keys\": {\n\"suggest\": \"ctrl-space\",\n\"recal\": \"f5\",\n\"blocks\": \"hyper-b\"\n}}",
    );
    let (settings, reports) = resolve(&ConfigFlags::default(), &environment);
    let said: Vec<String> = reports.iter().map(ToString::to_string).collect();
    for (said, parts) in said.iter().zip([
        ["`keys.recal`", "\"f5\"", "`recall`", "line 4"],
        ["`keys.blocks`", "\"hyper-b\"", "ctrl-x ctrl-e", "line 5"],
    ]) {
        for part in parts {
            assert!(said.contains(part), "{part} in {said}");
        }
    }
    assert_eq!(said.len(), 2);
    let own: Vec<KeyAction> = KeyAction::rows()
        .flat_map(|row| settings.keys.bindings_of(row.action))
        .filter(|binding| binding.own)
        .map(|binding| binding.action)
        .collect();
    assert_eq!(own, [KeyAction::Suggest]);
}

#[test]
fn unknown_keys_are_named_once() {
    let (_home, environment) = with_file(r#"{"thnik": "m", "x": 1, "think": "m"}"#);
    let (settings, reports) = resolve(&ConfigFlags::default(), &environment);
    assert_eq!(settings.choices.think, Effort::Medium);
    assert_eq!(reports.len(), 1);
    assert!(
        reports[0]
            .to_string()
            .contains("`thnik` (did you mean `think`?), `x`"),
        "{}",
        reports[0]
    );
}

#[test]
fn null_and_empty_mean_not_set() {
    let (_home, environment) =
        with_file(r#"{"model": "", "think": null, "python": "", "agent": null, "keys": null}"#);
    let (settings, reports) = resolve(&ConfigFlags::default(), &environment);
    assert_eq!(reports, []);
    assert_eq!(settings.choices.model, "");
    assert_eq!(settings.choices.python, None);
}

#[test]
fn a_broken_file_does_not_keep_the_shell_from_starting() {
    let (_home, environment) = with_file("{ nonsense");
    let (settings, reports) = resolve(&ConfigFlags::default(), &environment);
    assert_eq!(settings.choices.think, Effort::Low);
    assert!(
        reports[0].to_string().contains("line 1 column 3"),
        "{}",
        reports[0]
    );
}

#[test]
fn the_codex_command_is_split_like_a_shell_does() {
    let (_home, mut environment) = with_file("{}");
    set(&mut environment, "IPYAI_CODEX_CMD", "npx 'my codex' --x");
    let (settings, reports) = resolve(&ConfigFlags::default(), &environment);
    assert_eq!(settings.codex_command, ["npx", "my codex", "--x"]);
    assert_eq!(reports, []);
    set(&mut environment, "IPYAI_CODEX_CMD", "npx 'open");
    let (settings, reports) = resolve(&ConfigFlags::default(), &environment);
    assert_eq!(settings.codex_command, ["codex"]);
    assert!(reports[0].to_string().contains("IPYAI_CODEX_CMD"));
}

#[test]
fn the_users_system_prompt_replaces_ours() {
    let (home, environment) = with_file("{}");
    let path = home.path().join(".config/ipycodex/sysp.txt");
    fs::write(&path, "be kind\n").unwrap();
    assert_eq!(
        resolve(&ConfigFlags::default(), &environment)
            .0
            .system_prompt,
        "be kind\n"
    );
    fs::write(&path, b"\xff").unwrap();
    let (settings, reports) = resolve(&ConfigFlags::default(), &environment);
    assert_eq!(settings.system_prompt, SYSTEM_PROMPT);
    assert!(reports[0].to_string().contains("sysp.txt"));
}

#[test]
fn words_and_values_match() {
    fn check<T: ChoiceSetting + std::fmt::Debug>() {
        for &(word, value) in T::WORDS {
            assert_eq!(T::parse(word), Ok(value));
            assert_eq!(value.word(), word);
        }
    }
    check::<Effort>();
    check::<WebSearchUse>();
    check::<ThreadMode>();
    check::<Approvals>();
    check::<Sandbox>();
    check::<RunCells>();
    check::<Images>();
    check::<EditMode>();
    check::<ColorChoice>();
    for text in ["codex", "demo", "acp:x y"] {
        assert_eq!(text.parse::<AgentChoice>().unwrap().to_string(), text);
    }
    for text in ["embedded", "jupyter:x", "gateway:http://h"] {
        assert_eq!(text.parse::<RuntimeChoice>().unwrap().to_string(), text);
    }
}
