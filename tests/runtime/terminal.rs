//! Cells that own a terminal: typing, control-C, typeahead, raw mode, size, programs that take the screen.

use ipycodex::runtime::{Ending, Stdin, TerminalSize};

use super::bench::{Bench, Form};

#[test]
fn control_c_typed_into_the_terminal_interrupts() {
    let mut bench = Bench::start(Form::Terminal);
    let terminal = bench.terminal();
    for code in [
        "import time; print('go'); time.sleep(1000)",
        "print('go')\nwhile True: pass",
        "print('go'); input('name? ')",
    ] {
        let id = bench.submit(code, Stdin::Terminal);
        let mut sent = false;
        let told = bench.collect(id, |_, text| {
            if text.contains("go") && !std::mem::replace(&mut sent, true) {
                terminal.type_bytes(&[3]);
            }
        });
        assert_eq!(told.finish.ending, Ending::Interrupted, "{code}");
    }
}

#[test]
fn the_terminal_is_a_terminal() {
    let mut bench = Bench::start(Form::Terminal);
    let told = bench
        .run("import os, sys\nos.get_terminal_size(), sys.stdin.isatty(), sys.stdout.isatty()");
    assert_eq!(
        told.shown(),
        ["(os.terminal_size(columns=90, lines=33), True, True)"]
    );
    let terminal = bench.terminal();
    assert!(terminal.mode().signals && terminal.mode().canonical);
    terminal.resize(TerminalSize {
        columns: 44,
        rows: 7,
    });
    assert_eq!(bench.run("os.get_terminal_size().columns").shown(), ["44"]);
    let id = bench.submit("input('name? ').upper()", Stdin::Terminal);
    let mut sent = false;
    let told = bench.collect(id, |_, text| {
        if text.contains("name? ") && !std::mem::replace(&mut sent, true) {
            terminal.type_bytes("zoë\r".as_bytes());
        }
    });
    assert_eq!(told.shown(), ["'ZOË'"]);
}

#[test]
fn what_was_typed_ahead_comes_back() {
    let mut bench = Bench::start(Form::Terminal);
    let terminal = bench.terminal();
    let id = bench.submit(
        "import time\nprint('go')\nimport termios, array, fcntl\nn = array.array('i', [0])\nwhile True:\n    fcntl.ioctl(0, termios.FIONREAD, n)\n    if n[0]: break",
        Stdin::Terminal,
    );
    let mut sent = false;
    let told = bench.collect(id, |_, text| {
        if text.contains("go") && !std::mem::replace(&mut sent, true) {
            terminal.type_bytes(b"next line\rpart");
        }
    });
    assert_eq!(told.finish.typeahead, b"next line\npart");
}

#[test]
fn a_terminal_left_raw_is_mended() {
    let mut bench = Bench::start(Form::Terminal);
    let told = bench.run("import tty, os\ntty.setraw(0)\nos.write(1, b'raw')");
    assert!(told.text().contains("raw"));
    let mode = bench.terminal().mode();
    assert!(
        mode.signals && mode.canonical && !mode.foreground_program,
        "{mode:?}"
    );
    let told = bench.run("print('cooked')");
    assert_eq!(told.steps, [("tty", "cooked\r\n".to_owned())]);
}

#[test]
fn programs_that_own_the_screen_are_marked() {
    let mut bench = Bench::start(Form::Terminal);
    let terminal = bench.terminal();
    let id = bench.submit(
        "print('before')\n!echo inside; read answer\nprint('after')",
        Stdin::Terminal,
    );
    let mut owned = None;
    let told = bench.collect(id, |_, text| {
        if text.contains("inside") && owned.is_none() {
            owned = Some(terminal.mode());
            terminal.type_bytes(b"\r");
        }
    });
    assert_eq!(
        told.steps.first().unwrap(),
        &("tty", "before\r\n".into()),
        "{told:?}"
    );
    assert_eq!(
        told.steps.last().unwrap(),
        &("tty", "after\r\n".into()),
        "{told:?}"
    );
    assert!(
        told.steps[1].0 == "foreign" && told.steps[1].1.starts_with("inside"),
        "{told:?}"
    );
    assert_eq!(told.steps.len(), 3, "{told:?}");
    assert!(!terminal.mode().foreground_program);
    let id = bench.submit(
        "import tty, os\nprint('line')\ninput()\ntty.setraw(0)\nos.write(1, b'\\x1b[2J')\nos.read(0, 1)",
        Stdin::Terminal,
    );
    let mut typed = 0;
    let told = bench.collect(id, |_, text| {
        let shown = ["line", "\x1b[2J"];
        if typed < 2 && text.contains(shown[typed]) {
            typed += 1;
            terminal.type_bytes(b"\r");
        }
    });
    // The echo of the line before may be read together with it.
    let is_screen = |(kind, text): &(&str, String)| *kind == "foreign" && text.ends_with("\x1b[2J");
    assert!(told.steps.iter().any(is_screen), "{told:?}");
}
