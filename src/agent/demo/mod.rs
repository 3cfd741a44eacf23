//! The built-in offline agent: the server half of the Codex protocol, in a child process of the same binary.
//!
//! In: requests on a byte stream. Out: responses and notifications, one JSON object per line, as the Codex
//! app-server 0.169.0 sends them. With it all features can be tried without a login; no AI is involved: `compose`
//! builds its answers from the context, the same each time. Threads live as long as the process. One thread reads
//! and responds; a second runs the turns, so that an interrupt is read during an answer.

pub mod acp;
mod completion;
mod compose;
mod context;
mod control;
mod threads;
mod turn_runner;

use std::io::{self, BufRead, Write};
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};

use crate::rpc::{Dialect, RpcError, RpcFrame, RpcMessage, encode, read_frame};
use control::Control;
use threads::ThreadTable;
use turn_runner::{TurnJob, TurnRunner};

/// Serves until the input ends.
///
/// # Errors
/// The error of a failed read or write; a client that disconnects causes none.
pub fn serve(mut input: impl BufRead, output: impl Write + Send) -> io::Result<()> {
    thread::scope(|scope| {
        let (out, lines) = mpsc::channel();
        let writer = scope.spawn(move || write(output, &lines));
        let control = Control::default();
        let (jobs, queue) = mpsc::channel();
        let runner = TurnRunner {
            out: out.clone(),
            control: control.clone(),
            items: 0,
            calls: 0,
        };
        scope.spawn(move || runner.run(&queue));
        let mut server = Server {
            out,
            jobs,
            control,
            threads: ThreadTable::default(),
            turns: 0,
            greeted: false,
        };
        let mut line = Vec::new();
        let mut outcome = Ok(());
        loop {
            match read_frame(&mut input, &mut line) {
                Ok(Some(RpcFrame::Message(message))) => server.on_message(message),
                Ok(Some(RpcFrame::Junk)) => {}
                Ok(None) => break,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        server.control.disconnect();
        drop(server);
        let written = writer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome.and(written)
    })
}

fn write(mut output: impl Write, lines: &mpsc::Receiver<RpcMessage>) -> io::Result<()> {
    while let Ok(message) = lines.recv() {
        match output
            .write_all(&encode(message, Dialect::Bare))
            .and_then(|()| output.flush())
        {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            outcome => outcome?,
        }
    }
    Ok(())
}

enum FollowUp {
    RunTurn(Box<TurnJob>),
    Notify(Vec<(&'static str, Value)>),
}

struct Server {
    out: mpsc::Sender<RpcMessage>,
    jobs: mpsc::Sender<TurnJob>,
    control: Control,
    threads: ThreadTable,
    turns: u64,
    greeted: bool,
}

impl Server {
    fn on_message(&mut self, message: RpcMessage) {
        match message {
            RpcMessage::Request { id, method, params } => {
                let (outcome, then) = match self.answer(&method, &params) {
                    Ok((result, then)) => (Ok(result), then),
                    Err(error) => (Err(error), None),
                };
                self.send(RpcMessage::Response { id, outcome });
                match then {
                    None => {}
                    // The turn runner lives as long as this sender.
                    Some(FollowUp::RunTurn(job)) => drop(self.jobs.send(*job)),
                    Some(FollowUp::Notify(notices)) => {
                        for (method, params) in notices {
                            let method = method.to_owned();
                            self.send(RpcMessage::Notification { method, params });
                        }
                    }
                }
            }
            RpcMessage::Response { id, outcome } => self.control.on_answer(id, outcome),
            RpcMessage::Notification { .. } => {}
        }
    }

    fn send(&self, message: RpcMessage) {
        // A writer that failed has reported its error; the input ends soon.
        let _ = self.out.send(message);
    }

    fn answer(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<(Value, Option<FollowUp>), RpcError> {
        if method != "initialize" && !self.greeted {
            return Err(invalid("Not initialized"));
        }
        let thread = params
            .get("threadId")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let plain = |value| Ok((value, None));
        match method {
            "initialize" if self.greeted => Err(invalid("Already initialized")),
            "initialize" => {
                self.greeted = true;
                plain(json!({"userAgent": concat!("ipycodex-demo/", env!("CARGO_PKG_VERSION"))}))
            }
            "account/read" => plain(json!({"account": null, "requiresOpenaiAuth": false})),
            "model/list" => plain(json!({
                "data": [{"id": "demo", "model": "demo", "displayName": "Demo", "isDefault": true}],
                "nextCursor": null,
            })),
            "thread/start" => {
                let id = self.threads.start(params);
                plain(
                    json!({"thread": {"id": id, "status": {"type": "idle"}, "turns": []}, "model": "demo"}),
                )
            }
            // Threads of an earlier process are gone, a case that clients must handle.
            "thread/resume" => match self.threads.get(thread) {
                Some(_) => plain(json!({"thread": {"id": thread, "turns": []}, "model": "demo"})),
                None => Err(invalid(&format!("no rollout found for thread id {thread}"))),
            },
            "thread/inject_items" => {
                self.known(thread)?.inject(params);
                plain(json!({}))
            }
            "thread/unsubscribe" => {
                self.threads.forget(thread);
                plain(json!({"status": "unsubscribed"}))
            }
            "thread/backgroundTerminals/clean" => plain(json!({})),
            "turn/start" => self.begin(thread, params),
            "turn/interrupt" => {
                let turn = params.get("turnId").and_then(Value::as_str);
                match turn.is_some_and(|turn| self.control.interrupt(turn)) {
                    true => plain(json!({})),
                    false => Err(invalid("no active turn to interrupt")),
                }
            }
            "turn/steer" => {
                let turn = params.get("expectedTurnId").and_then(Value::as_str);
                let turn = turn.unwrap_or_default();
                match self.control.steer(turn, threads::input(params)) {
                    true => plain(json!({"turnId": turn})),
                    false => Err(invalid("no active turn to steer")),
                }
            }
            _ => Err(invalid(&format!(
                "Invalid request: unknown variant `{method}`"
            ))),
        }
    }

    fn known(&mut self, thread: &str) -> Result<&mut threads::Thread, RpcError> {
        self.threads
            .get(thread)
            .ok_or_else(|| invalid(&format!("thread not found: {thread}")))
    }

    fn begin(&mut self, id: &str, params: &Value) -> Result<(Value, Option<FollowUp>), RpcError> {
        self.turns += 1;
        let turn = format!("turn-{}", self.turns);
        let thread = self.known(id)?;
        let earlier = thread.exchanges();
        let input = thread.take_input(params);
        let then = match completion::prefix_of(&input) {
            // Completions are answered at once, beside any running turn.
            Some(prefix) => {
                FollowUp::Notify(completed(id, &turn, &completion::complete(&input, prefix)))
            }
            None => {
                let job = TurnJob {
                    thread: id.to_owned(),
                    turn: turn.clone(),
                    answer: compose::compose(&input, earlier, thread.tools())
                        .constrained_to(params.get("outputSchema")),
                    input_length: input.chars().count(),
                };
                self.control.register(&turn);
                FollowUp::RunTurn(Box::new(job))
            }
        };
        let turn = json!({"id": turn, "items": [], "status": "inProgress", "error": null});
        Ok((json!({ "turn": turn }), Some(then)))
    }
}

/// The notifications of a turn whose answer is `text`.
fn completed(thread: &str, turn: &str, text: &str) -> Vec<(&'static str, Value)> {
    let item = json!({"type": "agentMessage", "id": format!("msg_{turn}"), "text": text, "phase": "final_answer"});
    vec![
        (
            "turn/started",
            json!({"threadId": thread, "turn": {"id": turn, "status": "inProgress"}}),
        ),
        (
            "item/completed",
            json!({"threadId": thread, "turnId": turn, "item": item}),
        ),
        (
            "turn/completed",
            json!({"threadId": thread, "turn": {"id": turn, "items": [], "status": "completed", "error": null}}),
        ),
    ]
}

fn invalid(message: &str) -> RpcError {
    RpcError::new(-32600, message)
}
