//! What the machines of a session want done ([`Effect`]) and what they hear of each other ([`Event`]), as values.
//!
//! What one machine wants of another is an event of the queue, never a call: [`Effect::Raise`]. The futures that a
//! command waits for return effects, too, and hold nothing of the session. What handles want is an event as well.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::pin::Pin;

use serde_json::Value;

use crate::Submission;
use crate::agent::{
    AgentEvent, AgentReply, ConsultReply, FileChange, ToolCall, ToolSpec, TurnId, TurnRequest,
    Usage,
};
use crate::approvals::ApprovalRequester;
use crate::attachments::Attachments;
use crate::branches::event::BranchEvent;
use crate::cell::CellOrigin;
use crate::dialog::Dialog;
use crate::editor::EditorRequest;
use crate::events::{Notice, SessionEvent};
use crate::external_calls::ExternalCall;
use crate::ids::{CallId, JobId, ToolCaller};
use crate::kernels::{CheckedDirectory, KernelPlacement, KernelRequest};
use crate::lasting::Lasting;
use crate::markdown::Background;
use crate::output::mime::MimeBundle;
use crate::output::shown::Layout;
use crate::peers::{AsidePlan, ConnectAgent, RuntimeRequester};
use crate::prompt::PromptEvent;
use crate::question::{OfferedFile, QuestionSubject, Reply};
use crate::record::{
    CellStatus, PromptStart, RecordedCell, RecordedDecision, RecordedOutcome, RecordedThread,
    RecordedThreads, SessionStart, SessionTail, SwitchedSession,
};
use crate::replacement_plan::ReplacementRequest;
use crate::replay::{Replay, ReplayPurpose};
use crate::rewind_plan::RewindRequest;
use crate::run::RunSender;
use crate::runtime::{
    Branch, Execute, HostRequest, InputReply, RequestId, RuntimeEvent, RuntimeReply,
    RuntimeRequest, SavedVariables,
};
use crate::runtimes::RuntimeRole;
use crate::submission::QueuedJob;
use crate::text::report::Report;
use crate::tool_return::ToolReturn;
use crate::tools::{NotebookJobResult, SeenFiles, Skills, ToolEvent};
use crate::undo::UndoRequest;
use crate::workbook::{EditedCell, ExecutedCell, OpenWorkbook};

#[derive(Debug)]
pub(crate) enum To {
    /// The run of the job whose machine or wait said it, else the background.
    Job,
    /// Whoever called the active call, where a front-end shows the call.
    Caller,
    Run(RunSender),
}

pub(crate) enum Effect {
    Raise(Event),
    Emit(To, SessionEvent),
    RequestEditor(To, EditorRequest),
    Record(RecordWrite),
    /// Write long outputs that are not in files yet.
    SaveOutputs(To),
    /// Write the exchange to the exact log.
    LogExchange {
        sent: String,
        stored: String,
        session: i64,
        to: To,
    },
    /// Something may have changed that decides which tools there are.
    ToolsChanged,
    /// Run the effects of the job that waits, once they are known: [`Event::WaitOver`].
    Await(JobId, EffectsFuture),
    /// Run effects outside of the queue, once they are known: [`Event::EffectsReady`].
    Spawn(EffectsFuture),
    /// Run code; [`Event::Submitted`] follows.
    Execute {
        starter: CodeStarter,
        role: RuntimeRole,
        request: Box<RuntimeRequest>,
    },
    /// Start the user's interpreter before it is needed.
    StartRuntime,
    /// Kill the interpreter, if one runs, and start one; where that cannot be done, a notice says so.
    RestartRuntime(To),
    /// A request without a reply.
    Notify(RuntimeRole, RuntimeRequest),
    /// Answer the `input()` of the code that asked last.
    ReplyInput(u64, InputReply),
    /// Ask a runtime; [`Event::RuntimeReplied`] or its own reply follows.
    AskRuntime(RuntimeRole, RuntimeRequest, RuntimeRequester),
    /// Give the user's code the last prompt and its answer, or take them away.
    PublishExchange(Option<(String, String)>),
    /// [`Event::TurnStarted`] follows.
    StartTurn(JobId, Box<TurnRequest>),
    ReplyToAgent(TurnId, AgentReply),
    CancelTurn(TurnId),
    /// Interrupt the code that runs there; where that cannot be done, a notice says so.
    Interrupt {
        role: RuntimeRole,
        to: Option<To>,
    },
    /// Kill the interpreter there; where that cannot be done, a notice says so.
    Kill {
        role: RuntimeRole,
        over_time: bool,
        to: To,
    },
    /// The user's interpreter is another process now.
    InterpreterMoved,
    /// The user's interpreter follows the shell to this directory.
    FollowShell(PathBuf),
    /// The user's own code has changed the directory.
    DirectoryChanged,
    KeepCheckpoints(u32),
    /// Keep the files of this directory from now on; with false, keep none.
    KeepFiles(bool, PathBuf),
    /// Number the cells of the user's interpreter in the session with this index.
    NumberIn(u32),
    ReplaceAgent(ConnectAgent),
    /// A branch is a runtime from now on, which runs this cell.
    AddBranch(u32, RequestId, Branch),
    /// Make a private folder; where that fails, what is written there fails, too, and says so.
    MakeFolder(PathBuf),
    /// Start a session for a turn beside the prompt; [`AsideEvent`](crate::branches::event::AsideEvent)s follow.
    StartAside(u32, Box<AsidePlan>),
    /// End a branch, and remove its folder.
    EndBranch(u32, PathBuf),
    StartKernel(u32, KernelRequest),
    EndKernels(Vec<u32>),
    /// End these kernels to make room for another one: [`Event::KernelsEvicted`] follows.
    EvictKernels {
        ends: Vec<u32>,
        number: u32,
        request: KernelRequest,
    },
    /// The record has the session's number.
    RecordOpened(Result<SessionStart, Report>),
    /// Keep long outputs for another session.
    ChangeSession(SessionStart),
    OpenNotebook(Box<OpenWorkbook>),
    CloseNotebook(To),
    EditCell(EditedCell),
    /// Write an ended cell into the open notebook; failures are reported on its stream.
    WriteCell(Box<ExecutedCell>, RuntimeRole, RunSender),
}

/// Who runs code, and hears of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeStarter {
    Job(JobId),
    /// The tool of the turn.
    Tool,
}

pub(crate) enum RecordWrite {
    Input {
        line: u32,
        source: String,
    },
    /// A command of the session's shell.
    ShellCommand {
        line: u32,
        command: String,
    },
    /// A text for the editor's history only.
    Recall(String),
    Rename(String),
    ShellExit {
        line: u32,
        exit: i32,
    },
    Output(Box<RecordedOutput>),
    /// Hides entries from the conversation, or restores them.
    Hide {
        lines: RangeInclusive<u32>,
        hidden: bool,
    },
    /// The interpreter stepped back over these cells, or forward again.
    StepOver {
        session: Option<i64>,
        lines: Vec<u32>,
        over: bool,
    },
    Decision(RecordedDecision),
    /// A whole exchange that is replayed; `after` is the last line of code before it.
    Exchange {
        line: u32,
        after: u32,
        prompt: String,
        response: String,
    },
    /// An exchange begins; `Answer` and `EndTurn` are about the last one that has begun.
    BeginTurn(PromptStart),
    /// The answer so far, in its stored form.
    Answer(String),
    EndTurn {
        outcome: RecordedOutcome,
        /// The answer in its stored form.
        stored: String,
        usage: Option<Usage>,
    },
    /// The answer to this prompt holds the output of these cells, so that they are no context for later prompts while
    /// the exchange is part of the conversation.
    InAnswer {
        cells: Vec<u32>,
        prompt: u32,
    },
    Thread {
        agent: String,
        thread: Option<RecordedThread>,
    },
}

pub(crate) struct RecordedOutput {
    pub(crate) line: u32,
    pub(crate) text: String,
    pub(crate) bundles: Vec<MimeBundle>,
    pub(crate) layout: Layout,
    pub(crate) state: CellStatus,
    /// In milliseconds.
    pub(crate) took: u64,
}

pub(crate) enum Event {
    Input(Submission, RunSender),
    Queued(QueuedJob, RunSender),
    ExternalCall(ExternalCall, RunSender),
    /// The caller no longer wants the result of its external call.
    CallLeft(u64),
    /// The user's functions were looked up.
    FunctionsFound(Vec<ToolSpec>),
    /// The user stops what is active.
    Interrupted,
    /// The running cell is to go to the background.
    BackgroundWanted,
    /// The agent is to answer this prompt beside what runs.
    AsideWanted(String),
    /// For this branch.
    Branch(u32, BranchEvent),
    /// The user skips the step of a replay.
    Skipped,
    /// The user has more input for the running turn.
    Steer(String),
    /// The user answered the question with this number.
    Answered(u64, Reply),
    /// The user answered an `input()`.
    InputAnswered(u64, InputReply),
    /// The user switches plan mode beside what runs.
    PlanMode(bool),
    /// The next input, if it is a prompt, replaces the prompt with this In number and what came after it.
    NextReplaces(u32),
    RestartWanted,
    KillWanted(RuntimeRole),
    OnBackground(Background),
    /// Report which names of the record's cells the interpreter lacks.
    NamesWanted,
    /// The record is open, or cannot be.
    Started(Result<SessionStart, Report>, RecordedThreads),
    SkillsFound(Box<Skills>),
    /// The time has come that a machine waits for.
    DeadlineReached,
    KernelsDue,
    /// The session ends: the active turn no longer waits for its code.
    Closing,
    Runtime(RuntimeRole, RuntimeEvent),
    Agent(AgentEvent),
    /// The wait of this job is over.
    WaitOver(JobId, Vec<Effect>),
    /// Effects from outside of the queue.
    EffectsReady(Vec<Effect>),
    /// The record was read for this prompt, and the files that it names.
    RecordRead(JobId, Box<Dialog>, Attachments, Option<Usage>),
    /// The directory that a call wants a kernel in was checked.
    DirectoryChecked(CallId, KernelPlacement, CheckedDirectory),
    /// Kernels were ended so that this one can be started.
    KernelsEvicted(u32, KernelRequest),
    NotebookDone(
        CallId,
        Box<(NotebookJobResult, SeenFiles, Option<FileChange>)>,
    ),
    /// The agent answered its own code.
    Consulted(u64, ConsultReply),
    /// Offer the variables that were kept, then report missing names.
    RestoreVariables(RunSender),
    /// Begin a tool, whether or not the turn offers it.
    BeginTool(ToolCaller, ToolCall),
    /// The user stopped the active call.
    CallStopped,
    /// The user stopped waiting for a command; no job is active.
    WaitStopped(RunSender),
    /// The end of an interpreter was reported to the user.
    DeathTold,
    /// No job is active: the replay goes on, then the queue.
    Free,
    /// No job is active, or a queued one has begun: begin the next.
    Advance,
    /// For this prompt, while it is active.
    Prompt(JobId, PromptEvent),
    TurnStarted(JobId, TurnId),
    /// The turn of the active prompt is over: stop what runs for it; [`PromptEvent::ToolsStopped`] follows.
    TurnOver,
    /// The active prompt is over.
    JobOver,
    /// The runtime has the code as this request.
    Submitted(CodeStarter, RequestId),
    RuntimeReplied(RuntimeRequester, RuntimeReply),
    /// The agent calls a tool that its turn offers.
    ToolCalled(ToolCall),
    /// Interrupt the tool of the turn, if it runs code.
    ToolInterrupted,
    /// For the active call of this caller.
    Tool(ToolCaller, ToolEvent),
    /// For this call, while it is active.
    ToolOf(CallId, ToolEvent),
    /// The result of a call, and the cells whose output it holds.
    ToolDone(ToolCaller, ToolReturn, Vec<u32>),
    /// The active job, a call, is over.
    CallReturned(ToolReturn),
    Ask(QuestionSubject, ApprovalRequester),
    Replied(ApprovalRequester, Reply),
    /// The user wants a yes to last.
    MadeLasting(Box<Lasting>),
    /// The consequences of a reply are over: show the next question.
    NextQuestion,
    /// An event of a cell that is not suspended.
    Cell(RuntimeRole, RuntimeEvent),
    /// The cell has ended that the active prompt or call ran for.
    CallsAbandoned,
    /// Begin the next call of the agent's code.
    NextAgentCall,
    AgentCallShown(HostRequest),
    Found(Found, To),
}

/// What a command's wait has found, for the session to go on with.
pub(crate) enum Found {
    Undo(UndoRequest),
    /// As `Undo`, where the interpreter can step back over the cells: asks the user about that.
    StepBackPossible(UndoRequest),
    /// Sends a prompt again, in place of the exchange at `line` if there is one.
    Resend {
        line: Option<u32>,
        text: String,
    },
    /// Shortens the conversation, which is not empty; with what is to be kept.
    Compaction(String),
    /// Begins a prompt that replaces earlier entries.
    Input(Box<Submission>),
    /// A prompt replaces earlier entries, or the session is forked before them: finds out how far the interpreter steps
    /// back.
    Replacement(ReplacementRequest),
    /// As `Replacement`, once that is known: asks the user.
    ReplacementReady(ReplacementRequest),
    /// Puts files back that steps have changed: finds out which.
    Rewind(Box<RewindRequest>),
    /// As `Rewind`, once that is known: asks the user.
    RewindPlanned(Box<RewindRequest>),
    /// Goes on in a new session that holds the entries before this number, with this text in the editor.
    Fork {
        before: u32,
        text: Option<String>,
    },
    /// Has these steps carried out.
    Plan(Vec<String>),
    /// The user decides about what the turn with this number has left, these files among it.
    Offer(u32, Vec<OfferedFile>),
    /// Lists the skills; the dialog tells which the conversation holds.
    Skills(Box<Dialog>),
    /// Puts a written setting into force, if that is possible before the next start.
    Setting {
        name: &'static str,
        value: Value,
    },
    /// Stores the value of one of the agent's own options.
    Option {
        option: String,
        value: String,
    },
    Cell(Box<CellStart>),
    /// Runs these steps; `last_code` is the session's last line of code.
    Replay {
        replay: Replay,
        last_code: u32,
        purpose: ReplayPurpose,
    },
    /// Runs the start-up files, the project's only if the user agrees.
    StartupAnswers,
    /// Offers the user the variables in this file.
    Variables {
        kept: SavedVariables,
        file: PathBuf,
    },
    Session(Box<(SwitchedSession, Option<SessionTail>)>),
    /// Reports which names of these cells the interpreter lacks; with `beside`, outside of the queue.
    RecordedCells {
        cells: Vec<RecordedCell>,
        beside: bool,
    },
    /// The interpreter's directory after a step.
    Directory(PathBuf),
}

/// A recorded cell that can run; when it fails and `stops` is set, queued inputs are not run.
pub(crate) struct CellStart {
    pub(crate) role: RuntimeRole,
    pub(crate) execute: Execute,
    pub(crate) origin: CellOrigin,
    pub(crate) stops: bool,
    /// The cell goes to the background as soon as it runs.
    pub(crate) behind: bool,
}

pub(crate) type EffectsFuture = Pin<Box<dyn Future<Output = Vec<Effect>> + Send>>;

impl Effect {
    /// Shows an event in the run of the job.
    pub(crate) fn show(event: impl Into<SessionEvent>) -> Self {
        Effect::Emit(To::Job, event.into())
    }

    pub(crate) fn found(found: Found) -> Self {
        Effect::Raise(Event::Found(found, To::Job))
    }

    pub(crate) fn to_mut(&mut self) -> Option<&mut To> {
        match self {
            Effect::Emit(to, _)
            | Effect::RequestEditor(to, _)
            | Effect::SaveOutputs(to)
            | Effect::LogExchange { to, .. }
            | Effect::Kill { to, .. }
            | Effect::RestartRuntime(to)
            | Effect::CloseNotebook(to)
            | Effect::Raise(Event::Found(_, to)) => Some(to),
            Effect::Interrupt { to, .. } => to.as_mut(),
            _ => None,
        }
    }
}

pub(crate) fn emit(event: impl Into<SessionEvent>) -> Vec<Effect> {
    vec![Effect::show(event)]
}

pub(crate) fn warn(message: impl Into<String>) -> Vec<Effect> {
    emit(Notice::warning(message))
}
