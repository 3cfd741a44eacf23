//! The agent's own tool calls in a turn, each assembled from patches, as events for the session.
//!
//! Pure. In: `tool_call` and `tool_call_update`, which are patches: an absent field keeps its value, `content`
//! replaces the list. Out: commands, changes of files, activities. The output of a command comes from one of four
//! places: the call's own content, a terminal of ours, `_meta` (codex-acp 2.6.0) or `rawOutput` (0.16.0).

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::content;
use crate::dialog::{DENIED, call_line};
use crate::failure::one_line;
use crate::{
    Activity, ActivityKind, AgentEvent, Change, CommandRun, FileChange, FileLocation, TurnId,
    WorkStatus,
};

const OUR_SERVER: &str = "ipycodex";

#[derive(Debug, Default)]
pub(super) struct ToolCalls {
    known: HashMap<String, ToolCallState>,
    /// Calls the user did not allow.
    denied: HashSet<String>,
}

/// A call, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct ToolCallState {
    kind: String,
    title: String,
    status: String,
    content: Vec<Value>,
    places: Vec<FileLocation>,
    input: Value,
    result: Value,
    /// Output of a command, concatenated.
    output: String,
    exit_code: Option<i32>,
    started: bool,
    ended: bool,
}

/// The output of a terminal of ours, and its exit code.
pub(super) type TerminalOutput = (String, Option<i32>);

impl ToolCalls {
    pub(super) fn deny(&mut self, id: &str) {
        self.denied.insert(id.to_owned());
    }

    /// Merges the fields of a permission request into its call, and returns the call.
    pub(super) fn merge(&mut self, update: &Value) -> &ToolCallState {
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let call = self.known.entry(id.to_owned()).or_default();
        call.patch(update);
        call
    }

    /// The command whose call shows the terminal of this id.
    pub(super) fn command_of_terminal(&self, terminal: &str) -> Option<&str> {
        let shows = |call: &&ToolCallState| call.terminals().any(|id| id == terminal);
        let mut tool_calls = self.known.iter();
        let of = tool_calls.find(|(_, call)| !call.ended && call.started && shows(call));
        of.map(|(id, _)| id.as_str())
    }

    pub(super) fn update(
        &mut self,
        turn: TurnId,
        update: &Value,
        terminal: &dyn Fn(&str) -> Option<TerminalOutput>,
        out: &mut Vec<AgentEvent>,
    ) {
        let Some(id) = update["toolCallId"].as_str().map(str::to_owned) else {
            return;
        };
        let denied = self.denied.contains(&id);
        let call = self.known.entry(id.clone()).or_default();
        if call.ended {
            return;
        }
        call.patch(update);
        // Our own server has reported this call already.
        if call.is_own_tool() {
            return;
        }
        let status = call.work_status();
        let over = matches!(status, WorkStatus::Done | WorkStatus::Failed);
        if let Some(command) = call.command() {
            call.update_command(turn, &id, command, denied, terminal, out);
        } else if let Some(changes) = Some(call.changes()).filter(|it| !it.is_empty() && over) {
            match status {
                WorkStatus::Failed if !denied => out.push(AgentEvent::ActivityUpdated {
                    turn,
                    activity: call.activity(id, status),
                }),
                WorkStatus::Failed => {}
                _ => out.push(AgentEvent::FilesChanged { turn, changes }),
            }
        } else if call.changes().is_empty() && status != WorkStatus::Waiting {
            let mut activity = call.activity(id, status);
            activity.denied = denied && status == WorkStatus::Failed;
            out.push(AgentEvent::ActivityUpdated { turn, activity });
        }
        call.ended = over;
    }

    /// Ends the calls that are still open, when the turn is over.
    pub(super) fn close(&mut self, turn: TurnId, out: &mut Vec<AgentEvent>) {
        for (id, call) in &mut self.known {
            if !call.started || call.ended || call.command().is_none() {
                continue;
            }
            call.ended = true;
            let command = call.command().unwrap_or_default();
            out.push(AgentEvent::CommandEnded {
                turn,
                command: call.command_run(id, command, call.output.clone()),
                title: call.title.clone(),
            });
        }
    }
}

impl ToolCallState {
    fn patch(&mut self, update: &Value) {
        let put = |place: &mut String, key: &str| {
            if let Some(text) = update[key].as_str() {
                text.clone_into(place);
            }
        };
        put(&mut self.kind, "kind");
        put(&mut self.title, "title");
        put(&mut self.status, "status");
        if let Some(content) = update["content"].as_array() {
            self.content.clone_from(content);
        }
        if let Some(places) = update["locations"].as_array() {
            let places = places.iter().filter_map(|place| {
                Some(FileLocation {
                    path: place["path"].as_str()?.to_owned(),
                    line: place["line"]
                        .as_u64()
                        .and_then(|line| u32::try_from(line).ok()),
                })
            });
            self.places = places.collect();
        }
        for (place, key) in [
            (&mut self.input, "rawInput"),
            (&mut self.result, "rawOutput"),
        ] {
            if !update[key].is_null() {
                place.clone_from(&update[key]);
            }
        }
        let exit = update["_meta"]["terminal_exit"]["exit_code"].as_i64();
        let exit = exit.or(self.result["exit_code"].as_i64());
        if let Some(code) = exit.or(self.result["exitCode"].as_i64()) {
            self.exit_code = i32::try_from(code).ok();
        }
    }

    fn work_status(&self) -> WorkStatus {
        match self.status.as_str() {
            "in_progress" => WorkStatus::Running,
            "completed" => WorkStatus::Done,
            "failed" => WorkStatus::Failed,
            _ => WorkStatus::Waiting,
        }
    }

    /// True for a call of our own server's tool, by the titles that agents give it.
    fn is_own_tool(&self) -> bool {
        let ours = ["mcp__ipycodex__", "mcp.ipycodex.", "(ipycodex MCP Server)"];
        self.input["server"] == OUR_SERVER
            || self.title.starts_with("ipycodex_")
            || ours.iter().any(|mark| self.title.contains(mark))
    }

    /// A call of an MCP server's tool: `server.tool(x=1)`.
    fn mcp(&self) -> Option<String> {
        let (server, tool) = (self.input["server"].as_str()?, self.input["tool"].as_str()?);
        let none = json!({});
        let arguments = match &self.input["arguments"] {
            Value::Object(_) => &self.input["arguments"],
            _ => &none,
        };
        Some(call_line(&format!("{server}.{tool}"), arguments))
    }

    pub(super) fn command(&self) -> Option<String> {
        if self.kind != "execute" || self.mcp().is_some() {
            return None;
        }
        let words = |words: &Vec<Value>| {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                // `sh -c SCRIPT` is shown as its script.
                [_, "-c" | "-lc", script] => Some((*script).to_owned()),
                words => shlex::try_join(words.iter().copied()).ok(),
            }
        };
        let command = match &self.input["command"] {
            Value::String(command) => Some(command.clone()),
            Value::Array(list) => words(list),
            _ => None,
        };
        let command = command.filter(|command| !command.is_empty());
        command.or_else(|| Some(self.title.clone()).filter(|title| !title.is_empty()))
    }

    pub(super) fn cwd(&self) -> &str {
        self.input["cwd"].as_str().unwrap_or_default()
    }

    /// Ids of the terminals that the call shows.
    fn terminals(&self) -> impl Iterator<Item = &str> {
        let shown = self.content.iter().filter(|it| it["type"] == "terminal");
        shown.filter_map(|it| it["terminalId"].as_str())
    }

    /// The changes of files that the call makes or would make.
    pub(super) fn changes(&self) -> Vec<FileChange> {
        let diffs = self.content.iter().filter(|it| it["type"] == "diff");
        let changes = diffs.filter_map(|diff| {
            let new = diff["newText"].as_str()?.to_owned();
            Some(FileChange {
                path: diff["path"].as_str()?.to_owned(),
                change: match diff["oldText"].as_str() {
                    None => Change::Added(new),
                    Some(old) => Change::Rewritten {
                        old: old.to_owned(),
                        new,
                    },
                },
            })
        });
        changes.collect()
    }

    /// True for a call that reads, by the kind that the agent gives it.
    pub(super) fn reads(&self) -> bool {
        matches!(self.kind.as_str(), "read" | "search" | "fetch" | "think")
    }

    pub(super) fn display_title(&self) -> String {
        let title = self.mcp().unwrap_or_else(|| one_line(&self.title));
        match (title.is_empty(), self.kind.as_str()) {
            (false, _) => title,
            (true, "") => "a tool".to_owned(),
            (true, kind) => kind.to_owned(),
        }
    }

    fn activity(&self, id: String, status: WorkStatus) -> Activity {
        let kind = match self.kind.as_str() {
            _ if self.mcp().is_some() => ActivityKind::Mcp,
            "read" => ActivityKind::Read,
            "edit" => ActivityKind::Edit,
            "delete" => ActivityKind::Delete,
            "move" => ActivityKind::Move,
            "search" => ActivityKind::Search,
            "fetch" => ActivityKind::Fetch,
            "think" => ActivityKind::Think,
            _ => ActivityKind::Other,
        };
        let blocks = self.content.iter().filter(|it| it["type"] == "content");
        Activity {
            id,
            kind,
            title: self.display_title(),
            status,
            content: blocks
                .filter_map(|it| content::parse_block(&it["content"]))
                .collect(),
            locations: self.places.clone(),
            denied: false,
        }
    }

    /// Appends the events of a command.
    fn update_command(
        &mut self,
        turn: TurnId,
        id: &str,
        command: String,
        denied: bool,
        terminal: &dyn Fn(&str) -> Option<TerminalOutput>,
        out: &mut Vec<AgentEvent>,
    ) {
        let status = self.work_status();
        let over = matches!(status, WorkStatus::Done | WorkStatus::Failed);
        if denied && over {
            let mut command = self.command_run(id, command, String::new());
            command.status = DENIED.to_owned();
            out.push(AgentEvent::CommandDenied {
                turn,
                command,
                user_knows: true,
            });
            return;
        }
        if status != WorkStatus::Waiting && !self.started {
            self.started = true;
            out.push(AgentEvent::CommandStarted {
                turn,
                id: id.to_owned(),
                command: command.clone(),
                title: self.title.clone(),
            });
        }
        if !over {
            return;
        }
        let mut output = std::mem::take(&mut self.output);
        if output.is_empty() {
            for (text, code) in self.terminals().filter_map(terminal).collect::<Vec<_>>() {
                output.push_str(&text);
                self.exit_code = self.exit_code.or(code);
            }
        }
        if output.is_empty() {
            output = self.result_text();
        }
        let command = self.command_run(id, command, output);
        out.push(AgentEvent::CommandEnded {
            turn,
            command,
            title: self.title.clone(),
        });
    }

    /// Appends output that came beside the content.
    pub(super) fn push_output(&mut self, delta: &str) {
        self.output.push_str(delta);
    }

    fn result_text(&self) -> String {
        let keys = ["formatted_output", "aggregated_output", "output", "stdout"];
        let of_result = keys.iter().find_map(|key| self.result[*key].as_str());
        let of_result = of_result.or(self.result.as_str()).map(str::to_owned);
        of_result.unwrap_or_else(|| {
            let blocks = self.content.iter().filter(|it| it["type"] == "content");
            let texts = blocks.filter_map(|it| content::as_text(&it["content"]));
            texts.collect::<Vec<_>>().join("\n")
        })
    }

    fn command_run(&self, id: &str, command: String, output: String) -> CommandRun {
        CommandRun {
            id: id.to_owned(),
            command,
            cwd: self.cwd().to_owned(),
            output,
            exit_code: self.exit_code,
            status: match self.status.as_str() {
                "" => "in_progress".to_owned(),
                status => status.to_owned(),
            },
        }
    }
}

impl ToolCalls {
    /// Output of a command in `_meta` of an update: its call and the piece.
    pub(super) fn output<'a>(&mut self, update: &'a Value) -> Option<(String, &'a str)> {
        let delta = update["_meta"]["terminal_output_delta"]["data"].as_str()?;
        let id = update["toolCallId"].as_str()?;
        self.known
            .entry(id.to_owned())
            .or_default()
            .push_output(delta);
        Some((id.to_owned(), delta))
    }
}
