//! What a monkey does: keys, words, lines, pastes.
//!
//! Absent on purpose: words that a shell could do harm with; shell mode is one of the keys.

use ipycodex::config::KeyAction;

use crate::repl::every_key::spelling::bytes;
use crate::support::random::Random;

/// Keys that no action has.
const OTHER_KEYS: &[&str] = &[
    "\x1b",
    "\x1b[5~",
    "\x1b[6~",
    "\x1b[2~",
    "\x1bOP",
    "\x1b[15~",
    "\x1b[24~",
    "\x1b[Z",
    "\x1b[I",
    "\x1b[O",
    "q",
    "y",
    "n",
    "s",
    "x",
    "w",
    " ",
    "/",
    "?",
    "1",
    "2",
    "\x1b[200~\x1b[201~",
    "\x1b[1;2P",
    "\x1b[27;5;9~",
    "\x1b[97;5u",
    "\x1b[?1u",
    "\x1b[?62;22c",
    "\x1b]11;rgb:0000/0000/0000\x1b\\",
    "\x1b[12;7R",
    "\x1b[",
    "\x1bO",
    "\x1b[1;",
];

/// Pieces of a line.
const WORDS: &[&str] = &[
    "x",
    "alpha",
    "print(",
    ")",
    "'",
    "\"\"\"",
    "[1, 2",
    "{",
    "}",
    "if 1:",
    "for n in range(3):",
    "    ",
    "def f(a, b):",
    "päivää",
    "漢字",
    "e\u{301}",
    "🙂",
    ".hello",
    "%ipy",
    "!echo ",
    "`x`",
    "@",
    "#",
    "\\",
    ";",
    "lambda: 0",
    "0.5e3",
];

/// Whole lines: cells of all kinds, prompts, commands.
const LINES: &[&str] = &[
    "1 + 1",
    "print('x' * 500)",
    "[print(n, 'line') for n in range(60)] and None",
    "print('\\x1b[31mred\\x1b[5A up\\x1b[2J', end='')",
    "1/0",
    "raise SystemExit",
    "import time; time.sleep(0.2)",
    "input('? ')",
    "import getpass; getpass.getpass()",
    "if 1:",
    "while True: pass",
    "'note'",
    "!echo from a shell",
    "!sleep 0.2",
    "!cat",
    "print?",
    "print??",
    "alpha = list(range(5000)); alpha",
    ".hello",
    ".tell me slowly",
    ".approve",
    ".plan something",
    ".show me code with a python block",
    "%ipycodex help keys",
    "%ipycodex help",
    "%ipycodex sessions",
    "%ipycodex history",
    "%ipycodex resume",
    "%ipycodex back",
    "%ipycodex forward",
    "%ipycodex restart",
    "%ipycodex context",
    "%pwd",
    "%who",
];

/// What is pasted; a hostile one ends the paste inside it, so what follows is typed.
fn pasted(random: &mut Random) -> String {
    let hostile = "a\x1b[2J\x1b]52;c;AA==\x07b\x1b[201~c\rd\x1b[200~e\x07\x7f\u{9b}5A";
    match random.within(0, 39) {
        0 => "pasted = 'ä'\n".repeat(70_000),
        1 => format!("'{}'", "x".repeat(1 << 20)),
        2 => hostile.repeat(2_000),
        3..=12 => hostile.to_owned(),
        13..=25 => "if 1:\n    a = 1\n\n    b = '漢字'\r\nprint(a)\n".to_owned(),
        _ => "one line".to_owned(),
    }
}

/// Something to type.
pub(super) fn typed(random: &mut Random) -> String {
    match random.within(0, 99) {
        0..=34 => key(random),
        35..=54 => (*random.pick(WORDS)).to_owned(),
        55..=64 => (*random.pick(OTHER_KEYS)).to_owned(),
        65..=74 => "\r".to_owned(),
        75..=92 => format!("{}\r", random.pick(LINES)),
        _ => format!("\x1b[200~{}\x1b[201~", pasted(random)),
    }
}

fn key(random: &mut Random) -> String {
    let rows = KeyAction::rows().filter(|row| row.name != "leave");
    let chords: Vec<&str> = rows.flat_map(|row| row.chords).copied().collect();
    bytes(random.pick::<&str>(&chords))
}
