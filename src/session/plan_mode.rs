//! Plan mode: what the agent is told, what is refused, and how it reports the steps of a plan.
//!
//! Pure. What acts is refused, whatever mode the agent itself is in. Invariant: what tells the agent of the mode is
//! recorded with the prompt, so that a thread equals the record. Absent on purpose: the switch and the question about a
//! plan (`commands/plan.rs`), and the table of tools that only look (`tools/table.rs`).

use serde_json::{Value, json};

use crate::agent::{PlanStep, Subject, ToolSpec, WorkStatus};
use crate::approvals::ApprovalRequester;
use crate::question::QuestionSubject;

/// Begins what each prompt in plan mode carries for the agent.
const MARK: &str = "<plan-mode>";

const TASK: &str = "Plan mode is on: look, and change nothing. Read what you need, with tools that only look; whatever \
    acts is refused: changes of files, cells in the session, functions of the user, commands that write. If something \
    decides about the way and only the user knows it, ask. Else end your answer with the plan, as a numbered list of \
    steps, each a line long. The user then says whether you carry it out.";

/// The reason of each refusal, for the model.
pub(crate) const REFUSAL: &str = "plan mode is on, in which nothing is changed and nothing acts. Look at what you \
    need, then give the plan; the user decides whether it is carried out";

/// The first line of a prompt that acts on a plan.
pub(crate) const ACT: &str = "Carry out this plan:";

/// The tool that reports how far each step is.
pub(crate) const SHOW_PLAN: &str = "show_plan";

const ABOUT_SHOW_PLAN: &str = "\
Show the user the steps of the plan, and how far each of them is. When you carry out a plan, call it before the first \
step and whenever a step begins or ends, each time with all steps. It does nothing else, and the user is not asked.";

/// Returns what a prompt in plan mode carries for the agent.
pub(crate) fn task() -> String {
    format!("{MARK}{TASK}</plan-mode>\n")
}

/// True for a sent prompt that was in plan mode.
pub(crate) fn was_on(sent: &str) -> bool {
    sent.contains(MARK)
}

pub(crate) fn show_plan_spec() -> ToolSpec {
    ToolSpec {
        name: SHOW_PLAN.into(),
        description: ABOUT_SHOW_PLAN.into(),
        schema: json!({
            "type": "object",
            "properties": {"steps": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "step": {"type": "string", "description": "A line of text."},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed", "failed"]},
                },
                "required": ["step", "status"],
                "additionalProperties": false,
            }}},
            "required": ["steps"],
            "additionalProperties": false,
        }),
    }
}

/// Reads the arguments of a call of [`SHOW_PLAN`].
///
/// # Errors
/// Returns what is wrong with them, for the model.
pub(crate) fn reported_steps(arguments: &Value) -> Result<Vec<PlanStep>, String> {
    let wrong =
        || format!("{SHOW_PLAN}: `steps`: expected a list of objects with `step` and `status`");
    let steps = arguments["steps"].as_array().ok_or_else(wrong)?;
    let steps = steps.iter().map(|step| {
        let text = step["step"].as_str().unwrap_or_default();
        Some(PlanStep {
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            status: match step["status"].as_str()? {
                "completed" => WorkStatus::Done,
                "in_progress" => WorkStatus::Running,
                "failed" => WorkStatus::Failed,
                _ => WorkStatus::Waiting,
            },
        })
    });
    let steps: Vec<PlanStep> = steps.collect::<Option<_>>().ok_or_else(wrong)?;
    match steps.is_empty() || steps.iter().any(|step| step.text.is_empty()) {
        true => Err(wrong()),
        false => Ok(steps),
    }
}

/// True for a question that a yes to would let the agent act.
pub(crate) fn refuses_question(about: &QuestionSubject, asker: &ApprovalRequester) -> bool {
    match (about, asker) {
        (QuestionSubject::Agent(_), ApprovalRequester::Agent { reads: true, .. }) => false,
        (QuestionSubject::Agent(subject), _) => {
            !matches!(subject, Subject::Form { .. } | Subject::Link { .. })
        }
        (
            QuestionSubject::Cells(_)
            | QuestionSubject::Unprotected { .. }
            | QuestionSubject::SkillCode { .. },
            _,
        ) => true,
        _ => false,
    }
}

/// Returns the prompt that has these steps carried out.
pub(crate) fn act_prompt(steps: &[String]) -> String {
    let steps = steps.iter().enumerate();
    let steps = steps.map(|(n, step)| format!("\n{}. {step}", n + 1));
    format!("{ACT}{}", steps.collect::<String>())
}
