//! The offline agent as an agent of the Agent Client Protocol (version 1): `ipycodex demo --acp`.
//!
//! In: requests on a byte stream. Out: responses and updates, one JSON object per line. The answers are the same as
//! over the Codex protocol: reasoning, a plan, a permission, text in small pieces. Sessions live as long as the
//! process. One thread reads and responds; each prompt runs on a thread of its own, so that a cancel is read during
//! an answer.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::sync::{Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::compose::{DemoAnswer, compose};
use super::control::{Control, Stopped};
use super::turn_runner::pieces;
use crate::rpc::{Dialect, RpcError, RpcFrame, RpcId, RpcMessage, encode, read_frame};

/// Serves until the input ends.
///
/// # Errors
/// The error of a failed read; a client that disconnects causes none.
pub fn serve(mut input: impl BufRead, output: impl Write + Send) -> io::Result<()> {
    let server = AcpServer {
        output: Mutex::new(output),
        control: Control::default(),
    };
    thread::scope(|scope| {
        let mut sessions: HashMap<String, usize> = HashMap::new();
        let mut line = Vec::new();
        let outcome = loop {
            let message = match read_frame(&mut input, &mut line) {
                Ok(Some(RpcFrame::Message(message))) => message,
                Ok(Some(RpcFrame::Junk)) => continue,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            match message {
                RpcMessage::Request { id, method, params } => {
                    let session = text(&params["sessionId"]);
                    match (method.as_str(), sessions.get_mut(&session)) {
                        ("session/prompt", Some(earlier)) => {
                            let answer = compose(&prompt_text(&params["prompt"]), *earlier, &[]);
                            *earlier += 1;
                            let server = &server;
                            server.control.register(&session);
                            scope.spawn(move || server.run_prompt(&session, id, &answer));
                        }
                        ("session/new", _) => {
                            let session = format!("demo-{}", sessions.len() + 1);
                            sessions.insert(session.clone(), 0);
                            server.answer(id, Ok(json!({"sessionId": session})));
                        }
                        ("initialize", _) => server.answer(id, Ok(greeting())),
                        ("session/prompt", None) => {
                            server.answer(
                                id,
                                Err(RpcError::new(
                                    -32002,
                                    format!("Session {session} not found"),
                                )),
                            );
                        }
                        _ => server.answer(id, Err(RpcError::unknown_method(&method))),
                    }
                }
                RpcMessage::Response { id, outcome } => server.control.on_answer(id, outcome),
                RpcMessage::Notification { method, params } if method == "session/cancel" => {
                    server.control.interrupt(&text(&params["sessionId"]));
                }
                RpcMessage::Notification { .. } => {}
            }
        };
        server.control.disconnect();
        outcome
    })
}

fn greeting() -> Value {
    json!({
        "protocolVersion": 1,
        "agentInfo": {"name": "ipycodex-demo", "title": "Demo", "version": env!("CARGO_PKG_VERSION")},
        "agentCapabilities": {"promptCapabilities": {"embeddedContext": true}},
        "authMethods": [],
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The texts of a prompt, files included.
fn prompt_text(blocks: &Value) -> String {
    let blocks = blocks.as_array().into_iter().flatten();
    let texts = blocks.map(|block| match block["type"].as_str() {
        Some("resource") => text(&block["resource"]["text"]),
        _ => text(&block["text"]),
    });
    texts.collect()
}

/// State shared by the reading thread and the prompts; a turn has the name of its session.
struct AcpServer<W> {
    output: Mutex<W>,
    control: Control,
}

impl<W: Write> AcpServer<W> {
    fn send(&self, message: RpcMessage) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let line = encode(message, Dialect::Versioned);
        // When the client has disconnected, the input ends, too.
        let _ = output.write_all(&line).and_then(|()| output.flush());
    }

    fn answer(&self, id: RpcId, outcome: Result<Value, RpcError>) {
        self.send(RpcMessage::Response { id, outcome });
    }

    fn update(&self, session: &str, update: Value) {
        self.send(RpcMessage::Notification {
            method: "session/update".into(),
            params: json!({"sessionId": session, "update": update}),
        });
    }

    fn run_prompt(&self, session: &str, id: RpcId, answer: &DemoAnswer) {
        let reason = match self.send_answer(session, &id, answer) {
            Ok(()) => "end_turn",
            Err(Stopped) => "cancelled",
        };
        self.control.end(session);
        self.answer(id, Ok(json!({"stopReason": reason})));
    }

    fn send_answer(&self, session: &str, id: &RpcId, answer: &DemoAnswer) -> Result<(), Stopped> {
        let chunk = |kind: &str, delta: &str| {
            let content = json!({"type": "text", "text": delta});
            json!({"sessionUpdate": kind, "content": content})
        };
        for delta in pieces(&answer.thought) {
            self.control.pause(session, answer.slowly)?;
            self.update(session, chunk("agent_thought_chunk", delta));
        }
        if answer.plans {
            for status in ["in_progress", "completed"] {
                let entry = json!({"content": "answer", "priority": "medium", "status": status});
                self.update(
                    session,
                    json!({"sessionUpdate": "plan", "entries": [entry]}),
                );
            }
        }
        let mut text = answer.text.clone();
        if let Some(command) = answer.approval {
            let chosen = self.approval(session, id, command)?;
            text.push_str(&format!(
                "\nI asked to run `{command}`, and the answer was `{chosen}`. \
                 I am a demonstration and did not run it.\n"
            ));
        }
        for delta in pieces(&text) {
            self.control.pause(session, answer.slowly)?;
            self.update(session, chunk("agent_message_chunk", delta));
        }
        Ok(())
    }

    /// Asks whether a command may run; returns the id of the chosen option.
    fn approval(&self, session: &str, prompt: &RpcId, command: &str) -> Result<String, Stopped> {
        // A prompt asks once, so its own id makes that of the question unique.
        let id = RpcId::Text(format!("permission-{prompt:?}"));
        let option = |kind: &str, name: &str| json!({"optionId": kind, "name": name, "kind": kind});
        self.send(RpcMessage::Request {
            id: id.clone(),
            method: "session/request_permission".into(),
            params: json!({
                "sessionId": session,
                "toolCall": {"toolCallId": "call", "title": command, "kind": "execute", "status": "pending"},
                "options": [option("allow_once", "Yes"), option("reject_once", "No")],
            }),
        });
        let answer = self.control.answer_to(session, &id)?.unwrap_or_default();
        Ok(match answer["outcome"]["optionId"].as_str() {
            Some(chosen) => chosen.to_owned(),
            None => "nothing".to_owned(),
        })
    }
}
