//! The real program killed while cells run: what was seen is in the file, and the file is sound.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use super::*;
use crate::support::home::Home;

/// A cell whose output was seen is recorded, whenever the program is killed.
pub fn between_cells(kills: u32) -> String {
    let home = Home::new();
    let cells: String = (1..=400).map(|n| format!("print('cell {n}')\n")).collect();
    let mut state: u64 = 7;
    let mut points = Vec::new();
    let mut acknowledged = 0;
    for kill in 0..kills {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let lines = (state >> 33) % 200;
        let mut child = home
            .command(&[] as &[&str])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(cells.as_bytes())
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        for _ in 0..=lines {
            output.read_line(&mut seen).unwrap();
        }
        child.kill().unwrap();
        // What was on its way when it died was put out too.
        output.read_to_string_lossy(&mut seen);
        child.wait().unwrap();
        let path = home.history();
        assert_eq!(text(&path, "PRAGMA integrity_check"), "ok");
        let session = kill + 1;
        for line in seen
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let number = line.trim().strip_prefix("cell ").unwrap();
            let recorded = text(
                &path,
                &format!(
                    "SELECT count(*) FROM history WHERE session = {session} AND source LIKE 'print(''cell {number}'')%'"
                ),
            );
            assert_eq!(recorded, "1", "session {session}, cell {number} of {lines}");
        }
        acknowledged += seen.lines().count();
        points.push(seen.lines().count());
    }
    points.sort_unstable();
    points.dedup();
    assert!(
        points.len() > 10,
        "the kills were all at one point: {points:?}"
    );
    let numbers = text(
        &home.history(),
        "SELECT count(DISTINCT session) FROM history",
    );
    assert_eq!(numbers, kills.to_string());
    format!("none lost of {acknowledged} cells whose output was seen")
}

#[test]
fn a_kill_behind_the_head_of_a_log_locks_nobody_out() {
    let (_directory, path) = directory();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "before", "");
    wait(record.flush());
    let beside = ["-wal", "-shm"].map(|suffix| format!("{}{suffix}", path.display()));
    let [log, index] = beside.each_ref().map(|name| fs::read(name).unwrap());
    assert_eq!(end(record, reports), [] as [&str; 0]);
    // A log begins with 32 bytes about itself.
    fs::write(&beside[0], &log[..32]).unwrap();
    fs::write(&beside[1], index).unwrap();
    let (record, reports) = start(&path, None);
    cell(&record, 1, "after", "");
    assert_eq!(end(record, reports), [] as [&str; 0]);
    assert_eq!(
        text(&path, "SELECT group_concat(source) FROM history"),
        "before,after"
    );
}

trait ReadAll {
    fn read_to_string_lossy(&mut self, into: &mut String);
}

impl<R: std::io::Read> ReadAll for BufReader<R> {
    fn read_to_string_lossy(&mut self, into: &mut String) {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(self, &mut bytes).unwrap();
        into.push_str(&String::from_utf8_lossy(&bytes));
    }
}
