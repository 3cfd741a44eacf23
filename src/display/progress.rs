//! Progress beside the text of an answer: running commands, tools, the agent's own work, and its plan.
//!
//! In: starts, output, ends. Out: rows that are redrawn while something runs, and final lines. The plan is one
//! block: redrawn while steps are open, final afterwards. Pure; all text in it is untrusted, and the caller that
//! prints a line makes it safe.

use nu_ansi_term::{Color, Style};

use super::rows::Rows;
use crate::agent::{Activity, PlanStep, WorkStatus};
use crate::session::AnswerEvent;
use crate::text::escape::visible;
use crate::text::{Line, counted, cut};

const COMMAND_LINES: usize = 8;

/// Bytes kept of a running command's output.
const COMMAND_TAIL: usize = 4096;

const PLAN_STEPS: usize = 12;

const ROW_STEPS: usize = 5;

#[derive(Debug, Default)]
pub(super) struct TurnProgress {
    running: Vec<Running>,
    /// Cells of the running tool, where there are several.
    cells: Vec<PlanStep>,
    /// As last reported.
    plan: Vec<PlanStep>,
    /// The plan is among the final lines.
    plan_printed: bool,
}

#[derive(Debug)]
struct Running {
    id: String,
    line: String,
    output: String,
}

impl TurnProgress {
    /// Starts a command, a tool of the session (whose id is empty) or the agent's own work.
    pub(super) fn start(&mut self, id: String, what: &str) {
        self.running.push(Running {
            id,
            line: format!("⌛ {what}"),
            output: String::new(),
        });
    }

    /// Takes output of a command, or the progress of a tool's cells.
    pub(super) fn on_event(&mut self, event: AnswerEvent) {
        match event {
            AnswerEvent::CommandOutput { id, delta } => self.append_output(&id, &delta),
            AnswerEvent::CellsProgress(cells) => self.cells = cells,
            _ => {}
        }
    }

    /// Ends the tool. Returns a line about its cells if one of them failed.
    pub(super) fn tool_finished(&mut self, success: bool) -> Option<String> {
        self.remove("");
        let mut cells = std::mem::take(&mut self.cells);
        let stopped = cells
            .iter_mut()
            .find(|it| it.status == WorkStatus::Running)?;
        stopped.status = WorkStatus::Failed;
        (!success).then(|| format!("  {}", steps_in_one_row(&cells)))
    }

    fn append_output(&mut self, id: &str, delta: &str) {
        let Some(running) = self.running.iter_mut().find(|running| running.id == id) else {
            return;
        };
        running.output.push_str(delta);
        let surplus = running.output.len().saturating_sub(COMMAND_TAIL);
        let keep = (surplus..)
            .find(|at| running.output.is_char_boundary(*at))
            .unwrap_or_default();
        running.output.drain(..keep);
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.running.retain(|running| running.id != id);
    }

    pub(super) fn clear(&mut self) {
        self.running.clear();
        self.cells.clear();
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Returns rows for everything that runs and the end of its output, none wider than `columns`.
    pub(super) fn rows(&self, columns: usize, most: usize) -> Vec<Line> {
        let mut rows = Vec::new();
        for running in &self.running {
            let row = match running.id.as_str() {
                "" if !self.cells.is_empty() => {
                    format!("{}  {}", running.line, steps_in_one_row(&self.cells))
                }
                _ => running.line.clone(),
            };
            rows.push(Line::plain_text(&cut(&visible(&row), columns)));
            let lines: Vec<&str> = running.output.lines().collect();
            let shown = lines.len().saturating_sub(COMMAND_LINES.min(most));
            rows.extend(
                lines[shown..]
                    .iter()
                    .map(|line| Line::plain_text(&cut(&visible(line), columns))),
            );
        }
        rows
    }

    /// Takes the agent's own work; returns its final line when it has ended.
    pub(super) fn on_activity(&mut self, activity: &Activity) -> Option<(String, Style)> {
        if activity.denied {
            self.remove(&activity.id);
            return None;
        }
        let Some(line) = activity.summary_line() else {
            let id = &activity.id;
            match self.running.iter_mut().find(|running| running.id == *id) {
                Some(running) => running.line = format!("⌛ {}", activity.title_with_locations()),
                None => self.start(id.clone(), &activity.title_with_locations()),
            }
            return None;
        };
        self.remove(&activity.id);
        let style = match activity.status {
            WorkStatus::Failed => Color::Red.normal(),
            _ => Style::new().dimmed(),
        };
        Some((line, style))
    }

    /// Takes the plan; returns false when it has not changed.
    pub(super) fn set_plan(&mut self, steps: &[PlanStep]) -> bool {
        let other = self.plan != steps;
        if other {
            self.plan = steps.to_vec();
            self.plan_printed = false;
        }
        other
    }

    /// True while a step of the plan is not done.
    pub(super) fn plan_is_open(&self) -> bool {
        let open =
            |step: &PlanStep| matches!(step.status, WorkStatus::Waiting | WorkStatus::Running);
        self.plan.iter().any(open)
    }

    /// Returns the final lines of the plan once: a box for each step.
    pub(super) fn take_plan(&mut self) -> Vec<(String, Style)> {
        match std::mem::replace(&mut self.plan_printed, true) {
            true => Vec::new(),
            false => self.plan.iter().map(step_line).collect(),
        }
    }

    /// Rows of the open plan; of a long one, those around the first step that is not done.
    pub(super) fn plan_rows(&self, columns: usize) -> Vec<Line> {
        if self.plan_printed || !self.plan_is_open() {
            return Vec::new();
        }
        let done = |step: &PlanStep| step.status == WorkStatus::Done;
        let at = self.plan.iter().take_while(|step| done(step)).count();
        let from = at.saturating_sub(2);
        let from = from.min(self.plan.len().saturating_sub(PLAN_STEPS));
        let to = self.plan.len().min(from + PLAN_STEPS);
        let mut rows = Rows::new(columns);
        let left_out = |rows: &mut Rows, count: usize| {
            if count > 0 {
                let text = format!("… {}", counted(count, "more step"));
                rows.text(0, &cut(&text, columns), Style::new().dimmed());
            }
        };
        left_out(&mut rows, from);
        for step in &self.plan[from..to] {
            let (line, style) = step_line(step);
            rows.text(0, &cut(&visible(&line), columns), style);
        }
        left_out(&mut rows, self.plan.len() - to);
        rows.into_rows()
    }
}

/// Steps side by side; of many, those around the running one.
fn steps_in_one_row(steps: &[PlanStep]) -> String {
    let done = |step: &&PlanStep| step.status == WorkStatus::Done;
    let over = steps.iter().take_while(done).count();
    let from = over
        .saturating_sub(1)
        .min(steps.len().saturating_sub(ROW_STEPS));
    let to = steps.len().min(from + ROW_STEPS);
    let before = (from > 0).then(|| format!("☑ {from} more"));
    let after = (to < steps.len()).then(|| format!("… {} more", steps.len() - to));
    let shown = steps[from..to].iter().map(|step| step_line(step).0);
    let parts: Vec<String> = before.into_iter().chain(shown).chain(after).collect();
    parts.join("  ")
}

fn step_line(step: &PlanStep) -> (String, Style) {
    let (mark, style) = match step.status {
        WorkStatus::Waiting => ("☐", Style::new()),
        WorkStatus::Running => ("▸", Style::new().bold()),
        WorkStatus::Done => ("☑", Style::new().dimmed()),
        WorkStatus::Failed => ("✗", Color::Red.normal()),
    };
    (format!("{mark} {}", step.text), style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{ActivityKind, InputPart};

    #[test]
    fn a_plan_is_one_block_until_nothing_is_left_to_do() {
        use WorkStatus::{Done, Failed, Running, Waiting};
        let plan = |all: &[WorkStatus]| -> Vec<PlanStep> {
            let step = |(at, status): (usize, &WorkStatus)| PlanStep {
                text: format!("{at}"),
                status: *status,
            };
            all.iter().enumerate().map(step).collect()
        };
        let mut progress = TurnProgress::default();
        let rows = |progress: &TurnProgress| -> Vec<String> {
            progress.plan_rows(20).iter().map(Line::plain).collect()
        };
        let stays = |progress: &mut TurnProgress| -> Vec<String> {
            progress
                .take_plan()
                .into_iter()
                .map(|(line, _)| line)
                .collect()
        };
        assert!(progress.set_plan(&plan(&[Done, Running, Waiting, Failed])));
        assert_eq!(rows(&progress), ["☑ 0", "▸ 1", "☐ 2", "✗ 3"]);
        assert!(!progress.set_plan(&plan(&[Done, Running, Waiting, Failed])));
        assert!(progress.set_plan(&plan(&[Done, Done])) && !progress.plan_is_open());
        assert_eq!(rows(&progress), [""; 0]);
        assert_eq!(stays(&mut progress), ["☑ 0", "☑ 1"]);
        assert_eq!(stays(&mut progress), [""; 0]);
        let mut long = [Done; 20];
        long[15..].fill(Waiting);
        progress.set_plan(&plan(&long));
        let shown = rows(&progress);
        assert_eq!((shown[0].as_str(), shown.len()), ("… 8 more steps", 13));
        assert_eq!(shown[12], "☐ 19");
    }

    #[test]
    fn the_cells_of_a_call_stand_in_its_row_and_stay_when_one_failed() {
        let cells = |at: usize, count: usize| -> AnswerEvent {
            let step = |index: usize| PlanStep {
                text: format!("c{index}"),
                status: match index.cmp(&at) {
                    std::cmp::Ordering::Less => WorkStatus::Done,
                    std::cmp::Ordering::Equal => WorkStatus::Running,
                    std::cmp::Ordering::Greater => WorkStatus::Waiting,
                },
            };
            AnswerEvent::CellsProgress((0..count).map(step).collect())
        };
        let mut progress = TurnProgress::default();
        let row = |progress: &TurnProgress| progress.rows(80, 3).first().map(Line::plain);
        let begin =
            |progress: &mut TurnProgress| progress.start(String::new(), "run_cells(3 cells)");
        begin(&mut progress);
        progress.on_event(cells(1, 3));
        let shown = "⌛ run_cells(3 cells)  ☑ c0  ▸ c1  ☐ c2";
        assert_eq!(row(&progress).as_deref(), Some(shown));
        assert_eq!(progress.tool_finished(true), None, "nothing more to say");
        assert_eq!(row(&progress), None);
        begin(&mut progress);
        progress.on_event(cells(1, 3));
        let said = progress.tool_finished(false);
        assert_eq!(said.as_deref(), Some("  ☑ c0  ✗ c1  ☐ c2"));
        assert_eq!(progress.tool_finished(false), None, "a call of one cell");
        progress.on_event(cells(6, 20));
        let said = progress.tool_finished(false);
        let many = "  ☑ 5 more  ☑ c5  ✗ c6  ☐ c7  ☐ c8  ☐ c9  … 10 more";
        assert_eq!(said.as_deref(), Some(many));
    }

    #[test]
    fn what_runs_is_a_row_until_it_has_ended() {
        let mut activity = Activity {
            id: "1".into(),
            kind: ActivityKind::Mcp,
            title: "w.now()".into(),
            status: WorkStatus::Running,
            content: vec![InputPart::Text("rain".into())],
            denied: false,
            locations: Vec::new(),
        };
        let mut progress = TurnProgress::default();
        let rows = |progress: &TurnProgress| -> Vec<String> {
            progress.rows(20, 3).iter().map(Line::plain).collect()
        };
        progress.start("c".into(), "make");
        progress.append_output("c", "1\n2\n3\n\x1b[4");
        assert_eq!(progress.on_activity(&activity), None);
        activity.title = "w.now('Oslo')".into();
        assert_eq!(progress.on_activity(&activity), None);
        assert_eq!(
            rows(&progress),
            ["⌛ make", "2", "3", "^[[4", "⌛ w.now('Oslo')"]
        );
        activity.status = WorkStatus::Done;
        let (line, _) = progress.on_activity(&activity).expect("a line");
        assert_eq!(line, "🔧 w.now('Oslo') => rain");
        progress.remove("c");
        assert!(progress.is_idle());
    }
}
