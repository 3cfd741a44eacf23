//! `%ipycodex plan`: plan mode on and off, and the user's word on a plan.
//!
//! Invariant: nothing acts before the user has said so, which ends the mode.

use crate::approvals::ApprovalRequester;
use crate::dialog::{Dialog, plan_steps};
use crate::effect::{Effect, Event, Found, warn};
use crate::events::{AfterEvent, Notice};
use crate::input::prompt_source;
use crate::jobs;
use crate::plan_mode::{ACT, act_prompt};
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::record::RecordHandle;
use crate::run::RunSender;
use crate::step::Step;
use crate::text::counted;

const NO_PLAN: &str = "the last answer holds no plan";

/// Switches the mode and tells the user; `None` tells how it is.
pub(crate) fn switch(step: &mut Step<'_>, on: Option<bool>, out: &RunSender) {
    let plan = &mut step.state.choices.plan;
    *plan = on.unwrap_or(*plan);
    let text = match *plan {
        true => "plan mode is on: the agent looks and plans, and changes nothing",
        false => "plan mode is off",
    };
    step.send(out, Notice::note(text));
}

/// Finds the plan of the last answer, to act on it.
pub(crate) async fn find(record: RecordHandle) -> Vec<Effect> {
    let last = |dialog: &Dialog| Some(plan_steps(&dialog.last_exchange()?.response));
    match last(&record.dialog().await).filter(|steps| !steps.is_empty()) {
        Some(steps) => vec![Effect::found(Found::Plan(steps))],
        None => warn(NO_PLAN),
    }
}

/// Asks the user whether the agent acts on the plan that it has given.
pub(crate) fn offer(step: &mut Step<'_>, steps: Vec<String>, can_ask: bool, out: &RunSender) {
    if !can_ask {
        let count = counted(steps.len(), "step");
        let note = format!("a plan of {count}: `%ipycodex plan act` lets the agent carry it out");
        return step.send(out, Notice::note(note));
    }
    step.hold_for_question(out);
    step.ask_user(
        QuestionSubject::Plan(steps.clone()),
        ApprovalRequester::Plan(steps),
    );
}

pub(crate) fn on_answer(step: &mut Step<'_>, steps: &[String], reply: &Reply) {
    let Some(out) = step.release_question() else {
        return;
    };
    match reply {
        Reply::Chosen(QuestionChoice::Once) => return act(step, steps, &out),
        Reply::Chosen(QuestionChoice::Edit) => {
            let note =
                "the edited plan is carried out when you send it; plan mode is on until then";
            step.send(&out, Notice::note(note));
            let text = prompt_source(&act_prompt(steps));
            step.send(&out, AfterEvent::Refill(text));
        }
        _ => step.send(&out, Notice::note("plan mode stays on")),
    }
    step.raise(Event::Advance);
}

/// Ends plan mode and sends the prompt that has the plan carried out.
pub(crate) fn act(step: &mut Step<'_>, steps: &[String], out: &RunSender) {
    step.state.choices.plan = false;
    jobs::resend(step, None, act_prompt(steps), out);
}

/// Ends plan mode for a prompt that has an edited plan carried out.
pub(crate) fn on_prompt(step: &mut Step<'_>, prompt: &str, out: &RunSender) {
    if step.state.choices.plan && prompt.lines().next() == Some(ACT) {
        switch(step, Some(false), out);
    }
}
