//! The thread of a shell: sends it commands, publishes its output, reports how each command ended.
//!
//! In: requests ([`Control`]). Out: events. A command goes through these states: the shell reads its settings
//! (`Starting`, once), it has been woken (`Waking`), it reads the command (`Taking`), the command runs (`Running`),
//! the shell waits for the next one (`Idle`). Each state ends with a mark, the shell's death, or a third Ctrl-C.
//!
//! Invariants: the shell reads its lines from a pipe, so that keys, in whatever state, reach only the command (or a
//! question of the settings); bytes the command has not read are returned; all output of a command precedes its
//! end; once a program has taken the terminal out of line mode or switched to the alternate screen, all output up
//! to the command's end is foreign, including the sequences that restore the terminal.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Sender;

use super::super::control::EventSender;
use super::super::marks::StreamPiece;
use super::super::supervisor::{SupervisedRuntime, Supervisor};
use super::super::terminal::CellPty;
use super::super::{
    Completeness, Death, Ending, Execute, Finish, OutputStream, RequestId, RuntimeEvent,
    RuntimeInfo, RuntimeReply, RuntimeRequest, StartFailure,
};
use super::capabilities;
use super::control::Control;
use super::launch::launch;
use super::plan::{Program, ShellPlan};
use super::shell_process::{ShellMark, ShellProcess};
use crate::process::SuspendKey;

/// Time after which the user is notified that the shell's settings take long.
const SLOW: Duration = Duration::from_secs(5);
/// A shell may miss a Ctrl-C while it begins a command: in the command's first second ([`FIRST`]) a second Ctrl-C
/// follows after this time, if the command still runs in the shell itself.
const REPEAT: Duration = Duration::from_millis(200);
const FIRST: Duration = Duration::from_secs(1);
/// Exit status after Ctrl-C (128 + SIGINT).
const INTERRUPTED: i32 = 130;
/// Replaces a command that was interrupted before it began.
const STOPPED: &str = "kill -INT $$";

struct ShellSupervisor {
    plan: ShellPlan,
    control: Arc<Control>,
    terminal: Arc<CellPty>,
    events: EventSender,
    running: Option<Running>,
    command: Option<ActiveCommand>,
}

struct Running {
    shell: ShellProcess,
    program: Program,
    settings: bool,
    state: ShellState,
}

enum ShellState {
    Starting {
        since: Instant,
        /// The user was notified that the settings take long.
        told: bool,
        spoke: bool,
    },
    Idle,
    Waking,
    Taking,
    Running,
}

struct ActiveCommand {
    id: RequestId,
    code: String,
    place: String,
    began: Instant,
    /// A program has taken the terminal out of line mode, or switched to the alternate screen.
    foreign: bool,
    job_ended: bool,
    /// Time of the second Ctrl-C.
    repeat: Option<Instant>,
    /// Bytes typed for the command, unread, and taken back before its end.
    unread: Vec<u8>,
}

/// Starts the runtime; the shell starts with its first command.
pub(crate) fn start(plan: ShellPlan, events: Sender<RuntimeEvent>) -> SupervisedRuntime {
    let name = plan.program().map_or("shell", |it| it.dialect.name());
    let control = Arc::new(Control::new());
    let keys = Arc::clone(&control) as _;
    let terminal = Arc::new(CellPty::new(plan.terminal, SuspendKey::Enabled, keys));
    let supervisor = ShellSupervisor {
        plan,
        control: Arc::clone(&control),
        terminal: Arc::clone(&terminal),
        events: control.sender(events.clone()),
        running: None,
        command: None,
    };
    let capabilities = Arc::new(Mutex::new(capabilities(name)));
    SupervisedRuntime::start(supervisor, control, capabilities, Some(terminal), events)
}

impl Supervisor for ShellSupervisor {
    const THREAD: &'static str = "shell";
    const OWNED: &'static str = "the shell";

    fn run(mut self) {
        while !self.control.is_closing() {
            match self.command {
                None => match self.control.next() {
                    Some((id, request)) => self.take(id, request),
                    None => self.step(),
                },
                Some(_) => self.step(),
            }
        }
        self.end();
        if let Some(command) = self.command.take() {
            self.finish(&command, Ending::Died(Death::Killed), None, Vec::new());
        }
    }
}

impl ShellSupervisor {
    fn take(&mut self, id: RequestId, request: RuntimeRequest) {
        let answer = match request {
            RuntimeRequest::Execute(execute) => return self.begin(id, execute),
            RuntimeRequest::ReplyInput { .. }
            | RuntimeRequest::ReplyRecord { .. }
            | RuntimeRequest::ReplyCall { .. } => return,
            RuntimeRequest::IsComplete { .. } => RuntimeReply::Completeness(Completeness::Unknown),
            RuntimeRequest::Shutdown { .. } => {
                self.end();
                RuntimeReply::Done
            }
            _ => RuntimeReply::Unsupported("a shell only runs commands".to_owned()),
        };
        self.events.send(RuntimeEvent::Replied { id, answer });
    }

    fn begin(&mut self, id: RequestId, execute: Execute) {
        // Pending interrupts and kills were for the command that has ended.
        self.control.set_running(false);
        self.control.take_kill();
        self.events.send(RuntimeEvent::Started { id });
        let place = execute.directory.filter(|place| place.is_dir());
        self.command = Some(ActiveCommand {
            id,
            // A zero byte would end the shell's read.
            code: execute.code.replace('\0', ""),
            place: place.map_or(String::new(), |place| place.to_string_lossy().into_owned()),
            began: Instant::now(),
            foreign: false,
            job_ended: false,
            repeat: None,
            unread: Vec::new(),
        });
        match &mut self.running {
            Some(running) => {
                self.terminal.begin_cell();
                running.wake();
            }
            None => self.start(true),
        }
    }

    fn start(&mut self, settings: bool) {
        let program = match self.plan.program() {
            Ok(program) => program,
            Err(why) => {
                let hint = "install bash or zsh, or set the variable SHELL to one";
                return self.cannot_start(why, hint);
            }
        };
        if let (Some(own), true) = (&program.instead_of, settings) {
            let name = program.dialect.name();
            let text = format!("shell mode cannot drive {own}; it runs {name}");
            self.events.send(RuntimeEvent::Notice(text));
        }
        let launched = match launch(&self.plan, &program, settings, &self.terminal) {
            Ok(launched) => launched,
            Err(error) => {
                let path = program.path.display();
                let hint = "set the variable SHELL to a bash or zsh that can be started";
                return self.cannot_start(format!("`{path}` could not be started: {error}"), hint);
            }
        };
        let shell = ShellProcess::new(launched);
        // The settings may ask for input; bytes they do not read go to the command.
        self.terminal.begin_cell();
        self.running = Some(Running {
            shell,
            program,
            settings,
            state: ShellState::Starting {
                since: Instant::now(),
                told: false,
                spoke: false,
            },
        });
    }

    fn cannot_start(&mut self, message: String, hint: &str) {
        let failure = StartFailure {
            message,
            hint: hint.to_owned(),
        };
        self.events.send(RuntimeEvent::StartFailed(failure.clone()));
        if let Some(command) = self.command.take() {
            let ending = Ending::Died(Death::NotStarted(failure));
            self.finish(&command, ending, None, Vec::new());
        }
    }

    fn step(&mut self) {
        let Some(running) = &mut self.running else {
            return self.control.wait(Vec::new(), None);
        };
        let repeat = self.command.as_ref().and_then(|command| command.repeat);
        let repeat = repeat.map(|at| at.saturating_duration_since(Instant::now()));
        let patience = running.patience(&self.events);
        let patience = patience.into_iter().chain(repeat).min();
        running.shell.wait(&self.control, patience);
        let mut interrupted = false;
        match running.state {
            ShellState::Running if self.control.take_interrupt() => {
                running.shell.interrupt();
                interrupted = true;
            }
            ShellState::Starting { .. } if self.control.take_interrupt() => {
                running.shell.group().kill()
            }
            // Kept until the command has begun.
            _ => {}
        }
        if self.control.take_typed() && matches!(running.state, ShellState::Running) {
            running.shell.was_interrupted();
            interrupted = true;
        }
        if let Some(command) = &mut self.command {
            if interrupted && command.began.elapsed() < FIRST {
                command.repeat = Some(Instant::now() + REPEAT);
            } else if command.repeat.is_some_and(|at| at <= Instant::now()) {
                command.repeat = None;
                if matches!(running.state, ShellState::Running) && running.shell.is_in_front() {
                    running.shell.interrupt();
                }
            }
        }
        if self.control.take_kill() && !matches!(running.state, ShellState::Idle) {
            // A second kill ends the shell itself: a shell whose job was killed may start the next one.
            let before = self.command.as_mut().map(|command| &mut command.job_ended);
            let job = before.is_some_and(|before| !std::mem::replace(before, true));
            running.shell.end_front(job);
        }
        // Output printed before the end is available by then.
        let over = running.shell.is_over();
        self.read();
        if over {
            while self.read() {}
            self.on_exit();
        }
    }

    /// Reads at most one chunk of output; false: there was none.
    fn read(&mut self) -> bool {
        let Some(owns) = self.running.as_mut().and_then(|it| it.shell.read()) else {
            return false;
        };
        if let Some(command) = &mut self.command {
            command.foreign |= owns;
        }
        while let Some(piece) = self.running.as_mut().and_then(|it| it.shell.next()) {
            match piece {
                StreamPiece::Bytes(bytes) => self.on_output(bytes),
                StreamPiece::Mark(mark) => self.on_mark(mark),
            }
        }
        true
    }

    fn on_output(&mut self, bytes: Vec<u8>) {
        if let Some(running) = &mut self.running
            && let ShellState::Starting { spoke, .. } = &mut running.state
        {
            *spoke = true;
        }
        let command = self.command.as_ref();
        self.events.send(RuntimeEvent::Output {
            id: command.map(|command| command.id),
            stream: OutputStream::Terminal,
            bytes,
            foreign: command.is_some_and(|command| command.foreign),
        });
    }

    fn on_mark(&mut self, mark: ShellMark) {
        let Some(running) = &mut self.running else {
            return;
        };
        match (mark, &running.state) {
            (ShellMark::Ended { process, .. }, ShellState::Starting { since, spoke, .. }) => {
                let info = running.info(process, *since);
                let spoke = *spoke;
                running.shell.process = Some(process);
                running.state = ShellState::Idle;
                self.events.send(RuntimeEvent::Ready(info));
                if let Some(command) = &mut self.command {
                    if spoke {
                        // Output of the settings was shown, and is no output of the command.
                        let (id, wait) = (command.id, false);
                        self.events.send(RuntimeEvent::Clear { id, wait });
                    }
                    command.foreign = false;
                    running.wake();
                }
            }
            (ShellMark::Go, ShellState::Starting { .. }) => running.shell.show_typing(),
            (ShellMark::Go, ShellState::Waking) => {
                let Some(command) = &mut self.command else {
                    return;
                };
                let code = match self.control.take_interrupt() {
                    true => STOPPED,
                    false => &command.code,
                };
                running.shell.hand_over(&command.place, code);
                running.state = ShellState::Taking;
            }
            (ShellMark::Run, ShellState::Taking) => {
                running.state = ShellState::Running;
                self.control.set_running(true);
                // The interrupt came while the shell read the command: keys reach the command only from here on.
                let interrupted = self.control.take_interrupt();
                if interrupted {
                    running.shell.interrupt();
                }
                if let Some(command) = &mut self.command {
                    command.began = Instant::now();
                    command.repeat = interrupted.then(|| command.began + REPEAT);
                }
            }
            // An interrupt from elsewhere kept the shell from taking the command.
            (ShellMark::Ended { status, .. }, ShellState::Taking | ShellState::Running) => {
                self.on_command_end(status)
            }
            (ShellMark::Prompt, ShellState::Starting { .. } | ShellState::Running) => {
                if running.shell.reads_terminal() {
                    self.terminal.end_cell();
                }
                let unread = running.shell.ask_again();
                if let Some(command) = &mut self.command {
                    command.unread.extend(unread);
                }
            }
            _ => {}
        }
    }

    fn on_command_end(&mut self, status: i32) {
        let Some(running) = &mut self.running else {
            return;
        };
        running.state = ShellState::Idle;
        self.control.set_running(false);
        self.terminal.end_cell();
        let unread = running.shell.take_unread();
        if let Some(mut command) = self.command.take() {
            let ending = match status {
                INTERRUPTED => Ending::Interrupted,
                _ => Ending::Ok,
            };
            let mut typeahead = std::mem::take(&mut command.unread);
            typeahead.extend(unread);
            self.finish(&command, ending, Some(status), typeahead);
        }
    }

    fn finish(
        &self,
        command: &ActiveCommand,
        ending: Ending,
        exit: Option<i32>,
        typeahead: Vec<u8>,
    ) {
        let place = self.running.as_ref().and_then(|it| it.shell.place());
        self.events.send(RuntimeEvent::Finished {
            id: command.id,
            finish: Finish {
                ending,
                exit,
                milliseconds: command.began.elapsed().as_secs_f64() * 1000.0,
                cwd: place.map(|place| place.to_string_lossy().into_owned()),
                typeahead,
            },
        });
    }

    /// Sends the last output of an ended shell, and its death.
    fn on_exit(&mut self) {
        let Some(rest) = self.running.as_mut().map(|running| running.shell.rest()) else {
            return;
        };
        if let Some(StreamPiece::Bytes(bytes)) = rest {
            self.on_output(bytes);
        }
        let Some(running) = self.running.take() else {
            return;
        };
        self.forget_terminal();
        let starting = matches!(running.state, ShellState::Starting { .. });
        let (death, killed) = running.shell.death();
        let name = running.program.dialect.name();
        if starting && killed {
            if let Some(command) = self.command.take() {
                self.finish(&command, Ending::Interrupted, None, Vec::new());
            }
        } else if starting && running.settings {
            let text = format!(
                "{name} ended ({death}) while it read its settings; it is started without them"
            );
            self.events.send(RuntimeEvent::Notice(text));
            self.start(false);
        } else if starting {
            let path = running.program.path.display();
            let hint = "set the variable SHELL to a bash or zsh that runs";
            self.cannot_start(format!("`{path}` ended at once ({death})"), hint);
        } else {
            if let Some(command) = self.command.take() {
                let exit = match death {
                    Death::Exited(code) => Some(code),
                    _ => None,
                };
                self.finish(&command, Ending::Died(death.clone()), exit, Vec::new());
            }
            let restarting = false;
            self.events.send(RuntimeEvent::Died { death, restarting });
        }
    }

    fn end(&mut self) {
        let Some(running) = self.running.take() else {
            return;
        };
        self.forget_terminal();
        let idle = matches!(running.state, ShellState::Idle);
        running.shell.end(idle, |bytes| self.on_output(bytes));
    }

    fn forget_terminal(&self) {
        self.terminal.end_cell();
        self.terminal.close();
        self.control.set_running(false);
    }
}

impl Running {
    fn wake(&mut self) {
        self.state = ShellState::Waking;
        self.shell.wake();
    }

    fn info(&self, process: i32, since: Instant) -> RuntimeInfo {
        RuntimeInfo {
            language: "shell".to_owned(),
            version: String::new(),
            banner: self.program.dialect.name().to_owned(),
            location: self.program.path.display().to_string(),
            process: u32::try_from(process).ok(),
            unprotected: None,
            milliseconds: since.elapsed().as_secs_f64() * 1000.0,
            restarted: false,
        }
    }

    /// Returns the time until the notice that the settings take long is due.
    fn patience(&mut self, events: &EventSender) -> Option<Duration> {
        let ShellState::Starting { since, told, .. } = &mut self.state else {
            return None;
        };
        if *told {
            return None;
        }
        let left = SLOW.saturating_sub(since.elapsed());
        if !left.is_zero() {
            return Some(left);
        }
        *told = true;
        let name = self.program.dialect.name();
        let text = format!("{name} is still reading its start-up files; Ctrl-C stops it");
        events.send(RuntimeEvent::Notice(text));
        None
    }
}
