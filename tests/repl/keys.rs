//! Keys of the editor, in every spelling a terminal has for them; the user's own; what is said of wrong ones.
//!
//! One `check` types a text, then keys, then a bar where the cursor stands, and compares the line.

use super::shell::{CTRL_C, Shell, with_settings};
use crate::support::pty::{SIZE, cursor_line};

/// What `keys` make of `text`, with `|` where the cursor is afterwards.
fn check(shell: &Shell, text: &str, keys: &str, expected: &str) {
    shell.at(1);
    shell.pty.send(text);
    shell.at_with(1, text);
    // By itself, as a key pressed is: what comes with it is tested elsewhere.
    shell.pty.send(keys);
    shell.pty.send("|");
    shell.at_with(1, expected);
    shell.pty.send(CTRL_C);
    shell.at(1);
}

#[test]
fn moving_and_changing() {
    let shell = Shell::new();
    for (text, keys, expected) in [
        ("foo bar", "\x01", "|foo bar"),
        ("foo bar", "\x1b[H", "|foo bar"),
        ("foo bar", "\x1bOH", "|foo bar"),
        ("foo bar", "\x01\x05", "foo bar|"),
        ("foo bar", "\x01\x1b[F", "foo bar|"),
        ("foo bar", "\x02", "foo ba|r"),
        ("foo bar", "\x1b[D\x1b[D\x1b[C", "foo ba|r"),
        ("foo bar", "\x01\x06", "f|oo bar"),
        // A word back and forth: Alt-b, Ctrl-Left, Alt-Left, kitty's Alt-b.
        ("foo bar", "\x1bb", "foo |bar"),
        ("foo bar", "\x1b[1;5D", "foo |bar"),
        ("foo bar", "\x1b[1;3D", "foo |bar"),
        ("foo bar", "\x1b[98;3u", "foo |bar"),
        ("foo bar", "\x01\x1bf", "foo| bar"),
        ("foo bar", "\x01\x1b[1;5C", "foo| bar"),
        ("foo bar", "\x01\x1b[102;3u", "foo| bar"),
        // Deleting and cutting.
        ("foo bar", "\x7f\x7f", "foo b|"),
        ("foo bar", "\x08", "foo ba|"),
        ("foo bar", "\x01\x04", "|oo bar"),
        ("foo bar", "\x01\x1b[3~", "|oo bar"),
        ("foo bar", "\x1bb\x0b", "foo |"),
        ("foo bar", "\x1bb\x15", "|bar"),
        ("a foo.bar(", "\x17", "a |"),
        ("a foo.bar(", "\x1b\x7f", "a foo.|"),
        ("foo bar", "\x01\x1bd", "| bar"),
        ("foo bar", "\x18\x0b", "|"),
        // What was cut comes back, older cuts after it.
        ("foo bar", "\x1b\x7f\x01\x19", "bar|foo"),
        ("foo bar", "\x17\x17\x19\x19", "foo barfoo bar|"),
        ("foo bar", "\x17\x02\x15\x19\x1by", "bar|"),
        ("foo bar", "\x17\x02\x15\x19\x1by\x1by", "foo|"),
        // Undo in its spellings, redo.
        ("foo bar", "\x15\x1f", "foo bar|"),
        ("foo bar", "\x15\x18\x15", "foo bar|"),
        ("foo bar", "\x15\x1b[45;5u\x1b[47;5u", "foo bar|"),
        ("foo bar", "\x15\x1f\x1b_", "|"),
        ("foo bar", "\x15\x1f\x18\x12", "|"),
        // Letters.
        ("ab", "\x02\x14", "ba|"),
        ("foo bar", "\x1bb\x1bu", "foo BAR|"),
        ("FOO", "\x01\x1bl", "foo|"),
        ("foo", "\x01\x1bc", "F|oo"),
        // A selection goes with what is typed.
        ("foo bar", "\x1b[1;2D\x1b[1;2D\x1b[1;2D\x7f", "foo |"),
        ("foo bar", "\x18h\x0b\x19\x19", "foo barfoo bar|"),
        // A chord that is none: its last key by itself.
        ("foo", "\x18y", "fooy|"),
    ] {
        check(&shell, text, keys, expected);
    }
}

#[test]
fn esc_and_then_a_key_is_that_key_with_alt() {
    let shell = Shell::new();
    for (keys, expected) in [("b", "foo |bar"), ("\x7f", "foo |")] {
        shell.at(1);
        shell.pty.send("foo bar");
        shell.at_with(1, "foo bar");
        // Whether the key comes in a read of its own or not.
        shell.pty.send_and_await_read("\x1b");
        shell.pty.send(keys);
        shell.pty.send("|");
        shell.at_with(1, expected);
        shell.pty.send(CTRL_C);
    }
}

#[test]
fn lines_and_entries() {
    let shell = Shell::new();
    shell.cell(1, "alpha = 1");
    shell.cell(2, "beta = 2");
    let pty = &shell.pty;
    shell.at(3);
    pty.send("if beta:\r");
    pty.wait_for("   ...:     ");
    pty.send("alpha\r");
    pty.wait_until("a third line", |screen| {
        cursor_line(screen) == "   ...:     "
    });
    pty.send("beta");
    let at = |line: &str| pty.at_line(line);
    // Up goes through the lines first, then to what was before; Down comes back.
    pty.send("\x1b[A");
    pty.send("1");
    at("   ...:     alph1a");
    pty.send("\x7f\x1b[A\x1b[A");
    at("In [3]: beta = 2");
    pty.send(CTRL_C);
    shell.at(3);
    // Whole entries from the middle of several lines, back to what was being typed.
    pty.send("if beta:\r");
    pty.wait_for("   ...:     ");
    pty.send("x");
    at("   ...:     x");
    for (keys, line) in [
        ("\x1b[1;3A", "In [3]: beta = 2"),
        ("\x1b[1;3A", "In [3]: alpha = 1"),
        ("\x1b[1;3B", "In [3]: beta = 2"),
        ("\x1b[1;3B", "   ...:     x"),
    ] {
        pty.send(keys);
        at(line);
    }
    // Line start and text start are two things.
    pty.send("\x01#");
    at("   ...: #    x");
    pty.send("\x1b<#");
    at("In [3]: #if beta:");
    pty.send("\x1b>#");
    at("   ...: #    x#");
    pty.send("\x1b[44;4u#");
    at("In [3]: ##if beta:");
    // The screen is cleared, the text stays.
    pty.send("\x0c");
    pty.wait_until("the text at the top", |screen| {
        screen.contents().starts_with("In [3]: ##if beta:")
    });
}

#[test]
fn the_users_own_keys() {
    let mut home = with_settings(
        r#"{"keys": {"word_left": "ctrl-space", "kill_line": ["f5", "ctrl-x ctrl-k"], "kill_text": "",
            "prompt_mode": "esc m", "line_start": "ctrl-x a", "left": "ctrl-b"}}"#,
    );
    home.set("PAGER", "cat");
    let shell = Shell::of(home);
    for (keys, expected) in [
        ("\0", "foo |bar"),
        ("\0\x1b[15~", "foo |"),
        ("\0\x18\x0b", "foo |"),
        ("\x18a", "|foo bar"),
        // What they had by default does nothing any more.
        ("\x1bb", "foo bar|"),
        ("\x01", "foo bar|"),
    ] {
        check(&shell, "foo bar", keys, expected);
    }
    shell.pty.send("\x1bm");
    shell.pty.wait_for("Pr [1]:");
    shell.pty.send("\x1bm");
    shell.at(1);
    shell.pty.send_line("%ipycodex help keys");
    shell.at(2);
    shell.shows("f5 · ctrl-x ctrl-k (yours)");
    shell.shows("alt-m (yours)");
    shell.shows("kill_line");
}

#[test]
fn wrong_settings_of_keys_are_said_and_the_shell_starts() {
    let home = with_settings(
        "{\n\"keys\": {\n\"sugest\": \"f5\",\n\"undo\": \"ctrl-xx\",\n\"redo\": \"f6\",\n\"yank\": \"f6\"}}",
    );
    let shell = Shell::start(home, &["--agent", "demo"], SIZE);
    shell.at(1);
    for said in [
        "`keys.sugest` cannot be `\"f5\"`",
        "`suggest`",
        "`keys.undo` cannot be `\"ctrl-xx\"`",
        "ctrl-x ctrl-e",
        "`keys.yank` cannot be `\"f6\"`",
        "`redo`",
        "line 3",
        "line 4",
        "line 6",
    ] {
        shell.shows(said);
    }
    check(&shell, "foo", "\x15\x1f", "foo|");
}
