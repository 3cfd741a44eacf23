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
mod request_tracker;
mod shared;
mod supervisor;
mod wait_status;

use tokio::sync::mpsc::Sender;

use super::RuntimeEvent;
use super::supervisor::SupervisedRuntime;
pub(super) use capabilities::{capabilities, capabilities_of_served};
use gateway::GatewayKernel;
pub use gateway::{GatewayPlan, GatewayTarget};
use local::LocalKernel;
pub use local::{JupyterPlan, JupyterTarget, START_TIMEOUT};
pub use shared::{
    IDLE_TIMEOUT, SharedGateway, SharedPlan, check_gateway_packages, keep_gateway, shared_gateways,
};

/// Starts a kernel of this machine, or finds a running one.
pub(super) fn start(plan: JupyterPlan, events: Sender<RuntimeEvent>) -> SupervisedRuntime {
    let capabilities = capabilities(&plan);
    supervisor::start(Box::new(LocalKernel::new(plan)), capabilities, events)
}

/// Starts or finds a kernel behind a gateway.
pub(super) fn serve(plan: GatewayPlan, events: Sender<RuntimeEvent>) -> SupervisedRuntime {
    let kernel = Box::new(GatewayKernel::new(plan));
    supervisor::start(kernel, capabilities_of_served(), events)
}
