//! What a turn beside the prompt offers: the user merges it, takes only its cells, or drops it.
//!
//! In: a wish to merge, the user's answer. Out: a question, and what follows of its answer.

use super::ask::drop_branch;
use super::{BranchWork, files, merge};
use crate::approvals::ApprovalRequester;
use crate::effect::{Effect, Event, Found};
use crate::events::{AfterEvent, Notice, TextEvent};
use crate::question::{Offer, OfferedFile, QuestionChoice, QuestionSubject, Reply};
use crate::run::RunSender;
use crate::step::Step;

/// Looks at its files once more, which others may have written here meanwhile, and asks.
pub(super) fn begin(step: &mut Step<'_>, number: u32, out: &RunSender) {
    let directory = step.state.cwd.clone();
    let Some(job) = step.state.branches.get(number) else {
        return;
    };
    let folder = files::offered(&job.folder);
    step.wait(out, async move {
        let found = tokio::task::spawn_blocking(move || files::find(&folder, &directory)).await;
        vec![Effect::found(Found::Offer(
            number,
            found.unwrap_or_default(),
        ))]
    });
}

/// Asks what becomes of it; where nobody can be asked, it is merged.
pub(crate) fn ask(step: &mut Step<'_>, number: u32, files: Vec<OfferedFile>, out: &RunSender) {
    if let Some(turn) = step.state.branches.aside(number) {
        turn.files = files;
    }
    let Some(offer) = offer(step, number) else {
        return;
    };
    if !step.ctx.deps.asks {
        return merge::start(step, number, out);
    }
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
            return ask(step, number, offer.files, &out);
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
