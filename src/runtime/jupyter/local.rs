//! A kernel of this machine, over its sockets: started from its kernelspec, or already running.
//!
//! In: a plan, which start-up builds from settings and the environment. Out: kernel events. Invariants: a kernel that
//! we started ends with us, also when we are killed; one that was found stays. Absent on purpose: kernels on other
//! machines, which need a gateway.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::watch;
use tokio::time::timeout;

use super::kernel::{Kernel, KernelEvent};
use crate::process::{Child, Group, Leadership, SpawnPlan, StderrTail, spawn};
use crate::request::apply_environment;
use crate::{Death, EnvironmentChanges, StartFailure};
use ipycodex_jupyter::{
    Channel, ChannelEvent, ClientChannels, ConnectionInfo, Kernelspec, OutgoingMessage,
    ReservedPort, check_listening, find_kernelspec, new_connection, open_channels, read, write,
};

/// Time for a kernel to exit after a `shutdown_request`.
const LEAVES: Duration = Duration::from_secs(3);
/// Maximum time until a running kernel answers `kernel_info_request`, on the control channel, beside what it runs.
const ANSWERS: Duration = Duration::from_secs(10);
const IN_FLIGHT: usize = 1024;

/// Usual time limit until a kernel answers `kernel_info_request`.
pub const START_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub struct JupyterPlan {
    pub target: JupyterTarget,
    pub cwd: PathBuf,
    pub variables: BTreeMap<OsString, OsString>,
    /// Folders that may hold kernelspecs, nearest first.
    pub folders: Vec<PathBuf>,
    /// Folder of our connection files, each kept while its kernel lives.
    pub connections: PathBuf,
    /// Maximum time until a kernel that we start answers `kernel_info_request`.
    pub patience: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JupyterTarget {
    /// A kernel to start: the name of its kernelspec.
    Installed(String),
    /// A running kernel, which stays: its connection file.
    Running(PathBuf),
}

pub(super) struct LocalKernel {
    plan: JupyterPlan,
    spec: Option<Kernelspec>,
    child: Option<ChildKernel>,
    channels: Arc<OnceLock<ClientChannels>>,
    place: String,
}

struct ChildKernel {
    info: ConnectionInfo,
    group: Group,
    process: u32,
    tail: StderrTail,
    /// The cause of its end.
    ended: watch::Receiver<Option<Death>>,
}

impl LocalKernel {
    pub(super) fn new(plan: JupyterPlan) -> Self {
        LocalKernel {
            plan,
            spec: None,
            child: None,
            channels: Arc::default(),
            place: String::new(),
        }
    }

    fn start(&mut self, name: &str) -> Result<ConnectionInfo, StartFailure> {
        if let Some(child) = &self.child
            && child.ended.borrow().is_none()
            && !child.group.was_killed()
        {
            // The connection broke, and the kernel is there: it is connected to again.
            return Ok(child.info.clone());
        }
        let failed = |message: String, hint: &str| StartFailure {
            message,
            hint: hint.to_owned(),
        };
        let spec = find_kernelspec(name, &self.plan.folders).map_err(|fault| {
            let hint = "`jupyter kernelspec list` shows where kernels are; `--runtime embedded` needs none";
            failed(fault.to_string(), hint)
        })?;
        let no_files = |error: io::Error| {
            let place = self.plan.connections.display();
            failed(
                format!(
                    "could not write a connection file for the kernel `{name}` in {place}: {error}"
                ),
                "make room there, or set XDG_STATE_HOME to a folder that can be written",
            )
        };
        let (info, ports) = new_connection(name).map_err(no_files)?;
        let file = write(&info, &self.plan.connections).map_err(no_files)?;
        let program = spec.program().to_string_lossy().into_owned();
        self.place.clone_from(&program);
        let child = launch(&spec, &file, &self.plan).map_err(|error| {
            // The kernel that the file was for does not exist.
            let _ = std::fs::remove_file(&file);
            failed(
                format!("the kernel `{name}` cannot be started: `{program}`: {error}"),
                &format!(
                    "its program is named in {}; install the kernel again, or correct `argv` there",
                    spec.folder.join("kernel.json").display()
                ),
            )
        });
        let (child, tail) = child?;
        self.child = Some(watch_exit(child, tail, file, ports, info.clone()));
        self.spec = Some(spec);
        Ok(info)
    }

    fn found(&mut self, path: &Path) -> Result<ConnectionInfo, StartFailure> {
        let hint = "name the connection file of a kernel that runs (`jupyter --runtime-dir` has them), or an \
                    installed kernel: `--runtime jupyter:NAME`";
        let failed = |message| StartFailure {
            message,
            hint: hint.to_owned(),
        };
        let info = read(path).map_err(|fault| failed(fault.to_string()))?;
        let shown = path.display();
        check_listening(&info).map_err(|error| {
            failed(format!(
                "no kernel listens at {}, the address in `{shown}`: {error}",
                info.shell_url()
            ))
        })?;
        self.place = info.shell_url();
        Ok(info)
    }
}

fn launch(spec: &Kernelspec, file: &Path, plan: &JupyterPlan) -> io::Result<(Child, StderrTail)> {
    let (words, errors) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let output: OwnedFd = errors.try_clone()?;
    let nothing = OwnedFd::from(std::fs::File::open("/dev/null")?);
    let folder = spec.folder.to_string_lossy();
    let filled = |word: &String| {
        let word = word.replace("{connection_file}", &file.to_string_lossy());
        word.replace("{resource_dir}", &folder)
    };
    let arguments = spec.spec.argv.iter().skip(1).map(filled);
    let mut start = SpawnPlan::new(spec.program(), Leadership::Session, nothing, output, errors);
    start.spares_trackers = true;
    start.arguments = arguments.map(Into::into).collect();
    let mut variables = plan.variables.clone();
    for (name, value) in spec.spec.env.iter().flatten() {
        variables.insert(name.into(), value.into());
    }
    start.variables = Some(variables);
    start.cwd = Some(plan.cwd.clone());
    Ok((spawn(start)?, StderrTail::new(words, "kernel's words")))
}

/// Starts a thread that waits for the kernel's end, and removes the connection file.
fn watch_exit(
    mut child: Child,
    tail: StderrTail,
    file: PathBuf,
    ports: Vec<ReservedPort>,
    info: ConnectionInfo,
) -> ChildKernel {
    let (tell, ended) = watch::channel(None);
    let (group, process) = (child.group(), child.id());
    let watched = group.clone();
    let watch = move || {
        let death = match child.wait() {
            Ok(status) if !watched.was_killed() => Death::from(Ok(status)),
            _ => Death::Killed,
        };
        drop(ports);
        // The file may be gone with its folder.
        let _ = std::fs::remove_file(&file);
        // Those that wait may be gone.
        let _ = tell.send(Some(death));
    };
    // Without a thread the end is detected as a broken connection.
    let _ = std::thread::Builder::new()
        .name("kernel's end".into())
        .spawn(watch);
    ChildKernel {
        info,
        group,
        process,
        tail,
        ended,
    }
}

/// Reports the end of a kernel. Without a thread that waits for it, the end is a broken connection.
async fn report_end(mut ended: watch::Receiver<Option<Death>>, news: Sender<KernelEvent>) {
    let death = ended.wait_for(Option::is_some).await;
    let death = death.ok().and_then(|death| death.clone());
    if let Some(death) = death {
        // The receiver may be gone.
        let _ = news.send(KernelEvent::Died(death)).await;
    }
}

impl Kernel for LocalKernel {
    fn begin(&mut self, news: Sender<KernelEvent>) {
        self.channels = Arc::default();
        let info = match self.plan.target.clone() {
            JupyterTarget::Installed(name) => self.start(&name),
            JupyterTarget::Running(path) => self.found(&path),
        };
        let channels = Arc::clone(&self.channels);
        let ended = self.child.as_ref().map(|child| child.ended.clone());
        if let Some(ended) = ended.clone() {
            tokio::spawn(report_end(ended, news.clone()));
        }
        tokio::spawn(async move {
            let info = match info {
                Ok(info) => info,
                Err(failure) => return drop(news.send(KernelEvent::Failed(failure)).await),
            };
            let (heard, mut hears) = channel(IN_FLIGHT);
            let said = match open_channels(&info, heard).await {
                Ok(opened) => {
                    // Set once for each start.
                    let _ = channels.set(opened);
                    KernelEvent::Open
                }
                Err(error) => KernelEvent::Failed(StartFailure {
                    message: format!(
                        "could not connect to the kernel at {}: {error}",
                        info.shell_url()
                    ),
                    hint: "the kernel may have ended: start another one".to_owned(),
                }),
            };
            if news.send(said).await.is_err() {
                return;
            }
            while let Some(heard) = hears.recv().await {
                if let (ChannelEvent::Lost(_), Some(ended)) = (&heard, &mut ended.clone()) {
                    // A kernel that ends is reported with its cause.
                    let end = ended.wait_for(Option::is_some);
                    if timeout(LEAVES, end).await.is_ok_and(|end| end.is_ok()) {
                        return;
                    }
                }
                if news.send(KernelEvent::Heard(heard)).await.is_err() {
                    return;
                }
            }
        });
    }

    fn add_environment(&mut self, told: &EnvironmentChanges) {
        apply_environment(&mut self.plan.variables, told);
    }

    fn send(&self, message: OutgoingMessage) {
        if let Some(channels) = self.channels.get() {
            channels.send(message);
        }
    }

    fn interrupt(&self) -> bool {
        let mode = self
            .spec
            .as_ref()
            .and_then(|spec| spec.spec.interrupt_mode.as_deref());
        match &self.child {
            Some(child) if mode != Some("message") => {
                child.group.signal(Signal::INT);
                true
            }
            _ => false,
        }
    }

    fn check_liveness(&self) {
        // The end of the process, or of the connection, is reported elsewhere.
    }

    fn kill(&self) {
        if let Some(child) = &self.child {
            child.group.kill();
        }
    }

    fn attached(&self) -> bool {
        matches!(self.plan.target, JupyterTarget::Running(_))
    }

    fn patience(&self) -> Duration {
        match self.attached() {
            true => ANSWERS,
            false => self.plan.patience,
        }
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn process(&self) -> Option<u32> {
        self.child.as_ref().map(|child| child.process)
    }

    fn last_words(&self) -> String {
        let Some(child) = &self.child else {
            return String::new();
        };
        child.tail.wait_closed(Duration::from_millis(200));
        child.tail.text()
    }

    fn end(&mut self, up: bool) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        if up {
            let content = json!({"restart": false});
            self.send(OutgoingMessage::new(
                Channel::Control,
                "shutdown_request",
                content,
            ));
        } else {
            self.kill();
        }
        Box::pin(async move {
            let Some(child) = &mut self.child else {
                return;
            };
            // An error means that the thread is gone, and the kernel with it.
            let left = timeout(LEAVES, child.ended.wait_for(Option::is_some));
            if left.await.is_err() {
                child.group.kill();
                let _ = timeout(LEAVES, child.ended.wait_for(Option::is_some)).await;
            }
            self.child = None;
        })
    }
}
