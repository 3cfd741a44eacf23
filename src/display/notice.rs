//! Notices as lines on the screen.
//!
//! In: a [`Notice`], or the end of an interpreter. Out: text that is safe to write and fits the screen, with its
//! hints below.

use nu_ansi_term::Style;

use crate::screen::{Screen, ScreenError};
use crate::session::Notice;
use crate::text::NOTICED;
use crate::text::escape::visible_lines;
use crate::text::{counted, hanging};

/// Indent of the second and later rows of a hint, in columns.
const HINT_INDENT: usize = 8;

/// Copies a text to the clipboard; returns a message about the outcome.
pub fn copy_to_clipboard(screen: &Screen, what: &str, text: &str) -> String {
    match screen.copy(text) {
        Ok(()) => format!(
            "copied {what}: {}",
            counted(text.chars().count(), "character")
        ),
        Err(why) => format!("{what} is not copied: {why}"),
    }
}

pub fn death_notice(cause: &str, restarting: bool) -> Notice {
    let notice = Notice::warning(format!(
        "the interpreter ended ({cause}); its variables are lost"
    ));
    if restarting {
        notice.hint("a fresh one is starting; the cell was not run again (Up brings it back)")
    } else {
        notice.hint("it ended twice within a minute: the next cell starts a new one")
    }
}

pub fn print_notice(screen: &Screen, notice: &Notice) -> Result<(), ScreenError> {
    screen.write_trusted(notice_text(notice, screen).as_bytes())?;
    screen.flush()
}

/// Renders a notice as safe text for this screen, ending in a newline.
pub fn notice_text(notice: &Notice, screen: &Screen) -> String {
    let width = usize::from(screen.size().columns);
    let style = match (screen.colour(), notice.warning) {
        (false, _) => Style::new(),
        (true, true) => NOTICED.normal(),
        (true, false) => Style::new().dimmed(),
    };
    let mut text = style
        .paint(hanging(&visible_lines(&notice.message), width, 0))
        .to_string();
    for hint in &notice.hints {
        let hint = format!("  hint: {}", visible_lines(hint));
        text.push('\n');
        text.push_str(&hanging(&hint, width, HINT_INDENT));
    }
    text.push('\n');
    text
}
