//! Streaming an answer: CPU and bytes for 10, 100 and 400 KB in deltas of 4 characters.
//!
//! In: nothing. Out: a table on stdout. Each size is played twice: drawn at every delta, and drawn every 16 ms of
//! simulated time at 500 deltas a second. "text" is what one print of the finished answer would write, without and
//! with colours. Then the shapes that are quadratic when done naively.

use std::time::{Duration, Instant};

use ipycodex::markdown::{Appearance, MarkdownStream, render, warm_up};
use ipycodex::runtime::TerminalSize;
use ipycodex::screen::live::LiveRegion;

pub(crate) const SIZE: TerminalSize = TerminalSize {
    columns: 80,
    rows: 24,
};

pub(crate) struct Played {
    pub(crate) cpu: Duration,
    wall: Duration,
    pub(crate) deltas: usize,
    draws: usize,
    pub(crate) bytes: usize,
    parsed: u64,
    slowest: Duration,
}

/// CPU time of this thread, as Linux accounts it (ns in the first field); zero elsewhere.
fn cpu() -> Duration {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .map_or(Duration::ZERO, Duration::from_nanos)
}

/// Streams `text` in deltas of 4 characters and draws after each `deltas_per_draw` of them.
pub(crate) fn play(text: &str, deltas_per_draw: usize) -> Played {
    let mut stream = MarkdownStream::new(look());
    let mut region = LiveRegion::new(true);
    let mut played = Played {
        cpu: Duration::ZERO,
        wall: Duration::ZERO,
        deltas: 0,
        draws: 0,
        bytes: 0,
        parsed: 0,
        slowest: Duration::ZERO,
    };
    let (began, cpu_before) = (Instant::now(), cpu());
    let mut draw = |stream: &mut MarkdownStream, played: &mut Played| {
        let from = Instant::now();
        let frame = stream.frame(SIZE.columns.into(), usize::from(SIZE.rows) - 2);
        played.bytes += region.draw(&frame.settled, &frame.live, SIZE).len();
        played.draws += 1;
        played.slowest = played.slowest.max(from.elapsed());
    };
    let mut buffer = [0; 4];
    let mut delta = String::new();
    for (n, c) in text.chars().enumerate() {
        delta.push_str(c.encode_utf8(&mut buffer));
        if n % 4 == 3 {
            stream.push(&delta);
            delta.clear();
            played.deltas += 1;
            if played.deltas.is_multiple_of(deltas_per_draw) {
                draw(&mut stream, &mut played);
            }
        }
    }
    stream.push(&delta);
    stream.finish();
    draw(&mut stream, &mut played);
    played.cpu = cpu() - cpu_before;
    played.wall = began.elapsed();
    played.parsed = stream.parsed_bytes();
    played
}

fn look() -> Appearance {
    Appearance {
        colour: true,
        ..Appearance::default()
    }
}

/// Bytes that one print of the finished answer takes: without colours, with them.
pub(crate) fn rendered(text: &str) -> (usize, usize) {
    let lines = render(text, SIZE.columns.into(), &look());
    let plain = lines.iter().map(|line| line.plain().len() + 2).sum();
    let coloured = lines.iter().map(|line| line.to_ansi(true).len() + 2).sum();
    (plain, coloured)
}

fn report(name: &str, text: &str, deltas_per_draw: usize) -> Played {
    let (plain, ansi) = rendered(text);
    // The machine may be busy: the best of three.
    let played = (0..3)
        .map(|_| play(text, deltas_per_draw))
        .min_by_key(|played| played.cpu)
        .expect("three runs");
    println!(
        "{name:28} {:>8.1} ms cpu {:>8.1} ms wall  {:>6.2} us/delta  slowest draw {:>6.2} ms  {:>5.2} x plain  {:>5.2} \
         x coloured text  parsed {:>5.0} x",
        played.cpu.as_secs_f64() * 1e3,
        played.wall.as_secs_f64() * 1e3,
        played.cpu.as_secs_f64() * 1e6 / played.deltas as f64,
        played.slowest.as_secs_f64() * 1e3,
        played.bytes as f64 / plain as f64,
        played.bytes as f64 / ansi as f64,
        played.parsed as f64 / text.len() as f64,
    );
    played
}

/// Prints the table.
pub(crate) fn run() {
    let typical = include_str!("../tests/data/markdown/typical.md");
    warm_up();
    play(typical, 1);
    for (name, deltas) in [("every delta", 1), ("every 16 ms", 8)] {
        let mut totals = Vec::new();
        for kilobytes in [10, 100, 400] {
            let text = typical.repeat(kilobytes * 1000 / typical.len() + 1);
            totals.push(report(&format!("{kilobytes} KB, {name}"), &text, deltas).cpu);
        }
        println!(
            "400 KB / 100 KB: {:.2}",
            totals[2].as_secs_f64() / totals[1].as_secs_f64()
        );
    }
    let rows: String = (0..600)
        .map(|n| format!("| row {n} | some `value` {n} | 漢字 |\n"))
        .collect();
    let shapes = [
        (
            "one 53 KB paragraph",
            "lorem **ipsum** dolor sit amet ".repeat(1_800),
        ),
        (
            "code block, 2000 lines",
            format!(
                "```python\n{}```\n",
                "value = f(1, 'two')  # three\n".repeat(2_000)
            ),
        ),
        (
            "list, 800 items",
            "- an item with `code` and some more words to it\n".repeat(800),
        ),
        (
            "table, 600 rows",
            format!("| a | b | c |\n|---|---|---|\n{rows}"),
        ),
        (
            "code in a list, 1000 lines",
            format!(
                "- item\n\n  ```python\n{}  ```\n",
                "  value = f(1, 'two')\n".repeat(1_000)
            ),
        ),
    ];
    for (name, text) in shapes {
        report(name, &text, 1);
    }
}
