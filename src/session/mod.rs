//! The session: owns the turn, the numbering and the queue; joins runtime, agent and record.
//!
//! One loop on one thread (`task.rs`) takes commands and the events of both peers; nothing in it waits for a reply.
//! Front-ends hold a [`SessionHandle`] and read one [`Run`] per input. An interrupt goes beside the queue: to the
//! runtime directly, to the agent as the next thing the loop does.
//!
//! Absent on purpose: terminals, Codex, Python, SQL.

mod asking;
mod cell;
mod commands;
mod ending;
mod events;
mod exact_log;
mod exchange;
mod expand;
mod gather;
mod intake;
mod loading;
mod outputs;
mod pictures;
mod prompt;
mod question;
mod replay;
mod resume;
mod routing;
mod saving;
mod shown;
mod slots;
mod suggest;
mod task;
mod toolbox;
mod tools;
mod turn;

#[cfg(test)]
mod tests;

pub use crate::history::{Earlier, EarlierEntry};
pub use commands::listing;
pub use events::{AnswerEvent, Next, Notice, Pick, Run, RunKind, SessionEvent, TurnOutcome};
pub use loading::{Loading, missing};
pub use question::{About, Choice, ProposedCell, Question, Reply};
pub use replay::{Replay, ReplayStop, Replayed, Step};
pub use saving::{FileForm, NotebookPlaces, Target, read_text, write_file};
pub use slots::{ConnectAgent, ConnectRuntime, PlanAgent};
pub use suggest::{Draft, Suggesting, TakeSuggestion};
pub use task::notice as report_notice;
pub use toolbox::{FindSkills, Skills};

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use crate::agent::InputPart;
use crate::config::{Choices, Keymap};
use crate::history::{History, RecordedThread, SessionRow, SessionStart};
use crate::input::Mode;
use crate::markdown::Background;
use crate::report::Report;
use crate::runtime::{
    Answer, CellTerminal, InputReply, Interrupter, Place, RecordPlace, RuntimeRequest, Stdin,
};

/// Everything a session is made of.
pub struct Parts {
    /// Connects the runtime when it is first needed.
    pub runtime: ConnectRuntime,
    /// Connects the agent when it is first needed.
    pub agent: ConnectAgent,
    /// How another agent would be connected in its place.
    pub agents: PlanAgent,
    /// The record, opened.
    pub history: History,
    /// What the record has to say.
    pub reports: UnboundedReceiver<Report>,
    /// The system prompt.
    pub instructions: String,
    /// The choices to begin with.
    pub choices: Choices,
    /// The working directory to begin with.
    pub cwd: PathBuf,
    /// Who answers `input()`.
    pub stdin: Stdin,
    /// Where exact exchanges are logged when that is chosen.
    pub exact_log: PathBuf,
    /// The settings file.
    pub config_file: PathBuf,
    /// Named in the listing of settings: label and path.
    pub places: Vec<(String, PathBuf)>,
    /// What the editor's keys do, for whoever asks.
    pub keys: Arc<Keymap>,
    /// True when an earlier session is taken up: its numbering has to be known before the first input.
    pub resumed: bool,
    /// The interpreter starts before it is needed.
    pub python_at_once: bool,
    /// There is a user who can be asked.
    pub asks: bool,
    /// Finds the skills.
    pub skills: FindSkills,
    /// Where texts too long for the model are kept.
    pub artifacts: PathBuf,
    /// The file the session is recorded in.
    pub record: PathBuf,
    /// Where notebooks lie.
    pub notebooks: NotebookPlaces,
}

/// One input, and what comes with it.
#[derive(Debug, Clone, Default)]
pub struct Submission {
    /// As typed.
    pub text: String,
    /// In prompt mode nearly everything is a prompt.
    pub prompt_mode: bool,
    /// Given to the agent before the prompt.
    pub attached: Vec<InputPart>,
    /// JSON schema the answer must fit.
    pub schema: Option<Value>,
    /// This In number's exchange and everything after it leave the conversation first (they stay in the record).
    pub replaces: Option<u32>,
    /// Where a cell stands in a script.
    pub place: Option<Place>,
    /// A cell or a command of this submission is recorded nowhere; a prompt always is, the conversation being the record.
    pub private: bool,
}

impl Submission {
    fn mode(&self) -> Mode {
        if self.prompt_mode {
            Mode::Prompts
        } else {
            Mode::Cells
        }
    }
}

/// A prompt of the conversation and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastExchange {
    /// The prompt's In number.
    pub line: u32,
    /// As typed, without the dot.
    pub prompt: String,
    /// The stored answer.
    pub response: String,
}

/// What the session knows beside its conversation, as of now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The interpreter's working directory.
    pub cwd: PathBuf,
    /// Name and description of each skill that a name tells apart.
    pub skills: Vec<(String, String)>,
}

/// Talks to a session; clones talk to the same one.
#[derive(Clone)]
pub struct SessionHandle {
    commands: UnboundedSender<Command>,
    shared: Arc<Shared>,
}

/// What handles may see without asking the loop.
#[derive(Default)]
struct Shared {
    next_line: AtomicU32,
    interrupter: Mutex<Option<Arc<dyn Interrupter>>>,
}

/// What a handle asks of the loop, and what tasks of the loop report back.
enum Command {
    Submit(Submission, events::RunSender),
    Replay(Replay, events::RunSender),
    Load(Loading, events::RunSender),
    Interrupt,
    SkipStep,
    ReplyInput(u64, InputReply),
    ReplyRecord(u64, Option<RecordPlace>),
    Answer(u64, Reply),
    LastExchange(oneshot::Sender<Option<LastExchange>>),
    Ask(RuntimeRequest, oneshot::Sender<Answer>),
    WarmRuntime(oneshot::Sender<Option<Arc<dyn CellTerminal>>>),
    WarmAgent,
    Choices(oneshot::Sender<Choices>),
    OnBackground(Background),
    Surroundings(oneshot::Sender<Surroundings>),
    Models(oneshot::Sender<Vec<(String, String)>>),
    Started(Result<SessionStart, Report>, Option<RecordedThread>),
    RecordRead(Box<crate::dialog::Dialog>),
    SkillsFound(Box<Skills>),
    SkillRead(String, Result<Box<crate::skills::Activation>, String>),
    Said(events::RunSender, SessionEvent),
    /// What a command waited for is there.
    Learned(u64, commands::Then),
    Earlier(oneshot::Sender<Option<Earlier>>),
    LookForGone,
    CellsRead(Vec<crate::history::RecordedCell>),
    Sessions {
        all: bool,
        answer: oneshot::Sender<Vec<SessionRow>>,
    },
    Suggest(Box<suggest::Wish>),
    SuggestFrom(Box<crate::dialog::Dialog>, Box<suggest::Wish>),
    AwaitStart(oneshot::Sender<Result<SessionStart, Report>>),
    Close(oneshot::Sender<Closed>),
}

/// What is left when a session has ended.
#[derive(Debug, Clone, Default)]
pub struct Closed {
    /// The session's number, when something of it was recorded.
    pub resumable: Option<i64>,
}

/// Starts a session on a thread of its own; the second value carries what happens outside of runs.
///
/// # Errors
/// When no thread can be had.
pub fn start(parts: Parts) -> Result<(SessionHandle, Run), Report> {
    let (commands, inbox) = tokio::sync::mpsc::unbounded_channel();
    let (background, run) = events::stream();
    let shared = Arc::new(Shared {
        next_line: AtomicU32::new(1),
        ..Shared::default()
    });
    let handle = SessionHandle {
        commands: commands.clone(),
        shared: Arc::clone(&shared),
    };
    std::thread::Builder::new()
        .name("session".into())
        .spawn(move || task::run(parts, inbox, commands, background, shared))
        .map_err(|error| Report::failure("could not start the session's thread").because(error))?;
    Ok((handle, run))
}

impl SessionHandle {
    /// Hands in an input; its events come from the run returned.
    pub fn submit(&self, submission: Submission) -> Run {
        let (sender, run) = events::stream();
        // A loop that ended drops the sender, which ends the run.
        let _ = self.commands.send(Command::Submit(submission, sender));
        run
    }

    /// Hands in a replay; it runs when its turn comes, like an input. Its events come from the run returned.
    pub fn replay(&self, replay: Replay) -> Run {
        let (sender, run) = events::stream();
        // As in `submit`.
        let _ = self.commands.send(Command::Replay(replay, sender));
        run
    }

    /// Hands in a file to run; it is read and run when its turn comes, like an input.
    pub fn load(&self, loading: Loading) -> Run {
        let (sender, run) = events::stream();
        let _ = self.commands.send(Command::Load(loading, sender));
        run
    }

    /// Leaves out the cell of the replay that runs, and goes on with the next step.
    pub fn skip_step(&self) {
        let _ = self.commands.send(Command::SkipStep);
    }

    /// The number the next input takes.
    pub fn next_line(&self) -> u32 {
        self.shared.next_line.load(Ordering::Relaxed)
    }

    /// Waits until the record has told where the session begins.
    ///
    /// # Errors
    /// The session to take up is not in the record.
    pub fn started(&self) -> Result<SessionStart, Report> {
        let (answer, answered) = oneshot::channel();
        let gone = || Report::failure("the session has ended");
        self.commands
            .send(Command::AwaitStart(answer))
            .map_err(|_| gone())?;
        answered.blocking_recv().map_err(|_| gone())?
    }

    /// The end of the session as it was before this process; `None` when nothing is known of it.
    pub fn earlier(&self) -> Option<Earlier> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(Command::Earlier(answer)).ok()?;
        answered.blocking_recv().ok().flatten()
    }

    /// Finds out which names of an earlier session the interpreter lacks; it is said in the background, with how they
    /// come back.
    pub fn look_for_gone(&self) {
        let _ = self.commands.send(Command::LookForGone);
    }

    /// The sessions of this directory (else of its git root), or of all; newest first.
    pub fn sessions(&self, all: bool) -> Vec<SessionRow> {
        let (answer, answered) = oneshot::channel();
        if self
            .commands
            .send(Command::Sessions { all, answer })
            .is_err()
        {
            return Vec::new();
        }
        answered.blocking_recv().unwrap_or_default()
    }

    /// Interrupts what runs, cell or turn.
    pub fn interrupt(&self) {
        let _ = self.commands.send(Command::Interrupt);
    }

    /// Ends the interpreter at once; its variables are lost.
    pub fn kill_runtime(&self) {
        let interrupter = self
            .shared
            .interrupter
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(interrupter) = interrupter {
            interrupter.kill();
        }
    }

    /// Answers a cell that asked for input.
    pub fn reply_input(&self, call: u64, reply: InputReply) {
        let _ = self.commands.send(Command::ReplyInput(call, reply));
    }

    /// Answers a [`Question`]; one that is over is ignored.
    pub fn answer(&self, question: u64, reply: Reply) {
        let _ = self.commands.send(Command::Answer(question, reply));
    }

    /// The newest exchange of the conversation.
    pub fn last_exchange(&self) -> Option<LastExchange> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(Command::LastExchange(answer)).ok()?;
        answered.blocking_recv().ok().flatten()
    }

    /// Starts the interpreter if it does not run yet; returns the terminal its cells own, if they own one.
    pub fn warm_runtime(&self) -> Option<Arc<dyn CellTerminal>> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(Command::WarmRuntime(answer)).ok()?;
        answered.blocking_recv().ok().flatten()
    }

    /// Starts the agent's process if it does not run yet; does not wait for it.
    pub fn warm_agent(&self) {
        let _ = self.commands.send(Command::WarmAgent);
    }

    /// The choices in force.
    pub fn choices(&self) -> Option<Choices> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(Command::Choices(answer)).ok()?;
        answered.blocking_recv().ok()
    }

    /// Tells the terminal's background: the theme for code follows it unless the user has chosen one.
    pub fn on_background(&self, background: Background) {
        let _ = self.commands.send(Command::OnBackground(background));
    }

    /// The interpreter's directory and the skills.
    pub fn surroundings(&self) -> Surroundings {
        let (answer, answered) = oneshot::channel();
        // A session that has ended drops the question.
        let _ = self.commands.send(Command::Surroundings(answer));
        answered.blocking_recv().unwrap_or_default()
    }

    /// Name and description of the models there are; waits for the agent, and starts it when it does not run.
    pub fn models(&self) -> Vec<(String, String)> {
        let (answer, answered) = oneshot::channel();
        // As above.
        let _ = self.commands.send(Command::Models(answer));
        answered.blocking_recv().unwrap_or_default()
    }

    /// Asks the runtime something that is not a cell; the receiver fails when there is no answer any more.
    pub fn ask(&self, request: RuntimeRequest) -> oneshot::Receiver<Answer> {
        let (answer, answered) = oneshot::channel();
        let _ = self.commands.send(Command::Ask(request, answer));
        answered
    }

    /// Ends the session: stops what runs, writes what is there, ends both peers. Waits at most `patience`.
    pub fn close(&self, patience: Duration) -> Closed {
        let (answer, answered) = oneshot::channel();
        if self.commands.send(Command::Close(answer)).is_err() {
            return Closed::default();
        }
        // A thread only to bound the wait: the receiver itself has no deadline.
        let (done, finished) = std::sync::mpsc::channel();
        let wait = move || done.send(answered.blocking_recv().unwrap_or_default());
        if std::thread::Builder::new()
            .name("close".into())
            .spawn(wait)
            .is_err()
        {
            return Closed::default();
        }
        finished.recv_timeout(patience).unwrap_or_default()
    }
}
