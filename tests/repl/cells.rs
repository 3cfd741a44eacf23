//! Cells on their own terminal: asking, debuggers, full-screen programs, progress bars, tasks, type-ahead, size.

use super::shell::{CTRL_C, Shell};
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{SIZE, cursor_line};

#[test]
fn a_cell_asks_with_input() {
    let shell = Shell::new();
    shell.at(1);
    shell.pty.send_line("name = input('who' + '? ')");
    shell.pty.wait_for("who? ");
    shell.pty.send_line("Ada");
    shell.at(2);
    shell.cell(2, "name * 2");
    shell.shows("who? Ada");
    shell.shows("Out[2]: 'AdaAda'");
}

#[test]
fn what_is_typed_at_getpass_is_not_shown() {
    let shell = Shell::new();
    shell.at(1);
    shell
        .pty
        .send_line("import getpass; p = getpass.getpass('sec' + 'ret: ')");
    shell.pty.wait_for("secret: ");
    shell.pty.send_line("s3cr3t");
    shell.at(2);
    assert!(memchr::memmem::find(&shell.pty.raw(), b"s3cr3t").is_none());
    shell.cell(2, "p == 's3' + 'cr3t'");
    shell.shows("Out[2]: True");
}

fn debugger(arguments: &[&str], prompt: &str) {
    let shell = Shell::start(Home::new(), arguments, SIZE);
    shell.cell(1, "x = 20");
    shell.pty.send_line("breakpoint(); y = x + 2");
    shell.pty.wait_for(prompt);
    shell.pty.send_line("p x * 1000");
    shell.pty.wait_for("20000");
    shell.pty.send_line("c");
    shell.at(3);
    // Its own Ctrl-C handler is not left behind.
    shell
        .pty
        .send_line("import time; print('sleeping'); time.sleep(600)");
    shell.pty.wait_for("\nsleeping");
    shell.pty.send(CTRL_C);
    shell.at(4);
    shell.shows("KeyboardInterrupt");
    shell.cell(4, "y");
    shell.shows("Out[4]: 22");
}

#[test]
fn a_breakpoint_opens_the_debugger() {
    debugger(&["--agent", "demo"], "(Pdb)");
}

#[test]
fn a_breakpoint_opens_ipythons_debugger() {
    if let Some(python) = peers::python() {
        debugger(
            &["--agent", "demo", "--python", python.to_str().unwrap()],
            "ipdb>",
        );
    }
}

/// Stands for an editor: alternate screen, raw mode, keys one by one, everything put back.
const FULL_SCREEN: &str = r#"
import os, sys, termios, tty
saved = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b'\x1b[?1049h\x1b[2J\x1b[5;10HFULL SCREEN')
seen = b''
while not seen.endswith(b'q'):
    seen += os.read(0, 1)
    os.write(1, b'\x1b[7;10Hseen ' + repr(seen).encode())
os.write(1, b'\x1b[?1049l')
termios.tcsetattr(0, termios.TCSADRAIN, saved)
"#;

#[test]
fn a_full_screen_program_owns_the_terminal() {
    let shell = Shell::new();
    shell.home.write("editor.py", FULL_SCREEN);
    shell.cell(1, "kept = 'kept line'; kept");
    shell.pty.send_line("!python3 editor.py");
    shell.pty.wait_until("the alternate screen", |screen| {
        screen.alternate_screen() && screen.contents().contains("FULL SCREEN")
    });
    shell.pty.send("a\x03\x1aq");
    shell.at(3);
    assert!(!shell.pty.look(vt100::Screen::alternate_screen));
    shell.shows("Out[1]: 'kept line'");
    shell.lacks("FULL SCREEN");
    let raw = String::from_utf8_lossy(&shell.pty.raw()).into_owned();
    assert!(raw.contains(r"seen b'a\x03\x1aq'"), "{raw}");
    shell.cell(3, "kept");
    shell.shows("Out[3]: 'kept line'");
}

#[test]
fn vim_writes_a_file() {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|folder| folder.join("vim").is_file())
    });
    if !found {
        eprintln!("skipped: there is no vim");
        return;
    }
    let shell = Shell::new();
    shell.at(1);
    shell.pty.send_line("!vim -u NONE -N note.txt");
    shell.pty.wait_until("vim", vt100::Screen::alternate_screen);
    shell.pty.send("ihello from vim\x1b:wq\r");
    shell.at(2);
    let text = std::fs::read_to_string(shell.home.work().join("note.txt")).unwrap();
    assert_eq!(text, "hello from vim\n");
}

#[test]
fn a_progress_bar_stays_in_its_line() {
    let shell = Shell::new();
    shell.home.write(
        "bar.py",
        "import sys\nfor done in range(101):\n    sys.stdout.write(f'\\r{done:3d}%|{\"#\" * (done // 5):20}|')\n    \
         sys.stdout.flush()\nprint()\n",
    );
    shell.cell(1, "exec(open('bar.py').read())");
    let text = shell.text();
    let bars: Vec<&str> = text.lines().filter(|line| line.contains("%|")).collect();
    assert_eq!(bars, ["100%|####################|"], "{text}");
    // What the agent is told is the last state alone.
    shell.cell(2, ".what ran?");
    let told = text_of_code(&shell.answers(1)[0].1);
    assert_eq!(told, "100%|####################|");
}

/// The text block of a demo answer: the output it was told.
fn text_of_code(answer: &str) -> String {
    let (_, rest) = answer.split_once("```text\n").expect("an output was told");
    rest.split_once("\n```")
        .expect("a closed fence")
        .0
        .to_owned()
}

#[test]
fn await_works_at_the_top() {
    let shell = Shell::new();
    shell.cell(1, "import asyncio; await asyncio.sleep(0, 'slept')");
    shell.shows("Out[1]: 'slept'");
}

#[test]
fn a_loop_of_its_own_and_the_shells_do_not_collide() {
    let shell = Shell::new();
    shell.cell(
        1,
        "import asyncio; asyncio.run(asyncio.sleep(0, 'own loop'))",
    );
    shell.shows("Out[1]: 'own loop'");
    shell.cell(2, "await asyncio.sleep(0, 'shared loop')");
    shell.shows("Out[2]: 'shared loop'");
    shell.cell(3, "asyncio.run(asyncio.sleep(0, 'own again'))");
    shell.shows("Out[3]: 'own again'");
}

#[test]
fn a_task_goes_on_at_the_prompt() {
    let shell = Shell::new();
    shell.home.write("tick.py",
        "import asyncio\nasync def tick():\n    for n in range(5):\n        await asyncio.sleep(0.01)\n        \
         print('tick', n)\n");
    shell.cell(1, "from tick import *");
    shell.cell(
        2,
        "await asyncio.sleep(0); task = asyncio.create_task(tick())",
    );
    shell.pty.wait_for("tick 4");
    shell.at(3);
    shell.cell(3, "task.done()");
}

/// A thread that waits for a file, then prints numbered lines.
const TALKER: &str = "import os, threading, time\n\
                      def talk(name, count):\n    def work():\n        while not os.path.exists(name):\n            \
                      time.sleep(0.005)\n        for n in range(count):\n            print('line', n, 'of', name)\n    \
                      threading.Thread(target=work, daemon=True).start()\n";

#[test]
fn a_thread_prints_above_what_is_being_typed_and_nothing_is_lost() {
    let shell = Shell::new();
    shell.home.write("talker.py", TALKER);
    shell.cell(1, "from talker import *; talk('go', 40)");
    shell.pty.send("x = 'typed");
    shell.at_with(2, "x = 'typed");
    shell.home.write("go", "");
    shell.pty.wait_for("line 39 of go");
    shell.at_with(2, "x = 'typed");
    shell.pty.send_line("'; x");
    shell.at(3);
    shell.shows("Out[2]: 'typed'");
    let text = shell.text();
    for n in 0..40 {
        let line = format!("line {n} of go");
        assert_eq!(
            text.lines()
                .filter(|shown| shown.trim_end() == line)
                .count(),
            1,
            "{line}:\n{text}"
        );
    }
}

#[test]
fn what_a_thread_prints_without_a_line_end_is_shown_before_the_next_prompt() {
    let shell = Shell::new();
    shell.home.write(
        "writer.py",
        "import os, sys, threading, time\n\
         def work():\n    while not os.path.exists('go'):\n        time.sleep(0.005)\n    \
         sys.stdout.write('begun\\r1%\\r2%\\nno end')\n\
         threading.Thread(target=work, daemon=True).start()\n",
    );
    shell.cell(1, "import writer");
    shell.at(2);
    shell.home.write("go", "");
    shell.pty.wait_for("2%");
    shell.at(2);
    shell.lacks("no end");
    shell.cell(2, "3");
    shell.at(3);
    shell.shows("no end");
    shell.lacks("begun");
    shell.lacks("1%");
}

/// The rows of the screen without the blanks they end in.
fn trimmed(screen: &vt100::Screen) -> String {
    let rows = screen.contents();
    let rows: Vec<&str> = rows.lines().map(str::trim_end).collect();
    rows.join("\n")
}

#[test]
fn a_thread_prints_above_a_draft_wherever_the_cursor_is() {
    let shell = Shell::new();
    shell.home.write("talker.py", TALKER);
    shell.cell(
        1,
        "from talker import *; talk('go', 3); talk('up', 3); talk('end', 3)",
    );
    shell.at(2);
    // The last line is empty; the cursor in the first line; in the last one again.
    for (keys, name) in [
        ("y = [1,\r", "go"),
        ("2,\r3\x1b[A\x1b[A", "up"),
        ("\x1b[B\x1b[B", "end"),
    ] {
        shell.pty.send(keys);
        shell.home.write(name, "");
        shell
            .pty
            .wait_until("the lines above the whole draft", |screen| {
                let text = trimmed(screen);
                let above = format!("line 2 of {name}\nIn [2]: y = [1,\n");
                text.contains(&above) && text.matches("In [2]:").count() == 1
            });
    }
    shell.pty.send("\x05]\r");
    shell.at(3);
    shell.cell(3, "y");
    shell.shows("Out[3]: [1, 2, 3]");
}

#[test]
fn a_progress_bar_of_a_thread_moves_above_what_is_being_typed() {
    let shell = Shell::new();
    shell.home.write(
        "bar.py",
        "import os, sys, threading, time\n\
         def work():\n    for n in range(1, 5):\n        while not os.path.exists(f's{n}'):\n            \
         time.sleep(0.005)\n        sys.stderr.write(f'\\r{n}0% done')\n        sys.stderr.flush()\n    \
         print('\\nover')\n\
         threading.Thread(target=work, daemon=True).start()\n",
    );
    shell.cell(1, "import bar");
    shell.at(2);
    shell.pty.send("z = [1,\r");
    for state in 1..5 {
        shell.home.write(&format!("s{state}"), "");
        shell.pty.wait_until("the state, and no other", |screen| {
            let text = trimmed(screen);
            text.matches("0% done").count() == 1
                && text.contains(&format!("\n{state}0% done\n"))
                && text.matches("In [2]:").count() == 1
        });
    }
    shell.pty.wait_for("over");
    shell.pty.send("2]\r");
    shell.at(3);
}

#[test]
fn a_thread_that_prints_during_a_draft_of_several_lines_loses_nothing() {
    let shell = Shell::new();
    shell.home.write("talker.py", TALKER);
    shell.cell(1, "from talker import *; talk('go', 10); talk('stop', 3)");
    shell.pty.send("y = [1,\r2,\r3");
    shell.pty.wait_until("the third line", |screen| {
        cursor_line(screen).trim_end().ends_with(": 3")
            || cursor_line(screen).trim_end().ends_with("3")
    });
    shell.home.write("go", "");
    shell.pty.wait_for("line 9 of go");
    // The cursor in the first line: printing waits until it can be done, at the latest for the next prompt.
    shell.pty.send("\x1b[A\x1b[A");
    shell.home.write("stop", "");
    shell.pty.send("\x1b[B\x1b[B]\r");
    shell.at(3);
    shell.pty.wait_for_anywhere("line 2 of stop");
    shell.cell(3, "y");
    shell.shows("Out[3]: [1, 2, 3]");
    let text = shell.text();
    for line in (0..10)
        .map(|n| format!("line {n} of go"))
        .chain((0..3).map(|n| format!("line {n} of stop")))
    {
        assert_eq!(
            text.lines()
                .filter(|shown| shown.trim_end() == line)
                .count(),
            1,
            "{line}:\n{text}"
        );
    }
    let draft = ["In [2]: y = [1,", "   ...:"];
    assert!(draft.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn keys_typed_during_a_cell_come_to_the_editor_and_are_not_run() {
    let shell = Shell::new();
    shell.at(1);
    shell
        .pty
        .send_line("import time; print('begun'); time.sleep(0.6)");
    shell.pty.wait_for("\nbegun");
    shell.pty.send("ahead = 1");
    shell.at_with(2, "ahead = 1");
    assert_eq!(shell.inputs(1).len(), 1);
    shell.pty.send_line("23; ahead");
    shell.at(3);
    shell.shows("Out[2]: 123");
}

#[test]
fn a_terminal_left_raw_by_a_cell_does_no_harm() {
    let shell = Shell::new();
    shell.cell(1, "import tty; tty.setraw(0); print('raw now')");
    shell.cell(2, "print('one'); print('two')");
    let text = shell.text();
    assert!(text.contains("\none\ntwo\n"), "{text}");
    shell.pty.send_line("input('ba' + 'ck? ')");
    shell.pty.wait_for("back? ");
    shell.pty.send_line("yes");
    shell.at(4);
    shell.shows("Out[3]: 'yes'");
    shell.shows("back? yes");
}

#[test]
fn the_size_follows_the_window() {
    let shell = Shell::new();
    shell.cell(1, "import shutil, os, time; os.get_terminal_size().columns");
    shell.shows("Out[1]: 80");
    shell.home.write("wait.py",
        "while os.get_terminal_size().columns == 80: time.sleep(0.005)\nprint('now', os.get_terminal_size())\n");
    shell
        .pty
        .send_line("print('waits'); exec(open('wait.py').read())");
    shell.pty.wait_for("\nwaits");
    shell.pty.resize(100, 30);
    shell
        .pty
        .wait_for("now os.terminal_size(columns=100, lines=30)");
    shell.at(3);
    shell.pty.resize(60, 20);
    shell.pty.send_line("tuple(os.get_terminal_size())");
    shell.pty.wait_for("Out[3]: (60, 20)");
    shell.at(4);
}

#[test]
fn a_size_that_changes_while_typing_overwrites_nothing() {
    let shell = Shell::new();
    for n in 1..=24 {
        shell.at(n);
        if n % 4 == 0 {
            // Not at the bottom, where the place of the prompt cannot be mistaken.
            shell.pty.send("\x0c");
            shell.pty.wait_gone("Out");
        }
        let wide = u16::try_from(n % 2).unwrap();
        shell.pty.resize(60 + wide * 40, 20 + wide * 10);
        shell.pty.send_line(&format!("'a{n}' + 'b'"));
        shell.at(n + 1);
        shell.pty.wait_for_anywhere(&format!("Out[{n}]: 'a{n}b'"));
    }
}
