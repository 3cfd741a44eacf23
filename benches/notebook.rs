//! `notebook show` and `notebook edit` of a large file against `nbformat`: time, memory, and how both grow.
//!
//! Ours is the whole program, its start included; of `nbformat` only the reading and the writing are counted, not
//! Python's start. The files lie in memory, where there is such a folder, since ours writes through to the disk and
//! `nbformat` does not; what the disk takes is a row of its own, beside a plain write of as many bytes that is synced.
//! How an edit grows is measured apart from `nbformat`, which leaves fresh memory to whoever comes next. Beside it is
//! how a plain read and write of the same bytes grows, in a process of its own: fresh memory costs more the more of
//! it is asked for. The instructions of an edit (callgrind) are 3.7 times as many for four times the file.
//! What is unwritten is written before ours is timed: a sync of one file waits for those of others.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::support::peers;
use crate::table::{Figures, Row, Target, in_turn};

/// Its value: a file that [`copy`] reads and writes.
pub const CHILD: &str = "IPYCODEX_BENCH_COPY";

const RUNS: usize = 5;

/// Sizes of the files, in MB.
const SMALL: usize = 25;
const LARGE: usize = 100;

pub fn rows() -> Vec<Row> {
    let folder = memory_folder();
    let [small, large] = [SMALL, LARGE].map(|size| notebook(folder.path(), size));
    let show = |file: &Path| ours(file, &["show"], &[]);
    let edit = |file: &Path| {
        ours(
            file,
            &["edit"],
            &[
                "--cell",
                "7",
                "--content",
                &format!("x = {:?}", Instant::now()),
            ],
        )
    };
    let read = "book = nbformat.read(sys.argv[1], as_version=4)\ntext = '\\n'.join(cell.source for cell in book.cells)";
    let write = "book = nbformat.read(sys.argv[1], as_version=4)\nbook.cells[7].source = 'x'\n\
        nbformat.write(book, sys.argv[1] + '.peer')";
    let [shown, theirs, edited, written] = in_turn(
        RUNS,
        [
            &mut || show(&large).map(|(took, _)| took),
            &mut || nbformat(&large, read),
            &mut || edit(&large).map(|(took, _)| took),
            &mut || nbformat(&large, write),
        ],
    );
    let copy = |file: &Path| {
        let bench = std::env::current_exe().map_err(|error| error.to_string())?;
        run(Command::new(bench).env(CHILD, file)).map(|(took, _)| took)
    };
    let [
        shown_large,
        shown_small,
        edited_large,
        edited_small,
        copied_large,
        copied_small,
    ] = in_turn(
        RUNS,
        [
            &mut || show(&large).map(|(took, _)| took),
            &mut || show(&small).map(|(took, _)| took),
            &mut || edit(&large).map(|(took, _)| took),
            &mut || edit(&small).map(|(took, _)| took),
            &mut || copy(&large),
            &mut || copy(&small),
        ],
    );
    let on_disk = tempfile::tempdir().expect("a temporary folder can be made");
    let (file, plain) = (
        on_disk.path().join("large.ipynb"),
        on_disk.path().join("plain"),
    );
    let text = std::fs::read(&large).expect("made above");
    std::fs::write(&file, &text).expect("our own folder");
    let mut write_plainly = || {
        rustix::fs::sync();
        let began = Instant::now();
        let mut out = std::fs::File::create(&plain).map_err(|error| error.to_string())?;
        let written = out.write_all(&text).and_then(|()| out.sync_all());
        written.map_err(|error| error.to_string())?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    };
    let [disk, plainly] = in_turn(
        RUNS,
        [
            &mut || edit(&file).map(|(took, _)| took),
            &mut write_plainly,
        ],
    );
    let memory =
        |memory: Result<(f64, f64), String>| -> Figures { Ok(vec![memory?.1 / LARGE as f64]) };
    let (show_memory, edit_memory) = (memory(show(&large)), memory(edit(&large)));
    let row = |what: String, ours: Figures, peer: &'static str, figures, target| Row {
        what,
        unit: "ms",
        ours,
        peer: Some((peer, figures)),
        target: Target::TimesPeerAtMost(target),
    };
    let sizes = |what: &str, ours| Row {
        what: format!("memory of a {what}, times the file"),
        unit: "x",
        ours,
        peer: None,
        target: Target::AtMost(3.0),
    };
    vec![
        row(
            format!("show {LARGE} MB"),
            shown,
            "nbformat.read",
            theirs,
            0.2,
        ),
        row(
            format!("edit a cell of {LARGE} MB"),
            edited,
            "nbformat.read, write",
            written,
            0.2,
        ),
        row(
            format!("show {LARGE} MB by {SMALL} MB"),
            shown_large,
            "ours, a quarter",
            shown_small,
            4.4,
        ),
        row(
            format!("edit {LARGE} MB by {SMALL} MB (its floor: the next row)"),
            edited_large,
            "ours, a quarter",
            edited_small,
            4.4,
        ),
        Row {
            target: Target::None,
            ..row(
                format!("a plain read and write, {LARGE} MB by {SMALL} MB"),
                copied_large,
                "the same, a quarter",
                copied_small,
                0.0,
            )
        },
        Row {
            target: Target::None,
            ..row(
                format!("edit a cell of {LARGE} MB on this disk"),
                disk,
                "a plain write, synced",
                plainly,
                0.0,
            )
        },
        sizes("show", show_memory),
        sizes("edit", edit_memory),
    ]
}

/// A folder whose files lie in memory, or an ordinary one.
pub(crate) fn memory_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary folder can be made")
}

/// A notebook of about so many MB: plots, tables as HTML, and lines that were printed.
pub(crate) fn notebook(folder: &Path, megabytes: usize) -> PathBuf {
    let picture: String = (0..200_000u32)
        .map(|n| char::from(b'A' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26))
        .collect();
    let table: Vec<String> = (0..900)
        .map(|n| format!("<tr class=\"row\"><td>{n}</td><td>é</td></tr>\n"))
        .collect();
    let lines: Vec<String> = (0..800)
        .map(|n| format!("epoch {n}: loss 0.{n}\n"))
        .collect();
    let mut cells = Vec::new();
    for number in 0..megabytes * 4 {
        cells.push(json!({
            "cell_type": "code", "execution_count": number, "id": format!("id-{number}"), "metadata": {},
            "outputs": [
                {"data": {"image/png": format!("{picture}\n"), "text/plain": ["<Figure>"]}, "metadata": {},
                 "output_type": "display_data"},
                {"data": {"text/html": table}, "execution_count": number, "metadata": {},
                 "output_type": "execute_result"},
                {"name": "stdout", "output_type": "stream", "text": lines},
            ],
            "source": ["import math\n", format!("x = {number}\n"), "plot(x)"],
        }));
    }
    let book = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    let path = folder.join(format!("{megabytes}.ipynb"));
    let file = std::fs::File::create(&path).expect("our own folder");
    let mut out = std::io::BufWriter::new(file);
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut writer = serde_json::Serializer::with_formatter(&mut out, formatter);
    serde::Serialize::serialize(&book, &mut writer).expect("it is JSON");
    out.flush().expect("our own folder");
    path
}

/// The least an edit takes: the whole file comes into memory, and goes into a new one in its place.
///
/// # Errors
/// As reading, writing and renaming.
pub fn copy(file: &Path) -> std::io::Result<()> {
    let new = file.with_extension("new");
    std::fs::write(&new, std::fs::read(file)?)?;
    std::fs::rename(&new, file)
}

fn ours(file: &Path, before: &[&str], after: &[&str]) -> Result<(f64, f64), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipycodex"));
    command.arg("notebook").args(before).arg(file).args(after);
    run(&mut command)
}

/// Milliseconds, and the most memory that was seen, in MB.
fn run(command: &mut Command) -> Result<(f64, f64), String> {
    rustix::fs::sync();
    let began = Instant::now();
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut most = 0.0;
    loop {
        if let Some(ended) = child.try_wait().map_err(|error| error.to_string())? {
            let took = began.elapsed().as_secs_f64() * 1e3;
            return match ended.success() {
                true => Ok((took, most)),
                false => Err(format!("it ended with {ended}")),
            };
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        most = kilobytes.map_or(most, |kilobytes| kilobytes / 1e3);
        std::thread::sleep(std::time::Duration::from_micros(500));
    }
}

fn nbformat(file: &Path, script: &str) -> Result<f64, String> {
    let python = peers::notebook_python().ok_or("no nbformat")?;
    let script = format!(
        "import sys, time, nbformat\nbegan = time.perf_counter()\n{script}\nprint((time.perf_counter() - began) * 1e3)"
    );
    let output = Command::new(python)
        .args(["-c", &script])
        .arg(file)
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    said.parse().map_err(|_| {
        format!(
            "it said {said:?} {}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}
