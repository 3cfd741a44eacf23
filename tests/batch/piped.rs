//! Piped text runs as it comes: another program holds a session through a pipe.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::support::home::{Home, PATIENCE};
use crate::support::peers;

/// A session on two pipes.
struct PipedSession {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl PipedSession {
    fn start(home: &Home, arguments: &[&str]) -> PipedSession {
        let mut command = home.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        PipedSession {
            input: child.stdin.take(),
            child,
            lines,
        }
    }

    fn send(&mut self, text: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(text.as_bytes()).unwrap();
        input.flush().unwrap();
    }

    #[track_caller]
    fn says(&self, line: &str) {
        assert_eq!(self.lines.recv_timeout(PATIENCE).unwrap(), line);
    }

    fn ends(mut self) -> i32 {
        self.input = None;
        let status = self.child.wait().unwrap();
        assert_eq!(self.lines.recv().ok(), None);
        status.code().unwrap()
    }
}

#[test]
fn each_statement_runs_when_it_is_whole() {
    let ipython = peers::python().map(|python| {
        let home = Home::new();
        home.install("python3", python);
        home
    });
    for home in [Some(Home::new()), ipython].into_iter().flatten() {
        for arguments in [&["--agent", "demo"][..], &["run", "--allow-errors", "-"]] {
            let mut held = PipedSession::start(&home, arguments);
            held.send("x = 20\nprint(x + 1)");
            held.send("\n");
            held.says("21");
            held.send("def f(n):\n    return n * 2\n\n    # of it\n");
            held.send("f(x)\n1 / 0\n!echo shell\n");
            held.says("40");
            held.says("shell");
            held.send("%%bash\necho a\necho b\n\n");
            held.says("a");
            held.says("b");
            // From the first marker on, cells.
            held.send("# %%\nz = 1\nz + 1\n");
            held.send("# %% next\n");
            held.says("2");
            held.send("z + 2\n\nz + 3");
            held.input = None;
            held.says("4");
            assert_eq!(held.ends(), 1);
        }
    }
}

#[test]
fn a_prompt_is_answered_before_the_text_goes_on() {
    let home = Home::new();
    let mut held = PipedSession::start(&home, &["--agent", "demo"]);
    held.send("x = 1\n.hello\n");
    held.says("# Demo answer");
    held.send("");
    held.input = None;
    let rest: Vec<String> = held.lines.iter().collect();
    assert!(rest.iter().any(|line| line.contains("hello")), "{rest:?}");
    assert_eq!(held.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_long_text_is_cut_in_linear_time() {
    let mut text = String::from("x = [\n");
    for number in 0..300_000 {
        text.push_str(&format!("    {number},\n"));
    }
    text.push_str("]\nlen(x)\n");
    let ran = Home::new().run(&["--agent", "demo"], &text);
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, "300000\n"));
}
