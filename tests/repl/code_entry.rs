//! Writing code: levels in and out, clauses at their place, Enter as IPython has it, long and odd pastes.

use super::shell::{CTRL_C, Shell};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{SIZE, cursor_line};

/// Types each key by itself and waits until the cursor stands behind this text.
fn typed(shell: &Shell, steps: &[(&str, &str)]) {
    for (keys, line) in steps {
        shell.pty.send(keys);
        shell
            .pty
            .wait_until(&format!("{line:?} up to the cursor"), |screen| {
                let column = usize::from(screen.cursor_position().1);
                let before: String = cursor_line(screen).chars().take(column).collect();
                format!("{before:column$}") == *line
            });
    }
}

#[test]
fn levels_and_clauses() {
    let shell = Shell::new();
    typed(
        &shell,
        &[
            ("for a in b:\r", "   ...:     "),
            ("if a:\r", "   ...:         "),
            ("pass\r", "   ...:     "),
            ("\x7f", "   ...: "),
            ("  \t", "   ...:     "),
            ("\t", "   ...:         "),
            ("else", "   ...:         else"),
            (":", "   ...:     else:"),
            ("\r", "   ...:         "),
            ("\x1b[Z", "   ...:     "),
            ("\x1b[Z", "   ...: "),
            ("    x\r", "   ...:     "),
            ("break\r", "   ...: "),
            (CTRL_C, "In [1]: "),
            ("try:\r", "   ...:     "),
            ("x = [\r", "   ...:         "),
            ("1]\r", "   ...:     "),
            ("except E as e:", "   ...: except E as e:"),
            // One step takes the place back.
            ("\x1f", "   ...:     except E as e"),
            (CTRL_C, "In [1]: "),
            ("match a:\r", "   ...:     "),
            ("case 1:\r", "   ...:         "),
            ("return\r", "   ...:     "),
            ("\t", "   ...:         "),
            ("case [2, x]:", "   ...:     case [2, x]:"),
            (CTRL_C, "In [1]: "),
        ],
    );
}

#[test]
fn a_burst_is_written_like_single_keys() {
    let shell = Shell::new();
    shell
        .pty
        .send("for a in [1, 2]:\rif a > 1:\rprint('more')\r\x7felse:\rprint('one')\r\r");
    shell.at(2);
    shell.shows("\none\nmore");
    assert_eq!(
        shell.inputs(1)[0].trim_end(),
        "for a in [1, 2]:\n    if a > 1:\n        print('more')\n    else:\n        print('one')"
    );
}

/// Enter at the end of each text: does it submit? Both shells must say the same.
fn enters(shell: &Shell) {
    for (text, submits) in [
        ("a = 1", true),
        ("def f(): return 1", true),
        ("if 1:", false),
        ("x = (1,", false),
        ("'''a", false),
        ("a = 1 \\", false),
        ("@property", false),
        ("try:", false),
        ("x = 1)", true),
        ("%%time", false),
        ("!true", true),
    ] {
        shell.pty.send(CTRL_C);
        shell.pty.wait_until("an empty prompt", |screen| {
            cursor_line(screen).trim_end().ends_with("]:")
        });
        shell.pty.send(text);
        shell
            .pty
            .wait_until("the text", |screen| cursor_line(screen).contains(text));
        shell.pty.send("\r");
        shell
            .pty
            .wait_until(&format!("Enter after {text:?}"), |screen| {
                let line = cursor_line(screen);
                if submits {
                    line.starts_with("In [") && line.trim_end().ends_with("]:")
                } else {
                    line.starts_with("   ...:") || line.starts_with("    ...:")
                }
            });
    }
}

#[test]
fn enter_submits_what_ipython_submits_without_ipython() {
    enters(&Shell::new());
}

#[test]
fn enter_submits_what_ipython_submits_with_ipython() {
    let Some(python) = peers::python() else {
        return;
    };
    let python = python.to_str().unwrap();
    let shell = Shell::start(Home::new(), &["--agent", "demo", "--python", python], SIZE);
    shell.at(1);
    enters(&shell);
}

#[test]
fn ten_thousand_lines_are_pasted_and_taken_back_in_one_step() {
    let shell = Shell::new();
    shell.pty.send("before");
    shell.at_with(1, "before");
    let lines: Vec<String> = (0..10_000)
        .map(|number| format!("a{number} = {number}"))
        .collect();
    shell
        .pty
        .send(&format!("\x1b[200~\n{}\x1b[201~", lines.join("\n")));
    shell.pty.wait_for("   ...: a9999 = 9999");
    shell.pty.send("\x1f");
    shell.at_with(1, "before");
    shell.pty.send("\x15");
    shell.at(1);
    shell
        .pty
        .send(&format!("\x1b[200~{}\x1b[201~\r", lines.join("\n")));
    shell.at(2);
    shell.cell(2, "a9999 + a1");
    shell.shows("Out[2]: 10000");
}

#[test]
fn a_paste_keeps_its_tabs_and_its_lines() {
    let shell = Shell::new();
    shell
        .pty
        .send("\x1b[200~if 1:\r\n\tx = 'a\tb'\r\n\ty = len(x)\r\n\x1b[201~\r");
    shell.at(2);
    shell.cell(2, "x, y");
    shell.shows("Out[2]: ('a\\tb', 3)");
    assert_eq!(
        shell.inputs(1)[0].trim_end(),
        "if 1:\n\tx = 'a\tb'\n\ty = len(x)"
    );
}

#[test]
fn selected_lines_go_in_and_out() {
    let shell = Shell::new();
    shell.pty.send("\x1b[200~a\nb\x1b[201~");
    shell.pty.wait_for("   ...: b");
    shell.pty.send("\x18h");
    shell.pty.send("\t");
    shell.pty.wait_for("In [1]:     a\n   ...:     b");
    shell.pty.send("\x18h");
    shell.pty.send("\x1b[Z");
    shell.pty.wait_for("In [1]: a\n   ...: b");
}
