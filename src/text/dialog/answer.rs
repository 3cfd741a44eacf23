//! The stored form of an answer, and the stored form read back.
//!
//! Stored: markdown as received, `<thinking>` blocks, and a `<details>` block for each tool call, command and piece
//! of the agent's own work, and for its plan (their JSON is one line, so a result can never end its block). Displayed
//! for earlier turns: reasoning as a quote, a call as one line.

use serde_json::{Value, json};

use super::blocks::{AnswerBlock, AnswerBlocks};
use super::context::INTERRUPTED;
use super::python;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolRecord {
    /// The agent's id of the call.
    pub id: String,
    pub name: String,
    /// A JSON object.
    pub arguments: Value,
    /// The reply to the model, as text.
    pub result: String,
    /// False for exceptions and refusals.
    pub success: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRecord {
    pub id: String,
    pub command: String,
    pub cwd: String,
    /// The whole output.
    pub output: String,
    /// The exit code; `None` unless the command ended by itself.
    pub exit_code: Option<i32>,
    /// `completed`, `failed`, [`DENIED`], …
    pub status: String,
}

/// Work of the agent with tools of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkRecord {
    /// The agent's id of the work.
    pub id: String,
    /// A word: `search`.
    pub kind: &'static str,
    /// One line.
    pub title: String,
    /// The result, as far as the agent reports it.
    pub result: String,
    pub success: bool,
}

/// The status of a command that was not allowed and did not run.
pub const DENIED: &str = "declined";

/// An answer as the record stores it: each work when it has ended.
pub type AnswerBuilder = AnswerBlocks<StoredWork>;

/// A `<details>` block.
#[derive(Debug, Clone)]
pub enum StoredWork {
    Details(String),
    Plan(String),
}

impl AnswerBuilder {
    pub fn push_tool(&mut self, record: &ToolRecord) {
        let data = json!({
            "id": record.id,
            "call": {"function": record.name, "arguments": record.arguments},
            "result": record.result,
            "success": record.success,
        });
        self.details(&python::call(&record.name, &record.arguments), &data);
    }

    pub fn push_command(&mut self, record: &CommandRecord) {
        let data = json!({
            "id": record.id,
            "call": {
                "function": "commandExecution",
                "arguments": {"command": record.command, "cwd": record.cwd},
            },
            "result": record.output,
            "exit_code": record.exit_code,
            "status": record.status,
        });
        self.details(&record.command, &data);
    }

    pub fn push_work(&mut self, record: &WorkRecord) {
        let data = json!({
            "id": record.id,
            "work": {"kind": record.kind, "title": record.title},
            "result": record.result,
            "success": record.success,
        });
        self.details(&record.title, &data);
    }

    /// Sets the plan, each step with its status in a word; later plans replace the first in its place.
    pub fn set_plan(&mut self, steps: &[(&str, &str)]) {
        let done = steps.iter().filter(|(_, status)| *status == DONE).count();
        let summary = format!("plan: {done} of {} done", steps.len());
        let steps = steps
            .iter()
            .map(|(step, status)| json!({"step": step, "status": status}));
        let data = json!({"plan": steps.collect::<Vec<_>>()});
        let now = details_block(&summary, &data);
        let known = self.0.iter_mut().find_map(|block| match block {
            AnswerBlock::Work(StoredWork::Plan(plan)) => Some(plan),
            _ => None,
        });
        match known {
            Some(plan) => *plan = now,
            None => self.push(StoredWork::Plan(now)),
        }
    }

    fn details(&mut self, summary: &str, data: &Value) {
        self.push(StoredWork::Details(details_block(summary, data)));
    }

    /// The stored form of the answer so far.
    pub fn stored(&self) -> String {
        let mut stored = String::new();
        let mut after_details = false;
        for block in &self.0 {
            match block {
                AnswerBlock::Text { text, .. } if !text.is_empty() => {
                    blank_line(&mut stored);
                    push_model_text(&mut stored, text);
                    after_details = false;
                }
                AnswerBlock::Thought { text, .. } if !text.trim().is_empty() => {
                    blank_line(&mut stored);
                    stored.push_str("<thinking>\n");
                    push_model_text(&mut stored, text.trim());
                    stored.push_str("\n</thinking>\n\n");
                    after_details = false;
                }
                AnswerBlock::Work(StoredWork::Details(details) | StoredWork::Plan(details)) => {
                    if !stored.is_empty() && (after_details || !stored.ends_with("\n\n")) {
                        stored.push('\n');
                    }
                    stored.push_str(details);
                    after_details = true;
                }
                _ => {}
            }
        }
        stored
    }
}

const DONE: &str = "done";

fn details_block(summary: &str, data: &Value) -> String {
    // The summary is one line of markup; the JSON holds the whole of it.
    let summary = html(&summary.replace('\n', " "));
    format!(
        "{DETAILS}\n<summary><code>{summary}</code></summary>\n\n```json\n{}\n```\n\n</details>\n",
        python::dumps(data)
    )
}

/// Appends the model's own words. Text that looks like the beginning of a tool's block is escaped, so that results
/// cannot be forged.
fn push_model_text(stored: &mut String, text: &str) {
    let mut pieces = text.split(DETAILS);
    stored.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        stored.push_str(DETAILS_IN_TEXT);
        stored.push_str(piece);
    }
}

fn blank_line(stored: &mut String) {
    if !stored.is_empty() {
        while !stored.ends_with("\n\n") {
            stored.push('\n');
        }
    }
}

/// The stored form of an answer that the user stopped; empty when nothing was received.
pub fn interrupted(stored: &str) -> String {
    if stored.is_empty() {
        String::new()
    } else {
        format!("{stored}\n{INTERRUPTED}")
    }
}

const DETAILS: &str = "<details class='tool-usage-details'>";
/// The spelling of the tag in the model's own words, which begins no block.
const DETAILS_IN_TEXT: &str = "<details class=\"tool-usage-details\">";

/// Characters of a result on its line.
const RESULT_CHARACTERS: usize = 100;

/// Characters of a call on its line.
const CALL_CHARACTERS: usize = 200;

/// `f(x=1)` on one line: arguments sorted by name, in Python's notation, cut to 200 characters. Cells to run are only
/// counted, since they are displayed as cells.
pub fn call_line(name: &str, arguments: &Value) -> String {
    match arguments["cells"].as_array().map(Vec::len) {
        Some(1) if name == "run_cells" => return "run_cells(1 cell)".to_owned(),
        Some(cells) if name == "run_cells" => return format!("run_cells({cells} cells)"),
        _ => {}
    }
    let call = python::call(name, arguments).replace(['\n', '\r'], " ");
    if call.chars().count() <= CALL_CHARACTERS {
        return call;
    }
    let head: String = call.chars().take(CALL_CHARACTERS - 4).collect();
    format!("{head}...)")
}

/// `f(x=1) => 2` on one line, the result cut to 100 characters. For cells that ran the result is their numbers, since
/// their outputs are displayed above.
pub fn tool_line(name: &str, arguments: &Value, result: &str) -> String {
    let call = call_line(name, arguments);
    match result.strip_prefix("ran\n") {
        Some(shown) if name == "run_cells" => {
            let labels = shown.lines().filter_map(|line| line.strip_suffix(':'));
            let labels: Vec<&str> = labels.filter(|it| it.starts_with("In[")).collect();
            result_line(&call, &format!("ran {}", labels.join(", ")))
        }
        _ => result_line(&call, result),
    }
}

/// `cmd => output` on one line, with the exit code when it is not 0, the output cut to 100 characters.
pub fn command_line(command: &str, exit_code: Option<i32>, output: &str) -> String {
    match exit_code {
        None | Some(0) => result_line(command, output),
        Some(code) => result_line(&format!("{command} [exit {code}]"), output),
    }
}

/// `✗ not allowed: cmd`, with the reason if there is one.
pub fn denied_line(what: &str, reason: &str) -> String {
    format!("✗ not allowed: {}", result_line(what, reason))
}

fn result_line(call: &str, result: &str) -> String {
    let call = call.replace(['\n', '\r'], " ");
    let result = result.trim().replace(['\n', '\r'], " ");
    if result.is_empty() {
        return call;
    }
    if result.chars().count() <= RESULT_CHARACTERS {
        return format!("{call} => {result}");
    }
    let head: String = result.chars().take(RESULT_CHARACTERS - 3).collect();
    format!("{call} => {head}...")
}

/// The tool calls of a stored answer, without commands.
pub fn tool_records(stored: &str) -> Vec<ToolRecord> {
    stored
        .match_indices(DETAILS)
        .filter_map(|(at, _)| {
            let data = details_data(&stored[at..])?.1;
            let text = |value: &Value| value.as_str().map(str::to_owned);
            Some(ToolRecord {
                id: text(&data["id"]).unwrap_or_default(),
                name: text(&data["call"]["function"]).filter(|name| name != "commandExecution")?,
                arguments: data["call"]["arguments"].clone(),
                result: text(&data["result"]).unwrap_or_default(),
                success: data["success"].as_bool().unwrap_or(false),
            })
        })
        .collect()
}

/// The length in bytes of the details block at the start of `text`, and its JSON.
fn details_data(text: &str) -> Option<(usize, Value)> {
    let rest = text.strip_prefix(DETAILS)?.strip_prefix("\n<summary>")?;
    // Each part is looked for in its own line: a text full of block beginnings is not searched to its end for each.
    let (summary, rest) = rest.split_once('\n')?;
    let rest = summary.ends_with("</summary>").then_some(rest)?;
    let rest = rest.strip_prefix("\n```json\n")?;
    let (line, rest) = rest.split_once('\n')?;
    let rest = rest.strip_prefix("```\n\n</details>")?;
    let data = serde_json::from_str(line).ok()?;
    Some((text.len() - rest.len(), data))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerPart {
    Text(String),
    Thought(String),
    /// A tool call or command.
    Call {
        /// One line, with the result cut.
        line: String,
        /// The whole result.
        result: String,
    },
}

pub fn answer_parts(stored: &str) -> Vec<AnswerPart> {
    let mut parts = Vec::new();
    let mut rest = stored;
    while !rest.is_empty() {
        if let Some((length, data)) = details_data(rest) {
            parts.push(match data["plan"].as_array() {
                Some(steps) => AnswerPart::Text(plan_lines(steps)),
                None => {
                    let result = data["result"].as_str().unwrap_or_default().to_owned();
                    let line = line_of(&data, &result);
                    AnswerPart::Call { line, result }
                }
            });
            rest = &rest[length..];
            continue;
        }
        if let Some((thought, after)) = rest
            .strip_prefix("<thinking>\n")
            .and_then(|rest| rest.split_once("\n</thinking>\n"))
        {
            parts.push(AnswerPart::Thought(thought.to_owned()));
            rest = after;
            continue;
        }
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        match parts.last_mut() {
            Some(AnswerPart::Text(text)) => text.push_str(&rest[..end]),
            _ => parts.push(AnswerPart::Text(rest[..end].to_owned())),
        }
        rest = &rest[end..];
    }
    parts
}

/// A call or a piece of work of a stored answer on one line.
fn line_of(data: &Value, result: &str) -> String {
    if let Some(title) = data["work"]["title"].as_str() {
        let failed = data["success"] == false;
        let mark = if failed { "✗" } else { "🔧" };
        return format!("{mark} {}", result_line(title, result));
    }
    let call = &data["call"];
    let command = call["arguments"]["command"].as_str().unwrap_or_default();
    if call["function"] == "commandExecution" && data["status"] == DENIED {
        return denied_line(command, result);
    }
    if call["function"] == "commandExecution" {
        let code = data["exit_code"]
            .as_i64()
            .and_then(|code| i32::try_from(code).ok());
        return format!("🔧 {}", command_line(command, code, result));
    }
    let name = call["function"].as_str().unwrap_or_default();
    format!("🔧 {}", tool_line(name, &call["arguments"], result))
}

/// The steps of the plan that the agent reported and has not done, in order, each on one line.
pub(super) fn reported_plan(stored: &str) -> Vec<String> {
    let plans = stored.match_indices(DETAILS).filter_map(|(at, _)| {
        let (_, data) = details_data(&stored[at..])?;
        data["plan"].as_array().cloned()
    });
    let open = plans.flatten().filter(|step| step["status"] != DONE);
    let texts = open.filter_map(|step| Some(step["step"].as_str()?.replace(['\n', '\r'], " ")));
    texts.collect()
}

/// A plan as a list with a check box for each step.
fn plan_lines(steps: &[Value]) -> String {
    let line = |step: &Value| {
        let mark = match step["status"].as_str() {
            Some(DONE) => "☑",
            Some("running") => "▸",
            Some("failed") => "✗",
            _ => "☐",
        };
        let text = step["step"].as_str().unwrap_or_default();
        format!("- {mark} {}\n", text.replace(['\n', '\r'], " "))
    };
    steps.iter().map(line).collect()
}

/// A stored answer as markdown for display: reasoning quoted, each tool call and command one line.
pub fn display_form(stored: &str) -> String {
    let mut shown = String::new();
    for part in answer_parts(stored) {
        match part {
            AnswerPart::Text(text) => shown.push_str(&text),
            AnswerPart::Call { line, .. } => shown.push_str(&line),
            AnswerPart::Thought(thought) => {
                for line in thought.lines() {
                    shown.push_str(if line.is_empty() { ">" } else { "> " });
                    shown.push_str(line);
                    shown.push('\n');
                }
            }
        }
    }
    shown
}

fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
