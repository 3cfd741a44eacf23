//! Finished cells, and the result of a call made of them.

use std::time::Duration;

use crate::agent::InputPart;
use crate::cell::CellResult;
use crate::output::MODEL_CHARACTERS;
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::output::transcript::TranscriptText;
use crate::outputs::Outputs;
use crate::runtime::{Death, Ending};
use crate::tool_return::ToolReturn;
use crate::tools::pyrun::{NO_OUTPUT, to_tool_return};

/// Least code points for the output of a cell, however many cells there are.
const MIN_CHARACTERS: usize = 2_000;
/// Code points reserved for the text around the outputs.
const RESERVED_CHARACTERS: usize = 400;
const MAX_IMAGES: usize = 10;

/// The exception that Python raises on an interrupt.
const INTERRUPTED: &str = "KeyboardInterrupt";

pub(super) struct FinishedCell {
    /// The In number; 0 outside the live interpreter.
    pub line: u32,
    pub remains: Box<CellResult>,
    pub timed_out: bool,
}

impl FinishedCell {
    fn name(&self, index: usize) -> String {
        match self.line {
            0 => format!("cell {}", index + 1),
            line => format!("In[{line}]"),
        }
    }

    pub(super) fn failure(&self, timeout: Option<Duration>) -> Option<String> {
        let after = timeout.map_or(0.0, |timeout| timeout.as_secs_f64());
        Some(match &self.remains.ending {
            Ending::Ok if self.timed_out => {
                format!(
                    "timed out after {after} s; it was interrupted and ended, variables are kept"
                )
            }
            Ending::Ok => return None,
            Ending::Error | Ending::Interrupted if self.timed_out => {
                format!("timed out after {after} s; it was interrupted, variables are kept")
            }
            Ending::Error => match &self.remains.raised {
                Some(summary) => summary.clone(),
                None => "it raised".to_owned(),
            },
            Ending::Interrupted => "it was interrupted; variables are kept".to_owned(),
            Ending::Lost(why) => format!(
                "the connection to the interpreter was lost ({why}); the cell may still run, and variables may be \
                 there"
            ),
            Ending::Died(Death::NotStarted(failure)) => failure.message.clone(),
            Ending::Died(Death::Killed) if self.timed_out => format!(
                "timed out after {after} s and did not react to the interrupt; the interpreter was killed, all \
                 variables are lost"
            ),
            Ending::Died(death) => {
                format!(
                    "the interpreter ended ({death}), all variables are lost; the next cell gets a new one"
                )
            }
        })
    }
}

#[derive(Default)]
pub(super) struct FinishedCells {
    pub cells: Vec<FinishedCell>,
    /// Lines for the result, before the outputs.
    pub notes: Vec<String>,
}

impl FinishedCells {
    /// Returns the result of a call with `all` cells in the prompt with this number: their outputs, and the failure
    /// that stopped the call.
    pub(super) fn result(
        &self,
        all: usize,
        timeout: Option<Duration>,
        outputs: &Outputs,
        prompt: u32,
    ) -> ToolReturn {
        let last = self.cells.last();
        let failure = last.and_then(|cell| cell.failure(timeout));
        let budget = ((MODEL_CHARACTERS - RESERVED_CHARACTERS) / self.cells.len().max(1))
            .saturating_sub(RESERVED_CHARACTERS)
            .max(MIN_CHARACTERS);
        let mut text: String = self
            .notes
            .iter()
            .map(|line| format!("[{line}]\n"))
            .collect();
        text.push_str(&match (&failure, last) {
            (Some(why), Some(cell)) => {
                let number = self.cells.len();
                let rest = match all - number {
                    0 => String::new(),
                    1 => format!("; cell {all} was not run"),
                    _ => format!("; cells {} to {all} were not run", number + 1),
                };
                let place = match cell.line {
                    0 => String::new(),
                    line => format!(" (In[{line}])"),
                };
                format!("cell {number} of {all}{place} failed: {why}{rest}")
            }
            _ => "ran".to_owned(),
        });
        for (index, cell) in self.cells.iter().enumerate() {
            let shown = &cell.remains.shown;
            let shown = match cell.line {
                0 => outputs.cut_own(prompt, shown, budget),
                line => outputs.cut_cell(line, shown, budget),
            };
            let name = cell.name(index);
            text.push_str(&match shown.trim_end_matches('\n') {
                "" => format!("\n{name}: no output"),
                shown => format!("\n{name}:\n{shown}"),
            });
            if cell.remains.leaving {
                text.push_str(
                    "\n[exit was ignored: only the user leaves the shell; reset starts the interpreter anew]",
                );
            }
        }
        let images = self.cells.iter().flat_map(|cell| &cell.remains.images);
        let images = images.take(MAX_IMAGES).cloned().map(InputPart::Image);
        ToolReturn {
            content: std::iter::once(InputPart::Text(text.clone()))
                .chain(images)
                .collect(),
            text,
            success: failure.is_none(),
            denied: false,
        }
    }
}

/// Returns the end of a cell that ran in a copy, and the text still to be shown: value or error, since printed text
/// was shown while the cell ran.
pub(super) fn from_copy(
    printed: &str,
    result: Result<MimeBundle, CellError>,
) -> (CellResult, String) {
    let rest = match (printed, &result) {
        ("", _) => None,
        _ => Some(to_tool_return("", result.clone()).text),
    };
    let raised = result.as_ref().err().map(CellError::summary);
    let ending = match &result {
        Ok(_) => Ending::Ok,
        Err(error) if error.name == INTERRUPTED => Ending::Interrupted,
        Err(_) => Ending::Error,
    };
    let result = to_tool_return(printed, result);
    let images = result.content.into_iter().filter_map(|part| match part {
        InputPart::Image(url) => Some(url),
        InputPart::Text(_) | InputPart::File { .. } => None,
    });
    let rest = rest.map_or_else(
        || result.text.clone(),
        |rest| match rest.as_str() {
            NO_OUTPUT => String::new(),
            _ => rest,
        },
    );
    let remains = CellResult {
        ending,
        shown: uncut(result.text),
        outputs: Vec::new(),
        kept: None,
        images: images.collect(),
        raised,
        took: Duration::ZERO,
        leaving: false,
        cwd: None,
    };
    (remains, rest)
}

fn uncut(text: String) -> TranscriptText {
    TranscriptText {
        total_bytes: text.len() as u64,
        total_characters: text.chars().count() as u64,
        total_lines: text.lines().count() as u64,
        cut: false,
        text,
    }
}
