//! Kernels of Jupyter as runtimes: started from a kernelspec, found running, or had from a gateway.
//!
//! In: requests of the contract. Out: its events. One thread (`owner.rs`) owns the conversation (`conversation.rs`) and
//! the kernel (`kernel.rs`, `local.rs`, `gateway.rs`, and `shared/` for a gateway of our own), and outlives the
//! kernel's deaths; what Python kernels lack of our runner is sent to them as code (`guest.rs`). Invariants: what was
//! started ends with the handle, what was found stays; cells own no terminal. Absent on purpose: the wire
//! (`crate::jupyter`).

mod able;
mod bash;
mod conversation;
mod failure;
mod gateway;
mod guest;
mod kernel;
mod local;
mod outbox;
mod owner;
mod plan;
mod presence;
mod shared;
mod stage;
mod waiting;
mod wording;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc::{Sender, UnboundedSender, unbounded_channel};

use super::{
    CellTerminal, Interrupter, RequestId, Runtime, RuntimeCapabilities, RuntimeEvent,
    RuntimeRequest, StartFailure,
};
use able::{Able, capabilities_of};
use gateway::GatewayKernel;
pub use gateway::{GatewayPlan, GatewayTarget};
use kernel::Kernel;
use local::LocalKernel;
use owner::{Order, Owner};
pub use plan::{JupyterPlan, JupyterTarget, STARTS};
pub use shared::{IDLES, SharedGateway, SharedPlan, can_share, keep_gateway, shared_gateways};

/// The handle of a kernel. Dropping it ends the kernel, if we started it.
#[derive(Debug)]
pub(super) struct JupyterRuntime {
    orders: Option<UnboundedSender<Order>>,
    able: Able,
    last_id: u64,
    owner: Option<JoinHandle<()>>,
}

/// What a kernel of this plan can do, as far as its files tell.
pub(super) fn capabilities(plan: &JupyterPlan) -> RuntimeCapabilities {
    let installed = match &plan.target {
        JupyterTarget::Installed(name) => crate::jupyter::find(name, &plan.folders).ok(),
        JupyterTarget::Running(_) => None,
    };
    let attached = installed.is_none() && matches!(plan.target, JupyterTarget::Running(_));
    let language = installed.map_or_else(
        // Most are; what it is turns out before the first cell.
        || "Python".to_owned(),
        |spec| wording::language(&spec.spec.language),
    );
    capabilities_of(&language, attached)
}

/// What a kernel behind a gateway can do, as far as nobody has asked it.
pub(super) fn capabilities_of_served() -> RuntimeCapabilities {
    // Most are; what it is turns out before the first cell.
    capabilities_of("Python", false)
}

impl JupyterRuntime {
    /// Starts a kernel, or finds one, and tells `events`.
    pub(super) fn start(plan: JupyterPlan, events: Sender<RuntimeEvent>) -> Self {
        let able = capabilities(&plan);
        Self::of(Box::new(LocalKernel::new(plan)), able, events)
    }

    /// Has a kernel started by a gateway, and tells `events`.
    pub(super) fn serve(plan: GatewayPlan, events: Sender<RuntimeEvent>) -> Self {
        let kernel = GatewayKernel::new(plan);
        Self::of(Box::new(kernel), capabilities_of_served(), events)
    }

    fn of(
        kernel: Box<dyn Kernel>,
        able: RuntimeCapabilities,
        events: Sender<RuntimeEvent>,
    ) -> Self {
        let able = Arc::new(Mutex::new(able));
        let (orders, taken) = unbounded_channel();
        let told = events.clone();
        let owner = Owner::new(kernel, events, Arc::clone(&able), taken);
        let thread = std::thread::Builder::new()
            .name("jupyter".into())
            .spawn(move || owner.run());
        if let Err(error) = &thread {
            // The channel is new: there is room.
            let _ = told.try_send(RuntimeEvent::StartFailed(StartFailure {
                message: format!("could not start a thread for the Jupyter kernel: {error}"),
                hint: "end other programs, or raise the limit on processes (ulimit -u)".into(),
            }));
        }
        JupyterRuntime {
            orders: Some(orders),
            able,
            last_id: 0,
            owner: thread.ok(),
        }
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // Closed: the owner has told why.
            let _ = orders.send(order);
        }
    }
}

impl Runtime for JupyterRuntime {
    fn capabilities(&self) -> RuntimeCapabilities {
        let able = self.able.lock().unwrap_or_else(PoisonError::into_inner);
        able.clone()
    }

    fn submit(&mut self, request: RuntimeRequest) -> RequestId {
        self.last_id += 1;
        let id = RequestId(self.last_id);
        self.order(Order::Request(id, Box::new(request)));
        id
    }

    fn interrupter(&self) -> Arc<dyn Interrupter> {
        Arc::new(Calls(self.orders.clone()))
    }

    fn terminal(&self) -> Option<Arc<dyn CellTerminal>> {
        None
    }
}

/// Calls beside the queue; weak, so that they keep no kernel alive.
struct Calls(Option<UnboundedSender<Order>>);

impl Interrupter for Calls {
    fn interrupt(&self) {
        if let Some(orders) = &self.0 {
            let _ = orders.send(Order::Interrupt);
        }
    }

    fn kill(&self) {
        if let Some(orders) = &self.0 {
            let _ = orders.send(Order::Kill);
        }
    }
}

impl Drop for JupyterRuntime {
    fn drop(&mut self) {
        self.order(Order::Leave);
        self.orders = None;
        if let Some(owner) = self.owner.take() {
            // It has already told what it had to tell; a panic of its own was reported by the hook.
            let _ = owner.join();
        }
    }
}
