//! Edits of the buffer made between two reads of the editor, and leaving the edited line on the screen.

use std::ops::Range;

use reedline::{Prompt, Reedline};

use crate::config::KeyAction;
use crate::screen::Screen;
use crate::terminal::keys::edits::{self, Change};
use crate::terminal::keys::kill_ring::KillRing;
use crate::terminal::keys::typed_text::TypedText;
use crate::terminal::prompt::Label;
use crate::text::columns;
use crate::text::report::Report;

/// Makes a change whose text was unknown when the keys were parsed.
pub(super) fn change(line: &mut Reedline, ring: &mut KillRing, action: KeyAction) {
    let text = line.current_buffer_contents().to_owned();
    let typed = TypedText::new(text, line.current_insertion_point());
    let selected: Option<Range<usize>> = line
        .current_selection()
        .map(|(start, end)| start..end)
        .filter(|selected| !selected.is_empty());
    let change = match action {
        KeyAction::Complete | KeyAction::Inspect => {
            let lines = selected.clone().unwrap_or(typed.line());
            let inwards = action == KeyAction::Complete;
            Some(edits::shift(&typed.text, lines, inwards))
        }
        KeyAction::Yank => {
            let range = selected.unwrap_or(typed.cursor..typed.cursor);
            let with = ring.yank(range.start);
            with.map(|with| Change { range, with })
        }
        KeyAction::YankPop => ring.rotate().map(|(range, with)| Change { range, with }),
        action => selected
            .or_else(|| edits::cut(action, &typed))
            .map(|range| {
                ring.cut(&typed.text[range.clone()], edits::cuts_back(action));
                let with = String::new();
                Change { range, with }
            }),
    };
    if let Some(change) = change {
        line.run_edit_commands(&change.commands());
    }
}

/// Moves below the typed text, which stays on the screen, and clears the rows there (a suggestion, a menu); then
/// writes `then`. The prompt is painted again below the output.
///
/// # Errors
/// Fails when the terminal cannot be written.
pub(super) fn leave_line(
    line: &Reedline,
    label: &Label,
    screen: &Screen,
    then: &str,
) -> Result<(), Report> {
    let width = usize::from(screen.size().columns).max(1);
    let text = line.current_buffer_contents();
    let cursor = line.current_insertion_point().min(text.len());
    // Later lines have a label as wide as the first.
    let label = columns(&label.render_prompt_left());
    let place = |to: usize| {
        let before = text.get(..to).unwrap_or(text).split('\n');
        before.fold((0, 0), |(row, _), line| {
            let columns = label + columns(line);
            (row + 1 + columns / width, columns % width)
        })
    };
    let ((from, _), (to, column)) = (place(cursor), place(text.len()));
    let down = match to.saturating_sub(from) {
        0 => String::new(),
        down => format!("\x1b[{down}B"),
    };
    let right = column + 1;
    screen.write_trusted(format!("{down}\x1b[{right}G\x1b[J{then}").as_bytes())?;
    Ok(screen.flush()?)
}
