//! `search`: entries found again, for people and for programs.

use serde_json::Value;

use crate::support::home::{Home, finish};

fn home() -> Home {
    let home = Home::new();
    home.demo(&[], "needle = 1\n.where is the needle?\n\n");
    let directory = home.work().join("elsewhere");
    std::fs::create_dir_all(&directory).unwrap();
    let mut command = home.command(&["-c", "Needle = 2; print('\\t')"]);
    command.current_dir(&directory);
    assert_eq!(finish(command, b"").code(), 0);
    home
}

#[test]
fn what_was_typed_and_answered_is_found_newest_first() {
    let home = home();
    let ran = home.run(&["search", "needle"], "");
    assert_eq!(ran.code(), 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "    ID    In  Start             What    Line");
    let kinds: Vec<&str> = lines[1..]
        .iter()
        .map(|line| line[32..].trim_end())
        .collect();
    let end = ["prompt  where is the needle?", "cell    needle = 1"];
    assert!(kinds.ends_with(&end), "{kinds:?}");
    assert!(kinds[0].starts_with("answer  "), "{kinds:?}");
    assert!(
        lines[1..]
            .iter()
            .all(|line| line.starts_with("     1     "))
    );

    let all = home.run(&["search", "--all", "needle"], "");
    assert!(
        all.stdout
            .lines()
            .nth(1)
            .unwrap()
            .ends_with("cell    Needle = 2; print('\\t')")
    );
    let capital = home.run(&["search", "--all", "Needle"], "");
    assert_eq!(capital.stdout.lines().count(), 2, "{}", capital.stdout);
}

#[test]
fn programs_get_json() {
    let home = home();
    let ran = home.run(&["search", "needle", "--json", "--all"], "");
    let rows: Vec<Value> = serde_json::from_str(&ran.stdout).unwrap();
    let newest = &rows[0];
    assert_eq!(
        (
            &newest["session"],
            &newest["line"],
            &newest["kind"],
            &newest["text"]
        ),
        (
            &2.into(),
            &1.into(),
            &"cell".into(),
            &"Needle = 2; print('\\t')".into()
        )
    );
    assert_eq!(newest["start"].as_str().unwrap().len(), 26);
    let none = home.run(&["search", "nothing of that kind", "--json"], "");
    assert_eq!((none.code(), none.stdout.as_str()), (1, "[]\n"));
}

#[test]
fn nothing_found_is_exit_code_1_and_nothing_looked_for_is_2() {
    let home = home();
    let none = home.run(&["search", "nothing of that kind"], "");
    assert_eq!((none.code(), none.stdout.as_str()), (1, ""));
    assert!(
        none.stderr
            .contains("nothing recorded in this directory contains `nothing of that kind`")
    );
    assert_eq!(home.run(&["search", " "], "").code(), 2);
    let fresh = Home::new();
    assert_eq!(fresh.run(&["search", "x", "--all"], "").code(), 1);
    assert!(!fresh.history().exists(), "a search makes no record");
}
