//! Files that an agent changed, in its answer: what is long is shortened, and opened at the prompt.

use nu_ansi_term::Style;

use super::AnswerView;
use crate::agent::{FileChange, FileWritten};
use crate::display::asking::print;
use crate::display::diff;
use crate::display::rows::Rows;
use crate::screen::ScreenError;
use crate::text::counted;
use crate::text::escape::visible;

/// Lines of a changed file that are shown at once.
const DIFF_LINES: usize = 20;

impl AnswerView {
    /// Changed files: each with its diff, a long one shortened.
    pub(super) fn files(&mut self, changes: &[FileChange]) -> Result<(), ScreenError> {
        self.settle()?;
        let width = usize::from(self.screen.size().columns);
        let mut whole = Rows::new(width);
        let mut shortened = false;
        for change in changes {
            let head = format!("✎ {}", visible(&diff::head(change)));
            let mut rows = Rows::new(width);
            for rows in [&mut rows, &mut whole] {
                rows.text(0, &head, Style::new());
            }
            diff::body(change, usize::MAX, &self.appearance, &mut whole);
            let left_out = diff::body(change, DIFF_LINES, &self.appearance, &mut rows);
            if left_out > 0 {
                shortened = true;
                let more = counted(left_out, "more line") + " (Ctrl-O at the prompt shows all)";
                rows.text(0, &format!("  … {more}"), Style::new().dimmed());
            }
            print(&self.screen, &rows.into_rows())?;
        }
        self.printed = true;
        if shortened {
            let colour = self.screen.colour();
            let lines: Vec<String> = whole
                .into_rows()
                .iter()
                .map(|line| line.to_ansi(colour))
                .collect();
            self.folded = Some(lines.join("\n"));
        }
        self.screen.flush()
    }

    /// A file was written: a line; what has changed in it is opened.
    pub(super) fn wrote(&mut self, written: &FileWritten) -> Result<(), ScreenError> {
        self.settle()?;
        let mut rows = Rows::new(usize::from(self.screen.size().columns));
        rows.text(0, &format!("✎ {}", visible(&written.told())), Style::new());
        diff::body(&written.change, usize::MAX, &self.appearance, &mut rows);
        let rows = rows.into_rows();
        let more = match rows.len() > 1 {
            true => "  (Ctrl-O at the prompt shows it)",
            false => "",
        };
        self.line(&format!("✎ {}{more}", written.told()), Style::new())?;
        if rows.len() > 1 {
            let colour = self.screen.colour();
            let lines: Vec<String> = rows.iter().map(|line| line.to_ansi(colour)).collect();
            // Several of them are opened together.
            let folded = self.folded.get_or_insert_default();
            if !folded.is_empty() {
                folded.push('\n');
            }
            folded.push_str(&lines.join("\n"));
        }
        Ok(())
    }
}
