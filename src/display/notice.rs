//! Notices as lines on the screen.
//!
//! In: a [`Notice`], or a death of the interpreter. Out: text that is safe to write, its hints below it.

use nu_ansi_term::{Color, Style};

use crate::screen::{Screen, ScreenError};
use crate::session::Notice;
use crate::text::escape::visible_lines;

/// What is said of a dead interpreter.
pub fn died(cause: &str, restarting: bool) -> Notice {
    let notice = Notice::warning(format!(
        "the Python interpreter ended ({cause}); its variables are lost"
    ));
    if restarting {
        notice.hint("a fresh one is starting; the cell was not run again (Up brings it back)")
    } else {
        notice.hint("it ended twice within a minute: the next cell starts a new one")
    }
}

/// Prints a notice: its line, then its hints.
pub fn say(screen: &Screen, notice: &Notice) -> Result<(), ScreenError> {
    screen.trusted(notice_text(notice, screen.colour()).as_bytes())?;
    screen.flush()
}

/// A notice as safe text, ending in a newline.
pub fn notice_text(notice: &Notice, colour: bool) -> String {
    let style = match (colour, notice.warning) {
        (false, _) => Style::new(),
        (true, true) => Color::Yellow.normal(),
        (true, false) => Style::new().dimmed(),
    };
    let mut text = style
        .paint(visible_lines(&notice.message).as_ref())
        .to_string();
    for hint in &notice.hints {
        text.push_str(&format!("\n  hint: {}", visible_lines(hint)));
    }
    text.push('\n');
    text
}
