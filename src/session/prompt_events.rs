//! Events of the agent and for the active prompt.

use crate::agent::{AgentEvent, AgentReply, TurnId};
use crate::approvals::{ApprovalEvent, ApprovalRequester};
use crate::context::StepContext;
use crate::effect::{Effect, Event, RecordWrite, To};
use crate::events::{EndEvent, Notice, TurnOutcome};
use crate::prompt::{PromptContext, PromptEvent, PromptOutcome};
use crate::record::RecordedOutcome;
use crate::state::SessionState;

pub(super) fn on_agent(state: &mut SessionState, event: AgentEvent) -> Vec<Effect> {
    let turns = &mut state.turns;
    if let AgentEvent::Update(news) = event {
        let line = turns.profile.take(news);
        return line
            .map(Notice::note)
            .map(Effect::show)
            .into_iter()
            .collect();
    }
    let Some(turn) = event.turn() else {
        return Vec::new();
    };
    let over = matches!(
        event,
        AgentEvent::Finished { .. } | AgentEvent::Failed { .. }
    );
    let event = if turns.cancelling == Some(turn) {
        if !over {
            return Vec::new();
        }
        turns.cancelling = None;
        PromptEvent::AgentIdle
    } else if turns.running == Some(turn) {
        if over {
            turns.running = None;
        }
        PromptEvent::Agent(event)
    } else {
        return Vec::new();
    };
    let job = state.scheduler.ticket();
    let event = job.map(|job| Effect::Raise(Event::Prompt(job, event)));
    event.into_iter().collect()
}

/// Passes the event to the active prompt.
pub(super) fn on_prompt(
    state: &mut SessionState,
    event: PromptEvent,
    ctx: &StepContext<'_>,
) -> Vec<Effect> {
    let mut effects = close_question(state, &event, ctx);
    let (role, job) = (state.tool_runner.role(), state.scheduler.ticket());
    let (turns, choices) = (&mut state.turns, &state.choices);
    let (skills, cwd) = (&state.skill_registry, &state.cwd);
    let (Some(job), Some(prompt)) = (job, state.scheduler.prompt()) else {
        return effects;
    };
    let around = PromptContext {
        job,
        role,
        now: ctx.now,
        outputs: ctx.outputs,
        skills: skills.newly_loaded(),
        runtime: ctx.user().able(),
    };
    let step = prompt.on(event, &around, move || {
        let able = ctx.agent().capabilities();
        turns.context(able, ctx.deps, choices, ctx.user(), skills, cwd)
    });
    effects.push(Effect::SaveOutputs(To::Job));
    if let Some(outcome) = step.outcome {
        effects.extend(finish_exchange(state, *outcome));
    }
    for effect in step.effects {
        match effect {
            Effect::Emit(to, event) => {
                let event = state.cell_calls.map_event(event);
                effects.extend(event.map(|event| Effect::Emit(to, event)));
            }
            Effect::Record(RecordWrite::BeginTurn(_)) => {
                state.skill_registry.clear_newly_loaded();
                effects.push(effect);
            }
            Effect::StartTurn(job, request) => {
                state.external_calls.offered.clone_from(&request.tools);
                effects.push(Effect::ToolsChanged);
                effects.push(Effect::StartTurn(job, request));
            }
            Effect::ReplyToAgent(turn, reply) => effects.push(route_reply(state, turn, reply)),
            Effect::CancelTurn(turn) => {
                state.turns.running = None;
                state.turns.cancelling = Some(turn);
                effects.push(effect);
            }
            effect => effects.push(effect),
        }
    }
    effects
}

/// Closes the question that the event withdraws, before the prompt hears of it.
fn close_question(
    state: &mut SessionState,
    event: &PromptEvent,
    ctx: &StepContext<'_>,
) -> Vec<Effect> {
    let closed = match event {
        PromptEvent::Interrupted => ApprovalEvent::Cancelled(ApprovalRequester::Prompt),
        PromptEvent::Agent(AgentEvent::RequestWithdrawn { id, .. }) => {
            let question = id.clone();
            ApprovalEvent::Withdrawn { question }
        }
        _ => return Vec::new(),
    };
    state.approvals.on(closed, ctx.at)
}

/// Sends a reply of the turn to its caller: the agent, or a call from outside inside the turn.
fn route_reply(state: &mut SessionState, turn: TurnId, reply: AgentReply) -> Effect {
    let inside = match &reply {
        AgentReply::ToolResult { call, .. } => state.external_calls.inside_calls.remove(call),
        AgentReply::Answer { .. } | AgentReply::Steer(_) => None,
    };
    match (inside, reply) {
        (
            Some(out),
            AgentReply::ToolResult {
                success, content, ..
            },
        ) => {
            let ended = EndEvent::Call { content, success };
            Effect::Emit(To::Run(out), ended.into())
        }
        (_, reply) => Effect::ReplyToAgent(turn, reply),
    }
}

/// Records and logs the finished exchange, and publishes it to the interpreter.
fn finish_exchange(state: &mut SessionState, finished: PromptOutcome) -> Vec<Effect> {
    let PromptOutcome {
        outcome,
        exchange,
        usage,
    } = finished;
    let outcome = match outcome {
        TurnOutcome::Complete => RecordedOutcome::Complete,
        TurnOutcome::Interrupted => RecordedOutcome::Interrupted,
        TurnOutcome::Failed(_) => RecordedOutcome::Failed,
    };
    let end = |stored| {
        Effect::Record(RecordWrite::EndTurn {
            outcome,
            stored,
            usage,
        })
    };
    let Some(exchange) = exchange else {
        return vec![end(String::new())];
    };
    state.cell_calls.set_answer(&exchange.texts);
    // After anything but a whole answer the thread no longer equals the record: the next turn seeds a new one.
    state.turns.set_thread(exchange.thread.clone());
    let mut effects = vec![
        end(exchange.stored.clone()),
        Effect::Record(RecordWrite::Thread {
            agent: state.choices.agent.to_string(),
            thread: exchange.thread,
        }),
    ];
    if outcome == RecordedOutcome::Failed {
        return effects;
    }
    effects.extend(exchange.sent.map(|sent| Effect::LogExchange {
        sent,
        stored: exchange.stored.clone(),
        session: state.numbering.session(),
        to: To::Job,
    }));
    state.turns.proposed_plan = exchange.plan;
    let published = (exchange.prompt, exchange.stored);
    effects.push(Effect::PublishExchange(Some(published)));
    effects
}
