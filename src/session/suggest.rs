//! Completions at the cursor, requested from the agent outside of the conversation.
//!
//! In: the text being typed ([`Draft`]). Out: the text to insert, by a callback on the session's thread, which must
//! not block. Invariants: nothing is recorded, no number is taken, neither the running turn nor the conversation's
//! thread is touched; the callback is called once, unless its [`PendingSuggestion`] was dropped, which cancels the
//! agent's work.

mod fit;

use std::path::PathBuf;

use tokio::sync::oneshot;

use crate::agent::{Agent, AgentFailure, FailureKind, SuggestRequest};
use crate::dialog::Dialog;
use crate::input::{Input, Mode, classify};
use crate::record::RecordHandle;

const INSTRUCTIONS: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/assets/prompts/completion.md"
));

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    pub before: String,
    pub after: String,
    /// The kind of a text without a leading mark.
    pub mode: Mode,
}

/// A completion in progress; dropping it cancels the work.
#[derive(Debug)]
pub struct PendingSuggestion {
    _open: oneshot::Sender<()>,
}

/// Takes the result: the text to insert (may be empty), or the reason why there is none.
pub type OnSuggestion = Box<dyn FnOnce(Result<String, AgentFailure>) + Send>;

pub(super) struct SuggestionRequest {
    draft: Draft,
    take: OnSuggestion,
    /// Ends when the [`PendingSuggestion`] is dropped.
    dropped: oneshot::Receiver<()>,
}

impl PendingSuggestion {
    /// Creates one without work behind it.
    pub fn done() -> Self {
        PendingSuggestion {
            _open: oneshot::channel().0,
        }
    }
}

impl Draft {
    fn is_prompt(&self) -> bool {
        let text = format!("{}{}", self.before, self.after);
        // A dot alone will become a prompt.
        text.trim() == "." || matches!(classify(&text, self.mode), Input::Prompt(_))
    }

    /// Builds the input for the model: context, the text around the cursor, the task.
    fn input(&self, context: &str) -> String {
        let mut parts = Vec::new();
        let context = context.trim_end_matches('\n');
        if !context.is_empty() {
            parts.push(context.to_owned());
        }
        parts.push("<current-input>".to_owned());
        parts.push(format!("<prefix>{}</prefix>", self.before));
        if !self.after.trim().is_empty() {
            parts.push(format!("<suffix>{}</suffix>", self.after));
        }
        parts.push("</current-input>".to_owned());
        parts.push(
            if self.is_prompt() {
                "Answer only with the words to insert right after the prefix: the input is a request to an assistant."
            } else {
                "Answer only with the code to insert right after the prefix."
            }
            .to_owned(),
        );
        parts.join("\n")
    }
}

impl SuggestionRequest {
    /// Dropping the second value cancels the request.
    pub(super) fn new(draft: Draft, take: OnSuggestion) -> (Self, PendingSuggestion) {
        let (open, dropped) = oneshot::channel();
        let request = SuggestionRequest {
            draft,
            take,
            dropped,
        };
        (request, PendingSuggestion { _open: open })
    }
}

/// Reads the record for the completion's context and calls `go_on`, unless the request was cancelled.
pub(super) fn begin(
    mut request: Box<SuggestionRequest>,
    record: RecordHandle,
    go_on: impl FnOnce(Dialog, Box<SuggestionRequest>) + Send + 'static,
) {
    let blank = |text: &str| text.trim().is_empty();
    if blank(&request.draft.before) && blank(&request.draft.after) {
        return (request.take)(Ok(String::new()));
    }
    tokio::spawn(async move {
        tokio::select! {
            dialog = record.dialog() => go_on(dialog, request),
            _ = &mut request.dropped => {}
        }
    });
}

/// Sends the request to the agent once the record has been read; `cwd` is the user's directory.
pub(super) fn ask(
    request: SuggestionRequest,
    dialog: &Dialog,
    agent: &mut dyn Agent,
    model: String,
    cwd: PathBuf,
) {
    let SuggestionRequest {
        draft,
        take,
        mut dropped,
    } = request;
    if dropped.try_recv() == Err(oneshot::error::TryRecvError::Closed) {
        return;
    }
    let able = agent.capabilities();
    if !able.suggestions {
        let message = format!("the agent `{}` makes no suggestions", able.name);
        return take(Err(AgentFailure {
            kind: FailureKind::Refused,
            message,
            hints: Vec::new(),
        }));
    }
    let told = agent.suggest(SuggestRequest {
        instructions: INSTRUCTIONS.to_owned(),
        input: draft.input(&dialog.next_context()),
        model: (!model.is_empty()).then_some(model),
        cwd,
    });
    tokio::spawn(async move {
        tokio::select! {
            biased;
            _ = dropped => {}
            told = told => {
                // An agent that was replaced meanwhile gives no answer.
                let told = told.unwrap_or_else(|_| Ok(String::new()));
                let prompt = draft.is_prompt();
                take(told.map(|text| fit::fit(&text, &draft.before, &draft.after, prompt)));
            }
        }
    });
}
