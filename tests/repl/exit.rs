//! The end: by key, by command, by signal, by hang-up. The terminal is given back, no process stays, nothing is lost.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::shell::{CTRL_D, Shell, inputs, record};
use crate::support::await_within;
use crate::support::home::{Home, finish};
use crate::support::peers;
use crate::support::pty::{Pty, SIZE};

/// How long children may outlive us when we end in an orderly way, and we ourselves after a hang-up: at most 3 s by our
/// own clocks, and a machine that is busy with other tests. What they do otherwise lasts 600 s.
const CHILDREN: Duration = Duration::from_secs(20);

#[test]
fn leaving_says_how_to_come_back_and_numbering_goes_on() {
    let shell = Shell::new();
    shell.cell(1, "a = 1");
    shell.cell(2, ".hello");
    assert_eq!(shell.leave(), 0);
    shell.shows("]: \n\nTo resume: ipycodex -r 1");

    let next = Shell::start(shell.home, &["--agent", "demo", "-r", "1"], SIZE);
    next.cell(3, "'a' in globals()");
    next.shows("Out[3]: False");
    next.cell(4, ".and now?");
    let (_, answer) = next.answers(2).pop().unwrap();
    assert!(answer.contains("- 1 prompt before"), "{answer}");
    next.pty.send_line("exit");
    assert_eq!(next.pty.exit_status().exit_code(), 0);
    next.shows("To resume: ipycodex -r 1");
    let count: i64 = next
        .record()
        .query_row("select count(*) from sessions", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);

    let lost = Shell::start(next.home, &["--agent", "demo", "-r", "99"], SIZE);
    assert_eq!(lost.pty.exit_status().exit_code(), 1);
    lost.shows("Session 99 not found");
    lost.shows("hint:");
}

#[test]
fn leaving_at_once_says_nothing() {
    for key in [CTRL_D, "exit\r", "quit\r", "quit()\r"] {
        let shell = Shell::new();
        shell.pty.send(key);
        assert_eq!(shell.pty.exit_status().exit_code(), 0, "{key:?}");
        if key == CTRL_D {
            shell.lacks("To resume");
        }
    }
}

/// What the end must leave behind: the terminal as it was, and no process.
pub(super) fn given_back(
    what: &str,
    shell: &Shell,
    before: &rustix::termios::Termios,
    device: &std::fs::File,
) {
    let after = rustix::termios::tcgetattr(device).unwrap();
    let modes = |of: &rustix::termios::Termios| {
        (
            of.input_modes,
            of.output_modes,
            of.control_modes,
            of.local_modes,
        )
    };
    assert_eq!(modes(&after), modes(before), "{what}");
    assert_eq!(
        format!("{:?}", after.special_codes),
        format!("{:?}", before.special_codes),
        "{what}"
    );
    shell
        .pty
        .wait_until(&format!("{what}: a terminal without modes"), |screen| {
            !(screen.bracketed_paste() || screen.hide_cursor() || screen.alternate_screen())
        });
    await_within(&format!("{what}: no process is left"), CHILDREN, || {
        shell.pty.processes().is_empty()
    });
}

/// A shell whose terminal is held from before its start.
fn held() -> (Shell, std::fs::File, rustix::termios::Termios) {
    held_in(Home::new())
}

/// The same in this home.
pub(super) fn held_in(home: Home) -> (Shell, std::fs::File, rustix::termios::Termios) {
    // The first program on the terminal only waits for a key, so that the mode before ours can be read.
    let script = format!(
        "read _; exec {} --agent demo",
        env!("CARGO_BIN_EXE_ipycodex")
    );
    let pty = Pty::spawn_program(&home, Path::new("/bin/sh"), &["-c", &script], SIZE);
    let device = pty.open_device();
    let before = pty.termios();
    pty.send("\r");
    let shell = Shell { home, pty };
    shell.pty.wait_for("In [1]:");
    (shell, device, before)
}

/// What goes on when the end comes.
#[derive(Debug, Clone, Copy)]
enum State {
    Prompt,
    HalfTyped,
    Cell,
    Answer,
    Tool,
}

const STATES: [State; 5] = [
    State::Prompt,
    State::HalfTyped,
    State::Cell,
    State::Answer,
    State::Tool,
];

/// Brings a shell at `In [1]` there; returns the inputs that must be in the record.
fn reach(state: State, shell: &Pty, home: &Home) -> Vec<&'static str> {
    home.write(
        "hang.py",
        "import time\ndef hang():\n    print('hang' + 'ing')\n    time.sleep(600)\n",
    );
    let first = "from hang import *; print('de' + 'fined')";
    shell.send_line(first);
    shell.wait_for("defined");
    shell.wait_for("In [2]:");
    let (keys, seen, recorded) = match state {
        State::Prompt => ("", "In [2]:", None),
        State::HalfTyped => ("half = [", "half = [", None),
        State::Cell => ("hang()\r", "hanging", Some("hang()")),
        State::Answer => (
            ".tell me slowly\r",
            "I am the built-in",
            Some(".tell me slowly"),
        ),
        State::Tool => (".use &`hang`\r", "hanging", Some(".use &`hang`")),
    };
    shell.send(keys);
    shell.wait_for(seen);
    [Some(first), recorded].into_iter().flatten().collect()
}

/// Sends each in two states; `saves`: all that was entered is in the record then.
fn dies_of(signals: [(Signal, &str); 4], saves: bool) {
    for (n, (signal, name)) in signals.into_iter().enumerate() {
        for state in [STATES[n], STATES[n + 1]] {
            let (shell, device, before) = held();
            let expected = reach(state, &shell.pty, &shell.home);
            shell.pty.signal(signal);
            let status = shell.pty.exit_status();
            assert_eq!(status.signal(), Some(name), "{state:?}");
            given_back(&format!("{name} at {state:?}"), &shell, &before, &device);
            let recorded = inputs(&shell.record());
            let sure = if saves { expected.len() } else { 1 };
            assert_eq!(recorded[..sure], expected[..sure], "{name} at {state:?}");
        }
    }
}

#[test]
fn a_signal_gives_the_terminal_back_and_is_died_of() {
    let signals = [
        (Signal::TERM, "Terminated"),
        (Signal::HUP, "Hangup"),
        (Signal::INT, "Interrupt"),
        (Signal::QUIT, "Quit"),
    ];
    dies_of(signals, true);
}

#[test]
fn a_fault_gives_the_terminal_back_and_is_died_of() {
    let faults = [
        (Signal::ABORT, "Aborted"),
        (Signal::SEGV, "Segmentation fault"),
        (Signal::BUS, "Bus error"),
        (Signal::ILL, "Illegal instruction"),
    ];
    dies_of(faults, false);
}

#[test]
fn leaving_gives_the_terminal_back_also_after_deaths_of_the_others() {
    for ends in ["", "import os; os.kill(os.getpid(), 9)", ".tell me slowly"] {
        let (shell, device, before) = held();
        shell.cell(1, "1");
        if ends.starts_with('.') {
            shell.pty.send_line(ends);
            shell.pty.wait_for("I am the built-in");
            let is_agent = |process: &u32| {
                std::fs::read(format!("/proc/{process}/cmdline"))
                    .is_ok_and(|line| memchr::memmem::find(&line, b"demo-agent").is_some())
            };
            let agent = shell
                .pty
                .processes()
                .into_iter()
                .find(is_agent)
                .expect("the agent runs");
            rustix::process::kill_process(
                Pid::from_raw(i32::try_from(agent).unwrap()).unwrap(),
                Signal::KILL,
            )
            .unwrap();
            shell.at_with(3, ends);
            shell.pty.send("\x03");
        } else if !ends.is_empty() {
            shell.cell(2, ends);
        }
        assert_eq!(shell.leave(), 0);
        given_back(ends, &shell, &before, &device);
    }
}

/// Relays a terminal of its own; when it is killed, the inner terminal hangs up.
const RELAY: &str = r#"
import fcntl, os, pty, select, struct, sys, termios, tty
tty.setraw(0)
child, master = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    for source in select.select([0, master], [], [])[0]:
        try:
            data = os.read(source, 65536)
        except OSError:
            sys.exit()
        os.write(master if source == 0 else 1, data)
"#;

#[test]
fn a_terminal_that_hangs_up_is_a_save_point() {
    for state in STATES {
        hang_up_at(state, &[env!("CARGO_BIN_EXE_ipycodex")]);
    }
}

#[test]
fn a_terminal_whose_leader_keeps_the_hang_up_to_itself_is_a_save_point() {
    let leader = "trap '' HUP; \"$0\" \"$@\"; exit 0";
    for state in STATES {
        hang_up_at(
            state,
            &["/bin/sh", "-c", leader, env!("CARGO_BIN_EXE_ipycodex")],
        );
    }
}

/// Takes its terminal from a shell in this state; it ends, with all it started, and what was submitted is recorded.
fn hang_up_at(state: State, program: &[&str]) {
    let home = Home::new();
    let relay = home.write("relay.py", RELAY);
    let arguments = [&[relay.to_str().unwrap()], program, &["--agent", "demo"]].concat();
    let pty = Pty::spawn_program(&home, &peers::plain_python(), &arguments, SIZE);
    pty.wait_for("In [1]:");
    let expected = reach(state, &pty, &home);
    pty.signal(Signal::KILL);
    await_within(
        &format!("{state:?}: every process has left"),
        CHILDREN,
        || pty.processes().is_empty(),
    );
    assert_eq!(inputs(&record(&home.history())), expected, "{state:?}");
}

#[test]
fn an_answer_cut_by_a_signal_is_in_the_record() {
    let shell = Shell::new();
    reach(State::Answer, &shell.pty, &shell.home);
    shell.pty.signal(Signal::TERM);
    shell.pty.exit_status();
    let answer: String = shell
        .record()
        .query_row("select response from ai_prompts", [], |row| row.get(0))
        .unwrap();
    assert!(answer.contains("I am the built-in"), "{answer}");
    assert!(
        answer.ends_with("\n<system>user interrupted</system>"),
        "{answer}"
    );
}

#[test]
fn no_process_outlives_us_even_when_we_are_killed() {
    for state in [State::Cell, State::Answer, State::Tool] {
        let shell = Shell::new();
        reach(state, &shell.pty, &shell.home);
        assert!(shell.pty.processes().len() > 1);
        shell.pty.signal(Signal::KILL);
        shell.pty.exit_status();
        await_within(&format!("{state:?}: no process is left"), CHILDREN, || {
            shell.pty.processes().is_empty()
        });
        // The record is whole and the next start mends what was left.
        let next = Shell::of(shell.home);
        next.cell(1, "6 * 7");
        next.shows("Out[1]: 42");
        let check: String = next
            .record()
            .query_row("pragma integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(check, "ok");
    }
}

/// The processes of a shell that sleep for ever.
fn sleepers(shell: &Shell) -> usize {
    let sleeps = |process: &u32| {
        std::fs::read(format!("/proc/{process}/cmdline"))
            .is_ok_and(|line| line.starts_with(b"sleep\0"))
    };
    shell.pty.processes().iter().filter(|it| sleeps(it)).count()
}

/// A cell that starts what hears no signal, has a session of its own and lost its parent.
const ESCAPE: &str = r#"!setsid -f sh -c 'trap "" TERM HUP INT; echo esc""aped; sleep 600; :'"#;

#[test]
fn what_escaped_from_a_cell_ends_when_we_or_the_interpreter_are_killed() {
    for kills in ["", "import os; os.kill(os.getpid(), 9)"] {
        let shell = Shell::new();
        shell.cell(1, ESCAPE);
        shell.shows("escaped");
        await_within("it sleeps", CHILDREN, || sleepers(&shell) == 1);
        if kills.is_empty() {
            shell.pty.signal(Signal::KILL);
            shell.pty.exit_status();
            await_within("no process is left", CHILDREN, || {
                shell.pty.processes().is_empty()
            });
        } else {
            shell.pty.send_line(kills);
            await_within("no sleeper is left", CHILDREN, || sleepers(&shell) == 0);
            shell.at(3);
        }
    }
}

#[test]
fn what_made_a_session_of_its_own_stays_when_the_user_leaves() {
    let shell = Shell::new();
    shell.cell(1, "!setsid -f sleep 600");
    await_within("it sleeps", CHILDREN, || sleepers(&shell) == 1);
    shell.leave();
    await_within("it alone is left", CHILDREN, || {
        shell.pty.processes().len() == 1
    });
    assert_eq!(sleepers(&shell), 1);
}

#[test]
fn a_look_leaves_nothing_when_we_are_killed() {
    let shell = Shell::new();
    shell.cell(1, "import subprocess");
    shell
        .pty
        .send_line(".pyrun `subprocess.run('sleep 600 & sleep 601', shell=True)`");
    await_within("both sleep", CHILDREN, || sleepers(&shell) == 2);
    shell.pty.signal(Signal::KILL);
    shell.pty.exit_status();
    await_within("no process is left", CHILDREN, || {
        shell.pty.processes().is_empty()
    });
}

#[test]
fn functions_that_run_at_exit_are_shown_and_those_that_hang_are_not_waited_for() {
    let shell = Shell::new();
    shell.cell(
        1,
        "import atexit, time; _ = atexit.register(print, 'good' + 'bye')",
    );
    shell.leave();
    shell.shows("goodbye");
    let shell = Shell::new();
    shell.cell(
        1,
        "import atexit, time; _ = atexit.register(time.sleep, 600)",
    );
    shell.leave();
    await_within("no process is left", CHILDREN, || {
        shell.pty.processes().is_empty()
    });
}

#[test]
fn a_terminal_left_raw_by_a_kill_is_sane_after_the_next_start() {
    let home = Home::new();
    let script = format!(
        "{0} --agent demo; {0} --agent demo; stty -a > mode",
        env!("CARGO_BIN_EXE_ipycodex")
    );
    let pty = Pty::spawn_program(&home, Path::new("/bin/sh"), &["-c", &script], SIZE);
    let shell = Shell { home, pty };
    shell.cell(1, "1");
    let first = shell.pty.processes().into_iter().find(|process| {
        std::fs::read(format!("/proc/{process}/cmdline"))
            .is_ok_and(|line| line.starts_with(env!("CARGO_BIN_EXE_ipycodex").as_bytes()))
    });
    let first = Pid::from_raw(i32::try_from(first.expect("it runs")).unwrap()).unwrap();
    rustix::process::kill_process(first, Signal::KILL).unwrap();
    shell.at(1);
    shell.pty.send(CTRL_D);
    shell.pty.exit_status();
    let mode = std::fs::read_to_string(shell.home.work().join("mode")).unwrap();
    let flags: Vec<&str> = mode.split_whitespace().collect();
    for flag in ["isig", "icanon", "echo", "opost", "icrnl"] {
        assert!(flags.contains(&flag), "{flag}: {mode}");
    }
}

#[test]
fn the_record_can_be_read_by_another_run_at_the_same_time() {
    let shell = Shell::new();
    shell.cell(1, "a = 1");
    let mut command = shell.home.command(&["--agent", "demo", "-c", "'second'"]);
    command.env("LC_ALL", "C");
    let ran = finish(command, b"");
    assert_eq!(
        (ran.stdout.as_str(), ran.code()),
        ("'second'\n", 0),
        "{ran:?}"
    );
    shell.cell(2, "b = 2");
    let expected = ["a = 1", "b = 2", "'second'"];
    assert_eq!(shell.inputs(3), expected);
}
