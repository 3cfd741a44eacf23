//! The running turn as a value: notifications in, events out.
//!
//! Pure. Invariant: only `turn/completed` with the turn's own id ends it (`params.turn.id`; an `error` never does);
//! one without an id ends no turn, since it may belong to any. Notifications of another thread or turn are dropped,
//! such as the late end of a command of an interrupted turn.

use std::collections::HashMap;

use serde_json::{Value, from_value};

use super::activity::{activity, changes as changes_of, plan};
use super::answer::{ReasoningSource, TurnAnswer};
use super::wire::error::{ErrorNotification, TurnError};
use super::wire::item::{DeltaNotification, ItemNotification, ThreadItem};
use super::wire::thread::{ThreadTokenUsageUpdatedNotification, TokenUsageBreakdown};
use super::wire::turn::{Turn as WireTurn, TurnResponse, turn_id};
use crate::dialog::DENIED;
use crate::failure::one_line;
use crate::{AgentEvent, CommandRun, FileChange, TurnId, Usage, WorkStatus};

/// Announced changes that have not ended, by the id of their item: an approval request names only the item.
pub(super) type Edits = HashMap<String, Vec<FileChange>>;

#[derive(Debug)]
pub(super) struct RunningTurn {
    turn: TurnId,
    pub(super) thread: String,
    /// The app-server's id of the turn, once known.
    pub(super) turn_id: Option<String>,
    pub(super) edits: Edits,
    /// Denials that the user knows of, by item: the reason the user gave (may be empty).
    pub(super) denied: HashMap<String, String>,
    answer: TurnAnswer,
    /// The thread's tokens before this turn.
    before: Option<TokenUsageBreakdown>,
    /// The last error that is not retried.
    error: Option<TurnError>,
}

#[derive(Debug)]
pub(super) enum TurnEnd {
    Completed,
    Interrupted,
    Failed(Option<TurnError>),
}

/// Key for a denied call of an MCP server's tool, since the approval request does not name the call.
pub(super) fn tool_key(server: &str, tool: &str) -> String {
    format!("tool {server}.{tool}")
}

impl RunningTurn {
    pub(super) fn new(turn: TurnId, thread: String) -> Self {
        RunningTurn {
            turn,
            thread,
            turn_id: None,
            edits: Edits::new(),
            denied: HashMap::new(),
            answer: TurnAnswer::new(turn),
            before: None,
            error: None,
        }
    }

    /// True when `params` names this turn, or none.
    pub(super) fn concerns(&self, params: &Value) -> bool {
        let named = |key: &str| params.get(key).and_then(Value::as_str);
        let turn = named("turnId").or_else(|| params.get("turn")?.get("id")?.as_str());
        named("threadId").is_none_or(|thread| thread == self.thread)
            && match (turn, &self.turn_id) {
                (Some(turn), Some(own)) => turn == own,
                _ => true,
            }
    }

    /// Handles a notification; returns how the turn ended if this was the end.
    pub(super) fn on_notification(
        &mut self,
        method: &str,
        params: Value,
        out: &mut Vec<AgentEvent>,
    ) -> Option<TurnEnd> {
        if !self.concerns(&params) {
            return None;
        }
        match method {
            "turn/started" => {
                self.turn_id.get_or_insert(turn_id(params)?);
            }
            "turn/completed" => {
                let turn = from_value::<TurnResponse>(params).ok()?.turn;
                if !turn.id.is_empty() {
                    return Some(self.end(turn, out));
                }
            }
            "error" => self.process_failure(from_value(params).ok()?, out),
            "warning" | "configWarning" | "deprecationNotice" | "model/rerouted" => {
                let text = ["message", "summary", "details"]
                    .iter()
                    .find_map(|key| params.get(key)?.as_str());
                if let Some(text) = text {
                    self.progress(one_line(text), out);
                }
            }
            "turn/plan/updated" => {
                let steps = plan(from_value(params).ok()?);
                let turn = self.turn;
                out.push(AgentEvent::PlanUpdated { turn, steps });
            }
            "thread/tokenUsage/updated" => self.usage(&from_value(params).ok()?, out),
            "item/started" => self.started(from_value::<ItemNotification>(params).ok()?.item, out),
            "item/completed" => {
                self.completed(from_value::<ItemNotification>(params).ok()?.item, out);
            }
            _ => self.delta(method, params, out),
        }
        None
    }

    fn delta(&mut self, method: &str, params: Value, out: &mut Vec<AgentEvent>) {
        let source = match method {
            "item/agentMessage/delta" | "item/plan/delta" | "item/commandExecution/outputDelta" => {
                None
            }
            "item/reasoning/summaryTextDelta" => Some(ReasoningSource::Summary),
            "item/reasoning/textDelta" => Some(ReasoningSource::Raw),
            _ => return,
        };
        let Ok(delta) = from_value::<DeltaNotification>(params) else {
            return;
        };
        match source {
            Some(source) => {
                let index = match source {
                    ReasoningSource::Summary => delta.summary_index,
                    ReasoningSource::Raw => delta.content_index,
                };
                self.answer
                    .think(&delta.item_id, source, index, delta.delta, out);
            }
            None if method != "item/commandExecution/outputDelta" => {
                self.answer.extend(&delta.item_id, delta.delta, out);
            }
            None => out.push(AgentEvent::CommandOutput {
                turn: self.turn,
                id: delta.item_id,
                delta: delta.delta,
            }),
        }
    }

    fn started(&mut self, item: ThreadItem, out: &mut Vec<AgentEvent>) {
        match item {
            ThreadItem::AgentMessage { id, .. } => self.answer.begin(&id, out),
            ThreadItem::Plan { id, .. } => self.answer.begin_plan(&id, out),
            ThreadItem::CommandExecution { id, command, .. } => {
                out.push(AgentEvent::CommandStarted {
                    turn: self.turn,
                    id,
                    command: shell_script(command),
                    title: String::new(),
                });
            }
            ThreadItem::FileChange { id, changes, .. } => {
                self.edits.insert(id, changes_of(changes));
            }
            ThreadItem::ContextCompaction { .. } => {
                self.progress("shortening the conversation for the model".into(), out);
            }
            item => self.work(item, false, false, out),
        }
    }

    fn completed(&mut self, item: ThreadItem, out: &mut Vec<AgentEvent>) {
        match item {
            ThreadItem::AgentMessage { id, text } | ThreadItem::Plan { id, text } => {
                self.answer.finish(&id, &text, out);
            }
            ThreadItem::Reasoning { id, summary } => self.answer.thought(&id, summary, out),
            ThreadItem::CommandExecution {
                id,
                command,
                cwd,
                status,
                aggregated_output,
                exit_code,
            } => {
                let told = self.denied.remove(&id);
                let mut command = CommandRun {
                    id,
                    command: shell_script(command),
                    cwd,
                    output: aggregated_output,
                    exit_code,
                    status,
                };
                let turn = self.turn;
                out.push(if command.status == DENIED {
                    command.output = match told.as_deref() {
                        None | Some("") => String::new(),
                        Some(why) => format!("the user's reason: {why}"),
                    };
                    let told = told.is_some();
                    AgentEvent::CommandDenied {
                        turn,
                        command,
                        user_knows: told,
                    }
                } else {
                    AgentEvent::CommandEnded {
                        turn,
                        command,
                        title: String::new(),
                    }
                });
            }
            ThreadItem::FileChange {
                id,
                changes,
                status,
            } => {
                self.edits.remove(&id);
                let known = self.denied.remove(&id).is_some();
                if status == "completed" {
                    out.push(AgentEvent::FilesChanged {
                        turn: self.turn,
                        changes: changes_of(changes),
                    });
                } else if !(known && status == DENIED) {
                    self.progress(format!("edit {}", one_line(&status)), out);
                }
            }
            item => {
                let denied = match &item {
                    ThreadItem::McpToolCall { server, tool, .. } => {
                        self.denied.remove(&tool_key(server, tool)).is_some()
                    }
                    _ => false,
                };
                self.work(item, true, denied, out);
            }
        }
    }

    fn work(&self, item: ThreadItem, over: bool, denied: bool, out: &mut Vec<AgentEvent>) {
        let turn = self.turn;
        out.extend(activity(item, over).map(|mut activity| {
            activity.denied = denied && activity.status == WorkStatus::Failed;
            AgentEvent::ActivityUpdated { turn, activity }
        }));
    }

    fn process_failure(&mut self, notice: ErrorNotification, out: &mut Vec<AgentEvent>) {
        if notice.will_retry {
            self.answer.retry();
            let mut text = one_line(&notice.error.message);
            if let Some(details) = &notice.error.additional_details {
                text = format!("{text} ({})", one_line(details));
            }
            self.progress(text, out);
        } else {
            self.error = Some(notice.error);
        }
    }

    fn usage(&mut self, notice: &ThreadTokenUsageUpdatedNotification, out: &mut Vec<AgentEvent>) {
        let usage = &notice.token_usage;
        let (total, last) = (&usage.total, &usage.last);
        let before = self.before.get_or_insert(TokenUsageBreakdown {
            input_tokens: total.input_tokens.saturating_sub(last.input_tokens),
            cached_input_tokens: total
                .cached_input_tokens
                .saturating_sub(last.cached_input_tokens),
            output_tokens: total.output_tokens.saturating_sub(last.output_tokens),
            reasoning_output_tokens: total
                .reasoning_output_tokens
                .saturating_sub(last.reasoning_output_tokens),
        });
        let usage = Usage {
            input: total.input_tokens.saturating_sub(before.input_tokens),
            cached: total
                .cached_input_tokens
                .saturating_sub(before.cached_input_tokens),
            output: total.output_tokens.saturating_sub(before.output_tokens),
            reasoning: total
                .reasoning_output_tokens
                .saturating_sub(before.reasoning_output_tokens),
            window: usage.model_context_window,
            filled: Some(last.input_tokens + last.output_tokens),
            cost: None,
        };
        out.push(AgentEvent::Usage {
            turn: self.turn,
            usage,
        });
    }

    fn end(&mut self, turn: WireTurn, out: &mut Vec<AgentEvent>) -> TurnEnd {
        match turn.status.as_str() {
            "completed" => {
                self.answer.close(out);
                TurnEnd::Completed
            }
            "interrupted" => TurnEnd::Interrupted,
            _ => TurnEnd::Failed(turn.error.or_else(|| self.error.take())),
        }
    }

    fn progress(&self, message: String, out: &mut Vec<AgentEvent>) {
        if !message.is_empty() {
            out.push(AgentEvent::Progress {
                turn: self.turn,
                message,
            });
        }
    }
}

/// The script of a shell command: the app-server writes each command as `/bin/bash -lc 'SCRIPT'`. A command with a
/// shell elsewhere is left unchanged: the model may have chosen it.
pub(super) fn shell_script(command: String) -> String {
    let words = shlex::split(&command).unwrap_or_default();
    let [shell, flag, script] = words.as_slice() else {
        return command;
    };
    let places = [
        "",
        "/bin/",
        "/usr/bin/",
        "/usr/local/bin/",
        "/opt/homebrew/bin/",
    ];
    let known = places.iter().any(|place| {
        let name = shell.strip_prefix(place).unwrap_or_default();
        ["bash", "dash", "sh", "zsh"].contains(&name)
    });
    if known && ["-c", "-lc"].contains(&flag.as_str()) {
        script.clone()
    } else {
        command
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_its_own_end_ends_a_turn() {
        let mut running = RunningTurn::new(TurnId(1), "T".into());
        let mut events = Vec::new();
        let mut ends = |running: &mut RunningTurn, params: Value| {
            running
                .on_notification("turn/completed", params, &mut events)
                .is_some()
        };
        let completed = |turn: Value| json!({"threadId": "T", "turn": turn});
        let strange = [
            json!({}),
            completed(json!(7)),
            completed(json!({"status": "completed"})),
            completed(json!({"id": "", "status": "failed"})),
            completed(json!({"id": null, "status": "interrupted"})),
        ];
        for params in &strange {
            assert!(!ends(&mut running, params.clone()), "{params}");
        }
        let started = completed(json!({"status": "inProgress"}));
        assert!(
            running
                .on_notification("turn/started", started, &mut Vec::new())
                .is_none()
        );
        assert_eq!(running.turn_id, None, "no id is no id");
        running.turn_id = Some("U1".into());
        for params in &strange {
            assert!(!ends(&mut running, params.clone()), "{params}");
        }
        assert!(!ends(
            &mut running,
            completed(json!({"id": "U0", "status": "failed"}))
        ));
        assert!(ends(
            &mut running,
            completed(json!({"id": "U1", "status": "completed"}))
        ));
    }

    #[test]
    fn a_command_is_what_the_shell_is_told() {
        for (command, expected) in [
            ("/bin/bash -lc 'echo a'", "echo a"),
            ("zsh -c \"a 'b' && c\"", "a 'b' && c"),
            ("/bin/bash -lc ls", "ls"),
            ("bash -lc 'a' b", "bash -lc 'a' b"),
            (
                "/usr/bin/python3 -c 'print(1)'",
                "/usr/bin/python3 -c 'print(1)'",
            ),
            ("bash -lc 'open", "bash -lc 'open"),
            ("", ""),
            ("/tmp/bash -lc 'echo a'", "/tmp/bash -lc 'echo a'"),
            ("./sh -c 'echo a'", "./sh -c 'echo a'"),
        ] {
            assert_eq!(shell_script(command.into()), expected, "{command}");
        }
    }
}
