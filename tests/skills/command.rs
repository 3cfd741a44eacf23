//! `ipycodex skills`: what it lists, shows and checks, without Python and agent.

use serde_json::{Value, json};

use super::cases::project;
use crate::support::home::{Home, Ran};

fn lines(ran: &Ran) -> Vec<String> {
    ran.stdout.lines().map(str::to_owned).collect()
}

fn skill(home: &Home, directory: &str, text: &str) {
    let directory = home.path().join(directory);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("SKILL.md"), text).unwrap();
}

/// A project, a home and their skills; no Python on the path.
fn world() -> Home {
    let home = Home::with(&[("PATH", "/nowhere")]);
    std::fs::create_dir(home.work().join(".git")).unwrap();
    let text =
        |name: &str| format!("---\nname: {name}\ndescription: What {name} does\n---\nBody\n");
    skill(&home, "work/.agents/skills/one", &text("one"));
    skill(&home, "home/.agents/skills/one", &text("one"));
    skill(&home, "home/.agents/skills/two", &text("two"));
    skill(&home, "config/agents/skills/broken\u{1b}[31m", "no skill");
    home
}

#[test]
fn the_list_names_scope_state_and_path() {
    let home = world();
    let ran = home.run(&["skills"], "");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let lines = lines(&ran);
    let find = |what: &str| {
        let line = lines.iter().find(|line| line.contains(what));
        line.unwrap_or_else(|| panic!("{what}: {lines:#?}"))
    };
    let root = home.path();
    let root = root.to_str().unwrap();
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let near = format!("{root}/work/.agents/skills/one/SKILL.md");
    assert_eq!(words(&lines[0]), ["Name", "Scope", "State", "Path"]);
    assert_eq!(
        words(&lines[1]),
        ["one", "project", "asks", "first", near.as_str()]
    );
    assert!(find("home/.agents/skills/one/SKILL.md").contains(" shadowed "));
    assert!(find("home/.agents/skills/two/SKILL.md").contains(" listed "));
    assert!(find("builtin:exploring-data/SKILL.md").contains(" built in "));
    let broken = find(" skipped ");
    assert!(
        broken.contains("broken^[[31m") && !broken.contains('\u{1b}'),
        "{broken:?}"
    );
    assert!(find("its first line is not").contains("config/agents/skills/broken^[[31m"));
    assert!(find("a nearer skill, ").contains("home/.agents/skills/one/SKILL.md:"));
}

#[test]
fn a_trusted_project_asks_no_more() {
    let home = world();
    let state = home.path().join("state/ipycodex");
    let (mut consent, _) = ipycodex::skills::Consent::open(&state);
    consent.trust(&home.work(), true).unwrap();
    let listing = lines(&home.run(&["skills"], ""));
    assert!(
        listing[1].contains(" listed ") && listing[1].starts_with("one "),
        "{listing:?}"
    );
    std::fs::write(state.join("skills.json"), "{").unwrap();
    let ran = home.run(&["skills"], "");
    assert!(lines(&ran)[1].contains("asks first"));
    assert!(ran.stderr.contains("skills.json"), "{ran:?}");
    assert_eq!(
        std::fs::read_to_string(state.join("skills.json")).unwrap(),
        "{"
    );
}

#[test]
fn the_list_as_json() {
    let home = world();
    let ran = home.run(&["skills", "--json"], "");
    let listing: Value = serde_json::from_str(&ran.stdout).unwrap();
    let first = &listing["skills"][0];
    let path = home.work().join(".agents/skills/one/SKILL.md");
    let expected = json!({
        "name": "one", "scope": "project", "state": "asks first", "path": path, "description": "What one does",
    });
    assert_eq!(*first, expected);
    let told = listing["diagnostics"].as_array().unwrap();
    assert!(
        told.iter().any(
            |told| told["skipped"] == true && told["path"].as_str().unwrap().contains('\u{1b}')
        )
    );
}

#[test]
fn one_is_shown_as_the_agent_gets_it() {
    let home = world();
    let shown = home.run(&["skills", "show", "two"], "");
    assert_eq!(shown.code(), 0);
    let text = lines(&shown).join("\n");
    assert!(
        text.starts_with("---\nname: two\n") && text.contains("Directory of this skill"),
        "{text}"
    );
    let ran = home.run(&["skills", "show", "one"], "");
    assert_eq!(ran.code(), 1);
    let said = &ran.stderr;
    assert!(
        said.contains("2 skills are named `one`") && said.contains("hint:"),
        "{said}"
    );
    let shipped = home.run(&["skills", "show", "exploring-data"], "");
    assert_eq!(
        shipped.stdout,
        include_str!("../../skills/exploring-data/SKILL.md")
    );
}

#[test]
fn checking_is_one_line_a_fault() {
    let (home, folder) = project();
    let check = |directory: &str| {
        let path = folder.join(directory);
        let ran = home.run(&["skills", "check", path.to_str().unwrap()], "");
        (ran.code(), lines(&ran))
    };
    let (code, said) = check("plain");
    assert_eq!((code, said.len()), (0, 1));
    assert!(said[0].ends_with("/plain: valid"));
    let (code, said) = check("extra-keys");
    assert_eq!((code, said.len()), (1, 2), "{said:?}");
    assert!(said[0].contains("`version` is not a field of a skill"));
    let paths = ["plain", "bom", "mismatch"].map(|name| folder.join(name));
    let mut arguments = vec!["skills", "check"];
    arguments.extend(paths.iter().map(|path| path.to_str().unwrap()));
    let ran = home.run(&arguments, "");
    assert_eq!((ran.code(), lines(&ran).len()), (1, 3));
    assert_eq!(home.run(&["skills", "check"], "").code(), 2);
}
