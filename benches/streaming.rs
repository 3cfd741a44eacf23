//! An answer streamed in deltas of 4 characters: CPU time, against Rich's `Live`.
//!
//! Rich redraws everything for every delta, so its cost is quadratic: it is measured at 1 KB and 4 KB. At 10 KB it
//! takes minutes; `IPYCODEX_BENCH_LONG=1` has it measured.

use crate::lines::LinePeer;
use crate::support::home::Home;
use crate::support::peers;
use crate::table::{Figures, Row, Target, alone};

pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(python) = peers::python() {
        let home = Home::new();
        let long = std::env::var_os("IPYCODEX_BENCH_LONG").is_some();
        let sizes: &[u32] = if long { &[1, 4, 10] } else { &[1, 4] };
        for kilobytes in sizes {
            let size = (kilobytes * 1000).to_string();
            let peer: Figures = LinePeer::start(&home, &python, "rich_live.py", &[&size])
                .and_then(|mut rich| alone(1, || rich.measure()));
            rows.push(Row {
                what: format!("{kilobytes} KB of markdown in deltas, CPU"),
                unit: "ms",
                ours: Err("the renderer is not connected to this bench".into()),
                peer_name: "Rich Live",
                peer,
                target: Target::TimesPeerAtMost(0.001),
            });
        }
    }
    rows
}
