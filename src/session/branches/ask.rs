//! Questions to the interpreters of branches and to the one at the prompt, what their answers say, and a branch's end.

use super::BranchWork;
use super::event::BranchQuestion;
use crate::effect::Effect;
use crate::events::Notice;
use crate::peers::RuntimeRequester;
use crate::runtime::{BackgroundReply, BackgroundRequest, RuntimeReply, RuntimeRequest};
use crate::runtimes::RuntimeRole;
use crate::step::Step;

/// Asks an interpreter something for a branch.
pub(super) fn ask(
    step: &mut Step<'_>,
    role: RuntimeRole,
    branch: u32,
    question: BranchQuestion,
    request: RuntimeRequest,
) {
    let requester = RuntimeRequester::Branch(branch, question);
    step.push(Effect::AskRuntime(role, request, requester));
}

/// Asks the interpreter at the prompt about names.
pub(super) fn ask_prompt(
    step: &mut Step<'_>,
    branch: u32,
    question: BranchQuestion,
    request: BackgroundRequest,
) {
    let request = RuntimeRequest::Background(request);
    ask(step, RuntimeRole::User, branch, question, request);
}

/// Asks the interpreter of a branch about names.
pub(super) fn ask_branch(
    step: &mut Step<'_>,
    branch: u32,
    question: BranchQuestion,
    request: BackgroundRequest,
) {
    let request = RuntimeRequest::Background(request);
    ask(step, RuntimeRole::Branch(branch), branch, question, request);
}

/// Ends a branch, which holds nothing for the prompt any more; of a turn, the answer stays.
pub(super) fn drop_branch(step: &mut Step<'_>, number: u32) {
    let Some(mut job) = step.state.branches.remove(number) else {
        return;
    };
    match job.work {
        BranchWork::Cell { .. } => {
            step.push(Effect::EndBranch(number, job.folder));
            let request = BackgroundRequest::Forget { branch: number };
            ask_prompt(step, number, BranchQuestion::Nothing, request);
        }
        BranchWork::Aside(turn) => {
            step.push(Effect::EndBranch(number, job.folder.clone()));
            job.work = BranchWork::Answer(turn);
            step.state.branches.insert(number, job);
        }
        BranchWork::Answer(_) => step.state.branches.insert(number, job),
    }
}

pub(super) fn none(line: u32) -> Notice {
    Notice::note(format!(
        "In [{line}] is not beside the prompt; `%ipycodex jobs` lists what is"
    ))
}

/// Returns what an interpreter says about names; the error is why it says nothing.
pub(super) fn names_in(reply: RuntimeReply) -> Result<BackgroundReply, String> {
    match reply {
        RuntimeReply::Background(told) => match told.why {
            Some(why) => Err(why),
            None => Ok(*told),
        },
        reply => Err(why_not(&reply)),
    }
}

pub(super) fn why_not(reply: &RuntimeReply) -> String {
    match reply {
        RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why) => why.clone(),
        _ => "the interpreter gave another answer".to_owned(),
    }
}
