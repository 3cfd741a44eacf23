//! What the next prompt would send, told instead of sent: `%ipycodex context` and `tools`.
//!
//! In: the request as it was built for an agent, by the way every prompt goes. Out: text. Nothing is built here a
//! second time, so what is told is what would be sent: context, exchanges, tools, instructions and the thread.

use super::offered::named_in;
use crate::agent::{InputPart, ThreadDigest, ToolSpec, TurnRequest};
use crate::dialog::Dialog;
use crate::history::RecordedThread;
use crate::magics::ContextShown;
use crate::output::limits::grouped;
use crate::session::events::{SessionEvent, ToldEvent};
use crate::session::toolbox::is_built_in;

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::session) struct Preview {
    shown: ContextShown,
    /// What notes and skills refer to: evaluated when a prompt is sent, and only then.
    left_out: Vec<String>,
}

/// ASCII characters that count as one token; any other character is one by itself.
const ASCII_PER_TOKEN: usize = 4;

impl Preview {
    /// Of this; nothing is left out yet.
    pub(in crate::session) fn of(shown: ContextShown) -> Self {
        Preview {
            shown,
            left_out: Vec::new(),
        }
    }

    /// These are not evaluated for it.
    pub(super) fn leaves_out(&mut self, variables: &[String], shells: &[String]) {
        let variables = variables.iter().map(|name| format!("$`{name}`"));
        let shells = shells.iter().map(|command| format!("!`{command}`"));
        self.left_out = variables.chain(shells).collect();
    }

    /// What the user is told; `beside` is what the agent adds to the instructions when there are tools,
    /// `wanted` the digest of a thread that can be gone on with.
    pub(super) fn tell(
        &self,
        request: &TurnRequest,
        wanted: &str,
        beside: &str,
        dialog: &Dialog,
        thread: Option<&RecordedThread>,
    ) -> SessionEvent {
        match self.shown {
            ContextShown::Context => {
                let fate = fate(request, thread, wanted);
                let text = context(request, beside, dialog, &fate, &self.left_out);
                SessionEvent::Told(ToldEvent::Verbatim(text))
            }
            ContextShown::Tools => SessionEvent::Told(ToldEvent::Text(tools(request, dialog))),
        }
    }
}

/// Characters and tokens, counted together.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    ascii: usize,
    other: usize,
}

impl Size {
    fn of(text: &str) -> Self {
        let characters = text.chars().count();
        let ascii = text.bytes().filter(u8::is_ascii).count();
        Size {
            ascii,
            other: characters - ascii,
        }
    }

    fn plus(self, other: Size) -> Size {
        Size {
            ascii: self.ascii + other.ascii,
            other: self.other + other.other,
        }
    }

    fn characters(self) -> usize {
        self.ascii + self.other
    }

    fn tokens(self) -> usize {
        self.ascii.div_ceil(ASCII_PER_TOKEN) + self.other
    }
}

fn context(
    request: &TurnRequest,
    beside: &str,
    dialog: &Dialog,
    fate: &str,
    left_out: &[String],
) -> String {
    let instructions = Size::of(&request.instructions);
    let mut lines = vec![format!("instructions: {}", told(instructions))];
    let mut total = instructions;

    let names: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    let offered = request.tools.iter().map(size_of_tool);
    let offered = offered.fold(Size::default(), Size::plus);
    total = total.plus(offered);
    lines.push(match names.as_slice() {
        [] => "tools: none".to_owned(),
        names => format!("tools: {} ({})", names.join(", "), told(offered)),
    });
    if !names.is_empty() && !beside.is_empty() {
        let size = Size::of(beside);
        total = total.plus(size);
        lines.push(format!(
            "added to the instructions, because there are tools: {}",
            told(size)
        ));
        lines.push(format!("  {beside}"));
    }

    let exchanges = dialog.exchanges();
    let numbers = exchanges.iter().map(|exchange| exchange.line);
    let mut earlier = Vec::new();
    let mut history = Size::default();
    for (exchange, line) in request.history.iter().zip(numbers) {
        let (user, assistant) = (Size::of(&exchange.user), Size::of(&exchange.assistant));
        history = history.plus(user).plus(assistant);
        earlier.push(format!(
            "  [{line}] {} + {} characters{}",
            grouped(user.characters() as u64),
            grouped(assistant.characters() as u64),
            pictures(exchange.images.len())
        ));
    }
    total = total.plus(history);
    lines.push(match earlier.len() {
        0 => "earlier exchanges: none".to_owned(),
        number => format!("earlier exchanges: {number} ({})", told(history)),
    });
    lines.extend(earlier);
    lines.push(format!("thread: {fate}"));

    if !left_out.is_empty() {
        lines.push(format!("evaluated when sent: {}", left_out.join(", ")));
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
    let size = Size::of(sent);
    total = total.plus(size);
    let images = request.input.len() - request.input.iter().filter_map(InputPart::as_text).count();
    lines.push(match sent {
        "" => "context: none".to_owned(),
        sent => format!(
            "context: {}{}\n{}",
            told(size),
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

/// Whether the agent's thread is gone on with, and why not.
fn fate(request: &TurnRequest, known: Option<&RecordedThread>, wanted: &str) -> String {
    if request.settings.threads == crate::agent::Threads::Ephemeral {
        return "new for each prompt, sent with the earlier exchanges".to_owned();
    }
    if let Some(thread) = &request.thread {
        return format!("continued ({thread})");
    }
    match known {
        Some(known) => format!(
            "new, rebuilt from the record; these have changed: {}",
            ThreadDigest::differences(&known.digest, wanted).join(", ")
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
        let line = format!("{:width$}  {:14}  {about}", tool.name, source(tool, dialog));
        line.trim_end().to_owned()
    };
    request
        .tools
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Where a tool comes from.
fn source(tool: &ToolSpec, dialog: &Dialog) -> String {
    if is_built_in(&tool.name) {
        return "built in".to_owned();
    }
    named_in(&tool.name, dialog)
}

fn size_of_tool(tool: &ToolSpec) -> Size {
    Size::of(&tool.name)
        .plus(Size::of(&tool.description))
        .plus(Size::of(&tool.schema.to_string()))
}

fn told(size: Size) -> String {
    format!("{} characters", grouped(size.characters() as u64))
}

fn pictures(number: usize) -> String {
    match number {
        0 => String::new(),
        1 => ", 1 picture".to_owned(),
        number => format!(", {number} pictures"),
    }
}
