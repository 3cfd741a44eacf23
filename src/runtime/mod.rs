//! The contract between a session and whatever runs its cells.
//!
//! Owns the words both sides use: [`RuntimeRequest`] goes down, [`RuntimeEvent`] comes up through the receiver that
//! the constructor in `connect` returns beside the [`Runtime`]. Nothing here knows Python, pipes or JSON.
//!
//! Invariants every implementation keeps:
//! - `submit` never blocks and never fails: what goes wrong becomes an event of that id.
//! - every `Execute` ends in exactly one [`RuntimeEvent::Finished`], every other request in exactly one
//!   [`RuntimeEvent::Replied`]; all its output precedes it. What its tasks and threads show later may follow, as
//!   [`RuntimeEvent::Output`], [`RuntimeEvent::Display`] or [`RuntimeEvent::Comm`] with that id; nothing else does.
//! - an interrupt goes through [`Interrupter`], beside the queue, never through it.
//! - what it cannot do is a field of [`RuntimeCapabilities`], never a branch on its name; a session asks for nothing
//!   else.
//! - a connection that broke ([`RuntimeEvent::Lost`]) is no death: nobody knows what became of the interpreter.
//! - a dead interpreter is an event ([`RuntimeEvent::Died`]), and the next `Execute` starts a new one.
//!
//! Absent on purpose: async, files, clocks. Each back end is a folder here, and a plan with its arms in `connect`.

mod answer;
mod call;
mod capabilities;
mod channel;
mod checkpoints;
pub mod connect;
mod control;
mod environment;
mod event;
mod interpreter;
mod jupyter;
mod marks;
pub mod python;
mod request;
pub mod scripted;
mod shell;
mod terminal;
mod variables;

pub use answer::{
    Completeness, Completion, INSPECTION_MIME, PARTS_MIME, ReferenceValue, RuntimeReply,
    SOURCE_MIME, Snapshot, ToolLookup, split_parts,
};
pub use call::{HostCall, HostReply, HostRequest};
pub use capabilities::{CompletionSupport, RuntimeCapabilities};
pub use checkpoints::{
    CellStep, Checkpoint, CheckpointRequest, CheckpointStep, Checkpoints, MissingCheckpoint,
};
pub use environment::EnvironmentChanges;
pub use event::{DisplayData, Ending, Finish, OutputStream, RuntimeEvent};
pub use interpreter::{Death, RuntimeInfo, StartFailure};
pub use request::{
    BranchRequest, CommMessage, CommOp, DarkRendering, DryRunCell, Execute, InputReply,
    IpythonFlags, RecordLocation, RequestId, RuntimeRequest, SourceLocation, StartupFile,
    StartupPlan, Stdin, THIS_REQUEST,
};
pub use variables::{SavedVariable, SavedVariables, VariablesRequest};

use std::sync::Arc;

/// Runs cells. Object-safe; owned by the session loop alone.
pub trait Runtime: Send {
    /// What it can do, as far as it is known: what is not there is not asked for.
    fn capabilities(&self) -> RuntimeCapabilities;

    /// Queues a request and returns its id at once. Requests run one at a time, in order.
    fn submit(&mut self, request: RuntimeRequest) -> RequestId;

    /// A handle that interrupts or kills the running cell from any thread; stays valid across restarts.
    fn interrupter(&self) -> Arc<dyn Interrupter>;

    /// The terminal the cells own, where the runtime was started with one; stays valid across restarts.
    fn terminal(&self) -> Option<Arc<dyn CellTerminal>>;
}

/// Stops what runs, from any thread, without waiting in the request queue.
pub trait Interrupter: Send + Sync {
    /// Sends an interrupt (`KeyboardInterrupt`) to the running cell and its children; nothing when idle.
    fn interrupt(&self);

    /// Ends the interpreter at once; its variables are lost. The next cell gets a new one.
    fn kill(&self);
}

/// The terminal a cell owns while it runs.
pub trait CellTerminal: Send + Sync {
    /// Types bytes for the cell that runs and returns how many of them it took, from the front: none when no cell
    /// runs, fewer than all when its terminal is full. What was taken and not read comes back as
    /// [`Finish::typeahead`]; the rest is still the caller's. Never blocks.
    fn type_bytes(&self, bytes: &[u8]) -> usize;

    /// Takes back the whole lines that were typed for the cell and that it has not read; none when its terminal is
    /// not in line mode. The line being typed stays.
    fn take_lines(&self) -> Vec<u8>;

    /// True while there are such lines.
    fn has_lines(&self) -> bool;

    /// True while the cell waits for a line, as far as that can be known.
    fn is_waiting_for_input(&self) -> bool;

    /// Tells the cell the new size.
    fn resize(&self, size: TerminalSize);

    /// How the cell's terminal treats input at this moment.
    fn mode(&self) -> TerminalMode;
}

/// Size in character cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Width.
    pub columns: u16,
    /// Height.
    pub rows: u16,
}

/// Input treatment of a terminal (termios local flags).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalMode {
    /// ISIG: control characters make signals.
    pub signals: bool,
    /// ICANON: input comes in lines. False while a full-screen program or a line editor runs.
    pub canonical: bool,
    /// A program started by the cell (`!vim`, `!less`), or a job of the shell, owns the terminal at this moment.
    pub foreground_program: bool,
    /// It is a shell's: Ctrl-C and Ctrl-Z are for the job in front, but for a third Ctrl-C, which ends it.
    pub job_control: bool,
}
