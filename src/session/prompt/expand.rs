//! What a prompt refers to, evaluated once and put before it: variables, commands, the last error.
//!
//! In: the prompt, the notes entered since the prompt before, the skills loaded in that prompt's turn; what the runtime
//! made of their expressions and commands. Out: one [`Expansion`], part of the exchange for good.
//!
//! Invariants: a command runs once, for the first prompt after it was written; what an earlier prompt, note or skill
//! referred to is never run again (what notes only look at is looked at again when the exchange that had it is hidden,
//! since looking changes nothing). A prompt is sent whether or not its references can be had: what is missing is said,
//! to the model and to the user. Names are data: cut, escaped, never markup.

use std::collections::HashSet;
use std::sync::Arc;

use crate::dialog::{
    CellEntry, Dialog, Expansion, PromptEntry, last_error, shell, variable, warnings,
};
use crate::input::{is_name, is_ours, may_call, note_value, references};
use crate::runtime::{RuntimeAnswer, Variable};
use crate::session::events::Notice;
use crate::session::outputs::{OutputKind, Outputs};
use crate::session::pictures::Pictures;
use crate::text::{cut_characters, frontmatter};

/// Expressions evaluated for one prompt.
const MOST_VARIABLES: usize = 100;
/// Commands run for one prompt.
const MOST_SHELLS: usize = 50;
/// Code points of a name or command in an attribute.
const LONGEST_NAME: usize = 1_000;

/// The expressions and commands of a prompt, each once, in the order they were written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Mentioned {
    /// As written: names, calls, any other expression, and what is none.
    pub variables: Vec<String>,
    /// Commands.
    pub shells: Vec<String>,
    /// More were written than one prompt may have.
    pub too_many: usize,
}

/// What goes before a prompt, evaluated.
pub(super) struct Expanded {
    pub(super) expansion: Expansion,
    /// What the user is told.
    pub(super) notices: Vec<Notice>,
    /// Why pictures among it are not sent, where some are not.
    pub(super) lost: Option<String>,
    /// There is more than pictures.
    pub(super) beside: bool,
}

impl Mentioned {
    /// Collects what `prompt` refers to, and the notes and skills that came with it. `skills`: each `SKILL.md` loaded
    /// since the prompt before.
    pub(super) fn of(prompt: &str, dialog: &Dialog, skills: &[String]) -> Self {
        let mut mentioned = Mentioned::default();
        for skill in skills {
            mentioned.declared_by(skill);
        }
        let (sent, visible) = (line_of_last(dialog, true), line_of_last(dialog, false));
        let notes = dialog.cells.iter().filter(|cell| is_live(cell, dialog));
        // A cell the agent ran is no note of the user's.
        for note in notes.filter(|cell| cell.line > visible && cell.told.is_none()) {
            let Some(text) = note_value(&note.source) else {
                continue;
            };
            let mut of_note = Mentioned::default();
            of_note.declared_by(&text);
            let found = references(frontmatter::split(&text).body);
            of_note.variables.extend(found.variables);
            of_note.shells.extend(found.shells);
            if note.line <= sent {
                of_note.shells.clear();
                of_note.variables.retain(|variable| !may_call(variable));
            }
            mentioned.variables.extend(of_note.variables);
            mentioned.shells.extend(of_note.shells);
        }
        let found = references(prompt);
        mentioned.variables.extend(found.variables);
        mentioned.shells.extend(found.shells);
        mentioned.too_many = once_each(&mut mentioned.variables, MOST_VARIABLES)
            + once_each(&mut mentioned.shells, MOST_SHELLS);
        mentioned
    }

    /// Adds what the frontmatter of a note or skill declares.
    fn declared_by(&mut self, text: &str) {
        if let Ok(Some(front)) = frontmatter::split(text).frontmatter {
            self.variables.extend(front.words("exposed-vars"));
            self.shells.extend(front.lines("shell-cmds"));
        }
    }

    /// True when there is nothing to evaluate.
    pub(super) fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.shells.is_empty()
    }

    /// What goes before the prompt with number `line`, and what the user is told. `answer` is the runtime's.
    pub(super) fn expanded(&self, answer: RuntimeAnswer, outputs: &Outputs, line: u32) -> Expanded {
        let mut notices = Vec::new();
        let answered = matches!(answer, RuntimeAnswer::Evaluated { .. });
        let (mut variables, shells) = match answer {
            RuntimeAnswer::Evaluated { variables, shells } => (variables, shells),
            other => {
                let (why, able) = match other {
                    RuntimeAnswer::Failed(why) => (why, true),
                    RuntimeAnswer::Unable(why) => (why, false),
                    _ => ("the interpreter gave no values".to_owned(), true),
                };
                let message = format!("what the prompt refers to could not be evaluated: {why}");
                notices.push(Notice::warning(message));
                self.failed(&why, able)
            }
        };
        if self.too_many > 0 {
            notices.push(Notice::warning(format!(
                "a prompt can refer to {MOST_VARIABLES} expressions and {MOST_SHELLS} commands; {} were left out",
                self.too_many
            )));
        }
        let mut undefined: Vec<String> = Vec::new();
        let mut beside = !shells.is_empty();
        let mut pictures = Pictures::default();
        let mut values = String::new();
        variables.sort_by(|a, b| expression(a).cmp(expression(b)));
        for found in variables {
            match found {
                Variable::Undefined { names, .. } => {
                    undefined.extend(
                        names
                            .iter()
                            .map(|name| cut_characters(name, LONGEST_NAME).into_owned()),
                    );
                }
                Variable::Value {
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
                        None => beside |= !failed,
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
        Expanded {
            expansion,
            notices,
            lost: missing.map(|missing| missing.trim_matches(['[', ']']).to_owned()),
            beside,
        }
    }

    /// What stands for the values where there is no interpreter: names are not defined, the rest is an error. Where it
    /// could not evaluate them (`able`) nobody knows whether they are.
    fn failed(&self, why: &str, able: bool) -> (Vec<Variable>, Vec<String>) {
        let text = format!("Error: {why}");
        let variables = self.variables.iter().map(|expression| {
            if able && is_name(expression) {
                Variable::Undefined {
                    names: vec![expression.clone()],
                    expression: expression.clone(),
                }
            } else {
                Variable::Value {
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

/// The last error, for a prompt that says no more than `fix` or `explain`; empty for others, and without an error.
pub(super) fn error_asked_for(prompt: &str, dialog: &Dialog) -> String {
    let word = prompt.trim().trim_end_matches(['.', '!', '?']);
    if !["fix", "explain"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
    {
        return String::new();
    }
    let mut newest = dialog.cells.iter().rev();
    let failed = newest.find(|cell| cell.failed && is_live(cell, dialog) && !is_ours(&cell.source));
    failed.map_or_else(String::new, |cell| {
        let told = |prompt: &PromptEntry| !prompt.hidden && Some(prompt.line) == cell.told;
        let is_new = cell.line > line_of_last(dialog, false);
        last_error(cell, is_new && !dialog.prompts.iter().any(told))
    })
}

fn is_live(cell: &CellEntry, dialog: &Dialog) -> bool {
    cell.line > dialog.reset_line && !cell.is_out()
}

/// The last code line before the newest prompt; 0 without one. `hidden`: prompts taken out count, too.
fn line_of_last(dialog: &Dialog, hidden: bool) -> u32 {
    let counted = dialog
        .prompts
        .iter()
        .filter(|prompt| hidden || !prompt.hidden);
    counted.map(|prompt| prompt.history_line).max().unwrap_or(0)
}

/// Drops repetitions, then what is beyond `most`; returns how many that were.
fn once_each(list: &mut Vec<String>, most: usize) -> usize {
    let mut seen = HashSet::new();
    list.retain(|item| seen.insert(item.clone()));
    let surplus = list.len().saturating_sub(most);
    list.truncate(most);
    surplus
}

fn expression(variable: &Variable) -> &str {
    match variable {
        Variable::Value { expression, .. } | Variable::Undefined { expression, .. } => expression,
    }
}

/// What a failure says, without the word that marks it for the model.
fn reason(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("Error: ").unwrap_or(line)
}

#[cfg(test)]
mod tests;
