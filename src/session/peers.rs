//! The two peers of a session, connected when first needed: handles and event receivers.

use std::path::PathBuf;
use std::task::{Context, Poll};

use tokio::sync::mpsc::Receiver;
use tokio::sync::oneshot;

use crate::agent::{Agent, AgentEvent};
use crate::branches::event::BranchQuestion;
use crate::config::{AgentChoice, Choices};
use crate::ids::{CallId, JobId};
use crate::kernels::KernelRequest;
use crate::record::ForkOrigin;
use crate::runtime::{
    Branch, EnvironmentChanges, Runtime, RuntimeCapabilities, RuntimeEvent, RuntimeReply,
};
use crate::text::report::Report;

/// Connects a runtime, whose interpreter starts with these environment variables; returns it with its events.
pub type ConnectRuntime =
    Box<dyn FnOnce(&EnvironmentChanges) -> (Box<dyn Runtime>, Receiver<RuntimeEvent>) + Send>;

pub struct PlannedRuntime {
    /// Capabilities, as far as known before the connection.
    pub capabilities: RuntimeCapabilities,
    /// The runtime starts only once the record is open, which takes a moment: it gets the session's address at its
    /// start, and not every language can be given it later.
    pub needs_session_at_start: bool,
    pub connect: ConnectRuntime,
}

/// Plans a runtime for the agent.
pub type PlanKernel = Box<dyn Fn(&KernelRequest) -> PlannedRuntime + Send>;

/// Connects an agent; returns it with its events.
pub type ConnectAgent = Box<dyn FnOnce() -> (Box<dyn Agent>, Receiver<AgentEvent>) + Send>;

/// Plans the connection of the chosen agent.
///
/// The error says why that agent cannot be connected.
pub type PlanAgent = Box<dyn Fn(&AgentChoice) -> Result<ConnectAgent, Report> + Send>;

/// Returns why an agent cannot be started, as far as that is known without starting it; `None` when no reason is
/// known.
pub type MissingAgent = Box<dyn Fn(&AgentChoice) -> Option<String> + Send>;

/// A session for a turn beside the prompt, as it is planned.
pub struct AsidePlan {
    /// The interpreter.
    pub branch: Branch,
    /// What the agent is told before the prompt.
    pub task: String,
    /// Without its dot.
    pub prompt: String,
    /// What the session begins with.
    pub origin: ForkOrigin,
    pub choices: Choices,
    pub cwd: PathBuf,
    /// A private folder of its own.
    pub folder: PathBuf,
}

pub(super) type Connect<P, E> = Box<dyn FnOnce() -> (Box<P>, Receiver<E>) + Send>;

pub(super) enum RuntimeRequester {
    /// A caller outside the loop.
    Handle(oneshot::Sender<RuntimeReply>),
    Prompt(JobId),
    Tool(CallId),
    /// For the branch with this number.
    Branch(u32, BranchQuestion),
}

/// A peer that may not be connected yet.
pub(super) struct LazyPeer<P: ?Sized, E> {
    connect: Option<Connect<P, E>>,
    live: Option<(Box<P>, Receiver<E>)>,
    /// True from the peer's ready event until its exit.
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

    /// Creates a placeholder, to be filled by [`LazyPeer::replace`].
    pub(super) fn empty() -> Self {
        LazyPeer {
            connect: None,
            live: None,
            up: false,
        }
    }

    /// Returns the peer; connects it first if needed.
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

    /// Replaces the peer; returns the old one if it was connected.
    pub(super) fn replace(&mut self, connect: Connect<P, E>) -> Option<(Box<P>, Receiver<E>)> {
        self.connect = Some(connect);
        self.live.take()
    }

    /// Returns the peer, if it is connected.
    pub(super) fn live(&mut self) -> Option<&mut P> {
        self.live.as_mut().map(|(peer, _)| &mut **peer)
    }

    pub(super) fn is_up(&self) -> bool {
        self.up
    }

    pub(super) fn set_up(&mut self, up: bool) {
        self.up = up;
    }

    /// Returns the next event; never returns while there is no peer or when its events have ended.
    pub(super) async fn next(&mut self) -> E {
        std::future::poll_fn(|waker| self.poll_next(waker)).await
    }

    /// Polls for the next event, as [`LazyPeer::next`].
    pub(super) fn poll_next(&mut self, waker: &mut Context<'_>) -> Poll<E> {
        if let Some((_, events)) = &mut self.live
            && let Poll::Ready(Some(event)) = events.poll_recv(waker)
        {
            return Poll::Ready(event);
        }
        Poll::Pending
    }
}
