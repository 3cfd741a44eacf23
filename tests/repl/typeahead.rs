//! Keys typed while something runs: all of them come to what follows, once and in order; lines run one after the other
//! and can be taken back.

use std::time::{Duration, Instant};

use serde_json::json;

use super::questioning_agent::{Asker, command};
use super::shell::{CTRL_C, Shell, UP};
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{SIZE, cursor_line};
use crate::support::random::Random;

/// Clears the line.
const CTRL_U: &str = "\x15";

/// Python that takes its time to come up.
fn slow_home() -> Home {
    let home = Home::new();
    let python = peers::plain_python();
    let python = shlex::try_quote(python.to_str().unwrap()).unwrap();
    home.install_script(
        "python3",
        &format!("#!/bin/sh\nsleep 1\nexec {python} \"$@\"\n"),
    );
    home
}

/// Types a cell and Enter, and waits until the editor has let go of it.
fn submit(shell: &Shell, number: u32, code: &str) {
    shell.at(number);
    shell.pty.send_line(code);
    let edited = format!("In [{number}]: ");
    shell
        .pty
        .wait_until("the cursor below the input", |screen| {
            let line = cursor_line(screen);
            !format!("{line} ").starts_with(&edited)
        });
}

/// Types these one after the other, with pauses whose length nobody knows.
fn type_apart(shell: &Shell, keys: &[&str], pauses: usize) {
    for (index, key) in keys.iter().enumerate() {
        shell.pty.send(key);
        for _ in 0..(pauses * (index + 1) * 37) % 1201 {
            std::thread::yield_now();
        }
    }
}

#[test]
fn keys_around_the_end_of_a_cell_come_to_the_next_editor() {
    let shell = Shell::new();
    for round in 0..70 {
        let number = 2 + u32::try_from(round).unwrap();
        let (first, second) = (format!("a{round}"), format!("-b{round}"));
        let third = format!("-c{round}");
        submit(&shell, number - 1, "pass");
        type_apart(&shell, &[&first, &second, &third], round * 20);
        shell.at_with(number, &format!("{first}{second}{third}"));
        shell.pty.send(CTRL_U);
    }
    shell.at(71);
    assert_eq!(shell.inputs(70), ["pass"; 70]);
}

#[test]
fn keys_held_for_one_prompt_after_the_other_come_to_the_last() {
    let shell = Shell::new();
    let mut number = 1;
    for _ in 0..60 {
        // Six times in a moment what was held for a prompt goes with the next key.
        for held in ["x", "x", "x", "x", "x", "x", "tail"] {
            submit(&shell, number, "pass");
            shell.pty.send(held);
            number += 1;
            if held == "tail" {
                shell.at_with(number, held);
            } else {
                shell.pty.wait_for(&format!("In [{number}]: "));
            }
            shell.pty.send(CTRL_U);
        }
    }
}

#[test]
fn lines_for_later_cells_are_not_shown_below_brief_ones() {
    let shell = Shell::new();
    shell.cell(1, "import time");
    shell.at(2);
    let lines: Vec<String> = (2..=11)
        .map(|number| format!("time.sleep(0.02) or {number}\r"))
        .collect();
    shell.pty.send(&lines.concat());
    shell.at(12);
    let screen = shell.pty.all_text();
    for number in 2..=11 {
        let at = screen.matches(&format!("In [{number}]: ")).count();
        assert_eq!(at, 1, "once: {screen}");
        assert!(
            screen.contains(&format!("\nOut[{number}]: {number}\n")),
            "{screen}"
        );
    }
    // A busy machine makes a cell last longer than a moment.
    let cells = screen.split("\nIn [");
    let shows_lines = |cell: &&str| cell.contains("\ntime.sleep");
    let echoing = cells.filter(shows_lines).count();
    assert!(echoing < 5, "{echoing} of 10: {screen}");
}

#[test]
fn what_is_typed_while_python_starts_comes_to_the_next_editor() {
    for round in 0..5 {
        let shell = Shell::start(slow_home(), &["--agent", "demo"], SIZE);
        shell.at(1);
        submit(&shell, 1, "def f(x): return x*2");
        type_apart(&shell, &[".use", " f", "; more"], round * 301);
        shell.at_with(2, ".use f; more");
        shell.pty.send(CTRL_U);
        shell.cell(2, "f(21)");
        shell.shows("Out[2]: 42");
        shell.at(3);
    }
}

#[test]
fn what_does_not_fit_into_a_cells_terminal_is_not_lost() {
    let shell = Shell::new();
    // Reads no line before all of them have been typed.
    shell.pty.send_line(
        "import os, sys, time; print('be' + 'gun'); [time.sleep(0.01) for _ in iter(lambda: os.path.exists('go'), \
         True)]; n = [len(sys.stdin.readline()) for _ in range(4000)]",
    );
    shell.pty.wait_for("\nbegun");
    for number in 0..4000 {
        shell.pty.send(&format!("{number:059}\r"));
        if number == 200 {
            shell.home.write("go", "");
        }
    }
    shell.at(2);
    shell.cell(2, "set(n), len(n)");
    shell.shows("Out[2]: ({60}, 4000)");
    shell.at(3);
}

/// Shells with either engine, and a function `wait()` that returns when the file `go` is there.
fn waiting_shells() -> Vec<Shell> {
    let mut shells = vec![Shell::new()];
    if let Some(python) = peers::python() {
        let arguments = ["--agent", "demo", "--python", python.to_str().unwrap()];
        shells.push(Shell::start(Home::new(), &arguments, SIZE));
    }
    for shell in &shells {
        shell.cell(1,
            "import os, time; wait = lambda: [print('wa' + 'its')] and [time.sleep(0.005) for _ in iter(lambda: \
             os.path.exists('go'), True)] and None");
        shell.at(2);
    }
    shells
}

impl Shell {
    /// Runs a cell that waits, and types this meanwhile.
    fn type_meanwhile(&self, cell: &str, keys: &str) {
        self.pty.send_line(cell);
        self.pty.wait_for("\nwaits");
        self.pty.send(keys);
    }
}

#[test]
fn keys_with_alt_and_ctrl_are_those_keys() {
    for shell in waiting_shells() {
        // A word back, to the end, two words back.
        shell.type_meanwhile("wait()", "one two three\x1bbX\x05Y\x1b[1;5D\x1b[1;5DZ");
        shell.home.write("go", "");
        shell.at_with(3, "one Ztwo XthreeY");
    }
}

#[test]
fn what_is_typed_while_a_cell_runs_runs_one_after_the_other() {
    for shell in waiting_shells() {
        shell.type_meanwhile("wait()", "a = 20\rif a:\ra += 1\r\ra * 2\rlast");
        shell.pty.at_line("last");
        shell.home.write("go", "");
        shell.shows("Out[5]: 42");
        shell.at_with(6, "last");
        let inputs = shell.inputs(5);
        assert_eq!(inputs[2], "a = 20");
        assert_eq!(inputs[3].trim_end(), "if a:\n    a += 1");
        assert_eq!(inputs[4], "a * 2");
        assert_eq!(inputs.len(), 5);
    }
}

#[test]
fn after_an_error_what_was_typed_ahead_stands_in_the_editor() {
    for shell in waiting_shells() {
        shell.type_meanwhile("wait(); 1/0", "\ra = 42\ra + 1\r");
        shell.pty.at_line("");
        shell.home.write("go", "");
        shell.shows("ZeroDivisionError");
        shell.pty.at_line("   ...: a + 1");
        assert_eq!(shell.inputs(2).len(), 2);
        shell.pty.send("\r");
        shell.shows("Out[3]: 43");
        shell.at(4);
    }
}

#[test]
fn an_enter_around_the_end_of_a_failing_cell_is_not_lost() {
    let shell = Shell::new();
    for round in 0..40 {
        let from = shell.pty.raw().len();
        let [one, two] = ["a", "b"].map(|name| format!("{name}{round} = {round}"));
        shell.pty.send_line("1/0");
        type_apart(&shell, &[&one, "\r", &two, "\r"], round * 7);
        // All have run, or stand in the editor, where one more Enter runs them.
        shell.pty.wait_raw(b"ZeroDivisionError", from);
        let last = format!("a{round} + b{round}, 'sum{round}')");
        let sum = format!("\n{} sum{round}", 2 * round);
        shell.pty.send(&format!("\rprint({last}\r"));
        shell
            .pty
            .wait_until("the last line, or what it prints", |screen| {
                cursor_line(screen).ends_with(&last) || screen.contents().contains(&sum)
            });
        shell.pty.send("\r");
        shell.shows(&sum);
    }
}

#[test]
fn after_ctrl_c_what_was_typed_before_it_stands_in_the_editor() {
    for shell in waiting_shells() {
        shell.type_meanwhile("wait()", "a = 42\ra + 1\r");
        shell.pty.at_line("");
        shell.pty.send(CTRL_C);
        shell.shows("KeyboardInterrupt");
        shell.pty.at_line("   ...: a + 1");
        assert_eq!(shell.inputs(2).len(), 2);
        shell.pty.send(CTRL_C);
        shell.at(3);
        // A cell that goes on all the same: it was an interrupt to whoever typed it.
        let stubborn = "def stubborn():\n    while not os.path.exists('go'):\n        try: wait()\n        except \
                        KeyboardInterrupt: print('went on')\n";
        shell.home.write("stubborn.py", stubborn);
        shell.cell(3, "exec(open('stubborn.py').read())");
        shell.at(4);
        shell.type_meanwhile("stubborn()", "b = 1\r");
        shell.pty.send(CTRL_C);
        shell.pty.wait_for("went on");
        shell.home.write("go", "");
        shell.at_with(5, "b = 1");
        assert_eq!(shell.inputs(4).len(), 4);
    }
}

#[test]
fn what_is_typed_behind_ctrl_c_is_meant_for_what_follows() {
    for shell in waiting_shells() {
        shell.type_meanwhile("wait()", CTRL_C);
        shell.pty.send("6*7\r");
        shell.shows("Out[3]: 42");
        shell.at(4);
    }
}

#[test]
fn up_takes_the_last_line_back() {
    for shell in waiting_shells() {
        shell.type_meanwhile("wait()", "a = 1\ra = 2\ra = 3\r");
        shell.pty.wait_for("queued: a = 3 (Up takes it back)");
        shell.pty.send(UP);
        shell.pty.at_line("a = 3");
        // There is more to take back when nothing is being typed.
        shell.pty.send(UP);
        shell.pty.send(CTRL_U);
        shell.pty.at_line("");
        // A key that repeats takes one line; so does the other spelling.
        shell.pty.send(&format!("{UP}{UP}"));
        shell.pty.at_line("a = 2");
        shell.pty.send(&format!("{CTRL_U}a = 2\r"));
        shell
            .pty
            .wait_for("queued after 1 more: a = 2 (Up takes it back)");
        shell.pty.send("\x1bOA");
        shell.pty.at_line("a = 2");
        shell.pty.send("0\r");
        shell
            .pty
            .wait_for("queued after 1 more: a = 20 (Up takes it back)");
        shell.home.write("go", "");
        shell.at(5);
        shell.lacks("queued");
        assert_eq!(shell.inputs(4)[2..], ["a = 1", "a = 20"]);
    }
}

#[test]
fn a_cell_that_reads_has_the_keys_first() {
    for shell in waiting_shells() {
        shell.type_meanwhile("wait(); x = input(); y = input()", "one\rtwo\rx + y\r");
        shell.home.write("go", "");
        shell.shows("Out[3]: 'onetwo'");
        shell.at(4);
        assert_eq!(shell.inputs(3).len(), 3);
    }
}

#[test]
fn an_answer_that_comes_with_the_enter_of_its_cell_is_the_cells() {
    let shell = Shell::new();
    for round in 0..10 {
        let number = 2 * round + 1;
        shell.at(number);
        // One write, one read: the editor has the keys, the cell is to have them.
        shell
            .pty
            .send(&format!("name = input()\rBob {round}\rname\r"));
        shell.shows(&format!("Out[{}]: 'Bob {round}'", number + 1));
    }
}

#[test]
fn a_paste_does_not_run_before_enter() {
    for shell in waiting_shells() {
        let from = shell.pty.raw().len();
        shell.pty.send_line("wait(); x = input()");
        let begun = shell.pty.wait_raw(b"waits", from);
        // The terminal is to mark it.
        let marked = shell.pty.raw()[from..begun].to_vec();
        let marked = String::from_utf8_lossy(&marked).into_owned();
        let [on, off] = ["h", "l"].map(|end| marked.rfind(&format!("\x1b[?2004{end}")));
        assert!(on > off, "{marked:?}");
        // The cell is given lines without marks.
        shell.pty.send("\x1b[200~one\na = 1\nb = 2\x1b[201~");
        shell.pty.send("; c = 3");
        shell.home.write("go", "");
        shell.pty.at_line("   ...: b = 2; c = 3");
        assert_eq!(shell.inputs(2).len(), 2);
        shell.pty.send("\r");
        shell.at(4);
        shell.cell(4, "x, a + b + c");
        shell.shows("Out[4]: ('one', 6)");
    }
}

/// A turn that waits for the file `go`, then these.
fn asker(turns: &[serde_json::Value]) -> Asker {
    let mut all = vec![json!([{"text": "one\n\n"}, {"until": "go"}, {"text": "two\n\n"}])];
    all.extend_from_slice(turns);
    let asker = Asker::new(json!(all));
    asker.prompt(1);
    asker.shell.pty.wait_for("\none");
    asker
}

#[test]
fn prompts_typed_while_an_answer_streams_are_queued_and_shown() {
    let asker = asker(&[json!([{"text": "second"}]), json!([{"text": "third"}])]);
    let pty = &asker.shell.pty;
    pty.send(".how\r");
    pty.wait_for("queued: .how (Up takes it back)");
    pty.send(".wrong\r");
    pty.wait_for("queued: .wrong (Up takes it back)");
    pty.send(UP);
    pty.wait_for("› .wrong");
    pty.wait_gone("queued: .wrong");
    pty.send(&format!("{CTRL_U}.and \x7f then\r"));
    pty.wait_for("queued: .and then (Up takes it back)");
    pty.send("half");
    pty.wait_for("› half");
    asker.shell.home.write("go", "");
    asker.shell.at_with(4, "half");
    let asked: Vec<String> = asker
        .shell
        .answers(3)
        .into_iter()
        .map(|(prompt, _)| prompt)
        .collect();
    assert_eq!(asked, ["go", "how", "and then"]);
    let text = asker.shell.text();
    for gone in ["queued", "›", "wrong"] {
        assert!(!text.contains(gone), "{text}");
    }
    assert!(text.contains("one\n\ntwo\n"), "{text}");
    assert!(text.contains("In [2]: .how\n"), "{text}");
}

#[test]
fn a_stopped_answer_leaves_the_queue_in_the_editor() {
    let asker = asker(&[]);
    let pty = &asker.shell.pty;
    pty.send(".how\r.and then\rhalf");
    pty.wait_for("› half");
    pty.send(CTRL_C);
    asker.shell.shows("stopped");
    asker.shell.pty.at_line("   ...: half");
    let text = asker.shell.text();
    assert!(
        text.contains("In [2]: .how\n   ...: .and then\n   ...: half"),
        "{text}"
    );
    assert_eq!(asker.shell.inputs(1), [".go"]);
}

#[test]
fn a_paste_during_an_answer_does_not_run() {
    let asker = asker(&[]);
    asker.shell.pty.send("\x1b[200~a = 1\rb = 2\r\x1b[201~");
    asker.shell.pty.wait_for("› b = 2");
    asker.shell.home.write("go", "");
    asker.shell.shows("two");
    asker.shell.pty.wait_until("the paste", |screen| {
        screen
            .contents()
            .contains("In [2]: a = 1\n   ...: b = 2\n   ...:")
    });
    assert_eq!(asker.shell.inputs(1), [".go"]);
}

/// What is typed before a question: its own keys, those that move in it, lines, pastes.
const KEYS: [&str; 18] = [
    "y",
    "s",
    "a",
    "d",
    "n",
    "w",
    "x",
    "1",
    "Y",
    " ",
    "\t",
    "\r",
    "\x1b",
    "\x1b[A",
    "\x1b[B",
    "\x1b[13u",
    "\x1b[200~y\r\x1b[201~",
    "\x1by",
];

/// Sequences of keys typed while an answer streams, the last of them when the question is on its way: none answers it.
pub fn keys_before_a_question(sequences: u32) -> String {
    const SEED: u64 = 28;
    /// Turns of one shell.
    const TURNS: u32 = 50;
    let mut random = Random::new(SEED);
    let (mut done, mut judged) = (0, 0);
    while done < sequences {
        let turns = TURNS.min(sequences - done);
        let script = (0..turns).map(
            |turn| json!([{"text": "one\n\n"}, {"until": format!("go-{turn}")}, command("rm it")]),
        );
        let asker = Asker::new(json!(script.collect::<Vec<_>>()));
        let pty = &asker.shell.pty;
        asker.shell.at(1);
        for turn in 0..turns {
            let from = pty.raw().len();
            pty.send_line(".go");
            pty.wait_raw(b"one", from);
            let count = random.within(1, 12);
            let keys: Vec<&str> = (0..count).map(|_| *random.pick(&KEYS)).collect();
            let go = usize::from(random.within(0, count));
            // From there on a key may be the user's answer.
            let takes_keys =
                || memchr::memmem::find(&pty.raw()[from..], "▸ n no".as_bytes()).is_some();
            for (place, key) in keys.iter().enumerate() {
                if place == go {
                    asker.shell.home.write(&format!("go-{turn}"), "");
                }
                if takes_keys() {
                    break;
                }
                pty.send_and_await_read(key);
                for _ in 0..random.within(0, 2000) {
                    std::thread::yield_now();
                }
            }
            // On a busy machine the last one may be late.
            let in_time = !takes_keys();
            judged += u32::from(in_time);
            asker.shell.home.write(&format!("go-{turn}"), "");
            pty.wait_for("▸ n no");
            pty.send("n");
            let given = asker.given(usize::try_from(turn).unwrap() + 1);
            let decision = &given[usize::try_from(turn).unwrap()]["decision"];
            let accepted = ["accept", "acceptForSession"]
                .iter()
                .any(|yes| decision == yes);
            assert!(
                !accepted || !in_time,
                "seed {SEED}, sequence {}: {keys:?} gave {decision}",
                done + turn
            );
            empty_prompt(&asker.shell);
        }
        done += turns;
    }
    format!("{judged} of {sequences} sequences came in time: none was an answer")
}

/// Stops what was queued and drops what was typed, until a prompt is empty.
fn empty_prompt(shell: &Shell) {
    let prompt = |kind: &str, typed: &str| {
        let line = shell.pty.look(cursor_line);
        line.starts_with(kind) && line.trim_end().ends_with(&format!("]:{typed}"))
    };
    // Within a second: what was sent may have met something else than the prompt.
    let soon = |reached: &dyn Fn() -> bool| {
        let begin = Instant::now();
        while !reached() && begin.elapsed() < Duration::from_secs(1) {
            std::thread::sleep(Duration::from_millis(2));
        }
        reached()
    };
    await_true("an empty prompt", || {
        shell.pty.send(CTRL_C);
        // Esc and `s` are Alt-s.
        if !soon(&|| prompt("In [", "") || prompt("$ [", "")) {
            return false;
        }
        if prompt("$ [", "") {
            shell.pty.send("\x1bs");
            if !soon(&|| prompt("In [", "")) {
                return false;
            }
        }
        // All that was typed before is through when a word stands there.
        shell.pty.send("word");
        if !soon(&|| prompt("In [", " word")) {
            return false;
        }
        shell.pty.send_and_await_read(CTRL_U);
        true
    });
}

#[test]
fn a_paste_that_stalls_answers_no_question() {
    let script = json!([[{"text": "one\n\n"}, {"until": "go"}, command("rm it")]]);
    let asker = Asker::new(script);
    let pty = &asker.shell.pty;
    asker.prompt(1);
    pty.wait_for("\none");
    pty.send_and_await_read("\x1b[200~pas");
    asker.shell.home.write("go", "");
    pty.wait_for("why: to see");
    // Longer than the pause in typing after which keys are meant for a question.
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(1) {
        let screen = pty.screen_text();
        assert!(
            !screen.contains("▸ n no"),
            "it takes keys in a paste:\n{screen}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    pty.send("y\ry\x1b[201~");
    asker.choices();
    pty.send("n");
    assert_eq!(asker.given(1)[0]["decision"], "decline");
    asker.shell.shows("turn over");
    pty.at_line("   ...: y");
    assert_eq!(asker.shell.inputs(1), [".go"]);
}
