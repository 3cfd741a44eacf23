//! Builds the turn request of a prompt, and keeps what is needed when the answer has come.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::input::PromptInput;
use crate::agent::{
    AgentCapabilities, Descriptor, Exchange, InputPart, McpServer, PlanMode, ThreadDigest,
    ThreadPoint, ToolSpec, TurnRequest,
};
use crate::config::Choices;
use crate::dialog::{Dialog, user_entry};
use crate::input::is_ipycodex_input;
use crate::plan_mode;
use crate::record::{PromptStart, RecordedThread};
use crate::tools::is_built_in;

/// Session state that a request is built from, besides the prompt and the conversation.
pub(crate) struct RequestContext<'a> {
    pub instructions: String,
    pub choices: &'a Choices,
    pub cwd: PathBuf,
    /// The agent's thread, as far as it is known.
    pub thread: Option<&'a RecordedThread>,
    /// Places in threads, by the digest of what they hold.
    pub points: &'a HashMap<String, ThreadPoint>,
    pub agent: AgentCapabilities,
    pub commands: &'a [Descriptor],
    pub tools: Vec<ToolSpec>,
    /// The server that offers the built-in tools to an agent that takes tools from MCP servers only.
    pub own_server: Option<&'a McpServer>,
    /// No interpreter could be started.
    pub no_interpreter: bool,
    /// The warnings about this agent that were shown; each is shown once.
    pub warned: &'a mut HashSet<&'static str>,
    /// The agent still finishes an interrupted turn.
    pub agent_is_busy: bool,
}

/// The facts about a sent request that are needed after its answer.
pub(super) struct SentRequest {
    /// Digest of the thread with this prompt, without its answer.
    digest: ThreadDigest,
    /// Digest of the thread without this prompt, in hex.
    pub(super) before: String,
    tools: Vec<String>,
    /// All text sent, when exact logging is on.
    logged: Option<String>,
    /// The input begins with a command of the agent.
    pub(super) commanded: bool,
    /// In plan mode.
    pub(super) plans: bool,
}

impl SentRequest {
    pub(super) fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool == name)
    }

    /// Returns the thread to continue after the answer, if the agent named its `thread`, and the text for the log.
    pub(super) fn finish(
        self,
        stored: &str,
        thread: Option<ThreadPoint>,
    ) -> (Option<RecordedThread>, Option<String>) {
        let mut digest = self.digest;
        digest.add_answer(stored);
        let thread = thread.map(|end| RecordedThread {
            id: end.thread,
            digest: digest.hex(),
            point: end.point,
        });
        (thread, self.logged)
    }
}

/// Builds the request; takes the attachments and the schema out of `input`. `tools` are the user's functions.
pub(super) fn compose(
    input: &mut PromptInput,
    dialog: &Dialog,
    tools: Vec<ToolSpec>,
    around: &RequestContext<'_>,
) -> (TurnRequest, SentRequest) {
    let sees = around.agent.images;
    let seen = |images: Vec<Arc<str>>| if sees { images } else { Vec::new() };
    let mut offered = around.tools.clone();
    let past = dialog.exchanges();
    let planned = past.iter().any(|past| plan_mode::was_on(&past.user));
    // Offered from the first prompt in plan mode on, so that acting on the plan goes on in the same thread.
    if (planned || around.choices.plan) && around.agent.tools.is_some() {
        offered.push(plan_mode::show_plan_spec());
    }
    offered.extend(tools.into_iter().filter(|tool| !is_built_in(&tool.name)));
    let mut settings = around.choices.turn_settings(&around.cwd);
    settings.mcp_servers.extend(around.own_server.cloned());
    if planned && settings.plan == PlanMode::Off {
        settings.plan = PlanMode::Left;
    }
    let mut digest = ThreadDigest::new(
        &around.choices.agent.to_string(),
        settings.model.as_deref(),
        &around.instructions,
        &offered,
    );
    digest.add_mcp_servers(&settings.mcp_servers);
    if !settings.shell {
        digest.add_shell_disabled();
    }
    let history = past.into_iter().map(|past| Exchange {
        user: past.user,
        assistant: past.assistant,
        images: seen(past.images),
    });
    let history: Vec<Exchange> = history.inspect(|exchange| digest.add(exchange)).collect();
    let before = digest.hex();
    let (sent, files) = input.take_attached(around.agent.files);
    let context = dialog.next_context();
    let recorded = user_entry(&input.expansion.xml, &context, &input.text);
    let images = seen(dialog.next_pictures(&input.expansion));
    digest.add_prompt(&recorded, &images);
    let (command, rest) =
        match input.verbatim.is_none() && is_agent_command(&input.text, around.commands) {
            true => {
                let rest = format!("{sent}{context}");
                (Some(input.text.trim().to_owned()), rest)
            }
            false => (None, user_entry(&sent, &context, &input.text)),
        };
    // The agent recognises its commands by the first word of the input.
    let commanded = command.is_some();
    let mut parts: Vec<InputPart> = command.into_iter().map(InputPart::Text).collect();
    parts.extend(files);
    if !rest.is_empty() {
        parts.push(InputPart::Text(rest));
    }
    let images = images.iter().map(|url| InputPart::Image(url.to_string()));
    parts.extend(images);
    let sent = SentRequest {
        tools: offered.iter().map(|tool| tool.name.clone()).collect(),
        logged: around
            .choices
            .log_exact
            .then(|| parts.iter().filter_map(InputPart::as_text).collect()),
        commanded,
        plans: settings.plan == PlanMode::On,
        digest,
        before,
    };
    let thread = around
        .thread
        .filter(|thread| thread.digest == sent.before)
        .map(|thread| thread.id.clone());
    let fork = match thread {
        Some(_) => None,
        None => around.points.get(&sent.before).cloned(),
    };
    let request = TurnRequest {
        instructions: around.instructions.clone(),
        history,
        input: parts,
        tools: offered,
        settings,
        thread,
        fork,
        schema: input.schema.take(),
        compact: false,
    };
    (request, sent)
}

/// Moves the instructions into the input where the agent has no field for them: before the first input of a thread, but
/// after a command of the agent's own, which the agent recognises only at the start.
pub(super) fn place_instructions(
    request: &mut TurnRequest,
    able: &AgentCapabilities,
    commanded: bool,
) {
    if able.system_prompt {
        return;
    }
    let instructions = std::mem::take(&mut request.instructions);
    if request.thread.is_none() && !instructions.is_empty() {
        let part = InputPart::Text(format!("{instructions}\n\n"));
        request.input.insert(usize::from(commanded), part);
    }
}

pub(super) fn prompt_start(input: &mut PromptInput, dialog: &Dialog) -> PromptStart {
    let code = dialog.cells.iter().rev();
    let code = code
        .into_iter()
        .find(|cell| !is_ipycodex_input(&cell.source));
    PromptStart {
        line: input.line,
        history_line: code.map_or(0, |cell| cell.line),
        prompt: input.text.clone(),
        expansion: std::mem::take(&mut input.expansion),
        replaces: input.replaces.clone(),
    }
}

/// Returns true when the prompt begins with `/` and the name of one of `commands`.
fn is_agent_command(prompt: &str, commands: &[Descriptor]) -> bool {
    let name = prompt.trim_start().strip_prefix('/');
    let name = name.and_then(|rest| rest.split_whitespace().next());
    name.is_some_and(|name| commands.iter().any(|command| command.id == name))
}
