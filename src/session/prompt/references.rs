//! The references of a prompt (variables, commands, the last error), evaluated once and sent before it.
//!
//! In: the prompt, the notes entered since the previous prompt, the skills loaded in that prompt's turn, and the
//! runtime's answer for their expressions and commands. Out: one [`Expansion`], recorded with the exchange.
//!
//! Invariants: a command runs once, for the first prompt after it was written. References of an earlier prompt, note or
//! skill are never run again; only expressions of notes that call nothing are evaluated again when their exchange is
//! hidden. A prompt is sent whether or not its references have values: the model and the user are told what is missing.
//! Names are data: shortened, escaped, never markup.

use std::collections::HashSet;
use std::sync::Arc;

use crate::dialog::{
    CellEntry, Dialog, Expansion, PromptEntry, last_error, shell, variable, warnings,
};
use crate::events::Notice;
use crate::input::{is_ipycodex_input, is_name, may_call, note_value, references};
use crate::outputs::{OutputKind, Outputs};
use crate::pictures::Pictures;
use crate::runtime::{ReferenceValue, RuntimeReply};
use crate::skills::frontmatter;
use crate::text::cut_characters;

/// Most expressions evaluated for one prompt.
const MAX_VARIABLES: usize = 100;
/// Most commands run for one prompt.
const MAX_SHELLS: usize = 50;
/// Longest name or command in an attribute, in code points.
const LONGEST_NAME: usize = 1_000;

/// The expressions and commands of a prompt, each once, in the order they were written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PromptReferences {
    /// As written: names, calls, other expressions, invalid ones included.
    pub variables: Vec<String>,
    pub shells: Vec<String>,
    /// How many were left out because one prompt may not have more.
    pub too_many: usize,
}

pub(super) struct EvaluatedReferences {
    pub(super) expansion: Expansion,
    pub(super) notices: Vec<Notice>,
    /// Why some pictures are not sent.
    pub(super) lost_pictures: Option<String>,
    /// Some values are not pictures.
    pub(super) other_values: bool,
}

impl PromptReferences {
    /// Collects the references of `prompt`, of the notes since the previous prompt, and of `skills`: each `SKILL.md`
    /// loaded since then.
    pub(super) fn collect(prompt: &str, dialog: &Dialog, skills: &[String]) -> Self {
        let mut collected = PromptReferences::default();
        for skill in skills {
            collected.add_declared(skill);
        }
        let (sent, visible) = (
            last_prompt_line(dialog, true),
            last_prompt_line(dialog, false),
        );
        let notes = dialog.cells.iter().filter(|cell| is_live(cell, dialog));
        // A cell that the agent ran is not a note of the user.
        for note in notes.filter(|cell| cell.line > visible && cell.in_answer_of.is_none()) {
            let Some(text) = note_value(&note.source) else {
                continue;
            };
            let mut from_note = PromptReferences::default();
            from_note.add_declared(&text);
            let found = references(frontmatter::split(&text).body);
            from_note.variables.extend(found.variables);
            from_note.shells.extend(found.shells);
            if note.line <= sent {
                from_note.shells.clear();
                from_note.variables.retain(|variable| !may_call(variable));
            }
            collected.variables.extend(from_note.variables);
            collected.shells.extend(from_note.shells);
        }
        let found = references(prompt);
        collected.variables.extend(found.variables);
        collected.shells.extend(found.shells);
        collected.too_many = deduplicate(&mut collected.variables, MAX_VARIABLES)
            + deduplicate(&mut collected.shells, MAX_SHELLS);
        collected
    }

    /// Adds the references that the frontmatter of a note or skill declares.
    fn add_declared(&mut self, text: &str) {
        if let Ok(Some(front)) = frontmatter::split(text).frontmatter {
            self.variables.extend(front.words("exposed-vars"));
            self.shells.extend(front.lines("shell-cmds"));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.shells.is_empty()
    }

    pub(super) fn render(
        &self,
        answer: RuntimeReply,
        outputs: &Outputs,
        line: u32,
    ) -> EvaluatedReferences {
        let mut notices = Vec::new();
        let answered = matches!(answer, RuntimeReply::Evaluated { .. });
        let (mut variables, shells) = match answer {
            RuntimeReply::Evaluated { variables, shells } => (variables, shells),
            other => {
                let (why, able) = match other {
                    RuntimeReply::Failed(why) => (why, true),
                    RuntimeReply::Unsupported(why) => (why, false),
                    _ => ("the interpreter gave no values".to_owned(), true),
                };
                let message = format!("what the prompt refers to could not be evaluated: {why}");
                notices.push(Notice::warning(message));
                self.placeholders(&why, able)
            }
        };
        if self.too_many > 0 {
            notices.push(Notice::warning(format!(
                "a prompt can refer to {MAX_VARIABLES} expressions and {MAX_SHELLS} commands; {} were left out",
                self.too_many
            )));
        }
        let mut undefined: Vec<String> = Vec::new();
        let mut other_values = !shells.is_empty();
        let mut pictures = Pictures::default();
        let mut values = String::new();
        variables.sort_by(|a, b| expression(a).cmp(expression(b)));
        for found in variables {
            match found {
                ReferenceValue::Undefined { names, .. } => {
                    undefined.extend(
                        names
                            .iter()
                            .map(|name| cut_characters(name, LONGEST_NAME).into_owned()),
                    );
                }
                ReferenceValue::Value {
                    expression,
                    type_name,
                    text,
                    image,
                    failed,
                } => {
                    if failed && answered {
                        let (name, why) =
                            (cut_characters(&expression, LONGEST_NAME), reason(&text));
                        notices.push(Notice::warning(format!("no value for `{name}`: {why}")));
                    }
                    let text = outputs.cut(OutputKind::Variable, line, &text);
                    values.push_str(&variable(
                        &cut_characters(&expression, LONGEST_NAME),
                        &type_name,
                        &text,
                    ));
                    match image {
                        Some(url) => pictures.add(url),
                        None => other_values |= !failed,
                    }
                }
            }
        }
        undefined.sort_unstable();
        undefined.dedup();
        if !undefined.is_empty() && answered {
            let message = format!("not defined in the interpreter: {}", undefined.join(", "));
            notices.push(Notice::warning(message));
        }
        let missing = pictures.missing();
        if let Some(missing) = &missing {
            values.push_str(&variable("pictures", "note", missing));
            let line = missing.trim_matches(['[', ']']);
            notices.push(Notice::warning(format!(
                "of what the prompt refers to, {line}"
            )));
        }
        let mut xml = warnings(&undefined);
        xml.push_str(&values);
        for (command, output) in self.shells.iter().zip(&shells) {
            let output = outputs.cut(OutputKind::Shell, line, output);
            xml.push_str(&shell(&cut_characters(command, LONGEST_NAME), &output));
        }
        let expansion = Expansion {
            xml,
            images: pictures.into_urls().into_iter().map(Arc::from).collect(),
        };
        EvaluatedReferences {
            expansion,
            notices,
            lost_pictures: missing.map(|missing| missing.trim_matches(['[', ']']).to_owned()),
            other_values,
        }
    }

    /// Returns the values to render when the evaluation failed: each is an error, except that with a runtime that
    /// can evaluate (`able`), names count as undefined.
    fn placeholders(&self, why: &str, able: bool) -> (Vec<ReferenceValue>, Vec<String>) {
        let text = format!("Error: {why}");
        let variables = self.variables.iter().map(|expression| {
            if able && is_name(expression) {
                ReferenceValue::Undefined {
                    names: vec![expression.clone()],
                    expression: expression.clone(),
                }
            } else {
                ReferenceValue::Value {
                    expression: expression.clone(),
                    type_name: "Error".to_owned(),
                    text: text.clone(),
                    image: None,
                    failed: true,
                }
            }
        });
        let shells = vec![text.clone(); self.shells.len()];
        (variables.collect(), shells)
    }
}

/// Returns the last error for the prompts `fix` and `explain`; empty for any other, and without an error.
pub(super) fn requested_error(prompt: &str, dialog: &Dialog) -> String {
    let word = prompt.trim().trim_end_matches(['.', '!', '?']);
    if !["fix", "explain"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
    {
        return String::new();
    }
    let mut newest = dialog.cells.iter().rev();
    let failed = newest
        .find(|cell| cell.failed && is_live(cell, dialog) && !is_ipycodex_input(&cell.source));
    failed.map_or_else(String::new, |cell| {
        let told = |prompt: &PromptEntry| !prompt.hidden && Some(prompt.line) == cell.in_answer_of;
        let is_new = cell.line > last_prompt_line(dialog, false);
        last_error(cell, is_new && !dialog.prompts.iter().any(told))
    })
}

fn is_live(cell: &CellEntry, dialog: &Dialog) -> bool {
    cell.line > dialog.reset_line && !cell.is_excluded()
}

/// Returns the last code line before the newest prompt; 0 without a prompt. `hidden`: hidden prompts count, too.
fn last_prompt_line(dialog: &Dialog, hidden: bool) -> u32 {
    let counted = dialog
        .prompts
        .iter()
        .filter(|prompt| hidden || !prompt.hidden);
    counted.map(|prompt| prompt.history_line).max().unwrap_or(0)
}

/// Drops repetitions, then truncates to `most` items; returns how many were cut off.
fn deduplicate(list: &mut Vec<String>, most: usize) -> usize {
    let mut seen = HashSet::new();
    list.retain(|item| seen.insert(item.clone()));
    let surplus = list.len().saturating_sub(most);
    list.truncate(most);
    surplus
}

fn expression(variable: &ReferenceValue) -> &str {
    match variable {
        ReferenceValue::Value { expression, .. } | ReferenceValue::Undefined { expression, .. } => {
            expression
        }
    }
}

/// Returns the first line of a failure, without the prefix for the model.
fn reason(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("Error: ").unwrap_or(line)
}

#[cfg(test)]
mod tests;
