//! The labels in front of the input: IPython's `In [n]: ` and ` ...: `, with vi's mode before them as in IPython.

use std::borrow::Cow;

use nu_ansi_term::Color;
use reedline::{
    Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, PromptViMode,
};

use crate::input::Mode;
use crate::session::SessionHandle;
use crate::terminal::snapshot::{SharedSnapshot, lock_snapshot};

#[derive(Clone)]
pub(super) struct Label {
    line: u32,
    /// Source of the number while it may still change.
    session: Option<SessionHandle>,
    replaces: Option<u32>,
    /// For the input mode and vi's mode.
    snapshot: SharedSnapshot,
}

impl Label {
    /// `In [n]: `, or `Pr [n]: ` in prompt mode, as the snapshot has it at each paint.
    pub(super) fn new(line: u32, snapshot: SharedSnapshot) -> Self {
        Label {
            line,
            session: None,
            replaces: None,
            snapshot,
        }
    }

    /// Uses the session's current number at each paint.
    pub(super) fn following(self, session: SessionHandle) -> Self {
        Label {
            session: Some(session),
            ..self
        }
    }

    /// Returns the label for a text that replaces the prompt with this In number.
    pub(super) fn replacing(&self, line: u32) -> Self {
        Label {
            replaces: Some(line),
            ..self.clone()
        }
    }

    /// For example `[nav] In [n]: `, or `[plan] In [n]: ` in plan mode.
    fn own(&self) -> String {
        let (mode, vi, plan) = {
            let snapshot = lock_snapshot(&self.snapshot);
            (snapshot.mode, snapshot.vi.clone(), snapshot.plan)
        };
        let vi = match vi {
            None => "",
            Some(PromptViMode::Insert) => "[ins] ",
            Some(PromptViMode::Normal) => "[nav] ",
            Some(PromptViMode::Visual) => "[vis] ",
        };
        let name = match mode {
            Mode::Cells => "In",
            Mode::Prompts => "Pr",
            Mode::Shell => "$",
        };
        let session = self.session.as_ref();
        let line = session.map_or(self.line, SessionHandle::next_line);
        let plan = if plan { "[plan] " } else { "" };
        format!("{vi}{plan}{name} [{line}]: ")
    }
}

impl Prompt for Label {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        let own = self.own();
        Cow::Owned(match self.replaces {
            Some(line) => format!("{own}(replaces In [{line}] and after) "),
            None => own,
        })
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Owned(format!("{:>1$}", "...: ", self.own().len()))
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
    use crate::terminal::snapshot::Snapshot;

    #[test]
    fn labels_are_ipythons_and_line_up() {
        let (cells, prompts) = (Mode::Cells, Mode::Prompts);
        for (line, mode, vi, left, continuation) in [
            (1, cells, None, "In [1]: ", "   ...: "),
            (12, cells, None, "In [12]: ", "    ...: "),
            (3, prompts, None, "Pr [3]: ", "   ...: "),
            (
                3,
                cells,
                Some(PromptViMode::Insert),
                "[ins] In [3]: ",
                "         ...: ",
            ),
            (
                3,
                prompts,
                Some(PromptViMode::Normal),
                "[nav] Pr [3]: ",
                "         ...: ",
            ),
        ] {
            let snapshot = Snapshot::new(mode);
            lock_snapshot(&snapshot).vi.clone_from(&vi);
            let label = Label::new(line, snapshot);
            assert_eq!(label.render_prompt_left(), left);
            assert_eq!(label.render_prompt_multiline_indicator(), continuation);
            let replacing = format!("{left}(replaces In [2] and after) ");
            assert_eq!(label.replacing(2).render_prompt_left(), replacing);
            lock_snapshot(&label.snapshot).plan = true;
            let planning = left.replace("In", "[plan] In").replace("Pr", "[plan] Pr");
            assert_eq!(label.render_prompt_left(), planning);
        }
    }
}
