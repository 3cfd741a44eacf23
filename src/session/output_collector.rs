//! Collects a running cell's output: its plain text, the MIME bundles of its values, and their places in the text.
//!
//! In: output, displays and errors. Out: what the record keeps. A display that is updated or shown again replaces the
//! bundles of its id; its text stays where it was first shown.

use std::collections::HashMap;
use std::ops::Range;

use crate::output::mime::MimeBundle;
use crate::output::shown::Layout;
use crate::output::traceback::CellError;
use crate::output::transcript::{Transcript, TranscriptText};
use crate::runtime::{DisplayData, OutputStream};

/// Changes between standard output and standard error that are kept; later text counts as standard output.
const MOST_TURNS: usize = 2_000;

#[derive(Debug)]
pub(super) struct OutputCollector {
    transcript: Transcript,
    bundles: Vec<MimeBundle>,
    layout: Layout,
    /// Offset at which the current text of standard error begins, and the number of such texts so far.
    stderr: Option<u64>,
    turns: usize,
    /// The bundles that may be updated, by index, with their display id.
    named: Vec<(usize, String)>,
    /// The latest bundle of each display id.
    last: HashMap<String, MimeBundle>,
}

impl OutputCollector {
    /// Keeps at most about `bytes` of the text.
    pub(super) fn new(bytes: usize) -> Self {
        OutputCollector {
            transcript: Transcript::new(bytes),
            bundles: Vec::new(),
            layout: Layout::default(),
            stderr: None,
            turns: 0,
            named: Vec::new(),
            last: HashMap::new(),
        }
    }

    pub(super) fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        let is_error = stream == OutputStream::Stderr;
        if is_error && self.stderr.is_none() && self.turns < MOST_TURNS {
            self.stderr = Some(self.transcript.length());
            self.turns += 1;
        } else if !is_error && self.stderr.is_some() {
            self.leave_stderr(self.transcript.length());
        }
        self.transcript.push(bytes);
    }

    /// Ends the current text of standard error at offset `to`.
    fn leave_stderr(&mut self, to: u64) {
        if let Some(from) = self.stderr.take() {
            self.layout.stderr(from..to);
        }
    }

    /// Appends lines of our own.
    pub(super) fn say(&mut self, text: &str) {
        self.own_lines(text);
    }

    fn own_lines(&mut self, text: &str) -> Range<u64> {
        let range = self.transcript.own_lines(text);
        self.leave_stderr(range.start);
        range
    }

    pub(super) fn display(&mut self, display: &DisplayData) {
        let range = self.own_lines(&display.bundle.for_model());
        if let Some(id) = &display.display_id {
            let last = self.last.insert(id.clone(), display.bundle.clone());
            if display.update && last.is_some() {
                return self.layout.again(range);
            }
            self.named.push((self.bundles.len(), id.clone()));
        }
        let bundle = self.bundles.len();
        self.bundles.push(display.bundle.clone());
        if display.execution_count.is_some() {
            self.layout.result(range, bundle);
        } else {
            self.layout.display(range, bundle);
        }
    }

    pub(super) fn error(&mut self, error: &CellError) {
        let range = self.own_lines(&error.plain());
        self.layout.error(range, error);
    }

    pub(super) fn text(&self) -> String {
        self.transcript.snapshot().text
    }

    /// As [`OutputCollector::text`], with the newlines at the end.
    pub(super) fn whole_text(&self) -> String {
        let TranscriptText {
            text, total_bytes, ..
        } = self.transcript.snapshot();
        let newlines = self.transcript.length().saturating_sub(total_bytes);
        text + &"\n".repeat(usize::try_from(newlines).unwrap_or_default())
    }

    /// Returns the text, the bundles and their places in the text.
    pub(super) fn finish(mut self) -> (TranscriptText, Vec<MimeBundle>, Layout) {
        self.transcript.finish();
        self.leave_stderr(self.transcript.length());
        for (bundle, id) in &self.named {
            if let Some(last) = self.last.get(id) {
                self.bundles[*bundle] = last.clone();
            }
        }
        (self.transcript.into_text(), self.bundles, self.layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::shown::{CellOutput, STDERR, STDOUT};

    fn display(text: &str, id: Option<&str>, update: bool) -> DisplayData {
        DisplayData {
            display_id: id.map(str::to_owned),
            update,
            ..DisplayData::new(MimeBundle::plain(text))
        }
    }

    fn printed(name: &str, text: &str) -> CellOutput {
        CellOutput::Stream {
            name: name.into(),
            text: text.into(),
        }
    }

    #[test]
    fn a_last_line_is_open_or_has_ended() {
        let mut shown = OutputCollector::new(1 << 16);
        for (printed, whole) in [
            ("a\nname? ", "a\nname? "),
            ("Ada\n", "a\nname? Ada\n"),
            ("\n", "a\nname? Ada\n\n"),
        ] {
            shown.push(OutputStream::Stdout, printed.as_bytes());
            assert_eq!(shown.whole_text(), whole);
        }
    }

    #[test]
    fn standard_error_is_told_apart() {
        let mut shown = OutputCollector::new(1 << 16);
        shown.push(OutputStream::Stderr, b"e1\n");
        shown.push(OutputStream::Stdout, b"a ");
        shown.push(OutputStream::Stderr, b"e2");
        shown.display(&display("x", None, false));
        shown.push(OutputStream::Stderr, b"e3");
        let (text, bundles, layout) = shown.finish();
        assert_eq!(text.text, "e1\na e2\nx\ne3");
        let expected = [
            printed(STDERR, "e1\n"),
            printed(STDOUT, "a "),
            printed(STDERR, "e2\n"),
            CellOutput::Display(MimeBundle::plain("x")),
            printed(STDERR, "e3\n"),
        ];
        assert_eq!(layout.outputs(&text.text, bundles), expected);
    }

    #[test]
    fn an_updated_display_stands_where_the_first_one_was() {
        let mut shown = OutputCollector::new(1 << 16);
        shown.display(&display("0 %", Some("bar"), false));
        shown.push(OutputStream::Terminal, b"working\n");
        shown.display(&display("100 %", Some("bar"), true));
        shown.display(&display("other", None, false));
        let (text, bundles, layout) = shown.finish();
        assert_eq!(text.text, "0 %\nworking\n100 %\nother");
        let outputs = layout.outputs(&text.text, bundles);
        assert_eq!(
            outputs,
            [
                CellOutput::Display(MimeBundle::plain("100 %")),
                printed(STDOUT, "working\n"),
                CellOutput::Display(MimeBundle::plain("other")),
            ]
        );
    }
}
