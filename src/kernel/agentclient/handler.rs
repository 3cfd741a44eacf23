//! The requests of the `agentclient` kernel: a cell is a prompt to the agent, or commands, or both.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::client_output::ClientOutput;
use super::commands::{CommandError, run_command};
use super::context::AgentContext;
use super::syntax::{self, CellPart, split_cell};
use super::turn::{TurnError, prompt};
use crate::agent::{AgentFailure, FailureKind};
use crate::jupyter::{ClientRequest, IncomingMessage};
use crate::kernel::channels::{ExecuteReply, ExecuteRequest, RequestHandler};
use crate::kernel::introspection::cursor;
use crate::kernel::kernel_info::{KernelInfo, VERSION, info_reply};
use crate::kernel::messages::Failure;
use crate::runtime::OutputStream;
use crate::text::offset::CodePoints;

#[derive(Debug, Clone, Copy)]
pub(super) struct AgentKernelInfo;

impl KernelInfo for AgentKernelInfo {
    async fn kernel_info(&self) -> Value {
        let language = json!({
            "name": "agent",
            "version": VERSION,
            "mimetype": "text/plain",
            "file_extension": ".agent",
        });
        let banner = format!("Agent Client Protocol Kernel v{VERSION}");
        info_reply("agent_client_kernel", language, banner)
    }
}

pub(super) struct AgentHandler(pub(super) AgentContext);

impl RequestHandler for AgentHandler {
    async fn execute(&mut self, request: &Arc<ClientRequest>) -> ExecuteReply {
        let wish = match ExecuteRequest::parse(&request.message) {
            Ok(wish) => wish,
            Err(failure) => return ExecuteReply::new(self.0.line, Err(failure), false),
        };
        let parts = split_cell(&wish.code);
        let expressions = unevaluated(&wish);
        if parts.is_empty() {
            return ExecuteReply::new(self.0.line, Ok((expressions, Vec::new())), false);
        }
        // Earlier interrupts do not concern this cell.
        self.0.stop.mark_unchanged();
        if wish.store_history {
            self.0.line += 1;
            self.0.history.add(self.0.line, &wish.code);
        }
        let server = self.0.server.clone();
        if !wish.silent {
            let content = json!({"code": wish.code, "execution_count": self.0.line});
            server
                .publish(Some(request.header()), "execute_input", content)
                .await;
        }
        let mut outcome = Ok(());
        for part in parts {
            let markdown = self.0.config.shows_markdown();
            let mut output = ClientOutput::new(server.clone(), request, wish.silent, markdown);
            outcome = match part {
                CellPart::Command(line) => self.command(&mut output, &line).await,
                CellPart::Prompt(text) => self.prompt(&mut output, &text, wish.allow_stdin).await,
            };
            output.finish(outcome.as_ref().err()).await;
            if outcome.is_err() {
                break;
            }
        }
        let outcome = outcome.map(|()| (expressions, Vec::new()));
        ExecuteReply::new(self.0.line, outcome, wish.stop_on_error)
    }

    async fn handle(&mut self, request: &Arc<ClientRequest>) -> Option<Value> {
        let message = &request.message;
        Some(match message.msg_type.as_str() {
            "complete_request" => self.complete(message),
            "inspect_request" => self.inspect(message),
            "is_complete_request" => is_complete(message.text("code")),
            "history_request" => self.0.history.history_reply(message),
            "comm_info_request" => json!({"status": "ok", "comms": {}}),
            "comm_open" => {
                // This kernel takes no part in comms, so each new one is closed.
                let content = json!({"comm_id": message.text("comm_id"), "data": {}});
                let parent = Some(request.header());
                self.0.server.publish(parent, "comm_close", content).await;
                return None;
            }
            // An unknown request has no reply, as in all kernels.
            _ => return None,
        })
    }

    async fn idle(&mut self) {
        loop {
            let event = self.0.connection.next().await;
            self.0.connection.on_idle_event(event);
        }
    }

    async fn flush(&mut self) {}

    fn execution_count(&self) -> u32 {
        self.0.line
    }
}

impl AgentHandler {
    async fn command(&mut self, output: &mut ClientOutput, line: &str) -> Result<(), Failure> {
        let said = match syntax::parse_command(line) {
            Ok(order) => run_command(&mut self.0, output, order).await,
            Err(why) => Err(CommandError::Said(why)),
        };
        match said {
            Ok(said) => {
                output.print(OutputStream::Stdout, &said).await;
                Ok(())
            }
            Err(CommandError::Said(why)) => Err(Failure::new("CommandError", why)),
            Err(CommandError::TurnError(cut)) => Err(self.failed(output, cut).await),
        }
    }

    async fn prompt(
        &mut self,
        output: &mut ClientOutput,
        text: &str,
        asks: bool,
    ) -> Result<(), Failure> {
        let commands = &self.0.connection.features.commands;
        let name = text
            .strip_prefix('/')
            .and_then(|text| text.split_whitespace().next());
        if let Some(name) = name
            && !commands.is_empty()
            && commands.iter().all(|command| command.id != name)
        {
            let what = "is not in the agent's advertised slash-command list (see %agent commands)";
            output.note("⚠️", &format!("'/{name}' {what}")).await;
        }
        match prompt(&mut self.0, output, text, asks).await {
            Ok(()) => Ok(()),
            Err(cut) => Err(self.failed(output, cut).await),
        }
    }

    /// Prints the failure of a turn; returns it as the failure of the request.
    async fn failed(&mut self, output: &mut ClientOutput, cut: TurnError) -> Failure {
        let failure = match cut {
            TurnError::Interrupted => {
                return Failure::new("KeyboardInterrupt", "the agent was stopped");
            }
            TurnError::Failed(failure) => failure,
        };
        let agent = &self.0.config.command;
        let mut text = format!(
            "Error: {}\n\nMake sure the ACP agent is configured correctly.\nCurrent agent: {agent}",
            failure.message
        );
        for hint in hints(&failure) {
            text.push_str(&format!("\n  hint: {hint}"));
        }
        output.print(OutputStream::Stderr, &text).await;
        Failure::new("AgentError", failure.message)
    }

    fn complete(&self, message: &IncomingMessage) -> Value {
        let (text, end) = before_cursor(message);
        let commands = &self.0.connection.features.commands;
        let slash = text
            .strip_prefix('/')
            .filter(|typed| !typed.contains(char::is_whitespace));
        let (typed, matches) = match slash {
            Some(typed) => {
                let names = commands.iter().filter(|it| it.id.starts_with(typed));
                (text, names.map(|it| format!("/{}", it.id)).collect())
            }
            None => syntax::completions(text).unwrap_or(("", Vec::new())),
        };
        json!({
            "status": "ok",
            "matches": matches,
            "cursor_start": end - typed.chars().count(),
            "cursor_end": end,
            "metadata": {},
        })
    }

    fn inspect(&self, message: &IncomingMessage) -> Value {
        let (text, end) = before_cursor(message);
        let code = message.text("code");
        let start = text.rfind('\n').map_or(0, |at| at + 1);
        let at = CodePoints(end).to_bytes(code);
        let rest = code[at..].split('\n').next().unwrap_or_default();
        let line = &code[start..at + rest.len()];
        let commands = &self.0.connection.features.commands;
        let name = line
            .strip_prefix('/')
            .and_then(|line| line.split_whitespace().next());
        let slash = name.and_then(|name| commands.iter().find(|command| command.id == name));
        let told = match slash {
            Some(it) => Some(format!("/{} {}\n    {}", it.id, it.name, it.description)),
            None => syntax::describe(line),
        };
        let data = told.map_or_else(|| json!({}), |text| json!({"text/plain": text}));
        let found = data.as_object().is_some_and(|data| !data.is_empty());
        json!({"status": "ok", "found": found, "data": data, "metadata": {}})
    }
}

/// The text before the cursor, and the cursor in code points.
fn before_cursor(message: &IncomingMessage) -> (&str, usize) {
    let (code, at) = (message.text("code"), cursor(message));
    (&code[..at.to_bytes(code)], at.0)
}

/// `is_complete_reply`: a prompt is complete unless a fence is open in it.
fn is_complete(code: &str) -> Value {
    let fences = code
        .lines()
        .filter(|line| line.trim_start().starts_with("```"));
    match fences.count() % 2 {
        0 => json!({"status": "complete"}),
        _ => json!({"status": "incomplete", "indent": ""}),
    }
}

/// The `user_expressions` of the reply: an error for each.
fn unevaluated(wish: &ExecuteRequest) -> Map<String, Value> {
    let why = "an agent cannot evaluate expressions";
    let failed = json!({"status": "error", "ename": "NotImplementedError", "evalue": why, "traceback": [why]});
    let all = wish
        .expressions
        .keys()
        .map(|name| (name.clone(), failed.clone()));
    all.collect()
}

/// The hints of a failure, with the commands of this kernel.
fn hints(failure: &AgentFailure) -> Vec<String> {
    match failure.kind {
        FailureKind::Missing => {
            vec![
                "install it, or name another: %agent config COMMAND ARGS, or ACP_AGENT_COMMAND"
                    .to_owned(),
            ]
        }
        FailureKind::LoggedOut => vec!["%agent session login lists the ways to log in".to_owned()],
        FailureKind::Died => vec!["the next cell starts it again".to_owned()],
        _ => failure.hints.clone(),
    }
}
