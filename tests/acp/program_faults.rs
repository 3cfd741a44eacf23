//! Faults of an agent of the protocol under the real program: each ends in bounded time, is said, and the next input
//! works.

use serde_json::json;

use super::harness::fake;
use crate::codex::faults::python;
use crate::support::home::Home;
use crate::support::ways::Outcome::{Fails, FailsEarly, Stops, Works};
use crate::support::ways::{Case, Outcome, both_ways};

const FINE: Outcome = Works("fine");

/// What `tests/fakes/acp.py` plays: at its start, and under the prompt; what comes of it.
#[rustfmt::skip]
const FAULTS: &[(&str, &str, Outcome)] = &[
    // It ends, in each state.
    ("gone at once", ".fine", FailsEarly(&["`fake` ended", "exit status: 1): no home"], "fine")),
    ("exit at initialize", ".fine", FailsEarly(&["`fake` ended", "exit status: 3"], "fine")),
    ("exit at session/new", ".fine", Fails(&["`fake` ended", "exit status: 3"])),
    ("exit at session/prompt", ".fine", Fails(&["`fake` ended", "exit status: 3"])),
    ("", ".begun die", Fails(&["begun", "`fake` ended", "Traceback: why"])),
    ("", ".die-asking", Fails(&["`fake` ended", "exit status: 3"])),
    ("", ".quit-loudly", Fails(&["`fake` ended", "exit status: 9): why"])),
    ("", ".mid-thought", Fails(&["`fake` ended", "exit status: 3"])),
    ("", ".mid-tool", Fails(&["`fake` ended", "exit status: 3"])),
    ("", ".close-output", Fails(&["begun", "`fake` ended", "signal: 15"])),
    ("", ".keep-the-pipe", Fails(&["begun", "`fake` ended", "exit status: 7"])),
    ("", ".at-a-cancel", Stops("begun")),
    // It says nothing, or does not hear.
    ("silence at initialize", ".fine", Fails(&["`fake` did not answer `initialize` within 3 s"])),
    ("silence at session/new", ".fine", Fails(&["`fake` did not answer `session/new` within 3 s"])),
    ("", ".deaf", Stops("begun")),
    ("", ".slow", Stops("begun")),
    ("", ".past-a-cancel", Stops("begun")),
    ("", ".stop", Stops("begun")),
    // It answers nonsense.
    ("null at initialize", ".fine", FailsEarly(&["`fake` speaks an unknown version"], "fine")),
    ("number at initialize", ".fine", FailsEarly(&["`fake`"], "fine")),
    ("error at initialize", ".fine", FailsEarly(&["`fake` refused `initialize`: \"no\""], "fine")),
    ("null at session/new", ".fine", Fails(&["`fake` to `session/new` was not understood"])),
    ("number at session/new", ".fine", Fails(&["`fake` to `session/new` was not understood"])),
    ("error at session/new", ".fine", Fails(&["`fake` refused `session/new`: \"no\""])),
    ("error at session/prompt", ".fine", Fails(&["`fake` refused `session/prompt`: \"no\""])),
    ("", ".fail", Fails(&["`fake` refused `session/prompt`", "the model is away"])),
    ("", ".fine null-end", Works("fine")),
    ("", ".fine number-end", Works("fine")),
    ("", ".fine odd-end", Works("fine")),
    ("", ".fine empty-end", Works("fine")),
    ("", ".fine typed-end", Works("fine")),
    // What it says is out of place, or too much.
    ("stdout logs", ".fine", FINE),
    ("", ".noise invented fine", FINE),
    ("", ".updates fine", FINE),
    ("", ".permissions fine", FINE),
    ("", ".nothing fine", FINE),
    ("", ".withdraw fine", FINE),
    ("", ".files fine", FINE),
    ("", ".terminals fine", FINE),
    ("", ".elicitations fine", FINE),
    ("", ".ids fine", FINE),
    ("", ".unasked fine", FINE),
    ("", ".calls fine", FINE),
    ("", ".thoughts fine", FINE),
    ("", ".stderr-flood fine", FINE),
    ("", ".large", Works("xxxxxx")),
];

fn home(fault: &str) -> Home {
    let words = json!([fake("acp.py"), fault]);
    let agent = json!({"command": python(), "args": words});
    let home = Home::new();
    let settings = json!({"agents": {"fake": agent}, "agent_start": 3});
    home.write_config("config.json", settings.to_string());
    home
}

/// Each of so many faults, on a terminal and through a pipe.
pub fn each_way(count: u32) -> String {
    let name = |(fault, prompt, _): &(&str, &str, Outcome)| format!("{fault} {prompt}");
    both_ways(FAULTS, count, name, |(fault, prompt, outcome)| {
        let case = Case {
            arguments: &["--agent", "fake"],
            first: prompt,
            outcome: *outcome,
            second: (".well", "well"),
        };
        (home(fault), case)
    })
}
