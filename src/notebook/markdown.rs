//! A session as a markdown document: prompts quoted, answers as they are, code and outputs fenced, pictures embedded;
//! cells under their In and Out numbers.
//!
//! Invariant: a fence is longer than any fence in its text, so that text stays text.

use super::saved::{SavedCell, SavedEntry, SavedPrompt, SavedSession};
use crate::dialog::display_form;
use crate::input::note_value;
use crate::output::{CellOutput, MimeBundle};

pub fn to_markdown(session: &SavedSession, title: &str) -> String {
    let mut page = format!("# {title}\n");
    for entry in session.entries() {
        match entry {
            SavedEntry::Code(cell) => code(cell, &mut page),
            SavedEntry::Prompt(prompt) => exchange(prompt, &mut page),
        }
    }
    page
}

fn code(cell: &SavedCell, page: &mut String) {
    if let Some(value) = note_value(&cell.source) {
        return block(&value, page);
    }
    block(&format!("In [{}]:", cell.line), page);
    fenced("python", &cell.source, page);
    for output in &cell.outputs {
        match output {
            CellOutput::Stream { text, .. } => fenced("text", text, page),
            CellOutput::Error(error) => fenced("text", &error.plain(), page),
            CellOutput::Result(bundle) => {
                block(&format!("Out[{}]:", cell.line), page);
                value(bundle, page);
            }
            CellOutput::Display(bundle) => value(bundle, page),
        }
    }
}

fn value(bundle: &MimeBundle, page: &mut String) {
    if let Some((mime, base64)) = bundle.image() {
        return block(&format!("![{mime}](data:{mime};base64,{base64})"), page);
    }
    match bundle.text("text/markdown") {
        Some(markdown) => block(&markdown, page),
        None => fenced("text", &bundle.for_model(), page),
    }
}

fn exchange(prompt: &SavedPrompt, page: &mut String) {
    let quoted: Vec<String> = prompt
        .prompt
        .lines()
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect();
    block(&quoted.join("\n"), page);
    block(&display_form(&prompt.response), page);
}

fn block(text: &str, page: &mut String) {
    if !text.trim().is_empty() {
        page.push_str(&format!("\n{}\n", text.trim_end()));
    }
}

fn fenced(info: &str, text: &str, page: &mut String) {
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return;
    }
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    page.push_str(&format!("\n{fence}{info}\n{text}\n{fence}\n"));
}
