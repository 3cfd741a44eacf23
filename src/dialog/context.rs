//! Entries to the XML the model reads: `<context>`, `<user-request>`, `<conversation-history>`.
//!
//! Invariants: no text of the user or the model leaves its element (`& < >` are escaped, characters XML 1.0 forbids are
//! dropped); no blanks between inner tags; one pass over the entries. The request itself is verbatim. A hidden exchange
//! leaves its cells to the next one: they still describe the namespace.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::entry::{CellEntry, Expansion, PastExchange, PromptEntry, ShellEntry};
use crate::input::{is_ipycodex_input, note_value};
use crate::output::{MODEL_CHARACTERS, Rest, cell_id, shorten_naming};
use crate::text::{xml_attribute, xml_text};

/// Stands for the answer of a prompt stopped before its first word, and ends one stopped later.
pub const INTERRUPTED: &str = "<system>user interrupted</system>";

/// One session. `cells` ascend by line, `prompts` by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialog {
    /// Every recorded input, those that are prompts or commands too (they are skipped when building).
    pub cells: Vec<CellEntry>,
    /// Finished exchanges.
    pub prompts: Vec<PromptEntry>,
    /// Cells up to this line are no longer part of the conversation.
    pub reset_line: u32,
}

impl Dialog {
    /// Takes the entries with these In numbers out of the conversation, or back in, whatever took them out; the record
    /// does the same.
    pub fn hide(&mut self, lines: &RangeInclusive<u32>, hidden: bool) {
        let cells = self.cells.iter_mut();
        for cell in cells.filter(|cell| lines.contains(&cell.line)) {
            cell.hidden = hidden;
            cell.stepped_over &= hidden;
        }
        let prompts = self.prompts.iter_mut();
        for prompt in prompts.filter(|prompt| lines.contains(&prompt.line)) {
            prompt.hidden = hidden;
        }
    }

    /// The interpreter has stepped back over these cells, or forward again; the record does the same.
    pub fn step_over(&mut self, lines: &[u32], over: bool) {
        let cells = self.cells.iter_mut();
        for cell in cells.filter(|cell| lines.contains(&cell.line)) {
            cell.stepped_over = over;
        }
    }

    /// The newest exchange that is part of the conversation.
    pub fn last_exchange(&self) -> Option<&PromptEntry> {
        self.prompts.iter().rev().find(|prompt| !prompt.hidden)
    }

    /// The visible earlier exchanges, oldest first, as they were sent and answered.
    pub fn exchanges(&self) -> Vec<PastExchange> {
        let cells = self.context_cells();
        let mut cells = cells.as_slice();
        self.prompts
            .iter()
            .filter(|prompt| !prompt.hidden)
            .map(|prompt| {
                let count = cells
                    .iter()
                    .take_while(|cell| cell.line <= prompt.history_line)
                    .count();
                let (before, after) = cells.split_at(count);
                cells = after;
                let assistant = match prompt.response.as_str() {
                    "" if !prompt.complete => INTERRUPTED.to_owned(),
                    answer => answer.to_owned(),
                };
                PastExchange {
                    line: prompt.line,
                    user: user_entry(&prompt.expansion.xml, &context(before), &prompt.prompt),
                    assistant,
                    images: pictures(&prompt.expansion, before),
                }
            })
            .collect()
    }

    /// What the next prompt would be preceded by: `<context>…</context>` and a newline, or nothing.
    pub fn next_context(&self) -> String {
        context(&self.next_cells())
    }

    /// In numbers of the cells in the next prompt's context that showed pictures too large to be sent.
    pub fn next_too_large(&self) -> Vec<u32> {
        let cells = self.next_cells().into_iter();
        let cells = cells.filter(|cell| cell.too_large > 0);
        cells.map(|cell| cell.line).collect()
    }

    /// The pictures that go with the next prompt: those it refers to, then those of its context.
    pub fn next_pictures(&self, expansion: &Expansion) -> Vec<Arc<str>> {
        pictures(expansion, &self.next_cells())
    }

    /// The cells since the last exchange that the model is told of.
    fn next_cells(&self) -> Vec<&CellEntry> {
        let last = self.prompts.iter().filter(|prompt| !prompt.hidden);
        let after = last.map(|prompt| prompt.history_line).max().unwrap_or(0);
        let mut cells = self.context_cells();
        cells.drain(..cells.partition_point(|cell| cell.line <= after));
        cells
    }

    /// The cells that are context of some exchange: not those another exchange of the conversation tells of.
    fn context_cells(&self) -> Vec<&CellEntry> {
        let visible = self.prompts.iter().filter(|prompt| !prompt.hidden);
        let visible: HashSet<u32> = visible.map(|prompt| prompt.line).collect();
        let cells = self.cells.iter().filter(|cell| {
            cell.line > self.reset_line
                && !cell.is_excluded()
                && !cell.source.trim().is_empty()
                && !is_ipycodex_input(&cell.source)
                && !cell
                    .in_answer_of
                    .is_some_and(|prompt| visible.contains(&prompt))
        });
        cells.collect()
    }
}

fn pictures(expansion: &Expansion, cells: &[&CellEntry]) -> Vec<Arc<str>> {
    let shown = cells.iter().flat_map(|cell| &cell.images);
    expansion.images.iter().chain(shown).cloned().collect()
}

fn context(cells: &[&CellEntry]) -> String {
    let mut xml = String::new();
    for cell in cells {
        if xml.is_empty() {
            xml.push_str("<context>");
        }
        if let Some(shell) = &cell.shell {
            push_shell(&mut xml, cell, shell);
            continue;
        }
        if let Some(note) = note_value(&cell.source) {
            element(&mut xml, "note", &note);
            continue;
        }
        element(&mut xml, "code", &cell.source);
        if let Some(output) = cell.output.as_deref().filter(|output| !output.is_empty()) {
            xml.push_str("<output>");
            push_shortened(&mut xml, output, Rest::Kept(&cell_id(cell.line)));
            xml.push_str("</output>");
        }
        match cell.too_large {
            0 => {}
            1 => xml.push_str("<missing>1 picture, too large to be sent</missing>"),
            count => {
                let line = format!("<missing>{count} pictures, too large to be sent</missing>");
                xml.push_str(&line);
            }
        }
    }
    if !xml.is_empty() {
        xml.push_str("</context>\n");
    }
    xml
}

/// A command of the persistent shell, in its place among the cells.
fn push_shell(xml: &mut String, cell: &CellEntry, shell: &ShellEntry) {
    xml.push_str("<shell cmd=\"");
    push_escaped(xml, &shell.command, true);
    if let Some(exit) = shell.exit {
        xml.push_str(&format!("\" exit=\"{exit}"));
    }
    xml.push_str("\">");
    let output = cell.output.as_deref().unwrap_or_default().trim_end();
    push_shortened(xml, output, Rest::Kept(&cell_id(cell.line)));
    xml.push_str("</shell>");
}

/// What is referred to, context and request, as one input.
pub fn user_entry(expansion: &str, context: &str, prompt: &str) -> String {
    let prompt = prompt.trim();
    format!("{expansion}{context}<user-request>{prompt}</user-request>")
}

/// A file that goes with a prompt.
pub fn file_entry(path: &str, text: &str) -> String {
    format!(
        "<file path=\"{}\">{}</file>\n",
        xml_attribute(path),
        xml_text(text)
    )
}

/// All earlier turns as one block, for agents that keep none; empty without turns.
///
/// Turns are markup already, so only what could be taken for this block's own tags is escaped in them.
pub fn conversation_history(exchanges: &[(String, String)]) -> String {
    if exchanges.is_empty() {
        return String::new();
    }
    let mut xml = String::from("<conversation-history>");
    for (user, assistant) in exchanges {
        xml.push_str("<turn><user>");
        push_turn(&mut xml, user);
        xml.push_str("</user><assistant>");
        push_turn(&mut xml, assistant);
        xml.push_str("</assistant></turn>");
    }
    xml.push_str("</conversation-history>\n");
    xml
}

fn push_turn(xml: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        xml.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let name = rest.strip_prefix('/').unwrap_or(rest);
        let ours = ["conversation-history", "turn", "user", "assistant"]
            .iter()
            .filter_map(|tag| name.strip_prefix(tag))
            .any(|after| after.trim_start().starts_with('>'));
        xml.push_str(if ours { "&lt;" } else { "<" });
    }
    xml.push_str(rest);
}

/// The warning about names a prompt mentions and the interpreter does not know, with its newline; empty without names.
pub fn warnings(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let mut names: Vec<_> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let mut xml = String::new();
    let text = format!(
        "The following symbols were referenced but aren't defined in the interpreter: {}",
        names.join(", ")
    );
    element(&mut xml, "warnings", &text);
    xml.push('\n');
    xml
}

/// A value the prompt asked to be sent: its name (or expression), type name and text.
pub fn variable(name: &str, type_name: &str, value: &str) -> String {
    let mut xml = String::from("<variable name=\"");
    push_escaped(&mut xml, name, true);
    xml.push_str("\" type=\"");
    push_escaped(&mut xml, type_name, true);
    xml.push_str("\">");
    push_shortened(&mut xml, value, Rest::Gone);
    xml.push_str("</variable>");
    xml
}

/// The output of a command the prompt asked to be sent.
pub fn shell(command: &str, output: &str) -> String {
    let mut xml = String::from("<shell cmd=\"");
    push_escaped(&mut xml, command, true);
    xml.push_str("\">");
    push_shortened(&mut xml, output.trim_end(), Rest::Gone);
    xml.push_str("</shell>");
    xml
}

/// The newest cell that failed: its number, and what it was and showed where the context does not say so.
pub fn last_error(cell: &CellEntry, in_context: bool) -> String {
    let mut xml = format!("<last-error line=\"{}\"", cell.line);
    if in_context {
        xml.push_str("/>");
        return xml;
    }
    xml.push('>');
    if let Some(shell) = &cell.shell {
        push_shell(&mut xml, cell, shell);
        xml.push_str("</last-error>");
        return xml;
    }
    element(&mut xml, "code", &cell.source);
    xml.push_str("<output>");
    let output = cell.output.as_deref().unwrap_or_default();
    push_shortened(&mut xml, output, Rest::Kept(&cell_id(cell.line)));
    xml.push_str("</output></last-error>");
    xml
}

fn element(xml: &mut String, name: &str, text: &str) {
    xml.push('<');
    xml.push_str(name);
    xml.push('>');
    push_escaped(xml, text, false);
    xml.push_str("</");
    xml.push_str(name);
    xml.push('>');
}

fn push_escaped(xml: &mut String, text: &str, attribute: bool) {
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let (replacement, length) = match byte {
            b'&' => ("&amp;", 1),
            b'<' => ("&lt;", 1),
            b'>' => ("&gt;", 1),
            b'"' if attribute => ("&quot;", 1),
            b'\n' if attribute => ("&#10;", 1),
            b'\t' if attribute => ("&#9;", 1),
            // A parser would make a line feed of it.
            b'\r' => ("&#13;", 1),
            b'\n' | b'\t' => continue,
            0..=0x1f => ("", 1),
            // U+FFFE and U+FFFF.
            0xef if matches!(bytes.get(at + 1..at + 3), Some([0xbf, 0xbe | 0xbf])) => ("", 3),
            _ => continue,
        };
        xml.push_str(&text[copied..at]);
        xml.push_str(replacement);
        copied = at + length;
    }
    xml.push_str(&text[copied..]);
}

/// A text that may be long: the model gets its head and tail.
fn push_shortened(xml: &mut String, text: &str, rest: Rest<'_>) {
    if text.len() <= MODEL_CHARACTERS {
        push_escaped(xml, text, false);
    } else {
        push_escaped(xml, &shorten_naming(text, MODEL_CHARACTERS, rest), false);
    }
}

#[cfg(test)]
mod tests;
