//! What the `agentclient` kernel does with requests: a cell is a prompt to the agent, or commands, or both.

use std::sync::Arc;

use serde_json::{Value, json};

use super::cell::{Step, steps};
use super::commands::{Refused, carry_out};
use super::desk::Desk;
use super::orders;
use super::page::Page;
use super::turn::{Cut, prompt};
use crate::agent::{AgentFailure, FailureKind};
use crate::jupyter::{Incoming, Request};
use crate::kernel::forms::Failure;
use crate::kernel::front::{Done, Front};
use crate::kernel::wish::{NO_CODE, Wish};
use crate::runtime::OutputStream;
use crate::text::offset::CodePoints;

/// See the module.
pub(super) struct Client(pub(super) Desk);

impl Front for Client {
    async fn execute(&mut self, request: &Arc<Request>) -> Done {
        let Some(wish) = Wish::of(&request.message) else {
            return done(
                self.0.line,
                Err(Failure::new("ValueError", NO_CODE)),
                false,
                &json!({}),
            );
        };
        let steps = steps(&wish.code);
        let expressions = unevaluated(&wish);
        if steps.is_empty() {
            return done(self.0.line, Ok(()), false, &expressions);
        }
        self.0.stop.begin();
        if wish.store_history {
            self.0.line += 1;
            self.0.past.add(self.0.line, &wish.code);
        }
        let voice = self.0.voice.clone();
        if !wish.silent {
            let content = json!({"code": wish.code, "execution_count": self.0.line});
            voice
                .publish(Some(request.header()), "execute_input", content)
                .await;
        }
        let mut outcome = Ok(());
        for step in steps {
            let markdown = self.0.configured.shows_markdown();
            let mut page = Page::new(&voice, request, wish.silent, markdown);
            outcome = match step {
                Step::Command(line) => self.command(&mut page, &line).await,
                Step::Prompt(text) => self.prompt(&mut page, &text, wish.allow_stdin).await,
            };
            page.finish(outcome.as_ref().err()).await;
            if outcome.is_err() {
                break;
            }
        }
        done(self.0.line, outcome, wish.stop_on_error, &expressions)
    }

    async fn answer(&mut self, request: &Arc<Request>) -> Option<Value> {
        let message = &request.message;
        Some(match message.kind.as_str() {
            "complete_request" => self.complete(message),
            "inspect_request" => self.inspect(message),
            "is_complete_request" => is_complete(message.text("code")),
            "history_request" => self.0.past.reply(message),
            "comm_info_request" => json!({"status": "ok", "comms": {}}),
            "comm_open" => {
                // There is nothing here that an object of a page could speak with.
                let content = json!({"comm_id": message.text("comm_id"), "data": {}});
                let parent = Some(request.header());
                self.0.voice.publish(parent, "comm_close", content).await;
                return None;
            }
            // What nobody knows is not answered, as all kernels have it.
            _ => return None,
        })
    }

    async fn meanwhile(&mut self) {
        loop {
            let event = self.0.conversation.next().await;
            self.0.conversation.hear(event);
        }
    }

    async fn settle(&mut self) {}

    fn last_line(&self) -> u32 {
        self.0.line
    }
}

impl Client {
    async fn command(&mut self, page: &mut Page<'_>, line: &str) -> Result<(), Failure> {
        let said = match orders::read(line) {
            Ok(order) => carry_out(&mut self.0, page, order).await,
            Err(why) => Err(Refused::Said(why)),
        };
        match said {
            Ok(said) => {
                page.print(OutputStream::Stdout, &said).await;
                Ok(())
            }
            Err(Refused::Said(why)) => Err(Failure::new("CommandError", why)),
            Err(Refused::Cut(cut)) => Err(self.failed(page, cut).await),
        }
    }

    async fn prompt(&mut self, page: &mut Page<'_>, text: &str, asks: bool) -> Result<(), Failure> {
        let commands = &self.0.conversation.offered.commands;
        let name = text
            .strip_prefix('/')
            .and_then(|text| text.split_whitespace().next());
        if let Some(name) = name
            && !commands.is_empty()
            && commands.iter().all(|command| command.id != name)
        {
            let what = "is not in the agent's advertised slash-command list (see %agent commands)";
            page.say("⚠️", &format!("'/{name}' {what}")).await;
        }
        match prompt(&mut self.0, page, text, asks).await {
            Ok(()) => Ok(()),
            Err(cut) => Err(self.failed(page, cut).await),
        }
    }

    /// Why a turn did not come to its end, as it is shown and answered.
    async fn failed(&mut self, page: &mut Page<'_>, cut: Cut) -> Failure {
        let failure = match cut {
            Cut::Stopped => return Failure::new("KeyboardInterrupt", "the agent was stopped"),
            Cut::Failed(failure) => failure,
        };
        let agent = &self.0.configured.command;
        let mut text = format!(
            "Error: {}\n\nMake sure the ACP agent is configured correctly.\nCurrent agent: {agent}",
            failure.message
        );
        for hint in hints(&failure) {
            text.push_str(&format!("\n  hint: {hint}"));
        }
        page.print(OutputStream::Stderr, &text).await;
        Failure::new("AgentError", failure.message)
    }

    fn complete(&self, message: &Incoming) -> Value {
        let (text, end) = before_cursor(message);
        let commands = &self.0.conversation.offered.commands;
        let slash = text
            .strip_prefix('/')
            .filter(|typed| !typed.contains(char::is_whitespace));
        let (typed, matches) = match slash {
            Some(typed) => {
                let names = commands.iter().filter(|it| it.id.starts_with(typed));
                (text, names.map(|it| format!("/{}", it.id)).collect())
            }
            None => orders::completions(text).unwrap_or(("", Vec::new())),
        };
        json!({
            "status": "ok",
            "matches": matches,
            "cursor_start": end - typed.chars().count(),
            "cursor_end": end,
            "metadata": {},
        })
    }

    fn inspect(&self, message: &Incoming) -> Value {
        let (text, end) = before_cursor(message);
        let code = message.text("code");
        let start = text.rfind('\n').map_or(0, |at| at + 1);
        let at = CodePoints(end).to_bytes(code);
        let rest = code[at..].split('\n').next().unwrap_or_default();
        let line = &code[start..at + rest.len()];
        let commands = &self.0.conversation.offered.commands;
        let name = line
            .strip_prefix('/')
            .and_then(|line| line.split_whitespace().next());
        let slash = name.and_then(|name| commands.iter().find(|command| command.id == name));
        let told = match slash {
            Some(it) => Some(format!("/{} {}\n    {}", it.id, it.name, it.description)),
            None => orders::about(line),
        };
        let data = told.map_or_else(|| json!({}), |text| json!({"text/plain": text}));
        let found = data.as_object().is_some_and(|data| !data.is_empty());
        json!({"status": "ok", "found": found, "data": data, "metadata": {}})
    }
}

/// The text before the cursor, and the cursor in code points.
fn before_cursor(message: &Incoming) -> (&str, usize) {
    let code = message.text("code");
    let end = code.chars().count();
    let told = message.content.get("cursor_pos").and_then(Value::as_u64);
    let at = told.map_or(end, |at| usize::try_from(at).unwrap_or(end).min(end));
    (&code[..CodePoints(at).to_bytes(code)], at)
}

/// A prompt is whole unless a fence is open in it.
fn is_complete(code: &str) -> Value {
    let fences = code
        .lines()
        .filter(|line| line.trim_start().starts_with("```"));
    match fences.count() % 2 {
        0 => json!({"status": "complete"}),
        _ => json!({"status": "incomplete", "indent": ""}),
    }
}

/// There is no language here to evaluate anything in.
fn unevaluated(wish: &Wish) -> Value {
    let why = "an agent cannot evaluate expressions";
    let failed = json!({"status": "error", "ename": "NotImplementedError", "evalue": why, "traceback": [why]});
    let all = wish
        .expressions
        .keys()
        .map(|name| (name.clone(), failed.clone()));
    Value::Object(all.collect())
}

/// What can be done about a failure, here.
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

fn done(line: u32, outcome: Result<(), Failure>, stops: bool, expressions: &Value) -> Done {
    let mut content = json!({
        "status": "ok",
        "execution_count": line,
        "user_expressions": expressions,
        "payload": [],
    });
    if let Err(failure) = &outcome {
        content = failure.content();
        content["status"] = "error".into();
        content["execution_count"] = line.into();
        content["user_expressions"] = json!({});
        content["payload"] = json!([]);
    }
    Done {
        content,
        stops: stops && outcome.is_err(),
        leaves: false,
    }
}
