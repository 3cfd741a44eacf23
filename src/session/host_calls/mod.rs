//! Requests of running code to its session: a prompt or a tool, called by a cell of the user or by code of the
//! agent.
//!
//! Two queues with one rule: one call at a time, in the order they came, each replied to once unless its code has
//! ended or it was cancelled. A cell of the user is suspended until its call has ended (`cell`); the agent's turn
//! waits for its own code, so such a call is answered beside the turn (`agent`).

mod agent;
mod cell;
pub(super) mod driver;

use agent::ActiveAgentCall;
pub(super) use agent::AgentHostCalls;
pub(super) use cell::CellHostCalls;
use cell::{answered, schema_error};
