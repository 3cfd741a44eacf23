//! Requests completions, and hands the editor those that have arrived.
//!
//! One request is pending at a time, for the text and cursor the menu shows. Typing on in the same word narrows the
//! known completions without a request; leaving the word drops them. A second Tab at the same place requests a
//! deeper look from the interpreter. Invariant: completions found for another text are never offered.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use reedline::{Completer, CompletionResult, CompletionStatus, Span, Suggestion};
use tokio::sync::oneshot;

use crate::runtime::{Completion, RuntimeReply, RuntimeRequest};
use crate::terminal::complete::below::{MenuState, locked};
use crate::terminal::complete::rules::{CompletionSource, FoundCompletion, Keep, source};
use crate::terminal::complete::sources::{AnswerPoll, Sources, poll_answer, wait_briefly};
use crate::terminal::snapshot::{self, SharedSnapshot};
use crate::text::escape::editable;
use crate::text::escape::visible;
use crate::text::offset::CodePoints;

/// The most completions the interpreter returns; a list of this length may be incomplete.
const MOST: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
struct TextPosition {
    text: String,
    cursor: usize,
}

struct KnownCompletions {
    place: TextPosition,
    /// Offset of the text that a completion replaces.
    start: usize,
    found: Arc<[Suggestion]>,
    /// The list is complete.
    all: bool,
    /// The list came from the interpreter.
    live: bool,
}

struct PendingRequest {
    place: TextPosition,
    asked: PendingAnswer,
    /// A request for this position was answered before: its completions are shown until this one is answered.
    again: bool,
}

enum PendingAnswer {
    Interpreter {
        answer: oneshot::Receiver<RuntimeReply>,
        part: Range<usize>,
        keep: Keep,
    },
    Other(oneshot::Receiver<Vec<FoundCompletion>>),
}

pub(super) struct TabCompleter {
    sources: Sources,
    snapshot: SharedSnapshot,
    menu_state: Arc<Mutex<MenuState>>,
    /// Wakes the editor when an answer comes.
    waker: Waker,
    job: Option<PendingRequest>,
    known: Option<KnownCompletions>,
}

impl TabCompleter {
    pub(super) fn new(
        sources: Sources,
        snapshot: SharedSnapshot,
        menu_state: Arc<Mutex<MenuState>>,
        waker: Waker,
    ) -> Self {
        TabCompleter {
            sources,
            snapshot,
            menu_state,
            waker,
            job: None,
            known: None,
        }
    }

    fn ask(&mut self, place: TextPosition, deep: bool) {
        let mode = snapshot::lock_snapshot(&self.snapshot).mode;
        let asked = match source(&place.text, place.cursor, mode) {
            CompletionSource::Nothing => {
                self.job = None;
                self.known = None;
                return;
            }
            CompletionSource::Interpreter { part, keep } => {
                let code = place.text[part.clone()].to_owned();
                let position = CodePoints::from_bytes(&code, place.cursor - part.start);
                let request = RuntimeRequest::Complete {
                    code,
                    position,
                    deep,
                };
                PendingAnswer::Interpreter {
                    answer: self.sources.ask(request),
                    part,
                    keep,
                }
            }
            other => {
                let before = place.text[..place.cursor].to_owned();
                PendingAnswer::Other(self.sources.look_up(other, before))
            }
        };
        let again = self
            .known
            .as_ref()
            .is_some_and(|known| known.place == place);
        self.job = Some(PendingRequest {
            place,
            asked,
            again,
        });
    }

    /// Takes the answer to the pending request; returns false while it may still come.
    fn settle(&mut self, patient: bool) -> bool {
        let Some(job) = &mut self.job else {
            return true;
        };
        let (found, live) = match &mut job.asked {
            PendingAnswer::Interpreter { answer, part, keep } => {
                let told = if patient {
                    wait_briefly(answer)
                } else {
                    poll_answer(answer, &self.waker)
                };
                let items = match told {
                    AnswerPoll::Waiting => return false,
                    AnswerPoll::Answer(RuntimeReply::Completions(items)) => items,
                    AnswerPoll::Closed | AnswerPoll::Answer(_) => Vec::new(),
                };
                let code = &job.place.text[part.clone()];
                let mut found = kept(items, code, part.start, *keep);
                if *keep == Keep::Magics {
                    add_ours(&mut found, &job.place);
                }
                (found, true)
            }
            PendingAnswer::Other(answer) => {
                let told = if patient {
                    wait_briefly(answer)
                } else {
                    poll_answer(answer, &self.waker)
                };
                match told {
                    AnswerPoll::Waiting => return false,
                    AnswerPoll::Closed => (Vec::new(), false),
                    AnswerPoll::Answer(found) => (found, false),
                }
            }
        };
        if let Some(job) = self.job.take() {
            self.known = Some(known(job.place, found, live));
        }
        true
    }

    /// Returns the known completions, narrowed to a word that has been typed on.
    fn narrowed(&self, place: &TextPosition) -> Option<KnownCompletions> {
        let known = self.known.as_ref().filter(|known| known.all)?;
        let old = &known.place;
        let same_around = place.cursor >= old.cursor
            && place.text.get(..known.start) == old.text.get(..known.start)
            && place.text[place.cursor..] == old.text[old.cursor..];
        let typed = place
            .text
            .get(known.start..place.cursor)
            .filter(|_| same_around)?;
        let span = Span::new(known.start, place.cursor);
        let left: Vec<Suggestion> = known
            .found
            .iter()
            .filter(|each| each.value.starts_with(typed))
            .map(|each| Suggestion {
                span,
                ..each.clone()
            })
            .collect();
        Some(KnownCompletions {
            place: place.clone(),
            start: known.start,
            found: left.into(),
            all: true,
            live: known.live,
        })
    }

    /// Returns true while the position is in the word that the menu was opened for.
    fn same_word(&self, place: &TextPosition) -> bool {
        self.known.as_ref().is_some_and(|known| {
            let old = &known.place;
            place.cursor > known.start
                && place.text.get(..known.start) == old.text.get(..known.start)
                && place.text[place.cursor..] == old.text[old.cursor..]
        })
    }
}

impl Completer for TabCompleter {
    fn complete(&mut self, text: &str, cursor: usize) -> CompletionResult {
        let place = TextPosition {
            text: text.to_owned(),
            cursor,
        };
        let opened = std::mem::take(&mut locked(&self.menu_state).opened);
        let known_here = self
            .known
            .as_ref()
            .is_some_and(|known| known.place == place);
        let asked_here = self.job.as_ref().is_some_and(|job| job.place == place);
        if opened {
            let deep = known_here && self.known.as_ref().is_some_and(|known| known.live);
            if !asked_here {
                if !deep {
                    self.known = None;
                }
                self.ask(place.clone(), deep);
            }
            if !self.settle(true) {
                return CompletionResult::Pending;
            }
        } else if asked_here {
            let again = self.job.as_ref().is_some_and(|job| job.again);
            let shown = again
                && self
                    .known
                    .as_ref()
                    .is_some_and(|known| !known.found.is_empty());
            if !self.settle(false) && !shown {
                return CompletionResult::Pending;
            }
        } else if !known_here {
            self.job = None;
            if let Some(narrowed) = self.narrowed(&place) {
                self.known = Some(narrowed);
            } else if self.same_word(&place) {
                self.ask(place.clone(), false);
                if !self.settle(true) {
                    return CompletionResult::Pending;
                }
            } else {
                self.known = None;
            }
        }
        match &self.known {
            Some(known) if known.place == place => {
                CompletionResult::fresh(Arc::clone(&known.found))
            }
            _ => CompletionResult::fresh(Vec::new()),
        }
    }

    fn poll_completion(&mut self) -> CompletionStatus {
        let mut menu_state = locked(&self.menu_state);
        if let Some(looking) = &mut menu_state.looking {
            match poll_answer(looking, &self.waker) {
                AnswerPoll::Waiting => return CompletionStatus::Pending,
                AnswerPoll::Closed => menu_state.looked = Some(RuntimeReply::Inspection(None)),
                AnswerPoll::Answer(answer) => menu_state.looked = Some(answer),
            }
            menu_state.looking = None;
            return CompletionStatus::Ready;
        }
        drop(menu_state);
        let asked = self.job.is_some();
        if !self.settle(false) {
            return CompletionStatus::Pending;
        }
        let live = self.known.as_ref().filter(|known| known.live);
        let place = live.map(|known| known.place.clone());
        if std::mem::take(&mut locked(&self.menu_state).deeper)
            && let Some(place) = place
        {
            self.ask(place, true);
            if !self.settle(false) {
                return CompletionStatus::Pending;
            }
        }
        if asked {
            CompletionStatus::Ready
        } else {
            CompletionStatus::Idle
        }
    }
}

/// Converts completions for reedline: one start for all, no control characters.
fn known(place: TextPosition, found: Vec<FoundCompletion>, live: bool) -> KnownCompletions {
    let start = found.first().map_or(place.cursor, |first| first.start);
    let all = found.len() < MOST;
    let span = Span::new(start, place.cursor.max(start));
    let suggestions: Vec<Suggestion> = found
        .into_iter()
        .filter(|each| each.start == start)
        .map(|each| Suggestion {
            display_override: Some(visible(&each.value).into_owned()),
            value: editable(&each.value).into_owned(),
            description: Some(each.detail).filter(|detail| !detail.is_empty()),
            span,
            ..Suggestion::default()
        })
        .collect();
    KnownCompletions {
        place,
        start,
        found: suggestions.into(),
        all,
        live,
    }
}

/// Filters the interpreter's answer about `code`, which begins at byte `offset`, by `keep`.
fn kept(items: Vec<Completion>, code: &str, offset: usize, keep: Keep) -> Vec<FoundCompletion> {
    // Nearly always all of them begin at the same offset.
    let mut at = (CodePoints(0), 0);
    let mut found: Vec<(bool, FoundCompletion)> = Vec::with_capacity(items.len());
    for item in items {
        let wanted = match keep {
            Keep::All | Keep::Magics => true,
            Keep::Callables | Keep::Values if item.everywhere => false,
            Keep::Callables => matches!(item.kind.as_str(), "function" | "class"),
            Keep::Values => !matches!(
                item.kind.as_str(),
                "keyword" | "magic" | "module" | "param" | "path"
            ),
        };
        if !wanted {
            continue;
        }
        if item.start != at.0 {
            at = (item.start, item.start.to_bytes(code));
        }
        let late = keep == Keep::Values && matches!(item.kind.as_str(), "function" | "class");
        let detail = described(&item);
        found.push((
            late,
            FoundCompletion {
                start: offset + at.1,
                value: item.text,
                detail,
            },
        ));
    }
    // Variables first.
    found.sort_by_key(|(late, _)| *late);
    found.into_iter().map(|(_, found)| found).collect()
}

/// Describes a completion: `function (a, b=1)`, `module`, or the type of an instance.
fn described(item: &Completion) -> String {
    match (
        item.kind.as_str(),
        item.type_name.as_str(),
        item.signature.as_str(),
    ) {
        ("instance", type_name, _) if !type_name.is_empty() => visible(type_name).into_owned(),
        (kind, _, "") => kind.to_owned(),
        (kind, _, signature) => format!("{kind} {}", visible(signature)),
    }
}

/// Adds our own magics to those of the interpreter, where a text may begin with one.
fn add_ours(found: &mut Vec<FoundCompletion>, place: &TextPosition) {
    let typed = place.text[..place.cursor].trim_start();
    let start = place.cursor - typed.len();
    for name in ["%ipycodex", "%%ipycodex"] {
        if name.starts_with(typed) {
            found.push(FoundCompletion {
                start,
                value: name.to_owned(),
                detail: "magic".to_owned(),
            });
        }
    }
}
