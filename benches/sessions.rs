//! A record of a million inputs: the list of sessions, a search, the picker, a look back, and a start beside it.
//!
//! The file is that of somebody who used the shell for years: 20,000 sessions of 50 inputs in 200 directories, one in
//! ten with a prompt. It is made once a run, in a home of its own; a shell then catches up with it as it does with what
//! IPython wrote, and that is timed. The look back is for an input of the first session, in another directory, that no
//! other is like; the peer is SQLite's own scan for it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::table::{Row, Target, in_turn};

const RUNS: usize = 11;

/// What is looked back for.
const OLDEST: &str = "zebra crossing = 1";

/// ms: the contract's bound for first rows.
const FIRST_ROWS: f64 = 10.0;

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    fill(&home);
    let indexed = caught_up(&home);
    let mut version = || first_line(&home, &["--version"]);
    let mut listed = || first_line(&home, &["sessions"]);
    let mut all = || first_line(&home, &["sessions", "--all"]);
    let mut found = || first_line(&home, &["search", "--all", "value_7"]);
    let mut here = || first_line(&home, &["search", "value_7"]);
    let mut nowhere = || ended(&home, &["search", "--all", "nowhere to be found"]);
    let mut picked = || picker(&home);
    let shell = Shell::start(&home);
    let mut back = || shell.look_back();
    let mut up = || shell.up();
    let db = Connection::open(home.history()).expect("it is there");
    let mut scan = || scanned(&db);
    let [
        version,
        listed,
        all,
        found,
        here,
        nowhere,
        picked,
        back,
        up,
        scan,
    ] = in_turn(
        RUNS,
        [
            &mut version,
            &mut listed,
            &mut all,
            &mut found,
            &mut here,
            &mut nowhere,
            &mut picked,
            &mut back,
            &mut up,
            &mut scan,
        ],
    );
    let row = |what: &str, ours, target| Row {
        what: what.into(),
        unit: "ms",
        ours,
        peer: None,
        target,
    };
    let bound = Target::AtMost(FIRST_ROWS);
    vec![
        row(
            "spawn to the first line of --version",
            version,
            Target::None,
        ),
        row("1M rows: sessions, first row", listed, bound),
        row("1M rows: sessions --all, first row", all, bound),
        row("1M rows: search --all, first row", found, bound),
        row("1M rows: search of a directory, first row", here, bound),
        row(
            "1M rows: search --all that finds nothing",
            nowhere,
            Target::None,
        ),
        row("1M rows: -r, first rows on the screen", picked, bound),
        Row {
            peer: Some(("sqlite LIKE", scan.clone())),
            ..row("1M rows: Ctrl-R, key to the oldest row", back, bound)
        },
        Row {
            peer: Some(("sqlite LIKE", scan)),
            ..row("1M rows: Up with a text, key to the oldest row", up, bound)
        },
        Row {
            unit: "µs",
            ..row(
                "catching up with what others wrote, a row",
                indexed,
                Target::None,
            )
        },
    ]
}

fn fill(home: &Home) {
    // The program makes the file; the rows are added as it would.
    home.run(&["-c", "1"], "");
    let mut db = Connection::open(home.history()).expect("it was just made");
    let change = db.transaction().expect("nobody else has it");
    {
        let mut session = change
            .prepare("INSERT INTO sessions (session, start, end, num_cmds, remark) VALUES (?1, '2026-01-01 \
                      10:00:00.000000', 'x', 50, ?2)")
            .expect("IPython's schema");
        let mut input = change
            .prepare("INSERT INTO history VALUES (?1, ?2, ?3, ?3)")
            .expect("IPython's schema");
        let mut prompt = change
            .prepare("INSERT INTO ai_prompts (session, prompt, response, history_line) VALUES (?1, ?2, ?3, 50)")
            .expect("the contract's schema");
        let here = home.work().to_string_lossy().into_owned();
        for number in 2..20_002_i64 {
            let directory = match number % 200 {
                0 => here.clone(),
                other => format!("/home/somebody/projects/number_{other}"),
            };
            let remark = format!(
                r#"{{"cwd": "{directory}", "provider": "codex", "provider_session_id": null}}"#
            );
            session.execute((number, remark)).expect("a new row");
            for line in 1..=50_i64 {
                let text = match (number, line) {
                    (3, 7) => OLDEST.to_owned(),
                    _ => format!(
                        "result_{line} = compute(value_{}, scale={number})",
                        line % 13
                    ),
                };
                input.execute((number, line, text)).expect("a new row");
            }
            if number % 10 == 0 {
                let asked = format!("what does result_{number} mean?");
                let answer = "It is the sum of all values, scaled. ".repeat(20);
                prompt.execute((number, asked, answer)).expect("a new row");
            }
        }
    }
    change.commit().expect("there is room");
}

/// In ms, from spawn to the second line (the first one is a heading), or the only one.
fn first_line(home: &Home, arguments: &[&str]) -> Result<f64, String> {
    let begin = Instant::now();
    let mut child = home
        .command(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut lines = BufReader::new(child.stdout.take().expect("piped above")).lines();
    let (_, second) = (lines.next(), lines.next());
    let took = begin.elapsed();
    let heading_only = second.is_none() && arguments != ["--version"];
    drop(lines);
    let _ = child.wait();
    if heading_only {
        return Err("no row".into());
    }
    Ok(took.as_secs_f64() * 1e3)
}

/// In ms, from spawn to the end.
fn ended(home: &Home, arguments: &[&str]) -> Result<f64, String> {
    let begin = Instant::now();
    let ran = home.run(arguments, "");
    match ran.code() {
        1 => Ok(begin.elapsed().as_secs_f64() * 1e3),
        code => Err(format!("exit code {code}: {}", ran.stderr)),
    }
}

fn picker(home: &Home) -> Result<f64, String> {
    let begin = Instant::now();
    let mut pty = Pty::spawn(home, &["--agent", "demo", "-r"], (80, 24));
    pty.patience = Duration::from_secs(20);
    pty.wait_for("what does result_20000 mean?");
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

/// In µs a row: how long a shell takes to catch up with all of it, beside being there.
fn caught_up(home: &Home) -> Result<Vec<f64>, String> {
    let began = Instant::now();
    let shell = Pty::spawn(home, &["--agent", "demo"], (80, 24));
    let db = Connection::open(home.history()).map_err(|error| error.to_string())?;
    let blocks = "SELECT coalesce(max(value), '0') FROM ipycodex_meta WHERE key = 'recalled'";
    while began.elapsed() < Duration::from_secs(300) {
        let known: String = db
            .query_row(blocks, [], |row| row.get(0))
            .map_err(|error| error.to_string())?;
        let known = known
            .split(' ')
            .next()
            .and_then(|blocks| blocks.parse::<i64>().ok());
        // The newest blocks are left.
        if known.unwrap_or(0) >= 1_000_000 / 256 - 2 {
            drop(shell);
            return Ok(vec![began.elapsed().as_secs_f64()]);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err("it has not caught up in five minutes".into())
}

/// A shell at its first prompt.
struct Shell(Pty);

impl Shell {
    fn start(home: &Home) -> Self {
        let pty = Pty::spawn(home, &["--agent", "demo"], (80, 24));
        pty.wait_for("In [1]: ");
        // The first look waits for the tail of the record, as the user's does.
        pty.send("\x12");
        pty.wait_for("(reverse-search)");
        pty.send("\x07");
        pty.wait_gone("(reverse-search)");
        Shell(pty)
    }

    /// In ms, from what was typed to the input on the screen.
    fn look_back(&self) -> Result<f64, String> {
        self.0.send("\x12");
        self.0.wait_for("(reverse-search)");
        let began = Instant::now();
        self.0.send("zebra");
        self.0.wait_for(&format!("> {OLDEST}"));
        let took = began.elapsed();
        self.0.send("\x07");
        self.0.wait_gone("(reverse-search)");
        Ok(took.as_secs_f64() * 1e3)
    }

    /// In ms, from Up to the input on the screen.
    fn up(&self) -> Result<f64, String> {
        self.0.send("zebra");
        self.typed("zebra");
        let began = Instant::now();
        self.0.send("\x1b[A");
        self.typed(OLDEST);
        let took = began.elapsed();
        self.0.send("\x15");
        self.typed("");
        Ok(took.as_secs_f64() * 1e3)
    }

    /// Waits until this stands before the cursor; behind it, in grey, may stand how it goes on.
    fn typed(&self, text: &str) {
        let line = format!("In [1]: {text}");
        self.0.wait_until(&line, |screen| {
            let (row, column) = screen.cursor_position();
            screen.contents_between(row, 0, row, column).trim_end() == line.trim_end()
        });
    }
}

/// In ms: SQLite reads all rows for it.
fn scanned(db: &Connection) -> Result<f64, String> {
    let began = Instant::now();
    let found = "SELECT source_raw FROM history WHERE source_raw LIKE '%zebra%' ORDER BY rowid DESC LIMIT 1";
    let found: String = db
        .query_row(found, [], |row| row.get(0))
        .map_err(|error| error.to_string())?;
    assert_eq!(found, OLDEST);
    Ok(began.elapsed().as_secs_f64() * 1e3)
}
