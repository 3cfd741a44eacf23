//! What tools say is done: the runtime asked, the user asked, code run, results handed to the turn.
//!
//! Invariant: a turn that was stopped waits here for the end of its code; the user's next cell finds the interpreter
//! and its terminal free.

use std::path::PathBuf;
use std::time::Instant;

use super::{Code, Desk, NotebookJob, NotebookNews, Running, Seen, ShownAs, ToolEvent, ToolStep};
use crate::agent::{Approvals, FileChange, ToolCall};
use crate::config::KernelMode;
use crate::runtime::{BranchWish, Execute, RequestId, RuntimeEvent, RuntimeRequest};
use crate::session::asking::{Asker, AskingEvent};
use crate::session::cell::{CellRun, CellStep, Remains, Whose};
use crate::session::events::{AnswerEvent, BeginEvent, ToldEvent};
use crate::session::floor::{FloorEvent, Holder};
use crate::session::handle::Command;
use crate::session::prompt::PromptEvent;
use crate::session::question::{QuestionChoice, Reply};
use crate::session::runtimes::{Role, RuntimeSlot};
use crate::session::slots::Waiter;
use crate::session::task::Session;
use crate::session::ticket::{CallId, CalledBy};
use crate::session::tool_return::ToolReturn;

/// What code may not ask for that runs for the agent.
pub(in crate::session) const RUNS_CELLS: &str =
    "no cell can be run for a cell that waits for it: run the code here";
/// What is said of a kernel that ended between two cells.
const NO_KERNEL: &str = "the kernel ended before the cell";

impl Session {
    /// Begins a call; its result when that is all.
    pub(in crate::session) fn call_tool(&mut self, call: ToolCall) -> Option<ToolReturn> {
        let prompt = self.floor.prompt()?;
        if !prompt.offers(&call.name) {
            let why = format!("tool `{}` is not defined", call.name);
            return Some(ToolReturn::failed(&why));
        }
        self.begin_tool(CalledBy::Turn, call)
    }

    /// Begins a call, whether or not it is offered; its result when that is all.
    pub(in crate::session) fn begin_tool(
        &mut self,
        by: CalledBy,
        call: ToolCall,
    ) -> Option<ToolReturn> {
        let (bench, mut desk) = self.bench(by);
        match bench.begin(call, &mut desk) {
            ToolStep::Done(result) => Some(result),
            step => {
                self.do_for_tool(by, step);
                None
            }
        }
    }

    /// The user stops it: what it asks is dropped, what it runs is interrupted and waited for.
    pub(in crate::session) fn stop_call(&mut self) {
        self.on_asking(AskingEvent::TurnOver);
        self.agents_code_ended();
        if self.toolbox.is_running() {
            let told = self.interrupt_code();
            self.say(told);
        }
        if self.toolbox.put_away() {
            self.tools_away();
        }
    }

    /// No code of a call that was stopped runs any more.
    fn tools_away(&mut self) {
        self.give_kernel_back();
        match self.floor.holder() {
            Some(Holder::Call { left, .. }) => {
                let why = match left {
                    true => "whoever called it no longer wants it",
                    false => "the user stopped it",
                };
                self.call_returned(ToolReturn::failed(why));
            }
            _ => self.on_prompt(PromptEvent::ToolsAway),
        }
    }

    /// The copy of the user's interpreter ends with the turn that wanted it.
    pub(in crate::session) fn end_branch(&mut self) {
        if std::mem::take(&mut self.toolbox.branched) {
            let end = RuntimeRequest::Branch(BranchWish::End);
            self.runtimes.user.tell(end);
        }
    }

    /// Where the calls of one are worked off, and what its tools may look at.
    fn bench(&mut self, by: CalledBy) -> (&mut super::Toolbox, Desk<'_>) {
        let line = self.floor.prompt().map_or(0, |prompt| prompt.line());
        let desk = Desk {
            now: Instant::now(),
            somebody: self.floor.asks(self.setup.asks),
            interpreter: self.runtimes.user.is_up(),
            cell_waits: self.floor.is_asked_from_beneath(),
            able: self.runtimes.user.able(),
            stdin: self.runtimes.user.tool_stdin(),
            run_cells: &mut self.choices.run_cells,
            kernels_per_call: self.choices.kernel_mode == KernelMode::PerCall,
            allowed: &mut self.asking.allowed,
            shelf: &mut self.shelf,
            outputs: &self.outputs,
            cwd: &self.cwd,
            places: &self.setup.notebooks,
            approvals: self.choices.approvals == Approvals::Ask,
            line,
        };
        let bench = match by {
            CalledBy::Turn => &mut self.toolbox,
            CalledBy::Code => &mut self.from_agent.bench,
        };
        (bench, desk)
    }

    /// Tells whose call this is, if anybody still waits for it.
    pub(in crate::session) fn on_call(&mut self, call: CallId, event: ToolEvent) {
        if self.toolbox.call() == call {
            self.on_tool(CalledBy::Turn, event);
        } else if self.from_agent.bench.call() == call {
            self.on_tool(CalledBy::Code, event);
        }
    }

    /// Tells the tool that is worked off, and does what it says.
    pub(in crate::session) fn on_tool(&mut self, by: CalledBy, event: ToolEvent) {
        if matches!(
            event,
            ToolEvent::Replied(Reply::Chosen(QuestionChoice::Stop))
        ) {
            return self.on_floor(FloorEvent::Interrupted);
        }
        let (bench, mut desk) = self.bench(by);
        let step = bench.on(event, &mut desk);
        let out = self.out_or_background().clone();
        self.shelf.keep_answers(&out);
        self.do_for_tool(by, step);
    }

    fn do_for_tool(&mut self, by: CalledBy, step: ToolStep) {
        let call = self.bench(by).0.call();
        match step {
            ToolStep::Wait => {}
            ToolStep::Submit(request) => {
                self.toolbox.branched |= matches!(request, RuntimeRequest::Branch(_));
                self.ask_runtime(request, Waiter::Tool(call));
            }
            ToolStep::Open(_) | ToolStep::Run(_) | ToolStep::Interrupt | ToolStep::Kill { .. }
                if by == CalledBy::Code =>
            {
                self.tool_told_code(ToolReturn::failed(RUNS_CELLS));
            }
            ToolStep::Open(opening) => self.open_kernel(opening),
            ToolStep::Ask(about) => self.ask_user(about, Asker::Tool(by)),
            ToolStep::Show {
                text,
                pictures,
                then,
            } => {
                self.say((!text.is_empty()).then_some(ToldEvent::Verbatim(text)));
                self.say(pictures.into_iter().map(AnswerEvent::Picture));
                self.do_for_tool(by, *then);
            }
            ToolStep::Tell { cells, then } => {
                // Who calls a tool by itself sees its result alone.
                let told = self.floor.prompt().is_some();
                self.say(told.then_some(AnswerEvent::CellsStand(cells)));
                self.do_for_tool(by, *then);
            }
            ToolStep::Run(code) => self.run_code(code),
            ToolStep::Interrupt => drop(self.interrupt_code()),
            ToolStep::Kill { over_time } => {
                let runtime = self.runtimes.of(self.toolbox.role());
                let told = runtime.and_then(match over_time {
                    true => RuntimeSlot::kill_over_time,
                    false => RuntimeSlot::kill,
                });
                self.say(told);
            }
            ToolStep::ReadSkill(path) => self.read_skill_for(call, path),
            ToolStep::Notebook(job) => self.work_on_notebook(call, job),
            ToolStep::Done(result) if by == CalledBy::Code => {
                self.outputs.save(self.out_or_background());
                self.tool_told_code(result);
            }
            ToolStep::Done(result) => {
                let told = self.toolbox.put_back();
                self.give_kernel_back();
                self.outputs.save(self.out_or_background());
                if matches!(self.floor.holder(), Some(Holder::Call { .. })) {
                    return self.call_returned(result);
                }
                self.on_prompt(PromptEvent::ToolReturned(result));
                self.record_as_told(&told);
            }
        }
    }

    /// The model has seen what these cells showed: as long as this exchange is part of the conversation they are no
    /// context for later prompts.
    fn record_as_told(&mut self, cells: &[u32]) {
        if cells.is_empty() {
            return;
        }
        if let Some(line) = self.floor.prompt().map(|prompt| prompt.line()) {
            // First the answer that holds them: whatever cuts the turn off, one of the two tells of them.
            self.on_prompt(PromptEvent::SaveNow);
            let history = &self.history;
            cells.iter().for_each(|cell| history.told(*cell, line));
        }
    }

    fn run_code(&mut self, code: Code) {
        let out = self.out_or_background().clone();
        let Code {
            source,
            shown_as,
            directory,
        } = code;
        let mut role = Role::User;
        let (line, stdin, whose) = match shown_as {
            ShownAs::Cell { title } => {
                let line = self.numbering.take();
                self.history.input(line, &source, &source);
                if let Some(prompt) = self.floor.prompt() {
                    self.steps.ran_for.insert(line, prompt.line());
                }
                let begun = BeginEvent::AgentCell {
                    line,
                    title,
                    source: source.clone(),
                };
                self.tell_caller(begun.clone());
                out.send(begun);
                (
                    Some(line),
                    self.runtimes.user.stdin(None),
                    Whose::Agent(line),
                )
            }
            ShownAs::Skill { name } => {
                let shown = format!("skill {name} runs:\n{}", source.trim_end());
                out.send(ToldEvent::Verbatim(shown));
                (None, self.runtimes.user.tool_stdin(), Whose::Aside)
            }
            ShownAs::Own { kernel, heading } => {
                role = Role::Agent(kernel);
                out.send(ToldEvent::Verbatim(format!(
                    "{heading}\n{}",
                    source.trim_end()
                )));
                (None, self.runtimes.user.tool_stdin(), Whose::Aside)
            }
        };
        let execute = Execute {
            stdin,
            dark: self.dark(),
            directory,
            ..match line {
                Some(line) => Execute::numbered(source, line),
                None => Execute::aside(source),
            }
        };
        let Some(runtime) = self.runtimes.of(role) else {
            return self.on_tool(CalledBy::Turn, ToolEvent::Opened(Err(NO_KERNEL.to_owned())));
        };
        let id = runtime.execute(execute);
        let run = CellRun::new(id, whose, out, self.outputs.clone()).on_runtime_of(role);
        self.toolbox.runs(line.unwrap_or(0), Box::new(run));
    }

    /// An event of code of a tool; gives it back when it is not.
    pub(in crate::session) fn on_code(
        &mut self,
        role: Role,
        id: RequestId,
        event: RuntimeEvent,
    ) -> Option<RuntimeEvent> {
        let Some(run) = self.toolbox.code(role, id) else {
            return Some(event);
        };
        let told = match &event {
            RuntimeEvent::Started { .. } => Some(ToolEvent::CodeBegan),
            RuntimeEvent::InputRequested { .. } => Some(ToolEvent::InputAsked),
            _ => None,
        };
        let ended = (run.id, run.line());
        let step = run.on(event, &self.history);
        if let (CellStep::Ended(_), (id, Some(line))) = (&step, ended) {
            self.runtimes.user.cell_ended(id, line);
        }
        if let Some(told) = told {
            self.on_tool(CalledBy::Turn, told);
        }
        if !matches!(step, CellStep::On) {
            self.agents_code_ended();
        }
        match step {
            CellStep::On => {}
            CellStep::Ended(remains) => self.code_ended(remains),
            CellStep::Died(remains) => self.toolbox.code_died(remains),
        }
        None
    }

    fn code_ended(&mut self, remains: Box<Remains>) {
        if let (Some(cwd), Role::User) = (&remains.cwd, self.toolbox.role()) {
            self.cwd = PathBuf::from(cwd);
        }
        let line = self.toolbox.take_code().map_or(0, |code| code.line());
        if self.toolbox.is_free() {
            return self.tools_away();
        }
        self.on_tool(CalledBy::Turn, ToolEvent::CodeEnded { line, remains });
    }

    /// What was to be said of the interpreter's end has been said: the tools go on.
    pub(in crate::session) fn tools_go_on(&mut self) {
        if self.toolbox.awaits_restart() {
            self.on_tool(CalledBy::Turn, ToolEvent::Restarted);
        } else if self.toolbox.is_dead()
            && let Some(Running::Died { line, remains, .. }) = self.toolbox.take_code()
        {
            if self.toolbox.is_free() {
                return self.tools_away();
            }
            self.on_tool(CalledBy::Turn, ToolEvent::CodeEnded { line, remains });
        }
    }

    /// Reads it on another thread: a file may lie on a disk that does not answer.
    pub(in crate::session) fn read_skill_for(&self, call: CallId, path: String) {
        let (catalog, inbox) = (self.shelf.catalog().clone(), self.inbox.clone());
        tokio::task::spawn_blocking(move || {
            let read = catalog.activate(&path).map(Box::new);
            // The session may have ended.
            let _ = inbox.send(Command::SkillRead(call, read));
        });
    }

    /// Reads or writes a notebook on another thread.
    pub(in crate::session) fn work_on_notebook(&self, call: CallId, job: NotebookJob) {
        let inbox = self.inbox.clone();
        let mut seen = self.toolbox.seen.clone();
        tokio::task::spawn_blocking(move || {
            let (news, change) = job.work(&mut seen);
            // The session may have ended.
            let _ = inbox.send(Command::NotebookDone(call, Box::new((news, seen, change))));
        });
    }

    /// It is done: the user sees what changed, the tool goes on.
    pub(in crate::session) fn on_notebook(
        &mut self,
        call: CallId,
        done: (NotebookNews, Seen, Option<FileChange>),
    ) {
        let (news, seen, change) = done;
        self.toolbox.seen = seen;
        if let Some(change) = change {
            let changed = AnswerEvent::FilesChanged(vec![change]);
            self.out_or_background().send(changed);
        }
        self.on_call(call, ToolEvent::Notebook(news));
    }
}
