//! Renders entries as the XML that the model reads: `<context>`, `<user-request>`, `<conversation-history>`.
//!
//! Invariants: no text of the user or the model leaves its element (`& < >` are escaped, characters that XML 1.0
//! forbids are dropped); no blanks between inner tags; one pass over the entries. The request itself is verbatim. The
//! cells before a hidden prompt belong to the context of the next one: they still describe the namespace.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::entry::{CellEntry, Expansion, PastExchange, PromptEntry, ShellEntry};
use crate::input::{is_ipycodex_input, note_value};
use crate::output::{MODEL_CHARACTERS, Rest, cell_id, shorten_naming};
use crate::{xml_attribute, xml_text};

/// Replaces the answer of a prompt stopped before its first word, and ends one stopped later.
pub const INTERRUPTED: &str = "<system>user interrupted</system>";

/// One session. `cells` ascend by line, `prompts` by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialog {
    /// All recorded inputs, prompts and commands included (they are skipped in the context).
    pub cells: Vec<CellEntry>,
    /// Finished prompts with their answers.
    pub prompts: Vec<PromptEntry>,
    /// Cells up to this line are no longer part of the conversation.
    pub reset_line: u32,
}

impl Dialog {
    /// Hides the entries with these In numbers from the conversation, or shows them again, whatever hid them; the
    /// record does the same.
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

    /// Marks cells over which the interpreter stepped back, or forward again; the record does the same.
    pub fn step_over(&mut self, lines: &[u32], over: bool) {
        let cells = self.cells.iter_mut();
        for cell in cells.filter(|cell| lines.contains(&cell.line)) {
            cell.stepped_over = over;
        }
    }

    /// The newest prompt that is part of the conversation.
    pub fn last_exchange(&self) -> Option<&PromptEntry> {
        self.prompts.iter().rev().find(|prompt| !prompt.hidden)
    }

    /// The visible earlier prompts with their answers, oldest first, as they were sent and answered.
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

    /// The context of the next prompt: `<context>…</context>` and a newline, or nothing.
    pub fn next_context(&self) -> String {
        context(&self.next_cells())
    }

    /// In numbers of the cells in the next prompt's context with pictures too large to be sent.
    pub fn next_too_large(&self) -> Vec<u32> {
        let cells = self.next_cells().into_iter();
        let cells = cells.filter(|cell| cell.too_large > 0);
        cells.map(|cell| cell.line).collect()
    }

    /// The pictures sent with the next prompt: those of its references, then those of its context.
    pub fn next_pictures(&self, expansion: &Expansion) -> Vec<Arc<str>> {
        pictures(expansion, &self.next_cells())
    }

    /// The cells since the last visible prompt that belong to the context.
    fn next_cells(&self) -> Vec<&CellEntry> {
        let last = self.prompts.iter().filter(|prompt| !prompt.hidden);
        let after = last.map(|prompt| prompt.history_line).max().unwrap_or(0);
        let mut cells = self.context_cells();
        cells.drain(..cells.partition_point(|cell| cell.line <= after));
        cells
    }

    /// The cells that belong to the context of some prompt, without those that a visible answer contains.
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

/// References, context and request, as one input.
pub fn user_entry(expansion: &str, context: &str, prompt: &str) -> String {
    let prompt = prompt.trim();
    format!("{expansion}{context}<user-request>{prompt}</user-request>")
}

/// A file attached to a prompt.
pub fn file_entry(path: &str, text: &str) -> String {
    format!(
        "<file path=\"{}\">{}</file>\n",
        xml_attribute(path),
        xml_text(text)
    )
}

/// All earlier turns as one block, for agents that keep none; empty without turns.
///
/// Turns are markup already, so only text that looks like this block's own tags is escaped in them.
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

/// The warning about references to names that the interpreter does not know, with its newline; empty without names.
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

/// The value of a `$` reference: its name (or expression), type name and text.
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

pub fn shell(command: &str, output: &str) -> String {
    let mut xml = String::from("<shell cmd=\"");
    push_escaped(&mut xml, command, true);
    xml.push_str("\">");
    push_shortened(&mut xml, output.trim_end(), Rest::Gone);
    xml.push_str("</shell>");
    xml
}

/// The newest cell that failed: its number, and, unless the context contains it, its source and output.
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
            // An XML parser would normalise it to a line feed.
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
