//! What a start, a round trip and a flood cost: printed, never asserted.

use ipycodex::runtime::{RuntimeEvent, Stdin};
use std::process::Command;
use std::time::Duration;
use std::time::Instant;

use super::bench::{BOTH, Bench, plan};

/// Not a test of a limit: prints what a round trip and a flood cost. `cargo test -- --ignored --nocapture figures`.
#[test]
#[ignore = "prints figures, asserts nothing about time"]
fn figures() {
    use std::io::Write;
    let mut report = std::io::stderr().lock();
    let cache = tempfile::tempdir().unwrap();
    let start = |form| {
        let (mut plan, folder) = plan(form);
        plan.cache_dir = cache.path().to_owned();
        Bench::with(plan, folder)
    };
    for form in BOTH {
        // Compiles the runner's parts.
        start(form).run("1+1");
        let mut whole: Vec<[Duration; 3]> = (0..20)
            .map(|_| {
                let began = Instant::now();
                let mut bench = start(form);
                bench.ready();
                let ready = began.elapsed();
                bench.run("1+1");
                let first = began.elapsed();
                drop(bench);
                [began.elapsed(), first, ready]
            })
            .collect();
        whole.sort();
        let mut plain: Vec<Duration> = (0..20)
            .map(|_| {
                let began = Instant::now();
                Command::new("python3").args(["-c", "1"]).status().unwrap();
                began.elapsed()
            })
            .collect();
        plain.sort();
        let mut bench = start(form);
        let mut trips: Vec<Duration> = (0..1000)
            .map(|_| {
                let began = Instant::now();
                bench.run("1+1");
                began.elapsed()
            })
            .collect();
        trips.sort();
        bench.run("import os\nblob = (b'x' * 79 + b'\\n') * (50_000_000 // 80)");
        let began = Instant::now();
        let code = "view = memoryview(blob)\nwhile view: view = view[os.write(1, view):]";
        let id = bench.submit(code, Stdin::Refuse);
        let mut arrived = 0;
        bench.until(|event| {
            match event {
                RuntimeEvent::Output { bytes, .. } => arrived += bytes.len(),
                RuntimeEvent::Finished { id: of, .. } if *of == id => return Some(()),
                _ => {}
            }
            None
        });
        writeln!(
            report,
            "{form:?}: [whole, first result, ready] {:?}, python3 -c 1 {:?}; 1+1 median {:?} least {:?}; {arrived} bytes in {:?}",
            whole[10],
            plain[10],
            trips[500],
            trips[0],
            began.elapsed(),
        )
        .unwrap();
    }
}
