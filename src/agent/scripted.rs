//! An agent that plays a script, for tests of everything that is built on the contract.
//!
//! In: a [`Script`], the events of each turn. Out: those events with the turn's own id. A `ToolCalled` or
//! `QuestionAsked` pauses the turn until its answer arrives; a cancelled turn ends as interrupted. No process, no
//! thread, no clock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::connect::AgentEvents;
use crate::{
    Agent, AgentCapabilities, AgentEvent, AgentFailure, AgentReply, Limit, ListedSession, Lookup,
    LookupReply, Model, SuggestReply, SuggestRequest, TurnId, TurnRequest,
};

/// The agent's part, turn by turn; clones share the list of received calls.
#[derive(Debug, Clone)]
pub struct Script {
    /// Events of each turn, in order; updates may follow the end of a turn. Turn ids in them are replaced. Only
    /// `cancel` finishes a turn without an end; a turn beyond the script finishes at once.
    pub turns: Vec<Vec<AgentEvent>>,
    /// Capabilities that the agent claims.
    pub capabilities: Box<AgentCapabilities>,
    /// Answer to a look-up of models.
    pub models: Vec<Model>,
    /// Answer to a look-up of limits.
    pub limits: Vec<Limit>,
    /// Answer to a look-up of sessions.
    pub sessions: Vec<ListedSession>,
    /// Failure that answers every look-up instead.
    pub lookup_failure: Option<AgentFailure>,
    /// Answers to requests for completions, in order; a request beyond them waits for ever.
    pub suggestions: Vec<SuggestReply>,
    received: Arc<Mutex<ReceivedCalls>>,
}

#[derive(Debug, Default)]
struct ReceivedCalls {
    requests: Vec<TurnRequest>,
    replies: Vec<AgentReply>,
    suggest_requests: Vec<SuggestRequest>,
    logins: Vec<String>,
    chosen: Vec<(String, String)>,
    unanswered: Vec<oneshot::Sender<SuggestReply>>,
}

impl Script {
    /// A script of an agent with every common capability and without facts.
    pub fn new(turns: Vec<Vec<AgentEvent>>) -> Self {
        Script {
            turns,
            capabilities: Box::new(AgentCapabilities {
                tool_instructions: "Beside the tools.",
                ..AgentCapabilities::full("scripted")
            }),
            models: Vec::new(),
            limits: Vec::new(),
            sessions: Vec::new(),
            lookup_failure: None,
            suggestions: Vec::new(),
            received: Arc::default(),
        }
    }

    /// The turn requests received, oldest first.
    pub fn requests(&self) -> Vec<TurnRequest> {
        self.lock().requests.clone()
    }

    /// The replies received, oldest first.
    pub fn replies(&self) -> Vec<AgentReply> {
        self.lock().replies.clone()
    }

    /// The requests for completions received, oldest first.
    pub fn suggest_requests(&self) -> Vec<SuggestRequest> {
        self.lock().suggest_requests.clone()
    }

    /// The login methods used, oldest first.
    pub fn logins(&self) -> Vec<String> {
        self.lock().logins.clone()
    }

    /// The modes and options set (id, value), oldest first.
    pub fn option_changes(&self) -> Vec<(String, String)> {
        self.lock().chosen.clone()
    }

    /// The number of unanswered completions whose receiver still exists.
    pub fn pending_suggestions(&self) -> usize {
        let received = self.lock();
        let waiting = received.unanswered.iter().filter(|tell| !tell.is_closed());
        waiting.count()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ReceivedCalls> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct ScriptedAgent {
    script: Script,
    events: mpsc::Sender<AgentEvent>,
    turns: u64,
    /// The current turn: its remaining events, and the id of the call it waits for.
    playing: Option<(TurnId, VecDeque<AgentEvent>, Option<String>)>,
}

impl ScriptedAgent {
    pub(crate) fn new(script: Script) -> (Self, AgentEvents) {
        // Nothing drains the channel during a call of this agent, so it must hold the whole script.
        let room = script
            .turns
            .iter()
            .map(|turn| turn.len() + 1)
            .sum::<usize>()
            + 64;
        let (events, told) = mpsc::channel(room);
        let scripted = ScriptedAgent {
            script,
            events,
            turns: 0,
            playing: None,
        };
        (scripted, told)
    }

    fn tell(&self, event: AgentEvent) {
        // Never full (see `new`); fails only when the receiver is gone.
        let _ = self.events.try_send(event);
    }

    fn play(&mut self) {
        while let Some((turn, events, waits)) = &mut self.playing {
            let turn = *turn;
            if waits.is_some() {
                return;
            }
            let Some(event) = events.pop_front() else {
                return;
            };
            match &event {
                AgentEvent::ToolCalled { call, .. } => *waits = Some(call.id.clone()),
                AgentEvent::QuestionAsked { question, .. } => *waits = Some(question.id.clone()),
                _ => {}
            }
            let last = matches!(
                event,
                AgentEvent::Finished { .. } | AgentEvent::Failed { .. }
            );
            let rest = match last {
                true => self.playing.take(),
                false => None,
            };
            self.tell(renamed(event, turn));
            // Updates belong to no turn: those behind the end are sent all the same.
            let rest = rest.into_iter().flat_map(|(_, rest, _)| rest);
            rest.for_each(|news| self.tell(news));
        }
    }
}

impl Agent for ScriptedAgent {
    fn capabilities(&self) -> AgentCapabilities {
        AgentCapabilities::clone(&self.script.capabilities)
    }

    fn start(&mut self, request: TurnRequest) -> TurnId {
        let turn = TurnId(self.turns + 1);
        let finished = || {
            vec![AgentEvent::Finished {
                turn,
                interrupted: false,
                thread: None,
                point: None,
            }]
        };
        let index = usize::try_from(self.turns).unwrap_or(usize::MAX);
        let events = self.script.turns.get(index).cloned();
        self.turns += 1;
        self.script.lock().requests.push(request);
        self.playing = Some((turn, events.unwrap_or_else(finished).into(), None));
        self.play();
        turn
    }

    fn reply(&mut self, turn: TurnId, reply: AgentReply) {
        let (AgentReply::ToolResult { call: id, .. } | AgentReply::Answer { question: id, .. }) =
            &reply
        else {
            return self.tell(AgentEvent::Steered { turn, taken: true });
        };
        if let Some((playing, _, waits)) = &mut self.playing
            && *playing == turn
            && waits.as_ref() == Some(id)
        {
            *waits = None;
            self.script.lock().replies.push(reply);
            self.play();
        }
    }

    fn look_up(&mut self, lookup: Lookup) -> oneshot::Receiver<Result<LookupReply, AgentFailure>> {
        let (tell, told) = oneshot::channel();
        let facts = match lookup {
            Lookup::Models => LookupReply::Models(self.script.models.clone()),
            Lookup::Limits => LookupReply::Limits(self.script.limits.clone()),
            Lookup::Sessions => LookupReply::Sessions(self.script.sessions.clone()),
        };
        let facts = self.script.lookup_failure.clone().map_or(Ok(facts), Err);
        let _ = tell.send(facts);
        told
    }

    fn suggest(&mut self, request: SuggestRequest) -> oneshot::Receiver<SuggestReply> {
        let (tell, told) = oneshot::channel();
        let mut received = self.script.lock();
        let answer = self.script.suggestions.get(received.suggest_requests.len());
        received.suggest_requests.push(request);
        match answer.cloned() {
            Some(answer) => drop(tell.send(answer)),
            None => received.unanswered.push(tell),
        }
        told
    }

    fn log_in(&mut self, method: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        let (tell, told) = oneshot::channel();
        self.script.lock().logins.push(method.to_owned());
        let _ = tell.send(self.script.lookup_failure.clone().map_or(Ok(()), Err));
        told
    }

    fn choose(&mut self, option: &str, value: &str) -> oneshot::Receiver<Result<(), AgentFailure>> {
        let (tell, told) = oneshot::channel();
        let chosen = (option.to_owned(), value.to_owned());
        self.script.lock().chosen.push(chosen);
        let _ = tell.send(self.script.lookup_failure.clone().map_or(Ok(()), Err));
        told
    }

    fn cancel(&mut self, turn: TurnId) {
        if self
            .playing
            .take_if(|(playing, _, _)| *playing == turn)
            .is_some()
        {
            self.tell(AgentEvent::Finished {
                turn,
                interrupted: true,
                thread: None,
                point: None,
            });
        }
    }
}

/// `event` with the id of turn `now`.
fn renamed(mut event: AgentEvent, now: TurnId) -> AgentEvent {
    match &mut event {
        AgentEvent::Sent { turn }
        | AgentEvent::Text { turn, .. }
        | AgentEvent::Starting { turn, .. }
        | AgentEvent::TextRestarted { turn, .. }
        | AgentEvent::Thought { turn, .. }
        | AgentEvent::CommandStarted { turn, .. }
        | AgentEvent::CommandOutput { turn, .. }
        | AgentEvent::CommandEnded { turn, .. }
        | AgentEvent::CommandDenied { turn, .. }
        | AgentEvent::ToolCalled { turn, .. }
        | AgentEvent::QuestionAsked { turn, .. }
        | AgentEvent::RequestWithdrawn { turn, .. }
        | AgentEvent::Steered { turn, .. }
        | AgentEvent::PlanUpdated { turn, .. }
        | AgentEvent::ActivityUpdated { turn, .. }
        | AgentEvent::FilesChanged { turn, .. }
        | AgentEvent::Notice { turn, .. }
        | AgentEvent::Progress { turn, .. }
        | AgentEvent::Usage { turn, .. }
        | AgentEvent::Finished { turn, .. }
        | AgentEvent::Failed { turn, .. } => *turn = now,
        AgentEvent::Update(_) => {}
    }
    event
}

#[cfg(test)]
mod tests {
    use super::{Script, ScriptedAgent};
    use crate::turn::tests::request;
    use crate::{Agent, AgentEvent, AgentReply, ToolCall, TurnId};
    use serde_json::json;

    fn text(turn: TurnId) -> AgentEvent {
        AgentEvent::Text {
            turn,
            message: 0,
            delta: "hi".into(),
        }
    }

    fn finished(turn: TurnId, interrupted: bool) -> AgentEvent {
        AgentEvent::Finished {
            turn,
            interrupted,
            thread: None,
            point: None,
        }
    }

    fn called(turn: TurnId) -> AgentEvent {
        AgentEvent::ToolCalled {
            turn,
            call: ToolCall {
                id: "c".into(),
                name: "f".into(),
                arguments: json!({}),
            },
        }
    }

    fn result(call: &str) -> AgentReply {
        AgentReply::ToolResult {
            call: call.into(),
            success: true,
            content: Vec::new(),
        }
    }

    #[test]
    fn a_call_pauses_the_script_until_its_result() {
        let any = TurnId(0);
        let script = Script::new(vec![vec![called(any), text(any), finished(any, false)]]);
        let (mut agent, mut events) = ScriptedAgent::new(script.clone());
        let turn = agent.start(request());
        assert_eq!(events.try_recv(), Ok(called(turn)));
        agent.reply(turn, result("another"));
        assert!(events.try_recv().is_err());
        agent.reply(turn, result("c"));
        assert_eq!(events.try_recv(), Ok(text(turn)));
        assert_eq!(events.try_recv(), Ok(finished(turn, false)));
        assert_eq!(script.replies(), [result("c")]);
        assert_eq!(script.requests().len(), 1);
        let beyond = agent.start(request());
        assert_eq!(events.try_recv(), Ok(finished(beyond, false)));
    }

    #[test]
    fn a_cancel_ends_a_turn_once() {
        let (mut agent, mut events) = ScriptedAgent::new(Script::new(vec![vec![text(TurnId(9))]]));
        let turn = agent.start(request());
        assert_eq!(events.try_recv(), Ok(text(turn)));
        agent.cancel(turn);
        agent.cancel(turn);
        assert_eq!(events.try_recv(), Ok(finished(turn, true)));
        assert!(events.try_recv().is_err());
    }
}
