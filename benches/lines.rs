//! A peer that lives on: it is told a line, measures once and says a number in a line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::support::home::Home;

/// A running peer script.
pub struct LinePeer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl LinePeer {
    /// Starts `benches/peers/SCRIPT` and waits until it says that it is ready (a first line).
    pub fn start(
        home: &Home,
        python: &Path,
        script: &str,
        arguments: &[&str],
    ) -> Result<LinePeer, String> {
        let path = format!("{}/benches/peers/{script}", env!("CARGO_MANIFEST_DIR"));
        let all: Vec<&str> = std::iter::once(path.as_str())
            .chain(arguments.iter().copied())
            .collect();
        let mut command = home.foreign(python, &all);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| format!("{}: {error}", python.display()))?;
        let input = child.stdin.take().expect("piped above");
        let output = BufReader::new(child.stdout.take().expect("piped above"));
        let mut peer = LinePeer {
            child,
            input,
            output,
        };
        peer.line()?;
        Ok(peer)
    }

    /// Has it measure once.
    pub fn measure(&mut self) -> Result<f64, String> {
        self.measure_line("")
    }

    /// Has it measure what this line says.
    pub fn measure_line(&mut self, line: &str) -> Result<f64, String> {
        self.input
            .write_all(format!("{line}\n").as_bytes())
            .map_err(|error| format!("the peer takes no orders: {error}"))?;
        let line = self.line()?;
        line.parse().map_err(|_| format!("the peer said {line:?}"))
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        let read = self
            .output
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        if read == 0 {
            return Err("the peer has left".into());
        }
        Ok(line.trim().to_owned())
    }
}

impl Drop for LinePeer {
    fn drop(&mut self) {
        // It leads its own group, a kernel of its own included.
        let group = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}
