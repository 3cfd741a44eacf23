//! From spawn to a prompt that takes keys, on a pseudo-terminal: the prompt is drawn and a typed key stands behind it.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::Pty;
use crate::table::{Row, Target, in_turn};

const RUNS: usize = 15;

pub fn rows() -> Vec<Row> {
    let Some(python) = peers::python() else {
        return Vec::new();
    };
    let home = Home::new();
    home.install("python3", &python);
    let ours = Path::new(env!("CARGO_BIN_EXE_ipycodex"));
    let ipython = python.with_file_name("ipython");
    let measure_ours = || Ok(prompt(&home, ours, &[]));
    let measure_peer = || Ok(prompt(&home, &ipython, &["--no-banner"]));
    // First starts make profiles, histories and caches; nobody waits for them twice.
    let _ = in_turn(1, measure_ours, measure_peer);
    let (ours, peer) = in_turn(RUNS, measure_ours, measure_peer);
    vec![Row {
        what: "start to a prompt that takes keys".into(),
        unit: "ms",
        ours,
        peer_name: "ipython",
        peer,
        target: Target::TimesPeerAtMost(1.0 / 40.0),
    }]
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
