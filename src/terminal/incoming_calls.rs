//! Calls that come from outside while somebody sits at the prompt: shown above the line, or let in.
//!
//! A thread takes the session's visits. A call that only looks becomes a line above what is being typed. One that asks
//! is announced there and waits: it is let in by a key, by Enter on an empty line, or before the next input runs, and
//! only then are keys for its question. One that runs a cell needs the screen at once: the editor stands aside and
//! comes back with what was typed.
//!
//! Invariant: no key is taken for an answer that was typed before the question was let in.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::report::Report;
use crate::screen::Screen;
use crate::session::{
    About, AnswerEvent, BeginEvent, CellEvent, Next, Question, QuestionEvent, SessionEvent, Visit,
    Visits,
};
use crate::terminal::background_output::{BackgroundOutput, EventRenderer};
use crate::terminal::keys::key_queue::InputWaker;
use crate::text::cut;
use crate::text::escape::visible_lines;

/// How soon a question that waits is let in.
const SOON: Duration = Duration::from_millis(30);

/// Who is at the door; clones look at the same one.
#[derive(Clone, Default)]
pub(super) struct PendingCalls(Arc<CallsShared>);

#[derive(Default)]
struct CallsShared {
    /// What comes before the first input asks something.
    startup: AtomicBool,
    state: Mutex<CallState>,
    changed: Condvar,
}

#[derive(Default)]
enum CallState {
    #[default]
    Idle,
    /// A call is at work.
    Running {
        /// A question was announced.
        asks: bool,
        /// It is to be let in.
        wanted: bool,
    },
    /// Needs the screen.
    NeedsScreen(Box<Visit>),
}

impl PendingCalls {
    /// Begins to receive; lines go to `background`, and `waker` calls the editor away.
    ///
    /// # Errors
    /// When no thread can be had.
    pub(super) fn receive(
        visits: Visits,
        background: BackgroundOutput,
        screen: Screen,
        waker: InputWaker,
    ) -> Result<Self, Report> {
        let guests = PendingCalls::default();
        let porter = CallReceiver {
            guests: guests.clone(),
            background,
            screen,
            waker,
        };
        std::thread::Builder::new()
            .name("guests".into())
            .spawn(move || {
                while let Some(visit) = visits.next() {
                    porter.meet(visit);
                }
            })
            .map_err(|error| {
                Report::failure("could not start the thread for MCP clients").because(error)
            })?;
        Ok(guests)
    }

    /// Somebody asks, or needs the screen.
    pub(super) fn wait(&self) -> bool {
        let waits = |state: &CallState| {
            matches!(
                state,
                CallState::Running { asks: true, .. } | CallState::NeedsScreen(_)
            )
        };
        self.startup_asks() || waits(&self.state())
    }

    /// Somebody needs the screen now.
    pub(super) fn need_the_screen(&self) -> bool {
        self.startup_asks() || matches!(*self.state(), CallState::NeedsScreen(_))
    }

    /// What comes before the first input asks something, or no longer: as a guest does that needs the screen.
    pub(super) fn let_startup_ask(&self, asks: bool) {
        self.0.startup.store(asks, Ordering::SeqCst);
    }

    /// It does.
    pub(super) fn startup_asks(&self) -> bool {
        self.0.startup.load(Ordering::SeqCst)
    }

    /// Lets in whoever is there.
    pub(super) fn let_in(&self) -> Option<Visit> {
        let mut state = self.state();
        loop {
            match std::mem::take(&mut *state) {
                CallState::Idle => return None,
                CallState::NeedsScreen(visit) => {
                    self.0.changed.notify_all();
                    return Some(*visit);
                }
                CallState::Running { asks, .. } => {
                    *state = CallState::Running { asks, wanted: true }
                }
            }
            let waited = self.0.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn state(&self) -> MutexGuard<'_, CallState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call is at work, and asks or not.
    fn busy(&self, asks: bool) {
        let mut state = self.state();
        let wanted = matches!(*state, CallState::Running { wanted: true, .. });
        *state = CallState::Running { asks, wanted };
    }

    fn is_wanted(&self) -> bool {
        matches!(*self.state(), CallState::Running { wanted: true, .. })
    }

    fn set(&self, state: CallState) {
        *self.state() = state;
        self.0.changed.notify_all();
    }
}

/// Meets them.
struct CallReceiver {
    guests: PendingCalls,
    background: BackgroundOutput,
    screen: Screen,
    waker: InputWaker,
}

impl CallReceiver {
    fn meet(&self, visit: Visit) {
        let who = visible_lines(&visit.caller).replace('\n', " ");
        let mut teller = EventRenderer::new(self.screen.clone());
        let mut held = Vec::new();
        self.guests.busy(false);
        loop {
            let event = match visit.run.next_blocking(Some(SOON)) {
                Next::Ended => {
                    teller
                        .rest()
                        .into_iter()
                        .for_each(|rest| self.background.say(&rest));
                    return self.guests.set(CallState::Idle);
                }
                Next::Nothing => {
                    if self.guests.is_wanted() {
                        return self.lead_in(visit, held);
                    }
                    continue;
                }
                Next::Event(event) => *event,
            };
            match event {
                SessionEvent::Answer(AnswerEvent::ToolStarted { .. }) => held.push(event),
                SessionEvent::Answer(AnswerEvent::ToolRan { line, .. }) => {
                    self.background
                        .say(&format!("{who}: {}", visible_lines(&line)));
                }
                SessionEvent::Question(QuestionEvent::Asked(ref question)) => {
                    self.background.say(&announced(&who, question));
                    held.push(event);
                    self.guests.busy(true);
                }
                SessionEvent::Question(QuestionEvent::Over(_)) => {
                    held.truncate(1);
                    self.background.say(&format!("{who} no longer asks"));
                    self.guests.busy(false);
                }
                SessionEvent::Begin(BeginEvent::AgentCell { .. })
                | SessionEvent::Cell(CellEvent::InputRequested { .. }) => {
                    held.push(event);
                    return self.lead_in(visit, held);
                }
                event => teller
                    .tell(event)
                    .iter()
                    .for_each(|text| self.background.say(text)),
            }
        }
    }

    /// The visit needs the screen; `held` comes first. Returns when it has it.
    fn lead_in(&self, visit: Visit, held: Vec<SessionEvent>) {
        held.into_iter()
            .rev()
            .for_each(|event| visit.run.unread(event));
        self.guests.set(CallState::NeedsScreen(Box::new(visit)));
        self.waker.called();
        let mut state = self.guests.state();
        while matches!(*state, CallState::NeedsScreen(_)) {
            let waited = self.guests.0.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The line that says who asks for what, and how it is answered.
fn announced(who: &str, question: &Question) -> String {
    let what = match &question.about {
        About::Cells(cells) => match &cells[..] {
            [one] => format!("run a cell here: {}", first_line(&one.code)),
            cells => format!("run {} cells here", cells.len()),
        },
        About::Agent(_) => "change a file".to_owned(),
        About::Unprotected { .. } => "look at the session without write protection".to_owned(),
        About::ProjectSkill { skill, .. } => format!("read the skill {}", first_line(skill)),
        About::ProjectFiles { .. } => "run files of this project".to_owned(),
        About::StepBack { .. } => "step the interpreter back".to_owned(),
        About::Variables(_) => "bring variables back".to_owned(),
        About::Pictures(_) => "send a prompt without its picture".to_owned(),
        About::SkillCode { skill, .. } => format!("run code of the skill {}", first_line(skill)),
    };
    format!("{who} wants to {what}  (Alt-a, or Enter on an empty line, to see it and answer)")
}

/// The first line of a foreign text, safe and short.
fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    cut(&visible_lines(line), 60).into_owned()
}
