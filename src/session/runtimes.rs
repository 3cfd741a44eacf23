//! The runtimes of a session, by role: each is connected when it is first needed, and says what it can do.
//!
//! Invariant: whatever is asked or told of a runtime goes with the role it has; the numbers of requests are each
//! runtime's own. A shell of the session's is another role.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::runtime::{
    Interrupter, RequestId, Runtime, RuntimeCapabilities, RuntimeEvent, RuntimeRequest,
};
use crate::session::slots::{PlannedRuntime, Slot};

/// Whose runtime it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Role {
    /// The user's: the session's cells, what prompts refer to, the agent's `live` cells.
    User,
    /// One of the agent's own, by its number.
    Agent(u32),
}

/// The runtimes there are.
pub(super) struct Runtimes {
    /// The user's.
    pub(super) user: RuntimeSlot,
    agents: BTreeMap<u32, RuntimeSlot>,
    /// Whose code asked for input last: one thing has the floor, so one asks at a time.
    asking: Role,
}

/// A runtime that may not be connected yet.
pub(super) struct RuntimeSlot {
    slot: Slot<dyn Runtime, RuntimeEvent>,
    able: RuntimeCapabilities,
}

impl Runtimes {
    pub(super) fn new(user: PlannedRuntime) -> Self {
        Runtimes {
            user: RuntimeSlot::new(user),
            agents: BTreeMap::new(),
            asking: Role::User,
        }
    }

    /// The runtime of this role, if there is one.
    pub(super) fn of(&mut self, role: Role) -> Option<&mut RuntimeSlot> {
        match role {
            Role::User => Some(&mut self.user),
            Role::Agent(number) => self.agents.get_mut(&number),
        }
    }

    /// One more of the agent's own, connected at once.
    pub(super) fn add(&mut self, number: u32, planned: PlannedRuntime) {
        let mut runtime = RuntimeSlot::new(planned);
        runtime.get();
        self.agents.insert(number, runtime);
    }

    /// One of the agent's own, which is no more.
    pub(super) fn remove(&mut self, number: u32) -> Option<RuntimeSlot> {
        self.agents.remove(&number)
    }

    /// Code of this role asks for input; the answer is its.
    pub(super) fn asks(&mut self, role: Role) {
        self.asking = role;
    }

    /// The runtime whose code asked for input last.
    pub(super) fn asking(&mut self) -> Option<&mut RuntimeSlot> {
        self.of(self.asking)
    }

    /// The next event of any, and whose it is; never returns while there is none.
    pub(super) async fn next(&mut self) -> (Role, RuntimeEvent) {
        std::future::poll_fn(|waker| self.poll_next(waker)).await
    }

    /// The user's first: somebody waits for it.
    fn poll_next(&mut self, waker: &mut Context<'_>) -> Poll<(Role, RuntimeEvent)> {
        if let Poll::Ready(event) = self.user.slot.poll_next(waker) {
            return Poll::Ready((Role::User, event));
        }
        for (number, runtime) in &mut self.agents {
            if let Poll::Ready(event) = runtime.slot.poll_next(waker) {
                return Poll::Ready((Role::Agent(*number), event));
            }
        }
        Poll::Pending
    }
}

impl RuntimeSlot {
    pub(super) fn new(planned: PlannedRuntime) -> Self {
        RuntimeSlot {
            slot: Slot::new(planned.connect),
            able: planned.able,
        }
    }

    /// What it can do: as it says itself once it is connected, as was planned before.
    pub(super) fn able(&self) -> &RuntimeCapabilities {
        &self.able
    }

    /// The runtime, connected now if it was not.
    pub(super) fn get(&mut self) -> &mut dyn Runtime {
        if !self.slot.is_connected() {
            self.able = self.slot.get().capabilities();
        }
        self.slot.get()
    }

    /// The runtime, if it is connected.
    pub(super) fn live(&mut self) -> Option<&mut (dyn Runtime + 'static)> {
        self.slot.live()
    }

    /// An interpreter is up: what it can do is known now, if it was not before.
    pub(super) fn is_ready(&mut self) {
        self.slot.set_up(true);
        if let Some(runtime) = self.slot.live() {
            self.able = runtime.capabilities();
        }
    }

    /// The interpreter is gone.
    pub(super) fn is_gone(&mut self) {
        self.slot.set_up(false);
    }

    /// An interpreter is up.
    pub(super) fn is_up(&self) -> bool {
        self.slot.is_up()
    }

    /// True once connected.
    pub(super) fn is_connected(&self) -> bool {
        self.slot.is_connected()
    }

    /// The next event; never returns while there is no runtime or when its events have ended.
    pub(super) async fn next(&mut self) -> RuntimeEvent {
        self.slot.next().await
    }

    /// What interrupts and kills, if it is connected.
    pub(super) fn interrupter(&mut self) -> Option<Arc<dyn Interrupter>> {
        self.slot.live().map(|runtime| runtime.interrupter())
    }

    /// Submits when connected; there is nobody to end otherwise.
    pub(super) fn shut_down(&mut self) -> Option<RequestId> {
        let stays = self.able.attached;
        let runtime = self.slot.live()?;
        Some(runtime.submit(RuntimeRequest::Shutdown { stays }))
    }
}
