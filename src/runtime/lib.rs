//! The contract between a session and the programs that run its cells.
//!
//! Owns the types both sides use: [`RuntimeRequest`] goes down, [`RuntimeEvent`] comes up through the receiver that
//! the constructor in `connect` returns beside the [`Runtime`]. Nothing here knows Python, pipes or JSON.
//!
//! Invariants every implementation keeps:
//! - `submit` never blocks and never fails: a failure becomes an event of that id.
//! - every `Execute` ends in exactly one [`RuntimeEvent::Finished`], every other request in exactly one
//!   [`RuntimeEvent::Replied`]; all its output precedes it. Later output of its tasks and threads may follow, as
//!   [`RuntimeEvent::Output`], [`RuntimeEvent::Display`] or [`RuntimeEvent::Comm`] with that id, and nothing else.
//! - an interrupt goes through [`Interrupter`], beside the queue, never through it.
//! - a missing capability is a field of [`RuntimeCapabilities`], never a branch on the runtime's name; a session
//!   requests nothing else.
//! - a broken connection ([`RuntimeEvent::Lost`]) is no death: the state of the interpreter is then unknown.
//! - a dead interpreter is an event ([`RuntimeEvent::Died`]), and the next `Execute` starts a new one.
//!
//! Absent on purpose: async, files, clocks. Each back end is a folder here with a `Supervisor` (`supervisor.rs`), and a
//! plan with its arms in `connect`.

mod answer;
mod capabilities;
mod child_io;
pub mod connect;
mod control;
mod event;
mod handoff;
mod interpreter;
mod jupyter;
mod look_back;
mod marks;
#[cfg(test)]
#[path = "../properties.rs"]
pub mod properties;
mod python;
mod request;
mod request_kind;
mod saved_state;
pub mod scripted;
mod shell;
mod supervisor;
mod terminal;

pub use ipycodex_jupyter::{CommMessage, CommOp};
use ipycodex_process::{self as process, files};
use ipycodex_text::{self as text, output};

pub use answer::{
    Completeness, Completion, INSPECTION_MIME, PARTS_MIME, ReferenceValue, RuntimeReply,
    SOURCE_MIME, Snapshot, ToolLookup, split_parts,
};
pub use capabilities::{CompletionSupport, RuntimeCapabilities};
pub use event::{DisplayData, Ending, Finish, OutputStream, RuntimeEvent};
pub use handoff::{BackgroundReply, BackgroundRequest, Branch, MergeRow};
pub use interpreter::{Death, RuntimeInfo, StartFailure};
pub use look_back::{LookBack, LookBackRequest, PastState, PastValue};
pub use request::{
    BranchRequest, DarkRendering, DryRunCell, EnvironmentChanges, Execute, HostCall, HostReply,
    HostRequest, InputReply, IpythonFlags, RecordLocation, RequestId, RuntimeRequest,
    SourceLocation, StartupFile, StartupPlan, Stdin, THIS_REQUEST,
};
pub use saved_state::{
    CellStep, Checkpoint, CheckpointRequest, CheckpointStep, Checkpoints, MissingCheckpoint,
    SavedVariable, SavedVariables, VariablesRequest,
};

use std::sync::Arc;

/// Runs cells. Object-safe; owned by the session loop alone.
pub trait Runtime: Send {
    /// Returns its capabilities, as far as they are known; the session makes no request beyond them.
    fn capabilities(&self) -> RuntimeCapabilities;

    /// Queues a request and returns its id at once. Requests run one at a time, in order.
    fn submit(&mut self, request: RuntimeRequest) -> RequestId;

    /// Returns a handle that interrupts or kills the running cell from any thread; stays valid across restarts.
    fn interrupter(&self) -> Arc<dyn Interrupter>;

    /// Returns the terminal of the cells, if the runtime was started with one; stays valid across restarts.
    fn terminal(&self) -> Option<Arc<dyn CellTerminal>>;
}

/// Stops the running cell, from any thread, without waiting in the request queue.
pub trait Interrupter: Send + Sync {
    /// Sends an interrupt (`KeyboardInterrupt`) to the running cell and its children; does nothing when idle.
    fn interrupt(&self);

    /// Kills the interpreter at once; its variables are lost. The next cell starts a new one.
    fn kill(&self);
}

/// The pseudo-terminal that a cell owns while it runs.
pub trait CellTerminal: Send + Sync {
    /// Types bytes for the running cell and returns how many of them its terminal took, from the front: none when
    /// no cell runs, fewer than all when the terminal is full. Bytes taken but not read come back as
    /// [`Finish::typeahead`]; the rest stays with the caller. Never blocks.
    fn type_bytes(&self, bytes: &[u8]) -> usize;

    /// Takes back the whole lines that were typed for the cell and not yet read; none when its terminal is not in
    /// line mode. The line being typed stays.
    fn take_lines(&self) -> Vec<u8>;

    /// Returns true while there are whole unread lines.
    fn has_lines(&self) -> bool;

    /// Returns true while the cell waits for a line, as far as that can be detected.
    fn is_waiting_for_input(&self) -> bool;

    /// Sets the size of the cell's terminal.
    fn resize(&self, size: TerminalSize);

    /// Returns how the cell's terminal currently treats input.
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
    /// A program started by the cell (`!vim`, `!less`), or a job of the shell, is in the foreground of the
    /// terminal.
    pub foreground_program: bool,
    /// The terminal is a shell's: Ctrl-C and Ctrl-Z go to the foreground job, except a third Ctrl-C, which kills
    /// it.
    pub job_control: bool,
}
