//! The lines that come up the private pipe: frames; protocol version 1.
//!
//! In: one line of the frame pipe. Out: a [`RunnerFrame`]. Invariants: a frame of an unknown type or with unknown
//! fields is accepted and ignored; a line that is not a frame is an error that names what was there. Lone surrogate
//! escapes, which Python can write and Rust text cannot hold, become U+FFFD. Absent on purpose: order and meaning
//! (`sequencer.rs`, `map.rs`).

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::RequestId;
use super::host_calls::HostCallFrame;
use crate::text::json as foreign;

/// The version of the protocol this host speaks.
pub(super) const PROTOCOL: u64 = 1;

/// Longest frame line, in bytes.
pub(super) const LONGEST_LINE: usize = 64 * 1024 * 1024 + 64 * 1024;

/// One frame and its place in the output.
#[derive(Debug)]
pub(super) struct SyncedFrame {
    /// The number of the marks that stand in the streams where this frame belongs; `None`: anywhere.
    pub(super) sync: Option<u64>,
    /// The frame.
    pub(super) frame: RunnerFrame,
}

/// What the runner says.
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
        /// Why it could not be confined as it was to be.
        #[serde(default)]
        unprotected: Option<String>,
    },
    /// Asked to leave, it runs what is to run at exit from here on.
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
        /// The request that started what says it.
        #[serde(default)]
        of: FrameId,
        #[serde(flatten)]
        message: Box<Comm>,
    },
    Display {
        /// The request that started what shows it.
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
        /// A line of the user's; without one it is what a command of the engine has done.
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
        /// What `exit()` was given: nothing, a number or a text.
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
    /// Another process goes on as the interpreter.
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
    /// A type this host does not know, `status` among them.
    #[serde(other)]
    Unknown,
}

/// The request a frame belongs to; none when the runner had none at hand (empty text on the wire).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "Value")]
pub(super) struct FrameId(pub(super) Option<RequestId>);

impl From<Value> for FrameId {
    fn from(value: Value) -> Self {
        FrameId(value.as_u64().map(RequestId))
    }
}

/// A message of a comm on the wire; buffers in base64.
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

/// An exception on the wire.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Raised {
    pub(super) ename: String,
    pub(super) evalue: String,
    pub(super) traceback: Vec<String>,
}

/// Reads one line of the frame pipe, without its newline.
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

/// The start of foreign bytes, fit for a message.
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

/// Cuts the frame pipe into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Bytes known to hold no newline.
    searched: usize,
}

impl Lines {
    /// Adds what was read.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line, without its newline. An endless one is handed out in part: no frame is that long.
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

    /// What stands after the last newline.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        self.searched = 0;
        std::mem::take(&mut self.buffer)
    }
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
