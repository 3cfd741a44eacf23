//! A look through MCP: `pyrun` from a client by `ipycodex mcp` into a running shell and back, beside the same look
//! asked of a runtime without anything around it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use ipycodex::runtime::{RuntimeEvent, RuntimeReply, RuntimeRequest, Snapshot};
use serde_json::{Value, json};

use crate::round_trip::{Lazy, Ours, ROUND_TRIPS};
use crate::support::await_true;
use crate::support::home::Home;
use crate::support::peers;
use crate::support::pty::{Pty, SIZE};
use crate::table::{Figures, Row, Target, in_turn, median};

const RUNS: usize = 15;

pub fn rows() -> Vec<Row> {
    let home = Home::new();
    let python = peers::plain_python();
    let mut client = Lazy::new(|| Client::start(&home));
    let mut plain = Lazy::new(|| Ours::start(&home, &python, true));
    let [through, plain] = in_turn(
        RUNS,
        [&mut || client.get()?.measure(), &mut || look(plain.get()?)],
    );
    let beyond: Figures = match (&through, &plain) {
        (Ok(through), Ok(plain)) => Ok(through.iter().zip(plain).map(|(a, b)| a - b).collect()),
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    };
    vec![
        Row::timed(
            "pyrun there and back over MCP",
            through,
            Some(("the plain look", plain)),
            Target::None,
        ),
        Row::timed(
            "what MCP adds to the look",
            beyond,
            None,
            Target::AtMost(3.0),
        ),
    ]
}

/// The median of looks at the runtime itself, in ms.
fn look(ours: &mut Ours) -> Result<f64, String> {
    let mut times = Vec::new();
    for _ in 0..ROUND_TRIPS {
        let begin = Instant::now();
        let asked = ours.runtime.submit(RuntimeRequest::Snapshot {
            code: "1+1".into(),
            unprotected: false,
        });
        loop {
            match ours.events.blocking_recv() {
                Some(RuntimeEvent::Replied { id, answer }) if id == asked => match answer {
                    RuntimeReply::Snapshot(Snapshot::Ran { .. }) => break,
                    answer => return Err(format!("the look gave {answer:?}")),
                },
                Some(_) => {}
                None => return Err("the runtime has left".into()),
            }
        }
        times.push(begin.elapsed().as_secs_f64() * 1e3);
    }
    median(&times).ok_or_else(|| "nothing was measured".into())
}

/// A client that is attached to a shell.
struct Client {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
    _shell: Pty,
    _child: Child,
}

impl Client {
    fn start(home: &Home) -> Result<Client, String> {
        let shell = Pty::spawn(home, &["--no-ipython", "--agent", "demo"], SIZE);
        shell.wait_for("In [1]:");
        let socket = format!("run/ipycodex/{}.sock", shell.pid());
        await_true("a door", || home.path().join(&socket).exists());
        let mut command = home.command(&["mcp", "--here"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or("the client has no pipes")?;
        let mut client = Client {
            input,
            output: BufReader::new(output),
            number: 0,
            _shell: shell,
            _child: child,
        };
        client.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
        )?;
        client.ask("tools/list", &json!({}))?;
        client.measure()?;
        Ok(client)
    }

    fn measure(&mut self) -> Result<f64, String> {
        let call = json!({"name": "pyrun", "arguments": {"code": "1+1"}});
        let mut times = Vec::new();
        for _ in 0..ROUND_TRIPS {
            let begin = Instant::now();
            let answer = self.ask("tools/call", &call)?;
            times.push(begin.elapsed().as_secs_f64() * 1e3);
            if answer["result"]["content"][0]["text"] != "2" {
                return Err(format!("1+1 gave {answer}"));
            }
        }
        median(&times).ok_or_else(|| "nothing was measured".into())
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.number += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params});
        let said = self.input.write_all(format!("{message}\n").as_bytes());
        said.map_err(|error| error.to_string())?;
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line);
            if read.map_err(|error| error.to_string())? == 0 {
                return Err("the server has left".into());
            }
            let answer: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            if answer["id"] == self.number {
                return Ok(answer);
            }
        }
    }
}
