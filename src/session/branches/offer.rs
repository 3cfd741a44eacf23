//! What a turn beside the prompt offers: the user merges it, takes only its cells, or drops it.
//!
//! In: a wish to merge, the user's answer. Out: a question, and what follows of its answer.

use super::ask::drop_branch;
use super::{BranchWork, merge};
use crate::approvals::ApprovalRequester;
use crate::effect::Event;
use crate::events::{AfterEvent, Notice, TextEvent};
use crate::question::{Offer, QuestionChoice, QuestionSubject, Reply};
use crate::run::RunSender;
use crate::step::Step;

/// Asks what becomes of it.
pub(super) fn ask(step: &mut Step<'_>, number: u32, out: &RunSender) {
    let Some(offer) = offer(step, number) else {
        return;
    };
    step.hold_for_question(out);
    let about = QuestionSubject::Offer(Box::new(offer));
    step.ask_user(about, ApprovalRequester::Offer(number));
}

fn offer(step: &mut Step<'_>, number: u32) -> Option<Offer> {
    let job = step.state.branches.get(number)?;
    let BranchWork::Aside(turn) = &job.work else {
        return None;
    };
    Some(Offer {
        line: job.line,
        prompt: turn.prompt.clone(),
        cells: turn.cells.clone(),
        names: job.rows.clone(),
        files: turn.files.clone(),
    })
}

pub(crate) fn on_answer(step: &mut Step<'_>, number: u32, reply: &Reply) {
    let Some(out) = step.release_question() else {
        return;
    };
    let Some(offer) = offer(step, number) else {
        return;
    };
    let line = offer.line;
    match reply {
        Reply::Chosen(QuestionChoice::Merge) => return merge::start(step, number, &out),
        Reply::Chosen(QuestionChoice::Details) => {
            step.send(&out, TextEvent::Verbatim(offer.details()));
            return ask(step, number, &out);
        }
        Reply::Chosen(QuestionChoice::Cells) => {
            step.send(&out, AfterEvent::Refill(offer.code()));
            drop_branch(step, number);
        }
        Reply::Chosen(QuestionChoice::Drop) => {
            drop_branch(step, number);
            step.state.branches.remove(number);
            let text = format!("what In [{line}] has left was dropped");
            step.send(&out, Notice::note(text));
        }
        _ => {
            let text = format!("In [{line}] stays as it is: `%ipycodex merge {line}` asks again");
            step.send(&out, Notice::note(text));
        }
    }
    step.raise(Event::Advance);
}
