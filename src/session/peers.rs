//! The two peers of a session, connected when first needed: handles and event receivers.

use std::task::{Context, Poll};

use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;

use crate::agent::{Agent, AgentEvent};
use crate::config::AgentChoice;
use crate::report::Report;
use crate::runtime::{
    EnvironmentChanges, Runtime, RuntimeCapabilities, RuntimeEvent, RuntimeReply,
};
use crate::session::ids::{CallId, JobId};
use crate::session::kernels::KernelRequest;

/// Makes a runtime and the receiver of its events; its interpreter starts with these variables.
pub type ConnectRuntime =
    Box<dyn FnOnce(&EnvironmentChanges) -> (Box<dyn Runtime>, Receiver<RuntimeEvent>) + Send>;

/// A runtime that is connected when it is first needed.
pub struct PlannedRuntime {
    /// Capabilities, as far as known before it is connected.
    pub capabilities: RuntimeCapabilities,
    /// It is told of the session when it starts, and not every language hears of it later: it is started when the
    /// record is open, which takes a moment.
    pub needs_session_at_start: bool,
    /// Connects it.
    pub connect: ConnectRuntime,
}

/// Plans a runtime of the agent's own.
pub type PlanKernel = Box<dyn Fn(&KernelRequest) -> PlannedRuntime + Send>;

/// Makes an agent and the receiver of its events.
pub type ConnectAgent = Box<dyn FnOnce() -> (Box<dyn Agent>, Receiver<AgentEvent>) + Send>;

/// How each agent there is would be connected.
///
/// The error says why there is none of this choice.
pub type PlanAgent = Box<dyn Fn(&AgentChoice) -> Result<ConnectAgent, Report> + Send>;

/// Why an agent cannot be started, as far as that is known without starting it; `None`: nothing is.
pub type MissingAgent = Box<dyn Fn(&AgentChoice) -> Option<String> + Send>;

pub(super) type Connect<P, E> = Box<dyn FnOnce() -> (Box<P>, Receiver<E>) + Send>;

/// Who waits for an answer of the runtime.
pub(super) enum RuntimeRequester {
    /// Somebody outside the loop.
    Handle(oneshot::Sender<RuntimeReply>),
    /// The prompt with this ticket.
    Prompt(JobId),
    /// The call of a tool.
    Tool(CallId),
}

/// A peer that may not be connected yet.
pub(super) struct LazyPeer<P: ?Sized, E> {
    connect: Option<Connect<P, E>>,
    live: Option<(Box<P>, Receiver<E>)>,
    /// Reported ready, and not gone since.
    up: bool,
}

pub(super) type AgentPeer = LazyPeer<dyn Agent, AgentEvent>;

impl<P: ?Sized, E> LazyPeer<P, E> {
    pub(super) fn new(connect: Connect<P, E>) -> Self {
        LazyPeer {
            connect: Some(connect),
            ..LazyPeer::empty()
        }
    }

    /// One whose peer is put in with [`LazyPeer::replace`].
    pub(super) fn empty() -> Self {
        LazyPeer {
            connect: None,
            live: None,
            up: false,
        }
    }

    /// The peer, connected now if it was not.
    pub(super) fn get(&mut self) -> &mut P {
        if let Some(connect) = self.connect.take() {
            self.live = Some(connect());
        }
        let (peer, _) = self
            .live
            .as_mut()
            .expect("connected by the line above or earlier");
        peer
    }

    /// Takes another peer in its place; the old one, if it was connected.
    pub(super) fn replace(&mut self, connect: Connect<P, E>) -> Option<(Box<P>, Receiver<E>)> {
        self.connect = Some(connect);
        self.live.take()
    }

    /// The peer, if it is connected.
    pub(super) fn live(&mut self) -> Option<&mut P> {
        self.live.as_mut().map(|(peer, _)| &mut **peer)
    }

    /// Reported ready, and not gone since.
    pub(super) fn is_up(&self) -> bool {
        self.up
    }

    pub(super) fn set_up(&mut self, up: bool) {
        self.up = up;
    }

    /// The next event; never returns while there is no peer or when its events have ended.
    pub(super) async fn next(&mut self) -> E {
        std::future::poll_fn(|waker| self.poll_next(waker)).await
    }

    /// The next event, if it is there; as [`LazyPeer::next`].
    pub(super) fn poll_next(&mut self, waker: &mut Context<'_>) -> Poll<E> {
        if let Some((_, events)) = &mut self.live
            && let Poll::Ready(Some(event)) = events.poll_recv(waker)
        {
            return Poll::Ready(event);
        }
        Poll::Pending
    }
}
