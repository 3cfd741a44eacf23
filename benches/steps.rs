//! Checkpoints: what they add to a cell that comes after a pause, what one takes and holds, and a step back, with more
//! and less in memory; what copies cost that wait.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ipycodex::runtime::{CheckpointRequest, RuntimeEvent, RuntimeReply, RuntimeRequest};

use crate::round_trip::{Lazy, Ours};
use crate::support::home::Home;
use crate::support::peers;
use crate::table::{Figures, Row, Target, in_turn, median};

const RUNS: usize = 7;

/// Long enough for a copy to be made.
const PAUSE: Duration = Duration::from_millis(150);

/// How long copies are watched that do nothing.
const IDLE: Duration = Duration::from_secs(2);

/// Cells of one figure.
const CELLS: usize = 5;

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let python = peers::plain_python();
    let mut with = Lazy::new(|| holding(&home, &python, 100, 10));
    let mut without = Lazy::new(|| holding(&home, &python, 100, 0));
    let [with, without] = in_turn(
        RUNS,
        [&mut || after_pauses(with.get()?), &mut || {
            after_pauses(without.get()?)
        }],
    );
    let mut rows = vec![Row {
        what: "1+1 after a pause, 100 MB, 10 checkpoints".into(),
        unit: "ms",
        ours: with,
        peer: Some(("no checkpoints", without)),
        target: Target::TimesPeerAtMost(1.1),
    }];
    rows.extend([10, 100, 1000].map(|megabytes| {
        let mut ours = Lazy::new(|| holding(&home, &python, megabytes, 10));
        let [back]: [Figures; 1] = in_turn(RUNS, [&mut || step_back(ours.get()?)]);
        Row {
            what: format!("back, {megabytes} MB"),
            unit: "ms",
            ours: back,
            peer: None,
            target: Target::AtMost(50.0),
        }
    }));
    for (megabytes, most) in [(10, Some(10.0)), (100, Some(10.0)), (1000, None)] {
        let mut ours = Lazy::new(|| holding(&home, &python, megabytes, 10));
        let made: Result<Vec<(f64, f64)>, String> = (0..RUNS).map(|_| made(ours.get()?)).collect();
        let figures = |of: fn(&(f64, f64)) -> f64| -> Figures {
            let made = made.as_ref().map_err(String::clone)?;
            Ok(made.iter().map(of).collect())
        };
        let row = |what: &str, unit, ours, target| Row {
            what: format!("a checkpoint, {megabytes} MB: {what}"),
            unit,
            ours,
            peer: None,
            target,
        };
        rows.push(row(
            "time",
            "ms",
            figures(|made| made.0),
            most.map_or(Target::None, Target::AtMost),
        ));
        rows.push(row(
            "memory",
            "MB",
            figures(|made| made.1),
            Target::AtMost(10.0),
        ));
    }
    let mut ours = Lazy::new(|| with_copies(&home, &python));
    let [idle]: [Figures; 1] = in_turn(
        3,
        [&mut || {
            ours.get()?;
            let before = on_cpu(&home);
            sleep(IDLE);
            Ok(on_cpu(&home) - before)
        }],
    );
    rows.push(Row {
        what: "10 idle copies: CPU in 2 s".into(),
        unit: "ms",
        ours: idle,
        peer: None,
        target: Target::AtMost(0.1),
    });
    rows
}

/// An interpreter with as many copies as it keeps, which does nothing.
fn with_copies(home: &Home, python: &Path) -> Result<Ours, String> {
    let mut ours = holding(home, python, 10, 10)?;
    for number in 0..12 {
        ours.run(&format!("held[0] = {number}"))?;
        sleep(PAUSE);
    }
    match ours.asked(CheckpointRequest::List)? {
        RuntimeReply::Checkpoints(there) if there.rows.len() >= 10 => {}
        other => return Err(format!("not ten checkpoints: {other:?}")),
    }
    sleep(PAUSE);
    Ok(ours)
}

/// Time in ms that the processes of interpreters in this home have run.
fn on_cpu(home: &Home) -> f64 {
    let home = home.path();
    let place = home.as_os_str().as_bytes();
    let has = |words: &[u8], part: &[u8]| words.windows(part.len()).any(|some| some == part);
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let times = processes.filter_map(|process| {
        let words = std::fs::read(process.path().join("cmdline")).ok()?;
        if !has(&words, b"runner.py") || !has(&words, place) {
            return None;
        }
        let times = std::fs::read_to_string(process.path().join("schedstat")).ok()?;
        times.split(' ').next()?.parse::<f64>().ok()
    });
    times.sum::<f64>() / 1e6
}

/// An interpreter with so many megabytes in use that keeps `most` checkpoints.
fn holding(home: &Home, python: &Path, megabytes: u32, most: u32) -> Result<Ours, String> {
    let mut ours = Ours::start(home, python, true)?;
    ours.asked(CheckpointRequest::Keep(most))?;
    ours.run(&format!("held = bytearray(b'x') * ({megabytes} << 20)"))?;
    // A new value is put into large pages first, a hundred MB in half a second.
    sleep(PAUSE + Duration::from_millis(10) * megabytes);
    Ok(ours)
}

/// In ms: the median of cells that come after pauses.
fn after_pauses(ours: &mut Ours) -> Result<f64, String> {
    let times: Result<Vec<f64>, String> = (0..CELLS)
        .map(|_| {
            sleep(PAUSE);
            ours.once()
        })
        .collect();
    Ok(median(&times?).expect("there is more than none"))
}

/// One more checkpoint: the ms it took, and the MB that the one before holds alone.
fn made(ours: &mut Ours) -> Result<(f64, f64), String> {
    ours.run("held[0] = 2")?;
    sleep(PAUSE);
    // What it holds is known once something has run since.
    ours.run("held[0] = 1")?;
    sleep(PAUSE);
    match ours.asked(CheckpointRequest::List)? {
        RuntimeReply::Checkpoints(there) => match there.rows.last() {
            Some(row) => Ok((row.took, row.memory as f64 / 1e6)),
            None => Err(format!("no checkpoint: {:?}", there.missing)),
        },
        other => Err(format!("no list: {other:?}")),
    }
}

/// In ms.
fn step_back(ours: &mut Ours) -> Result<f64, String> {
    ours.run("held[0] = 1")?;
    sleep(PAUSE);
    let begin = Instant::now();
    match ours.asked(CheckpointRequest::Back {
        to: None,
        session: 0,
    })? {
        RuntimeReply::Stepped(_) => {}
        other => return Err(format!("no step: {other:?}")),
    }
    let elapsed = begin.elapsed().as_secs_f64() * 1e3;
    sleep(PAUSE);
    Ok(elapsed)
}

impl Ours {
    fn asked(&mut self, wish: CheckpointRequest) -> Result<RuntimeReply, String> {
        let asked = self.runtime.submit(RuntimeRequest::Checkpoints(wish));
        while let Some(event) = self.events.blocking_recv() {
            if let RuntimeEvent::Replied { id, answer } = event
                && id == asked
            {
                return Ok(answer);
            }
        }
        Err("the runtime has left".into())
    }
}
