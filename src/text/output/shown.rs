//! The outputs of a cell in order: printed text, values, displays, an error; as notebooks and exports have them.
//!
//! The record keeps a cell's plain text, the MIME bundles of its values, and a [`Layout`]: where in that text the
//! values, the traceback and standard error are. In: these three. Out: [`CellOutput`]s. Invariants: total; a layout
//! that does not fit its text (a text cut in the middle, a damaged row) loses no value; text printed between values
//! stays between them.
//!
//! Absent on purpose: colours, and the streams of a cell with a terminal of its own, which joins them.

use std::ops::Range;

use serde_json::{Map, Value, json};

use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;

#[derive(Debug, Clone, PartialEq)]
pub enum CellOutput {
    /// Printed text, escapes applied; ends in a newline, unless the other stream continues in the same line.
    Stream {
        /// [`STDOUT`], [`STDERR`], or another name from a file of another program.
        name: String,
        text: String,
    },
    Result(MimeBundle),
    /// A `display_data` output.
    Display(MimeBundle),
    /// The exception that the cell raised, without colours.
    Error(CellError),
}

pub const STDOUT: &str = "stdout";

pub const STDERR: &str = "stderr";

/// Where values, the error and standard error are in the plain text of a cell, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    parts: Vec<Part>,
    /// Metadata of the notebook's cell that ran.
    metadata: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// Range in bytes of the text.
    range: Range<u64>,
    is: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// The value: its index among the bundles.
    Result(usize),
    /// A display: its index among the bundles.
    Display(usize),
    /// The exception's class and its text.
    Error(String, String),
    /// Text of an updated display, whose bundle belongs to its first place.
    Again,
    Stderr,
}

impl Layout {
    /// Keeps the metadata of the notebook's cell that runs.
    pub fn loaded_with(&mut self, metadata: Map<String, Value>) {
        self.metadata = metadata;
    }

    /// Metadata of the cell in its notebook; empty for other cells.
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.metadata
    }

    /// Adds the cell's value, at `range` of the text in bytes; `bundle` is its index among the bundles.
    pub fn result(&mut self, range: Range<u64>, bundle: usize) {
        self.add(range, What::Result(bundle));
    }

    /// Adds a display, at `range` of the text in bytes; `bundle` is its index among the bundles.
    pub fn display(&mut self, range: Range<u64>, bundle: usize) {
        self.add(range, What::Display(bundle));
    }

    pub fn again(&mut self, range: Range<u64>) {
        self.add(range, What::Again);
    }

    pub fn stderr(&mut self, range: Range<u64>) {
        self.add(range, What::Stderr);
    }

    pub fn error(&mut self, range: Range<u64>, error: &CellError) {
        self.add(range, What::Error(error.name.clone(), error.value.clone()));
    }

    fn add(&mut self, range: Range<u64>, is: What) {
        self.parts.push(Part { range, is });
    }

    /// Drops all ranges, for a text that was shortened.
    pub fn unplaced(mut self) -> Self {
        for part in &mut self.parts {
            part.range = u64::MAX..u64::MAX;
        }
        self
    }

    /// Serializes to the form in the record: a list of `[kind, from, to, …]`; empty when all text is standard
    /// output.
    pub fn to_json(&self) -> String {
        if *self == Layout::default() {
            return String::new();
        }
        let row = |part: &Part| {
            let (from, to) = (part.range.start, part.range.end);
            match &part.is {
                What::Result(bundle) => json!(["result", from, to, bundle]),
                What::Display(bundle) => json!(["display", from, to, bundle]),
                What::Error(name, value) => json!(["error", from, to, name, value]),
                What::Again => json!(["again", from, to]),
                What::Stderr => json!(["stderr", from, to]),
            }
        };
        let mut rows: Vec<Value> = self.parts.iter().map(row).collect();
        if !self.metadata.is_empty() {
            rows.push(json!(["metadata", self.metadata]));
        }
        Value::Array(rows).to_string()
    }

    /// Parses what [`Layout::to_json`] wrote; rows of unknown kind are ignored.
    pub fn from_json(text: &str) -> Self {
        let Ok(Value::Array(rows)) = serde_json::from_str(text) else {
            return Layout::default();
        };
        Layout {
            parts: rows.iter().filter_map(part).collect(),
            metadata: rows.iter().find_map(metadata).unwrap_or_default(),
        }
    }

    /// Returns the range of the cell's value in `text`, in bytes.
    pub fn value(&self, text: &str) -> Option<Range<usize>> {
        let is_value = |part: &&Part| matches!(part.is, What::Result(_));
        let range = &self.parts.iter().find(is_value)?.range;
        let (from, to) = (place(text, range.start), place(text, range.end));
        (from < to).then_some(from..to)
    }

    /// Returns the outputs of the cell, in order.
    pub fn outputs(&self, text: &str, bundles: Vec<MimeBundle>) -> Vec<CellOutput> {
        let mut bundles: Vec<Option<MimeBundle>> = bundles.into_iter().map(Some).collect();
        let mut take = |at: usize| bundles.get_mut(at).and_then(Option::take);
        let (mut outputs, mut done) = (Vec::new(), 0);
        for part in &self.parts {
            let (from, to) = (place(text, part.range.start), place(text, part.range.end));
            let from = from.max(done);
            let to = to.max(from);
            printed(STDOUT, &text[done..from], &mut outputs);
            done = to;
            if part.is == What::Stderr {
                printed(STDERR, &text[from..to], &mut outputs);
                continue;
            }
            end_line(&mut outputs);
            match &part.is {
                What::Result(at) => outputs.extend(take(*at).map(CellOutput::Result)),
                What::Display(at) => outputs.extend(take(*at).map(CellOutput::Display)),
                What::Error(name, value) => {
                    let lines = text[from..to].trim_end_matches('\n').split('\n');
                    let traceback: Vec<String> = lines.map(str::to_owned).collect();
                    outputs.push(CellOutput::Error(CellError {
                        name: name.clone(),
                        value: value.clone(),
                        traceback,
                        leaves: None,
                    }));
                }
                What::Again | What::Stderr => {}
            }
        }
        printed(STDOUT, &text[done..], &mut outputs);
        end_line(&mut outputs);
        // Bundles that a damaged layout does not name are shown all the same.
        outputs.extend(bundles.into_iter().flatten().map(CellOutput::Display));
        outputs
    }
}

fn metadata(row: &Value) -> Option<Map<String, Value>> {
    match row.as_array()?.as_slice() {
        [Value::String(kind), Value::Object(metadata)] if kind == "metadata" => {
            Some(metadata.clone())
        }
        _ => None,
    }
}

fn part(row: &Value) -> Option<Part> {
    let row = row.as_array()?;
    let range = row.get(1)?.as_u64()?..row.get(2)?.as_u64()?;
    let bundle = || usize::try_from(row.get(3)?.as_u64()?).ok();
    let word = |at: usize| Some(row.get(at)?.as_str()?.to_owned());
    let is = match row.first()?.as_str()? {
        "result" => What::Result(bundle()?),
        "display" => What::Display(bundle()?),
        "error" => What::Error(word(3)?, word(4)?),
        "again" => What::Again,
        "stderr" => What::Stderr,
        _ => return None,
    };
    Some(Part { range, is })
}

fn place(text: &str, at: u64) -> usize {
    let at = usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
    text.floor_char_boundary(at)
}

/// Appends printed text; pieces around the text of an updated display become one stream.
fn printed(stream: &str, new: &str, outputs: &mut Vec<CellOutput>) {
    match outputs.last_mut() {
        _ if new.is_empty() => {}
        Some(CellOutput::Stream { name, text }) if name == stream => text.push_str(new),
        _ => outputs.push(CellOutput::Stream {
            name: stream.to_owned(),
            text: new.to_owned(),
        }),
    }
}

fn end_line(outputs: &mut [CellOutput]) {
    if let Some(CellOutput::Stream { text, .. }) = outputs.last_mut()
        && !text.ends_with('\n')
    {
        text.push('\n');
    }
}

/// Returns the outputs of a cell recorded without a layout: by another program (`foreign`) or an earlier version.
pub fn without_layout(text: &str, bundles: Vec<MimeBundle>, foreign: bool) -> Vec<CellOutput> {
    if foreign && bundles.is_empty() && !text.is_empty() {
        return vec![CellOutput::Result(MimeBundle::plain(text))];
    }
    if let [only] = bundles.as_slice()
        && only.for_model() == text
    {
        return bundles.into_iter().map(CellOutput::Result).collect();
    }
    let mut outputs = Vec::new();
    printed(STDOUT, text, &mut outputs);
    end_line(&mut outputs);
    // The text of these values is part of what was printed; pictures are not.
    let pictures = bundles
        .into_iter()
        .filter(|bundle| bundle.image().is_some());
    outputs.extend(pictures.map(CellOutput::Display));
    outputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::transcript::Transcript;
    use crate::properties;
    use proptest::prelude::*;

    fn value(text: &str) -> MimeBundle {
        MimeBundle::plain(text)
    }

    fn stream(text: &str) -> CellOutput {
        CellOutput::Stream {
            name: STDOUT.into(),
            text: text.into(),
        }
    }

    /// Records a cell with these outputs, as the session does.
    fn recorded(shown: &[CellOutput]) -> (String, Vec<MimeBundle>, String) {
        let mut transcript = Transcript::new(1 << 20);
        let (mut layout, mut bundles) = (Layout::default(), Vec::new());
        for output in shown {
            match output {
                CellOutput::Stream { text, .. } => transcript.push(text.as_bytes()),
                CellOutput::Result(bundle) => {
                    layout.result(transcript.own_lines(&bundle.for_model()), bundles.len());
                    bundles.push(bundle.clone());
                }
                CellOutput::Display(bundle) => {
                    layout.display(transcript.own_lines(&bundle.for_model()), bundles.len());
                    bundles.push(bundle.clone());
                }
                CellOutput::Error(error) => {
                    layout.error(transcript.own_lines(&error.plain()), error);
                }
            }
        }
        (transcript.into_text().text, bundles, layout.to_json())
    }

    #[track_caller]
    fn check(shown: &[CellOutput], expected: &[CellOutput]) {
        let (text, bundles, layout) = recorded(shown);
        let read = Layout::from_json(&layout).outputs(&text, bundles);
        assert_eq!(read, expected, "{text:?} {layout}");
    }

    #[test]
    fn what_was_shown_comes_back_in_its_order() {
        let error = CellError {
            name: "E".into(),
            value: "v".into(),
            traceback: vec!["Traceback".into(), "E: v".into()],
            leaves: None,
        };
        let same = |shown: &[CellOutput]| check(shown, shown);
        same(&[]);
        same(&[stream("a\nb\n")]);
        same(&[CellOutput::Result(value("41"))]);
        same(&[
            stream("é\n"),
            CellOutput::Display(value("x\ny")),
            stream("b\n"),
            CellOutput::Result(value("2")),
        ]);
        same(&[stream("a\n"), CellOutput::Error(error)]);
        // An unfinished line gets a newline; a value takes lines of its own.
        check(
            &[stream("a"), CellOutput::Result(value("1")), stream("b")],
            &[stream("a\n"), CellOutput::Result(value("1")), stream("b\n")],
        );
        check(
            &[
                stream("10%\r20%\r100%\n"),
                CellOutput::Display(value("done")),
            ],
            &[stream("100%\n"), CellOutput::Display(value("done"))],
        );
    }

    #[test]
    fn an_update_leaves_no_text_behind() {
        let mut layout = Layout::default();
        layout.display(0..2, 0);
        layout.again(4..6);
        let outputs = layout.outputs("1\na\n2\nb", vec![value("2")]);
        assert_eq!(outputs, [CellOutput::Display(value("2")), stream("a\nb\n")]);
    }

    #[test]
    fn streams_stay_apart_where_they_are_known() {
        let errors = |text: &str| CellOutput::Stream {
            name: STDERR.into(),
            text: text.into(),
        };
        let mut layout = Layout::default();
        layout.stderr(2..5);
        layout.stderr(7..9);
        layout.result(9..11, 0);
        let layout = Layout::from_json(&layout.to_json());
        let outputs = layout.outputs("a\ne1\nb e\n7\nc", vec![value("7")]);
        let expected = [
            stream("a\n"),
            errors("e1\n"),
            stream("b "),
            errors("e\n"),
            CellOutput::Result(value("7")),
            stream("c\n"),
        ];
        assert_eq!(outputs, expected);
    }

    #[test]
    fn a_layout_that_does_not_fit_loses_nothing() {
        let mut layout = Layout::default();
        layout.result(2..4, 0);
        let unplaced = layout.clone().unplaced();
        let outputs = unplaced.outputs("head … tail", vec![value("1")]);
        assert_eq!(
            outputs,
            [stream("head … tail\n"), CellOutput::Result(value("1"))]
        );
        for damaged in ["", "{", "[1]", "[[\"result\",9,1,7]]", "[[\"x\",0,1]]"] {
            let outputs = Layout::from_json(damaged).outputs("é", vec![value("1")]);
            assert_eq!(
                outputs,
                [stream("é\n"), CellOutput::Display(value("1"))],
                "{damaged}"
            );
        }
    }

    #[test]
    fn rows_of_others_are_told_as_well_as_they_can() {
        let check = |text: &str, bundles: &[MimeBundle], foreign, expected: &[CellOutput]| {
            assert_eq!(without_layout(text, bundles.to_vec(), foreign), expected);
        };
        check("", &[], true, &[]);
        check("2", &[], true, &[CellOutput::Result(value("2"))]);
        check("2", &[], false, &[stream("2\n")]);
        check("2", &[value("2")], false, &[CellOutput::Result(value("2"))]);
        check("a\n2", &[value("2")], false, &[stream("a\n2\n")]);
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_layout_of_any_text_is_read(text in ".{0,40}", layout in "[\\[\\],\"a-z0-9]{0,60}", from in 0u64..60,
            to in 0u64..60) {
            let mut made = Layout::default();
            made.display(from..to, 1);
            made.error(to..from, &CellError::default());
            made.stderr(from..to);
            made.loaded_with(Map::from_iter([(text.clone(), json!([from]))]));
            for layout in [Layout::from_json(&layout), Layout::from_json(&made.to_json())] {
                layout.outputs(&text, vec![value("x"), value("y")]);
            }
            prop_assert_eq!(Layout::from_json(&made.to_json()), made);
        }
    }
}
