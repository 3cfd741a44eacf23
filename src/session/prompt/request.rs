//! The request a prompt becomes, and what has to be known of it when it has been answered.

use std::path::PathBuf;
use std::sync::Arc;

use super::asked::Asked;
use crate::agent::{
    AgentCapabilities, Exchange, InputPart, McpServer, Offering, ThreadDigest, ToolSpec,
    TurnRequest,
};
use crate::config::Choices;
use crate::dialog::{Dialog, user_entry};
use crate::history::{PromptStart, RecordedThread};
use crate::input::is_ours;
use crate::session::toolbox::is_built_in;

/// What building a request needs beside the prompt and the conversation.
pub(in crate::session) struct Surroundings<'a> {
    pub instructions: String,
    pub choices: &'a Choices,
    pub cwd: PathBuf,
    /// The agent's thread, as far as it is known.
    pub thread: Option<&'a RecordedThread>,
    /// What the agent can.
    pub able: AgentCapabilities,
    /// The agent's own commands.
    pub commands: &'a [Offering],
    /// Our tools that the turn is offered.
    pub tools: Vec<ToolSpec>,
    /// How our tools reach an agent that takes them from a server only.
    pub own_server: Option<&'a McpServer>,
    /// None could be started.
    pub no_interpreter: bool,
    /// The agent still finishes a turn that was stopped.
    pub agent_is_busy: bool,
}

/// What was sent: names what the thread holds after the answer.
pub(super) struct Sent {
    /// Of the thread with what this prompt sends, and without its answer.
    digest: ThreadDigest,
    /// Of the thread without this prompt, in hex.
    pub(super) before: String,
    /// Names of the tools on offer.
    tools: Vec<String>,
    /// All text sent, where it is logged.
    logged: Option<String>,
    /// The input begins with a command of the agent's own.
    pub(super) commanded: bool,
}

impl Sent {
    /// The turn may call `name`.
    pub(super) fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool == name)
    }

    /// It was answered in the agent's `thread`: the thread to go on with, and the text for the log.
    pub(super) fn answered(
        self,
        stored: &str,
        thread: Option<String>,
    ) -> (Option<RecordedThread>, Option<String>) {
        let mut digest = self.digest;
        digest.answered(stored);
        let thread = thread.map(|id| RecordedThread {
            id,
            digest: digest.hex(),
        });
        (thread, self.logged)
    }
}

/// The request for the agent; what was attached goes with it. `tools` are the user's functions.
pub(super) fn compose(
    prompt: &mut Asked,
    dialog: &Dialog,
    tools: Vec<ToolSpec>,
    around: &Surroundings<'_>,
) -> (TurnRequest, Sent) {
    let sees = around.able.images;
    let seen = |images: Vec<Arc<str>>| if sees { images } else { Vec::new() };
    let mut offered = around.tools.clone();
    offered.extend(tools.into_iter().filter(|tool| !is_built_in(&tool.name)));
    let mut settings = around.choices.turn_settings(&around.cwd);
    settings.mcp_servers.extend(around.own_server.cloned());
    let mut digest = ThreadDigest::new(
        &around.choices.agent.to_string(),
        settings.model.as_deref(),
        &around.instructions,
        &offered,
    );
    digest.served(&settings.mcp_servers);
    if !settings.shell {
        digest.without_shell();
    }
    let history = dialog.exchanges().into_iter().map(|past| Exchange {
        user: past.user,
        assistant: past.assistant,
        images: seen(past.images),
    });
    let history: Vec<Exchange> = history.inspect(|exchange| digest.add(exchange)).collect();
    let before = digest.hex();
    let (sent, files) = prompt.take_attached(around.able.files);
    let context = dialog.next_context();
    let recorded = user_entry(&prompt.expansion.xml, &context, &prompt.text);
    let images = seen(dialog.next_pictures(&prompt.expansion));
    digest.asked(&recorded, &images);
    let (command, rest) =
        match prompt.verbatim.is_none() && runs_command(&prompt.text, around.commands) {
            true => {
                let rest = format!("{sent}{context}");
                (Some(prompt.text.trim().to_owned()), rest)
            }
            false => (None, user_entry(&sent, &context, &prompt.text)),
        };
    // An agent knows a command of its own by the first word of the input.
    let commanded = command.is_some();
    let mut input: Vec<InputPart> = command.into_iter().map(InputPart::Text).collect();
    input.extend(files);
    input.extend(
        Some(rest)
            .filter(|rest| !rest.is_empty())
            .map(InputPart::Text),
    );
    let images = images.iter().map(|url| InputPart::Image(url.to_string()));
    input.extend(images);
    let sent = Sent {
        tools: offered.iter().map(|tool| tool.name.clone()).collect(),
        logged: around
            .choices
            .log_exact
            .then(|| input.iter().filter_map(InputPart::as_text).collect()),
        commanded,
        digest,
        before,
    };
    let request = TurnRequest {
        instructions: around.instructions.clone(),
        history,
        input,
        tools: offered,
        settings,
        thread: around
            .thread
            .filter(|thread| thread.digest == sent.before)
            .map(|thread| thread.id.clone()),
        schema: prompt.schema.take(),
    };
    (request, sent)
}

/// What the record is told when it is sent.
pub(super) fn start(prompt: &mut Asked, dialog: &Dialog) -> PromptStart {
    let code = dialog.cells.iter().rev();
    let code = code.into_iter().find(|cell| !is_ours(&cell.source));
    PromptStart {
        line: prompt.line,
        history_line: code.map_or(0, |cell| cell.line),
        prompt: prompt.text.clone(),
        expansion: std::mem::take(&mut prompt.expansion),
        replaces: prompt.replaces.clone(),
    }
}

/// The prompt begins with `/` and the name of one of `commands`.
fn runs_command(prompt: &str, commands: &[Offering]) -> bool {
    let name = prompt.trim_start().strip_prefix('/');
    let name = name.and_then(|rest| rest.split_whitespace().next());
    name.is_some_and(|name| commands.iter().any(|command| command.id == name))
}
