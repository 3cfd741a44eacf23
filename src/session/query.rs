//! Answers the questions of handles from what the session knows; none of them changes its state.

use tokio::sync::oneshot;

use crate::agent::ToolSpec;
use crate::commands::{model_names, recorded_sessions};
use crate::dialog::Dialog;
use crate::effect::Event;
use crate::external_calls::Toolset;
use crate::handle::Query;
use crate::io::SessionIo;
use crate::process;
use crate::prompt::{callable_specs, mentioned_functions};
use crate::resume::{earlier, last_exchange, other_agent};
use crate::runtime::{RuntimeReply, RuntimeRequest};
use crate::state::SessionState;
use crate::tools::ToolOffer;
use crate::{SessionSnapshot, suggest};

pub(super) fn answer(query: Query, state: &SessionState, io: &mut SessionIo) {
    let record = io.record.clone();
    // Sending an answer fails when the caller has gone.
    match query {
        Query::LastExchange(answer) => {
            answer_later(answer, async move { last_exchange(&record.dialog().await) });
        }
        Query::Ask(request, answer) => io.ask_for(*request, answer),
        Query::WarmRuntime(answer) => drop(answer.send(io.runtimes.user.get().terminal())),
        Query::WarmShell(answer) => drop(answer.send(io.runtimes.shell.get().terminal())),
        Query::WarmAgent => io.agent.get_mut().get().warm_up(),
        Query::Jobs(answer) => {
            let (leader, cells) = (io.runtimes.shell.process(), state.branches.running());
            // Listing the system's processes may take a while.
            tokio::task::spawn_blocking(move || {
                let shell = leader.map_or(Vec::new(), process::session_commands);
                let _ = answer.send(cells.into_iter().chain(shell).collect());
            });
        }
        Query::Choices(answer) => drop(answer.send(state.choices.clone())),
        Query::Surroundings(answer) => drop(answer.send(snapshot(state))),
        Query::Models(answer) => answer_later(answer, model_names(io.agent.get_mut().get())),
        Query::Suggest(request) => {
            let inbox = io.inbox.clone();
            suggest::begin(request, record, move |dialog, request| {
                // Fails when the session has ended.
                let _ = inbox.send(Query::SuggestFrom(Box::new(dialog), request).into());
            });
        }
        Query::SuggestFrom(dialog, request) => {
            let model = state.choices.completion_model.clone();
            suggest::ask(
                *request,
                &dialog,
                io.agent.get_mut().get(),
                model,
                state.cwd.clone(),
            );
        }
        Query::Earlier(answer) => answer_later(answer, earlier(record)),
        Query::OtherAgent(earlier, answer) => {
            let notice = other_agent(&earlier, &state.choices, &io.deps.missing);
            let _ = answer.send(notice);
        }
        Query::Sessions { all, answer } => {
            answer_later(answer, recorded_sessions(record, state.cwd.clone(), all));
        }
        Query::AwaitStart(answer) => match state.numbering.start() {
            Some(start) => drop(answer.send(start.clone())),
            None => io.awaiting_start.push(answer),
        },
        Query::Tools(answer) => {
            let (inbox, skills) = (io.inbox.clone(), state.skill_registry.ready());
            tokio::spawn(async move {
                skills.await;
                let dialog = Box::new(record.dialog().await);
                // Fails when the session has ended.
                let _ = inbox.send(Query::ToolsIn(dialog, answer).into());
            });
        }
        Query::ToolsIn(dialog, answer) => answer_tools(&dialog, answer, state, io),
    }
}

fn answer_later<T: Send + 'static>(
    answer: oneshot::Sender<T>,
    told: impl Future<Output = T> + Send + 'static,
) {
    tokio::spawn(async move { answer.send(told.await) });
}

fn snapshot(state: &SessionState) -> SessionSnapshot {
    let offers = &state.turns.profile;
    let commands = offers.commands().iter();
    let options = offers.selections();
    SessionSnapshot {
        cwd: state.cwd.clone(),
        skills: state.skill_registry.unique_skills(),
        commands: commands
            .map(|it| (it.id.clone(), it.description_line()))
            .collect(),
        options: options
            .map(|it| (it.descriptor.id.clone(), it.line()))
            .collect(),
    }
}

/// Looks up the user's functions next; while a job is active, uses those of the last look-up.
fn answer_tools(
    dialog: &Dialog,
    answer: oneshot::Sender<Toolset>,
    state: &SessionState,
    io: &mut SessionIo,
) {
    let offer = ToolOffer::current(&state.choices, &io.runtimes.user, &state.skill_registry);
    let mut toolset = Toolset {
        instructions: state.turns.tool_instructions().trim().to_owned(),
        tools: offer.specs(),
    };
    if state.turns.running.is_some() && !state.external_calls.offered.is_empty() {
        toolset.tools.clone_from(&state.external_calls.offered);
        return told(answer, toolset, Vec::new());
    }
    let names = mentioned_functions(dialog);
    let known = state.external_calls.functions.clone();
    if names.is_empty() || state.scheduler.active().is_some() {
        let known = match names.is_empty() {
            true => Vec::new(),
            false => known,
        };
        return told(answer, toolset, known);
    }
    let (asker, asked) = oneshot::channel();
    let inbox = io.inbox.clone();
    tokio::spawn(async move {
        let found = match asked.await {
            Ok(RuntimeReply::Tools(found)) => callable_specs(found),
            _ => known,
        };
        let _ = inbox.send(Event::FunctionsFound(found.clone()).into());
        told(answer, toolset, found);
    });
    io.ask_for(RuntimeRequest::DescribeTools { names }, asker);
}

fn told(answer: oneshot::Sender<Toolset>, mut toolset: Toolset, functions: Vec<ToolSpec>) {
    toolset.tools.extend(functions);
    // Fails when the caller has gone.
    let _ = answer.send(toolset);
}
