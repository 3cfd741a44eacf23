//! What the runtime tests stand on: a runtime with its events, collected cell by cell.
//!
//! Every wait has a limit. Absent on purpose: assertions about time.

use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use ipycodex::runtime::connect::{PythonPlan, RuntimeEvents, RuntimePlan, connect};
use ipycodex::runtime::{
    CellTerminal, Death, Execute, Finish, Interrupter, OutputStream, RequestId, Runtime,
    RuntimeEvent, RuntimeInfo, RuntimeReply, RuntimeRequest, Stdin, TerminalSize,
};

use crate::support::home::PATIENCE;
use crate::support::peers;

pub(super) const BOTH: [Form; 2] = [Form::Pipes, Form::Terminal];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form {
    Pipes,
    Terminal,
}

/// A press of Ctrl-C that took no effect within this was lost; the time that a busy machine takes to deliver one.
const LOST: Duration = Duration::from_secs(5);

pub(super) struct Harness {
    pub(super) runtime: Option<Box<dyn Runtime>>,
    pub(super) events: RuntimeEvents,
    pub(super) waiter: tokio::runtime::Runtime,
    pub(super) folder: tempfile::TempDir,
}

/// Everything told of one cell.
#[derive(Debug)]
pub(super) struct CellEvents {
    /// Output and displays in order: `out`, `err`, `tty`, `foreign` or `show`, and the text.
    pub(super) steps: Vec<(&'static str, String)>,
    pub(super) error: Option<String>,
    pub(super) finish: Finish,
}

impl CellEvents {
    pub(super) fn text(&self) -> String {
        let shown = self.steps.iter().filter(|(kind, _)| *kind != "show");
        shown.map(|(_, text)| text.replace("\r\n", "\n")).collect()
    }

    pub(super) fn shown(&self) -> Vec<&str> {
        let shown = self.steps.iter().filter(|(kind, _)| *kind == "show");
        shown.map(|(_, text)| text.as_str()).collect()
    }
}

pub(super) fn plan(form: Form) -> (PythonPlan, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let terminal = (form == Form::Terminal).then_some(TerminalSize {
        columns: 90,
        rows: 33,
    });
    let plan = PythonPlan {
        interpreter: Some(peers::plain_python()),
        managed: None,
        no_ipython: true,
        cwd: folder.path().to_owned(),
        variables: std::env::vars_os().collect(),
        terminal,
        cache_dir: folder.path().join("cache"),
        script: None,
        confined: None,
        kernel: None,
    };
    (plan, folder)
}

impl Harness {
    pub(super) fn start(form: Form) -> Self {
        let (plan, folder) = plan(form);
        Harness::with(plan, folder)
    }

    pub(super) fn with(plan: PythonPlan, folder: tempfile::TempDir) -> Self {
        let (runtime, events) = connect(RuntimePlan::Embedded(plan));
        let waiter = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        Harness {
            runtime: Some(runtime),
            events,
            waiter,
            folder,
        }
    }

    pub(super) fn runtime(&mut self) -> &mut dyn Runtime {
        self.runtime.as_deref_mut().unwrap()
    }

    pub(super) fn next(&mut self) -> RuntimeEvent {
        let events = &mut self.events;
        self.waiter
            .block_on(async { tokio::time::timeout(PATIENCE, events.recv()).await })
            .expect("an event within the limit")
            .expect("an open channel")
    }

    pub(super) fn until<T>(&mut self, mut wanted: impl FnMut(&RuntimeEvent) -> Option<T>) -> T {
        loop {
            let event = self.next();
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }

    pub(super) fn ready(&mut self) -> RuntimeInfo {
        self.until(|event| match event {
            RuntimeEvent::Ready(info) => Some(info.clone()),
            _ => None,
        })
    }

    pub(super) fn submit(&mut self, code: &str, stdin: Stdin) -> RequestId {
        self.runtime().submit(RuntimeRequest::Execute(Execute {
            stdin,
            ..Execute::numbered(code.into(), 1)
        }))
    }

    pub(super) fn ask(&mut self, request: RuntimeRequest) -> RuntimeReply {
        let asked = self.runtime().submit(request);
        self.until(|event| match event {
            RuntimeEvent::Replied { id, answer } if *id == asked => Some(answer.clone()),
            _ => None,
        })
    }

    pub(super) fn run(&mut self, code: &str) -> CellEvents {
        let stdin = match self.runtime().terminal() {
            Some(_) => Stdin::Terminal,
            None => Stdin::Refuse,
        };
        let id = self.submit(code, stdin);
        self.collect(id, |_, _| {})
    }

    /// Presses Ctrl-C when the cell has said `word`, and again while it goes on: Python sleeps through one that falls
    /// just before a system call.
    pub(super) fn interrupt_at(&mut self, id: RequestId, word: &str) -> CellEvents {
        let interrupter = self.interrupter();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (mut stopped, mut pressing) = (Some(stopped), None);
        let events = self.collect(id, |_, text| {
            let Some(stopped) = stopped.take_if(|_| text.contains(word)) else {
                return;
            };
            let interrupter = Arc::clone(&interrupter);
            pressing = Some(std::thread::spawn(move || {
                loop {
                    interrupter.interrupt();
                    if stopped.recv_timeout(LOST) != Err(RecvTimeoutError::Timeout) {
                        return;
                    }
                }
            }));
        });
        drop(stop);
        pressing.expect("the cell said the word").join().unwrap();
        events
    }

    /// Everything until the end of `id`; `act` sees the text so far whenever there is more.
    pub(super) fn collect(
        &mut self,
        id: RequestId,
        mut act: impl FnMut(&mut Self, &str),
    ) -> CellEvents {
        let mut steps = Vec::new();
        let (mut error, mut text) = (None, String::new());
        loop {
            match self.next() {
                RuntimeEvent::Output {
                    id: Some(of),
                    stream,
                    bytes,
                    foreign,
                } if of == id => {
                    let kind = match stream {
                        _ if foreign => "foreign",
                        OutputStream::Stdout => "out",
                        OutputStream::Stderr => "err",
                        OutputStream::Terminal => "tty",
                    };
                    let more = String::from_utf8_lossy(&bytes).into_owned();
                    if text.len() < 1 << 20 {
                        text += &more;
                    }
                    match steps.last_mut() {
                        Some((last, before)) if *last == kind => String::push_str(before, &more),
                        _ => steps.push((kind, more)),
                    }
                    act(self, &text);
                }
                RuntimeEvent::Display { id: of, display } if of == Some(id) => {
                    steps.push((
                        "show",
                        display.bundle.text("text/plain").unwrap_or_default(),
                    ));
                }
                RuntimeEvent::Error {
                    id: of,
                    error: raised,
                } if of == id => {
                    error = Some(format!("{}: {}", raised.name, raised.value));
                }
                RuntimeEvent::Finished { id: of, finish } if of == id => {
                    return CellEvents {
                        steps,
                        error,
                        finish,
                    };
                }
                RuntimeEvent::Started { id: of } if of == id => act(self, &text),
                _ => {}
            }
        }
    }

    pub(super) fn interrupter(&mut self) -> Arc<dyn Interrupter> {
        self.runtime().interrupter()
    }

    pub(super) fn terminal(&mut self) -> Arc<dyn CellTerminal> {
        self.runtime().terminal().unwrap()
    }

    pub(super) fn died(&mut self) -> (Death, bool) {
        self.until(|event| match event {
            RuntimeEvent::Died { death, restarting } => Some((death.clone(), *restarting)),
            _ => None,
        })
    }
}
