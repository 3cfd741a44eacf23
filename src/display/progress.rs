//! Progress beside the text of an answer: running commands, tools, the agent's own work, and its plan.
//!
//! In: the answer so far. Out: rows that are redrawn while something runs, and final lines. The plan is one block:
//! redrawn while steps are open, final afterwards. Pure; all text in it is untrusted, and the caller that prints a line
//! makes it safe.

use nu_ansi_term::{Color, Style};

use super::rows::Rows;
use crate::agent::{PlanStep, WorkStatus};
use crate::session::{Answer, Work};
use crate::text::escape::visible;
use crate::text::{Line, counted, cut};

const COMMAND_LINES: usize = 8;

/// Bytes of a running command's output that are looked at, from its end.
const COMMAND_TAIL: usize = 4096;

const PLAN_STEPS: usize = 12;

const ROW_STEPS: usize = 5;

/// Returns rows for everything that runs and the end of its output, none wider than `columns`.
pub(super) fn rows(answer: &Answer, columns: usize, most: usize) -> Vec<Line> {
    let mut rows = Vec::new();
    let mut push = |row: &str| rows.push(Line::plain_text(&cut(&visible(row), columns)));
    for work in answer.running() {
        match work {
            Work::Call { id, title, .. } if id.is_empty() && !answer.cells().is_empty() => {
                push(&format!("⌛ {title}  {}", steps_in_one_row(answer.cells())));
            }
            Work::Call { title, output, .. } => {
                push(&format!("⌛ {title}"));
                let tail = output.len().saturating_sub(COMMAND_TAIL);
                let lines: Vec<&str> = output[output.ceil_char_boundary(tail)..].lines().collect();
                let shown = lines.len().saturating_sub(COMMAND_LINES.min(most));
                lines[shown..].iter().for_each(|line| push(line));
            }
            Work::Activity(activity) => push(&format!("⌛ {}", activity.title_with_locations())),
            Work::Plan(_) | Work::AgentStarts(_) | Work::Line(_) => {}
        }
    }
    rows
}

/// Returns a line about the cells of a tool that failed, if one of them did.
pub(super) fn failed_cells(cells: &[PlanStep]) -> Option<String> {
    let mut cells = cells.to_vec();
    let mut all = cells.iter_mut();
    let stopped = all.find(|it| it.status == WorkStatus::Running)?;
    stopped.status = WorkStatus::Failed;
    Some(format!("  {}", steps_in_one_row(&cells)))
}

/// True while a step of the plan is not done.
pub(super) fn is_open(plan: &[PlanStep]) -> bool {
    let open = |step: &PlanStep| matches!(step.status, WorkStatus::Waiting | WorkStatus::Running);
    plan.iter().any(open)
}

/// Rows of a plan; of a long one, those around the first step that is not done.
pub(super) fn plan_rows(plan: &[PlanStep], columns: usize) -> Vec<Line> {
    let done = |step: &PlanStep| step.status == WorkStatus::Done;
    let at = plan.iter().take_while(|step| done(step)).count();
    let from = at.saturating_sub(2);
    let from = from.min(plan.len().saturating_sub(PLAN_STEPS));
    let to = plan.len().min(from + PLAN_STEPS);
    let mut rows = Rows::new(columns);
    let left_out = |rows: &mut Rows, count: usize| {
        if count > 0 {
            let text = format!("… {}", counted(count, "more step"));
            rows.text(0, &cut(&text, columns), Style::new().dimmed());
        }
    };
    left_out(&mut rows, from);
    for step in &plan[from..to] {
        let (line, style) = step_line(step);
        rows.text(0, &cut(&visible(&line), columns), style);
    }
    left_out(&mut rows, plan.len() - to);
    rows.into_rows()
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

/// A step behind a box.
pub(super) fn step_line(step: &PlanStep) -> (String, Style) {
    let (mark, style) = match step.status {
        WorkStatus::Waiting => ("☐", Style::new()),
        WorkStatus::Running => ("▸", Style::new().bold()),
        WorkStatus::Done => ("☑", Style::new().dimmed()),
        WorkStatus::Failed => ("✗", Color::Red.normal()),
    };
    (format!("{mark} {}", step.text), style)
}

/// A step behind a box, as a line; what is foreign in it is unchanged.
pub fn plan_line(step: &PlanStep) -> String {
    step_line(step).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Activity, ActivityKind};
    use crate::session::AnswerEvent;

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
        let rows = |all: &[WorkStatus]| -> Vec<String> {
            let rows = plan_rows(&plan(all), 20);
            rows.iter().map(Line::plain).collect()
        };
        assert_eq!(
            rows(&[Done, Running, Waiting, Failed]),
            ["☑ 0", "▸ 1", "☐ 2", "✗ 3"]
        );
        assert!(is_open(&plan(&[Done, Waiting])) && is_open(&plan(&[Running])));
        assert!(!is_open(&plan(&[Done, Failed])));
        let mut long = [Done; 20];
        long[15..].fill(Waiting);
        let shown = rows(&long);
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
        let mut answer = Answer::default();
        answer.apply(AnswerEvent::ToolStarted {
            call: "run_cells(3 cells)".into(),
        });
        answer.apply(cells(1, 3));
        let row = rows(&answer, 80, 3).first().map(Line::plain);
        let shown = "⌛ run_cells(3 cells)  ☑ c0  ▸ c1  ☐ c2";
        assert_eq!(row.as_deref(), Some(shown));
        let said = failed_cells(answer.cells());
        assert_eq!(said.as_deref(), Some("  ☑ c0  ✗ c1  ☐ c2"));
        assert_eq!(failed_cells(&[]), None, "a call of one cell");
        answer.apply(cells(6, 20));
        let said = failed_cells(answer.cells());
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
            content: Vec::new(),
            denied: false,
            locations: Vec::new(),
        };
        let mut answer = Answer::default();
        let rows = |answer: &Answer| -> Vec<String> {
            rows(answer, 20, 3).iter().map(Line::plain).collect()
        };
        answer.apply(AnswerEvent::CommandStarted {
            id: "c".into(),
            command: "make".into(),
        });
        answer.apply(AnswerEvent::CommandOutput {
            id: "c".into(),
            delta: format!("{}\n1\n2\n3\n\x1b[4", "é".repeat(COMMAND_TAIL)),
        });
        answer.apply(AnswerEvent::Worked(activity.clone()));
        activity.title = "w.now('Oslo')".into();
        answer.apply(AnswerEvent::Worked(activity.clone()));
        let expected = ["⌛ make", "2", "3", "^[[4", "⌛ w.now('Oslo')"];
        assert_eq!(rows(&answer), expected);
        activity.status = WorkStatus::Done;
        answer.apply(AnswerEvent::Worked(activity));
        assert_eq!(rows(&answer), expected[..4]);
    }
}
