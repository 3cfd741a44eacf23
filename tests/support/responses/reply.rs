//! What the scripted model says to one request: a status, or a stream of events with faults where wanted.

use std::io::{self, Write};

use serde_json::{Value, json};

/// An answer to one request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A stream.
    Stream(Vec<Event>),
    /// An HTTP status with headers and a body.
    Status(u16, Vec<(&'static str, String)>, String),
}

/// A piece of a streamed answer.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A whole message in these deltas, of this phase.
    Message(Vec<String>, Option<&'static str>),
    /// A message that begins and has these deltas, and no end.
    Begun(Vec<String>),
    /// A reasoning summary, by parts.
    Reasoning(Vec<String>),
    /// A function call: call id, name, arguments.
    Call(String, String, Value),
    /// A function call in a namespace: call id, namespace, name, arguments.
    NamespaceCall(String, String, String, Value),
    /// A custom tool call: call id, name, input.
    Custom(String, String, String),
    /// A web search.
    Search(String),
    /// The last event, with its token counts: input, cached, output, reasoning.
    Completed([u64; 4]),
    /// `response.failed` with code and message.
    Failed(&'static str, &'static str),
    /// Nothing until the endpoint is released.
    Hold,
    /// These bytes as they are.
    Raw(String),
}

impl Reply {
    /// A message in one piece, and the end.
    pub(crate) fn text(text: &str) -> Reply {
        Reply::deltas(&[text])
    }

    /// A message in pieces, and the end.
    pub(crate) fn deltas(deltas: &[&str]) -> Reply {
        Reply::Stream(vec![
            Event::Message(deltas.iter().map(|it| (*it).to_owned()).collect(), None),
            Event::Completed([100, 40, 10, 2]),
        ])
    }

    /// Function calls in one response.
    pub(crate) fn calls(calls: &[(&str, &str, Value)]) -> Reply {
        let mut events: Vec<Event> = calls
            .iter()
            .map(|(id, name, arguments)| {
                Event::Call((*id).into(), (*name).into(), arguments.clone())
            })
            .collect();
        events.push(Event::Completed([100, 40, 10, 2]));
        Reply::Stream(events)
    }

    /// JavaScript for code mode.
    pub(crate) fn exec(call: &str, script: &str) -> Reply {
        Reply::Stream(vec![
            Event::Custom(call.into(), "exec".into(), script.into()),
            Event::Completed([100, 40, 10, 2]),
        ])
    }

    /// An HTTP failure with an error body.
    pub(crate) fn status(status: u16, code: &str, message: &str) -> Reply {
        let body = json!({"error": {"code": code, "type": code, "message": message}});
        Reply::Status(status, Vec::new(), body.to_string())
    }

    /// Writes the whole HTTP response.
    pub(super) fn write(
        &self,
        index: usize,
        out: &mut impl Write,
        hold: &dyn Fn(),
    ) -> io::Result<()> {
        match self {
            Reply::Status(status, headers, body) => {
                write!(out, "HTTP/1.1 {status} Status\r\n")?;
                for (name, value) in headers {
                    write!(out, "{name}: {value}\r\n")?;
                }
                write!(
                    out,
                    "Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                )
            }
            Reply::Stream(events) => {
                write!(
                    out,
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                )?;
                let mut stream = Stream {
                    out,
                    response: format!("resp_{index}"),
                    items: 0,
                    index,
                };
                stream.send(
                    json!({"type": "response.created", "response": {"id": stream.response}}),
                )?;
                events
                    .iter()
                    .try_for_each(|event| stream.event(event, hold))
            }
        }
    }
}

struct Stream<'a, W: Write> {
    out: &'a mut W,
    response: String,
    items: usize,
    index: usize,
}

impl<W: Write> Stream<'_, W> {
    fn send(&mut self, event: Value) -> io::Result<()> {
        let kind = event["type"].as_str().unwrap_or_default();
        write!(self.out, "event: {kind}\ndata: {event}\n\n")?;
        self.out.flush()
    }

    fn item_id(&mut self, kind: &str) -> String {
        self.items += 1;
        format!("{kind}_{}_{}", self.index, self.items)
    }

    fn added(&mut self, item: Value) -> io::Result<()> {
        self.send(json!({"type": "response.output_item.added", "output_index": self.items - 1, "item": item}))
    }

    fn done(&mut self, item: Value) -> io::Result<()> {
        self.send(json!({"type": "response.output_item.done", "output_index": self.items - 1, "item": item}))
    }

    fn event(&mut self, event: &Event, hold: &dyn Fn()) -> io::Result<()> {
        match event {
            Event::Message(deltas, phase) => {
                let id = self.begun(deltas, *phase)?;
                let text = deltas.concat();
                let mut item = json!({
                    "type": "message", "role": "assistant", "id": id, "status": "completed",
                    "content": [{"type": "output_text", "text": text, "annotations": []}],
                });
                if let Some(phase) = phase {
                    item["phase"] = json!(phase);
                }
                self.done(item)
            }
            Event::Begun(deltas) => self.begun(deltas, None).map(drop),
            Event::Reasoning(parts) => self.reasoning(parts),
            Event::Call(call, name, arguments) => {
                let id = self.item_id("fc");
                let item = |arguments: String| json!({"type": "function_call", "id": id, "call_id": call, "name": name,
                    "arguments": arguments});
                self.added(item(String::new()))?;
                self.done(item(arguments.to_string()))
            }
            Event::NamespaceCall(call, namespace, name, arguments) => {
                let id = self.item_id("fc");
                let item = json!({"type": "function_call", "id": id, "call_id": call, "namespace": namespace,
                    "name": name, "arguments": arguments.to_string()});
                self.added(item.clone())?;
                self.done(item)
            }
            Event::Custom(call, name, input) => {
                let id = self.item_id("ctc");
                let item = |input: &str| json!({"type": "custom_tool_call", "id": id, "call_id": call, "name": name,
                    "input": input});
                self.added(item(""))?;
                self.send(json!({"type": "response.custom_tool_call_input.delta", "item_id": id,
                    "output_index": self.items - 1, "delta": input}))?;
                self.done(item(input))
            }
            Event::Search(query) => {
                let id = self.item_id("ws");
                let item = |status: &str| json!({"type": "web_search_call", "id": id, "status": status,
                    "action": {"type": "search", "query": query}});
                self.added(item("in_progress"))?;
                self.done(item("completed"))
            }
            Event::Completed([input, cached, output, reasoning]) => self.send(json!({
                "type": "response.completed",
                "response": {"id": self.response, "usage": {
                    "input_tokens": input, "input_tokens_details": {"cached_tokens": cached},
                    "output_tokens": output, "output_tokens_details": {"reasoning_tokens": reasoning},
                    "total_tokens": input + output,
                }},
            })),
            Event::Failed(code, message) => self.send(json!({
                "type": "response.failed",
                "response": {"id": self.response, "error": {"code": code, "message": message}},
            })),
            Event::Hold => {
                hold();
                Ok(())
            }
            Event::Raw(bytes) => {
                self.out.write_all(bytes.as_bytes())?;
                self.out.flush()
            }
        }
    }

    fn begun(&mut self, deltas: &[String], phase: Option<&str>) -> io::Result<String> {
        let id = self.item_id("msg");
        let mut item = json!({"type": "message", "role": "assistant", "id": id, "status": "in_progress",
            "content": []});
        if let Some(phase) = phase {
            item["phase"] = json!(phase);
        }
        self.added(item)?;
        for delta in deltas {
            self.send(json!({
                "type": "response.output_text.delta", "item_id": id,
                "output_index": self.items - 1, "content_index": 0, "delta": delta,
            }))?;
        }
        Ok(id)
    }

    fn reasoning(&mut self, parts: &[String]) -> io::Result<()> {
        let id = self.item_id("rs");
        let output = self.items - 1;
        self.added(json!({"type": "reasoning", "id": id, "summary": []}))?;
        for (part, text) in parts.iter().enumerate() {
            self.send(json!({"type": "response.reasoning_summary_part.added", "item_id": id, "output_index": output,
                "summary_index": part, "part": {"type": "summary_text", "text": ""}}))?;
            self.send(json!({"type": "response.reasoning_summary_text.delta", "item_id": id, "output_index": output,
                "summary_index": part, "delta": text}))?;
            self.send(json!({"type": "response.reasoning_summary_text.done", "item_id": id, "output_index": output,
                "summary_index": part, "text": text}))?;
        }
        let summary: Vec<Value> = parts
            .iter()
            .map(|text| json!({"type": "summary_text", "text": text}))
            .collect();
        self.done(json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": "sealed"}))
    }
}
