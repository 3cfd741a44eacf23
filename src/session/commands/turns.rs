//! `hide`, `show`, `compact`, `copy`, `history` and repeated prompts.
//!
//! Commands read the record first, so that each one either succeeds whole or is refused. Hiding only marks entries
//! in the record: the next request is built without them, and its digest decides about the agent's thread.

use std::ops::RangeInclusive;

use super::undo::named;
use crate::dialog::{Dialog, PromptEntry, display_form};
use crate::editor::EditorRequest;
use crate::effect::{Effect, Found, RecordWrite, To, emit, warn};
use crate::events::{Notice, TextEvent};
use crate::input::is_ipycodex_input;
use crate::magics::CopyTarget;
use crate::markdown::fences::python_blocks;
use crate::output::mime::MimeBundle;
use crate::record::RecordHandle;

/// The longest conversation, in lines, that is printed; a longer one goes to the pager.
const PRINTED: usize = 40;

/// The most prompts that one line names.
const PROMPTS: usize = 20;

/// Hides entries from the conversation, or restores them: all of them or, when one cannot be, none.
pub(super) async fn hide(
    record: RecordHandle,
    lines: Vec<RangeInclusive<u32>>,
    hidden: bool,
    number: u32,
) -> Vec<Effect> {
    let chosen = match chosen(&record.dialog().await, &lines, number) {
        Err(why) => return warn(why),
        Ok(chosen) => chosen,
    };
    let hide = |line: &u32| {
        let lines = *line..=*line;
        Effect::Record(RecordWrite::Hide { lines, hidden })
    };
    let mut effects: Vec<Effect> = chosen.iter().map(hide).collect();
    let lines: Vec<String> = chosen.iter().map(u32::to_string).collect();
    let done = if hidden { "Hidden" } else { "Shown" };
    effects.extend(emit(TextEvent::Text(format!(
        "{done}: {}",
        lines.join(", ")
    ))));
    effects
}

/// Puts a cell back into the conversation if it is hidden; else shows its output.
pub(super) async fn show_cell(record: RecordHandle, line: u32, number: u32) -> Vec<Effect> {
    let dialog = record.dialog().await;
    let cell = dialog.cells.into_iter().find(|cell| cell.line == line);
    match cell {
        Some(cell) if !cell.hidden => match cell.output {
            Some(output) => emit(TextEvent::Verbatim(output)),
            None => emit(Notice::note(format!("In [{line}] has no output"))),
        },
        _ => hide(record, vec![line..=line], false, number).await,
    }
}

/// Copies a part of the conversation to the clipboard.
pub(super) async fn copy(record: RecordHandle, copied: CopyTarget, number: u32) -> Vec<Effect> {
    let dialog = record.dialog().await;
    let (what, text) = match copied {
        CopyTarget::Entry(line) => {
            let cell = dialog.cells.iter().find(|cell| cell.line == line);
            let prompt = dialog.prompts.iter().find(|prompt| prompt.line == line);
            match (prompt, cell) {
                (Some(prompt), _) => (format!("the answer of [{line}]"), answer(&prompt.response)),
                (None, Some(cell)) => (format!("In [{line}]"), cell.source.clone()),
                (None, None) => return warn(no_entry(&dialog, line, number)),
            }
        }
        CopyTarget::Answer | CopyTarget::Code => match (dialog.last_exchange(), copied) {
            (None, _) => return warn("there is no answer yet"),
            (Some(last), CopyTarget::Code) => match python_blocks(&answer(&last.response)) {
                blocks if blocks.is_empty() => return warn("the last answer has no Python block"),
                blocks => (format!("the code of [{}]", last.line), blocks.join("\n")),
            },
            (Some(last), _) => (
                format!("the answer of [{}]", last.line),
                answer(&last.response),
            ),
        },
    };
    vec![Effect::RequestEditor(
        To::Job,
        EditorRequest::Copy { what, text },
    )]
}

pub(crate) async fn repeat(record: RecordHandle) -> Vec<Effect> {
    let dialog = record.dialog().await;
    let Some(last) = dialog.last_exchange() else {
        return warn("there is no prompt to repeat");
    };
    let mut effects = emit(Notice::note(format!("again: {}", named(&last.prompt))));
    let text = last.prompt.clone();
    effects.push(Effect::found(Found::Resend { line: None, text }));
    effects
}

/// Shortens the conversation, if there is one.
pub(super) async fn compact(record: RecordHandle, keep: String) -> Vec<Effect> {
    let dialog = record.dialog().await;
    if dialog.exchanges().is_empty() && dialog.next_context().is_empty() {
        return emit(Notice::note("there is no conversation to shorten yet"));
    }
    vec![Effect::found(Found::Compaction(keep))]
}

/// Renders a stored answer as it is shown.
fn answer(stored: &str) -> String {
    display_form(stored).trim_end().to_owned()
}

/// Shows the conversation so far; a long one in the pager.
pub(super) async fn show_history(record: RecordHandle) -> Vec<Effect> {
    let text = conversation(&record.dialog().await);
    if text.is_empty() {
        emit(Notice::note("nothing has been run or said yet"))
    } else if text.lines().count() <= PRINTED {
        emit(TextEvent::Verbatim(text))
    } else {
        emit(TextEvent::Page(MimeBundle::plain(text)))
    }
}

/// Returns the In numbers of the entries that `lines` selects; a single number must be an entry, a range must hold
/// one.
fn chosen(dialog: &Dialog, lines: &[RangeInclusive<u32>], own: u32) -> Result<Vec<u32>, String> {
    let mut chosen = Vec::new();
    for range in lines {
        let (from, to) = (*range.start(), *range.end());
        let mut entries: Vec<u32> = dialog
            .cells
            .iter()
            .map(|cell| (cell.line, kind(dialog, cell.line)))
            .chain(
                dialog
                    .prompts
                    .iter()
                    .map(|prompt| (prompt.line, Kind::Entry)),
            )
            .filter(|(line, kind)| range.contains(line) && *kind == Kind::Entry)
            .map(|(line, _)| line)
            .collect();
        entries.sort_unstable();
        entries.dedup();
        match entries.as_slice() {
            [] if from == to => return Err(no_entry(dialog, from, own)),
            [] => return Err(format!("no cell and no exchange in {from}-{to}")),
            _ => chosen.append(&mut entries),
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Entry,
    BeforeReset,
    Command,
    Unanswered,
    Nothing,
}

fn kind(dialog: &Dialog, line: u32) -> Kind {
    if dialog.prompts.iter().any(|prompt| prompt.line == line) {
        return Kind::Entry;
    }
    let Ok(at) = dialog.cells.binary_search_by_key(&line, |cell| cell.line) else {
        return Kind::Nothing;
    };
    let source = dialog.cells[at].source.trim_start();
    match source {
        source if is_ipycodex_input(source) && source.starts_with('.') => Kind::Unanswered,
        source if is_ipycodex_input(source) => Kind::Command,
        _ if line <= dialog.reset_line => Kind::BeforeReset,
        _ => Kind::Entry,
    }
}

fn no_entry(dialog: &Dialog, line: u32, own: u32) -> String {
    match kind(dialog, line) {
        Kind::BeforeReset => {
            format!("In [{line}] is before the reset: it is not part of the conversation")
        }
        Kind::Command => format!("In [{line}] is a command: it is not part of the conversation"),
        Kind::Unanswered => {
            format!("In [{line}] has no answer: it is not part of the conversation")
        }
        Kind::Entry | Kind::Nothing => {
            format!(
                "there is no In [{line}]; the last one is In [{}]",
                own.saturating_sub(1)
            )
        }
    }
}

/// Returns true when the conversation holds a cell or an exchange.
pub(super) fn has_entry(dialog: &Dialog) -> bool {
    let mut lines = dialog.cells.iter().map(|cell| cell.line);
    !dialog.prompts.is_empty() || lines.any(|line| kind(dialog, line) == Kind::Entry)
}

/// Returns why there is no prompt with this number that could be edited, and which ones could be.
pub(super) fn why_no_prompt(dialog: &Dialog, line: u32) -> String {
    let hidden = |prompt: &&PromptEntry| prompt.line == line && prompt.hidden;
    let why = match kind(dialog, line) {
        _ if dialog.prompts.iter().any(|prompt| hidden(&prompt)) => format!(
            "the prompt [{line}] is out of the conversation (`%ipycodex show {line}` puts it back)"
        ),
        Kind::Unanswered if line <= dialog.reset_line => {
            format!("the prompt [{line}] is before the reset")
        }
        Kind::Unanswered => format!("the prompt [{line}] has no answer"),
        Kind::Command => format!("In [{line}] is a command, not a prompt"),
        Kind::Entry | Kind::BeforeReset => format!("In [{line}] is a cell, not a prompt"),
        Kind::Nothing => format!("there is no In [{line}] in this session"),
    };
    let prompts = dialog.prompts.iter().filter(|prompt| !prompt.hidden);
    let prompts: Vec<u32> = prompts.map(|prompt| prompt.line).collect();
    let named = |lines: &[u32]| {
        let names: Vec<String> = lines.iter().map(|line| format!("[{line}]")).collect();
        names.join(" ")
    };
    match prompts.len() {
        0 => format!("{why}; there is no prompt to edit yet"),
        1 => format!("{why}; the only prompt is {}", named(&prompts)),
        2..=PROMPTS => format!("{why}; the prompts are {}", named(&prompts)),
        count => format!(
            "{why}; the last prompts are {}",
            named(&prompts[count - PROMPTS..])
        ),
    }
}

/// Renders all entries in order: inputs with their numbers, outputs, answers.
fn conversation(dialog: &Dialog) -> String {
    let mut text = String::new();
    let mut prompts = dialog.prompts.iter().peekable();
    for cell in &dialog.cells {
        let answered = prompts.next_if(|prompt| prompt.line == cell.line);
        if kind(dialog, cell.line) == Kind::Command {
            continue;
        }
        let hidden = answered.map_or(cell.is_excluded(), |prompt| prompt.hidden);
        let mark = if hidden { " (hidden)" } else { "" };
        let mut lines = cell.source.trim_end().lines();
        let first = lines.next().unwrap_or_default();
        text.push_str(&format!("In [{}]{mark}: {first}\n", cell.line));
        let width = format!("In [{}]{mark}", cell.line).chars().count();
        for line in lines {
            text.push_str(&format!("{:>width$}: {line}\n", "..."));
        }
        let shown = match answered {
            Some(prompt) => display_form(&prompt.response),
            None => cell.output.clone().unwrap_or_default(),
        };
        if !shown.trim().is_empty() {
            text.push_str(shown.trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
