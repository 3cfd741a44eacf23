//! Work that takes more than two seconds shows its time: in the title, and in a line that leaves no trace.
//!
//! What runs waits for a file, so a test decides when it goes on; what the screen shows is waited for.

use super::shell::Shell;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::SIZE;

/// The line, as it is written.
const LINE: &str = "\x1b[2m⏳ ";
const KEEP: &str = "\x1b[22;2t";
const BACK: &str = "\x1b]2;ipycodex\x07\x1b[23;2t";

fn title(seconds: u64, line: u32) -> String {
    format!("\x1b]2;⏳ {seconds} s · In [{line}]\x07")
}

impl Shell {
    /// Makes a function `wait()` that returns when `go` is called.
    fn with_wait(self) -> Shell {
        self.cell(1,
            "import os, time; wait = lambda: [time.sleep(0.005) for _ in iter(lambda: os.path.exists('go'), True)] and \
             None");
        self.at(2);
        self
    }

    fn go(&self) {
        std::fs::write(self.home.work().join("go"), "").unwrap();
    }

    fn wrote(&self, text: &str) -> usize {
        self.pty.wait_raw(text.as_bytes(), 0)
    }

    #[track_caller]
    fn never_wrote(&self, text: &str) {
        let raw = String::from_utf8_lossy(&self.pty.raw()).into_owned();
        assert!(!raw.contains(text), "{text:?} was written: {raw:?}");
    }
}

fn quiet_cell(shell: Shell) {
    let shell = shell.with_wait();
    shell
        .pty
        .send_line("print('before'); wait(); print('after')");
    shell.pty.wait_until("the time below the output", |screen| {
        let text = screen.contents();
        text.contains("before\n⏳ 2 s") && screen.cursor_position().1 == 0
    });
    // It goes on: once a second.
    shell.pty.wait_for("⏳ 3 s");
    shell.wrote(KEEP);
    shell.wrote(&title(3, 2));
    shell.go();
    shell.at(3);
    shell.wrote(BACK);
    let text = shell.text();
    assert!(text.contains("before\nafter\ntook "), "{text}");
    shell.lacks("⏳");
    // Dim, below what it showed; nowhere else.
    shell.wrote("\x1b[2mtook ");
    shell.cell(3, "print('quick')");
    shell.pty.send_line("%ipycodex context");
    shell.at(5);
    let text = shell.text();
    assert_eq!(text.matches("took ").count(), 1, "{text}");
}

#[test]
fn a_cell_that_prints_nothing_shows_its_time() {
    quiet_cell(Shell::new());
}

#[test]
fn a_cell_that_prints_nothing_shows_its_time_with_ipython() {
    if let Some(python) = peers::python() {
        let arguments = ["--agent", "demo", "--python", python.to_str().unwrap()];
        quiet_cell(Shell::start(Home::new(), &arguments, SIZE));
    }
}

#[test]
fn a_progress_bar_is_left_alone() {
    let shell = Shell::new().with_wait();
    shell
        .pty
        .send_line(r"print('\r 10%', end='', flush=True); wait(); print('\r100%')");
    shell.wrote(&title(4, 2));
    assert!(shell.text().ends_with("\n 10%"), "{}", shell.text());
    shell.go();
    shell.at(3);
    shell.shows("100%");
    shell.never_wrote(LINE);
}

#[test]
fn a_cell_that_asks_is_left_alone() {
    let shell = Shell::new();
    shell.cell(1, "1");
    shell.pty.send_line("name = input('name? ')");
    shell.wrote(&title(3, 2));
    shell.pty.send_line("Ada");
    shell.at(3);
    shell.shows("name? Ada\n");
    shell.never_wrote(LINE);
}

#[test]
fn a_cell_that_waits_for_a_line_without_a_question_is_left_alone() {
    let shell = Shell::new();
    shell.cell(1, "1");
    shell.pty.send_line("name = input()");
    shell.wrote(&title(4, 2));
    shell.pty.send_line("Ada");
    shell.at(3);
    shell.never_wrote(LINE);
    shell.cell(3, "name");
    shell.shows("Out[3]: 'Ada'");
}

#[test]
fn keys_typed_meanwhile_take_the_line_away() {
    let shell = Shell::new().with_wait();
    shell.pty.send_line("wait(); line = input()");
    shell.pty.wait_for("⏳ 2 s");
    shell.pty.send("typed");
    shell.pty.wait_until("the echo alone", |screen| {
        let text = screen.contents();
        text.ends_with("\ntyped")
    });
    shell.pty.send("\r");
    shell.go();
    shell.at(3);
    shell.cell(3, "line");
    shell.shows("Out[3]: 'typed'");
    shell.lacks("⏳");
}

#[test]
fn a_program_that_has_the_terminal_is_left_alone() {
    let shell = Shell::new();
    let program = "import os, sys, time, tty\n\
        tty.setraw(0)\n\
        for n in range(1, 9):\n    sys.stdout.write(f'\\x1b[Htick {n}'); sys.stdout.flush(); time.sleep(0.4)\n\
        sys.stdout.write('key'); sys.stdout.flush(); os.read(0, 1)\n";
    std::fs::write(shell.home.work().join("program.py"), program).unwrap();
    shell.pty.send_line("!python3 program.py");
    shell.pty.wait_for("tick 8key");
    shell.never_wrote("⏳");
    shell.pty.send("q");
    shell.at(2);
}

#[test]
fn short_cells_and_dumb_terminals_show_nothing() {
    let home = Home::with(&[("TERM", "linux")]);
    let shell = Shell::of(home).with_wait();
    shell.never_wrote("⏳");
    shell.never_wrote(KEEP);
    shell.pty.send_line("wait()");
    shell.pty.wait_for("⏳ 2 s");
    shell.go();
    shell.at(3);
    shell.never_wrote("\x1b]2;");
    shell.never_wrote(KEEP);
}

/// The time the user thinks is not the cell's; the time before the question is.
fn thinking(shell: Shell) {
    // Once a debugger has run, Python reads lines in a mode in which no title is written: time passes by itself.
    let think = || std::thread::sleep(std::time::Duration::from_secs(3));
    let shell = shell.with_wait();
    shell.pty.send_line("name = input('name? ')");
    shell.wrote(&title(4, 2));
    shell.pty.send_line("Ada");
    shell.at(3);
    shell.pty.send_line("breakpoint(); wait()");
    shell.pty.wait_until("the debugger's prompt", |screen| {
        let text = screen.contents();
        ["(Pdb)", "ipdb>"]
            .iter()
            .any(|prompt| text.trim_end().ends_with(prompt))
    });
    think();
    shell.pty.send_line("c");
    shell.go();
    shell.at(4);
    shell.lacks("took ");
    std::fs::remove_file(shell.home.work().join("go")).unwrap();
    shell.pty.send_line("wait(); name = input('late? ')");
    shell.wrote(&title(3, 4));
    shell.go();
    shell.pty.wait_for("\nlate? ");
    think();
    shell.pty.send_line("Ada");
    shell.at(5);
    let text = shell.text();
    let took = text
        .split("took ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let took: f64 = took.and_then(|took| took.parse().ok()).expect(&text);
    assert!((3.0..6.0).contains(&took), "{text}");
}

#[test]
fn what_the_user_thinks_is_not_what_a_cell_took() {
    thinking(Shell::new());
}

#[test]
fn what_the_user_thinks_is_not_what_a_cell_took_with_ipython() {
    if let Some(python) = peers::python() {
        let arguments = ["--agent", "demo", "--python", python.to_str().unwrap()];
        thinking(Shell::start(Home::new(), &arguments, SIZE));
    }
}
