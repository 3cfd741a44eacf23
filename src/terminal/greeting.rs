//! The greeting of a new session: three lines the first time, one dim line later.
//!
//! In: facts known before anything runs. Out: text. Invariant: the greeting asks, starts and reads nothing, so it
//! does not claim that IPython is installed. Absent on purpose: when to greet (start-up decides).

use std::path::{Path, PathBuf};

use nu_ansi_term::Style;

use crate::text::escape::visible;
use crate::text::hanging;

pub struct Greeting {
    /// The record is still empty.
    pub first: bool,
    /// The interpreter that will be tried first, if one was found.
    pub python: Option<PathBuf>,
    /// The name, as given, of the kernel that runs cells instead of Python.
    pub elsewhere: Option<String>,
    /// IPython's shell is used where it can be imported.
    pub ipython: bool,
    pub agent: String,
}

impl Greeting {
    /// Returns the lines for a screen of this width, with a final newline.
    pub(super) fn text(&self, colour: bool, width: usize) -> String {
        let python = self.python.as_deref().map(Path::to_string_lossy);
        let python = python.as_deref().or(self.elsewhere.as_deref());
        let python = python.map(visible);
        let python = python.as_deref().unwrap_or("no Python found");
        if !self.first {
            let version = env!("CARGO_PKG_VERSION");
            let line = format!("ipycodex {version} · {python} · %ipycodex help");
            let line = hanging(&line, width, 0);
            return if colour {
                format!("{}\n", Style::new().dimmed().paint(line))
            } else {
                line + "\n"
            };
        }
        let engine = match (&self.python, self.ipython) {
            _ if self.elsewhere.is_some() => format!("Cells run in {python}."),
            (None, _) => {
                "Cells need Python, and none was found: run a cell to see what to do.".to_owned()
            }
            (_, true) => format!("Cells run in {python}, with IPython if it is installed there."),
            (_, false) => format!("Cells run in {python}, with the built-in engine."),
        };
        let text = format!(
            "{engine}\n.hello asks {}: a line that begins with a dot goes to the agent.\n\
             %ipycodex help lists the commands; %ipycodex set greeting false hides this.\n",
            visible(&self.agent)
        );
        hanging(&text, width, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_lines_the_first_time_and_one_later() {
        let greeting = |first, python: Option<&str>, ipython| Greeting {
            first,
            python: python.map(PathBuf::from),
            elsewhere: None,
            ipython,
            agent: "codex".into(),
        };
        let rest = ".hello asks codex: a line that begins with a dot goes to the agent.\n\
                    %ipycodex help lists the commands; %ipycodex set greeting false hides this.\n";
        for (python, ipython, expected) in [
            (
                Some("/p/python3"),
                true,
                "Cells run in /p/python3, with IPython if it is installed there.",
            ),
            (
                Some("/p/\u{1b}[2J"),
                false,
                "Cells run in /p/^[[2J, with the built-in engine.",
            ),
            (
                None,
                true,
                "Cells need Python, and none was found: run a cell to see what to do.",
            ),
        ] {
            assert_eq!(
                greeting(true, python, ipython).text(true, 100),
                format!("{expected}\n{rest}")
            );
        }
        let version = env!("CARGO_PKG_VERSION");
        let line = format!("ipycodex {version} · /p/python3 · %ipycodex help");
        let later = greeting(false, Some("/p/python3"), true);
        assert_eq!(later.text(false, 100), format!("{line}\n"));
        assert_eq!(later.text(true, 100), format!("\u{1b}[2m{line}\u{1b}[0m\n"));
    }
}
