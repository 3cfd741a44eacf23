//! Chooses a runtime by kind: the only place below start-up that names them.
//!
//! In: a [`RuntimePlan`] of resolved facts. Out: the runtime and its events. Invariant: [`connect`] neither blocks nor
//! fails; whatever goes wrong is an event. Absent on purpose: reading settings or the environment.

use super::environment::apply_environment;
use super::jupyter::JupyterRuntime;
use super::python::PythonRuntime;
use super::scripted::{Script, ScriptedRuntime};
use super::shell::ShellRuntime;
use super::{EnvironmentChanges, Runtime, RuntimeCapabilities, RuntimeEvent};

pub use super::jupyter::{
    GatewayPlan, GatewayTarget, IDLE_TIMEOUT, JupyterPlan, JupyterTarget, START_TIMEOUT,
    SharedGateway, SharedPlan, check_gateway_packages, keep_gateway, shared_gateways,
};
pub use super::python::{
    Candidate, Confinement, InterpreterSearch, ManagedPython, ManagedState, PythonPlan, ScriptRun,
    best_interpreter, interpreters,
};
pub use super::shell::ShellPlan;

/// How many events may wait for their reader; a runtime that is ahead of it stops reading its interpreter.
const EVENTS_IN_FLIGHT: usize = 256;

/// What a runtime tells, in order. Bounded: who stops reading stops the interpreter's output, not its memory's growth.
pub type RuntimeEvents = tokio::sync::mpsc::Receiver<RuntimeEvent>;

/// Which runtime, and everything it needs to know, resolved and immutable.
#[derive(Debug)]
pub enum RuntimePlan {
    /// A Python found on this machine that runs our embedded runner.
    Embedded(PythonPlan),
    /// The user's own shell, on a terminal of its own.
    Shell(ShellPlan),
    /// A kernel of Jupyter on this machine.
    Jupyter(JupyterPlan),
    /// A kernel of Jupyter behind a gateway.
    Gateway(GatewayPlan),
    /// Plays a script; for tests.
    Scripted(Script),
}

impl RuntimePlan {
    /// The same, where the interpreter or kernel is told these variables when it starts, as far as it can be told.
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

/// What a runtime of this plan can do, as far as that is known before it is started.
pub fn capabilities(plan: &RuntimePlan) -> RuntimeCapabilities {
    match plan {
        RuntimePlan::Embedded(plan) => super::python::capabilities(plan.terminal.is_some()),
        RuntimePlan::Shell(_) => super::shell::capabilities("shell"),
        RuntimePlan::Jupyter(plan) => super::jupyter::capabilities(plan),
        RuntimePlan::Gateway(_) => super::jupyter::capabilities_of_served(),
        RuntimePlan::Scripted(script) => script.capabilities.clone(),
    }
}

/// Starts a runtime. Its first events may be there before the first request.
pub fn connect(plan: RuntimePlan) -> (Box<dyn Runtime>, RuntimeEvents) {
    let (sender, events) = tokio::sync::mpsc::channel(EVENTS_IN_FLIGHT);
    let runtime: Box<dyn Runtime> = match plan {
        RuntimePlan::Embedded(plan) => Box::new(PythonRuntime::start(plan, sender)),
        RuntimePlan::Shell(plan) => Box::new(ShellRuntime::start(plan, sender)),
        RuntimePlan::Jupyter(plan) => Box::new(JupyterRuntime::start(plan, sender)),
        RuntimePlan::Gateway(plan) => Box::new(JupyterRuntime::serve(plan, sender)),
        RuntimePlan::Scripted(script) => Box::new(ScriptedRuntime::start(script, sender)),
    };
    (runtime, events)
}
