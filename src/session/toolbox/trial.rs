//! Cells that are asked for run in a copy first, where the user wants to see that or always does.
//!
//! Whatever tool asks hears nothing of it: the question comes again, below what the cells would do.

use super::tool::{ToolEvent, ToolStep};
use crate::runtime::{RuntimeAnswer, RuntimeRequest, Snapshot, TrialCell, parts};
use crate::session::question::{About, ProposedCell, QuestionChoice, Reply};

/// What is known of the question that is open.
#[derive(Default)]
pub(super) struct Trial {
    /// The cells it is about.
    asked: Option<Vec<ProposedCell>>,
    /// They run in the copy.
    runs: bool,
}

impl Trial {
    /// The step that an event leads to without the tool; an event that is the tool's.
    pub(super) fn on(&mut self, event: ToolEvent) -> Result<ToolStep, Box<ToolEvent>> {
        match (event, &self.asked) {
            (ToolEvent::Replied(Reply::Chosen(QuestionChoice::Try)), Some(_)) => Ok(self.begin()),
            (ToolEvent::Answered(answer), Some(cells)) if self.runs => {
                self.runs = false;
                let then = Box::new(ToolStep::Ask(About::Cells(cells.clone())));
                let (text, pictures) = told(answer);
                Ok(ToolStep::Show {
                    text,
                    pictures,
                    then,
                })
            }
            (event, _) => Err(Box::new(event)),
        }
    }

    /// A step of the tool: `first`, cells run in the copy before they are asked for.
    pub(super) fn pass(&mut self, step: ToolStep, first: bool) -> ToolStep {
        match step {
            ToolStep::Ask(About::Cells(cells)) => {
                self.asked = Some(cells.clone());
                match first {
                    true => self.begin(),
                    false => ToolStep::Ask(About::Cells(cells)),
                }
            }
            step => {
                self.asked = None;
                step
            }
        }
    }

    fn begin(&mut self) -> ToolStep {
        self.runs = true;
        let cells = self.asked.iter().flatten();
        ToolStep::Submit(RuntimeRequest::Try {
            cells: cells
                .map(|cell| TrialCell {
                    code: cell.code.clone(),
                    reset: cell.reset,
                })
                .collect(),
        })
    }
}

/// What the copy told: a text, and pictures as `data:` URLs.
fn told(answer: RuntimeAnswer) -> (String, Vec<String>) {
    match answer {
        RuntimeAnswer::Snapshot(Snapshot::Ran { printed, result }) => {
            let bundles = result.map(|bundle| parts(&bundle)).unwrap_or_default();
            let images = bundles.iter().filter_map(|bundle| bundle.image());
            let urls = images.map(|(mime, base64)| format!("data:{mime};base64,{base64}"));
            (printed, urls.collect())
        }
        RuntimeAnswer::Snapshot(Snapshot::Unprotected(why)) => (
            format!("no dry run: {why}, so nothing would keep the cells from changing files"),
            Vec::new(),
        ),
        RuntimeAnswer::Failed(why) | RuntimeAnswer::Unable(why) => {
            (format!("no dry run: {why}"), Vec::new())
        }
        _ => (
            "no dry run: the interpreter gave no answer".to_owned(),
            Vec::new(),
        ),
    }
}
