//! F2 and Ctrl-X Ctrl-E: the text in the user's own editor, whatever that does.

use super::shell::{CTRL_C, Shell};
use crate::support::home::Home;
use crate::support::pty::cursor_line;

/// A home whose editor is this script (`$1` is the file).
fn with_editor(script: &str) -> Home {
    let mut home = Home::new();
    home.install_script("my-editor", &format!("#!/bin/sh\n{script}\n"));
    home.set("EDITOR", "never-started");
    home.set("VISUAL", "my-editor ''");
    home.install_script("my-editor", &format!("#!/bin/sh\nshift\n{script}\n"));
    home
}

#[test]
fn the_text_goes_there_and_comes_back() {
    let shell = Shell::of(with_editor(
        "cp \"$1\" seen; echo \"$1\" >named; printf 'a = 6\\na * 7\\n\\n' >\"$1\"",
    ));
    for keys in ["\x1bOQ", "\x18\x05", "\x1b[12~"] {
        shell.pty.send("x = 'ä'");
        shell.at_with(1, "x = 'ä'");
        shell.pty.send(keys);
        shell.pty.at_line("   ...:");
        shell.pty.wait_for("   ...: a * 7");
        let work = shell.home.work();
        assert_eq!(
            std::fs::read_to_string(work.join("seen")).unwrap(),
            "x = 'ä'\n"
        );
        let named = std::fs::read_to_string(work.join("named")).unwrap();
        assert!(named.trim_end().ends_with(".py"), "{named}");
        assert!(!std::path::Path::new(named.trim_end()).exists(), "{named}");
        // One step takes it back, and the cursor stood at the end.
        shell.pty.send("\x1f");
        shell.at_with(1, "x = 'ä'");
        shell.pty.send(CTRL_C);
        shell.at(1);
    }
    shell.pty.send("\x1bOQ");
    shell.pty.wait_for("   ...: a * 7");
    shell.pty.at_line("   ...:");
    shell.pty.send("\r");
    shell.pty.wait_for("Out[1]: 42");
    // A prompt is no Python.
    shell.at(2);
    shell.pty.send(".how");
    shell.at_with(2, ".how");
    shell.pty.send("\x1bOQ");
    shell.pty.wait_for("In [2]: a = 6");
    let named = std::fs::read_to_string(shell.home.work().join("named")).unwrap();
    assert!(named.trim_end().ends_with(".md"), "{named}");
}

#[test]
fn an_editor_that_fails_leaves_the_text() {
    let shell = Shell::of(with_editor("echo gone >\"$1\"; exit 3"));
    shell.pty.send("keep(me)");
    shell.at_with(1, "keep(me)");
    shell.pty.send("\x1bOQ");
    shell.pty.wait_for("exit status: 3");
    shell.at_with(1, "keep(me)");
}

#[test]
fn an_editor_that_cannot_be_started_is_named() {
    let home = Home::with(&[("VISUAL", "no-such-editor --wait")]);
    let shell = Shell::of(home);
    shell.pty.send("keep(me)");
    shell.at_with(1, "keep(me)");
    shell.pty.send("\x1bOQ");
    shell
        .pty
        .wait_for("`no-such-editor --wait` could not be started");
    shell.at_with(1, "keep(me)");
}

#[test]
fn a_killed_editor_leaves_a_sane_terminal() {
    // On its own screen, its cursor hidden, the terminal raw.
    let shell = Shell::of(with_editor(
        "stty raw -echo; printf '\\033[?1049h\\033[?25l\\033[31mediting'; kill -9 $$",
    ));
    shell.pty.send("keep(me)");
    shell.at_with(1, "keep(me)");
    shell.pty.send("\x1bOQ");
    shell.pty.wait_for("signal: 9");
    shell
        .pty
        .wait_until("the text on a screen that is in order", |screen| {
            cursor_line(screen).trim_end() == "In [1]: keep(me)"
                && !screen.alternate_screen()
                && !screen.hide_cursor()
        });
    shell.pty.send("\x15");
    shell.cell(1, "6*7");
    shell.shows("Out[1]: 42");
}

#[test]
fn the_editor_has_the_terminal_as_it_was_and_its_ctrl_c() {
    // Asks for a line as `ed` does, in the mode the terminal had before us; Ctrl-C is the editor's.
    let shell = Shell::of(with_editor(
        "trap 'echo caught' INT; stty -a >mode; echo ready; sleep 0.1; while ! read line; do :; done; echo \"y = \
         '$line'\" >\"$1\"",
    ));
    shell.pty.send("\x1bOQ");
    shell.pty.wait_for("ready");
    shell.pty.send(CTRL_C);
    shell.pty.wait_for("caught");
    shell.pty.send("typed\r");
    shell.pty.wait_for("In [1]: y = 'typed'");
    let mode = std::fs::read_to_string(shell.home.work().join("mode")).unwrap();
    for word in ["isig", "icanon", "echo", "icrnl"] {
        assert!(
            mode.split_whitespace().any(|set| set == word),
            "{word} in {mode}"
        );
    }
    shell.pty.send("\r");
    shell.at(2);
}
