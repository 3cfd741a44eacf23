//! What editing costs on the wire, and that what is saved there is not missing on the screen.

use rustix::process::Signal;

use super::shell::{Shell, UP};
use crate::support::home::Home;
use crate::support::pty::SIZE;

/// Bytes that a key in a cell longer than the screen may cost.
const MOST: usize = 256;

/// A cell of so many lines, each with several colours.
fn cell(lines: usize) -> String {
    let line = |n| format!("value_{n:04} = compute({n}, \"text\", key=[1, 2])  # note");
    (0..lines).map(line).collect::<Vec<_>>().join("\n")
}

/// What stands before the cursor in its row.
fn before_cursor(screen: &vt100::Screen) -> String {
    let (row, column) = screen.cursor_position();
    screen.contents_between(row, 0, row, column)
}

/// At line `number` of [`cell`], all of the screen in colour.
fn in_colour(shell: &Shell, number: usize) {
    let what = format!("the cursor in line {number}, colours");
    shell.pty.wait_until(&what, |screen| {
        let (row, _) = screen.cursor_position();
        let plain = |row| {
            let equals = screen.cell(row, "   ...: value_0000 ".len() as u16);
            equals.is_none_or(|cell| {
                cell.contents() == "=" && cell.fgcolor() == vt100::Color::Default
            })
        };
        before_cursor(screen).contains(&format!("value_{number:04} ")) && !(0..=row).any(plain)
    });
}

/// Types `keys` one by one; the bytes that each of them cost.
fn costs(shell: &Shell, keys: &str) -> Vec<usize> {
    let mut before = shell.pty.raw().len();
    let each = keys.char_indices().map(|(from, key)| {
        shell.pty.send(&key.to_string());
        let typed = &keys[..from + key.len_utf8()];
        let what = format!("the cursor behind {typed:?}");
        shell
            .pty
            .wait_until(&what, |screen| before_cursor(screen).ends_with(typed));
        let after = shell.pty.raw().len();
        after - std::mem::replace(&mut before, after)
    });
    each.collect()
}

#[test]
fn a_key_in_a_long_cell_costs_what_it_changes() {
    for lines in [30, 300, 3000] {
        let shell = Shell::start(Home::new(), &["--agent", "demo"], SIZE);
        shell.cell(1, "1");
        shell.at(2);
        shell
            .pty
            .send(&format!("\x1b[200~{}\x1b[201~", cell(lines)));
        in_colour(&shell, lines - 1);
        let mut seen = costs(&shell, "abcdef(12)");
        for line in (lines - 15..lines - 1).rev() {
            shell.pty.send(UP);
            in_colour(&shell, line);
        }
        seen.extend(costs(&shell, "[uvw]"));
        assert!(
            seen.iter().all(|cost| *cost <= MOST),
            "{lines} lines: {seen:?}"
        );
    }
}

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % most
    }
}

/// Text, keys that move, keys that change; a paste, a menu, an empty screen.
const KEYS: [&str; 24] = [
    "word ",
    "f(",
    ")",
    "漢字",
    "é",
    "😀",
    "…",
    "a long stretch of words that will wrap somewhere ",
    "\x7f",
    "\x7f\x7f\x7f",
    "\x1b[A",
    "\x1b[B",
    "\x1b[C",
    "\x1b[D",
    "\x01",
    "\x05",
    "\x0b",
    "\x19",
    "\x17",
    "\x0c",
    "\x1f",
    "\x1b[200~def f():\n    return 1\n\nf()\x1b[201~",
    "import o\t",
    "\x1b[200~x\ny\nz\nx\ny\nz\nx\ny\nz\nx\ny\nz\x1b[201~",
];

/// Text of the screen, and where the cursor is.
fn seen(shell: &Shell) -> (String, (u16, u16)) {
    shell
        .pty
        .look(|screen| (screen.contents(), screen.cursor_position()))
}

/// Types a mark and waits until it stands before the cursor: everything before it has been painted.
fn settled(shell: &Shell, mark: &str) {
    shell.pty.send(mark);
    shell
        .pty
        .wait_until(&format!("the cursor behind {mark:?}"), |screen| {
            let (row, column) = screen.cursor_position();
            screen
                .contents_between(0, 0, row, column)
                .replace('\n', "")
                .ends_with(mark)
        });
}

/// Makes the editor paint all, as a change of the size does; returns when it has.
fn painted_whole(shell: &Shell) {
    let read = shell.pty.raw().len();
    shell.pty.signal(Signal::WINCH);
    let cleared = shell.pty.wait_raw(b"\x1b[J", read);
    shell.pty.wait_raw(b"\x1b[?25h", cleared);
}

/// Keys and sizes at random; the screen is what a paint of all of it makes, which a change of the size brings.
#[test]
fn nothing_is_missing_on_the_screen() {
    for seed in 1..=3 {
        let mut dice = Dice(seed);
        let shell = Shell::start(Home::new(), &["--agent", "demo"], SIZE);
        shell.cell(1, "1");
        shell.at(2);
        for round in 0..12 {
            let keys: Vec<&str> = (0..8).map(|_| KEYS[dice.below(KEYS.len())]).collect();
            for (number, key) in keys.iter().enumerate() {
                shell.pty.send(key);
                if number % 2 == 0 {
                    settled(&shell, &format!("q{number}z"));
                }
            }
            settled(&shell, &format!("j{round}k"));
            let before = seen(&shell);
            painted_whole(&shell);
            let after = seen(&shell);
            assert_eq!(before, after, "seed {seed}, round {round}, keys {keys:?}");
            if round % 3 == 2 {
                let (columns, rows) = [(40, 24), (80, 24), (100, 30), (60, 12)][dice.below(4)];
                shell.pty.resize(columns, rows);
                // Keys that come one upon the other come before it.
                painted_whole(&shell);
            }
        }
    }
}

/// The cursor stands a row below such a line, which is not where the line ends.
#[test]
fn a_line_up_to_the_last_column_is_painted_where_it_stands() {
    let shell = Shell::start(Home::new(), &["--agent", "demo"], (20, 24));
    shell.cell(1, "1");
    shell.at(2);
    for line in ["a".repeat(12), "if 1:\x1b\r".to_owned() + &"b".repeat(8)] {
        shell.pty.resize(20, 24);
        painted_whole(&shell);
        shell.pty.send(&line);
        shell.pty.wait_for(&line[line.len() - 8..]);
        let before = seen(&shell);
        painted_whole(&shell);
        assert_eq!(before, seen(&shell), "{line}");
        // None of these lines is wrapped: they stay where they are.
        shell.pty.resize(30, 24);
        painted_whole(&shell);
        let input = |(text, _): &(String, _)| text.split("Out[1]").nth(1).map(str::to_owned);
        assert_eq!(input(&before), input(&seen(&shell)), "{line}");
        shell.pty.send("\x03");
        shell.at(2);
    }
}
