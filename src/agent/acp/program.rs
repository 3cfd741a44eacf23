//! The program that is run as an agent, and the purposes of our requests to it.

use std::time::Duration;

use crate::TurnId;
use crate::agent_process::{self, NO_LIMIT, Timeouts};

/// How files and terminal output are sent to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SizeLimit {
    /// Whole.
    #[default]
    Unlimited,
    /// At most 48 KiB at a time, for agents that limit the length of a line. A missing file is reported as an
    /// invalid parameter.
    Capped,
}

/// A program that is an agent, and its name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// Name shown to the user.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables added to its environment.
    pub variables: Vec<(String, String)>,
    /// How files are sent to the agent.
    pub size_limit: SizeLimit,
}

/// Purpose of an open request. Those of a turn carry its id, since a response for another turn is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Initialize,
    New(TurnId),
    Fork(TurnId),
    Resume(TurnId),
    Load(TurnId),
    /// Closes the session of the turn, which is then reopened.
    Close(TurnId),
    /// Sets an option of the session before the prompt.
    Set(TurnId),
    Prompt(TurnId),
    /// Sends more input to the running turn.
    Steer(TurnId),
    /// With the number of the side request.
    Authenticate(u64),
    /// With the number of the side request.
    Choose(u64),
    /// With the number of the side request.
    Sessions(u64),
    /// Closes a session; the response is ignored.
    Courtesy,
}

impl agent_process::Purpose for Purpose {
    fn starts(self) -> bool {
        matches!(
            self,
            Purpose::Initialize
                | Purpose::New(_)
                | Purpose::Fork(_)
                | Purpose::Resume(_)
                | Purpose::Load(_)
        )
    }

    fn limit(self, patience: &Timeouts) -> Duration {
        match self {
            // A turn may take as long as it needs.
            Purpose::Prompt(_) | Purpose::Authenticate(_) => NO_LIMIT,
            purpose if purpose.starts() => NO_LIMIT,
            _ => patience.request,
        }
    }

    fn method(self) -> &'static str {
        match self {
            Purpose::Initialize => "initialize",
            Purpose::New(_) => "session/new",
            Purpose::Fork(_) => "session/fork",
            Purpose::Resume(_) => "session/resume",
            Purpose::Load(_) => "session/load",
            Purpose::Close(_) => "session/close",
            Purpose::Set(_) | Purpose::Choose(_) => "session/set_config_option",
            Purpose::Prompt(_) => "session/prompt",
            Purpose::Steer(_) => "_session/steering",
            Purpose::Authenticate(_) => "authenticate",
            Purpose::Sessions(_) => "session/list",
            Purpose::Courtesy => "a request",
        }
    }
}
