//! The request that starts a turn, and the session's replies during it.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::input::InputPart;
use super::question::QuestionAnswer;
use super::settings::TurnSettings;

/// Id of a turn, unique within an agent's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TurnId(pub u64);

/// Everything one turn needs, built from the record each time.
#[derive(Debug, Clone)]
pub struct TurnRequest {
    /// System prompt, skills section included.
    pub instructions: String,
    /// Earlier exchanges that are part of the conversation, oldest first.
    pub history: Vec<Exchange>,
    /// The current input: warnings, variables, context and request, in order. Empty where a session is only opened,
    /// or reopened with other servers
    /// ([`AgentCapabilities::opens_sessions`](super::AgentCapabilities::opens_sessions)).
    pub input: Vec<InputPart>,
    /// Functions offered to the agent.
    pub tools: Vec<ToolSpec>,
    /// Settings of the turn.
    pub settings: TurnSettings,
    /// The agent's id of a thread that holds exactly `instructions`, `tools` and `history`, if the record knows
    /// one. `None`, or a thread that is gone: a new one is seeded from this request.
    pub thread: Option<String>,
    /// A place in another thread up to which that thread holds exactly this. An agent that can fork threads continues
    /// a fork, so that the model's cache is kept; else, or when the thread is gone, a new one is seeded.
    pub fork: Option<ThreadPoint>,
    /// JSON schema the answer must fit, for this turn only.
    pub schema: Option<Value>,
    /// The agent shortens the thread and gets no input. Only for agents that can
    /// ([`AgentCapabilities::compacts`](super::AgentCapabilities)).
    pub compact: bool,
}

/// A place in a thread: after one of its turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadPoint {
    /// The agent's id of the thread.
    pub thread: String,
    /// The agent's id of the place; `None`: the end of the thread.
    pub point: Option<String>,
}

/// An earlier prompt and its answer, as the model sees them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Exchange {
    /// Context and request.
    pub user: String,
    /// The stored answer; never empty.
    pub assistant: String,
    /// Pictures that went with `user`, as `data:` URLs.
    pub images: Vec<Arc<str>>,
}

/// A function the agent may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Name, `[a-zA-Z0-9_-]{1,128}`.
    pub name: String,
    /// For the model; may be empty.
    pub description: String,
    /// JSON schema of the arguments (an object).
    pub schema: Value,
}

/// A call of one of our tools.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The agent's id of the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// A JSON object.
    pub arguments: Value,
}

/// What the session tells a running turn: the reply to a tool call or a question, or more input.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentReply {
    /// The result of a tool call.
    ToolResult {
        /// Id of the call.
        call: String,
        /// False for exceptions and refusals.
        success: bool,
        /// The result for the model.
        content: Vec<InputPart>,
    },
    /// The answer to a question.
    Answer {
        /// Id of the question.
        question: String,
        /// The answer.
        answer: QuestionAnswer,
    },
    /// More input for the running turn; [`AgentEvent::Steered`](super::AgentEvent::Steered) follows while it runs.
    Steer(String),
}

/// Tokens of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens read by the model.
    pub input: u64,
    /// Those of `input` that came from the cache.
    pub cached: u64,
    /// Tokens written by the model, reasoning included.
    pub output: u64,
    /// Those of `output` that are reasoning.
    pub reasoning: u64,
    /// Size of the model's context window in tokens, if known.
    pub window: Option<u64>,
    /// Tokens in that window after the turn's last request, if known.
    pub filled: Option<u64>,
    /// Cost of the whole conversation so far, if the agent reports prices.
    pub cost: Option<Cost>,
}

/// An amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The amount in millionths of the currency unit.
    pub millionths: u64,
    /// ISO 4217 code, in ASCII.
    pub currency: [u8; 3],
}

impl Cost {
    /// Converts an amount; `None` if amount or currency code is not valid.
    pub fn new(amount: f64, currency: &str) -> Option<Self> {
        let code = currency.as_bytes().try_into().ok();
        let currency = code.filter(|code: &[u8; 3]| code.iter().all(u8::is_ascii_alphanumeric))?;
        let millionths = (amount * 1e6).round();
        (0.0..1e15).contains(&millionths).then_some(Cost {
            millionths: millionths as u64,
            currency,
        })
    }

    /// The amount in currency units.
    pub fn amount(&self) -> f64 {
        self.millionths as f64 / 1e6
    }

    /// ISO 4217 code.
    pub fn currency(&self) -> &str {
        std::str::from_utf8(&self.currency).unwrap_or_default()
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.millionths < 100_000 { 4 } else { 2 };
        write!(out, "{:.digits$} {}", self.amount(), self.currency())
    }
}

impl Usage {
    /// How full the window is, in percent, if both are known.
    pub fn fullness(&self) -> Option<u64> {
        let (filled, window) = (self.filled?, self.window?);
        filled.saturating_mul(100).checked_div(window)
    }

    /// Adds the counts of two; window and cost are the first ones known, what fills the window the last.
    pub fn sum(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
        let (Some(a), Some(b)) = (one, other) else {
            return one.or(other);
        };
        Some(Usage {
            input: a.input + b.input,
            cached: a.cached + b.cached,
            output: a.output + b.output,
            reasoning: a.reasoning + b.reasoning,
            window: a.window.or(b.window),
            filled: b.filled.or(a.filled),
            cost: a.cost.or(b.cost),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Approvals, Effort, PlanMode, Sandbox, ThreadMode, WebSearchUse};

    /// A request without input, in a thread of the session.
    pub(crate) fn request() -> TurnRequest {
        TurnRequest {
            instructions: String::new(),
            history: Vec::new(),
            input: Vec::new(),
            tools: Vec::new(),
            settings: TurnSettings {
                model: None,
                effort: Effort::Low,
                search: WebSearchUse::Off,
                cwd: "/".into(),
                threads: ThreadMode::Session,
                approvals: Approvals::Never,
                sandbox: Sandbox::ReadOnly,
                shell: true,
                plan: PlanMode::Off,
                mcp_servers: Vec::new(),
                start_timeout: None,
            },
            thread: None,
            fork: None,
            schema: None,
            compact: false,
        }
    }

    #[test]
    fn amounts_of_money_are_read_and_shown_with_the_digits_they_need() {
        for (amount, currency, shown) in [
            (0.0, "USD", Some("0.0000 USD")),
            (0.0000014, "USD", Some("0.0000 USD")),
            (0.099999, "USD", Some("0.1000 USD")),
            (0.1, "eur", Some("0.10 eur")),
            (12.345678, "X99", Some("12.35 X99")),
            (999_999_999.0, "USD", Some("999999999.00 USD")),
            (1e9, "USD", None),
            (-0.1, "USD", None),
            (f64::NAN, "USD", None),
            (1.0, "US", None),
            (1.0, "USDT", None),
            (1.0, "U$D", None),
        ] {
            let cost = Cost::new(amount, currency);
            let told = cost.map(|cost| cost.to_string());
            assert_eq!(told.as_deref(), shown, "{amount} {currency}");
            if let Some(cost) = cost {
                assert!((cost.amount() - amount).abs() < 1e-6, "{amount}");
                assert_eq!(cost.currency(), currency);
            }
        }
        assert_eq!(Cost::new(1.5e-6, "USD").map(|it| it.millionths), Some(2));
    }

    #[test]
    fn tokens_are_added_and_what_is_known_of_one_holds_for_both() {
        let usage = |n: u64, more: Option<u64>| Usage {
            input: n,
            cached: 10 * n,
            output: 100 * n,
            reasoning: 1000 * n,
            window: more,
            filled: more,
            cost: more.and_then(|more| Cost::new(more as f64, "USD")),
        };
        let (one, other) = (Some(usage(1, None)), Some(usage(2, Some(7))));
        assert_eq!(Usage::sum(None, None), None);
        assert_eq!(Usage::sum(one, None), one);
        assert_eq!(Usage::sum(None, other), other);
        assert_eq!(Usage::sum(one, other), Some(usage(3, Some(7))));
        assert_eq!(Usage::sum(other, one), Some(usage(3, Some(7))));
        let third = Some(usage(4, Some(8)));
        let expected = Usage {
            filled: Some(7),
            ..usage(6, Some(8))
        };
        assert_eq!(Usage::sum(third, other), Some(expected));
    }

    #[test]
    fn fullness_needs_both_figures() {
        let full = |filled, window| {
            let usage = Usage {
                filled,
                window,
                ..Usage::default()
            };
            usage.fullness()
        };
        assert_eq!(full(Some(1_257), Some(258_400)), Some(0));
        assert_eq!(full(Some(206_720), Some(258_400)), Some(80));
        assert_eq!(full(Some(300_000), Some(258_400)), Some(116));
        assert_eq!(full(Some(1), Some(0)), None);
        assert_eq!(full(None, Some(1)), None);
        assert_eq!(full(Some(1), None), None);
    }
}
