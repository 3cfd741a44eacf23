//! Jupyter kernels as runtimes: started from a kernelspec, found running, or behind a gateway.
//!
//! In: requests of the contract. Out: its events. One thread (`supervisor.rs`) owns the requests
//! (`request_tracker.rs`) and the kernel (`kernel.rs`, `local.rs`, `gateway.rs`, and `shared/` for a gateway of our
//! own), and outlives the kernel's deaths; features that Python kernels lack are sent to them as code
//! (`injected_runner.rs`). Invariants: a kernel that we started ends with the handle, one that was found stays;
//! cells own no terminal. Absent on purpose: the wire (`ipycodex_jupyter`).

mod bash;
mod capabilities;
mod convert;
mod gateway;
mod injected_runner;
mod kernel;
mod kernel_phase;
mod liveness;
mod local;
mod outbox;
mod plan;
mod request_tracker;
mod shared;
mod start_failure;
mod supervisor;
mod wait_status;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::mpsc::{Sender, UnboundedSender, unbounded_channel};

use super::{
    CellTerminal, Interrupter, RequestId, Runtime, RuntimeCapabilities, RuntimeEvent,
    RuntimeRequest, StartFailure,
};
use capabilities::{SharedCapabilities, capabilities_of};
use gateway::GatewayKernel;
pub use gateway::{GatewayPlan, GatewayTarget};
use kernel::Kernel;
use local::LocalKernel;
pub use plan::{JupyterPlan, JupyterTarget, START_TIMEOUT};
pub use shared::{
    IDLE_TIMEOUT, SharedGateway, SharedPlan, check_gateway_packages, keep_gateway, shared_gateways,
};
use supervisor::{KernelSupervisor, SupervisorCommand};

/// The handle of a kernel. Dropping it ends the kernel, if we started it.
#[derive(Debug)]
pub(super) struct JupyterRuntime {
    orders: Option<UnboundedSender<SupervisorCommand>>,
    capabilities: SharedCapabilities,
    last_id: u64,
    owner: Option<JoinHandle<()>>,
}

/// Returns the capabilities of this plan's kernel, as far as its files tell.
pub(super) fn capabilities(plan: &JupyterPlan) -> RuntimeCapabilities {
    let installed = match &plan.target {
        JupyterTarget::Installed(name) => {
            ipycodex_jupyter::find_kernelspec(name, &plan.folders).ok()
        }
        JupyterTarget::Running(_) => None,
    };
    let attached = installed.is_none() && matches!(plan.target, JupyterTarget::Running(_));
    let language = installed.map_or_else(
        // Most kernels are; the language is known for certain before the first cell.
        || "Python".to_owned(),
        |spec| convert::language(&spec.spec.language),
    );
    capabilities_of(&language, attached)
}

/// Returns the capabilities assumed for a kernel behind a gateway until it answers.
pub(super) fn capabilities_of_served() -> RuntimeCapabilities {
    // Most kernels are; the language is known for certain before the first cell.
    capabilities_of("Python", false)
}

impl JupyterRuntime {
    pub(super) fn start(plan: JupyterPlan, events: Sender<RuntimeEvent>) -> Self {
        let capabilities = capabilities(&plan);
        Self::of(Box::new(LocalKernel::new(plan)), capabilities, events)
    }

    pub(super) fn serve(plan: GatewayPlan, events: Sender<RuntimeEvent>) -> Self {
        let kernel = GatewayKernel::new(plan);
        Self::of(Box::new(kernel), capabilities_of_served(), events)
    }

    fn of(
        kernel: Box<dyn Kernel>,
        capabilities: RuntimeCapabilities,
        events: Sender<RuntimeEvent>,
    ) -> Self {
        let capabilities = Arc::new(Mutex::new(capabilities));
        let (orders, taken) = unbounded_channel();
        let told = events.clone();
        let owner = KernelSupervisor::new(kernel, events, Arc::clone(&capabilities), taken);
        let thread = std::thread::Builder::new()
            .name("jupyter".into())
            .spawn(move || owner.run());
        if let Err(error) = &thread {
            // The channel is new and has room.
            let _ = told.try_send(RuntimeEvent::StartFailed(StartFailure {
                message: format!("could not start a thread for the Jupyter kernel: {error}"),
                hint: "end other programs, or raise the limit on processes (ulimit -u)".into(),
            }));
        }
        JupyterRuntime {
            orders: Some(orders),
            capabilities,
            last_id: 0,
            owner: thread.ok(),
        }
    }

    fn order(&self, order: SupervisorCommand) {
        if let Some(orders) = &self.orders {
            // Closed: the supervisor has sent the reason.
            let _ = orders.send(order);
        }
    }
}

impl Runtime for JupyterRuntime {
    fn capabilities(&self) -> RuntimeCapabilities {
        let capabilities = self
            .capabilities
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        capabilities.clone()
    }

    fn submit(&mut self, request: RuntimeRequest) -> RequestId {
        self.last_id += 1;
        let id = RequestId(self.last_id);
        self.order(SupervisorCommand::Request(id, Box::new(request)));
        id
    }

    fn interrupter(&self) -> Arc<dyn Interrupter> {
        Arc::new(CommandSender(self.orders.clone()))
    }

    fn terminal(&self) -> Option<Arc<dyn CellTerminal>> {
        None
    }
}

/// Sends commands beside the queue. Weak: a sender does not keep the kernel alive.
struct CommandSender(Option<UnboundedSender<SupervisorCommand>>);

impl Interrupter for CommandSender {
    fn interrupt(&self) {
        if let Some(orders) = &self.0 {
            let _ = orders.send(SupervisorCommand::Interrupt);
        }
    }

    fn kill(&self) {
        if let Some(orders) = &self.0 {
            let _ = orders.send(SupervisorCommand::Kill);
        }
    }
}

impl Drop for JupyterRuntime {
    fn drop(&mut self) {
        self.order(SupervisorCommand::Leave);
        self.orders = None;
        if let Some(owner) = self.owner.take() {
            // The thread has sent its last events; its panic was reported by the hook.
            let _ = owner.join();
        }
    }
}
