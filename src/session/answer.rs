//! An answer while it grows, as those who show it see it: text, reasoning and work, each where it began.
//!
//! In: the events of an answer. Out: its blocks, and what stands now: the work that runs, the plan, the cells of the
//! call. Pure. A front-end that redraws renders the blocks; one that prints pieces as they come prints the event, and
//! asks here for the rest. Invariant: a piece costs what is new of it. Absent on purpose: pictures, each of which is
//! shown where it arrives.

use super::events::AnswerEvent;
use crate::agent::{Activity, FileChange, PlanStep};
use crate::dialog::{AnswerBlock, AnswerBlocks};

/// The least of a running command's output that is kept, in bytes from its end.
pub const OUTPUT_KEPT: usize = 256 << 10;

#[derive(Debug, Default)]
pub struct Answer {
    blocks: AnswerBlocks<Work>,
    cells: Vec<PlanStep>,
}

/// Work in an answer, and remarks.
#[derive(Debug)]
pub enum Work {
    /// A command, a tool of the session (whose id is empty), or files that were changed.
    Call {
        id: String,
        title: String,
        output: String,
        /// How it ended, empty for success; `None` while it runs.
        state: Option<String>,
    },
    Activity(Activity),
    Plan(Vec<PlanStep>),
    AgentStarts(String),
    Line(String),
}

impl Work {
    /// True while a command, tool or activity runs.
    fn runs(&self) -> bool {
        match self {
            Work::Call { state, .. } => state.is_none(),
            Work::Activity(activity) => !activity.is_over(),
            Work::Plan(_) | Work::AgentStarts(_) | Work::Line(_) => false,
        }
    }

    fn is_open_call(&self, wanted: &str) -> bool {
        matches!(self, Work::Call { id, state: None, .. } if id == wanted)
    }

    fn is_activity(&self, id: &str) -> bool {
        matches!(self, Work::Activity(known) if known.id == id)
    }
}

impl Answer {
    /// Adds an event; false when it changes no block.
    pub fn apply(&mut self, event: AnswerEvent) -> bool {
        match event {
            AnswerEvent::Text { message, delta } => self.blocks.push_text(message, &delta),
            AnswerEvent::Restarted { message } => self.blocks.restart_message(message),
            AnswerEvent::Thought { part, delta } => self.blocks.push_thought(part, &delta),
            AnswerEvent::CommandStarted { id, command } => self.begin_call(id, command),
            AnswerEvent::ToolStarted { call } => self.begin_call(String::new(), call),
            AnswerEvent::CommandOutput { id, delta } => {
                if let Some((output, _)) = self.open_call(&id) {
                    output.push_str(&delta);
                    if output.len() > 2 * OUTPUT_KEPT {
                        output.drain(..output.floor_char_boundary(output.len() - OUTPUT_KEPT));
                    }
                }
            }
            AnswerEvent::CommandRan {
                id,
                command,
                exit_code,
                output,
            } => {
                let state = match exit_code {
                    Some(0) => String::new(),
                    Some(code) => format!("exit {code}"),
                    None => "ended".to_owned(),
                };
                self.end_call(id, command, output, state);
            }
            AnswerEvent::ToolRan { line, success } => {
                self.cells.clear();
                let state = if success { "" } else { "failed" };
                self.end_call(String::new(), line.clone(), line, state.to_owned());
            }
            AnswerEvent::Denied { id, what } => match (self.open_call(&id), what) {
                (Some((_, state)), _) => *state = Some("not allowed".to_owned()),
                (None, Some(what)) => self
                    .blocks
                    .push(Work::Line(format!("✗ not allowed: {what}"))),
                (None, None) => return false,
            },
            AnswerEvent::Planned(steps) => {
                self.retain(|work| !matches!(work, Work::Plan(_)));
                self.blocks.push(Work::Plan(steps));
            }
            AnswerEvent::CellsProgress(cells) => {
                self.cells = cells;
                return false;
            }
            AnswerEvent::Worked(activity) => self.update_activity(activity),
            AnswerEvent::FilesChanged(changes) => {
                self.push_changes(FileChange::record(&changes).title, &changes);
            }
            AnswerEvent::FileWritten(written) => {
                self.push_changes(written.summary(), &[written.change]);
            }
            AnswerEvent::AgentStarts(waits) => {
                if waits.is_none() && self.agent_starts().is_none() {
                    return false;
                }
                self.retain(|work| !matches!(work, Work::AgentStarts(_)));
                waits
                    .into_iter()
                    .for_each(|line| self.blocks.push(Work::AgentStarts(line)));
            }
            AnswerEvent::Progress(line) => self.blocks.push(Work::Line(line)),
            AnswerEvent::Steered { text, taken: true } => {
                self.blocks.push(Work::Line(format!("» {text}")));
            }
            AnswerEvent::Steered { taken: false, .. } => return false,
            AnswerEvent::Picture(_) => return false,
        }
        true
    }

    pub fn blocks(&self) -> &[AnswerBlock<Work>] {
        &self.blocks.0
    }

    /// The texts, without reasoning and work.
    pub fn text(&self) -> String {
        self.blocks.text()
    }

    /// The commands, tools and activities that run.
    pub fn running(&self) -> impl Iterator<Item = &Work> {
        self.works().filter(|work| work.runs())
    }

    /// The plan as last reported.
    pub fn plan(&self) -> &[PlanStep] {
        let plan = self.works().find_map(|work| match work {
            Work::Plan(steps) => Some(steps.as_slice()),
            _ => None,
        });
        plan.unwrap_or_default()
    }

    /// The cells of the running tool, where there are several.
    pub fn cells(&self) -> &[PlanStep] {
        &self.cells
    }

    /// The line shown while the agent starts.
    pub fn agent_starts(&self) -> Option<&str> {
        self.works().find_map(|work| match work {
            Work::AgentStarts(line) => Some(line.as_str()),
            _ => None,
        })
    }

    /// True if the event concerns a command or tool of this answer that still runs, or an activity of it.
    pub fn expects(&self, event: &AnswerEvent) -> bool {
        match event {
            AnswerEvent::CommandOutput { id, .. }
            | AnswerEvent::CommandRan { id, .. }
            | AnswerEvent::Denied { id, .. } => self.works().any(|work| work.is_open_call(id)),
            AnswerEvent::ToolRan { .. } => self.works().any(|work| work.is_open_call("")),
            AnswerEvent::Worked(activity) => {
                self.works().any(|work| work.is_activity(&activity.id))
            }
            _ => false,
        }
    }

    fn works(&self) -> impl Iterator<Item = &Work> {
        self.blocks.0.iter().filter_map(|block| match block {
            AnswerBlock::Work(work) => Some(work),
            _ => None,
        })
    }

    /// Returns the last work that is `wanted`.
    fn last(&mut self, wanted: impl Fn(&Work) -> bool) -> Option<&mut Work> {
        self.blocks
            .0
            .iter_mut()
            .rev()
            .find_map(|block| match block {
                AnswerBlock::Work(work) if wanted(work) => Some(work),
                _ => None,
            })
    }

    fn retain(&mut self, keep: impl Fn(&Work) -> bool) {
        self.blocks.0.retain(|block| match block {
            AnswerBlock::Work(work) => keep(work),
            _ => true,
        });
    }

    fn begin_call(&mut self, id: String, title: String) {
        let (output, state) = (String::new(), None);
        self.blocks.push(Work::Call {
            id,
            title,
            output,
            state,
        });
    }

    /// Output and state of the running command or tool of this id.
    fn open_call(&mut self, id: &str) -> Option<(&mut String, &mut Option<String>)> {
        match self.last(|work| work.is_open_call(id))? {
            Work::Call { output, state, .. } => Some((output, state)),
            _ => None,
        }
    }

    fn end_call(&mut self, id: String, title: String, output: String, state: String) {
        let state = Some(state);
        match self.open_call(&id) {
            Some(open) => (*open.0, *open.1) = (output, state),
            None => self.blocks.push(Work::Call {
                id,
                title,
                output,
                state,
            }),
        }
    }

    fn push_changes(&mut self, title: String, changes: &[FileChange]) {
        let changes = changes.iter().map(|FileChange { path, change }| {
            format!("{} {path}\n{}", change.as_str(), change.text())
        });
        self.blocks.push(Work::Call {
            id: String::new(),
            title,
            output: changes.collect::<Vec<_>>().join("\n"),
            state: Some(String::new()),
        });
    }

    fn update_activity(&mut self, activity: Activity) {
        if activity.denied {
            return self.retain(|work| !work.is_activity(&activity.id));
        }
        match self.last(|work| work.is_activity(&activity.id)) {
            Some(known) => *known = Work::Activity(activity),
            None => self.blocks.push(Work::Activity(activity)),
        }
    }
}

#[cfg(test)]
mod tests;
