//! A client of a few lines: it says what a test says, and reads what comes.
//!
//! In: JSON. Out: JSON, in the order it came; what a test does not ask for is kept for it. Nothing waits for a time.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::home::{Home, PATIENCE};

/// The revision without a greeting.
pub const CURRENT: &str = "2026-07-28";

/// A running `ipycodex mcp`, and what it says.
pub struct Client {
    pub child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    held: Vec<Value>,
    last: u64,
}

impl Client {
    /// With these arguments behind `mcp`; nothing is said yet.
    pub fn start(home: &Home, arguments: &[&str]) -> Client {
        let all: Vec<&str> = [&["mcp"], arguments].concat();
        let mut command = home.command(&all);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        let mut child = command.spawn().expect("our own program");
        let output = child.stdout.take().expect("piped above");
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let said = serde_json::from_str(&line).expect("each line is JSON");
                if tell.send(said).is_err() {
                    return;
                }
            }
        });
        Client {
            input: child.stdin.take(),
            child,
            output: told,
            held: Vec::new(),
            last: 0,
        }
    }

    /// One that has greeted, in the revision before the current one.
    pub fn greeted(home: &Home, arguments: &[&str]) -> Client {
        let mut client = Client::start(home, arguments);
        client.greet();
        client
    }

    pub fn greet(&mut self) {
        let greeting = self.ask(
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "tester", "version": "1"}}),
        );
        assert_eq!(greeting["result"]["protocolVersion"], "2025-11-25");
        self.say(json!({"method": "notifications/initialized"}));
    }

    pub fn say(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.write(format!("{message}\n").as_bytes());
    }

    /// As it is; what the other side no longer takes is lost.
    pub fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("it has not hung up");
        drop(input.write_all(bytes).and_then(|()| input.flush()));
    }

    /// Begins a request; its id.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        self.say(json!({"id": self.last, "method": method, "params": params}));
        self.last
    }

    /// The answer to a request.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// The answer to the request of this id.
    pub fn answer(&mut self, id: u64) -> Value {
        self.expect(&format!("the answer {id}"), |said| {
            said["id"] == id && said.get("method").is_none()
        })
    }

    /// The notice of this method.
    pub fn notice(&mut self, method: &str) -> Value {
        self.expect(method, |said| said["method"] == method)
    }

    /// Calls a tool: text of its result, and whether it went well.
    pub fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        result(&answer)
    }

    /// Names of the tools.
    pub fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().expect("a list").iter();
        tools
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .collect()
    }

    /// What comes next that is so.
    #[track_caller]
    pub fn expect(&mut self, what: &str, so: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.held.iter().position(&so) {
            return self.held.remove(at);
        }
        // Whatever else comes: a call that waits for ever still tells its progress.
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self
                .output
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(said) if so(&said) => return said,
                Ok(said) => self.held.push(said),
                Err(why) => panic!("no {what}: {why}; held: {:?}", self.held),
            }
        }
    }

    /// True when nothing of this kind comes within a moment.
    pub fn is_silent(&mut self, so: impl Fn(&Value) -> bool) -> bool {
        while let Ok(said) = self.output.recv_timeout(Duration::from_millis(300)) {
            self.held.push(said);
        }
        !self.held.iter().any(so)
    }

    /// Hangs up and waits for the end: exit code, and what was said on standard error.
    pub fn leave(mut self) -> (i32, String) {
        drop(self.input.take());
        let output = self.child.wait_with_output().expect("our own child");
        let code = output.status.code().unwrap_or(-1);
        (code, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// What `ipycodex mcp` answers to this whole input, line by line, and its exit code.
pub fn piped(home: &Home, arguments: &[&str], input: &[u8]) -> (Vec<Value>, i32) {
    let mut client = Client::start(home, arguments);
    client.write(input);
    drop(client.input.take());
    let said: Vec<Value> = client.output.iter().collect();
    (said, client.leave().0)
}

/// Text of a call's result, and whether it went well.
pub fn result(answer: &Value) -> (String, bool) {
    let result = &answer["result"];
    let parts = result["content"].as_array();
    let parts = parts.unwrap_or_else(|| panic!("no result: {answer}"));
    let text = parts.iter().find_map(|part| part["text"].as_str());
    (
        text.unwrap_or_default().to_owned(),
        result["isError"] == false,
    )
}

/// `_meta` of a request in the current revision.
pub fn envelope() -> Value {
    json!({"io.modelcontextprotocol/protocolVersion": CURRENT,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"}})
}

/// The socket of a running shell.
pub fn socket(home: &Home, process: u32) -> std::path::PathBuf {
    home.path().join(format!("run/ipycodex/{process}.sock"))
}

/// Connects to it and says this line; what it answers.
pub fn knock(home: &Home, process: u32, line: &str) -> String {
    let mut connection = UnixStream::connect(socket(home, process)).expect("it listens");
    drop(connection.write_all(format!("{line}\n").as_bytes()));
    let mut said = String::new();
    let mut reader = BufReader::new(connection);
    reader.read_line(&mut said).expect("it answers");
    said
}
