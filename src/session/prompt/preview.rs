//! Previews of the next prompt: `%ipycodex context` and `tools`.
//!
//! In: the request, built as for every prompt. Out: text. Since nothing is built a second time here, the preview shows
//! exactly what would be sent: context, exchanges, tools, instructions and the thread, then how they fill the window.

use super::tool_mentions::first_mention;
use super::window::{self, ASCII_PER_TOKEN, TextSize};
use crate::agent::{InputPart, ThreadDigest, ToolSpec, TurnRequest, Usage};
use crate::dialog::Dialog;
use crate::events::{SessionEvent, TextEvent};
use crate::magics::PreviewKind;
use crate::output::limits::grouped;
use crate::record::RecordedThread;
use crate::tools::is_built_in;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preview {
    shown: PreviewKind,
    /// References of notes and skills, evaluated only when a prompt is sent.
    unevaluated: Vec<String>,
    /// Tokens of the last turn that told the size of the model's window.
    used: Option<Usage>,
}

impl Preview {
    pub(crate) fn new(shown: PreviewKind) -> Self {
        Preview {
            shown,
            unevaluated: Vec::new(),
            used: None,
        }
    }

    pub(super) fn set_used(&mut self, used: Option<Usage>) {
        self.used = used;
    }

    pub(super) fn set_unevaluated(&mut self, variables: &[String], shells: &[String]) {
        let variables = variables.iter().map(|name| format!("$`{name}`"));
        let shells = shells.iter().map(|command| format!("!`{command}`"));
        self.unevaluated = variables.chain(shells).collect();
    }

    /// `added_instructions`: what the agent adds to the instructions when there are tools. `digest`: of a thread that
    /// can be continued.
    pub(super) fn render(
        &self,
        request: &TurnRequest,
        digest: &str,
        added_instructions: &str,
        dialog: &Dialog,
        thread: Option<&RecordedThread>,
    ) -> SessionEvent {
        match self.shown {
            PreviewKind::Context => {
                let status = thread_status(request, thread, digest);
                let text = context(
                    request,
                    added_instructions,
                    dialog,
                    &status,
                    &self.unevaluated,
                );
                let shares = window::shares(request, added_instructions, dialog, self.used);
                SessionEvent::Text(TextEvent::Verbatim(format!("{text}\n{shares}")))
            }
            PreviewKind::Tools => SessionEvent::Text(TextEvent::Text(tools(request, dialog))),
        }
    }
}

fn context(
    request: &TurnRequest,
    added_instructions: &str,
    dialog: &Dialog,
    status: &str,
    unevaluated: &[String],
) -> String {
    let instructions = TextSize::measure(&request.instructions);
    let mut lines = vec![format!("instructions: {}", character_count(instructions))];
    let mut total = instructions;

    let names: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    let offered = request.tools.iter().map(TextSize::of_tool);
    let offered = offered.fold(TextSize::default(), TextSize::plus);
    total = total.plus(offered);
    lines.push(match names.as_slice() {
        [] => "tools: none".to_owned(),
        names => format!("tools: {} ({})", names.join(", "), character_count(offered)),
    });
    if !names.is_empty() && !added_instructions.is_empty() {
        let size = TextSize::measure(added_instructions);
        total = total.plus(size);
        lines.push(format!(
            "added to the instructions, because there are tools: {}",
            character_count(size)
        ));
        lines.push(format!("  {added_instructions}"));
    }

    let exchanges = dialog.exchanges();
    let numbers = exchanges.iter().map(|exchange| exchange.line);
    let mut earlier = Vec::new();
    let mut record = TextSize::default();
    for (exchange, line) in request.history.iter().zip(numbers) {
        let (user, assistant) = (
            TextSize::measure(&exchange.user),
            TextSize::measure(&exchange.assistant),
        );
        record = record.plus(user).plus(assistant);
        earlier.push(format!(
            "  [{line}] {} + {} characters{}",
            grouped(user.characters() as u64),
            grouped(assistant.characters() as u64),
            pictures(exchange.images.len())
        ));
    }
    total = total.plus(record);
    lines.push(match earlier.len() {
        0 => "earlier exchanges: none".to_owned(),
        number => format!("earlier exchanges: {number} ({})", character_count(record)),
    });
    lines.extend(earlier);
    lines.push(format!("thread: {status}"));

    if !unevaluated.is_empty() {
        lines.push(format!("evaluated when sent: {}", unevaluated.join(", ")));
    }

    let sent: Vec<&str> = request
        .input
        .iter()
        .filter_map(InputPart::as_text)
        .collect();
    let sent = sent.concat();
    let sent = sent
        .strip_suffix("<user-request></user-request>")
        .unwrap_or(&sent);
    let size = TextSize::measure(sent);
    total = total.plus(size);
    let images = request.input.len() - request.input.iter().filter_map(InputPart::as_text).count();
    lines.push(match sent {
        "" => "context: none".to_owned(),
        sent => format!(
            "context: {}{}\n{}",
            character_count(size),
            pictures(images),
            sent.trim_end_matches('\n')
        ),
    });
    lines.push(format!(
        "[in all {} characters, about {} tokens at {ASCII_PER_TOKEN} characters each]",
        grouped(total.characters() as u64),
        grouped(total.tokens() as u64)
    ));
    lines.join("\n")
}

/// Whether the agent's thread is continued, and if not, why.
fn thread_status(request: &TurnRequest, known: Option<&RecordedThread>, digest: &str) -> String {
    if request.settings.threads == crate::agent::ThreadMode::Ephemeral {
        return "new for each prompt, sent with the earlier exchanges".to_owned();
    }
    if let Some(thread) = &request.thread {
        return format!("continued ({thread})");
    }
    if let Some(from) = &request.fork {
        return format!("a fork of an earlier place in {}", from.thread);
    }
    match known {
        Some(known) => format!(
            "new, rebuilt from the record; these have changed: {}",
            ThreadDigest::differences(&known.digest, digest).join(", ")
        ),
        None if request.history.is_empty() => "new; nothing has been said yet".to_owned(),
        None => "new, rebuilt from the record; the agent has no thread with this conversation"
            .to_owned(),
    }
}

fn tools(request: &TurnRequest, dialog: &Dialog) -> String {
    if request.tools.is_empty() {
        return "No tools are offered. Name a function in a prompt: &`name`.".to_owned();
    }
    let width = request
        .tools
        .iter()
        .map(|tool| tool.name.chars().count())
        .max();
    let width = width.unwrap_or(0);
    let line = |tool: &ToolSpec| {
        let about = tool.description.lines().next().unwrap_or_default();
        let about: String = match about.split_once(": ").or_else(|| about.split_once(". ")) {
            Some((first, _)) => first.to_owned(),
            None => about.to_owned(),
        };
        let about: String = about.chars().take(60).collect();
        let line = format!(
            "{:width$}  {:14}  {about}",
            tool.name,
            tool_source(tool, dialog)
        );
        line.trim_end().to_owned()
    };
    request
        .tools
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

fn tool_source(tool: &ToolSpec, dialog: &Dialog) -> String {
    if is_built_in(&tool.name) {
        return "built in".to_owned();
    }
    first_mention(&tool.name, dialog)
}

fn character_count(size: TextSize) -> String {
    format!("{} characters", grouped(size.characters() as u64))
}

fn pictures(number: usize) -> String {
    match number {
        0 => String::new(),
        1 => ", 1 picture".to_owned(),
        number => format!(", {number} pictures"),
    }
}
