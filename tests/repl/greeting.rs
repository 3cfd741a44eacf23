//! What a session begins with: three lines the first time, one later, none when a setting says so.

use super::shell::{Shell, with_settings};
use crate::support::home::Home;

/// Columns for the longest path of an interpreter.
const WIDE: (u16, u16) = (200, 24);

/// The lines above the first prompt.
fn greeting(shell: &Shell) -> Vec<String> {
    shell.at(1);
    let text = shell.text();
    let (before, _) = text.split_once("In [1]").expect("the first prompt");
    before.lines().map(str::to_owned).collect()
}

#[test]
fn the_first_session_begins_with_three_lines_and_later_ones_with_one() {
    let shell = Shell::start(Home::new(), &["--agent", "demo"], WIDE);
    let first = greeting(&shell);
    assert_eq!(first.len(), 3, "{first:?}");
    let python = shell.home.path().join("bin/python3");
    let engine = "with IPython if it is installed there.";
    assert_eq!(
        first[0],
        format!("Cells run in {}, {engine}", python.display())
    );
    assert!(first[1].starts_with(".hello asks demo:"), "{first:?}");
    assert!(first[2].starts_with("%ipycodex help"), "{first:?}");
    assert!(
        !shell.home.config().exists(),
        "nothing is written to know it"
    );
    shell.cell(1, "1 + 1");
    assert_eq!(shell.leave(), 0);
    let later = greeting(&Shell::start(shell.home, &["--agent", "demo"], WIDE));
    let version = env!("CARGO_PKG_VERSION");
    let line = format!("ipycodex {version} · {} · %ipycodex help", python.display());
    assert_eq!(later, [line]);
}

#[test]
fn the_greeting_stands_above_the_prompt_where_the_terminal_is_not_asked_for_its_background() {
    let home = Home::with(&[("COLORFGBG", "15;0")]);
    let greeted = greeting(&Shell::start(home, &["--agent", "demo"], WIDE));
    assert_eq!(greeted.len(), 3, "{greeted:?}");
}

#[test]
fn a_setting_leaves_the_greeting_out() {
    let shell = Shell::of(with_settings(r#"{"greeting": false}"#));
    assert_eq!(greeting(&shell), [] as [String; 0]);
}
