//! The handle of the record: sends writes and queries to its thread, which replies in order.
//!
//! No call waits for a lock. When the thread has ended, queries return their neutral value.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use tokio::sync::{mpsc as reports, oneshot};

use crate::agent::Usage;
use crate::dialog::Dialog;
use crate::input::{shell_cell, shell_source};
use crate::notebook::SavedSession;
use crate::output::mime::MimeBundle;
use crate::output::shown::Layout;
use crate::text::report::Report;

use super::answer_parts::StreamedAnswers;
use super::inputs::{InputsQuery, NumberedInput};
use super::recall::Recall;
use super::request::{RecordWrite, StoreRequest};
use super::values::{
    CellStatus, ForkOrigin, PromptStart, RecordOptions, RecordedCell, RecordedDecision,
    RecordedOutcome, RecordedThread, RecordedThreads, SessionRow, SessionSpec, SessionStart,
    SessionTail, StoredBundle, SwitchTarget, SwitchedSession, TurnKey, TurnRow,
};
use super::{store, thread};

/// Longest wait for an input to be written while the file is being opened: a new file takes several syncs of the
/// disk. Errors return earlier; the bound is for a disk that hangs.
const OPENED: Duration = Duration::from_secs(5);
/// Longest wait once the file has been opened: one checkpoint of the log, with its sync.
const RECORDED: Duration = Duration::from_secs(1);

/// A handle of the record; cheap to clone, usable from any thread.
#[derive(Debug, Clone)]
pub struct RecordHandle {
    messages: mpsc::Sender<StoreRequest>,
    turns: Arc<AtomicU64>,
    streamed: StreamedAnswers,
    /// Set while the file takes no writes.
    is_stuck: Arc<AtomicBool>,
    /// Set after the first attempt to open the file.
    is_opened: Arc<AtomicBool>,
    recall: Recall,
}

/// Starts the thread that owns the record, and returns at once. Problems with the file are sent as reports.
pub fn open(
    opening: RecordOptions,
    begin: SessionSpec,
) -> (RecordHandle, reports::UnboundedReceiver<Report>) {
    open_after(opening, begin, || ())
}

/// Like [`open`], but does not touch the file until `turn` returns.
pub fn open_after(
    opening: RecordOptions,
    begin: SessionSpec,
    turn: impl FnOnce() + Send + 'static,
) -> (RecordHandle, reports::UnboundedReceiver<Report>) {
    let (messages, inbox) = mpsc::channel();
    let (report_sender, report_receiver) = reports::unbounded_channel();
    let recall = Recall::default();
    let streamed = StreamedAnswers::default();
    let is_stuck = Arc::new(AtomicBool::new(false));
    let is_opened = Arc::new(AtomicBool::new(false));
    let shared = store::SharedState {
        recall: recall.clone(),
        streamed: streamed.clone(),
        is_stuck: is_stuck.clone(),
        is_opened: is_opened.clone(),
    };
    let store = store::Store::new(opening, begin, report_sender.clone(), shared);
    let started = std::thread::Builder::new()
        .name("history".into())
        .spawn(move || {
            turn();
            thread::run(store, &inbox);
        });
    if let Err(error) = started {
        // Without its thread, every query below returns its neutral value. The receiver may be gone.
        let _ = report_sender.send(Report::failure("history is not being saved").because(error));
    }
    let history = RecordHandle {
        messages,
        turns: Arc::default(),
        streamed,
        is_stuck,
        is_opened,
        recall,
    };
    (history, report_receiver)
}

impl RecordHandle {
    fn send(&self, message: StoreRequest) {
        // The thread ends only after `close`; later messages are dropped.
        let _ = self.messages.send(message);
    }

    fn write(&self, write: RecordWrite) {
        self.send(StoreRequest::Write(write));
    }

    /// The session as it is known now: a session whose file was locked at first gets its number later.
    ///
    /// # Errors
    /// The session to resume is not in the record, or the record cannot be used.
    pub fn session(&self) -> impl Future<Output = Result<SessionStart, Report>> + use<> {
        let (reply, answer) = oneshot::channel();
        self.send(StoreRequest::Session(reply));
        async {
            answer
                .await
                .unwrap_or_else(|_| Err(Report::failure("history has ended")))
        }
    }

    /// Records an input before it runs; prompts too, with their dot. `source` is the code that runs, `source_raw` the
    /// text as typed.
    pub fn record_input(&self, line: u32, source: &str, source_raw: &str) {
        self.recall.push(source_raw);
        self.write(RecordWrite::Input {
            line,
            source: source.to_owned(),
            raw: source_raw.to_owned(),
            shell: None,
            at: SystemTime::now(),
        });
    }

    /// Records a command of the persistent shell named `shell`, before it runs.
    pub fn record_shell_command(&self, line: u32, command: &str, shell: &str) {
        let raw = shell_source(command, shell);
        self.recall.push(&raw);
        self.write(RecordWrite::Input {
            line,
            source: shell_cell(command, shell),
            raw,
            shell: Some(command.to_owned()),
            at: SystemTime::now(),
        });
    }

    pub fn record_shell_exit(&self, line: u32, exit: i32) {
        self.write(RecordWrite::ShellExit { line, exit });
    }

    /// Returns when all earlier writes are in the file (about 0.1 ms), so that a caller that sees the effect of an
    /// input finds the input recorded even after a crash. Needs a Tokio timer.
    ///
    /// A locked or full file is retried for 200 ms; a disk that hangs is waited for once, 1 s at most (5 s while the
    /// file is being opened). Later calls do not wait until the file takes writes again.
    pub fn wait_written(&self) -> impl Future<Output = ()> + Send + use<> {
        let (reply, tried) = oneshot::channel();
        let is_stuck = Arc::clone(&self.is_stuck);
        let waits = !is_stuck.load(Ordering::Relaxed);
        if waits {
            self.send(StoreRequest::Attempted(reply));
        }
        let most = match self.is_opened.load(Ordering::Relaxed) {
            true => RECORDED,
            false => OPENED,
        };
        async move {
            if waits && tokio::time::timeout(most, tried).await.is_err() {
                is_stuck.store(true, Ordering::Relaxed);
            }
        }
    }

    pub fn record_output(
        &self,
        line: u32,
        text: &str,
        bundles: Vec<MimeBundle>,
        state: CellStatus,
        execution_ms: u64,
    ) {
        self.record_output_with_layout(
            line,
            text,
            bundles,
            &Layout::default(),
            state,
            execution_ms,
        );
    }

    /// Like `record_output`, with the places of the rich formats in the text.
    pub fn record_output_with_layout(
        &self,
        line: u32,
        text: &str,
        bundles: Vec<MimeBundle>,
        layout: &Layout,
        state: CellStatus,
        execution_ms: u64,
    ) {
        let bundles = bundles.iter().map(StoredBundle::from_mime);
        self.write(RecordWrite::Output {
            line,
            text: text.to_owned(),
            bundles: bundles.collect(),
            layout: layout.to_json(),
            state,
            execution_ms,
        });
    }

    pub fn begin_prompt(&self, start: PromptStart) -> TurnKey {
        let key = TurnKey(self.turns.fetch_add(1, Ordering::Relaxed));
        self.write(RecordWrite::BeginTurn {
            key,
            start: Box::new(start),
        });
        key
    }

    /// Records the answer so far; the caller decides how often. Only the new part is written.
    pub fn stream_answer(&self, key: TurnKey, stored: &str) {
        if let Some((at, text)) = self.streamed.next_part(key, stored) {
            self.write(RecordWrite::Stream { key, at, text });
        }
    }

    /// Records the end of a turn. `stored` is the stored form, with the mark of an interruption.
    pub fn finish_prompt(
        &self,
        key: TurnKey,
        outcome: RecordedOutcome,
        stored: &str,
        usage: Option<Usage>,
    ) {
        self.streamed.finish(key);
        self.write(RecordWrite::FinishTurn {
            key,
            outcome,
            response: stored.to_owned(),
            usage,
        });
    }

    /// Hides the entries with these In numbers from the conversation, or shows them again, whatever hid them.
    pub fn hide(&self, lines: RangeInclusive<u32>, hidden: bool) {
        self.write(RecordWrite::Hide { lines, hidden });
    }

    /// Records that the interpreter stepped back over these cells, or forward again; meanwhile they are not part of
    /// the conversation. `session` is `None` for the current session.
    pub fn step_over(&self, session: Option<i64>, lines: Vec<u32>, over: bool) {
        self.write(RecordWrite::StepOver {
            session,
            lines,
            over,
        });
    }

    /// Records that the answer to prompt `prompt` contains cell `line`: while the answer is part of the conversation,
    /// the cell is not in the context again.
    pub fn mark_in_answer(&self, line: u32, prompt: u32) {
        self.write(RecordWrite::InAnswer { line, prompt });
    }

    pub fn record_decision(&self, decided: RecordedDecision) {
        self.write(RecordWrite::Decision(decided));
    }

    pub fn rename(&self, name: &str) {
        self.write(RecordWrite::Rename(name.to_owned()));
    }

    pub fn set_thread(&self, provider: &str, thread: Option<RecordedThread>) {
        let provider = provider.to_owned();
        self.write(RecordWrite::Thread { thread, provider });
    }

    async fn request<T: Default>(
        &self,
        message: impl FnOnce(oneshot::Sender<T>) -> StoreRequest,
    ) -> T {
        let (reply, answer) = oneshot::channel();
        self.send(message(reply));
        answer.await.unwrap_or_default()
    }

    pub async fn recorded_threads(&self) -> RecordedThreads {
        self.request(StoreRequest::Threads).await
    }

    /// The whole session, all earlier writes included.
    pub async fn dialog(&self) -> Dialog {
        self.request(StoreRequest::Dialog).await
    }

    /// The last entries of the session, `most` at most; the cost does not depend on the session's size.
    pub async fn tail(&self, most: u32) -> Option<SessionTail> {
        self.request(|reply| StoreRequest::Tail { most, reply })
            .await
    }

    /// All cells of the session, in order, without prompts and commands.
    pub async fn cells(&self) -> Vec<RecordedCell> {
        self.request(StoreRequest::Cells).await
    }

    /// Inputs of any session that are in the file, oldest first.
    pub async fn inputs(&self, wanted: InputsQuery) -> Vec<NumberedInput> {
        self.request(|reply| StoreRequest::Inputs(wanted, reply))
            .await
    }

    /// The session in the form that is saved to a file, all earlier writes included, hidden entries and commands left
    /// out.
    pub async fn saved(&self) -> SavedSession {
        self.request(StoreRequest::Saved).await
    }

    /// Ends the session and resumes the one with this number or name. Earlier messages belong to the ended session.
    ///
    /// # Errors
    /// There is no such session, it is the current one, or the file cannot be written now; nothing has changed then.
    pub fn switch_to(
        &self,
        target: &str,
    ) -> impl Future<Output = Result<SwitchedSession, Report>> + use<> {
        self.switch_session(SwitchTarget::Known(target.to_owned()))
    }

    /// Ends the session and begins an empty one. Earlier messages belong to the ended session.
    ///
    /// # Errors
    /// The file cannot be written now; nothing has changed then.
    pub fn switch_to_new(&self) -> impl Future<Output = Result<SwitchedSession, Report>> + use<> {
        self.switch_session(SwitchTarget::New)
    }

    /// Ends the session and begins one that holds copies of its entries below the In number `before`. Earlier messages
    /// belong to the ended session, which stays as it is.
    ///
    /// # Errors
    /// The file cannot be written now; nothing has changed then.
    pub fn switch_to_fork(
        &self,
        before: u32,
    ) -> impl Future<Output = Result<SwitchedSession, Report>> + use<> {
        self.switch_session(SwitchTarget::Fork(before))
    }

    /// Returns what a fork of this session before this In number begins with, for another handle of the same file;
    /// `None` when it is not written, or cannot be at the moment.
    pub async fn fork_origin(&self, before: u32) -> Option<ForkOrigin> {
        self.request(|reply| StoreRequest::ForkOrigin(before, reply))
            .await
    }

    fn switch_session(
        &self,
        target: SwitchTarget,
    ) -> impl Future<Output = Result<SwitchedSession, Report>> + use<> {
        let (reply, answer) = oneshot::channel();
        self.send(StoreRequest::SwitchSession { target, reply });
        async {
            answer
                .await
                .unwrap_or_else(|_| Err(Report::failure("history has ended")))
        }
    }

    /// All turns of the session, oldest first, those deleted by a reset included.
    pub async fn turns(&self) -> Vec<TurnRow> {
        self.request(StoreRequest::Turns).await
    }

    /// Ends the conversation so far: deletes its prompts and removes its cells from the context. Returns the number
    /// of prompts; a write error is reported later, like that of any write.
    pub async fn reset(&self) -> usize {
        self.request(StoreRequest::Reset).await
    }

    /// Sessions, newest first, 20 at most: those of `cwd`, else of its git root; with `all`, of every directory.
    pub async fn sessions(&self, cwd: PathBuf, all: bool) -> Vec<SessionRow> {
        self.request(|reply| StoreRequest::Sessions { cwd, all, reply })
            .await
    }

    /// Returns when all earlier messages have been written, or cannot be written for now.
    pub async fn flush(&self) {
        self.request(StoreRequest::Flush).await;
    }

    /// Records the end of the session and ends the thread. Call `flush` first to know when the writes are done.
    pub fn close(&self) {
        self.send(StoreRequest::Close);
    }

    pub fn recall(&self) -> Recall {
        self.recall.clone()
    }
}
