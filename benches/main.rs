//! Timings against the peers: `cargo bench` prints one table, `cargo bench -- NAME` the rows of one bench.
//!
//! In: the release binary, the peers of `tests/support/peers.rs`. Out: a row for each figure of the contract: our
//! median, the peer's, their ratio, what it must be, how often it was measured.
//!
//! Invariants: a peer is measured in the same run, in turn with ours (A B A B), so a busy machine slows both; peers
//! are byte-compiled; what cannot be measured says why and stops nothing; each bench has a process of its own, since a
//! process that has become large starts others slowly.
//!
//! `cargo bench -- counts` counts instructions instead, and fails when a path takes more than it did (`counts.rs`).
//! `cargo bench -- growth` measures each path at 1, 10 and 100 times its work, and fails when one is steep
//! (`growth.rs`).
//!
//! Absent on purpose: a verdict on times as exit code. They are read by people; the tests hold what must hold.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the table is the product"
)]
#![allow(unreachable_pub, reason = "a bench binary has no outside")]

mod ahead;
mod back_ends;
mod busy;
mod completion;
mod counts;
mod dialog;
mod first_result;
mod growth;
mod kernel;
mod keys;
mod lines;
mod markdown;
mod mcp;
mod memory;
mod notebook;
mod output;
mod round_trip;
mod saving;
mod sessions;
mod shell;
mod slow_line;
mod start;
mod steps;
mod streaming;
#[path = "../tests/support/mod.rs"]
mod support;
mod table;
mod turn;

use std::process::Command;

use table::Row;

/// Homes lie on the disk, whose time counts.
const HOMES_IN_MEMORY: Option<&str> = None;

/// Set in the environment of a process that measures one bench of several: it prints no heading.
const PART: &str = "IPYCODEX_BENCH_PART";

/// Name on the command line, and what it measures.
type Bench = (&'static str, fn() -> Vec<Row>);

const BENCHES: [Bench; 21] = [
    ("start", start::rows),
    ("first_result", first_result::rows),
    ("round_trip", round_trip::rows),
    ("back_ends", back_ends::rows),
    ("steps", steps::rows),
    ("completion", completion::rows),
    ("output", output::rows),
    ("streaming", streaming::rows),
    ("turn", turn::rows),
    ("shell", shell::rows),
    ("dialog", dialog::rows),
    ("mcp", mcp::rows),
    ("kernel", kernel::rows),
    ("save", saving::rows),
    ("notebook", notebook::rows),
    ("keys", keys::rows),
    ("ahead", ahead::rows),
    ("slow_line", slow_line::rows),
    ("busy", busy::rows),
    ("memory", memory::rows),
    ("sessions", sessions::rows),
];

fn main() {
    if std::env::var_os(dialog::CHILD).is_some() {
        return dialog::measure();
    }
    if std::env::var_os(counts::CHILD).is_some() {
        return counts::repeat();
    }
    if std::env::var_os(slow_line::CHILD).is_some() {
        return slow_line::carry();
    }
    if let Some(file) = std::env::var_os(notebook::CHILD) {
        return notebook::copy(file.as_ref()).expect("the bench made the file");
    }
    // Cargo adds `--bench`; whatever is no option is a name.
    let names: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with('-'))
        .collect();
    // Has no peer: a table of its own, only when named.
    if names == ["markdown"] {
        return markdown::run();
    }
    // Instructions instead of times: a table of its own, and a verdict.
    if names == ["counts"] {
        std::process::exit(counts::run(std::env::args().any(|word| word == "--update")));
    }
    // How paths grow: the same.
    if names.first().is_some_and(|name| name == "growth") {
        std::process::exit(growth::run(&names[1..]));
    }
    let is_part = std::env::var_os(PART).is_some();
    let is_named = |bench: &str, name: &str| bench == name || !is_part && bench.contains(name);
    let wanted = |bench: &str| names.is_empty() || names.iter().any(|name| is_named(bench, name));
    let chosen: Vec<&Bench> = BENCHES.iter().filter(|(name, _)| wanted(name)).collect();
    if chosen.is_empty() {
        eprintln!(
            "no bench of that name; there are {}",
            BENCHES.map(|(name, _)| name).join(", ")
        );
        std::process::exit(2);
    }
    if !is_part {
        table::print_heading();
    }
    match chosen[..] {
        [(name, rows)] => rows().iter().for_each(|row| table::print(name, row)),
        _ => chosen.iter().for_each(|(name, _)| run_apart(name)),
    }
}

fn run_apart(bench: &str) {
    let program = std::env::current_exe().expect("this program has a path");
    let status = Command::new(program).arg(bench).env(PART, "1").status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => println!("{bench:12} not measured: {status}"),
        Err(error) => println!("{bench:12} not measured: {error}"),
    }
}
