//! One row of the table: what was measured on both sides, and what it must be.
//!
//! Invariant: a figure that could not be taken is a reason, never a zero.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::Instant;

use crate::support::peers;

/// Every measurement of one side, or why there is none.
pub type Figures = Result<Vec<f64>, String>;

/// One line of the table.
pub struct Row {
    /// What is measured.
    pub what: String,
    /// `ms`, `MB/s`, …
    pub unit: &'static str,
    /// Ours.
    pub ours: Figures,
    /// Whom we are compared with, and the peer's figures; `None`: the target is a bound.
    pub peer: Option<(&'static str, Figures)>,
    /// What ours must be.
    pub target: Target,
}

impl Row {
    /// A time.
    pub fn timed(
        what: &str,
        ours: Figures,
        peer: Option<(&'static str, Figures)>,
        target: Target,
    ) -> Self {
        Row {
            what: what.into(),
            unit: "ms",
            ours,
            peer,
            target,
        }
    }
}

/// What our median must be.
#[derive(Clone, Copy)]
pub enum Target {
    /// At most this many times the peer's.
    TimesPeerAtMost(f64),
    /// At least this many times the peer's.
    TimesPeerAtLeast(f64),
    /// At most this, in the row's unit.
    AtMost(f64),
    /// Shown for scale; nothing is asked of it.
    None,
}

/// Measures one side once.
pub type Measure<'a> = &'a mut dyn FnMut() -> Result<f64, String>;

/// Measures all sides in turn, `runs` times each, there and back (A B C C B A): memory that one has just given back
/// takes the next one longer to get, and that is not to be the same side each time. A side that fails once is not tried
/// again.
pub fn in_turn<const N: usize>(runs: usize, sides: [Measure<'_>; N]) -> [Figures; N] {
    let mut figures: [Figures; N] = std::array::from_fn(|_| Ok(Vec::with_capacity(runs)));
    for round in 0..runs {
        for place in 0..N {
            let side = if round % 2 == 0 { place } else { N - 1 - place };
            take(&mut figures[side], &mut *sides[side]);
        }
    }
    figures
}

fn take(figures: &mut Figures, measure: &mut dyn FnMut() -> Result<f64, String>) {
    let Ok(known) = figures else {
        return;
    };
    match guarded(measure).and_then(|result| result) {
        Ok(figure) => known.push(figure),
        Err(why) => *figures = Err(why),
    }
}

/// Runs what may panic (a wait on a terminal does, with the screen) and makes it a reason.
pub fn guarded<T>(measure: impl FnOnce() -> T) -> Result<T, String> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(measure));
    std::panic::set_hook(hook);
    result.map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let formatted = panic.downcast_ref::<String>().cloned();
    let literal = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let whole = formatted
        .or(literal)
        .unwrap_or_else(|| "a panic without a message".into());
    let lines: Vec<&str> = whole
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("---"))
        .collect();
    lines.into_iter().take(3).collect::<Vec<_>>().join(" | ")
}

/// The middle value; of an even number of values the mean of both.
pub fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// How far the middle half of the values lies around the median, in percent of it.
fn spread(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    let half = (sorted.get(sorted.len() - 1 - quarter)? - sorted[quarter]) / 2.0;
    let spread = half / median(&sorted)? * 100.0;
    (sorted.len() > 1 && spread.is_finite()).then_some(spread)
}

/// In ms: `python3 -c 'print(1+1)'`, the quickest of ten.
fn python_start() -> Option<f64> {
    let once = || {
        let began = Instant::now();
        let mut python = Command::new(peers::plain_python());
        let ran = python.args(["-c", "print(1+1)"]).output().ok()?;
        let took = began.elapsed().as_secs_f64() * 1e3;
        ran.status.success().then_some(took)
    };
    (0..10).filter_map(|_| once()).min_by(f64::total_cmp)
}

/// The lines above the rows: machine, its speed and versions, and the names of the columns.
pub fn print_heading() {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "?".into());
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_else(|| "?".into());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let system = read("/proc/sys/kernel/osrelease");
    println!(
        "machine: {model}, {cores} cores, {memory}, Linux {}",
        system.trim()
    );
    if let Some(took) = python_start() {
        println!(
            "for scale: python3 -c 'print(1+1)' takes {} ms here, 8.3 where the README's figures were taken",
            digits(took)
        );
    }
    println!(
        "ours: {}; peers: {}",
        env!("CARGO_PKG_VERSION"),
        peers::versions()
    );
    println!(
        "{:12} {:47} {:>12} {:>7} {:>12} {:>9}  {:12} {:6} {:>4}  peer",
        "bench", "what (medians)", "ours", "spread", "peer", "ratio", "must be", "", "runs"
    );
}

/// One row; reasons stand below it.
pub fn print(bench: &str, row: &Row) {
    let middle = |figures: &Figures| figures.as_ref().ok().and_then(|values| median(values));
    let ours = middle(&row.ours);
    let peer = row.peer.as_ref().and_then(|(_, figures)| middle(figures));
    let show = |value: Option<f64>| {
        value.map_or("-".into(), |value| {
            format!("{} {}", digits(value), row.unit)
        })
    };
    let ratio = ours
        .zip(peer.filter(|peer| *peer > 0.0))
        .map(|(ours, peer)| ours / peer);
    let (text, met) = target(row, ours, ratio);
    let verdict = match met {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "",
    };
    let runs = row.ours.as_ref().map_or(0, Vec::len);
    let spread = row.ours.as_ref().ok().and_then(|values| spread(values));
    println!(
        "{bench:12} {:47} {:>12} {:>7} {:>12} {:>9}  {text:12} {verdict:6} {runs:>4}  {}",
        row.what,
        show(ours),
        spread.map_or("-".into(), |spread| format!("±{spread:.0} %")),
        show(peer),
        ratio.map_or("-".into(), |ratio| format!("{} x", digits(ratio))),
        row.peer.as_ref().map_or("(a bound)", |(name, _)| name),
    );
    let sides = std::iter::once(("ours", &row.ours))
        .chain(row.peer.iter().map(|(name, figures)| (*name, figures)));
    for (side, figures) in sides {
        if let Err(why) = figures {
            println!("{:12}   {side}: not available: {why}", "");
        }
    }
}

/// The target in words, and whether it is met, as far as that is known.
fn target(row: &Row, ours: Option<f64>, ratio: Option<f64>) -> (String, Option<bool>) {
    match row.target {
        Target::TimesPeerAtMost(most) => (
            format!("<= {} x", digits(most)),
            ratio.map(|ratio| ratio <= most),
        ),
        Target::TimesPeerAtLeast(least) => (
            format!(">= {} x", digits(least)),
            ratio.map(|ratio| ratio >= least),
        ),
        Target::AtMost(most) => (
            format!("<= {} {}", digits(most), row.unit),
            ours.map(|ours| ours <= most),
        ),
        Target::None => (String::new(), None),
    }
}

/// Three digits that count.
pub fn digits(value: f64) -> String {
    let places = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        size if size >= 0.02 => 3,
        _ => 5,
    };
    format!("{value:.places$}")
}
