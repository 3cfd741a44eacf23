//! `%ipycodex compact` by a summary turn: the task, and the entries whose place the summary takes.
//!
//! In: what the user wants kept, and the conversation. Out: text for the agent, then, when the summary is there, the
//! writes that hide those entries. Invariant: without a whole summary nothing is hidden. What the user hid before is
//! not among the entries, so that showing them again does not show that. Absent on purpose: compaction by the agent.

use std::ops::RangeInclusive;

use crate::dialog::Dialog;
use crate::effect::{Effect, RecordWrite};
use crate::events::Notice;
use crate::input::is_ipycodex_input;
use crate::text::xml_text;

/// The task; stands before the context of the prompt, like other things a prompt refers to.
const TASK: &str = "Write a summary that takes the place of this whole conversation: you will go on from it \
    alone, with the same live Python session. Say what the user wants and has decided, what was found (figures, names \
    and errors as they are), which variables, functions and files matter and what they hold, and what is still to be \
    done. Leave out what no longer matters. Call no tools; answer with the summary alone.";

pub(super) struct Compaction {
    /// As typed; may be empty.
    keep: String,
    /// The In numbers that the summary stands for; empty until the summary is asked for.
    replaced: Vec<RangeInclusive<u32>>,
}

impl Compaction {
    pub(super) fn new(keep: String) -> Self {
        Compaction {
            keep,
            replaced: Vec::new(),
        }
    }

    /// True when nothing is to be kept in particular: agents that shorten their own thread take no wishes.
    pub(super) fn is_plain(&self) -> bool {
        self.keep.is_empty()
    }

    /// Returns the task for the agent; `own` is the In number of the prompt.
    pub(super) fn begin_summary(&mut self, dialog: &Dialog, own: u32) -> String {
        self.replaced = visible_entries(dialog, own);
        let keep = match self.keep.as_str() {
            "" => String::new(),
            keep => format!(" Keep in any case: {}", xml_text(keep)),
        };
        format!("<task>{TASK}{keep}</task>\n")
    }

    /// Hides the entries that the summary stands for.
    pub(super) fn finish(&self) -> Vec<Effect> {
        let hide = |lines: &RangeInclusive<u32>| {
            let lines = lines.clone();
            Effect::Record(RecordWrite::Hide {
                lines,
                hidden: true,
            })
        };
        let mut effects: Vec<Effect> = self.replaced.iter().map(hide).collect();
        if !self.replaced.is_empty() {
            let ranges = self
                .replaced
                .iter()
                .map(|lines| match lines.start() == lines.end() {
                    true => lines.start().to_string(),
                    false => format!("{}-{}", lines.start(), lines.end()),
                });
            let ranges = ranges.collect::<Vec<_>>().join(" ");
            effects.push(Effect::show(Notice::note(format!(
                "the conversation goes on from this summary; `%ipycodex show {ranges}` puts back what it stands for"
            ))));
        }
        effects
    }
}

/// The conversation without the cells that no prompt has sent yet: an agent that shortens its own thread gets no input.
pub(super) fn without_unsent_cells(dialog: &Dialog) -> Dialog {
    let visible = dialog.prompts.iter().filter(|prompt| !prompt.hidden);
    let sent = visible.map(|prompt| prompt.history_line).max().unwrap_or(0);
    let mut dialog = dialog.clone();
    dialog.cells.retain(|cell| cell.line <= sent);
    dialog
}

/// The numbers of all entries before `own`, as ranges without entries that are hidden already.
fn visible_entries(dialog: &Dialog, own: u32) -> Vec<RangeInclusive<u32>> {
    let cells = dialog.cells.iter();
    let cells = cells.filter(|cell| !is_ipycodex_input(&cell.source));
    let cells = cells.map(|cell| (cell.line, cell.is_excluded()));
    let prompts = dialog
        .prompts
        .iter()
        .map(|prompt| (prompt.line, prompt.hidden));
    let mut entries: Vec<(u32, bool)> = cells.chain(prompts).collect();
    entries.retain(|(line, _)| (dialog.reset_line + 1..own).contains(line));
    entries.sort_unstable();
    let mut ranges: Vec<RangeInclusive<u32>> = Vec::new();
    let mut broken = true;
    for (line, hidden) in entries {
        match ranges.last_mut() {
            _ if hidden => {}
            Some(last) if !broken => *last = *last.start()..=line,
            _ => ranges.push(line..=line),
        }
        broken = hidden;
    }
    ranges
}
