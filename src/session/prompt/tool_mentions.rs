//! The user's functions as tools: which names a conversation mentions, and their specifications for the agent.
//!
//! In: the prompt, the conversation, the runtime's look-ups. Out: tools in a stable order, or the one line that refuses
//! the prompt. Sources: this prompt, earlier prompts, notes, and tool results that declare tools (loaded skills are
//! such results).
//!
//! Invariants: a name of this prompt is offered, or the prompt is refused; any other name is offered or skipped
//! silently. The order does not depend on where a name was mentioned, so that the agent's thread can be continued. A
//! result that names a tool makes it known, never approved. Only the user's cells are notes, never the agent's.

use std::collections::BTreeSet;

use crate::agent::ToolSpec;
use crate::dialog::{CellEntry, Dialog, tool_records};
use crate::input::{is_name, note_value, references};
use crate::runtime::{RuntimeReply, ToolLookup};
use crate::skills::frontmatter;
use crate::text::cut_characters;
use crate::tools::is_built_in;

/// Longest name of a tool, in characters.
const LONGEST_NAME: usize = 128;

/// Longest name in a message, in characters.
const SHOWN_NAME: usize = 60;

/// The names a turn may call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ToolMentions {
    /// Names of this prompt; each must exist.
    required: BTreeSet<String>,
    /// Names of the other sources; offered when they exist.
    optional: BTreeSet<String>,
}

impl ToolMentions {
    /// # Errors
    /// The line to show when this prompt names something that can never be a tool.
    pub(super) fn collect(prompt: &str, dialog: &Dialog) -> Result<Self, String> {
        let required: BTreeSet<String> = references(prompt).tools.into_iter().collect();
        if let Some(invalid) = required.iter().find(|name| !is_tool_name(name)) {
            return Err(format!(
                "ValueError: `{}` cannot be a tool: a tool's name is at most {LONGEST_NAME} ASCII letters, digits and \
                 `_`",
                cut_characters(invalid, SHOWN_NAME)
            ));
        }
        let visible = || dialog.prompts.iter().filter(|earlier| !earlier.hidden);
        let prompts = visible().flat_map(|earlier| references(&earlier.prompt).tools);
        let notes = dialog
            .cells
            .iter()
            .filter(|cell| may_hold_note(cell, dialog))
            .filter_map(|cell| note_value(&cell.source))
            .flat_map(|note| declared_tools(&note));
        let results = visible()
            .flat_map(|earlier| declaring_results(&earlier.response))
            .flat_map(|result| declared_tools(&result));
        let optional = prompts
            .chain(notes)
            .chain(results)
            .filter(|name| is_tool_name(name) && !is_built_in(name))
            .filter(|name| !required.contains(name))
            .collect();
        Ok(ToolMentions { required, optional })
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.required.union(&self.optional).cloned().collect()
    }

    /// # Errors
    /// As [`ToolMentions::resolve`]; and why the runtime could not look the names up, when this prompt mentions one.
    pub(super) fn specs_from(&self, answer: RuntimeReply) -> Result<Vec<ToolSpec>, String> {
        match answer {
            RuntimeReply::Tools(found) => self.resolve(found),
            _ if self.required.iter().all(|name| is_built_in(name)) => Ok(Vec::new()),
            RuntimeReply::Failed(why) | RuntimeReply::Unsupported(why) => Err(why),
            _ => Err("the interpreter did not say what the tools are".to_owned()),
        }
    }

    /// Turns look-ups into tools, sorted by name.
    ///
    /// # Errors
    /// The line to show when a name of this prompt is missing, cannot be called, or is taken by a tool of the shell.
    pub(super) fn resolve(&self, found: Vec<ToolLookup>) -> Result<Vec<ToolSpec>, String> {
        let (mut tools, mut missing, mut not_callable) = (Vec::new(), Vec::new(), Vec::new());
        for lookup in found {
            match lookup {
                ToolLookup::Found { ref name, .. } | ToolLookup::NotCallable(ref name)
                    if is_built_in(name) =>
                {
                    return Err(format!(
                        "NameError: `{name}` is a tool of this shell; to offer a function of yours, give it another \
                         name"
                    ));
                }
                // A mention of a built-in tool means that tool, which is offered anyway.
                ToolLookup::Missing(name) if is_built_in(&name) => {}
                ToolLookup::Found {
                    name,
                    description,
                    schema,
                } => tools.push(ToolSpec {
                    name,
                    description,
                    schema,
                }),
                ToolLookup::Missing(name) if self.required.contains(&name) => missing.push(name),
                ToolLookup::NotCallable(name) if self.required.contains(&name) => {
                    not_callable.push(name);
                }
                ToolLookup::Missing(_) | ToolLookup::NotCallable(_) => {}
            }
        }
        if !missing.is_empty() {
            return Err(format!(
                "NameError: Missing tool(s) in user_ns: {}",
                missing.join(", ")
            ));
        }
        if !not_callable.is_empty() {
            return Err(format!(
                "TypeError: Non-callable tool(s): {}",
                not_callable.join(", ")
            ));
        }
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|a, b| a.name == b.name);
        Ok(tools)
    }
}

/// Returns the names of functions that a conversation mentions, for any next prompt.
pub(crate) fn mentioned_functions(dialog: &Dialog) -> Vec<String> {
    ToolMentions::collect("", dialog).map_or_else(|_| Vec::new(), |mentions| mentions.names())
}

/// Returns the tools among look-ups of such names; built-in names are left out.
pub(crate) fn callable_specs(found: Vec<ToolLookup>) -> Vec<ToolSpec> {
    let own = |lookup: &ToolLookup| match lookup {
        ToolLookup::Found { name, .. } => !is_built_in(name),
        ToolLookup::Missing(_) | ToolLookup::NotCallable(_) => false,
    };
    let found = found.into_iter().filter(own).collect();
    ToolMentions::default().resolve(found).unwrap_or_default()
}

/// Returns the tools of a note or a result: its `allowed-tools`, and those its text mentions.
fn declared_tools(text: &str) -> Vec<String> {
    let split = frontmatter::split(text);
    let mut names = match &split.frontmatter {
        Ok(Some(frontmatter)) => frontmatter.words("allowed-tools"),
        Ok(None) | Err(_) => Vec::new(),
    };
    names.extend(references(split.body).tools);
    names
}

/// Returns the place where a function is first mentioned, for the user: `prompt [3]`, `note [2]`, `result in [5]`.
pub(crate) fn first_mention(name: &str, dialog: &Dialog) -> String {
    let prompts = dialog.prompts.iter().filter(|prompt| !prompt.hidden);
    for prompt in prompts.clone() {
        if references(&prompt.prompt)
            .tools
            .iter()
            .any(|named| named == name)
        {
            return format!("prompt [{}]", prompt.line);
        }
    }
    let notes = dialog
        .cells
        .iter()
        .filter(|cell| may_hold_note(cell, dialog));
    for note in notes {
        let declares = |text: String| declared_tools(&text).iter().any(|tool| tool == name);
        if note_value(&note.source).is_some_and(declares) {
            return format!("note [{}]", note.line);
        }
    }
    for prompt in prompts {
        let results = declaring_results(&prompt.response);
        let mut named = results.iter().flat_map(|result| declared_tools(result));
        if named.any(|named| named == name) {
            return format!("result in [{}]", prompt.line);
        }
    }
    String::new()
}

/// Returns true for cells whose notes count: of the user, in the conversation, after the last reset.
fn may_hold_note(cell: &CellEntry, dialog: &Dialog) -> bool {
    cell.line > dialog.reset_line && !cell.is_excluded() && cell.in_answer_of.is_none()
}

/// Returns the tool results in a stored answer whose frontmatter declares tools.
fn declaring_results(response: &str) -> Vec<String> {
    // Most answers have none, and parsing their JSON is expensive.
    if !response.contains("\"---") {
        return Vec::new();
    }
    let declares = |result: &String| {
        let front = frontmatter::split(result).frontmatter.ok().flatten();
        front.is_some_and(|front| front.value("allowed-tools").is_some() || front.flag("eval"))
    };
    tool_records(response)
        .into_iter()
        .filter(|record| record.success)
        .map(|record| record.result)
        .filter(declares)
        .collect()
}

fn is_tool_name(name: &str) -> bool {
    let ascii = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    name.len() <= LONGEST_NAME
        && is_name(name)
        && name.bytes().all(ascii)
        && !name.starts_with("mcp__")
}

#[cfg(test)]
mod tests;
