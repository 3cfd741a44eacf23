//! Shift-Tab and `?`: signature and doc below the line, long help through a pager, the terminal as it was afterwards.

use super::shell::Shell;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{SIZE, cursor_line};

const SHIFT_TAB: &str = "\x1b[Z";
const ESC: &str = "\x1b";
const DEFINED: &str = "def falls(first, second=2):\r\"\"\"Falls down.\r\rLine \
                       three.\rfour\rfive\rsix\rseven\reight\rnine\"\"\"\r\r";

fn engines(size: (u16, u16)) -> Vec<Shell> {
    engines_in(Home::new, size)
}

fn engines_in(home: impl Fn() -> Home, size: (u16, u16)) -> Vec<Shell> {
    let mut shells = vec![Shell::start(
        home(),
        &["--agent", "demo", "--no-ipython"],
        size,
    )];
    if let Some(python) = peers::python() {
        let python = python.to_str().unwrap().to_owned();
        shells.push(Shell::start(
            home(),
            &["--agent", "demo", "--python", &python],
            size,
        ));
    }
    shells.iter().for_each(|shell| shell.at(1));
    shells
}

/// A home where `less` is not to be had, nor told anything.
fn without_less() -> Home {
    Home::with(&[("PAGER", "no-such-pager-anywhere")])
}

#[test]
fn signature_and_doc_below_the_line_and_the_line_kept() {
    for shell in engines(SIZE) {
        shell.pty.send(DEFINED);
        shell.at(2);
        shell.pty.send("falls(1, ");
        shell.at_with(2, "falls(1,");
        shell.pty.send(SHIFT_TAB);
        shell.pty.wait_for("\n falls(first, second=2)");
        shell.pty.wait_for("Shift-Tab shows all");
        shell.at_with(2, "falls(1,");
        let marked = shell.pty.look(|screen| {
            let (rows, columns) = (screen.size().0.get(), screen.size().1.get());
            let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
            let marked = cells.filter_map(|(row, column)| screen.cell(row, column));
            marked
                .filter(|cell| cell.underline())
                .map(|cell| cell.contents().to_owned())
                .collect::<String>()
        });
        assert_eq!(marked, "second=2");
        shell.pty.send(SHIFT_TAB);
        shell.pty.wait_for("\n nine");
        shell.pty.send(ESC);
        shell.pty.wait_gone("\n falls(first, second=2)");
        shell.at_with(2, "falls(1,");
        shell.pty.send("2)\r");
        shell.at(3);
        assert_eq!(shell.inputs(2)[1], "falls(1, 2)");
    }
}

#[test]
fn in_an_upper_line_of_a_cell() {
    for shell in engines(SIZE) {
        shell.cell(1, "import json");
        shell
            .pty
            .send("\x1b[200~a = json.dumps(1)\nb = 2\nc = 3\x1b[201~");
        shell.pty.wait_for("...: c = 3");
        shell.pty.send("\x1b[A\x1b[A");
        shell.pty.wait_until("the first line", |screen| {
            cursor_line(screen).contains("In [2]: a = json")
        });
        shell.pty.send("\x01");
        shell.pty.send("\x1b[F\x1b[D");
        shell.pty.send(SHIFT_TAB);
        shell.pty.wait_for("json.dumps(obj, *, skipkeys=False");
        shell.pty.send("0");
        shell.pty.wait_for("...: c = 3");
        shell.pty.wait_gone("skipkeys");
        shell.pty.wait_for("a = json.dumps(10)");
    }
}

#[test]
fn what_is_not_known_is_said() {
    let shell = Shell::new();
    shell.pty.send("no_such_name");
    shell.at_with(1, "no_such_name");
    shell.pty.send(SHIFT_TAB);
    shell
        .pty
        .wait_for("No documentation for `no_such_name`: has the cell");
    shell.pty.send("x");
    shell.pty.wait_gone("No documentation");
    shell.at_with(1, "no_such_namex");
}

#[test]
fn short_help_is_printed() {
    for shell in engines((80, 40)) {
        shell.pty.send("def short(a): 'Brief.'\r\r");
        shell.at(2);
        shell.cell(2, "short?");
        shell.shows("Brief.");
        shell.shows("short(a)");
        shell.cell(3, "short??");
        shell.shows("def short(a): 'Brief.'");
    }
}

#[test]
fn long_help_goes_through_the_pager_of_the_user() {
    let home = || {
        let mut home = Home::new();
        home.install_script(
            "my-pager",
            "#!/bin/sh\ncat > page.txt\necho paged with $1\nread key < /dev/tty\necho \"left by $key\"\n",
        );
        home.set("PAGER", "my-pager 'two words'");
        home
    };
    for shell in engines_in(home, (60, 12)) {
        shell.pty.send_line("dict?");
        shell.pty.wait_for("paged with two words");
        // The terminal is the pager's: it echoes, and Ctrl-C ends what it ends, not us.
        shell.pty.send("now\r");
        shell.pty.wait_for("left by now");
        shell.cell(2, "40 + 2");
        shell.shows("Out[2]: 42");
        let page = std::fs::read_to_string(shell.home.work().join("page.txt")).unwrap();
        assert!(page.contains("new empty dictionary"), "{page}");
    }
}

#[test]
fn ctrl_c_in_a_pager_is_the_pagers() {
    let mut home = Home::new();
    home.install_script(
        "my-pager",
        "#!/bin/sh\ntrap 'echo trapped; exit 1' INT\ncat > page.txt\necho waiting\nwhile :; do sleep 0.1; done\n",
    );
    home.set("PAGER", "my-pager");
    let shell = Shell::start(home, &["--agent", "demo", "--no-ipython"], (60, 12));
    shell.at(1);
    shell.pty.send_line("dict?");
    shell.pty.wait_for("waiting");
    shell.pty.send("\x03");
    shell.pty.wait_for("trapped");
    shell.cell(2, "40 + 2");
    shell.shows("Out[2]: 42");
}

#[test]
fn our_own_pager_where_there_is_no_other() {
    for shell in engines_in(without_less, (60, 12)) {
        shell.pty.send_line("dict?");
        shell.pty.wait_for("Space b /text n q");
        shell.pty.send(" ");
        shell.pty.wait_until("the second page", |screen| {
            !screen.contents().contains(" 1-11 of")
        });
        shell.pty.send("g/keyword argument\r");
        shell.pty.wait_for("keyword argument");
        shell.pty.send("q");
        shell.at(2);
        assert!(!shell.pty.look(|screen| screen.alternate_screen()));
        shell.cell(2, "40 + 2");
        shell.shows("Out[2]: 42");
    }
}

#[test]
fn help_cannot_reach_the_terminal() {
    for shell in engines((80, 40)) {
        shell.cell(
            1,
            "f = type('Evil', (), {'__doc__': 'a\\x1b]0;owned\\x07b\\x1b[2Jc'})",
        );
        shell.cell(2, "f?");
        shell.pty.send("f");
        shell.at_with(3, "f");
        shell.pty.send(SHIFT_TAB);
        shell.pty.wait_for("^[[2Jc");
        let raw = String::from_utf8_lossy(&shell.pty.raw()).into_owned();
        assert!(
            !raw.contains("\x1b]0;owned") && !raw.contains("\x1b[2Jc"),
            "{raw:?}"
        );
    }
}
