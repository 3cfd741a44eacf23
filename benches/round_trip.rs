//! `1+1` there and back, warm.

use crate::lines::LinePeer;
use crate::support::home::Home;
use crate::support::peers;
use crate::table::{Figures, Row, Target, in_turn};

/// Each is the median of many round trips.
const RUNS: usize = 15;

pub fn rows() -> Vec<Row> {
    let Some(python) = peers::python() else {
        return Vec::new();
    };
    let home = Home::new();
    let against = |mode: &str| -> (Figures, Figures) {
        let ours = || Err("the runtime is not connected to this bench".to_owned());
        match LinePeer::start(&home, &python, "round_trip.py", &[mode]) {
            Ok(mut peer) => in_turn(RUNS, ours, || peer.measure()),
            Err(why) => (Err("nothing to compare with".into()), Err(why)),
        }
    };
    let row = |what: &str, peer_name, (ours, peer), target| Row {
        what: what.into(),
        unit: "ms",
        ours,
        peer_name,
        peer,
        target,
    };
    vec![
        row(
            "1+1 warm, built-in engine",
            "ipykernel",
            against("kernel"),
            Target::TimesPeerAtMost(0.2),
        ),
        row(
            "1+1 warm, with IPython",
            "IPython in process",
            against("in-process"),
            Target::TimesPeerAtMost(1.3),
        ),
    ]
}
