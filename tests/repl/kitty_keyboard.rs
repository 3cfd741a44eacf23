//! A terminal that speaks kitty's keyboard protocol: keys told apart while a line is edited, and only then.

use super::shell::{CTRL_C, Shell, with_settings};
use crate::support::home::Home;
use crate::support::pty::SIZE;

const PUSH: &[u8] = b"\x1b[>";
const POP: &[u8] = b"\x1b[<u";
const TOLD_APART: &[u8] = b"\x1b[=5u";
const BY_HABIT: &[u8] = b"\x1b[=0u";

fn shell() -> Shell {
    let home = Home::with(&[("TERM", "xterm-kitty")]);
    Shell::of(home)
}

fn vi() -> Shell {
    let mut home = with_settings(r#"{"edit_mode": "vi"}"#);
    home.set("TERM", "xterm-kitty");
    Shell::start(home, &["--agent", "demo"], SIZE)
}

/// How often it is in there.
fn count(raw: &[u8], sequence: &[u8]) -> usize {
    memchr::memmem::find_iter(raw, sequence).count()
}

#[test]
fn keys_that_others_spell_alike_are_told_apart() {
    let shell = shell();
    let pty = &shell.pty;
    // Shift-Enter begins a line, in a complete cell too; Ctrl-Enter runs it with the cursor anywhere.
    pty.send("x = 6\x1b[13;2uy = 7\x1b[13;2ux * y\x1b[A");
    pty.wait_for("...: x * y");
    pty.send("\x1b[13;5u");
    pty.wait_for("Out[1]: 42");
    shell.at(2);
    for (keys, line) in [
        // Ctrl-C; Ctrl-W; Ctrl-_ as a US keyboard has it; Alt-b; with a lock on; Enter of the keypad.
        ("foo\x1b[99;5uab", "ab"),
        ("foo bar\x1b[119;5u", "foo "),
        ("foo\x1b[117;5u\x1b[45:95;6u", "foo"),
        ("foo bar\x1b[98;3u\x1b[107;69u", "foo "),
        ("def f():\x1b[57414uab\x1b[99;133ucd", "cd"),
        // Ctrl-I completes, Ctrl-[ and then a letter is that letter with Alt, Super is nobody's.
        ("ma\x1b[105;5up\x1b[105;5u", "map"),
        ("foo bar\x1b[91;5ub\x1b[107;5u", "foo "),
        ("a\x1b[97;9ub", "ab"),
        // Shift-Space, Alt-Shift-W of a kitty, digits of the keypad.
        ("a\x1b[32;2ub\x1b[119:87;4u", "a b"),
        ("\x1b[57401u\x1b[57413u1", "2+1"),
    ] {
        pty.send(keys);
        shell.at_with(2, line);
        pty.send("\x1b[99;5u");
        shell.at(2);
    }
    pty.send("1\x1b[109;5u");
    pty.wait_for("Out[2]: 1");
}

#[test]
fn esc_leaves_inserting_in_vi() {
    let shell = vi();
    for escape in ["\x1b[27u", "\x1b[91;5u"] {
        shell.pty.wait_for("[ins] In [1]:");
        shell.pty.send(&format!("foo bar{escape}bi+ {escape}0x"));
        shell.pty.wait_for("[nav] In [1]: oo + bar");
        shell.pty.send("\x1b[99;5u");
    }
}

#[test]
fn what_runs_gets_the_keys_it_always_got() {
    let shell = shell();
    let pty = &shell.pty;
    assert_eq!(
        (count(&pty.raw(), PUSH), count(&pty.raw(), BY_HABIT)),
        (1, 0)
    );
    pty.send("input('na' + 'me: ')\r");
    pty.wait_for("name: ");
    let raw = pty.raw();
    assert_eq!((count(&raw, PUSH), count(&raw, BY_HABIT)), (1, 1));
    // Pressed before the terminal heard of it.
    pty.send("ab\x1b[117;5uc\x1b[127;1ud\r");
    pty.wait_for("Out[1]: 'd'");
    shell.at(2);
    let read = pty.raw().len();
    pty.send("import time; time.sleep(100)\r");
    pty.wait_raw(BY_HABIT, read);
    // Ctrl-C on Dvorak.
    pty.send("\x1b[99::105;5u");
    pty.wait_for("KeyboardInterrupt");
    shell.at(3);
    shell.leave();
    let raw = shell.pty.raw();
    assert_eq!((count(&raw, PUSH), count(&raw, POP)), (1, 1));
    assert_eq!(count(&raw, TOLD_APART), 3);
}

#[test]
fn keys_behind_an_enter_are_read_as_others() {
    let shell = vi();
    shell.pty.wait_for("[ins] In [1]:");
    shell.pty.send("1\rfoo bar\x1b[91;5u0x");
    shell.pty.wait_for("[nav] In [2]: oo bar");
}

#[test]
fn letters_of_another_alphabet_with_ctrl_end_it() {
    let shell = shell();
    // Others with Ctrl do nothing, as ever.
    shell.pty.send("abc\x1b[228::39;5u");
    shell.at_with(1, "abc");
    assert_eq!(count(&shell.pty.raw(), BY_HABIT), 0);
    // The first is the key in its place, where the letter tells which one that is.
    shell.pty.send("\x1b[1089::99;5u");
    shell.pty.wait_raw(BY_HABIT, 0);
    shell.at(1);
    shell.pty.send("abc");
    shell.at_with(1, "abc");
    shell.pty.send(CTRL_C);
    shell.at(1);
    shell.cell(1, "1");
    shell.at(2);
    assert_eq!(count(&shell.pty.raw(), TOLD_APART), 1);
}

#[test]
fn a_signal_gives_the_keyboard_back_and_others_are_left_alone() {
    let shell = shell();
    shell.pty.signal(rustix::process::Signal::TERM);
    shell.pty.exit_status();
    let raw = shell.pty.raw();
    assert_eq!((count(&raw, PUSH), count(&raw, POP)), (1, 1));
    let plain = Shell::start(Home::new(), &["--agent", "demo"], SIZE);
    plain.at(1);
    plain.leave();
    let raw = plain.pty.raw();
    assert_eq!((count(&raw, PUSH), count(&raw, POP)), (0, 0));
}
