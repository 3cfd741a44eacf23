//! `save` of a long session: from the record to a whole file, against `nbformat` writing the same notebook.
//!
//! Ours reads the record, makes the notebook and writes it through to the disk; `nbformat` has it in memory already and
//! does not sync. What it leaves unwritten is written before ours is timed: a sync of one file waits for others, too.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use ipycodex::session::{FileForm, SaveTarget as File, write_file};

use crate::dialog::{begin, fill, wait};
use crate::support::peers;
use crate::table::{Row, Target, in_turn};

const RUNS: usize = 15;

pub fn rows() -> Vec<Row> {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let record = folder.path().join("save.sqlite");
    fill(&record, 1, 10_000, 100);
    let (history, _reports) = begin(&record, Some(1));
    wait(history.session()).expect("it is there");
    let file = beside(&record);
    let mut save = || {
        rustix::fs::sync();
        let began = Instant::now();
        let session = wait(history.saved());
        write_file(&session, "Session 1", &file, |_| {}).map_err(|report| report.to_string())?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    };
    let first = save();
    let mut peer = Peer::start(&file);
    let mut write = || peer.as_mut().map_err(|why| why.clone())?.once();
    let [ours, theirs] = match first {
        Ok(_) => in_turn(RUNS, [&mut save, &mut write]),
        Err(why) => [Err(why), Err("nothing to compare with".into())],
    };
    let row = |target, ours| Row {
        what: "save 10,000 cells, 100 prompts".into(),
        unit: "ms",
        ours,
        peer: None,
        target,
    };
    vec![
        row(Target::AtMost(70.0), ours.clone()),
        Row {
            peer: Some(("nbformat.write", theirs)),
            ..row(Target::None, ours)
        },
    ]
}

/// A notebook beside a record, written over each time.
pub(crate) fn beside(record: &Path) -> File {
    File {
        path: record.with_extension("ipynb"),
        form: FileForm::Notebook,
        force: true,
        private: false,
        forcing: String::new(),
    }
}

/// A Python that has the notebook in memory and writes it when told.
struct Peer {
    child: Child,
    order: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Peer {
    fn start(file: &File) -> Result<Self, String> {
        let python = peers::notebook_python().ok_or("no nbformat")?;
        let script = "import sys, time, nbformat\n\
            notebook = nbformat.read(sys.argv[1], as_version=4)\n\
            print('ready', flush=True)\n\
            for _ in sys.stdin:\n    \
            began = time.perf_counter()\n    \
            nbformat.write(notebook, sys.argv[1] + '.peer')\n    \
            print((time.perf_counter() - began) * 1e3, flush=True)";
        let mut child = Command::new(python)
            .args(["-c", script])
            .arg(&file.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let order = child.stdin.take().expect("piped above");
        let said = BufReader::new(child.stdout.take().expect("piped above"));
        let mut peer = Peer { child, order, said };
        match peer.line()?.as_str() {
            "ready" => Ok(peer),
            other => Err(format!("it said {other:?}")),
        }
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        let read = self.said.read_line(&mut line);
        read.map_err(|error| error.to_string())?;
        Ok(line.trim().to_owned())
    }

    fn once(&mut self) -> Result<f64, String> {
        writeln!(self.order).map_err(|error| error.to_string())?;
        let line = self.line()?;
        line.parse().map_err(|_| format!("it said {line:?}"))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
