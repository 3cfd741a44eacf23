//! Live functions as tools: which names are offered and why, what the agent is told of them.
//!
//! In: the prompt, the conversation, what the runtime says of the names. Out: tools in a stable order, or the one line
//! that refuses the prompt. Five sources: this prompt, earlier prompts,
//! notes, and tool results that declare tools (skills that were loaded are such results).
//!
//! Invariants: a name of this prompt is offered or refused aloud, any other is offered or skipped without a word; the
//! order does not depend on where a name was mentioned, so that the agent's thread goes on. A result that names a tool
//! makes it known, never allowed: what needs an approval needs it still. Notes are the user's: a cell of the agent is
//! none.

use std::collections::BTreeSet;

use crate::agent::ToolSpec;
use crate::dialog::{CellEntry, Dialog, tool_records};
use crate::input::{is_name, note_value, references};
use crate::runtime::{RuntimeAnswer, ToolLookup};
use crate::session::toolbox::is_built_in;
use crate::text::{cut_characters, frontmatter};

/// Longest name of a tool, in characters.
const LONGEST_NAME: usize = 128;

/// Characters of a name that are shown.
const SHOWN_NAME: usize = 60;

/// The names a turn may call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Offered {
    /// Of this prompt: must exist.
    here: BTreeSet<String>,
    /// Of the other sources: offered when they exist.
    elsewhere: BTreeSet<String>,
}

impl Offered {
    /// Collects the names `prompt` and `dialog` mention.
    ///
    /// # Errors
    /// The line to show when this prompt names what can never be a tool.
    pub(super) fn of(prompt: &str, dialog: &Dialog) -> Result<Self, String> {
        let here: BTreeSet<String> = references(prompt).tools.into_iter().collect();
        if let Some(odd) = here.iter().find(|name| !is_tool_name(name)) {
            return Err(format!(
                "ValueError: `{}` cannot be a tool: a tool's name is at most {LONGEST_NAME} ASCII letters, digits and \
                 `_`",
                cut_characters(odd, SHOWN_NAME)
            ));
        }
        let visible = || dialog.prompts.iter().filter(|earlier| !earlier.hidden);
        let prompts = visible().flat_map(|earlier| references(&earlier.prompt).tools);
        let notes = dialog
            .cells
            .iter()
            .filter(|cell| is_noted(cell, dialog))
            .filter_map(|cell| note_value(&cell.source))
            .flat_map(|note| declared(&note));
        let results = visible()
            .flat_map(|earlier| qualifying_results(&earlier.response))
            .flat_map(|result| declared(&result));
        let elsewhere = prompts
            .chain(notes)
            .chain(results)
            .filter(|name| is_tool_name(name) && !is_built_in(name))
            .filter(|name| !here.contains(name))
            .collect();
        Ok(Offered { here, elsewhere })
    }

    /// Every name, each once.
    pub(super) fn names(&self) -> Vec<String> {
        self.here.union(&self.elsewhere).cloned().collect()
    }

    /// The tools, by the runtime's answer; those of other sources are offered when they can be had.
    ///
    /// # Errors
    /// As [`Offered::resolve`]; and the interpreter cannot tell, when this prompt itself names a tool.
    pub(super) fn found(&self, answer: RuntimeAnswer) -> Result<Vec<ToolSpec>, String> {
        match answer {
            RuntimeAnswer::Tools(found) => self.resolve(found),
            _ if self.here.iter().all(|name| is_built_in(name)) => Ok(Vec::new()),
            RuntimeAnswer::Failed(why) | RuntimeAnswer::Unable(why) => Err(why),
            _ => Err("the interpreter did not say what the tools are".to_owned()),
        }
    }

    /// Turns look-ups into tools, by name.
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
                // Whoever names the shell's own tool means it, and it is offered anyway.
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
                ToolLookup::Missing(name) if self.here.contains(&name) => missing.push(name),
                ToolLookup::NotCallable(name) if self.here.contains(&name) => {
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

/// The names of functions that a conversation offers, whatever is asked next.
pub(in crate::session) fn functions(dialog: &Dialog) -> Vec<String> {
    Offered::of("", dialog).map_or_else(|_| Vec::new(), |offered| offered.names())
}

/// Those of them that can be had.
pub(in crate::session) fn callable(found: Vec<ToolLookup>) -> Vec<ToolSpec> {
    let own = |lookup: &ToolLookup| match lookup {
        ToolLookup::Found { name, .. } => !is_built_in(name),
        ToolLookup::Missing(_) | ToolLookup::NotCallable(_) => false,
    };
    let found = found.into_iter().filter(own).collect();
    Offered::default().resolve(found).unwrap_or_default()
}

/// The tools a note or a result names: its `allowed-tools`, and those its text mentions.
fn declared(text: &str) -> Vec<String> {
    let split = frontmatter::split(text);
    let mut names = match &split.frontmatter {
        Ok(Some(frontmatter)) => frontmatter.words("allowed-tools"),
        Ok(None) | Err(_) => Vec::new(),
    };
    names.extend(references(split.body).tools);
    names
}

/// Where a function on offer is named first, for the user: `prompt [3]`, `note [2]`, `result in [5]`.
pub(in crate::session) fn named_in(name: &str, dialog: &Dialog) -> String {
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
    let notes = dialog.cells.iter().filter(|cell| is_noted(cell, dialog));
    for note in notes {
        let declares = |text: String| declared(&text).iter().any(|named| named == name);
        if note_value(&note.source).is_some_and(declares) {
            return format!("note [{}]", note.line);
        }
    }
    for prompt in prompts {
        let results = qualifying_results(&prompt.response);
        let mut named = results.iter().flat_map(|result| declared(result));
        if named.any(|named| named == name) {
            return format!("result in [{}]", prompt.line);
        }
    }
    String::new()
}

/// True for cells whose notes name tools.
fn is_noted(cell: &CellEntry, dialog: &Dialog) -> bool {
    cell.line > dialog.reset_line && !cell.is_out() && cell.told.is_none()
}

/// The results in a stored answer that begin with frontmatter of the kind that declares tools.
fn qualifying_results(response: &str) -> Vec<String> {
    // Most answers have none, and reading their JSON is what costs.
    if !response.contains("\"---") {
        return Vec::new();
    }
    let declares = |result: &String| {
        let found = frontmatter::split(result).frontmatter;
        let found = found.ok().flatten();
        found.is_some_and(|front| front.value("allowed-tools").is_some() || front.flag("eval"))
    };
    tool_records(response)
        .into_iter()
        .filter(|record| record.success)
        .map(|record| record.result)
        .filter(declares)
        .collect()
}

/// True for names every agent takes.
fn is_tool_name(name: &str) -> bool {
    let ascii = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    name.len() <= LONGEST_NAME
        && is_name(name)
        && name.bytes().all(ascii)
        && !name.starts_with("mcp__")
}

#[cfg(test)]
mod tests;
