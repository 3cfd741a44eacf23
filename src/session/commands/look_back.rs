//! `when`: the value of an expression after each earlier cell.
//!
//! Absent on purpose: how the past is asked (the runtime), how values become lines (`look_back.rs`).

use tokio::sync::oneshot;

use crate::agent::Sandbox;
use crate::effect::{Effect, emit, warn};
use crate::events::{BeginEvent, Notice, TextEvent};
use crate::input::is_ipycodex_input;
use crate::kernels::KernelRequest;
use crate::look_back::replayed::{ReplayedPast, replayed};
use crate::look_back::{self, SHOWN};
use crate::magics::LookBackWish;
use crate::numbering::in_words;
use crate::peers::PlannedRuntime;
use crate::record::RecordHandle;
use crate::resume;
use crate::run::RunSender;
use crate::runtime::{LookBack, LookBackRequest, RuntimeReply, RuntimeRequest};
use crate::scheduler::ActiveJob;
use crate::step::Step;
use crate::undo::InterpreterSessions;

/// What a replay cannot promise.
const NOT_PROMISED: &str = "a replay may differ from what was: it reads files as they are now, writes none, has no \
                            network and no `input()`, and time and chance are new";

/// `number` is the In number of the command.
pub(super) fn begin(step: &mut Step<'_>, wish: LookBackWish, number: u32, out: &RunSender) {
    let sessions = step.state.step_log.sessions.clone();
    let look = sessions.look_back(wish.code, None, None);
    let request = RuntimeRequest::LookBack(look.clone());
    if !wish.replay {
        step.send(out, BeginEvent::Wait);
        let told = step.ask_runtime(request);
        return step.wait_as(ActiveJob::Look, out, on_answer(told, sessions));
    }
    if let Some(RuntimeReply::Unsupported(why)) = step.ctx.user().able().refusal(&request) {
        return step.send(out, Notice::warning(why));
    }
    step.send(out, BeginEvent::Wait);
    let planned = (step.ctx.deps.kernels)(&KernelRequest {
        cwd: step.state.cwd.clone(),
        sandbox: Sandbox::ReadOnly,
    });
    let (going, ended) = oneshot::channel();
    let replay = replay(planned, step.ctx.record.clone(), look, sessions, number);
    step.wait_as(ActiveJob::Elsewhere(going), out, async move {
        tokio::select! {
            effects = replay => effects,
            _ = ended => Vec::new(),
        }
    });
}

async fn on_answer(
    told: oneshot::Receiver<RuntimeReply>,
    sessions: InterpreterSessions,
) -> Vec<Effect> {
    match told.await {
        Ok(RuntimeReply::LookedBack(LookBack::Looked(states))) => emit(TextEvent::Text(
            look_back::listed(&states, &sessions, SHOWN),
        )),
        Ok(RuntimeReply::LookedBack(LookBack::Unprotected(why))) => warn(format!(
            "not run: {why}, so nothing would keep the expression from changing files"
        )),
        Ok(RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why)) => warn(why),
        _ => warn("the interpreter ended before it had answered"),
    }
}

async fn replay(
    planned: PlannedRuntime,
    record: RecordHandle,
    look: LookBackRequest,
    sessions: InterpreterSessions,
    own: u32,
) -> Vec<Effect> {
    let mut cells = record.cells().await;
    cells.retain(|cell| {
        let runs = !is_ipycodex_input(&cell.source) && !resume::leaves(&cell.source);
        cell.line != own && runs && !cell.stepped_over
    });
    if cells.is_empty() {
        return warn("no cell of this session can be replayed");
    }
    let ReplayedPast { states, differs } = match replayed(planned, cells, &look).await {
        Ok(past) => past,
        Err(why) => return warn(why),
    };
    let mut effects = emit(TextEvent::Text(look_back::listed(
        &states, &sessions, SHOWN,
    )));
    if !differs.is_empty() {
        let cells = in_words(differs.into_iter());
        effects.extend(emit(Notice::warning(format!(
            "{cells} did not end as then: what follows may differ"
        ))));
    }
    effects.extend(emit(Notice::note(NOT_PROMISED)));
    effects
}
