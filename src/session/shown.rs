//! What a running cell has shown so far: its plain text, the forms of its values, and where these stand in it.
//!
//! In: output, displays and errors as they come. Out: what the record keeps. A display that is updated takes the place
//! of the earlier one of its id; its text in the transcript stays where it was shown.

use crate::output::mime::MimeBundle;
use crate::output::shown::Layout;
use crate::output::traceback::CellError;
use crate::output::transcript::{Transcript, TranscriptText};
use crate::runtime::Display;

/// Collects one cell's output.
#[derive(Debug)]
pub(super) struct CellCollector {
    transcript: Transcript,
    bundles: Vec<MimeBundle>,
    layout: Layout,
    /// Displays that may be updated: id, and which bundle.
    named: Vec<(String, usize)>,
}

impl CellCollector {
    /// Keeps at most about `bytes` of the text.
    pub(super) fn new(bytes: usize) -> Self {
        CellCollector {
            transcript: Transcript::new(bytes),
            bundles: Vec::new(),
            layout: Layout::default(),
            named: Vec::new(),
        }
    }

    /// Printed bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.transcript.push(bytes);
    }

    /// Lines of our own.
    pub(super) fn say(&mut self, text: &str) {
        self.transcript.own_lines(text);
    }

    pub(super) fn display(&mut self, display: &Display) {
        let range = self.transcript.own_lines(&display.bundle.for_model());
        let id = display.display_id.as_deref();
        let named = |(name, _): &&(String, usize)| Some(name.as_str()) == id;
        if display.update
            && let Some(&(_, bundle)) = self.named.iter().find(named)
        {
            self.bundles[bundle] = display.bundle.clone();
            return self.layout.again(range);
        }
        let bundle = self.bundles.len();
        self.bundles.push(display.bundle.clone());
        if display.execution_count.is_some() {
            self.layout.result(range, bundle);
        } else {
            self.layout.display(range, bundle);
        }
        if let Some(id) = id {
            self.named.retain(|(name, _)| name != id);
            self.named.push((id.to_owned(), bundle));
        }
    }

    pub(super) fn error(&mut self, error: &CellError) {
        let range = self.transcript.own_lines(&error.plain());
        self.layout.error(range, error);
    }

    /// The text so far.
    pub(super) fn text(&self) -> String {
        self.transcript.snapshot().text
    }

    /// Everything shown, in the end.
    pub(super) fn finish(mut self) -> (TranscriptText, Vec<MimeBundle>, Layout) {
        self.transcript.finish();
        (self.transcript.snapshot(), self.bundles, self.layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::shown::CellOutput;

    fn display(text: &str, id: Option<&str>, update: bool) -> Display {
        Display {
            display_id: id.map(str::to_owned),
            update,
            ..Display::of(MimeBundle::plain(text))
        }
    }

    #[test]
    fn an_updated_display_stands_where_the_first_one_was() {
        let mut shown = CellCollector::new(1 << 16);
        shown.display(&display("0 %", Some("bar"), false));
        shown.push(b"working\n");
        shown.display(&display("100 %", Some("bar"), true));
        shown.display(&display("other", None, false));
        let (text, bundles, layout) = shown.finish();
        assert_eq!(text.text, "0 %\nworking\n100 %\nother");
        let outputs = layout.outputs(&text.text, bundles);
        assert_eq!(
            outputs,
            [
                CellOutput::Display(MimeBundle::plain("100 %")),
                CellOutput::Stream("working\n".into()),
                CellOutput::Display(MimeBundle::plain("other")),
            ]
        );
    }
}
