//! `edit_mode: vi`: vi's commands, our keys beside them, the mode in the label and in the cursor's shape.

use super::shell::{CTRL_C, Shell, with_settings};
use crate::support::pty::SIZE;

fn vi() -> Shell {
    let home = with_settings(r#"{"edit_mode": "vi"}"#);
    Shell::start(home, &["--agent", "demo"], SIZE)
}

#[test]
fn commands_and_inserting() {
    let shell = vi();
    let pty = &shell.pty;
    shell.pty.at_line("[ins] In [1]:");
    pty.wait_raw(b"\x1b[6 q", 0);
    pty.send("foo bar");
    shell.pty.at_line("[ins] In [1]: foo bar");
    let read = pty.raw().len();
    pty.send("\x1b");
    shell.pty.at_line("[nav] In [1]: foo bar");
    pty.wait_raw(b"\x1b[2 q", read);
    pty.send("bi+ ");
    shell.pty.at_line("[ins] In [1]: foo + bar");
    pty.send("\x1b");
    shell.pty.at_line("[nav] In [1]: foo + bar");
    pty.send("0dwu");
    shell.pty.at_line("[nav] In [1]: foo + bar");
    // Esc and then a key are two keys here, however fast.
    pty.send("A.");
    shell.pty.at_line("[ins] In [1]: foo + bar.");
    pty.send("\x1b");
    shell.pty.at_line("[nav] In [1]: foo + bar.");
    pty.send("x");
    shell.pty.at_line("[nav] In [1]: foo + bar");
    // Ctrl-C drops the text; the next one begins by inserting.
    pty.send(CTRL_C);
    shell.pty.at_line("[ins] In [1]:");
    pty.send("6*7\x1b");
    shell.pty.at_line("[nav] In [1]: 6*7");
    pty.send("\r");
    pty.wait_for("Out[1]: 42");
    shell.pty.at_line("[ins] In [2]:");
    // v selects, d takes it.
    pty.send("foo bar\x1b");
    shell.pty.at_line("[nav] In [2]: foo bar");
    pty.send("0v");
    shell.pty.at_line("[vis] In [2]: foo bar");
    pty.send("ed");
    shell.pty.at_line("[nav] In [2]:  bar");
}

#[test]
fn enter_follows_the_same_rules() {
    let shell = vi();
    let pty = &shell.pty;
    shell.pty.at_line("[ins] In [1]:");
    pty.send("def f(x):\r");
    shell.pty.at_line("         ...:");
    pty.send("return x + 1\x1b");
    shell.pty.at_line("         ...:     return x + 1");
    pty.wait_for("[nav] In [1]: def f(x):");
    pty.send("\r");
    pty.wait_for("[ins] In [1]: def f(x):");
    shell.pty.at_line("         ...:");
    pty.send("\r");
    shell.pty.at_line("[ins] In [2]:");
    pty.send("f(41)\r");
    pty.wait_for("Out[2]: 42");
}

#[test]
fn our_keys_hold_in_both_modes() {
    let shell = vi();
    let pty = &shell.pty;
    shell.pty.at_line("[ins] In [1]:");
    pty.send("foo bar");
    shell.pty.at_line("[ins] In [1]: foo bar");
    // IPython has these while inserting, too.
    for (keys, text) in [
        ("\x17", "foo"),
        ("\x19", "foo bar"),
        ("\x02\x0b", "foo ba"),
        ("\x1f", "foo bar"),
    ] {
        pty.send(keys);
        shell
            .pty
            .at_line(format!("[ins] In [1]: {text}").trim_end());
    }
    pty.send("\x1bp");
    shell.pty.at_line("[ins] Pr [1]: foo bar");
    pty.send("\x1b");
    shell.pty.at_line("[nav] Pr [1]: foo bar");
    pty.send("\x1bp");
    shell.pty.at_line("[nav] In [1]: foo bar");
    // What is vi's own is vi's: what terminals send for Alt and a letter is Esc and the letter.
    pty.send("a\x1bh");
    shell.pty.at_line("[nav] In [1]: foo bar");
    pty.send("x");
    shell.pty.at_line("[nav] In [1]: foo br");
    pty.send(CTRL_C);
    shell.pty.at_line("[ins] In [1]:");
    pty.send("a = 1\r");
    shell.pty.at_line("[ins] In [2]:");
    pty.send("\x1b");
    shell.pty.at_line("[nav] In [2]:");
    pty.send("k");
    shell.pty.at_line("[nav] In [2]: a = 1");
    pty.send("\x04\x04\x04\x04\x04\x03");
    shell.pty.at_line("[ins] In [2]:");
    pty.send("\x04");
    assert_eq!(pty.exit_status().exit_code(), 0);
}

#[test]
fn escape_and_letters_in_one_read_are_that() {
    let shell = vi();
    let pty = &shell.pty;
    shell.pty.at_line("[ins] In [1]:");
    let typed = "one two";
    for (keys, becomes) in [
        ("\x1bdd", "[nav] In [1]:"),
        ("\x1bbD", "[nav] In [1]: one"),
        ("\x1bbcwsix\x1bx", "[nav] In [1]: one si"),
        ("\x1bx", "[nav] In [1]: one tw"),
        ("\x1bccnew", "[ins] In [1]: new"),
        ("\x1bA!", "[ins] In [1]: one two!"),
        ("\x1b0rO", "[nav] In [1]: One two"),
        ("\x1bs!", "[ins] In [1]: one tw!"),
        ("\x1b\x1bdd", "[nav] In [1]:"),
    ] {
        // All in one read, and behind text that has been painted.
        for whole in [true, false] {
            if !whole {
                pty.send(typed);
                shell.pty.at_line(&format!("[ins] In [1]: {typed}"));
            }
            let keys = match whole {
                true => format!("{typed}{keys}"),
                false => keys.to_owned(),
            };
            pty.send(&keys);
            shell.pty.at_line(becomes);
            pty.send(CTRL_C);
            shell.pty.at_line("[ins] In [1]:");
        }
    }
}
