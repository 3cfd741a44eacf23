//! What goes on beside the text of an answer: commands, tools, work of the agent's own, and its plan.
//!
//! In: beginnings, output, ends. Out: rows that are redrawn while something runs, lines that stay when it has ended.
//! Pure; all text in it is foreign: whoever prints a line makes it safe.

use nu_ansi_term::{Color, Style};

use crate::agent::{Activity, PlanStep, WorkStatus};
use crate::text::escape::visible;
use crate::text::{Line, cut};

/// Lines of a running command that are shown.
const COMMAND_LINES: usize = 8;

/// Bytes of a running command's output that are looked at for them.
const COMMAND_TAIL: usize = 4096;

/// What runs at this moment, and the plan as it was shown last.
#[derive(Debug, Default)]
pub(super) struct Work {
    running: Vec<Running>,
    plan: Vec<(String, Style)>,
}

#[derive(Debug)]
struct Running {
    id: String,
    line: String,
    /// The end of it.
    output: String,
}

impl Work {
    /// A command, a tool of ours (which has no id) or work of the agent's own runs from now on.
    pub(super) fn begin(&mut self, id: String, what: &str) {
        self.running.push(Running {
            id,
            line: format!("⌛ {what}"),
            output: String::new(),
        });
    }

    /// It put out more.
    pub(super) fn grew(&mut self, id: &str, delta: &str) {
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

    /// It ended.
    pub(super) fn over(&mut self, id: &str) {
        self.running.retain(|running| running.id != id);
    }

    /// Everything ended.
    pub(super) fn clear(&mut self) {
        self.running.clear();
    }

    /// Nothing runs.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// A row for each thing that runs and for the end of its output, none wider than `columns`.
    pub(super) fn rows(&self, columns: usize, most: usize) -> Vec<Line> {
        let mut rows = Vec::new();
        for running in &self.running {
            rows.push(Line::plain_text(&cut(&running.line, columns)));
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

    /// Takes work of the agent's own; the line that stays when it has ended.
    pub(super) fn worked(&mut self, activity: &Activity) -> Option<(String, Style)> {
        let Some(line) = activity.ended() else {
            let id = &activity.id;
            match self.running.iter_mut().find(|running| running.id == *id) {
                Some(running) => running.line = format!("⌛ {}", activity.told()),
                None => self.begin(id.clone(), &activity.told()),
            }
            return None;
        };
        self.over(&activity.id);
        let style = match activity.status {
            WorkStatus::Failed => Color::Red.normal(),
            _ => Style::new().dimmed(),
        };
        Some((line, style))
    }

    /// Takes the plan; its lines, a box each, when they are others than before.
    pub(super) fn planned(&mut self, steps: &[PlanStep]) -> Vec<(String, Style)> {
        let lines = steps.iter().map(|step| {
            let (mark, style) = match step.status {
                WorkStatus::Waiting => ("☐", Style::new()),
                WorkStatus::Running => ("▸", Style::new().bold()),
                WorkStatus::Done => ("☑", Style::new().dimmed()),
                WorkStatus::Failed => ("✗", Color::Red.normal()),
            };
            (format!("{mark} {}", step.text), style)
        });
        let lines: Vec<(String, Style)> = lines.collect();
        if self.plan == lines {
            return Vec::new();
        }
        self.plan.clone_from(&lines);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{ActivityKind, InputPart};

    #[test]
    fn a_plan_has_a_box_for_each_step_and_is_shown_when_it_has_changed() {
        let step = |text: &str, status| PlanStep {
            text: text.into(),
            status,
        };
        let steps = [
            step("a", WorkStatus::Done),
            step("b", WorkStatus::Running),
            step("c", WorkStatus::Waiting),
            step("d", WorkStatus::Failed),
        ];
        let mut work = Work::default();
        let lines = |rows: Vec<(String, Style)>| -> Vec<String> {
            rows.into_iter().map(|(row, _)| row).collect()
        };
        assert_eq!(lines(work.planned(&steps)), ["☑ a", "▸ b", "☐ c", "✗ d"]);
        assert_eq!(lines(work.planned(&steps)), [""; 0]);
        assert_eq!(lines(work.planned(&steps[..1])), ["☑ a"]);
    }

    #[test]
    fn what_runs_is_a_row_until_it_has_ended() {
        let mut activity = Activity {
            id: "1".into(),
            kind: ActivityKind::Mcp,
            title: "w.now()".into(),
            status: WorkStatus::Running,
            content: vec![InputPart::Text("rain".into())],
            places: Vec::new(),
        };
        let mut work = Work::default();
        let rows =
            |work: &Work| -> Vec<String> { work.rows(20, 3).iter().map(Line::plain).collect() };
        work.begin("c".into(), "make");
        work.grew("c", "1\n2\n3\n\x1b[4");
        assert_eq!(work.worked(&activity), None);
        activity.title = "w.now('Oslo')".into();
        assert_eq!(work.worked(&activity), None);
        assert_eq!(
            rows(&work),
            ["⌛ make", "2", "3", "^[[4", "⌛ w.now('Oslo')"]
        );
        activity.status = WorkStatus::Done;
        let (line, _) = work.worked(&activity).expect("a line");
        assert_eq!(line, "🔧 w.now('Oslo') => rain");
        work.over("c");
        assert!(work.is_idle());
    }
}
