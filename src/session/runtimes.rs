//! The runtime of a session: connected when it is first needed, and what it can do.

use std::sync::Arc;

use crate::runtime::{Capabilities, Interrupter, RequestId, Runtime, RuntimeEvent, RuntimeRequest};
use crate::session::slots::{PlannedRuntime, Slot};

/// A runtime that may not be connected yet.
pub(super) struct RuntimeSlot {
    slot: Slot<dyn Runtime, RuntimeEvent>,
    able: Capabilities,
}

impl RuntimeSlot {
    pub(super) fn new(planned: PlannedRuntime) -> Self {
        RuntimeSlot {
            slot: Slot::new(planned.connect),
            able: planned.able,
        }
    }

    /// What it can do: as it says itself once it is connected, as was planned before.
    pub(super) fn able(&self) -> &Capabilities {
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
