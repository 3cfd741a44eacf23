//! Starts an interpreter: the first candidate that becomes ready.
//!
//! In: the plan's facts and the control handles. Out: a ready interpreter, or why there is none. Invariants: no
//! probe runs before the real start; every failure is kept for the message; an interpreter that did not become
//! ready is gone before the next is tried. Absent on purpose: cells; the supervisor reports the failure to them.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::super::control::EventSender;
use super::super::terminal::CellPty;
use super::super::{OutputStream, RuntimeEvent, RuntimeInfo, StartFailure};
use super::control::{Control, runs_code};
use super::find::{Candidate, InterpreterSearch, find};
use super::interpreter::{Interpreter, Launch, PollStep};
use super::plan::{LANGUAGE, PythonPlan};
use super::sequencer::SequenceItem;
use super::stage::stage;
use super::wire::{PROTOCOL, RunnerFrame, excerpt};
use crate::request_kind::RequestKind;
use crate::text::trace::STARTUP;

const BUDGET: Duration = Duration::from_secs(30);
/// Time after which the user is notified of a slow start.
const SLOW: Duration = Duration::from_secs(5);
/// Pause before the one retry when the system was out of descriptors or processes.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Maximum output before an interpreter is ready, in bytes; a program that prints more is no Python.
const EARLY_OUTPUT: usize = 1024 * 1024;
const OLDEST: (u32, u32) = (3, 8);

pub(super) enum Start<Why = StartFailure> {
    /// Ready, with its output so far.
    Up(Box<Interpreter>, RuntimeInfo, Vec<EarlyOutput>),
    Failed(Why),
    /// Killed on request before it was ready.
    Killed,
    /// The runtime closed, or was shut down, meanwhile.
    Abandoned,
}

pub(super) struct EarlyOutput {
    pub(super) stream: OutputStream,
    pub(super) bytes: Vec<u8>,
}

/// The start of one candidate.
type StartAttempt = Start<String>;

/// Environment variable that disables the check of Python's version.
const SKIP_CHECK: &str = "IPYCODEX_PYTHON_SKIP_CHECK";

pub(super) struct Starter<'a> {
    pub(super) plan: &'a PythonPlan,
    pub(super) control: &'a Control,
    pub(super) events: &'a EventSender,
    pub(super) terminal: Option<&'a CellPty>,
    pub(super) restarted: bool,
}

impl Starter<'_> {
    pub(super) fn start(&self) -> Start {
        let script = match self.stage() {
            Ok(script) => script,
            Err(failure) => return Start::Failed(failure),
        };
        let configured = self.plan.interpreter.as_deref();
        let InterpreterSearch {
            candidates,
            rejected: mut failures,
            ..
        } = find(self.plan);
        for candidate in &candidates {
            match self.try_candidate(&script, candidate) {
                StartAttempt::Up(interpreter, info, early) => {
                    if !failures.is_empty() && !self.restarted {
                        self.events.send(RuntimeEvent::Notice(format!(
                            "{}; using {}",
                            failures.join("; "),
                            info.location
                        )));
                    }
                    return Start::Up(interpreter, info, early);
                }
                StartAttempt::Failed(why) => failures.push(format!(
                    "{} ({}) {why}",
                    candidate.program.display(),
                    candidate.origin
                )),
                StartAttempt::Killed => return Start::Killed,
                StartAttempt::Abandoned => return Start::Abandoned,
            }
        }
        let message = match failures.as_slice() {
            [] => "no python3 or python found on PATH".to_owned(),
            failures => format!("no Python could be started: {}", failures.join("; ")),
        };
        let hint = match configured {
            Some(_) => "name another interpreter with --python PATH, or leave it out",
            None => "install python3 (3.8 or newer), or name an interpreter with --python PATH",
        };
        Start::Failed(StartFailure {
            message,
            hint: hint.to_owned(),
        })
    }

    fn stage(&self) -> Result<PathBuf, StartFailure> {
        let staged = stage(&self.plan.cache_dir).map_err(|error| StartFailure {
            message: format!("the files that run cells could not be written anywhere: {error}"),
            hint: format!("make {} writable", self.plan.cache_dir.display()),
        })?;
        if let Some(notice) = staged.fallback.filter(|_| !self.restarted) {
            self.events.send(RuntimeEvent::Notice(notice));
        }
        Ok(staged.script)
    }

    fn try_candidate(&self, script: &Path, candidate: &Candidate) -> StartAttempt {
        let program = candidate.program.display();
        log::trace!(target: STARTUP, "the interpreter {program} ({}) is started", candidate.origin);
        let launch = Launch {
            script,
            cwd: &self.plan.cwd,
            no_ipython: self.plan.no_ipython,
            terminal: self.terminal,
            runs: self.plan.script.as_ref(),
            confined: self.plan.confined.as_ref(),
            kernel: self.plan.kernel.as_deref(),
        };
        let began = Instant::now();
        let started = Interpreter::start(&launch, candidate).or_else(|error| {
            if !is_passing(&error) {
                return Err(error);
            }
            std::thread::sleep(RETRY_PAUSE);
            Interpreter::start(&launch, candidate)
        });
        let interpreter = match started {
            Ok(interpreter) => interpreter,
            Err(error) => return StartAttempt::Failed(format!("cannot be started: {error}")),
        };
        self.control.set_group(Some(interpreter.group()));
        let trial = self.await_ready(interpreter, candidate, began);
        if !matches!(trial, StartAttempt::Up(..)) {
            self.control.set_group(None);
        }
        trial
    }

    fn await_ready(
        &self,
        mut interpreter: Interpreter,
        candidate: &Candidate,
        began: Instant,
    ) -> StartAttempt {
        let mut early = Vec::new();
        let mut told = self.restarted;
        loop {
            match take_early(&mut interpreter, &mut early, self.oldest()) {
                Some(Ok(ready)) => {
                    interpreter.is_process(ready.pid);
                    log::trace!(target: STARTUP, "the interpreter is ready");
                    let info = RuntimeInfo {
                        language: LANGUAGE.to_owned(),
                        version: ready.python,
                        banner: match ready.ipython {
                            Some(version) => format!("IPython {version}"),
                            None => String::new(),
                        },
                        location: Some(ready.executable)
                            .filter(|path| !path.is_empty())
                            .unwrap_or_else(|| candidate.program.display().to_string()),
                        process: Some(ready.pid),
                        unprotected: ready.unprotected,
                        milliseconds: began.elapsed().as_secs_f64() * 1000.0,
                        restarted: self.restarted,
                    };
                    return StartAttempt::Up(Box::new(interpreter), info, early);
                }
                Some(Err(why)) => return StartAttempt::Failed(why),
                None => {}
            }
            self.control.send_ends(self.events);
            if self.is_unwanted() {
                interpreter.group().signal(Signal::KILL);
                return StartAttempt::Abandoned;
            }
            let elapsed = began.elapsed();
            if elapsed >= BUDGET {
                return StartAttempt::Failed(format!(
                    "was not ready within {} s",
                    BUDGET.as_secs()
                ));
            }
            if elapsed >= SLOW && !told {
                told = true;
                self.events.send(RuntimeEvent::Notice(format!(
                    "{} is still starting after {} s",
                    candidate.program.display(),
                    SLOW.as_secs()
                )));
            }
            let next = if told { BUDGET } else { SLOW };
            match interpreter.step(self.control, Some(next.saturating_sub(elapsed))) {
                PollStep::Ended => return self.on_exit(interpreter, early),
                PollStep::Idle => drop(
                    interpreter
                        .sequencer
                        .force()
                        .map(|item| keep(item, &mut early)),
                ),
                PollStep::Active => {}
            }
        }
    }

    /// Returns the oldest accepted Python version; any, when the user disabled the check.
    fn oldest(&self) -> (u32, u32) {
        match self.plan.variables.get(OsStr::new(SKIP_CHECK)) {
            Some(value) if value == "1" => (0, 0),
            _ => OLDEST,
        }
    }

    /// Returns true when the runtime closes, or is shut down with nothing left to run.
    fn is_unwanted(&self) -> bool {
        self.control.is_closing()
            || (self.control.has_request(|request| {
                RequestKind::from_request(request) == Some(RequestKind::Shutdown)
            }) && !self.control.has_request(runs_code))
    }

    /// Reports how an interpreter ended that never became ready.
    fn on_exit(&self, mut interpreter: Interpreter, mut early: Vec<EarlyOutput>) -> StartAttempt {
        if let Some(what) = interpreter.confusion.take() {
            return StartAttempt::Failed(format!(
                "is not a Python that can run cells; it answered: {what}"
            ));
        }
        let group = interpreter.group();
        let status = interpreter.reap(Duration::from_secs(1));
        if group.was_killed() {
            return StartAttempt::Killed;
        }
        while interpreter.read_rest() {
            if let Some(Err(why)) = take_early(&mut interpreter, &mut early, self.oldest()) {
                return StartAttempt::Failed(why);
            }
        }
        interpreter.close_streams();
        if let Some(Err(why)) = take_early(&mut interpreter, &mut early, self.oldest()) {
            return StartAttempt::Failed(why);
        }
        let ended = match status {
            Ok(Some(status)) => format!("ended at once ({status})"),
            Ok(None) => "ended at once".to_owned(),
            Err(error) => format!("ended at once ({error})"),
        };
        let printed: Vec<u8> = early.into_iter().flat_map(|early| early.bytes).collect();
        let words = printed
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .rfind(|line| !line.is_empty());
        StartAttempt::Failed(match words {
            Some(words) => format!("{ended}: {}", excerpt(words)),
            None => ended,
        })
    }
}

struct Ready {
    pid: u32,
    python: String,
    ipython: Option<String>,
    executable: String,
    unprotected: Option<String>,
}

/// Collects output until the interpreter is ready or has reported why it will not be.
fn take_early(
    interpreter: &mut Interpreter,
    early: &mut Vec<EarlyOutput>,
    oldest: (u32, u32),
) -> Option<Result<Ready, String>> {
    while let Some(item) = interpreter.sequencer.next() {
        match keep(item, early) {
            Some(RunnerFrame::Ready {
                pid,
                python,
                ipython,
                protocol,
                executable,
                unprotected,
            }) => {
                return Some(if protocol != PROTOCOL {
                    Err(format!(
                        "speaks version {protocol} of the protocol, not {PROTOCOL}"
                    ))
                } else if version(&python).is_some_and(|version| version < oldest) {
                    Err(format!("is Python {python}; 3.8 or newer is needed"))
                } else {
                    Ok(Ready {
                        pid,
                        python,
                        ipython,
                        executable,
                        unprotected,
                    })
                });
            }
            Some(RunnerFrame::Error { error, .. }) => {
                return Some(Err(format!("failed: {}: {}", error.ename, error.evalue)));
            }
            _ => {}
        }
        let size: usize = early.iter().map(|early| early.bytes.len()).sum();
        if size > EARLY_OUTPUT {
            let start = early.first().map(|early| excerpt(&early.bytes));
            return Some(Err(format!(
                "is not a Python that can run cells; it keeps printing: {}",
                start.unwrap_or_default()
            )));
        }
    }
    None
}

/// Stores output, returns frames.
fn keep(item: SequenceItem, early: &mut Vec<EarlyOutput>) -> Option<RunnerFrame> {
    match item {
        SequenceItem::Output { stream, bytes, .. } => {
            early.push(EarlyOutput { stream, bytes });
            None
        }
        SequenceItem::Frame(frame) => Some(frame),
    }
}

/// Parses major and minor of `3.11.7`.
fn version(python: &str) -> Option<(u32, u32)> {
    let mut parts = python.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Returns true for errors of exhausted resources, which may pass.
fn is_passing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let passing = [Errno::MFILE, Errno::NFILE, Errno::AGAIN];
    Errno::from_io_error(error).is_some_and(|error| passing.contains(&error))
}
