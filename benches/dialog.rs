//! The record at size: the conversation of 10,000 cells and 1,000 prompts, and a start on a million inputs.
//!
//! Each measurement has a process of its own (this program again, told by [`CHILD`]), since CPU time and peak memory
//! belong to processes. There is no peer: the contract names figures.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ipycodex::record::{RecordHandle, RecordOptions, SessionSpec, open};
use rusqlite::{Connection, params};

use crate::table::{Figures, Row, Target, in_turn};

/// Names the measurement a child makes, and its file.
pub const CHILD: &str = "IPYCODEX_BENCH_DIALOG";

const RUNS: usize = 9;

/// One measurement, in a process of its own.
pub fn measure() {
    let what = std::env::var(CHILD).unwrap_or_default();
    println!("{}", child(&what));
}

pub fn rows() -> Vec<Row> {
    let directory = tempfile::tempdir().expect("a temporary folder can be made");
    let turn = directory.path().join("turn.sqlite");
    let million = directory.path().join("million.sqlite");
    fill(&turn, 1, 10_000, 1_000);
    fill(&million, 1_000, 1_000, 0);
    let row = |what: &str, unit: &'static str, measure: &str, path: &Path, most: f64| Row {
        what: what.into(),
        unit,
        ours: measured(measure, path),
        peer: None,
        target: Target::AtMost(most),
    };
    vec![
        row("10,000 cells, 1,000 prompts: CPU", "ms", "cpu", &turn, 40.0),
        row(
            "10,000 cells, 1,000 prompts: peak",
            "MB",
            "memory",
            &turn,
            64.0,
        ),
        row(
            "a million inputs: session known",
            "ms",
            "session",
            &million,
            10.0,
        ),
        row(
            "a million inputs: recall filled",
            "ms",
            "recall",
            &million,
            10.0,
        ),
        row(
            "a million inputs: list of sessions",
            "ms",
            "list",
            &million,
            10.0,
        ),
    ]
}

fn measured(what: &str, path: &Path) -> Figures {
    let mut once = || {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let output = Command::new(program)
            .arg("dialog")
            .env(CHILD, what)
            .env("IPYCODEX_BENCH_FILE", path)
            .output()
            .map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout);
        let figure = said.lines().last().unwrap_or_default();
        figure.parse().map_err(|_| {
            format!(
                "it said {figure:?} {}",
                String::from_utf8_lossy(&output.stderr)
            )
        })
    };
    let [figures] = in_turn(RUNS, [&mut once]);
    figures
}

/// Makes a file with so many sessions of so many cells, and prompts spread over each.
pub fn fill(path: &Path, sessions: i64, cells: u32, prompts: u32) {
    let (record, mut reports) = begin(path, None);
    wait(record.flush());
    record.close();
    while wait(reports.recv()).is_some() {}
    let mut db = Connection::open(path).expect("just made");
    let change = db.transaction().expect("nobody else has it");
    for session in 1..=sessions {
        change
            .execute(
                "INSERT OR REPLACE INTO sessions VALUES (?1, '2026-11-21 10:00:00.000000', NULL, NULL, \
                 '{\"cwd\":\"/w\"}')",
                [session],
            )
            .expect("our table");
        let every = cells.checked_div(prompts).unwrap_or(u32::MAX);
        for line in 1..=cells {
            let source = format!("result_{line} = compute(x={line}, y=[1, 2, 3])");
            change
                .prepare_cached("INSERT INTO history VALUES (?1, ?2, ?3, ?3)")
                .and_then(|mut insert| insert.execute(params![session, line, source]))
                .expect("our table");
            if prompts > 0 {
                change
                    .prepare_cached("INSERT INTO output_history VALUES (?1, ?2, ?3)")
                    .and_then(|mut insert| {
                        insert.execute(params![session, line, "0.123456 ".repeat(20)])
                    })
                    .expect("our table");
            }
            if line % every == 0 {
                change
                    .prepare_cached("INSERT INTO ai_prompts (session, prompt, response, history_line) VALUES (?1, ?2, \
                                     ?3, ?4)")
                    .and_then(|mut insert| insert.execute(params![session, "what is it?", "It is so. ".repeat(100),
                        line]))
                    .expect("our table");
            }
        }
    }
    change.commit().expect("there is room");
}

/// Opens it.
pub fn begin(
    path: &Path,
    resume: Option<i64>,
) -> (
    RecordHandle,
    tokio::sync::mpsc::UnboundedReceiver<ipycodex::text::report::Report>,
) {
    open(
        RecordOptions {
            path: path.to_owned(),
            record: true,
            named: false,
            leave_log: false,
        },
        SessionSpec {
            cwd: "/w".into(),
            resume,
            fork: None,
            provider: "codex".into(),
            once: false,
        },
    )
}

fn child(what: &str) -> f64 {
    let path = PathBuf::from(std::env::var_os("IPYCODEX_BENCH_FILE").expect("the parent sets it"));
    let resume = matches!(what, "cpu" | "memory").then_some(1);
    let started = Instant::now();
    let (record, _reports) = begin(&path, resume);
    let ms = |elapsed: Duration| elapsed.as_secs_f64() * 1e3;
    match what {
        "session" => {
            let start = wait(record.session()).expect("a fresh one");
            assert!(start.number > 1_000, "{start:?}");
            ms(started.elapsed())
        }
        "recall" => {
            while record.recall().is_empty() {
                std::thread::yield_now();
            }
            ms(started.elapsed())
        }
        "list" => {
            wait(record.flush());
            let started = Instant::now();
            assert_eq!(wait(record.sessions("/w".into(), false)).len(), 20);
            ms(started.elapsed())
        }
        _ => {
            wait(record.session()).expect("it is there");
            let before = cpu_ms();
            let dialog = wait(record.dialog());
            let (exchanges, context) = (dialog.exchanges(), dialog.next_context());
            assert_eq!((exchanges.len(), dialog.cells.len()), (1_000, 10_000));
            std::hint::black_box(context);
            if what == "cpu" {
                cpu_ms() - before
            } else {
                peak_mb()
            }
        }
    }
}

/// CPU time of this process so far, all threads.
fn cpu_ms() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let spent =
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("schedstat")).ok());
    let ns = spent.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok());
    ns.sum::<f64>() / 1e6
}

fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kb: Option<f64> = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    kb.map_or(f64::NAN, |kb| kb / 1024.0)
}

/// Waits for an answer of the record.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(future)
}
