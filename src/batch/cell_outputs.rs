//! Collects the outputs of one cell as a notebook keeps them.
//!
//! In: the events of its run. Out: outputs of nbformat 4. Invariants: printed text keeps its stream and its order
//! among the values, and overwritten lines keep only their last state; a display that is updated or shown again is
//! replaced at every place, also in earlier cells; bytes over a limit are dropped with a notice.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::notebook::output_value;
use crate::output::sequence::Sequences;
use crate::output::transcript::Printed;
use crate::output::{CellError, CellOutput, STDERR, STDOUT};
use crate::runtime::{DisplayData, Ending, OutputStream};
use crate::session::{BeginEvent, CellEvent, SessionEvent};

/// Maximum bytes of printed text kept per cell.
const MOST_PRINTED: usize = 64 << 20;

#[derive(Debug, Default)]
pub(super) struct CellOutputs {
    outputs: Vec<Shown>,
    line: Option<u32>,
    /// Parsers of terminal bytes, one for each stream.
    sequences: [Sequences; 2],
    /// The outputs are cleared when the next one comes.
    clears: bool,
    /// Bytes of printed text in outputs that are followed by others.
    printed: usize,
    /// The limit was reached.
    full: bool,
    failed: Option<String>,
}

/// An output, and the id of its display.
#[derive(Debug)]
struct Shown {
    is: Is,
    display: Option<String>,
}

#[derive(Debug)]
enum Is {
    /// Text of a stream: 0 standard output, 1 standard error.
    Text(usize, Printed),
    Other(Value),
}

/// Names of the streams in nbformat.
const STREAMS: [&str; 2] = [STDOUT, STDERR];

impl CellOutputs {
    /// Takes an event. Returns a display with an id: the content of all displays of this id from now on.
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
            CellEvent::Clear { wait: false } => self.clear(),
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

    /// Adds an error output with the reason of the failure.
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
            self.clear();
        }
        if let Some(Is::Text(_, before)) = self.outputs.last().map(|shown| &shown.is) {
            self.printed += before.length();
        }
        let is = Is::Other(value);
        self.outputs.push(Shown { is, display });
    }

    fn clear(&mut self) {
        self.outputs.clear();
        (self.printed, self.full) = (0, false);
    }

    fn print(&mut self, stream: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if std::mem::take(&mut self.clears) {
            self.clear();
        }
        if self.full {
            return;
        }
        let goes_on = matches!(self.outputs.last(), Some(Shown { is: Is::Text(last, _), .. }) if *last == stream);
        if !goes_on {
            if let Some(Is::Text(_, before)) = self.outputs.last().map(|shown| &shown.is) {
                self.printed += before.length();
            }
            let room = MOST_PRINTED.saturating_sub(self.printed);
            if room == 0 {
                return self.leave_out();
            }
            self.text(stream, Printed::new(room));
        }
        if let Some(Is::Text(_, printed)) = self.outputs.last_mut().map(|shown| &mut shown.is) {
            printed.push(&mut self.sequences[stream], bytes);
            if printed.is_cut() {
                self.leave_out();
            }
        }
    }

    /// Drops printed text from here on, and adds a notice of that.
    fn leave_out(&mut self) {
        self.full = true;
        let said = format!(
            "[what was printed after the first {} MiB is not kept]\n",
            MOST_PRINTED >> 20
        );
        let mut printed = Printed::new(said.len());
        printed.push(&mut Sequences::default(), said.as_bytes());
        self.text(1, printed);
    }

    fn text(&mut self, stream: usize, printed: Printed) {
        self.outputs.push(Shown {
            is: Is::Text(stream, printed),
            display: None,
        });
    }

    fn display(&mut self, display: &DisplayData) -> Option<(String, Value)> {
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

    pub(super) fn line(&self) -> Option<u32> {
        self.line
    }

    pub(super) fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Returns the outputs; `last` has the current content of the displays by id.
    pub(super) fn outputs(&self, last: &HashMap<String, Value>) -> Vec<Value> {
        let last = |shown: &Shown| last.get(shown.display.as_ref()?);
        let value = |shown: &Shown| match &shown.is {
            Is::Text(stream, printed) => {
                let (text, rest) = printed.parts();
                let text = text.to_owned() + &rest;
                (!text.is_empty()).then(
                    || json!({"name": STREAMS[*stream], "output_type": "stream", "text": text}),
                )
            }
            Is::Other(value) => {
                let mut value = value.clone();
                if let Some(last) = last(shown) {
                    // The output keeps its type (a value or a display).
                    value["data"] = last["data"].clone();
                    value["metadata"] = last["metadata"].clone();
                }
                Some(value)
            }
        };
        self.outputs.iter().filter_map(value).collect()
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
        SessionEvent::Cell(CellEvent::Display(DisplayData {
            display_id: id.map(str::to_owned),
            update,
            ..DisplayData::new(MimeBundle::plain(text))
        }))
    }

    #[test]
    fn outputs_keep_their_order_and_streams() {
        let mut cell = CellOutputs::default();
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
            |name: &str, text: &str| json!({"name": name, "output_type": "stream", "text": text});
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
        // A progress bar is kept in its last state, also when it arrives in pieces.
        for bytes in [&b"\r10%"[..], b"\r2", b"0%\x1b[31m!"] {
            cell.on(&print(err, bytes));
        }
        assert_eq!(
            cell.outputs(&last)[4],
            stream("stderr", "20%\u{1b}[31m!\u{1b}[0m")
        );
        cell.on(&SessionEvent::Cell(CellEvent::Clear { wait: true }));
        assert_eq!(cell.outputs(&last).len(), 5);
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
        let mut collected: [CellOutputs; 3] = Default::default();
        for (cell, events) in collected.iter_mut().zip(&cells) {
            last.extend(events.iter().filter_map(|event| cell.on(event)));
        }
        let texts = |cell: &CellOutputs| -> Vec<String> {
            let outputs = cell.outputs(&last);
            let text = |output: &Value| output["data"]["text/plain"][0].as_str().map(str::to_owned);
            outputs.iter().filter_map(text).collect()
        };
        assert_eq!(
            collected.each_ref().map(texts),
            [vec!["4", "other"], vec!["4"], vec!["4"]]
        );
    }

    #[test]
    fn what_is_over_the_limit_is_left_out_and_said() {
        let mut cell = CellOutputs::default();
        let block = [vec![b'x'; 1 << 13], b"\n".to_vec()]
            .concat()
            .repeat(1 << 7);
        for _ in 0..70 {
            cell.on(&print(OutputStream::Stdout, &block));
            cell.on(&print(OutputStream::Stderr, b"."));
        }
        cell.on(&show("1", None, false));
        let outputs = cell.outputs(&HashMap::new());
        let sizes = outputs
            .iter()
            .map(|output| output["text"].as_str().map_or(0, str::len));
        // The rows that could still be changed are not counted in the limit.
        assert!(sizes.sum::<usize>() <= MOST_PRINTED + (1 << 17));
        let [.., said, last] = outputs.as_slice() else {
            panic!("nothing is kept");
        };
        assert!(
            said.to_string().contains("after the first 64 MiB"),
            "{said}"
        );
        assert_eq!(last["output_type"], "display_data");
    }
}
