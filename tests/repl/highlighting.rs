//! How the text being typed looks: colours of code, none in prompts, brackets, cells longer than the screen.

use vt100::Color;

use super::shell::{CTRL_C, Shell, UP};
use crate::support::home::Home;
use crate::support::pty::SIZE;

/// Ctrl-Home, Ctrl-End.
const TO_START: &str = "\x1b[1;5H";
const TO_END: &str = "\x1b[1;5F";

/// The cells of the last place where `text` stands on the screen, each as `look` sees it.
fn cells_of<T>(screen: &vt100::Screen, text: &str, look: impl Fn(&vt100::Cell) -> T) -> Vec<T> {
    let (_, columns) = screen.size();
    let rows: Vec<String> = screen.rows(0, columns.get()).collect();
    let found = rows.iter().enumerate().rev();
    let place = found
        .filter_map(|(row, line)| line.rfind(text).map(|at| (row, line[..at].chars().count())))
        .next();
    let Some((row, column)) = place else {
        return Vec::new();
    };
    (column..column + text.chars().count())
        .filter_map(|column| {
            let cell = screen.cell(u16::try_from(row).unwrap(), u16::try_from(column).unwrap())?;
            Some(look(cell))
        })
        .collect()
}

impl Shell {
    /// Waits until all of `text` has a colour (`true`) or none of it.
    fn has_colour(&self, text: &str, coloured: bool) {
        self.pty
            .wait_until(&format!("the colour of {text:?}: {coloured}"), |screen| {
                let colours = cells_of(screen, text, vt100::Cell::fgcolor);
                !colours.is_empty() && colours.iter().all(|c| (*c != Color::Default) == coloured)
            });
    }

    /// Types `text`, which stands on one row, and waits until it is shown.
    fn typed(&self, text: &str) {
        self.pty.send(text);
        self.pty.wait_for(text);
    }
}

#[test]
fn cells_have_colours_and_prompts_have_none() {
    let shell = Shell::new();
    for (text, with, without) in [
        ("for x in y", &["for", "in"][..], &["x", "y"][..]),
        ("%timeit return 1", &["%timeit", "return", "1"], &[]),
        ("!for f in *", &["!", "for"], &[]),
        ("v = !for x", &["!", "for"], &["v"]),
        (".for x in y", &[], &[".for x in y"]),
        ("%%ipycodex return", &[], &["%%ipycodex return"]),
    ] {
        shell.typed(text);
        for word in with {
            shell.has_colour(word, true);
        }
        for word in without {
            shell.has_colour(word, false);
        }
        shell.pty.send(CTRL_C);
        shell.at(1);
    }
}

#[test]
fn the_body_of_a_cell_magic_has_the_colours_of_its_language() {
    let shell = Shell::new();
    shell
        .pty
        .send("\x1b[200~%%javascript\nfunction f() {}\x1b[201~");
    shell.has_colour("%%javascript", true);
    shell.has_colour("function", true);
}

#[test]
fn code_in_prompt_mode_has_colours() {
    let shell = Shell::start(Home::new(), &["--agent", "demo", "-p"], SIZE);
    shell.pty.wait_for("Pr [1]:");
    shell.typed("return");
    shell.has_colour("return", false);
    shell.pty.send("\x15");
    shell.pty.wait_gone("return");
    shell.typed(";return");
    shell.has_colour("return", true);
}

#[test]
fn without_colour_nothing_is_painted() {
    let home = Home::with(&[("NO_COLOR", "1")]);
    let shell = Shell::of(home);
    shell.cell(1, "f(1)");
    let raw = String::from_utf8_lossy(&shell.pty.raw()).into_owned();
    assert!(
        !raw.contains("\x1b[3") && !raw.contains("\x1b[1m") && !raw.contains("\x1b[4m"),
        "{raw:?}"
    );
}

#[test]
fn another_theme_holds_for_what_is_typed() {
    let shell = Shell::new();
    let colour = |shell: &Shell| {
        shell
            .pty
            .look(|screen| cells_of(screen, "return", vt100::Cell::fgcolor))
    };
    shell.typed("return");
    shell.has_colour("return", true);
    let before = colour(&shell);
    shell.pty.send(CTRL_C);
    shell.at(1);
    shell.pty.send_line("%ipycodex code_theme github");
    shell.at(2);
    shell.typed("return");
    shell.pty.wait_until("another colour", |screen| {
        let now = cells_of(screen, "return", vt100::Cell::fgcolor);
        !now.is_empty() && now != before && now.iter().all(|c| *c != Color::Default)
    });
}

#[test]
fn a_bracket_and_its_partner_are_marked_and_stay_unmarked_above() {
    let shell = Shell::new();
    shell.typed("len('(a)')");
    shell.pty.wait_until("two marks", |screen| {
        cells_of(screen, "len('(a)')", vt100::Cell::underline)
            == [
                false, false, false, true, false, false, false, false, false, true,
            ]
    });
    shell.pty.send("\r");
    shell.at(2);
    let marks = shell
        .pty
        .look(|screen| cells_of(screen, "len('(a)')", vt100::Cell::underline));
    assert!(!marks.contains(&true), "{marks:?}");
}

/// A cell of `lines` lines, each with a number of its own, some wider than the screen, some of wide characters.
fn long_cell(lines: usize) -> String {
    let line = |n: usize| match n % 10 {
        4 => format!("v{n:03} = '{}'", "x".repeat(100)),
        7 => format!("v{n:03} = '漢字{}'", "漢".repeat(40)),
        _ => format!("v{n:03} = {n}"),
    };
    (0..lines).map(line).collect::<Vec<_>>().join("\n")
}

/// Pastes a cell and waits for its last line.
fn pasted(shell: &Shell, cell: &str) {
    shell.pty.send(&format!("\x1b[200~{cell}\x1b[201~"));
    shell.pty.wait_for(cell.lines().last().unwrap());
}

/// The line of the cell that the cursor stands in, by its number.
fn in_line(shell: &Shell, number: usize) {
    shell
        .pty
        .wait_until(&format!("the cursor in line {number}"), |screen| {
            let (row, _) = screen.cursor_position();
            let (_, columns) = screen.size();
            let line = screen
                .rows(0, columns.get())
                .nth(usize::from(row))
                .unwrap_or_default();
            line.get(8..)
                .is_some_and(|text| text.starts_with(&format!("v{number:03}")))
        });
}

/// Everything that stands above the first prompt's cell was there before; the cell stands there once, in order.
fn stands_once(shell: &Shell, cell: &str) {
    let all = shell.text();
    for (number, line) in cell.lines().enumerate() {
        let start: String = line.chars().take(30).collect();
        assert_eq!(
            all.matches(&start).count(),
            1,
            "line {number} {start:?} in\n{all}"
        );
    }
    let expected = cell.replace('\n', "\n   ...: ");
    assert!(all.contains(&format!("In [1]: {expected}\n")), "{all}");
}

#[test]
fn a_cell_longer_than_the_screen_is_edited_everywhere_and_stands_there_once() {
    let shell = Shell::new();
    let cell = long_cell(60);
    pasted(&shell, &cell);
    in_line(&shell, 59);
    for number in (0..59).rev() {
        shell.pty.send(UP);
        if number % 10 != 4 && number % 10 != 7 {
            in_line(&shell, number);
        }
    }
    shell.pty.wait_for("In [1]: v000");
    // The top of the cell, with what follows it on the screen.
    shell.pty.wait_for("v012 = 12");
    shell.pty.send("\x1b[1;5F");
    in_line(&shell, 59);
    shell.pty.send(TO_START);
    in_line(&shell, 0);
    shell.typed("w = 1; ");
    shell.pty.send(&"\x7f".repeat(7));
    shell.pty.wait_gone("w = 1");
    for number in 1..31 {
        shell.pty.send("\x1b[B");
        if number % 10 == 0 {
            in_line(&shell, number);
        }
    }
    shell.pty.send("\x05");
    shell.typed("000");
    let edited = cell.replace("v030 = 30", "v030 = 30000");
    shell.pty.wait_for("v030 = 30000");
    shell.pty.send(TO_END);
    in_line(&shell, 59);
    shell.pty.send("\r");
    shell.at(2);
    stands_once(&shell, &edited);
    assert_eq!(shell.inputs(1), [edited.as_str()]);
    shell.cell(2, "v030 + v059");
    shell.shows("Out[2]: 30059");
}

#[test]
fn a_recalled_cell_is_run_again_and_one_given_up_is_not() {
    let shell = Shell::new();
    let cell = long_cell(40);
    pasted(&shell, &cell);
    shell.pty.send("\r");
    shell.at(2);
    shell.cell(2, "1");
    shell.pty.send(UP);
    shell.at_with(3, "1");
    shell.pty.send(UP);
    shell.at_with(3, "v000 = 0");
    shell.pty.send(CTRL_C);
    shell.at(3);
    shell.pty.send(UP);
    shell.at_with(3, "1");
    shell.pty.send(UP);
    shell.at_with(3, "v000 = 0");
    shell.pty.send(TO_END);
    in_line(&shell, 39);
    shell.pty.send("\r");
    shell.at(4);
    let shown = format!("In [3]: {}\n", cell.replace('\n', "\n   ...: "));
    assert!(shell.text().contains(&shown), "{}", shell.text());
    assert_eq!(shell.inputs(3), [cell.as_str(), "1", cell.as_str()]);
}

#[test]
fn the_window_follows_the_size_of_the_screen() {
    let shell = Shell::new();
    let cell = long_cell(40);
    pasted(&shell, &cell);
    for (columns, rows) in [(40, 12), (120, 30), (60, 50), (80, 10), SIZE] {
        shell.pty.resize(columns, rows);
        in_line(&shell, 39);
        shell.typed("9");
        shell.pty.send("\x7f");
        shell.pty.wait_gone("399");
        in_line(&shell, 39);
    }
    shell.pty.send("\r");
    shell.at(2);
    assert_eq!(shell.inputs(1), [cell.as_str()]);
}

#[test]
fn a_line_longer_than_the_screen_can_be_walked_through() {
    let shell = Shell::new();
    let text = format!(
        "x = '{}'",
        (0..1_000).map(|n| format!("{n:04}")).collect::<String>()
    );
    shell.pty.send(&format!("\x1b[200~{text}\x1b[201~"));
    shell.pty.wait_for("0999'");
    shell.pty.send(TO_START);
    shell.pty.wait_for("In [1]: x = '0000");
    shell.typed("y = ");
    shell.pty.wait_for("In [1]: y = x = '0000");
    shell.pty.send(TO_END);
    shell.pty.wait_for("0999'");
    shell.pty.send("\r");
    shell.at(2);
    let all = shell.text();
    assert_eq!(all.matches("05000501").count(), 1, "{all}");
    shell.cell(2, "len(y)");
    shell.shows("Out[2]: 4000");
}

#[test]
fn a_light_terminal_has_a_light_theme_unless_one_was_chosen() {
    for (arguments, asked, theme) in [
        (&["--agent", "demo"][..], true, "github"),
        (
            &["--agent", "demo", "--code-theme", "mocha"],
            false,
            "mocha",
        ),
    ] {
        let shell = Shell::start_on(Home::new(), arguments, "rgb:fdfd/f6f6/e3e3");
        shell.at(1);
        shell.pty.send("a = 41\ra + 1\r");
        shell.shows("Out[2]: 42");
        shell.cell(3, "%ipycodex code_theme");
        shell.shows(&format!("code_theme is {theme}"));
        shell.shows(&format!("* {theme} (in force)"));
        let raw = String::from_utf8_lossy(&shell.pty.raw()).into_owned();
        assert_eq!(raw.matches("\x1b]11;?").count(), usize::from(asked));
    }
}

#[test]
fn the_surroundings_tell_a_light_terminal() {
    let home = Home::with(&[("COLORFGBG", "0;15")]);
    let shell = Shell::start(home, &["--agent", "demo"], (80, 50));
    shell.cell(1, "%ipycodex code_theme");
    shell.shows("code_theme is github");
    let raw = String::from_utf8_lossy(&shell.pty.raw()).into_owned();
    assert!(!raw.contains("\x1b]11;?"));
}

#[test]
fn the_first_text_is_painted_for_the_background_and_the_answer_is_no_text() {
    let painted = |background: Option<&str>| {
        let arguments = ["--agent", "demo"];
        let shell = match background {
            Some(colour) => Shell::start_on(Home::new(), &arguments, colour),
            // A terminal that does not answer.
            None => Shell::start(Home::new(), &arguments, (80, 50)),
        };
        shell.at(1);
        shell.typed("import os");
        shell.has_colour("import", true);
        shell.at_with(1, "import os");
        shell
            .pty
            .look(|screen| cells_of(screen, "import", vt100::Cell::fgcolor))
    };
    let dark = painted(Some("rgb:0000/0000/0000"));
    assert_ne!(painted(Some("rgb:ffff/ffff/ffff")), dark);
    assert_eq!(painted(None), dark);
}

#[test]
fn keys_typed_before_the_terminal_answers_keep_their_order() {
    let home = Home::new();
    let shell = Shell::start_on(home, &["--agent", "demo"], "rgb:ffff/ffff/ffff");
    // As it starts: before or behind the question.
    shell.pty.send("a = 41\ra + 1\rb");
    shell.shows("Out[2]: 42");
    shell.at_with(3, "b");
    shell.pty.send("\x15%ipycodex code_theme\r");
    shell.shows("code_theme is github");
    let all = shell.text();
    assert!(!all.contains("11;"), "{all}");
}

#[test]
fn an_answer_that_is_late_is_no_text_and_counts() {
    let late = "\x1b]11;rgb:ffff/ffff/ffff\x07";
    let shell = Shell::start(Home::new(), &["--agent", "demo"], (80, 50));
    shell.at(1);
    shell.pty.send("1 + ");
    shell.at_with(1, "1 + ");
    shell.pty.send(late);
    shell.pty.send("41\r");
    shell.shows("Out[1]: 42");
    shell.cell(2, "%ipycodex code_theme");
    shell.shows("code_theme is github");
}
