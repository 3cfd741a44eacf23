//! Suggestions at the cursor, typed on a terminal: asked for, taken whole and by words, typed along, dropped.
//!
//! The offline agent completes names of the context, so each suggestion is known.

use vt100::Screen;

use super::shell::{CTRL_C, Shell, with_settings};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::SIZE;

const SUGGEST: &str = "\x1b.";
const RIGHT: &str = "\x1b[C";
const LEFT: &str = "\x1b[D";
const ALT_F: &str = "\x1bf";

/// A shell that has a name to complete.
fn shell() -> Shell {
    let shell = Shell::of(with_settings(r#"{"history_hint": false}"#));
    shell.cell(1, "alpha_one = 1; alpha_two = alpha_one.real");
    shell.at(2);
    shell
}

#[test]
fn an_earlier_input_stands_in_grey_while_typing() {
    for key in [RIGHT, "\x05", "\x1b[F"] {
        let shell = Shell::new();
        shell.cell(1, "alpha_one = 1; alpha_one + 41");
        shell.at(2);
        shell.pty.send("alp");
        shell.offers("alp", "ha_one = 1; alpha_one + 41");
        shell.pty.send(ALT_F);
        shell.offers("alpha_one", " = 1; alpha_one + 41");
        shell.pty.send("x");
        shell.offers("alpha_onex", "");
        shell.pty.send("\x7f");
        shell.offers("alpha_one", " = 1; alpha_one + 41");
        // The model's takes its place.
        shell.pty.send(&format!("{CTRL_C}alp"));
        shell.offers("alp", "ha_one = 1; alpha_one + 41");
        shell.pty.send(SUGGEST);
        shell.offers("alp", "ha_one");
        shell.pty.send(&format!("{CTRL_C}alp"));
        shell.offers("alp", "ha_one = 1; alpha_one + 41");
        shell.pty.send(key);
        shell.offers("alpha_one = 1; alpha_one + 41", "");
        shell.pty.send("\r");
        shell.shows("Out[2]: 42");
        shell.at(3);
        // What is not taken is not run, and leaves nothing behind.
        shell.cell(3, "alpha_one");
        shell.shows("In [3]: alpha_one\nOut[3]: 1");
        shell.cell(4, "%ipycodex history_hint off");
        shell.shows("history_hint is false");
        shell.pty.send("alp");
        shell.at_with(5, "alp");
        shell.lacks("In [5]: alpha");
    }
}

/// The text typed at the prompt, and what stands in grey behind the cursor's row.
fn parts(screen: &Screen) -> (String, String) {
    let (row, _) = screen.cursor_position();
    let (mut typed, mut grey) = (String::new(), String::new());
    for column in 0..screen.size().1.get() {
        let Some(cell) = screen.cell(row, column) else {
            continue;
        };
        let text = if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        match cell.fgcolor() {
            vt100::Color::Idx(8) => grey.push_str(text),
            _ => typed.push_str(text),
        }
    }
    (typed.trim_end().to_owned(), grey.trim_end().to_owned())
}

impl Shell {
    #[track_caller]
    fn offers(&self, typed: &str, grey: &str) {
        let line = format!("In [2]: {typed}");
        let line = line.trim_end();
        self.pty
            .wait_until(&format!("{typed:?} and {grey:?} in grey"), |screen| {
                parts(screen) == (line.to_owned(), grey.to_owned())
            });
    }

    fn asks(&self, typed: &str, grey: &str) {
        self.pty.send(typed);
        self.offers(typed, "");
        self.pty.send(SUGGEST);
        self.offers(typed, grey);
    }
}

#[test]
fn it_is_taken_whole() {
    for key in [RIGHT, "\x05", "\x1b[F", SUGGEST] {
        let shell = shell();
        shell.asks("alp", "ha_one");
        shell.pty.send(key);
        shell.offers("alpha_one", "");
        shell.pty.send("\r");
        shell.shows("Out[2]: 1");
        assert_eq!(shell.inputs(2)[1], "alpha_one");
    }
}

#[test]
fn typing_along_keeps_the_rest_and_other_typing_drops_it() {
    let shell = shell();
    shell.asks("alp", "ha_one");
    shell.pty.send("ha");
    shell.offers("alpha", "_one");
    shell.pty.send("x");
    shell.offers("alphax", "");
    shell.pty.send("\x7f\x7f\x7f");
    shell.offers("alp", "");
    shell.pty.send(&format!("{SUGGEST}{CTRL_C}"));
    shell.at(2);
    shell.cell(2, "6*7");
    shell.shows("Out[2]: 42");
    assert_eq!(shell.inputs(2)[1], "6*7");
}

#[test]
fn alt_f_takes_a_word() {
    let shell = shell();
    shell.pty.send("if alp:");
    shell.offers("if alp:", "");
    shell.pty.send(SUGGEST);
    shell.pty.wait_for("pass");
    shell.pty.send(CTRL_C);
    shell.at(2);
    shell.asks(".exp", "lain");
    shell.pty.send(CTRL_C);
    shell.at(2);
    shell.asks(".why", " does the last cell fail?");
    // Two at once are two words.
    shell.pty.send(&format!("{ALT_F}{ALT_F}"));
    shell.offers(".why does the", " last cell fail?");
    shell.pty.send(RIGHT);
    shell.offers(".why does the last cell fail?", "");
    shell.pty.send("\r");
    shell.at(3);
    assert_eq!(shell.answers(1)[0].0, "why does the last cell fail?");
}

#[test]
fn in_the_middle_it_stands_below_until_the_key_puts_it_in() {
    let shell = shell();
    shell.pty.send(&format!("print(alp, 1){}", LEFT.repeat(4)));
    shell.pty.wait_until("the cursor in the middle", |screen| {
        screen.cursor_position().1 == 8 + 9
    });
    shell.pty.send(SUGGEST);
    shell.pty.wait_for("      ↳ ha_one");
    shell.offers("print(alp, 1)", "");
    shell.pty.send(SUGGEST);
    shell.pty.wait_gone("↳");
    shell.offers("print(alpha_one, 1)", "");
    shell.pty.send("\r");
    shell.shows("1 1");
}

#[test]
fn an_empty_line_asks_nothing() {
    let shell = shell();
    shell.pty.send(SUGGEST);
    shell.pty.send("1");
    shell.offers("1", "");
    shell.lacks("…");
}

#[test]
fn it_works_with_ipython_too() {
    let Some(python) = peers::python() else {
        return;
    };
    let arguments = ["--agent", "demo", "--python", python.to_str().unwrap()];
    let home = with_settings(r#"{"history_hint": false}"#);
    let shell = Shell::start(home, &arguments, SIZE);
    shell.cell(1, "alpha_one = 1");
    shell.at(2);
    shell.asks("alp", "ha_one");
    shell.pty.send(&format!("{RIGHT}\r"));
    shell.shows("Out[2]: 1");
}

#[test]
fn a_missing_agent_is_told_of_once() {
    let home = Home::with(&[("IPYAI_CODEX_CMD", "/nowhere/codex")]);
    let shell = Shell::start::<&str>(home, &[], SIZE);
    shell.at(1);
    shell.pty.send(&format!("x = {SUGGEST}"));
    shell.shows("no suggestion: the AI agent is not installed: `/nowhere/codex` was not found");
    shell.pty.at_line("In [1]: x =");
    shell.pty.send("2");
    shell.at_with(1, "x = 2");
    shell.pty.send(SUGGEST);
    shell.pty.send("3");
    shell.at_with(1, "x = 23");
    assert_eq!(shell.text().matches("no suggestion").count(), 1);
}
