//! Every key of `%ipycodex help keys`, in the spelling a terminal has for it and as tmux passes it on.
//!
//! One table: what is typed, then the key, then a bar; and the line with the cursor in it. Whatever action has no row
//! is named with the file whose tests press its keys.

use ipycodex::config::KeyAction;

use super::shell::{CTRL_C, Shell, cursor_line};
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::pty::{Pty, SIZE};
use crate::support::tmux::Tmux;

/// Action, what is typed before, the line after it.
const LINES: &[(&str, &str, &str)] = &[
    ("enter", "if 1:", "   ...:     |"),
    ("newline", "1", "   ...: |"),
    ("cancel", "foo", "In [3]: |"),
    ("leave", "ab\x01", "In [3]: |b"),
    ("accept_suggestion", "alph", "In [3]: alpha = 1|"),
    ("accept_word", "alph", "In [3]: alpha|"),
    ("complete", "alph", "In [3]: alpha|"),
    ("inspect", "if 1:\r", "   ...: |"),
    ("up", "", "In [3]: beta = 2|"),
    ("down", "\x1b[A\x1b[A", "In [3]: beta = 2|"),
    ("previous_entry", "", "In [3]: beta = 2|"),
    ("next_entry", "\x1b[1;3A\x1b[1;3A", "In [3]: beta = 2|"),
    ("left", "ab", "In [3]: a|b"),
    ("right", "ab\x01", "In [3]: a|b"),
    ("word_left", "foo bar", "In [3]: foo |bar"),
    ("word_right", "foo bar\x01", "In [3]: foo| bar"),
    ("line_start", "if 1:\rx", "   ...: |    x"),
    ("line_end", "ab\x01", "In [3]: ab|"),
    ("text_start", "if 1:\rx", "In [3]: |if 1:"),
    ("text_end", "if 1:\rx\x1b<", "   ...:     x|"),
    // A bar takes the place of what is selected.
    ("select_left", "abc", "In [3]: ab|"),
    ("select_right", "abc\x01", "In [3]: |bc"),
    ("select_up", "if 1:\rx", "In [3]: if 1:|"),
    ("select_down", "if 1:\rx\x1b<", "In [3]: |    x"),
    ("select_word_left", "foo bar", "In [3]: foo |"),
    ("select_word_right", "foo bar\x01", "In [3]: | bar"),
    ("select_line_start", "foo bar", "In [3]: |"),
    ("select_line_end", "foo bar\x01", "In [3]: |"),
    ("select_all", "if 1:\rx", "In [3]: |"),
    ("backspace", "ab", "In [3]: a|"),
    ("delete", "ab\x01", "In [3]: |b"),
    ("kill_line", "ab\x1b[D", "In [3]: a|"),
    ("kill_line_start", "ab\x1b[D", "In [3]: |b"),
    ("kill_text", "if 1:\rx", "In [3]: |"),
    ("kill_blank_word", "a foo.bar", "In [3]: a |"),
    ("kill_word_left", "a foo.bar", "In [3]: a foo.|"),
    ("kill_word_right", "foo bar\x01", "In [3]: | bar"),
    ("yank", "foo\x17", "In [3]: foo|"),
    ("yank_pop", "foo bar\x17\x1b[D\x15\x19", "In [3]: bar|"),
    ("undo", "foo\x15", "In [3]: foo|"),
    ("redo", "foo\x15\x1f", "In [3]: |"),
    ("transpose", "ab\x1b[D", "In [3]: ba|"),
    ("uppercase", "foo bar\x1bb", "In [3]: foo BAR|"),
    ("lowercase", "FOO\x01", "In [3]: foo|"),
    ("capitalize", "foo\x01", "In [3]: F|oo"),
];

/// Actions whose keys do more than change a line, and who tests them.
const ELSEWHERE: &[(&str, &str)] = &[
    ("submit", "editing.rs"),
    ("suspend", "jobs.rs"),
    ("clear_screen", "keys.rs"),
    ("prompt_mode", "prompt_mode.rs"),
    ("shell_mode", "shell_mode.rs"),
    ("open_editor", "external.rs"),
    ("suggest", "suggestions.rs"),
    ("blocks", "reuse.rs"),
    ("block_1", "reuse.rs"),
    ("block_2", "reuse.rs"),
    ("block_3", "reuse.rs"),
    ("block_4", "reuse.rs"),
    ("block_5", "reuse.rs"),
    ("block_6", "reuse.rs"),
    ("block_7", "reuse.rs"),
    ("block_8", "reuse.rs"),
    ("block_9", "reuse.rs"),
    ("block_next", "reuse.rs"),
    ("block_previous", "reuse.rs"),
    ("recall", "undone.rs"),
    ("copy", "clipboard.rs"),
    ("unfold", "cells.rs"),
    ("answer", "together.rs"),
    ("search_history", "recall.rs"),
];

/// What a terminal sends for a chord, as people write it: `ctrl-x ctrl-e`.
fn bytes(chord: &str) -> String {
    chord.split(' ').map(stroke).collect()
}

fn stroke(stroke: &str) -> String {
    let (modifiers, key) = parts(stroke);
    let has = |name: &str| modifiers.contains(&name);
    let number = 1 + u8::from(has("shift")) + 2 * u8::from(has("alt")) + 4 * u8::from(has("ctrl"));
    let csi = |code: &str, end: char| match number {
        1 if code == "1" => format!("\x1b[{end}"),
        1 => format!("\x1b[{code}{end}"),
        number => format!("\x1b[{code};{number}{end}"),
    };
    match key {
        "up" => csi("1", 'A'),
        "down" => csi("1", 'B'),
        "right" => csi("1", 'C'),
        "left" => csi("1", 'D'),
        "home" => csi("1", 'H'),
        "end" => csi("1", 'F'),
        "delete" => csi("3", '~'),
        "tab" if has("shift") => "\x1b[Z".into(),
        "tab" => "\t".into(),
        "enter" if number == 1 => "\r".into(),
        "enter" if number == 3 => "\x1b\r".into(),
        "enter" => csi("13", 'u'),
        "backspace" if number == 1 => "\x7f".into(),
        "backspace" if number == 3 => "\x1b\x7f".into(),
        "backspace" => csi("127", 'u'),
        key => {
            let c = key.chars().next().unwrap();
            match number {
                1 => key.into(),
                3 => format!("\x1b{c}"),
                5 if c.is_ascii_lowercase() || c == '_' => char::from(c as u8 & 0x1f).into(),
                7 if c.is_ascii_lowercase() => format!("\x1b{}", char::from(c as u8 & 0x1f)),
                // No terminal has a byte for it: as kitty's protocol says it.
                _ => csi(&u32::from(c).to_string(), 'u'),
            }
        }
    }
}

fn parts(stroke: &str) -> (Vec<&str>, &str) {
    let (mut modifiers, mut key) = (Vec::new(), stroke);
    while let Some((modifier, rest)) = key.split_once('-').filter(|(_, rest)| !rest.is_empty()) {
        modifiers.push(modifier);
        key = rest;
    }
    (modifiers, key)
}

/// The chord as tmux calls it; `None` where tmux has no such key, or its terminals no spelling for it.
fn for_tmux(chord: &str) -> Option<Vec<String>> {
    let stroke = |stroke: &str| {
        let (modifiers, key) = parts(stroke);
        let named = match key {
            "up" => "Up",
            "down" => "Down",
            "right" => "Right",
            "left" => "Left",
            "home" => "Home",
            "end" => "End",
            "delete" => "DC",
            "enter" => "Enter",
            "tab" if modifiers == ["shift"] => return Some("BTab".to_owned()),
            "tab" => "Tab",
            "backspace" => "BSpace",
            key => key,
        };
        let is_plain = matches!(key, "enter" | "backspace") || key.chars().count() == 1;
        if is_plain && !matches!(modifiers[..], [] | ["alt"] | ["ctrl"]) {
            return None;
        }
        if modifiers == ["ctrl"] && matches!(key, "enter" | "backspace" | "/") {
            return None;
        }
        let mut name = String::new();
        for modifier in modifiers {
            name.push_str(match modifier {
                "ctrl" => "C-",
                "alt" => "M-",
                _ => "S-",
            });
        }
        Some(name + named)
    };
    chord.split(' ').map(stroke).collect()
}

/// Waits for this line, what is suggested in grey left out.
fn at(pty: &Pty, what: &str, line: &str) {
    pty.wait_until(&format!("{line:?} at the cursor ({what})"), |screen| {
        cursor_line(screen).trim_end() == line.trim_end()
    });
}

/// What is typed has been read, and what is suggested for it is there.
fn prepared(pty: &Pty, before: &str) {
    at(pty, before, "In [3]:");
    for piece in pieces(before) {
        let read = pty.raw().len();
        pty.send(&piece);
        // The editor paints after each key.
        await_true("a paint", || pty.raw().len() > read);
    }
    if before == "alph" {
        pty.wait_until("a suggestion", |screen| {
            screen
                .contents()
                .lines()
                .last()
                .is_some_and(|line| line.contains("alpha = 1"))
        });
    }
}

/// Keys one by one, as they are pressed; letters together.
fn pieces(keys: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for c in keys.chars() {
        let goes_on = pieces.last().is_some_and(|last| {
            let (first, ends) = (last.chars().next().unwrap(), last.chars().last().unwrap());
            match first {
                '\x1b' if last.len() == 1 => true,
                '\x1b' => {
                    last.starts_with("\x1b[") && (last.len() == 2 || !ends.is_ascii_alphabetic())
                }
                first => !first.is_control() && !c.is_control(),
            }
        });
        match pieces.last_mut() {
            Some(last) if goes_on => last.push(c),
            _ => pieces.push(c.into()),
        }
    }
    pieces
}

/// Presses all keys of all rows with `press`, which is false where it cannot.
fn check_all(pty: &Pty, press: impl Fn(&str) -> bool) -> usize {
    let mut pressed = 0;
    for (action, before, after) in LINES {
        let action = KeyAction::named(action).expect("an action");
        let rows = KeyAction::rows();
        let row = rows.into_iter().find(|row| row.action == action).unwrap();
        for chord in row.chords {
            prepared(pty, before);
            if press(chord) {
                pressed += 1;
                if *before == "alph" {
                    // What is there for it may have to be looked up.
                    at(pty, chord, &after.replace('|', ""));
                }
                pty.send("|");
                at(
                    pty,
                    &format!("{} by {chord} after {before:?}", row.name),
                    after,
                );
            }
            pty.send(CTRL_C);
        }
    }
    pressed
}

fn with_two_cells(pty: &Pty) {
    for (number, cell) in [(1, "alpha = 1"), (2, "beta = 2")] {
        at(pty, "a prompt", &format!("In [{number}]:"));
        pty.send_line(cell);
    }
    at(pty, "a prompt", "In [3]:");
}

#[test]
fn ctrl_g_leaves_a_search_and_the_text_stays() {
    let shell = Shell::new();
    with_two_cells(&shell.pty);
    shell.pty.send("draft");
    at(&shell.pty, "draft", "In [3]: draft");
    shell.pty.send("\x12");
    shell.pty.send("alp");
    shell.pty.wait_for("alpha = 1");
    shell.pty.send("\x07");
    at(&shell.pty, "ctrl-g", "In [3]: draft");
}

#[test]
fn every_action_is_tested() {
    let named = LINES
        .iter()
        .map(|row| row.0)
        .chain(ELSEWHERE.iter().map(|row| row.0));
    let named: Vec<&str> = named.collect();
    for row in KeyAction::rows() {
        assert_eq!(
            named.iter().filter(|name| **name == row.name).count(),
            1,
            "{}",
            row.name
        );
    }
}

#[test]
fn every_key_in_the_spelling_of_a_terminal() {
    let shell = Shell::new();
    with_two_cells(&shell.pty);
    check_all(&shell.pty, |chord| {
        shell.pty.send(&bytes(chord));
        true
    });
}

#[test]
fn every_key_under_tmux() {
    let home = Home::new();
    let Some(tmux) = Tmux::start(&home, &["--agent", "demo"], SIZE) else {
        return;
    };
    with_two_cells(&tmux.pty);
    let pressed = check_all(&tmux.pty, |chord| {
        let Some(names) = for_tmux(chord) else {
            return false;
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        tmux.keys(&names);
        true
    });
    assert!(pressed > 60, "{pressed}");
}
