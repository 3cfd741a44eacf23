//! A kernel behind a gateway: started over HTTP, spoken to over a websocket, ended over HTTP.
//!
//! In: a plan. Out: news. Invariants: what we started ends with us, also when it comes up after we left; a connection
//! that breaks is opened again under the same name, so that what was said meanwhile still comes. Absent on purpose:
//! starting gateways.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::kernel::{Kernel, News};
use crate::jupyter::{
    Channel, Gateway, GatewayFault, Heard, Incoming, Outgoing, fresh_name, open_socket,
};
use crate::runtime::{Death, StartFailure};

/// How long a broken connection is opened again and again.
const TRIES: Duration = Duration::from_secs(30);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(500);
/// Messages that may wait for the conversation.
const IN_FLIGHT: usize = 1024;

/// Which gateway, and which of its kernels.
#[derive(Debug, Clone)]
pub struct GatewayPlan {
    /// The gateway.
    pub gateway: Gateway,
    /// The kernel's name; `None`: the gateway's default.
    pub kernel: Option<String>,
    /// How long a kernel may take until it says who it is.
    pub patience: Duration,
}

/// A kernel behind a gateway.
pub(super) struct GatewayKernel {
    plan: GatewayPlan,
    out: Option<UnboundedSender<Outgoing>>,
    news: Option<Sender<News>>,
    held: Arc<Mutex<Held>>,
}

/// The kernel that runs for us.
#[derive(Debug, Default)]
struct Held {
    id: Option<String>,
    /// It is to end: one that comes up is ended at once.
    unwanted: bool,
}

fn look(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl GatewayKernel {
    pub(super) fn new(plan: GatewayPlan) -> Self {
        GatewayKernel {
            plan,
            out: None,
            news: None,
            held: Arc::default(),
        }
    }

    /// Lets go of the kernel there is; its id.
    fn let_go(&self) -> Option<String> {
        let mut held = look(&self.held);
        held.unwanted = true;
        held.id.take()
    }
}

/// Does what blocks on a thread of its own; `None`: there is no thread.
async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (tell, told) = oneshot::channel();
    let thread = std::thread::Builder::new().name("gateway".into());
    let work = move || {
        // Nobody may wait any more.
        let _ = tell.send(work());
    };
    thread.spawn(work).ok()?;
    told.await.ok()
}

/// Starts the kernel of a plan; its id.
fn start(plan: &GatewayPlan, held: &Mutex<Held>) -> Result<String, StartFailure> {
    let failed = |fault: GatewayFault| StartFailure {
        message: fault.to_string(),
        hint: fault.hint().to_owned(),
    };
    let known = plan.gateway.kernels().map_err(failed)?;
    let name = match &plan.kernel {
        None => known.first(),
        Some(name) => known.iter().find(|one| *one == name),
    };
    let Some(name) = name else {
        let wanted = plan.kernel.as_deref().unwrap_or("default");
        let url = plan.gateway.url();
        return Err(StartFailure {
            message: format!(
                "the gateway at {url} has no kernel `{wanted}`; it has: {}",
                known.join(", ")
            ),
            hint: "name one of those behind a `#`: `--runtime gateway:URL#NAME`".to_owned(),
        });
    };
    let id = plan.gateway.start(name, plan.patience).map_err(failed)?;
    let mut held = look(held);
    if held.unwanted {
        drop(held);
        // It said that it had one; if it does not end it, nobody can.
        let _ = plan.gateway.end(&id);
    } else {
        held.id = Some(id.clone());
    }
    Ok(id)
}

/// Starts a kernel, and carries messages for as long as it is there.
async fn live(
    plan: GatewayPlan,
    held: Arc<Mutex<Held>>,
    mut orders: UnboundedReceiver<Outgoing>,
    news: Sender<News>,
) {
    let (asked, of) = (plan.clone(), Arc::clone(&held));
    let no_thread = || StartFailure {
        message: "no thread for the gateway".to_owned(),
        hint: "end other programs, or raise the limit on processes (ulimit -u)".to_owned(),
    };
    let started = beside(move || start(&asked, &of)).await;
    let id = match started.unwrap_or_else(|| Err(no_thread())) {
        Ok(id) => id,
        Err(failure) => return drop(news.send(News::Failed(failure)).await),
    };
    let session = fresh_name();
    let (heard, mut hears) = channel(IN_FLIGHT);
    let tells = news.clone();
    tokio::spawn(async move {
        while let Some(heard) = hears.recv().await {
            let told = match &heard {
                Heard::Message(message) if is_end(message) => {
                    let why = format!("the gateway says: {}", message.text("execution_state"));
                    News::Died(Death::Told(why))
                }
                _ => News::Heard(heard),
            };
            if tells.send(told).await.is_err() {
                return;
            }
        }
    });
    let mut broken: Option<Instant> = None;
    let mut first = true;
    loop {
        let why = match open_socket(&plan.gateway, &id, &session).await {
            Ok(socket) => {
                if std::mem::take(&mut first) && news.send(News::Open).await.is_err() {
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
                return drop(news.send(News::Failed(failure)).await);
            }
            Err(fault) => fault.to_string(),
        };
        if look(&held).unwanted {
            return;
        }
        let (gateway, kernel) = (plan.gateway.clone(), id.clone());
        if let Some(Ok(false)) = beside(move || gateway.has(&kernel)).await {
            let death = Death::Told("the gateway ended it".to_owned());
            return drop(news.send(News::Died(death)).await);
        }
        if broken.get_or_insert_with(Instant::now).elapsed() > TRIES {
            return drop(news.send(News::Lost(why)).await);
        }
        sleep(PAUSE).await;
    }
}

/// The gateway tells that the kernel has died, or starts another one in its place.
fn is_end(message: &Incoming) -> bool {
    message.channel == Channel::Iopub
        && message.kind == "status"
        && ["restarting", "dead"].contains(&message.text("execution_state"))
}

impl Kernel for GatewayKernel {
    fn begin(&mut self, news: Sender<News>) {
        if let Some(id) = self.let_go() {
            let gateway = self.plan.gateway.clone();
            tokio::spawn(beside(move || gateway.end(&id)));
        }
        self.held = Arc::default();
        let (out, orders) = unbounded_channel();
        self.out = Some(out);
        self.news = Some(news.clone());
        tokio::spawn(live(
            self.plan.clone(),
            Arc::clone(&self.held),
            orders,
            news,
        ));
    }

    fn send(&self, message: Outgoing) {
        if let Some(out) = &self.out {
            // Closed: its end has been told.
            let _ = out.send(message);
        }
    }

    fn interrupt(&self) -> bool {
        let (Some(id), Some(out)) = (look(&self.held).id.clone(), self.out.clone()) else {
            return false;
        };
        let gateway = self.plan.gateway.clone();
        tokio::spawn(async move {
            if !matches!(beside(move || gateway.interrupt(&id)).await, Some(Ok(()))) {
                let message = Outgoing::new(Channel::Control, "interrupt_request", json!({}));
                let _ = out.send(message);
            }
        });
        true
    }

    fn kill(&self) {
        let id = self.let_go();
        let (gateway, news) = (self.plan.gateway.clone(), self.news.clone());
        tokio::spawn(async move {
            if let Some(id) = id {
                beside(move || gateway.end(&id)).await;
            }
            if let Some(news) = news {
                let _ = news.send(News::Died(Death::Killed)).await;
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
        self.plan.gateway.url().to_owned()
    }

    fn process(&self) -> Option<u32> {
        None
    }

    fn last_words(&self) -> String {
        String::new()
    }

    fn end(&mut self, _up: bool) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            if let Some(id) = self.let_go() {
                let gateway = self.plan.gateway.clone();
                beside(move || gateway.end(&id)).await;
            }
        })
    }
}
