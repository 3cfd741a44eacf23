//! Faults of an agent under the real program: each ends in bounded time, is said, and the next input works.

use std::path::Path;

use super::quoted;
use crate::support::home::Home;
use crate::support::ways::Outcome::{Fails, FailsEarly, Stops, Works};
use crate::support::ways::{Case, Outcome, both_ways};

const FINE: Outcome = Works("fine");

/// What `tests/fakes/agent.py` plays, and what comes of it.
#[rustfmt::skip]
const FAULTS: &[(&str, Outcome)] = &[
    // It ends, in each state.
    ("exit before hello", FailsEarly(&["`codex` ended", "exit status: 3): cannot find my home"], "fine")),
    ("help text and exit", FailsEarly(&["`codex` ended", "printed 2 lines"], "fine")),
    ("exit at initialize", FailsEarly(&["`codex` ended", "exit status: 0"], "fine")),
    ("exit at account/read", FailsEarly(&["`codex` ended", "exit status: 0"], "fine")),
    ("exit at thread/start", Fails(&["`codex` ended", "exit status: 0"])),
    ("exit at turn/start", Fails(&["`codex` ended", "exit status: 0"])),
    ("exit mid word", Fails(&["par", "`codex` ended", "exit status: 0"])),
    ("exit mid tool", Fails(&["`codex` ended", "exit status: 4"])),
    ("exit mid reasoning", Fails(&["`codex` ended", "exit status: 0"])),
    ("exit mid command", Fails(&["`codex` ended", "exit status: 5"])),
    ("exit after a tool", Fails(&["`codex` ended", "exit status: 0"])),
    ("exit with 255 and a loud end", Fails(&["`codex` ended", "exit status: 255): why"])),
    ("killed mid word", Fails(&["par", "`codex` ended", "signal: 9"])),
    ("abort mid word", Fails(&["par", "`codex` ended", "signal: 6"])),
    ("terminated mid word", Fails(&["par", "`codex` ended", "signal: 15"])),
    ("stdout closed", Fails(&["par", "`codex` ended", "signal: 15"])),
    ("a child keeps the pipe", Fails(&["par", "`codex` ended", "exit status: 7"])),
    ("a child keeps talking", Fails(&["par", "`codex` ended", "exit status: 7"])),
    ("an exit with a question open", Fails(&["`codex` ended", "exit status: 0"])),
    ("exit at the interrupt", Stops("par")),
    ("exit at the end", FINE),
    ("killed after the end", FINE),
    ("input closed after the end", FINE),
    // It says nothing, or does not hear.
    ("deaf", Fails(&["`codex` did not answer `initialize` within 30 s"])),
    ("silent initialize", Fails(&["`codex` did not answer `initialize` within 30 s"])),
    ("silent account/read", Fails(&["`codex` did not answer `account/read` within 60 s"])),
    ("silent thread/start", Fails(&["`codex` did not answer `thread/start` within 60 s"])),
    ("silent turn/start", Fails(&["`codex` did not answer `turn/start` within 60 s"])),
    ("deaf to interrupt", Stops("par")),
    ("the interrupt is refused", Stops("par")),
    ("the interrupt changes nothing", Stops("par")),
    ("stopped mid word", Stops("par")),
    ("another program takes over", Stops("par")),
    ("an error and no end", Stops("par")),
    // It answers nonsense.
    ("error of initialize", FailsEarly(&["`codex` refused `initialize`: \"no\""], "fine")),
    ("error of thread/start", Fails(&["`codex` refused `thread/start`"])),
    ("error of turn/start", Fails(&["`codex` refused `turn/start`"])),
    ("null result of thread/start", Fails(&["`codex` to `thread/start` was not understood"])),
    ("null result of turn/start", Fails(&["`codex` to `turn/start` was not understood"])),
    ("number for id of thread/start", Fails(&["`codex` to `thread/start` was not understood"])),
    ("number for id of turn/start", Fails(&["`codex` to `turn/start` was not understood"])),
    ("null result of initialize", FINE),
    ("null result of account/read", FINE),
    ("error of account/read", FINE),
    ("failed without reason", Fails(&["no reason was given"])),
    ("unknown status", Fails(&["no reason was given"])),
    ("error info of another shape", Fails(&["a b"])),
    // What it says is out of place.
    ("junk lines", FINE),
    ("partial line then pause", FINE),
    ("byte by byte", FINE),
    ("duplicate response", FINE),
    ("duplicate request", Works("tool `weather` is not defined")),
    ("unknown request", FINE),
    ("request without params", FINE),
    ("request of another turn", FINE),
    ("malformed approvals", FINE),
    ("approvals under one id", Works("decline")),
    ("a question is withdrawn", FINE),
    ("the turn ends with a question open", FINE),
    ("many questions and the end", FINE),
    ("a command of 1 MB", Works("decline")),
    ("bad text in a command", Works("decline")),
    ("unknown notifications", FINE),
    ("wrong types", FINE),
    ("null fields", FINE),
    ("items of every shape", FINE),
    ("tools of every shape", FINE),
    ("plans of every shape", FINE),
    ("numbers out of range", FINE),
    ("ids of every type", FINE),
    ("both outcomes", FINE),
    ("keys twice", FINE),
    ("other turns end", FINE),
    ("not streamed", FINE),
    ("items never end", FINE),
    ("end without id", FINE),
    ("end before the answer", FINE),
    ("the turn ends twice", FINE),
    ("words after the end", FINE),
    ("a question after the end", FINE),
    ("retry is progress", FINE),
    ("restarted text", FINE),
    ("stderr closed", FINE),
    // Its bytes are.
    ("NUL bytes", FINE),
    ("CRLF", FINE),
    ("deep nesting", FINE),
    ("other encodings", FINE),
    ("control characters", FINE),
    ("invalid UTF-8", Works("fi")),
    ("lone surrogate", Works("fi")),
    // It is too much.
    ("64 MB line", Works("xxxxxx")),
    ("a line of 600 MB", FINE),
    ("100,000 deltas", Works("ab ab")),
    ("3,000 messages", FINE),
    ("20,000 thoughts", FINE),
    ("3,000 parts of thoughts", FINE),
    ("35 MB of a command", FINE),
    ("2,000 warnings", FINE),
    ("200 tools at once", FINE),
    ("200 MB of junk", FINE),
    ("100 MB of blank lines", FINE),
    ("stderr flood", FINE),
];

fn home(fault: &str) -> Home {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes/agent.py");
    let command = format!("python3 {} '{fault}'", quoted(&script));
    Home::with(&[("IPYAI_CODEX_CMD", command.as_str())])
}

/// Each of so many faults, on a terminal and through a pipe.
pub fn each_way(count: u32) -> String {
    let name = |(fault, _): &(&str, Outcome)| (*fault).to_owned();
    both_ways(FAULTS, count, name, |(fault, outcome)| {
        let case = Case {
            arguments: &[],
            first: ".first?",
            outcome: *outcome,
            second: (".second?", "fine"),
        };
        (home(fault), case)
    })
}
