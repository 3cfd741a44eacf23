//! What these tests stand on: a runtime with a kernel behind it, and its events, each waited for with a limit.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ipycodex::jupyter::data_dirs;
use ipycodex::runtime::connect::{
    JupyterPlan, JupyterTarget, RuntimeEvents, RuntimePlan, START_TIMEOUT, connect,
};
use ipycodex::runtime::{
    Completion, Ending, Execute, InputReply, Interrupter, RequestId, Runtime, RuntimeEvent,
    RuntimeInfo, RuntimeReply, RuntimeRequest, Stdin,
};

use ipycodex::text::offset::CodePoints;

use crate::support::home::PATIENCE;
use crate::support::peers;

/// A cell of Python that prints and sleeps. Another thread prints: an interrupt that finds ipykernel in a flush is lost
/// (2 of 400, with `jupyter_client` the same). The sleeps are short: CPython sees an interrupt that comes right before
/// a sleep when that is over.
pub(super) const SLEEPS: &str = "import threading, time
threading.Thread(target=print, args=('on',), kwargs={'flush': True}).start()
while True: time.sleep(0.01)";

pub(super) struct Harness {
    pub(super) runtime: Option<Box<dyn Runtime>>,
    events: RuntimeEvents,
    waiter: tokio::runtime::Runtime,
    pub(super) folder: tempfile::TempDir,
}

/// Where kernels are installed for these tests.
pub(super) fn kernels() -> Option<PathBuf> {
    let python = peers::kernels()?;
    Some(python.parent()?.parent()?.to_owned())
}

/// A plan in a folder of its own.
pub(super) fn plan(target: JupyterTarget, prefix: &Path) -> (JupyterPlan, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut variables: std::collections::BTreeMap<_, _> = std::env::vars_os().collect();
    for name in ["JUPYTER_PATH", "JUPYTER_DATA_DIR", "VIRTUAL_ENV"] {
        variables.remove(std::ffi::OsStr::new(name));
    }
    for name in ["HOME", "IPYTHONDIR"] {
        variables.insert(name.into(), folder.path().into());
    }
    let plan = JupyterPlan {
        target,
        cwd: folder.path().to_owned(),
        folders: data_dirs(&variables, Some(prefix)),
        variables,
        connections: folder.path().join("connections"),
        patience: START_TIMEOUT,
    };
    (plan, folder)
}

impl Harness {
    /// The kernel of this name, if it can be had.
    pub(super) fn start(name: &str) -> Option<Self> {
        let (plan, folder) = plan(JupyterTarget::Installed(name.into()), &kernels()?);
        Some(Harness::with(plan, folder))
    }

    pub(super) fn with(plan: JupyterPlan, folder: tempfile::TempDir) -> Self {
        Harness::of(RuntimePlan::Jupyter(plan), folder)
    }

    /// Of any plan.
    pub(super) fn of(plan: RuntimePlan, folder: tempfile::TempDir) -> Self {
        let (runtime, events) = connect(plan);
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

    pub(super) fn calls(&self) -> Arc<dyn Interrupter> {
        self.runtime.as_ref().unwrap().interrupter()
    }

    pub(super) fn next(&mut self) -> RuntimeEvent {
        let next = async { tokio::time::timeout(PATIENCE, self.events.recv()).await };
        let next = self.waiter.block_on(next);
        next.expect("the runtime says something in time").unwrap()
    }

    /// The first event of which `pick` makes something.
    pub(super) fn until<T>(&mut self, pick: impl Fn(&RuntimeEvent) -> Option<T>) -> T {
        loop {
            let event = self.next();
            if let Some(found) = pick(&event) {
                return found;
            }
        }
    }

    pub(super) fn ready(&mut self) -> RuntimeInfo {
        self.until(|event| match event {
            RuntimeEvent::Ready(info) => Some(info.clone()),
            RuntimeEvent::StartFailed(failure) => panic!("{failure:?}"),
            _ => None,
        })
    }

    pub(super) fn submit(&mut self, code: &str, stdin: Stdin) -> RequestId {
        let execute = Execute {
            stdin,
            ..Execute::numbered(code.into(), 7)
        };
        self.runtime().submit(RuntimeRequest::Execute(execute))
    }

    /// What a cell shows, in order, and how it ends.
    pub(super) fn run(&mut self, code: &str) -> (String, Ending) {
        let id = self.submit(code, Stdin::Refuse);
        self.told(id)
    }

    /// The same, of one that was submitted.
    pub(super) fn told(&mut self, cell: RequestId) -> (String, Ending) {
        let mut shown = String::new();
        loop {
            match self.next() {
                RuntimeEvent::Output { id, bytes, .. } if id == Some(cell) => {
                    shown.push_str(&String::from_utf8_lossy(&bytes));
                }
                RuntimeEvent::Display { id, display } if id == Some(cell) => {
                    let kind = match (display.update, display.execution_count) {
                        (true, _) => "update".to_owned(),
                        (_, Some(count)) => format!("Out[{count}]"),
                        _ => "show".to_owned(),
                    };
                    let text = display.bundle.text("text/plain").unwrap_or_default();
                    shown.push_str(&format!("<{kind} {text}>"));
                }
                RuntimeEvent::Error { id, error } if id == cell => {
                    shown.push_str(&format!("<{}: {}>", error.name, error.value));
                }
                RuntimeEvent::Clear { id, wait } if id == cell => {
                    shown.push_str(&format!("<clear {wait}>"));
                }
                RuntimeEvent::Page { id, bundle } if id == cell => {
                    shown.push_str(&format!("<page {}>", bundle.for_model()));
                }
                RuntimeEvent::Finished { id, finish } if id == cell => {
                    return (shown, finish.ending);
                }
                _ => {}
            }
        }
    }

    /// Runs a cell that prints and then does nothing for long; an interrupt ends it.
    pub(super) fn is_interrupted_in(&mut self, code: &str) {
        let id = self.submit(code, Stdin::Refuse);
        self.until(|event| matches!(event, RuntimeEvent::Output { .. }).then_some(()));
        self.calls().interrupt();
        assert_eq!(self.told(id).1, Ending::Interrupted);
    }

    /// Answers the question that the cell asks next.
    pub(super) fn answers_with(&mut self, line: &str) {
        let call = self.until(|event| match event {
            RuntimeEvent::InputRequested { call, .. } => Some(*call),
            _ => None,
        });
        let reply = InputReply::Line(line.into());
        self.runtime()
            .submit(RuntimeRequest::ReplyInput { call, reply });
    }

    /// What could stand at the end of this code.
    pub(super) fn completions(&mut self, code: &str) -> Vec<Completion> {
        let found = self.ask(RuntimeRequest::Complete {
            code: code.into(),
            position: CodePoints(code.chars().count()),
            deep: false,
        });
        match found {
            RuntimeReply::Completions(found) => found,
            found => panic!("{found:?}"),
        }
    }

    pub(super) fn ask(&mut self, request: RuntimeRequest) -> RuntimeReply {
        let asked = self.runtime().submit(request);
        self.until(|event| match event {
            RuntimeEvent::Replied { id, answer } if *id == asked => Some(answer.clone()),
            _ => None,
        })
    }
}

/// What a cell that ended well printed.
pub(super) fn ok(text: &str) -> (String, Ending) {
    (text.to_owned(), Ending::Ok)
}
