//! Prompt mode: by key, command, flag and setting; what is no prompt in it; how it is left.

use super::shell::{CTRL_C, CTRL_D, Shell, with_settings};
use crate::support::home::Home;
use crate::support::pty::SIZE;

#[test]
fn the_key_keeps_the_text_and_changes_the_label_at_once() {
    let shell = Shell::new();
    let pty = &shell.pty;
    pty.send("what is 1");
    shell.at_with(1, "what is 1");
    // Alt-p as legacy bytes and as kitty sends it.
    for (keys, line) in [
        ("\x1bp", "Pr [1]: what is 1"),
        ("\x1b[112;3u", "In [1]: what is 1"),
        ("\x1b[112;3u", "Pr [1]: what is 1"),
    ] {
        pty.send(keys);
        shell.pty.at_line(line);
    }
    pty.send("\r");
    shell.pty.at_line("Pr [2]:");
    assert_eq!(shell.answers(1)[0].0, "what is 1");
    pty.send(";a = 6*7\r");
    shell.pty.at_line("Pr [3]:");
    pty.send("!echo from the shell\r");
    shell.pty.at_line("Pr [4]:");
    shell.shows("\nfrom the shell");
    pty.send(";if a:\r");
    shell.pty.at_line("   ...:");
    pty.send("print(a)\r\r");
    shell.pty.at_line("Pr [5]:");
    shell.shows("\n42");
    pty.send("%ipycodex prompt\r");
    shell.pty.at_line("In [6]:");
    shell.shows("Prompt mode OFF");
    pty.send("a\r");
    shell.pty.at_line("In [7]:");
    shell.shows("Out[6]: 42");
    pty.send("%ipycodex prompt\r");
    shell.pty.at_line("Pr [8]:");
    shell.shows("Prompt mode ON");
    pty.send("exit\r");
    assert_eq!(pty.exit_status().exit_code(), 0);
    assert_eq!(shell.answers(1).len(), 1);
}

#[test]
fn the_flag_turns_the_setting_round() {
    for (settings, arguments, label) in [
        ("{}", &["--agent", "demo", "-p"][..], "Pr [1]:"),
        (r#"{"prompt_mode": true}"#, &["--agent", "demo"], "Pr [1]:"),
        (
            r#"{"prompt_mode": true}"#,
            &["--agent", "demo", "-p"],
            "In [1]:",
        ),
    ] {
        let shell = Shell::start(with_settings(settings), arguments, SIZE);
        shell.pty.at_line(label);
        shell.pty.send(CTRL_D);
        assert_eq!(shell.pty.exit_status().exit_code(), 0);
    }
}

#[test]
fn the_label_of_several_lines_and_of_narrow_terminals() {
    let shell = Shell::start(Home::new(), &["--agent", "demo"], (40, 12));
    shell.at(1);
    shell.pty.send("if a:\r");
    shell.pty.at_line("   ...:");
    shell.pty.send("b\x1bp");
    shell.pty.at_line("   ...:     b");
    shell.pty.wait_for("Pr [1]: if a:");
    shell.pty.send("\x1bp");
    shell.pty.wait_for("In [1]: if a:");
    shell.pty.send(CTRL_C);
    shell.at(1);
}
