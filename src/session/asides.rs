//! The sessions beside this one, each for one turn of the agent.
//!
//! In: plans, requests to their interpreters. Out: what their turns show, and answers, as events of this session's
//! loop. Invariant: each that has begun ends with its turn's run, once. Absent on purpose: what becomes of a turn
//! (`branches/aside.rs`).

use std::any::Any;
use std::collections::BTreeMap;

use tokio::sync::mpsc::UnboundedSender;

use crate::Submission;
use crate::agent::InputPart;
use crate::branches::event::{AsideEvent, BranchEvent};
use crate::effect::Event;
use crate::events::SessionEvent;
use crate::handle::{Command, SessionHandle};
use crate::input::prompt_source;
use crate::peers::{AsidePlan, RuntimeRequester};
use crate::run::Run;
use crate::runtime::{RuntimeReply, RuntimeRequest};
use crate::text::report::Report;

/// A session beside this one.
pub struct AsideSession {
    pub session: SessionHandle,
    /// Its events outside of runs.
    pub beside: Run,
    /// What ends with it.
    pub kept: Box<dyn Any + Send>,
}

/// Starts a session for a turn beside the prompt.
///
/// The error says why it cannot begin.
pub type StartAside = Box<dyn Fn(&AsidePlan) -> Result<AsideSession, Report> + Send>;

#[derive(Default)]
pub(super) struct Asides(BTreeMap<u32, EndAside>);

/// Ends a session when it is told to.
pub(super) struct EndAside {
    session: SessionHandle,
    _kept: Box<dyn Any + Send>,
}

impl EndAside {
    /// Waits for the end, for some seconds.
    pub(super) fn end(self) {
        self.session.leave();
    }
}

impl Asides {
    /// Starts a session and its turn.
    pub(super) fn start(
        &mut self,
        number: u32,
        plan: &AsidePlan,
        start: Option<&StartAside>,
        inbox: &UnboundedSender<Command>,
    ) {
        let Some(begun) = start.map(|start| start(plan)) else {
            return;
        };
        let AsideSession {
            session,
            beside,
            kept,
        } = match begun {
            Ok(begun) => begun,
            Err(why) => return send(inbox, number, AsideEvent::Failed(why.message)),
        };
        let run = session.submit(Submission {
            text: prompt_source(&plan.prompt),
            attached: vec![InputPart::Text(plan.task.clone())],
            ..Submission::default()
        });
        let kept = EndAside {
            session,
            _kept: kept,
        };
        self.0.insert(number, kept);
        tokio::spawn(forward(beside, number, inbox.clone()));
        let inbox = inbox.clone();
        tokio::spawn(async move {
            forward(run, number, inbox.clone()).await;
            send(&inbox, number, AsideEvent::TurnOver);
        });
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.0.contains_key(&number)
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<EndAside> {
        self.0.remove(&number)
    }

    /// Takes all, to be ended.
    pub(super) fn take(&mut self) -> Vec<EndAside> {
        std::mem::take(&mut self.0).into_values().collect()
    }

    /// Asks the interpreter of a session; the answer comes as that of any runtime.
    pub(super) fn ask(
        &self,
        number: u32,
        request: RuntimeRequest,
        requester: RuntimeRequester,
        inbox: &UnboundedSender<Command>,
    ) {
        let Some(aside) = self.0.get(&number) else {
            return;
        };
        let (asked, inbox) = (aside.session.ask(request), inbox.clone());
        tokio::spawn(async move {
            let gone = |_| RuntimeReply::Failed("its interpreter has ended".to_owned());
            let reply = asked.await.unwrap_or_else(gone);
            // Fails when the session has ended.
            let _ = inbox.send(Event::RuntimeReplied(requester, reply).into());
        });
    }
}

async fn forward(run: Run, number: u32, inbox: UnboundedSender<Command>) {
    while let Some(event) = run.next().await {
        if !matches!(event, SessionEvent::Question(_) | SessionEvent::After(_)) {
            send(&inbox, number, AsideEvent::Shown(Box::new(event)));
        }
    }
}

fn send(inbox: &UnboundedSender<Command>, number: u32, event: AsideEvent) {
    let event = Event::Branch(number, BranchEvent::Aside(event));
    // Fails when the session has ended.
    let _ = inbox.send(event.into());
}
