//! From spawn to a prompt that takes keys, on a pseudo-terminal: the prompt is drawn and a typed key stands behind it.
//!
//! Ours twice: with the `python3` on the path (without IPython), and with the environment that has IPython; the
//! interpreter starts behind the prompt in both. And with a profile of IPython that takes two seconds, which the prompt
//! does not wait for. For scale, a shell script that prints the prompt: what the pseudo-terminal and this bench take.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::Pty;
use crate::table::{Figures, Row, Target, in_turn};

const RUNS: usize = 15;

/// With a profile over without, in ms.
const UNCHANGED: f64 = 1.15;

/// `ipython` in ms over ours in ms.
const FASTER: f64 = 40.0;

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let ours = Path::new(env!("CARGO_BIN_EXE_ipycodex"));
    let environment = peers::ipython_environment();
    let with_environment = |measure: &dyn Fn(&Path) -> f64| match environment {
        Ok(python) => Ok(measure(python)),
        Err(why) => Err(why.clone()),
    };
    let mut plain = || Ok(prompt(&home, ours, &[]));
    let mut with_ipython = || {
        with_environment(&|python| {
            let interpreter = python.to_str().expect("paths of peers are UTF-8");
            prompt(&home, ours, &["--python", interpreter])
        })
    };
    let slow_home = Home::new();
    let startup = slow_home.path().join("ipython/profile_default/startup");
    std::fs::create_dir_all(&startup).expect("a folder of our own");
    std::fs::write(startup.join("slow.py"), "import time; time.sleep(2)\n")
        .expect("a file of our own");
    let mut with_profile = || {
        with_environment(&|python| {
            let interpreter = python.to_str().expect("paths of peers are UTF-8");
            prompt(&slow_home, ours, &["--python", interpreter])
        })
    };
    let mut ipython = || {
        with_environment(&|python| {
            prompt(&home, &python.with_file_name("ipython"), &["--no-banner"])
        })
    };
    let script = ["-c", "printf 'In [1]: '; exec cat"];
    let mut least = || Ok(prompt(&home, Path::new("/bin/sh"), &script));
    // First starts make profiles, histories and caches; nobody waits for them twice.
    let _ = in_turn(
        1,
        [
            &mut plain,
            &mut with_ipython,
            &mut with_profile,
            &mut ipython,
            &mut least,
        ],
    );
    let [plain, with_ipython, with_profile, ipython, least] = in_turn(
        RUNS,
        [
            &mut plain,
            &mut with_ipython,
            &mut with_profile,
            &mut ipython,
            &mut least,
        ],
    );
    let least = Row {
        what: "for scale: a shell script that prints the prompt".into(),
        unit: "ms",
        ours: least,
        peer: None,
        target: Target::None,
    };
    let unchanged = Row {
        what: "the same, with a profile of 2 s".into(),
        unit: "ms",
        ours: with_profile,
        peer: Some(("without it", with_ipython.clone())),
        target: Target::TimesPeerAtMost(UNCHANGED),
    };
    let row = |what: &str, ours: Figures| Row {
        what: what.into(),
        unit: "ms",
        ours,
        peer: Some(("ipython", ipython.clone())),
        target: Target::TimesPeerAtMost(1.0 / FASTER),
    };
    vec![
        row("start to a prompt that takes keys", plain),
        row("the same, the interpreter has IPython", with_ipython),
        unchanged,
        least,
    ]
}

/// In ms.
fn prompt(home: &Home, program: &Path, arguments: &[&str]) -> f64 {
    let begin = Instant::now();
    let mut pty = Pty::spawn_program(home, program, arguments, (100, 30));
    pty.patience = Duration::from_secs(20);
    pty.wait_for("In [1]:");
    pty.send("q");
    pty.wait_until("a key behind the prompt", |screen| {
        let text = screen.contents();
        text.lines().any(|line| {
            line.split_once("In [1]:")
                .is_some_and(|(_, typed)| typed.contains('q'))
        })
    });
    begin.elapsed().as_secs_f64() * 1e3
}
