//! Dry runs: cells that need approval run in a copy of the interpreter first, on request or by setting.
//!
//! The tool that asks does not notice: the question is asked again below the output of the dry run.

use super::tool::{ToolEffect, ToolEvent};
use crate::question::{ProposedCell, QuestionChoice, QuestionSubject, Reply};
use crate::runtime::{DryRunCell, RuntimeReply, RuntimeRequest, Snapshot, split_parts};

#[derive(Default)]
pub(super) struct DryRun {
    /// The cells of the open question.
    cells_asked: Option<Vec<ProposedCell>>,
    running: bool,
}

impl DryRun {
    /// Handles the events of a dry run; any other event is returned for the tool.
    pub(super) fn on(&mut self, event: ToolEvent) -> Result<ToolEffect, Box<ToolEvent>> {
        match (event, &self.cells_asked) {
            (ToolEvent::UserReplied(Reply::Chosen(QuestionChoice::Try)), Some(_)) => {
                Ok(self.begin())
            }
            (ToolEvent::RuntimeAnswered(answer), Some(cells)) if self.running => {
                self.running = false;
                let then = Box::new(ToolEffect::Ask(QuestionSubject::Cells(cells.clone())));
                let (text, pictures) = output(answer);
                Ok(ToolEffect::Show {
                    text,
                    pictures,
                    then,
                })
            }
            (event, _) => Err(Box::new(event)),
        }
    }

    /// Watches the effects of the tool for questions about cells; with `first`, a dry run comes before the question.
    pub(super) fn intercept(&mut self, effect: ToolEffect, first: bool) -> ToolEffect {
        match effect {
            ToolEffect::Ask(QuestionSubject::Cells(cells)) => {
                self.cells_asked = Some(cells.clone());
                match first {
                    true => self.begin(),
                    false => ToolEffect::Ask(QuestionSubject::Cells(cells)),
                }
            }
            effect => {
                self.cells_asked = None;
                effect
            }
        }
    }

    fn begin(&mut self) -> ToolEffect {
        self.running = true;
        let cells = self.cells_asked.iter().flatten();
        ToolEffect::Submit(RuntimeRequest::DryRun {
            cells: cells
                .map(|cell| DryRunCell {
                    code: cell.code.clone(),
                    reset: cell.reset,
                })
                .collect(),
        })
    }
}

/// The output of the copy: text, and pictures as `data:` URLs.
fn output(answer: RuntimeReply) -> (String, Vec<String>) {
    match answer {
        RuntimeReply::Snapshot(Snapshot::Ran { printed, result }) => {
            let bundles = result
                .map(|bundle| split_parts(&bundle))
                .unwrap_or_default();
            let images = bundles.iter().filter_map(|bundle| bundle.image());
            let urls = images.map(|(mime, base64)| format!("data:{mime};base64,{base64}"));
            (printed, urls.collect())
        }
        RuntimeReply::Snapshot(Snapshot::Unprotected(why)) => (
            format!("no dry run: {why}, so nothing would keep the cells from changing files"),
            Vec::new(),
        ),
        RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why) => {
            (format!("no dry run: {why}"), Vec::new())
        }
        _ => (
            "no dry run: the interpreter gave no answer".to_owned(),
            Vec::new(),
        ),
    }
}
