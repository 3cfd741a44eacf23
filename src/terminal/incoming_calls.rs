//! External tool calls (MCP clients) that arrive while the user is at the prompt.
//!
//! A thread takes the session's incoming calls. A call that only reads becomes a line above the prompt. A call that
//! asks is announced there; its question is shown after a key, after Enter on an empty line, or before the next
//! input runs. A call that runs a cell interrupts the editor, which later resumes with its text.
//!
//! Invariant: no key typed before the question was shown counts as its answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::screen::Screen;
use crate::session::{
    AnswerEvent, BeginEvent, CellEvent, IncomingCall, IncomingCalls, NextEvent, Question,
    QuestionEvent, QuestionSubject, SessionEvent,
};
use crate::terminal::background_output::{BackgroundOutput, EventRenderer};
use crate::terminal::keys::key_queue::InputWaker;
use crate::text::cut;
use crate::text::escape::visible_lines;
use crate::text::report::Report;

/// Interval at which a waiting question is checked for.
const SOON: Duration = Duration::from_millis(30);

/// The current incoming call; clones share it.
#[derive(Clone, Default)]
pub(super) struct PendingCalls(Arc<CallsShared>);

#[derive(Default)]
struct CallsShared {
    startup: AtomicBool,
    state: Mutex<CallState>,
    changed: Condvar,
}

#[derive(Default)]
enum CallState {
    #[default]
    Idle,
    Running {
        asks: bool,
        /// The user requested the question.
        wanted: bool,
    },
    NeedsScreen(Box<IncomingCall>),
}

impl PendingCalls {
    /// Starts receiving calls; lines go to `background`, and `waker` interrupts the editor.
    ///
    /// # Errors
    /// Fails when no thread can be started.
    pub(super) fn receive(
        incoming: IncomingCalls,
        background: BackgroundOutput,
        screen: Screen,
        waker: InputWaker,
    ) -> Result<Self, Report> {
        let calls = PendingCalls::default();
        let receiver = CallReceiver {
            calls: calls.clone(),
            background,
            screen,
            waker,
        };
        std::thread::Builder::new()
            .name("incoming calls".into())
            .spawn(move || {
                while let Some(call) = incoming.next() {
                    receiver.on_call(call);
                }
            })
            .map_err(|error| Report::no_thread("for MCP clients", &error))?;
        Ok(calls)
    }

    /// Returns true when a call has a question, or needs the screen.
    pub(super) fn is_waiting(&self) -> bool {
        let waits = |state: &CallState| {
            matches!(
                state,
                CallState::Running { asks: true, .. } | CallState::NeedsScreen(_)
            )
        };
        self.startup_asks() || waits(&self.state())
    }

    pub(super) fn needs_screen(&self) -> bool {
        self.startup_asks() || matches!(*self.state(), CallState::NeedsScreen(_))
    }

    /// Sets that a start-up run has a question; it then needs the screen like a call.
    pub(super) fn set_startup_asks(&self, asks: bool) {
        self.0.startup.store(asks, Ordering::SeqCst);
    }

    pub(super) fn startup_asks(&self) -> bool {
        self.0.startup.load(Ordering::SeqCst)
    }

    /// Waits until the current call can have the screen, and takes it.
    pub(super) fn admit(&self) -> Option<IncomingCall> {
        let mut state = self.state();
        loop {
            match std::mem::take(&mut *state) {
                CallState::Idle => return None,
                CallState::NeedsScreen(call) => {
                    self.0.changed.notify_all();
                    return Some(*call);
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

    /// Marks a call as running; `asks`: its question is open.
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

struct CallReceiver {
    calls: PendingCalls,
    background: BackgroundOutput,
    screen: Screen,
    waker: InputWaker,
}

impl CallReceiver {
    fn on_call(&self, call: IncomingCall) {
        let who = visible_lines(&call.caller).replace('\n', " ");
        let mut renderer = EventRenderer::new(self.screen.clone());
        let mut held = Vec::new();
        self.calls.busy(false);
        loop {
            let event = match call.run.next_blocking(Some(SOON)) {
                NextEvent::Ended => {
                    renderer
                        .finish_line()
                        .into_iter()
                        .for_each(|rest| self.background.print(&rest));
                    return self.calls.set(CallState::Idle);
                }
                NextEvent::Nothing => {
                    if self.calls.is_wanted() {
                        return self.hand_over_screen(call, held);
                    }
                    continue;
                }
                NextEvent::Event(event) => *event,
            };
            match event {
                SessionEvent::Answer(AnswerEvent::ToolStarted { .. }) => held.push(event),
                SessionEvent::Answer(AnswerEvent::ToolRan { line, .. }) => {
                    self.background
                        .print(&format!("{who}: {}", visible_lines(&line)));
                }
                SessionEvent::Question(QuestionEvent::Asked(ref question)) => {
                    self.background.print(&announced(&who, question));
                    held.push(event);
                    self.calls.busy(true);
                }
                SessionEvent::Question(QuestionEvent::Over(_)) => {
                    held.truncate(1);
                    self.background.print(&format!("{who} no longer asks"));
                    self.calls.busy(false);
                }
                SessionEvent::Begin(BeginEvent::AgentCell { .. })
                | SessionEvent::Cell(CellEvent::InputRequested { .. }) => {
                    held.push(event);
                    return self.hand_over_screen(call, held);
                }
                event => renderer
                    .render(event)
                    .iter()
                    .for_each(|text| self.background.print(text)),
            }
        }
    }

    /// Hands the call over to the screen, `held` events first. Returns once it was taken.
    fn hand_over_screen(&self, call: IncomingCall, held: Vec<SessionEvent>) {
        held.into_iter()
            .rev()
            .for_each(|event| call.run.unread(event));
        self.calls.set(CallState::NeedsScreen(Box::new(call)));
        self.waker.notify_call();
        let mut state = self.calls.state();
        while matches!(*state, CallState::NeedsScreen(_)) {
            let waited = self.calls.0.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Returns the announcement: the caller, the request, and the keys that show the question.
fn announced(who: &str, question: &Question) -> String {
    let what = match &question.about {
        QuestionSubject::Cells(cells) => match &cells[..] {
            [one] => format!("run a cell here: {}", first_line(&one.code)),
            cells => format!("run {} cells here", cells.len()),
        },
        QuestionSubject::Agent(_) => "change a file".to_owned(),
        QuestionSubject::Unprotected { .. } => {
            "look at the session without write protection".to_owned()
        }
        QuestionSubject::ProjectSkill { skill, .. } => {
            format!("read the skill {}", first_line(skill))
        }
        QuestionSubject::ProjectFiles { .. } => "run files of this project".to_owned(),
        QuestionSubject::StepBack { .. } => "step the interpreter back".to_owned(),
        QuestionSubject::Replacement(_) => "replace earlier prompts".to_owned(),
        QuestionSubject::Plan(_) => "carry out a plan".to_owned(),
        QuestionSubject::Files(_) => "put files back".to_owned(),
        QuestionSubject::NameConflict(_) => "merge a name".to_owned(),
        QuestionSubject::Offer(_) => "merge what a turn has left".to_owned(),
        QuestionSubject::Variables(_) => "bring variables back".to_owned(),
        QuestionSubject::Pictures(_) => "send a prompt without its picture".to_owned(),
        QuestionSubject::SkillCode { skill, .. } => {
            format!("run code of the skill {}", first_line(skill))
        }
    };
    format!("{who} wants to {what}  (Alt-a, or Enter on an empty line, to see it and answer)")
}

/// Returns the first line of a foreign text, sanitised and shortened.
fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    cut(&visible_lines(line), 60).into_owned()
}
