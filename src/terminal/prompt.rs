//! The labels in front of the input: IPython's `In [n]: ` and `   ...: `.

use std::borrow::Cow;

use nu_ansi_term::Color;
use reedline::{Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus};

use crate::session::SessionHandle;

/// The label of one input.
#[derive(Clone)]
pub(super) struct Label {
    line: u32,
    /// Tells the number while it may still change.
    session: Option<SessionHandle>,
    prompt_mode: bool,
    note: String,
}

impl Label {
    /// `In [n]: `, or `Pr [n]: ` in prompt mode.
    pub(super) fn new(line: u32, prompt_mode: bool) -> Self {
        Label {
            line,
            session: None,
            prompt_mode,
            note: String::new(),
        }
    }

    /// With the number the session names whenever the label is painted.
    pub(super) fn following(self, session: SessionHandle) -> Self {
        Label {
            session: Some(session),
            ..self
        }
    }

    fn number(&self) -> String {
        let line = self
            .session
            .as_ref()
            .map_or(self.line, SessionHandle::next_line);
        format!("{} [{line}]: ", if self.prompt_mode { "Pr" } else { "In" })
    }

    /// The same, saying that the text takes the place of the prompt of this In number.
    pub(super) fn replacing(&self, line: u32) -> Self {
        Label {
            note: format!("(replaces In [{line}] and after) "),
            ..self.clone()
        }
    }
}

impl Prompt for Label {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Owned(self.number() + &self.note)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Owned(format!("{:>1$}", "...: ", self.number().len()))
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let state = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "failing ",
        };
        Cow::Owned(format!("({state}reverse-search: {}) ", search.term))
    }

    fn get_prompt_color(&self) -> Color {
        Color::Green
    }

    fn get_prompt_multiline_color(&self) -> Color {
        Color::Green
    }

    fn get_indicator_color(&self) -> Color {
        Color::Green
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_ipythons_and_line_up() {
        for (line, prompt_mode, left, continuation) in [
            (1, false, "In [1]: ", "   ...: "),
            (12, false, "In [12]: ", "    ...: "),
            (3, true, "Pr [3]: ", "   ...: "),
        ] {
            let label = Label::new(line, prompt_mode);
            assert_eq!(label.render_prompt_left(), left);
            assert_eq!(label.render_prompt_multiline_indicator(), continuation);
        }
    }
}
