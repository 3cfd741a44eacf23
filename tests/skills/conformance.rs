//! What the reference validator accepts is loaded and `check` agrees with it; what the real Codex lists is listed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use super::cases::{cases, catalog, of, project};
use crate::support::home::{Home, finish};
use crate::support::peers;

/// One line a directory: its name, then `valid` or what the validator says; a crash counts as a refusal.
const VALIDATE: &str = "\
import pathlib, sys
from skills_ref.validator import validate
for directory in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    try:
        faults = validate(directory)
    except Exception as error:
        faults = [repr(error)]
    print(directory.name, 'valid' if not faults else ' '.join(' | '.join(faults).split())[:300])
";

#[test]
fn the_reference_validator_agrees() {
    let Some(python) = peers::skills_reference() else {
        return;
    };
    let (home, folder) = project();
    let catalog = catalog(&home);
    let arguments = ["-X", "utf8", "-c", VALIDATE, folder.to_str().unwrap()];
    let ran = finish(home.foreign(&python, &arguments), b"");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let said = &ran.stdout;
    let cases = cases();
    assert_eq!(said.lines().count(), cases.len(), "{said}");
    for line in said.lines() {
        let (directory, verdict) = line.split_once(' ').unwrap();
        let case = cases
            .iter()
            .find(|case| case.directory == directory)
            .unwrap();
        if directory == "huge-file" {
            assert_eq!(verdict, "valid", "the limit of the whole file is ours");
            continue;
        }
        assert_eq!(verdict == "valid", case.valid, "{line}");
        let (skill, _) = of(&catalog, &folder.join(directory).join(case.file));
        assert!(!case.valid || skill.is_some(), "{line}");
    }
}

#[test]
fn the_command_of_the_validator_accepts_what_is_shipped() {
    let Some(python) = peers::skills_reference() else {
        return;
    };
    let home = Home::new();
    let command = python.with_file_name("agentskills");
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("skills");
    for entry in std::fs::read_dir(shipped).unwrap() {
        let directory = entry.unwrap().path();
        let ran = finish(
            // Through its interpreter: the path in its first line is where it was installed.
            home.foreign(
                &python,
                &[
                    command.to_str().unwrap(),
                    "validate",
                    directory.to_str().unwrap(),
                ],
            ),
            b"",
        );
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
}

/// What Codex answers to `skills/list` for `cwd`.
fn codex_list(home: &Home, program: &Path, cwd: &Path) -> Value {
    let mut child = home
        .foreign(program, &["app-server"])
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let client = json!({"name": "ipycodex-tests", "title": null, "version": "0"});
    for message in [
        json!({"id": 1, "method": "initialize", "params": {"clientInfo": client}}),
        json!({"method": "initialized"}),
        json!({"id": 2, "method": "skills/list", "params": {"cwds": [cwd], "forceReload": true}}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let answer = lines.find_map(|line| {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (message["id"] == 2).then_some(message)
    });
    drop(input);
    child.wait().unwrap();
    answer.expect("an answer")["result"]["data"][0].clone()
}

#[test]
fn what_codex_lists_is_listed() {
    let Some(codex) = peers::codex() else {
        return;
    };
    let (home, folder) = project();
    for (directory, below) in [
        ("work/below/.agents/skills/near", "near"),
        ("work/.agents/skills/group/deeper/deep", "deep"),
        ("work/.agents/skills/plain/nested", "nested"),
        ("home/.agents/skills/shared", "shared"),
        ("work/.agents/skills/shared", "shared"),
        ("elsewhere/linked", "linked"),
    ] {
        let directory = home.path().join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        let text = format!("---\nname: {below}\ndescription: Words\n---\n");
        std::fs::write(directory.join("SKILL.md"), text).unwrap();
    }
    let linked = home.path().join("elsewhere/linked");
    std::os::unix::fs::symlink(linked, folder.join("linked")).unwrap();
    let listed = codex_list(&home, &codex, &home.work());
    let skills = listed["skills"].as_array().unwrap();
    let theirs: Vec<&Value> = skills
        .iter()
        .filter(|skill| skill["scope"] != "system")
        .collect();
    assert!(theirs.len() > 30, "{listed}");
    let catalog = catalog(&home);
    // Ours has budgets Codex has not.
    let beyond = [
        "alias-bomb",
        "nested-brackets",
        "huge-frontmatter",
        "huge-file",
        "twice",
    ];
    for skill in theirs {
        let path = Path::new(skill["path"].as_str().unwrap());
        let (ours, told) = of(&catalog, path);
        let directory = path
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap();
        if beyond.contains(&directory) {
            assert!(ours.is_none() && !told.is_empty(), "{skill}");
            continue;
        }
        let ours = ours.unwrap_or_else(|| panic!("not listed: {skill}, {told:?}"));
        assert_eq!(ours.name, skill["name"].as_str().unwrap(), "{skill}");
        let description: String = skill["description"]
            .as_str()
            .unwrap()
            .chars()
            .take(1024)
            .collect();
        assert_eq!(ours.description, description, "{skill}");
    }
}
