//! What one cell shows while it runs, as a notebook keeps it.
//!
//! In: the events of its run. Out: outputs of nbformat 4. Invariants: printed text keeps its stream and its order
//! among the values; a display that is updated or shown again is replaced wherever it stands, also in earlier cells;
//! bytes over a limit are left out and said.

use std::collections::HashMap;

use serde_json::Value;

use crate::notebook::output_value;
use crate::output::{CellError, CellOutput, STDERR, STDOUT};
use crate::runtime::{Display, Ending, OutputStream};
use crate::session::{BeginEvent, CellEvent, SessionEvent};

/// Bytes of printed text that are kept of one cell.
const MOST_PRINTED: usize = 64 << 20;

/// What a cell has shown so far.
#[derive(Debug, Default)]
pub(super) struct Collected {
    outputs: Vec<Shown>,
    /// Its In number.
    line: Option<u32>,
    /// Bytes that are no whole character yet, of both streams.
    rest: [Vec<u8>; 2],
    /// What is there goes when something comes.
    clears: bool,
    printed: usize,
    /// How it failed.
    failed: Option<String>,
}

/// An output, and the display it is.
#[derive(Debug)]
struct Shown {
    is: Is,
    display: Option<String>,
}

#[derive(Debug)]
enum Is {
    /// Text of a stream: 0 standard output, 1 standard error.
    Text(usize, String),
    Other(Value),
}

/// The names of the streams in files.
const STREAMS: [&str; 2] = [STDOUT, STDERR];

impl Collected {
    /// Takes an event. A display with an id is given back: it is what all displays of this id show from now on.
    pub(super) fn on(&mut self, event: &SessionEvent) -> Option<(String, Value)> {
        match event {
            SessionEvent::Begin(BeginEvent::Input { line, .. }) => self.line = Some(*line),
            SessionEvent::Cell(event) => return self.cell(event),
            SessionEvent::RuntimeDied { death, .. } => {
                self.fail("DeadKernel", &format!("the interpreter ended: {death}"));
            }
            SessionEvent::Notice(notice) if notice.warning => {
                self.failed.get_or_insert_with(|| notice.message.clone());
            }
            _ => {}
        }
        None
    }

    fn cell(&mut self, event: &CellEvent) -> Option<(String, Value)> {
        match event {
            CellEvent::Output { stream, bytes, .. } => {
                let stream = usize::from(*stream == OutputStream::Stderr);
                self.print(stream, bytes);
            }
            CellEvent::Display(display) => return self.display(display),
            CellEvent::Clear { wait: true } => self.clears = true,
            CellEvent::Clear { wait: false } => self.outputs.clear(),
            CellEvent::Raised(error) => {
                self.failed = Some(error.summary());
                self.add(
                    output_value(&CellOutput::Error(error.clone()), self.line),
                    None,
                );
            }
            CellEvent::Ended { ending, .. } => match ending {
                Ending::Interrupted if self.failed.is_none() => {
                    self.fail("KeyboardInterrupt", "the cell was interrupted");
                }
                Ending::Lost(why) => {
                    self.fail("DeadKernel", &format!("the connection was lost: {why}"))
                }
                _ => {}
            },
            CellEvent::Late { event, .. } => return self.cell(event),
            CellEvent::Started
            | CellEvent::Comm(_)
            | CellEvent::Status(_)
            | CellEvent::InputRequested { .. } => {}
        }
        None
    }

    /// Says in its outputs why it did not end well.
    pub(super) fn fail(&mut self, name: &str, value: &str) {
        let error = CellError {
            name: name.to_owned(),
            value: value.to_owned(),
            traceback: vec![format!("{name}: {value}")],
            leaves: None,
        };
        self.failed = Some(error.summary());
        self.add(output_value(&CellOutput::Error(error), self.line), None);
    }

    fn add(&mut self, value: Value, display: Option<String>) {
        if std::mem::take(&mut self.clears) {
            self.outputs.clear();
        }
        let is = Is::Other(value);
        self.outputs.push(Shown { is, display });
    }

    fn print(&mut self, stream: usize, bytes: &[u8]) {
        let mut all = std::mem::take(&mut self.rest[stream]);
        all.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&all) {
            // A character that goes on with the next bytes.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => all.len(),
        };
        self.rest[stream] = all.split_off(whole);
        let text = String::from_utf8_lossy(&all);
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.clears) {
            self.outputs.clear();
        }
        let before = self.printed;
        self.printed += text.len();
        if self.printed > MOST_PRINTED {
            if before <= MOST_PRINTED {
                let said = format!(
                    "[what was printed after the first {} MiB is not kept]\n",
                    MOST_PRINTED >> 20
                );
                self.text(1, &said);
            }
            return;
        }
        self.text(stream, &text);
    }

    fn text(&mut self, stream: usize, text: &str) {
        match self.outputs.last_mut() {
            Some(Shown {
                is: Is::Text(last, before),
                ..
            }) if *last == stream => before.push_str(text),
            _ => self.outputs.push(Shown {
                is: Is::Text(stream, text.to_owned()),
                display: None,
            }),
        }
    }

    fn display(&mut self, display: &Display) -> Option<(String, Value)> {
        let bundle = display.bundle.clone();
        let output = match display.execution_count {
            Some(_) => CellOutput::Result(bundle),
            None => CellOutput::Display(bundle),
        };
        let value = output_value(&output, display.execution_count);
        let id = display.display_id.clone();
        if !display.update {
            self.add(value.clone(), id.clone());
        }
        id.map(|id| (id, value))
    }

    /// Its In number.
    pub(super) fn line(&self) -> Option<u32> {
        self.line
    }

    /// How it failed.
    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// The outputs, where displays of an id show what was shown last.
    pub(super) fn outputs(&self, last: &HashMap<String, Value>) -> Vec<Value> {
        let last = |shown: &Shown| last.get(shown.display.as_ref()?);
        let value = |shown: &Shown| match &shown.is {
            Is::Text(stream, text) => {
                let (name, text) = (STREAMS[*stream].to_owned(), text.clone());
                output_value(&CellOutput::Stream { name, text }, None)
            }
            Is::Other(value) => {
                let mut value = value.clone();
                if let Some(last) = last(shown) {
                    // What it is (a value, a display) stays.
                    value["data"] = last["data"].clone();
                    value["metadata"] = last["metadata"].clone();
                }
                value
            }
        };
        self.outputs.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::MimeBundle;
    use serde_json::json;

    fn print(stream: OutputStream, bytes: &[u8]) -> SessionEvent {
        SessionEvent::Cell(CellEvent::Output {
            stream,
            bytes: bytes.to_vec(),
            foreign: false,
        })
    }

    fn show(text: &str, id: Option<&str>, update: bool) -> SessionEvent {
        SessionEvent::Cell(CellEvent::Display(Display {
            display_id: id.map(str::to_owned),
            update,
            ..Display::of(MimeBundle::plain(text))
        }))
    }

    #[test]
    fn outputs_keep_their_order_and_streams() {
        let mut cell = Collected::default();
        let mut last = HashMap::new();
        let (out, err) = (OutputStream::Stdout, OutputStream::Stderr);
        for event in [
            print(out, b"a\xc3"),
            print(out, b"\xa9"),
            print(err, b"e\n"),
            show("1", Some("x"), false),
            print(out, b"b"),
            show("2", Some("x"), true),
        ] {
            last.extend(cell.on(&event));
        }
        let stream =
            |name: &str, text: &str| json!({"name": name, "output_type": "stream", "text": [text]});
        let shown =
            json!({"data": {"text/plain": ["2"]}, "metadata": {}, "output_type": "display_data"});
        assert_eq!(
            cell.outputs(&last),
            [
                stream("stdout", "aé"),
                stream("stderr", "e\n"),
                shown,
                stream("stdout", "b")
            ]
        );
        let later = cell.on(&show("3", Some("y"), true));
        assert_eq!(later.map(|(id, _)| id).as_deref(), Some("y"));
        cell.on(&SessionEvent::Cell(CellEvent::Clear { wait: true }));
        assert_eq!(cell.outputs(&last).len(), 4);
        cell.on(&print(out, b"c"));
        assert_eq!(cell.outputs(&last), [stream("stdout", "c")]);
        assert_eq!(cell.failed(), None);
    }

    #[test]
    fn a_display_that_is_shown_again_and_updated_changes_those_before() {
        let cells = [
            vec![show("1", Some("x"), false), show("other", None, false)],
            vec![show("2", Some("x"), false), show("3", Some("x"), true)],
            vec![show("4", Some("x"), false)],
        ];
        let mut last = HashMap::new();
        let mut collected: [Collected; 3] = Default::default();
        for (cell, events) in collected.iter_mut().zip(&cells) {
            last.extend(events.iter().filter_map(|event| cell.on(event)));
        }
        let texts = |cell: &Collected| -> Vec<String> {
            let outputs = cell.outputs(&last);
            let text = |output: &Value| output["data"]["text/plain"][0].as_str().map(str::to_owned);
            outputs.iter().filter_map(text).collect()
        };
        assert_eq!(
            collected.each_ref().map(texts),
            [vec!["4", "other"], vec!["4"], vec!["4"]]
        );
    }
}
