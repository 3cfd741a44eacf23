//! Suggestions as the editor meets them: painted, requested, typed along, accepted; no terminal, no agent.

use std::sync::mpsc;

use reedline::{FileBackedHistory, Hinter};

use super::*;
use crate::session::PendingSuggestion;
use crate::terminal::snapshot::Snapshot;

struct Stage {
    hints: Hints,
    hinter: Box<dyn Hinter>,
    drafts: mpsc::Receiver<(Draft, OnSuggestion)>,
    said: mpsc::Receiver<String>,
    history: FileBackedHistory,
}

fn stage() -> Stage {
    stage_with(Mode::Cells, &[])
}

/// A stage that suggests these earlier inputs.
fn stage_with(mode: Mode, earlier: &[&str]) -> Stage {
    let recall = Recall::default();
    earlier.iter().for_each(|text| recall.push(text));
    let hints = Hints::new(Snapshot::new(mode), recall);
    hints.suggest_history(true);
    let (ask, drafts) = mpsc::channel();
    let (say, said) = mpsc::channel();
    hints.connect(
        Box::new(move |draft, take| {
            ask.send((draft, take)).unwrap();
            PendingSuggestion::done()
        }),
        move |text| say.send(text.to_owned()).unwrap(),
    );
    hints.begin(8);
    let hinter = Box::new(hints.clone());
    Stage {
        hints,
        hinter,
        drafts,
        said,
        history: FileBackedHistory::default(),
    }
}

impl Stage {
    /// Returns the grey text behind `text`, and the text that the key for the whole hint accepts then.
    fn grey(&mut self, text: &str) -> (String, String) {
        let painted = self
            .hinter
            .handle(text, text.len(), &self.history, true, "");
        let key = ReedlineEvent::HistoryHintComplete;
        self.hints.state().keys.taking += usize::from(takes(&key));
        let grey = Style::new().fg(Color::DarkGray).paint("|").to_string();
        let (before, after) = grey.split_once('|').unwrap();
        let shown = painted.strip_prefix(before).unwrap_or(&painted);
        let shown = shown.strip_suffix(after).unwrap_or(shown).to_owned();
        (shown, self.hinter.complete_hint())
    }

    /// Returns the painted text behind `text` with the cursor at `|`.
    fn paint(&mut self, text: &str) -> String {
        let (text, cursor) = cursor(text);
        let history = &self.history;
        self.hinter.handle(&text, cursor, history, false, "")
    }

    /// Presses the key at `text` and paints; returns the inserted text.
    fn press(&mut self, text: &str) -> Option<String> {
        let event = self.hints.pressed();
        let taken = match event {
            ReedlineEvent::Edit(edits) => match edits.as_slice() {
                [EditCommand::InsertString(text)] => Some(text.clone()),
                other => panic!("{other:?}"),
            },
            ReedlineEvent::HistoryHintComplete => Some(self.hinter.complete_hint()),
            ReedlineEvent::Repaint => None,
            other => panic!("{other:?}"),
        };
        self.paint(text);
        taken
    }

    /// Requests a suggestion at `text` and answers it with `answer`.
    fn offer(&mut self, text: &str, answer: &str) {
        assert_eq!(self.press(text), None);
        let (draft, take) = self.drafts.try_recv().expect("it was asked");
        let (before, after) = text.split_once('|').unwrap();
        assert_eq!(
            (draft.before.as_str(), draft.after.as_str()),
            (before, after)
        );
        assert!(self.paint(text).contains('…'));
        take(Ok(answer.to_owned()));
    }

    /// Keys parsed in one read.
    fn keys(&self, taking: usize, other: bool) {
        let mut state = self.hints.state();
        state.keys.taking = taking;
        state.keys.other = other;
    }
}

fn cursor(text: &str) -> (String, usize) {
    (text.replacen('|', "", 1), text.find('|').expect("a cursor"))
}

#[test]
fn typing_along_keeps_the_rest_and_anything_else_drops_it() {
    let cases: [(&[&str], &str); 6] = [
        (&["x = tot|"], "‹al + 1›"),
        (&["x = tota|", "x = total |"], "‹+ 1›"),
        (&["x = total + 1|"], ""),
        (&["x = tota|", "x = tot|"], ""),
        (&["x = toto|"], ""),
        (&["x = |tot"], ""),
    ];
    for (painted, expected) in cases {
        let mut stage = stage();
        stage.offer("x = tot|", "al + 1");
        let mut shown = String::new();
        for text in painted {
            shown = stage.paint(text);
        }
        assert_eq!(shown, expected, "{painted:?}");
        let dropped = expected.is_empty();
        assert_eq!(
            stage.paint("x = tot|").is_empty(),
            dropped || painted.len() > 1
        );
    }
}

#[test]
fn an_answer_that_comes_late_is_not_shown() {
    let mut stage = stage();
    assert_eq!(stage.press("x|"), None);
    let (_, take) = stage.drafts.try_recv().unwrap();
    assert_eq!(stage.press("x|"), None, "it is on its way");
    assert!(stage.drafts.try_recv().is_err(), "and not asked for twice");
    assert_eq!(stage.paint("xy|"), "");
    assert_eq!(stage.press("xy|"), None);
    take(Ok("old".into()));
    assert_eq!(stage.paint("xy|"), " …");
    let (_, take) = stage.drafts.try_recv().unwrap();
    stage.hints.end();
    take(Ok("older".into()));
    assert_eq!(stage.paint("xy|"), "");
}

#[test]
fn a_blank_text_asks_nothing() {
    let mut stage = stage();
    for text in ["|", "  |\n"] {
        assert_eq!(stage.press(text), None);
    }
    assert!(stage.drafts.try_recv().is_err());
}

#[test]
fn a_hint_is_accepted_whole_or_by_words_and_only_as_shown() {
    let mut stage = stage();
    let rest = "al(a.b, 'c')\n    d";
    let take = |stage: &Stage, words: usize| -> Vec<String> {
        (0..words).map(|_| stage.hinter.next_hint_token()).collect()
    };
    stage.offer("tot|", rest);
    stage.keys(3, false);
    assert_eq!(take(&stage, 4), ["al", "(a", ".b", ""]);
    stage.paint("total(a.b|");
    stage.keys(1, true);
    assert_eq!(take(&stage, 2), [", 'c", ""]);
    stage.paint("total(a.b|");
    stage.keys(0, true);
    assert_eq!(
        stage.hinter.complete_hint(),
        "",
        "something was typed before"
    );
    stage.paint("total(a.b|");
    stage.keys(1, false);
    assert_eq!(stage.hinter.complete_hint(), ", 'c')\n    d");
    stage.paint("total(a.b|");
    assert_eq!(stage.press("total(a.b|").as_deref(), Some(", 'c')\n    d"));
}

#[test]
fn in_the_middle_it_stands_below_and_the_key_puts_it_in() {
    let mut stage = stage();
    stage.offer("f(|)\nx", "1,\n2");
    assert_eq!(stage.paint("f(|)\nx"), "\n      ↳ 1,\n        2");
    stage.keys(1, false);
    assert_eq!(stage.hinter.complete_hint(), "");
    assert_eq!(stage.press("f(|)\nx").as_deref(), Some("1,\n2"));
}

#[test]
fn a_long_one_is_shown_in_part() {
    let mut stage = stage();
    stage.offer("x|", &"\ny".repeat(20));
    let shown = stage.paint("x|");
    assert_eq!(shown.lines().count(), SHOWN + 1);
    assert!(shown.ends_with("… 9 more lines›"), "{shown}");
    stage.keys(1, false);
    assert_eq!(stage.hinter.complete_hint().lines().count(), 21);
}

#[test]
fn a_missing_agent_is_reported_once_and_other_failures_never() {
    let mut stage = stage();
    let mut fails = |kind, message: &str| {
        assert_eq!(stage.press("x|"), None);
        let (_, take) = stage.drafts.try_recv().unwrap();
        take(Err(AgentFailure {
            kind,
            message: message.into(),
            hints: vec!["do this".into(), "or that".into()],
        }));
    };
    fails(FailureKind::Upstream, "busy");
    fails(FailureKind::LoggedOut, "not logged in");
    fails(FailureKind::Missing, "not there");
    let said: Vec<String> = stage.said.try_iter().collect();
    assert_eq!(said, ["no suggestion: not logged in: do this"]);
}

#[test]
fn an_earlier_input_goes_on_where_nothing_is_asked_for() {
    let check = |mode, text: &str, rest: &str| {
        let earlier = [
            "import os",
            "import os.path",
            "import re",
            ".why is it so?",
            "def f(x):\n    return x",
            "bad = '\x1b'",
        ];
        let expected = (rest.to_owned(), rest.to_owned());
        assert_eq!(stage_with(mode, &earlier).grey(text), expected, "{text:?}");
    };
    check(Mode::Cells, "imp", "ort re");
    check(Mode::Cells, "import o", "s.path");
    check(Mode::Cells, "import os.path", "");
    check(Mode::Cells, "", "");
    check(Mode::Cells, " ", "");
    check(Mode::Cells, "why", "");
    check(Mode::Cells, ".why", " is it so?");
    check(Mode::Prompts, "why", " is it so?");
    check(Mode::Prompts, "imp", "");
    check(Mode::Prompts, ";imp", "ort re");
    // A line at a time.
    check(Mode::Cells, "def f", "(x):");
    check(Mode::Cells, "def f(x):", "");
    check(Mode::Cells, "def f(x):\n    r", "eturn x");
    check(Mode::Cells, "bad", "");
}

#[test]
fn earlier_inputs_give_way_and_can_be_switched_off() {
    let mut stage = stage_with(Mode::Cells, &["alpha = 1", "alpha_two beta"]);
    stage.grey("alp");
    // By words.
    stage.hints.state().keys.taking += 2;
    stage.hints.state().keys.done = 0;
    stage.hints.state().keys.taken = 0;
    assert_eq!(stage.hinter.next_hint_token(), "ha_two");
    assert_eq!(stage.hinter.next_hint_token(), " beta");
    // The model's suggestion takes its place.
    assert_eq!(stage.press("alp|"), None);
    let (_, answer) = stage.drafts.recv().unwrap();
    assert_eq!(stage.grey("alp").1, "");
    answer(Ok("ine".into()));
    assert_eq!(stage.grey("alp"), ("ine".into(), "ine".into()));
    // It would look like the text.
    let mut plain = stage_with(Mode::Cells, &["alpha = 1"]);
    assert_eq!(plain.paint("alp|"), "");
    assert_eq!(plain.paint("al|p"), "");
    plain.hints.suggest_history(false);
    assert_eq!(plain.grey("alp").1, "");
}
