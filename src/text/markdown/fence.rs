//! A fenced code block at top level that has not ended yet.
//!
//! In: its opening line, then its lines. Out: the runs of each, and whether a line closes the block. Invariant:
//! lines before the current one are never read again. Rules: CommonMark 0.31 §4.5. Absent on purpose: fences inside
//! lists and quotes, which the parser handles as part of their container.

use nu_ansi_term::Style;

use super::code::{CodeHighlighter, Runs};
use super::fences::is_python;
use super::theme::Appearance;
use crate::expand_tabs;

pub(crate) struct OpenFence {
    mark: char,
    length: usize,
    indent: usize,
    info: String,
    highlighter: Option<CodeHighlighter>,
    pub(crate) gap: bool,
    /// True for Python until its first line that is not blank, with which it gets its number.
    pub(crate) uncounted: bool,
}

impl OpenFence {
    /// Parses an opening line; `None` for any other line.
    pub(crate) fn open(line: &str) -> Option<Self> {
        let content = line.trim_start_matches(' ');
        let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = content.trim_start_matches(mark);
        let uncounted = is_python(info);
        Some(OpenFence {
            mark,
            length: content.len() - info.len(),
            indent: line.len() - content.len(),
            info: info.trim().to_owned(),
            highlighter: None,
            gap: false,
            uncounted,
        })
    }

    pub(crate) fn begin(&mut self, appearance: &Appearance) {
        let theme = appearance.colour.then_some(appearance.theme);
        self.highlighter = Some(CodeHighlighter::new(&self.info, theme));
    }

    pub(crate) fn closes(&self, line: &str) -> bool {
        let content = line.trim_start_matches(' ');
        let rest = content.trim_start_matches(self.mark);
        line.len() - content.len() <= 3
            && content.len() - rest.len() >= self.length
            && rest.trim_matches([' ', '\t']).is_empty()
    }

    /// True when an unfinished line could become the closing one.
    pub(crate) fn may_close(&self, line: &str) -> bool {
        line.trim_matches(' ')
            .trim_start_matches(self.mark)
            .is_empty()
    }

    pub(crate) fn highlight(&mut self, line: &str) -> Runs {
        let text = self.content(line);
        match &mut self.highlighter {
            Some(highlighter) => highlighter.line(&text),
            None => vec![(text, Style::new())],
        }
    }

    /// Returns the runs of an unfinished line, not coloured yet.
    pub(crate) fn plain(&self, line: &str) -> Runs {
        vec![(self.content(line), Style::new())]
    }

    /// Removes as many leading columns of blanks as the opening line has.
    fn content(&self, line: &str) -> String {
        let mut column = 0;
        let mut rest = line;
        while column < self.indent {
            if let Some(after) = rest.strip_prefix(' ') {
                column += 1;
                rest = after;
            } else if let Some(after) = rest.strip_prefix('\t') {
                column += 4 - column % 4;
                rest = after;
            } else {
                break;
            }
        }
        " ".repeat(column.saturating_sub(self.indent)) + &expand_tabs(rest, 0)
    }
}
