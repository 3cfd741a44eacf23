//! An answer streamed in deltas of 4 characters, drawn after each: CPU time and bytes, against Rich's `Live`.
//!
//! Both sides get the same text (`tests/data/markdown/typical.md`, over and over) and a terminal of 80 x 24, and both
//! count the CPU time of their process or thread. Rich draws everything again for every delta, so its cost is
//! quadratic: it is measured at 1 KB and 4 KB. At 10 KB, for which the target was set, it takes minutes:
//! `IPYCODEX_BENCH_LONG=1` has it measured. Ours is linear, so the same target at 4 KB is 2.5 times as high.

use ipycodex::markdown::warm_up;

use crate::lines::LinePeer;
use crate::markdown::{Played, play, rendered};
use crate::support::home::Home;
use crate::support::peers;
use crate::table::{Figures, Row, Target, in_turn};

const RUNS: usize = 5;

/// The clock of CPU time ticks in milliseconds.
const MANY: u32 = 50;

const TYPICAL: &str = include_str!("../tests/data/markdown/typical.md");

pub fn rows() -> Vec<Row> {
    warm_up();
    // The first answer loads what colours code.
    play(TYPICAL, 1);
    let long = std::env::var_os("IPYCODEX_BENCH_LONG").is_some();
    let ten = if long {
        against_rich(10, 1)
    } else {
        let [ours] = in_turn(RUNS, [&mut || Ok(small(&text(10)))]);
        let why = "takes minutes; IPYCODEX_BENCH_LONG=1 has it measured";
        row(10, ours, Err(why.into()))
    };
    let mut rows = vec![against_rich(1, 3), against_rich(4, 1), ten];
    rows[0].target = Target::None;
    rows.extend(alone());
    rows
}

fn against_rich(kilobytes: usize, runs: usize) -> Row {
    let text = text(kilobytes);
    let mut ours = || Ok(small(&text));
    let started = peers::ipython_environment()
        .clone()
        .and_then(|python| start(&python, kilobytes));
    let (ours, peer): (Figures, Figures) = match started {
        Ok(mut rich) => {
            let [ours, peer] = in_turn(runs, [&mut ours, &mut || rich.measure()]);
            (ours, peer)
        }
        Err(why) => {
            let [ours] = in_turn(runs, [&mut ours]);
            (ours, Err(why))
        }
    };
    row(kilobytes, ours, peer)
}

/// The CPU time in ms of an answer that is too short for the clock: the mean of many.
fn small(text: &str) -> f64 {
    (0..MANY).map(|_| milliseconds(&play(text, 1))).sum::<f64>() / f64::from(MANY)
}

fn row(kilobytes: usize, ours: Figures, peer: Figures) -> Row {
    Row {
        what: format!("{kilobytes} KB of markdown in deltas, CPU"),
        unit: "ms",
        ours,
        peer: Some(("Rich Live", peer)),
        target: Target::TimesPeerAtMost(0.01 / kilobytes as f64),
    }
}

fn start(python: &std::path::Path, kilobytes: usize) -> Result<LinePeer, String> {
    let home = Home::new();
    let size = (kilobytes * 1000).to_string();
    let sample = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/markdown/typical.md"
    );
    LinePeer::start(&home, python, "rich_live.py", &[sample, &size])
}

/// What has no peer: the cost of a delta, that it does not grow, and the bytes written.
fn alone() -> Vec<Row> {
    let bound = |what: String, unit, ours: Vec<f64>, most| Row {
        what,
        unit,
        ours: Ok(ours),
        peer: None,
        target: Target::AtMost(most),
    };
    let sizes = [10, 100, 400];
    let texts = sizes.map(text);
    // In turn, so that what else the machine does meets all sizes.
    let rounds: Vec<[Played; 3]> = (0..RUNS)
        .map(|_| std::array::from_fn(|size| play(&texts[size], 1)))
        .collect();
    let mut rows = Vec::new();
    for (size, kilobytes) in sizes.iter().enumerate() {
        let per_delta = rounds
            .iter()
            .map(|round| milliseconds(&round[size]) * 1e3 / round[size].deltas as f64);
        rows.push(bound(
            format!("{kilobytes} KB in deltas, CPU for each"),
            "us",
            per_delta.collect(),
            20.0,
        ));
    }
    let growth = rounds
        .iter()
        .map(|[_, hundred, four_hundred]| milliseconds(four_hundred) / milliseconds(hundred));
    rows.push(bound(
        "400 KB over 100 KB, CPU".into(),
        "x",
        growth.collect(),
        4.4,
    ));
    let (plain, coloured) = rendered(&texts[1]);
    let written = rounds[0][1].bytes as f64;
    rows.push(bound(
        "100 KB: bytes written / text in colour".into(),
        "x",
        vec![written / coloured as f64],
        3.0,
    ));
    let mut colourless = bound(
        "100 KB: bytes written / text without colours".into(),
        "x",
        vec![written / plain as f64],
        3.0,
    );
    colourless.target = Target::None;
    rows.push(colourless);
    rows
}

fn text(kilobytes: usize) -> String {
    let size = kilobytes * 1000;
    let repeated = TYPICAL.repeat(size / TYPICAL.len() + 1);
    repeated.chars().take(size).collect()
}

fn milliseconds(played: &Played) -> f64 {
    played.cpu.as_secs_f64() * 1e3
}
