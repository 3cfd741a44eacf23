//! Completion there and back, warm: from the request handed to our runtime to its answer, both engines, against
//! IPython's own completer in its own process (which crosses no pipe, and tells neither kinds nor signatures).

use ipycodex::runtime::{RuntimeReply, RuntimeRequest};
use ipycodex::text::offset::CodePoints;

use crate::lines::LinePeer;
use crate::round_trip::{Lazy, Ours, ROUND_TRIPS};
use crate::support::home::Home;
use crate::support::peers;
use crate::table::{Row, Target, in_turn, median};

const RUNS: usize = 15;

/// Asked first, so that what is looked into is loaded.
const SETTING: &str = "import os, json; figure_one = figure_two = 1";

const TEXTS: [&str; 3] = ["os.pa", "json.du", "figu"];

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let plain = peers::plain_python();
    let environment = || peers::ipython_environment().clone();
    let prepared = |ours: Result<Ours, String>| {
        let mut ours = ours?;
        ours.run(SETTING)?;
        Ok(ours)
    };
    let mut built_in = Lazy::new(|| prepared(Ours::start(&home, &plain, true)));
    let mut with_ipython = Lazy::new(|| prepared(Ours::start(&home, &environment()?, false)));
    let mut peer = Lazy::new(|| LinePeer::start(&home, &environment()?, "completion.py", &[]));
    let mut rows = Vec::new();
    for text in TEXTS {
        let [built_in, with_ipython, peer] = in_turn(
            RUNS,
            [
                &mut || measure(built_in.get()?, text),
                &mut || measure(with_ipython.get()?, text),
                &mut || peer.get()?.measure_line(text),
            ],
        );
        for (engine, ours) in [
            ("built-in engine", built_in),
            ("with IPython", with_ipython),
        ] {
            rows.push(Row {
                what: format!("complete `{text}` warm, {engine}"),
                unit: "ms",
                ours,
                peer: Some(("IPython in process", peer.clone())),
                target: Target::None,
            });
        }
    }
    rows
}

fn measure(ours: &mut Ours, text: &str) -> Result<f64, String> {
    let times: Result<Vec<f64>, String> = (0..ROUND_TRIPS).map(|_| once(ours, text)).collect();
    Ok(median(&times?).expect("there is more than none"))
}

/// In ms.
pub(crate) fn once(ours: &mut Ours, text: &str) -> Result<f64, String> {
    let (elapsed, answer) = ours.ask(RuntimeRequest::Complete {
        code: text.into(),
        position: CodePoints(text.len()),
        deep: false,
    })?;
    match answer {
        RuntimeReply::Completions(found) if found.len() > 1 => Ok(elapsed),
        answer => Err(format!("{text} gave {answer:?}")),
    }
}
