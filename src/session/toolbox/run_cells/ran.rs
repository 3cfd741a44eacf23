//! Cells that have run, and the result of the call they make.

use std::time::Duration;

use crate::agent::InputPart;
use crate::output::MODEL_CHARACTERS;
use crate::runtime::{Death, Ending};
use crate::session::cell::Remains;
use crate::session::outputs::Outputs;
use crate::session::tool_return::ToolReturn;

/// Code points of a cell's output in the result at least, however many cells there are.
const LEAST_CHARACTERS: usize = 2_000;
/// Code points for what stands around the outputs.
const ROOM: usize = 400;
/// Pictures in one result.
const MOST_IMAGES: usize = 10;

/// A cell that has run.
pub(super) struct Ran {
    /// Its In number; 0 in a kernel of the agent's own.
    pub line: u32,
    pub remains: Box<Remains>,
    pub timed_out: bool,
}

impl Ran {
    /// What it is called: the `index`th of the call.
    fn name(&self, index: usize) -> String {
        match self.line {
            0 => format!("cell {}", index + 1),
            line => format!("In[{line}]"),
        }
    }

    /// Why the cell failed, if it did.
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

/// The cells of a call that have run.
#[derive(Default)]
pub(super) struct Done {
    pub cells: Vec<Ran>,
    /// What has to be told beside their outputs.
    pub said: Vec<String>,
}

impl Done {
    /// The result of a call of `all` cells in the prompt with this number: what they showed, and why it stopped where
    /// it did.
    pub(super) fn result(
        &self,
        all: usize,
        timeout: Option<Duration>,
        outputs: &Outputs,
        prompt: u32,
    ) -> ToolReturn {
        let last = self.cells.last();
        let failure = last.and_then(|ran| ran.failure(timeout));
        let budget = ((MODEL_CHARACTERS - ROOM) / self.cells.len().max(1))
            .saturating_sub(ROOM)
            .max(LEAST_CHARACTERS);
        let mut text: String = self.said.iter().map(|line| format!("[{line}]\n")).collect();
        text.push_str(&match (&failure, last) {
            (Some(why), Some(ran)) => {
                let number = self.cells.len();
                let rest = match all - number {
                    0 => String::new(),
                    1 => format!("; cell {all} was not run"),
                    _ => format!("; cells {} to {all} were not run", number + 1),
                };
                let place = match ran.line {
                    0 => String::new(),
                    line => format!(" (In[{line}])"),
                };
                format!("cell {number} of {all}{place} failed: {why}{rest}")
            }
            _ => "ran".to_owned(),
        });
        for (index, ran) in self.cells.iter().enumerate() {
            let shown = &ran.remains.shown;
            let shown = match ran.line {
                0 => outputs.cut_own(prompt, shown, budget),
                line => outputs.cut_cell(line, shown, budget),
            };
            let name = ran.name(index);
            text.push_str(&match shown.trim_end_matches('\n') {
                "" => format!("\n{name}: no output"),
                shown => format!("\n{name}:\n{shown}"),
            });
            if ran.remains.leaving {
                text.push_str(
                    "\n[exit was ignored: only the user leaves the shell; reset starts the interpreter anew]",
                );
            }
        }
        let images = self.cells.iter().flat_map(|ran| &ran.remains.images);
        let images = images.take(MOST_IMAGES).cloned().map(InputPart::Image);
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
