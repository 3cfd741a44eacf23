//! Maps an agent's event to the event of the answer that front-ends show. Pure.
//!
//! Questions, tool calls and the end of the turn are no part of the answer and map to nothing.

use std::time::Duration;

use super::events::AnswerEvent;
use crate::agent::{AgentEvent, AgentNotice, command_title};

/// Returns the event to show; `None` when the agent's event is no part of the answer.
pub fn answer_event(event: AgentEvent) -> Option<AnswerEvent> {
    Some(match event {
        AgentEvent::Text { message, delta, .. } => AnswerEvent::Text { message, delta },
        AgentEvent::TextRestarted { message, .. } => AnswerEvent::Restarted { message },
        AgentEvent::Thought { part, delta, .. } => AnswerEvent::Thought { part, delta },
        AgentEvent::Starting { agent, limit, .. } => {
            AnswerEvent::AgentStarts(Some(starting(&agent, limit)))
        }
        AgentEvent::CommandStarted {
            id, command, title, ..
        } => AnswerEvent::CommandStarted {
            id,
            command: command_title(&title, &command),
        },
        AgentEvent::CommandOutput { id, delta, .. } => AnswerEvent::CommandOutput { id, delta },
        AgentEvent::CommandEnded { command, title, .. } => AnswerEvent::CommandRan {
            id: command.id,
            command: command_title(&title, &command.command),
            exit_code: command.exit_code,
            output: command.output,
        },
        AgentEvent::CommandDenied {
            command,
            user_knows: told,
            ..
        } => AnswerEvent::Denied {
            id: command.id,
            what: (!told).then_some(command.command),
        },
        AgentEvent::PlanUpdated { steps, .. } => AnswerEvent::Planned(steps),
        AgentEvent::ActivityUpdated { activity, .. } => AnswerEvent::Worked(activity),
        AgentEvent::FilesChanged { changes, .. } => AnswerEvent::FilesChanged(changes),
        AgentEvent::Progress { message, .. } => AnswerEvent::Progress(message),
        AgentEvent::Notice {
            notice: AgentNotice::Picture(url),
            ..
        } => AnswerEvent::Picture(url),
        AgentEvent::Notice {
            notice: AgentNotice::FileWritten(written),
            ..
        } => AnswerEvent::FileWritten(written),
        AgentEvent::Notice { .. }
        | AgentEvent::Sent { .. }
        | AgentEvent::Steered { .. }
        | AgentEvent::ToolCalled { .. }
        | AgentEvent::QuestionAsked { .. }
        | AgentEvent::RequestWithdrawn { .. }
        | AgentEvent::Usage { .. }
        | AgentEvent::Finished { .. }
        | AgentEvent::Failed { .. }
        | AgentEvent::Update(_) => return None,
    })
}

/// The line shown while an agent is slow to start.
fn starting(agent: &str, limit: Option<Duration>) -> String {
    let most = limit.map(|limit| {
        let seconds = limit.as_secs();
        format!(" (at most {seconds} s: `%ipycodex agent_start`)")
    });
    format!("waiting for `{agent}` to start{}", most.unwrap_or_default())
}
