//! Chooses a runtime by kind; nothing else below start-up names the kinds.
//!
//! In: a [`RuntimePlan`] of resolved facts. Out: the runtime and its events. Invariant: [`connect`] neither blocks
//! nor fails; every failure becomes an event. Absent on purpose: reading settings or the environment.

use std::sync::PoisonError;

use super::request::apply_environment;
use super::scripted::{Script, ScriptedRuntime};
use super::supervisor::{BranchParts, EVENTS_IN_FLIGHT};
use super::{
    Branch, EnvironmentChanges, Runtime, RuntimeCapabilities, RuntimeEvent, jupyter, python, shell,
};

pub use super::jupyter::{
    GatewayPlan, GatewayTarget, IDLE_TIMEOUT, JupyterPlan, JupyterTarget, START_TIMEOUT,
    SharedGateway, SharedPlan, check_gateway_packages, keep_gateway, shared_gateways,
};
pub use super::python::{
    Candidate, Confinement, InterpreterSearch, ManagedPython, ManagedState, PythonPlan, ScriptRun,
    best_interpreter, interpreters,
};
pub use super::shell::ShellPlan;

/// Events of a runtime, in order. Bounded: a reader that stops reading blocks the interpreter's output, and memory
/// does not grow.
pub type RuntimeEvents = tokio::sync::mpsc::Receiver<RuntimeEvent>;

/// The kind of runtime with everything it needs, resolved and immutable.
#[derive(Debug)]
pub enum RuntimePlan {
    /// A Python on this machine that runs the embedded runner.
    Embedded(PythonPlan),
    /// The user's own shell, on a pseudo-terminal.
    Shell(ShellPlan),
    /// A Jupyter kernel on this machine.
    Jupyter(JupyterPlan),
    /// A Jupyter kernel behind a gateway.
    Gateway(GatewayPlan),
    /// A script of events; for tests.
    Scripted(Script),
}

impl RuntimePlan {
    /// Returns the plan with these environment changes for the interpreter or kernel, where the kind supports them.
    #[must_use]
    pub fn with_environment(mut self, told: &EnvironmentChanges) -> Self {
        match &mut self {
            RuntimePlan::Embedded(plan) => apply_environment(&mut plan.variables, told),
            RuntimePlan::Jupyter(plan) => apply_environment(&mut plan.variables, told),
            RuntimePlan::Gateway(plan) => plan.add_environment(told),
            RuntimePlan::Shell(_) | RuntimePlan::Scripted(_) => {}
        }
        self
    }
}

/// Returns what a runtime of this plan can do, as far as that is known before it starts.
pub fn capabilities(plan: &RuntimePlan) -> RuntimeCapabilities {
    match plan {
        RuntimePlan::Embedded(plan) => python::capabilities(plan.terminal.is_some()),
        RuntimePlan::Shell(_) => shell::capabilities("shell"),
        RuntimePlan::Jupyter(plan) => jupyter::capabilities(plan),
        RuntimePlan::Gateway(_) => jupyter::capabilities_of_served(),
        RuntimePlan::Scripted(script) => script.capabilities.clone(),
    }
}

/// Returns the runtime of a branch, once; the events of its cell come from it.
pub fn connect_branch(branch: &Branch) -> Option<(Box<dyn Runtime>, RuntimeEvents)> {
    let parts = branch.parts.downcast_ref::<BranchParts>()?;
    parts.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Starts a runtime. Its first events may arrive before the first request.
pub fn connect(plan: RuntimePlan) -> (Box<dyn Runtime>, RuntimeEvents) {
    let (sender, events) = tokio::sync::mpsc::channel(EVENTS_IN_FLIGHT);
    let runtime: Box<dyn Runtime> = match plan {
        RuntimePlan::Embedded(plan) => Box::new(python::start(plan, sender)),
        RuntimePlan::Shell(plan) => Box::new(shell::start(plan, sender)),
        RuntimePlan::Jupyter(plan) => Box::new(jupyter::start(plan, sender)),
        RuntimePlan::Gateway(plan) => Box::new(jupyter::serve(plan, sender)),
        RuntimePlan::Scripted(script) => Box::new(ScriptedRuntime::start(script, sender)),
    };
    (runtime, events)
}
