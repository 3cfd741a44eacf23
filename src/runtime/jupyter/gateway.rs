//! A kernel behind a gateway: started and ended over HTTP, with messages over a websocket.
//!
//! In: a plan. Out: kernel events. Invariants: a kernel that we started ends with us, also when it comes up after
//! we left; a broken connection is opened again under the same session name, so that messages sent meanwhile still
//! arrive. Absent on purpose: starting gateways (`shared`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::kernel::{Kernel, KernelEvent};
use super::shared::{Lease, SharedPlan, acquire};
use crate::request::apply_environment;
use crate::{Death, EnvironmentChanges, StartFailure};
use ipycodex_jupyter::{
    Channel, ChannelEvent, Gateway, GatewayError, IncomingMessage, OutgoingMessage, open_socket,
    unique_id,
};

/// Time during which a broken connection is retried.
const TRIES: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum wait for the end of a killed kernel.
const ENDS: Duration = Duration::from_secs(2);
const IN_FLIGHT: usize = 1024;

#[derive(Debug, Clone)]
pub struct GatewayPlan {
    pub gateway: GatewayTarget,
    pub kernel: Option<String>,
    /// Variables that a running gateway is asked to set for the kernel.
    pub variables: BTreeMap<OsString, OsString>,
    pub patience: Duration,
}

impl GatewayPlan {
    /// Adds variables for the kernel's start. A gateway of the user gets them only if it gets others already: a
    /// Kernel Gateway that is given any variables starts the kernel with those alone, without a home directory.
    pub(crate) fn add_environment(&mut self, told: &EnvironmentChanges) {
        match &mut self.gateway {
            GatewayTarget::Shared(shared) => apply_environment(&mut shared.variables, told),
            GatewayTarget::Running(_) if self.variables.is_empty() => {}
            GatewayTarget::Running(_) => apply_environment(&mut self.variables, told),
        }
    }
}

#[derive(Debug, Clone)]
pub enum GatewayTarget {
    Running(Gateway),
    /// The gateway that all our processes share on this machine, started when none runs.
    Shared(SharedPlan),
}

pub(super) struct GatewayKernel {
    plan: GatewayPlan,
    out: Option<UnboundedSender<OutgoingMessage>>,
    news: Option<Sender<KernelEvent>>,
    held: Arc<Mutex<ActiveKernel>>,
    /// A request for the kernel's state is under way.
    looks: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct ActiveKernel {
    gateway: Option<Gateway>,
    /// Keeps the shared gateway running.
    lease: Option<Lease>,
    id: Option<String>,
    /// The kernel must end: one that comes up is ended at once.
    unwanted: bool,
}

/// A kernel that must end, and the lease that keeps its gateway until then.
struct ReleasedKernel {
    gateway: Gateway,
    id: String,
    _lease: Option<Lease>,
}

impl ReleasedKernel {
    /// A failure is ignored: the gateway alone can end its kernels.
    fn end(self) {
        let _ = self.gateway.end(&self.id);
    }
}

impl ActiveKernel {
    fn let_go(&mut self) -> Option<ReleasedKernel> {
        self.unwanted = true;
        Some(ReleasedKernel {
            id: self.id.take()?,
            gateway: self.gateway.clone()?,
            _lease: self.lease.take(),
        })
    }
}

fn lock(held: &Mutex<ActiveKernel>) -> MutexGuard<'_, ActiveKernel> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GatewayKernel {
    pub(super) fn new(plan: GatewayPlan) -> Self {
        GatewayKernel {
            plan,
            out: None,
            news: None,
            held: Arc::default(),
            looks: Arc::default(),
        }
    }

    fn let_go(&self) -> Option<ReleasedKernel> {
        lock(&self.held).let_go()
    }
}

/// Runs blocking work on a thread of its own; `None` when there is no thread.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tell, told) = oneshot::channel();
    let thread = std::thread::Builder::new().name("gateway".into());
    let work = move || {
        // The waiting task may be gone.
        let _ = tell.send(work());
    };
    thread.spawn(work).ok()?;
    told.await.ok()
}

fn reach(target: &GatewayTarget) -> Result<(Gateway, Option<Lease>), StartFailure> {
    match target {
        GatewayTarget::Running(gateway) => Ok((gateway.clone(), None)),
        GatewayTarget::Shared(plan) => {
            let (gateway, lease) = acquire(plan)?;
            Ok((gateway, Some(lease)))
        }
    }
}

/// Starts the kernel of a plan; returns its gateway and its id.
fn start(
    plan: &GatewayPlan,
    held: &Mutex<ActiveKernel>,
) -> Result<(Gateway, String), StartFailure> {
    let failed = |fault: GatewayError| StartFailure {
        message: fault.to_string(),
        hint: fault.hint().to_owned(),
    };
    let (gateway, lease) = reach(&plan.gateway)?;
    let known = gateway.kernels().map_err(failed)?;
    let name = match &plan.kernel {
        None => known.first(),
        Some(name) => known.iter().find(|one| *one == name),
    };
    let Some(name) = name else {
        let wanted = plan.kernel.as_deref().unwrap_or("default");
        let (url, shared) = match &plan.gateway {
            GatewayTarget::Running(_) => (gateway.url(), "URL"),
            GatewayTarget::Shared(_) => (gateway.url(), "auto"),
        };
        return Err(StartFailure {
            message: format!(
                "the gateway at {url} has no kernel `{wanted}`; it has: {}",
                known.join(", ")
            ),
            hint: format!("name one of those behind a `#`: `--runtime gateway:{shared}#NAME`"),
        });
    };
    let (directory, variables) = match &plan.gateway {
        GatewayTarget::Running(_) => (None, &plan.variables),
        GatewayTarget::Shared(shared) => (Some(&*shared.cwd), &shared.variables),
    };
    let id = gateway
        .start(name, directory, variables, plan.patience)
        .map_err(failed)?;
    let mut held = lock(held);
    let unwanted = held.unwanted;
    held.gateway = Some(gateway.clone());
    held.lease = lease;
    held.id = Some(id.clone());
    if unwanted && let Some(gone) = held.let_go() {
        drop(held);
        gone.end();
    }
    Ok((gateway, id))
}

/// Starts a kernel, and carries messages for as long as it runs.
async fn run_connection(
    plan: GatewayPlan,
    held: Arc<Mutex<ActiveKernel>>,
    mut orders: UnboundedReceiver<OutgoingMessage>,
    news: Sender<KernelEvent>,
) {
    let (asked, of) = (plan.clone(), Arc::clone(&held));
    let no_thread = || StartFailure {
        message: "could not start a thread for the gateway".to_owned(),
        hint: "end other programs, or raise the limit on processes (ulimit -u)".to_owned(),
    };
    let started = run_blocking(move || start(&asked, &of)).await;
    let (gateway, id) = match started.unwrap_or_else(|| Err(no_thread())) {
        Ok(started) => started,
        Err(failure) => return drop(news.send(KernelEvent::Failed(failure)).await),
    };
    let session = unique_id();
    let (heard, mut hears) = channel(IN_FLIGHT);
    let tells = news.clone();
    tokio::spawn(async move {
        while let Some(heard) = hears.recv().await {
            let told = match &heard {
                ChannelEvent::Message(message) if is_end(message) => {
                    let why = format!("the gateway says: {}", message.text("execution_state"));
                    KernelEvent::Died(Death::Reported(why))
                }
                _ => KernelEvent::Heard(heard),
            };
            if tells.send(told).await.is_err() {
                return;
            }
        }
    });
    let mut broken: Option<Instant> = None;
    let mut first = true;
    loop {
        let why = match open_socket(&gateway, &id, &session).await {
            Ok(socket) => {
                if std::mem::take(&mut first) && news.send(KernelEvent::Open).await.is_err() {
                    return;
                }
                broken = None;
                match socket.carry(&mut orders, &heard).await {
                    Some(why) => why,
                    None => return,
                }
            }
            Err(fault) if first => {
                let failure = StartFailure {
                    message: fault.to_string(),
                    hint: fault.hint().to_owned(),
                };
                return drop(news.send(KernelEvent::Failed(failure)).await);
            }
            Err(fault) => fault.to_string(),
        };
        if lock(&held).unwanted {
            return;
        }
        let (asked, kernel) = (gateway.clone(), id.clone());
        if let Some(Ok(None)) = run_blocking(move || asked.state(&kernel)).await {
            let death = no_longer_there(&gateway);
            return drop(news.send(KernelEvent::Died(death)).await);
        }
        if broken.get_or_insert_with(Instant::now).elapsed() > TRIES {
            return drop(news.send(KernelEvent::Lost(why)).await);
        }
        sleep(PAUSE).await;
    }
}

/// The gateway has ended the kernel, on a client's request or after a long silence.
fn no_longer_there(gateway: &Gateway) -> Death {
    Death::Reported(format!(
        "the gateway at {} no longer has the kernel",
        gateway.url()
    ))
}

/// Queries the kernel's state; `None` when there is no thread.
async fn seen(gateway: Gateway, id: String) -> Option<KernelEvent> {
    let asked = gateway.clone();
    Some(match run_blocking(move || asked.state(&id)).await? {
        Ok(None) => KernelEvent::Died(no_longer_there(&gateway)),
        Ok(Some(state)) if state == "dead" => {
            KernelEvent::Died(Death::Reported(format!("the gateway says: {state}")))
        }
        Ok(Some(state)) => KernelEvent::Runs(state == "busy"),
        Err(fault) => KernelEvent::Unknown(fault.to_string()),
    })
}

/// Returns true when the gateway reports that the kernel died or is being restarted.
fn is_end(message: &IncomingMessage) -> bool {
    message.channel == Channel::Iopub
        && message.msg_type == "status"
        && ["restarting", "dead"].contains(&message.text("execution_state"))
}

impl Kernel for GatewayKernel {
    fn begin(&mut self, news: Sender<KernelEvent>) {
        if let Some(gone) = self.let_go() {
            tokio::spawn(run_blocking(move || gone.end()));
        }
        self.held = Arc::default();
        self.looks = Arc::default();
        let (out, orders) = unbounded_channel();
        self.out = Some(out);
        self.news = Some(news.clone());
        tokio::spawn(run_connection(
            self.plan.clone(),
            Arc::clone(&self.held),
            orders,
            news,
        ));
    }

    fn add_environment(&mut self, told: &EnvironmentChanges) {
        self.plan.add_environment(told);
    }

    fn send(&self, message: OutgoingMessage) {
        if let Some(out) = &self.out {
            // Closed: the kernel's end has been sent.
            let _ = out.send(message);
        }
    }

    fn interrupt(&self) -> bool {
        let held = lock(&self.held);
        let (Some(id), Some(gateway), Some(out)) =
            (held.id.clone(), held.gateway.clone(), self.out.clone())
        else {
            return false;
        };
        tokio::spawn(async move {
            if !matches!(
                run_blocking(move || gateway.interrupt(&id)).await,
                Some(Ok(()))
            ) {
                let message =
                    OutgoingMessage::new(Channel::Control, "interrupt_request", json!({}));
                let _ = out.send(message);
            }
        });
        true
    }

    fn check_liveness(&self) {
        let held = lock(&self.held);
        let (Some(id), Some(gateway), Some(news)) =
            (held.id.clone(), held.gateway.clone(), self.news.clone())
        else {
            return;
        };
        if self.looks.swap(true, Ordering::SeqCst) {
            return;
        }
        let looks = Arc::clone(&self.looks);
        tokio::spawn(async move {
            let seen = seen(gateway, id).await;
            looks.store(false, Ordering::SeqCst);
            if let Some(seen) = seen {
                // The receiver may be gone.
                let _ = news.send(seen).await;
            }
        });
    }

    fn kill(&self) {
        let (gone, news) = (self.let_go(), self.news.clone());
        tokio::spawn(async move {
            if let Some(gone) = gone {
                // A gateway that does not answer must not delay our exit.
                let _ = timeout(ENDS, run_blocking(move || gone.end())).await;
            }
            if let Some(news) = news {
                let _ = news.send(KernelEvent::Died(Death::Killed)).await;
            }
        });
    }

    fn attached(&self) -> bool {
        false
    }

    fn patience(&self) -> Duration {
        self.plan.patience
    }

    fn place(&self) -> String {
        match (&self.plan.gateway, &lock(&self.held).gateway) {
            (GatewayTarget::Running(gateway), _) | (_, Some(gateway)) => gateway.url().to_owned(),
            (GatewayTarget::Shared(_), None) => "the shared gateway".to_owned(),
        }
    }

    fn process(&self) -> Option<u32> {
        None
    }

    fn last_words(&self) -> String {
        String::new()
    }

    fn end(&mut self, _up: bool) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            if let Some(gone) = self.let_go() {
                run_blocking(move || gone.end()).await;
            }
        })
    }
}
