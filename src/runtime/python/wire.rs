//! Decodes frames, the lines of the frame pipe; protocol version 1.
//!
//! In: one line. Out: a [`RunnerFrame`]. Invariants: a frame of an unknown type or with unknown fields is accepted
//! and ignored; a line that is not a frame is an error that quotes its start. Lone surrogate escapes, which Python
//! can write and Rust text cannot hold, become U+FFFD. Absent on purpose: order and meaning (`sequencer.rs`,
//! `map.rs`).

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::RequestId;
use super::host_calls::HostCallFrame;
use crate::text::json as foreign;

pub(super) const PROTOCOL: u64 = 1;

pub(super) const LONGEST_LINE: usize = 64 * 1024 * 1024 + 64 * 1024;

/// A frame and its place in the output.
#[derive(Debug)]
pub(super) struct SyncedFrame {
    /// Number of the marks at this frame's place in the streams; `None`: the place does not matter.
    pub(super) sync: Option<u64>,
    pub(super) frame: RunnerFrame,
}

#[derive(Debug, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub(super) enum RunnerFrame {
    Ready {
        pid: u32,
        python: String,
        #[serde(default)]
        ipython: Option<String>,
        protocol: u64,
        #[serde(default)]
        executable: String,
        #[serde(default)]
        unprotected: Option<String>,
    },
    /// Shutdown was requested; at-exit functions run from here on.
    Leaving {},
    Started {
        #[serde(default)]
        id: FrameId,
    },
    Result {
        #[serde(default)]
        id: FrameId,
        bundle: Map<String, Value>,
        #[serde(default)]
        metadata: Box<Map<String, Value>>,
        #[serde(default)]
        execution_count: Option<u32>,
        #[serde(default)]
        transient: Box<Map<String, Value>>,
    },
    Comm {
        /// The request that caused the message.
        #[serde(default)]
        of: FrameId,
        #[serde(flatten)]
        message: Box<Comm>,
    },
    Display {
        /// The request that caused the display.
        #[serde(default)]
        of: FrameId,
        bundle: Map<String, Value>,
        #[serde(default)]
        metadata: Box<Map<String, Value>>,
        #[serde(default)]
        display_id: Option<String>,
        #[serde(default)]
        transient: Box<Map<String, Value>>,
        #[serde(default)]
        update: bool,
    },
    Clear {
        #[serde(default)]
        wait: bool,
    },
    Page {
        bundle: Map<String, Value>,
    },
    InputRequest {
        #[serde(default)]
        id: FrameId,
        call: Value,
        #[serde(default)]
        prompt: String,
        #[serde(default)]
        password: bool,
    },
    Notice {
        text: String,
    },
    RecordRequest {
        #[serde(default)]
        id: FrameId,
        call: Value,
    },
    Call {
        #[serde(default)]
        id: FrameId,
        call: Value,
        #[serde(default)]
        waits: bool,
        #[serde(flatten)]
        wish: Box<HostCallFrame>,
    },
    CalledOff {
        call: Value,
    },
    Status {
        #[serde(default)]
        id: FrameId,
        /// A line of the user's code; without one, the text describes a step of the engine's own command.
        text: Option<String>,
    },
    NextInput {
        #[serde(default)]
        id: FrameId,
        text: String,
        #[serde(default)]
        replace: bool,
    },
    ExitRequested {
        #[serde(default)]
        id: FrameId,
        /// Argument of `exit()`: nothing, a number or a text.
        #[serde(default)]
        code: Value,
        #[serde(default, rename = "keepKernel")]
        keep_kernel: bool,
    },
    Error {
        #[serde(default)]
        id: FrameId,
        #[serde(flatten)]
        error: Raised,
    },
    Done {
        #[serde(default)]
        id: FrameId,
        #[serde(default)]
        status: String,
        #[serde(default)]
        cancelled: bool,
        #[serde(default)]
        ms: f64,
        #[serde(default)]
        cwd: Option<String>,
        #[serde(default)]
        typeahead: String,
    },
    /// Another process continues as the interpreter.
    Moved {
        pid: u32,
    },
    Typed {
        #[serde(default)]
        id: FrameId,
        #[serde(default)]
        typeahead: String,
    },
    Answer {
        #[serde(default)]
        id: FrameId,
        #[serde(flatten)]
        answer: Map<String, Value>,
    },
    /// Types that this host does not know, `status` among them.
    #[serde(other)]
    Unknown,
}

/// The request a frame belongs to; `None` when the runner had none at hand (empty text on the wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "Value")]
pub(super) struct FrameId(pub(super) Option<RequestId>);

impl From<Value> for FrameId {
    fn from(value: Value) -> Self {
        FrameId(value.as_u64().map(RequestId))
    }
}

/// A comm message on the wire; buffers in base64.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Comm {
    pub(super) op: String,
    pub(super) comm: String,
    pub(super) target: Option<String>,
    pub(super) data: Value,
    pub(super) metadata: Map<String, Value>,
    pub(super) buffers: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raised {
    pub(super) ename: String,
    pub(super) evalue: String,
    pub(super) traceback: Vec<String>,
}

/// Decodes one line of the frame pipe, without its newline.
///
/// # Errors
/// The start of the line, when it is not a frame.
pub(super) fn parse_frame(line: &[u8]) -> Result<SyncedFrame, String> {
    let Ok(value @ Value::Object(_)) = foreign::parse(line) else {
        return Err(excerpt(line));
    };
    let sync = value.get("sync").and_then(Value::as_u64);
    let frame =
        RunnerFrame::deserialize(value).map_err(|error| format!("{error}: {}", excerpt(line)))?;
    Ok(SyncedFrame { sync, frame })
}

/// Returns the start of foreign bytes, made safe for a message.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(120)];
    let text: String = String::from_utf8_lossy(shown)
        .chars()
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect()
            } else {
                vec![c]
            }
        })
        .collect();
    if shown.len() < bytes.len() {
        text + "…"
    } else {
        text
    }
}

#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Number of bytes known to hold no newline.
    searched: usize,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next whole line, without its newline. An endless line is returned in part: no frame is that
    /// long.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return (self.searched > LONGEST_LINE).then(|| self.rest());
        };
        let rest = self.buffer.split_off(self.searched + found + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.pop();
        self.searched = 0;
        Some(line)
    }

    /// Takes the bytes after the last newline.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        self.searched = 0;
        std::mem::take(&mut self.buffer)
    }
}

/// Returns the `type`, `op` and `id` of a line of JSON, without its content.
pub(super) fn describe_line(line: &[u8]) -> String {
    let value = foreign::parse(line).unwrap_or_default();
    let words = ["type", "op", "id"].into_iter().map(|key| &value[key]);
    let words = words.filter(|word| !word.is_null());
    let words: Vec<String> = words
        .map(|word| {
            word.as_str()
                .map_or_else(|| word.to_string(), str::to_owned)
        })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_types_and_fields_are_accepted_and_garbage_is_not() {
        for line in [
            r#"{"type":"telemetry","x":1}"#,
            r#"{"type":"weather","id":1,"event":{"op":"cd"}}"#,
        ] {
            let parsed = parse_frame(line.as_bytes()).unwrap();
            assert!(matches!(parsed.frame, RunnerFrame::Unknown), "{line}");
        }
        assert!(matches!(
            parse_frame(br#"{"type":"started","id":1,"new":true}"#)
                .unwrap()
                .frame,
            RunnerFrame::Started {
                id: FrameId(Some(RequestId(1)))
            }
        ));
        for line in ["hello", "", "[]", "7", r#"{"id":1}"#, "\u{1b}[31m"] {
            let told = parse_frame(line.as_bytes()).unwrap_err();
            assert!(!told.contains('\u{1b}'), "{told}");
        }
    }

    #[test]
    fn lines_come_whole_however_they_were_read() {
        let text = b"one\ntwo\n\nthree";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut got = Vec::new();
            for chunk in text.chunks(size) {
                lines.push(chunk);
                got.extend(std::iter::from_fn(|| lines.next()));
            }
            assert_eq!(got, [b"one".to_vec(), b"two".to_vec(), Vec::new()]);
            assert_eq!(lines.rest(), b"three");
        }
    }
}
