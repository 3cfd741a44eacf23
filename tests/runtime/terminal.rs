//! Cells that own a terminal: typing, control-C, typeahead, raw mode, size, programs that take the screen.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use ipycodex::runtime::{CellTerminal, Ending, Stdin, TerminalSize};

use super::harness::{Form, Harness};

#[test]
fn control_c_typed_into_the_terminal_interrupts() {
    let mut harness = Harness::start(Form::Terminal);
    let terminal = harness.terminal();
    let cells = [
        "import time; print('go'); time.sleep(1000)",
        "print('go')\nwhile True: pass",
        "while True: print('go')",
    ];
    // Python's `input` forgets what is raised while it flushes: about one in eighty fell there.
    let asking = ["print('go'); input('name? ')"; 60];
    for code in cells.into_iter().chain(asking) {
        let id = harness.submit(code, Stdin::Terminal);
        let mut sent = false;
        let events = harness.collect(id, |_, text| {
            if text.contains("go") && !std::mem::replace(&mut sent, true) {
                terminal.type_bytes(&[3]);
            }
        });
        assert_eq!(events.finish.ending, Ending::Interrupted, "{code}");
    }
}

#[test]
fn an_interrupt_where_python_ignores_errors_is_not_lost() {
    let mut harness = Harness::start(Form::Terminal);
    for code in [
        "import os, signal, weakref\nclass A: pass\n\
         def gone(_):\n    os.kill(os.getpid(), signal.SIGINT)\n    for _ in range(9): pass\n\
         a = A(); r = weakref.ref(a, gone)\ndel a\nwhile True: pass",
        "class B:\n    def __del__(self): os.kill(os.getpid(), signal.SIGINT)\nB()\nimport time; time.sleep(1000)",
    ] {
        let events = harness.run(code);
        assert_eq!(events.finish.ending, Ending::Interrupted, "{code}");
        assert_eq!(events.text(), "", "{code}");
    }
}

#[test]
fn an_interrupt_that_had_to_wait_reaches_the_program_that_began_meanwhile() {
    for form in [Form::Pipes, Form::Terminal] {
        let mut harness = Harness::start(form);
        // What repeats the interrupt waits until the program runs.
        let events = harness.run(
            "import sys, time\nsleep, time.sleep = time.sleep, lambda _: sleep(0.3)\n\
             sys.modules['_ipycodex_runner'].wire.interrupts.wait()\n!sleep 1000",
        );
        assert_eq!(events.finish.ending, Ending::Interrupted, "{events:?}");
        assert_eq!(harness.run("time.sleep(0.7); 'quiet'").shown(), ["'quiet'"]);
    }
}

#[test]
fn the_terminal_is_a_terminal() {
    let mut harness = Harness::start(Form::Terminal);
    let events = harness
        .run("import os, sys\nos.get_terminal_size(), sys.stdin.isatty(), sys.stdout.isatty()");
    assert_eq!(
        events.shown(),
        ["(os.terminal_size(columns=90, lines=33), True, True)"]
    );
    let terminal = harness.terminal();
    assert!(terminal.mode().signals && terminal.mode().canonical);
    terminal.resize(TerminalSize {
        columns: 44,
        rows: 7,
    });
    assert_eq!(
        harness.run("os.get_terminal_size().columns").shown(),
        ["44"]
    );
    let id = harness.submit("input('name? ').upper()", Stdin::Terminal);
    let mut sent = false;
    let events = harness.collect(id, |_, text| {
        if text.contains("name? ") && !std::mem::replace(&mut sent, true) {
            terminal.type_bytes("zoë\r".as_bytes());
        }
    });
    assert_eq!(events.shown(), ["'ZOË'"]);
}

#[test]
fn what_was_typed_ahead_comes_back() {
    let mut harness = Harness::start(Form::Terminal);
    let terminal = harness.terminal();
    let id = harness.submit(
        "import time\nprint('go')\nimport termios, array, fcntl\nn = array.array('i', [0])\n\
         while True:\n    fcntl.ioctl(0, termios.FIONREAD, n)\n    if n[0]: break",
        Stdin::Terminal,
    );
    let mut sent = false;
    let events = harness.collect(id, |_, text| {
        if text.contains("go") && !std::mem::replace(&mut sent, true) {
            terminal.type_bytes(b"next line\rpart");
        }
    });
    assert_eq!(events.finish.typeahead, b"next line\npart");
}

#[test]
fn a_terminal_left_raw_is_mended() {
    let mut harness = Harness::start(Form::Terminal);
    let events = harness.run("import tty, os\ntty.setraw(0)\nos.write(1, b'raw')");
    assert!(events.text().contains("raw"));
    let mode = harness.terminal().mode();
    assert!(
        mode.signals && mode.canonical && !mode.foreground_program,
        "{mode:?}"
    );
    let events = harness.run("print('cooked')");
    assert_eq!(events.steps, [("tty", "cooked\r\n".to_owned())]);
}

#[test]
fn programs_that_own_the_screen_are_marked() {
    let mut harness = Harness::start(Form::Terminal);
    let terminal = harness.terminal();
    let id = harness.submit(
        "print('before')\n!echo inside; read answer\nprint('after')",
        Stdin::Terminal,
    );
    let mut owned = None;
    let events = harness.collect(id, |_, text| {
        if text.contains("inside") && owned.is_none() {
            owned = Some(terminal.mode());
            terminal.type_bytes(b"\r");
        }
    });
    assert_eq!(
        events.steps.first().unwrap(),
        &("tty", "before\r\n".into()),
        "{events:?}"
    );
    assert_eq!(
        events.steps.last().unwrap(),
        &("tty", "after\r\n".into()),
        "{events:?}"
    );
    assert!(
        events.steps[1].0 == "foreign" && events.steps[1].1.starts_with("inside"),
        "{events:?}"
    );
    assert_eq!(events.steps.len(), 3, "{events:?}");
    assert!(!terminal.mode().foreground_program);
    let id = harness.submit(
        "import tty, os\nprint('line')\ninput()\ntty.setraw(0)\nos.write(1, b'\\x1b[2J')\nos.read(0, 1)",
        Stdin::Terminal,
    );
    let mut typed = 0;
    let events = harness.collect(id, |_, text| {
        let shown = ["line", "\x1b[2J"];
        if typed < 2 && text.contains(shown[typed]) {
            typed += 1;
            terminal.type_bytes(b"\r");
        }
    });
    // The echo of the line before may be read together with it.
    let is_screen = |(kind, text): &(&str, String)| *kind == "foreign" && text.ends_with("\x1b[2J");
    assert!(events.steps.iter().any(is_screen), "{events:?}");
}

/// A keyboard that is hammered on, from a thread of its own.
struct Hammer {
    taken: Arc<Mutex<Vec<u8>>>,
    budget: Arc<AtomicUsize>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hammer {
    /// What a line of the terminal holds, with room to spare; the kernel drops what is more.
    const KEYS: usize = 500;

    fn start(terminal: Arc<dyn CellTerminal>) -> Self {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let budget = Arc::new(AtomicUsize::new(Self::KEYS));
        let stopped = Arc::new(AtomicBool::new(false));
        let type_on = {
            let (taken, budget, stopped) = (taken.clone(), budget.clone(), stopped.clone());
            move || {
                let mut number = 0;
                while !stopped.load(Ordering::SeqCst) {
                    let mut taken = taken.lock().unwrap();
                    if budget.load(Ordering::SeqCst) > 0 {
                        let key = format!("{number} ");
                        let count = terminal.type_bytes(key.as_bytes());
                        assert!(count == 0 || count == key.len());
                        if count > 0 {
                            number += 1;
                            budget.fetch_sub(1, Ordering::SeqCst);
                            taken.extend_from_slice(key.as_bytes());
                        }
                    }
                    drop(taken);
                    std::thread::yield_now();
                }
            }
        };
        Hammer {
            taken,
            budget,
            stopped,
            thread: Some(std::thread::spawn(type_on)),
        }
    }

    /// What the terminal took since the last time; from here on it may take as much again.
    fn taken(&self) -> String {
        let mut taken = self.taken.lock().unwrap();
        self.budget.store(Self::KEYS, Ordering::SeqCst);
        String::from_utf8(std::mem::take(&mut *taken)).unwrap()
    }
}

impl Drop for Hammer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        let joined = self.thread.take().unwrap().join();
        assert!(joined.is_ok() || std::thread::panicking());
    }
}

#[test]
fn every_key_a_terminal_took_comes_back_with_the_cell_it_was_typed_at() {
    let mut harness = Harness::start(Form::Terminal);
    let hammer = Hammer::start(harness.terminal());
    harness.ready();
    assert_eq!(hammer.taken(), "", "no cell runs");
    let (mut round, mut cells_typed_at) = (0, 0);
    // On a busy machine the keyboard sleeps through most cells.
    while round < 200 || (cells_typed_at < 20 && round < 4000) {
        let code = ["1", "print('x')", "import os; os.getpid()", "1/0"][round % 4];
        let events = harness.run(code);
        let taken = hammer.taken();
        cells_typed_at += usize::from(!taken.is_empty());
        let unread = String::from_utf8(events.finish.typeahead).unwrap();
        assert_eq!(unread, taken, "round {round}");
        round += 1;
    }
    assert!(cells_typed_at > 0);
}

#[test]
fn nothing_is_taken_where_no_cell_runs() {
    let mut harness = Harness::start(Form::Terminal);
    let terminal = harness.terminal();
    assert_eq!(terminal.type_bytes(b"early"), 0);
    harness.ready();
    assert_eq!(terminal.type_bytes(b"ready"), 0);
    let events = harness.run("1");
    assert_eq!(events.finish.typeahead, b"");
    assert_eq!(terminal.type_bytes(b"between"), 0);
    let events = harness.run("import os; os._exit(3)");
    assert!(matches!(events.finish.ending, Ending::Died(_)));
    assert_eq!(terminal.type_bytes(b"dead"), 0);
    harness.ready();
    assert_eq!(harness.run("2").finish.typeahead, b"");
}
