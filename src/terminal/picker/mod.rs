//! The session picker: a list that narrows as one types, with a preview of each session's end; rename and delete
//! inside.
//!
//! In: an [`Archive`]. Out: [`PickerOutcome`]. The list is read page by page between keys, so the first rows appear at
//! once however many there are. Absent on purpose: resuming the picked session.

mod draw;
mod state;

use std::path::Path;

use crossterm::event::Event;

use crate::record::Archive;
use crate::screen::Screen;
use crate::screen::guard::TerminalGuard;
use crate::terminal::panel::Panel;
use crate::terminal::signals::restore_on_signal;
use crate::text::report::Report;
use state::{Picker, PickerEffect};

/// Sessions read before the first frame: enough for most screens.
const FIRST: u32 = 30;

/// Sessions read at a time between keys.
const PAGE: u32 = 200;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerOutcome {
    Session(i64),
    Cancelled,
    /// There is none for this directory; nothing was shown.
    Nothing,
}

/// Lets the user pick a session of `cwd` (else of the git root above it), or of any directory.
///
/// The session `without` is not offered. The terminal is unchanged after the return. Call this between two reads of
/// the editor, or before the first.
///
/// # Errors
/// Fails when the terminal cannot be used, or the record cannot be read.
pub fn pick(
    screen: &Screen,
    guard: Option<&TerminalGuard>,
    archive: &mut Archive,
    cwd: &Path,
    without: Option<i64>,
) -> Result<PickerOutcome, Report> {
    let near = archive.nearby_scope(cwd)?;
    let mut picker = Picker::new(near);
    more(&mut picker, archive, without)?;
    if picker.rows.is_empty() {
        return Ok(PickerOutcome::Nothing);
    }
    let panel = Panel::open(screen, guard)?;
    loop {
        if let Some(id) = picker.wants_glance() {
            picker.glance = Some((id, archive.preview(id)?));
        }
        panel.show(&draw::frame(&picker, panel.size()))?;
        let effect = match panel.next_or(|| more(&mut picker, archive, without))? {
            Some(Event::Key(key)) => picker.on_key(&key),
            Some(Event::Paste(text)) => picker.on_paste(&text),
            _ => PickerEffect::Nothing,
        };
        match effect {
            PickerEffect::Nothing => {}
            PickerEffect::Resume(id) => return Ok(PickerOutcome::Session(id)),
            PickerEffect::Cancel => return Ok(PickerOutcome::Cancelled),
            PickerEffect::Delete(id) => {
                let deleted = archive.delete(id);
                picker.on_deleted(id, deleted);
            }
            PickerEffect::Rename(id, name) => {
                let renamed = archive.rename(id, &name);
                picker.on_renamed(id, &name, renamed);
            }
        }
    }
}

/// As [`pick`], before there is a session: takes the terminal and gives it back.
///
/// # Errors
/// As [`pick`].
pub fn pick_at_startup(
    screen: &Screen,
    archive: &mut Archive,
    cwd: &Path,
) -> Result<PickerOutcome, Report> {
    let guard = TerminalGuard::acquire();
    let _watch = match &guard {
        Some(guard) => {
            guard.restore_on_crash();
            Some(restore_on_signal(guard.restorer())?)
        }
        None => None,
    };
    pick(screen, guard.as_ref(), archive, cwd, None)
}

/// Reads the next page; returns whether there is a change to show, `None` when all is read.
fn more(
    picker: &mut Picker,
    archive: &mut Archive,
    without: Option<i64>,
) -> Result<Option<bool>, Report> {
    let scope = picker.scope().clone();
    if let Some(before) = picker.next_page() {
        let most = if picker.rows.is_empty() { FIRST } else { PAGE };
        let mut rows = archive.page(&scope, before, most)?;
        let complete = rows.len() < most as usize;
        rows.retain(|row| Some(row.id) != without);
        picker.add(rows, complete);
        return Ok(Some(true));
    }
    if let Some((needle, before)) = picker.next_search() {
        let (mut found, last) = archive.search(needle, &scope, before, PAGE)?;
        found.retain(|entry| Some(entry.session) != without);
        return Ok(Some(picker.add_found(found, last)));
    }
    Ok(None)
}
