//! What agents and clients say, line by line: JSON-RPC as such, an agent's side of a turn, a client of our MCP server.

use std::io::BufReader;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use ipycodex::agent::connect::{AgentConfig, AgentKind, Program};
use ipycodex::agent::{AgentEvent, AgentReply, QuestionAnswer};
use ipycodex::rpc::{Dialect, RpcFrame, RpcId, decode, encode, encode_batch, read_frame};
use serde_json::{Value, json};

use super::mutate::{cuts, number_of};
use crate::codex::harness::{self, Harness};
use crate::mcp::client::Client;
use crate::support::home::Home;

/// Any bytes are lines, and each line a message or junk, however they are cut; a message that is written is one line,
/// and is read as it was.
pub fn rpc(bytes: &[u8]) {
    let frames = |capacity: usize| {
        let (mut reader, mut line) = (BufReader::with_capacity(capacity, bytes), Vec::new());
        let mut found = Vec::new();
        while let Some(frame) = read_frame(&mut reader, &mut line).expect("memory can be read") {
            assert!(line.len() <= bytes.len() && line.capacity() <= 2 * bytes.len() + 64);
            found.push(frame);
        }
        found
    };
    let whole = frames(bytes.len().max(1));
    for cut in cuts(bytes) {
        assert_eq!(frames(cut.max(1)), whole, "in pieces of {cut}");
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    assert!(whole.len() <= lines.clone().count());
    let alone: Vec<RpcFrame> = lines.map(decode).collect();
    let messages = |frames: &[RpcFrame]| -> Vec<RpcFrame> {
        let is_message = |frame: &&RpcFrame| matches!(frame, RpcFrame::Message(_));
        frames.iter().filter(is_message).cloned().collect()
    };
    assert_eq!(messages(&alone), messages(&whole));
    for frame in &whole {
        let RpcFrame::Message(message) = frame else {
            continue;
        };
        for dialect in [Dialect::Bare, Dialect::Versioned] {
            let line = encode(message.clone(), dialect);
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert!(line.ends_with(b"\n") && std::str::from_utf8(&line).is_ok());
            assert_eq!(decode(&line), *frame);
            let batch = encode_batch(vec![message.clone(), message.clone()], dialect);
            let read: Vec<Value> = serde_json::from_slice(&batch).expect("a batch is a list");
            assert_eq!(read.len(), 2);
        }
    }
}

/// A program that says a part of the input behind each line that it reads, or when none comes, and then ends.
const SPEAKER: &str = "for ((n = 1; ; n++)); do IFS= read -r -t 0.1 line || (($? > 128)) || exit 0; \
                       [ -e $n ] || exit 0; cat $n; [ -e $((n + 1)) ] || exit 0; done";

/// A line between what an agent says to one line and to the next.
const NEXT: &[u8] = b"\n---\n";

/// Puts the parts of an input into files.
fn parts(bytes: &[u8], folder: &Path) {
    let mut rest = bytes;
    for number in 1.. {
        let at = rest.windows(NEXT.len()).position(|part| part == NEXT);
        let part = &rest[..at.map_or(rest.len(), |at| at + 1)];
        std::fs::write(folder.join(number.to_string()), part).unwrap();
        match at {
            Some(at) if number < 20 => rest = &rest[at + NEXT.len()..],
            _ => return,
        }
    }
}

/// A turn with an agent that says this ends once, whatever it says, and the agent can be asked again.
fn turns(bytes: &[u8], config: impl Fn(&Path, &Path) -> AgentConfig) {
    let folder = harness::folder();
    parts(bytes, folder.path());
    let speaker = folder.path().join("speaker");
    crate::support::write_executable(&speaker, &format!("#!/bin/bash\n{SPEAKER}\n"));
    let mut config = config(&speaker, folder.path());
    for timeout in [
        &mut config.timeouts.initialize,
        &mut config.timeouts.request,
    ] {
        *timeout = std::time::Duration::from_secs(20);
    }
    let mut harness = Harness::new(config);
    for _ in 0..2 {
        let request = harness::request("why?", folder.path());
        let turn = harness.agent.start(request);
        let events = harness.finish(turn, |agent, turn, event| {
            if let AgentEvent::QuestionAsked { question, .. } = event {
                let answer = QuestionAnswer::Declined;
                let question = question.id.clone();
                agent.reply(turn, AgentReply::Answer { question, answer });
            }
        });
        if let Some(Err(failure)) = &events.end {
            assert!(!failure.message.contains(char::is_control), "{failure:?}");
        }
        assert!(
            events.text().len() <= 4 * bytes.len(),
            "more text than was said"
        );
    }
}

pub fn acp(bytes: &[u8]) {
    turns(bytes, |speaker, folder| {
        let kind = AgentKind::Acp(Program {
            name: "fake".into(),
            command: vec![speaker.display().to_string()],
            ..Program::default()
        });
        harness::plan(kind, folder, folder)
    });
}

pub fn codex(bytes: &[u8]) {
    turns(bytes, |speaker, folder| {
        let kind = AgentKind::Codex {
            command: vec![speaker.display().to_string()],
        };
        harness::plan(kind, folder, folder)
    });
}

/// The server of all inputs, in its home.
static SERVER: LazyLock<Mutex<Option<(Home, Client)>>> = LazyLock::new(Mutex::default);

fn server() -> (Home, Client) {
    let home = Home::new();
    let client = Client::start(&home, &[]);
    (home, client)
}

/// Each request with an id of its own is answered once, and nothing else is; the server goes on.
pub fn mcp(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    bytes.push(b'\n');
    let mut kept = SERVER.lock().unwrap_or_else(|broken| broken.into_inner());
    let (home, mut client) = kept.take().unwrap_or_else(server);
    client.write(&bytes);
    let end = format!("end of {:016x}", number_of(&bytes));
    client.say(json!({"id": end, "method": "ping"}));
    // Those that must be answered, and those that may be: what is no request is refused, a batch is in some revisions.
    let (mut wanted, mut allowed): (Vec<RpcId>, Vec<RpcId>) = Default::default();
    let mut most = 0;
    // Some may come after the end: of what was cancelled, a subscription, a batch.
    let mut late = false;
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let Ok(value) = ipycodex::text::json::parse(line) else {
            most += 1;
            continue;
        };
        // What is no request may be refused under the id of one.
        late |= value.is_array() || !value["method"].is_string();
        most += value.as_array().map_or(1, |items| items.len().max(1));
        let alone = [value.clone()];
        for value in value.as_array().map_or(alone.as_slice(), Vec::as_slice) {
            late |= value["method"] == "notifications/cancelled"
                || value["method"] == "subscriptions/listen";
            allowed.extend(RpcId::from_value(&value["id"]));
        }
        let id = RpcId::from_value(&value["id"]);
        wanted.extend(id.filter(|_| value["method"].is_string()));
    }
    // The answers may come in another order; the session runs calls one by one.
    let mut answers: Vec<Value> = Vec::new();
    let ended = |answers: &[Value]| answers.iter().any(|it| it["id"] == *end);
    let times = |id: &RpcId, all: &[RpcId]| all.iter().filter(|other| *other == id).count();
    let told = |id: &Value, answers: &[Value]| answers.iter().filter(|it| it["id"] == *id).count();
    let all = |answers: &[Value]| {
        let enough = |id| told(&RpcId::to_value(id), answers) >= times(id, &wanted);
        wanted.iter().all(enough)
    };
    while !ended(&answers) || !(late || all(&answers)) {
        let said = client.expect("an answer to everything", |said| {
            said.get("method").is_none()
        });
        match said {
            Value::Array(items) => answers.extend(items),
            said => answers.push(said),
        }
    }
    assert!(
        answers.len() <= most + 1,
        "{} answers to {most} messages",
        answers.len()
    );
    for answer in answers.iter().filter(|answer| answer["id"] != *end) {
        assert_eq!(
            answer["result"].is_null(),
            !answer["error"].is_null(),
            "{answer}"
        );
        let Some(id) = RpcId::from_value(&answer["id"]) else {
            continue;
        };
        let (told, most) = (told(&answer["id"], &answers), times(&id, &allowed));
        assert!(told <= most, "{told} answers to {most}: {answer}");
    }
    *kept = (!late).then_some((home, client));
}
