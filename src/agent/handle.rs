//! The handle of an agent that is a process: calls become commands for the one thread that owns the process.
//!
//! Commands are queued without a bound, so callers never wait; events wait for room unless the handle has been
//! dropped. The first command starts the thread. Dropping the handle ends the thread, and the process with it.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot, watch};

use super::beside::{
    ConsultReply, ConsultRequest, Lookup, LookupReply, SuggestReply, SuggestRequest,
};
use super::capabilities::AgentCapabilities;
use super::event::{AgentEvent, AgentEvents};
use super::failure::AgentFailure;
use super::turn::{AgentReply, TurnId, TurnRequest};
use crate::text::trace::STARTUP;

/// Events that may be queued for the session before the driver waits.
const EVENT_CAPACITY: usize = 1024;

/// Receives the outcome of a request that has no result.
type DoneSender = oneshot::Sender<Result<(), AgentFailure>>;

/// A command from the handle to the driver.
#[derive(Debug)]
pub(super) enum Command {
    WarmUp,
    Start(TurnId, Box<TurnRequest>),
    Reply(TurnId, AgentReply),
    Cancel(TurnId),
    LookUp(Lookup, oneshot::Sender<Result<LookupReply, AgentFailure>>),
    Suggest(Box<SuggestRequest>, oneshot::Sender<SuggestReply>),
    Consult(Box<ConsultRequest>, oneshot::Sender<ConsultReply>),
    LogIn(String, DoneSender),
    Choose(String, String, DoneSender),
}

impl Command {
    /// Answers a command that asks for something; any other has no answer. Without effect if the receiver was dropped.
    pub(super) fn fail(self, failure: AgentFailure) {
        match self {
            Command::LookUp(_, tell) => drop(tell.send(Err(failure))),
            Command::Suggest(_, tell) => drop(tell.send(Err(failure))),
            Command::Consult(_, tell) => drop(tell.send(Err(failure))),
            Command::LogIn(_, tell) | Command::Choose(_, _, tell) => drop(tell.send(Err(failure))),
            Command::WarmUp | Command::Start(..) | Command::Reply(..) | Command::Cancel(_) => {}
        }
    }

    /// Answers a command of a kind that the agent does not carry out.
    pub(super) fn refuse(self) {
        let message = match &self {
            Command::LogIn(method, _) => format!("there is no login method `{method}`"),
            Command::Choose(option, value, _) => format!("`{option}` cannot be set to `{value}`"),
            _ => "the agent answers one prompt at a time, and waits for this code".to_owned(),
        };
        self.fail(AgentFailure::refused(message));
    }
}

#[derive(Debug)]
pub(super) struct DriverChannels {
    commands: mpsc::UnboundedReceiver<Command>,
    events: mpsc::Sender<AgentEvent>,
    closed: watch::Receiver<()>,
}

impl DriverChannels {
    /// The next command; `None` once the handle has been dropped.
    pub(super) async fn next(&mut self) -> Option<Command> {
        self.commands.recv().await
    }

    /// Sends an event to the session; waits for room unless the handle has been dropped.
    pub(super) async fn emit(&mut self, event: AgentEvent) {
        tokio::select! {
            biased;
            _ = self.closed.changed() => {}
            // Fails only when the session has dropped the receiver.
            _ = self.events.send(event) => {}
        }
    }
}

/// Queues commands for the driver. Dropping the handle ends the process.
pub(super) struct Handle {
    name: String,
    commands: Option<mpsc::UnboundedSender<Command>>,
    /// Dropped to wake a driver that waits for room in the event channel.
    closing: Option<watch::Sender<()>>,
    events: mpsc::Sender<AgentEvent>,
    /// Body of the driver's thread, until the thread is started.
    driver: Option<Box<dyn FnOnce() + Send>>,
    running: Option<JoinHandle<()>>,
    turns: u64,
}

impl Handle {
    /// A handle whose driver runs `drive`, which must return once the handle is dropped. Starts nothing.
    pub(super) fn new(
        name: &str,
        drive: impl FnOnce(DriverChannels) + Send + 'static,
    ) -> (Handle, AgentEvents) {
        let (commands, command_queue) = mpsc::unbounded_channel();
        let (events, told) = mpsc::channel(EVENT_CAPACITY);
        let (closing, closed) = watch::channel(());
        let channels = DriverChannels {
            commands: command_queue,
            events: events.clone(),
            closed,
        };
        let handle = Handle {
            name: name.to_owned(),
            commands: Some(commands),
            closing: Some(closing),
            events,
            driver: Some(Box::new(move || drive(channels))),
            running: None,
            turns: 0,
        };
        (handle, told)
    }

    pub(super) fn start(&mut self, request: TurnRequest) -> TurnId {
        self.turns += 1;
        let turn = TurnId(self.turns);
        self.send(Command::Start(turn, Box::new(request)));
        turn
    }

    /// Sends the command made with a new sender, and returns the receiver.
    pub(super) fn request<T>(
        &mut self,
        command: impl FnOnce(oneshot::Sender<T>) -> Command,
    ) -> oneshot::Receiver<T> {
        let (sender, receiver) = oneshot::channel();
        self.send(command(sender));
        receiver
    }

    pub(super) fn send(&mut self, command: Command) {
        if let Some(drive) = self.driver.take() {
            log::trace!(target: STARTUP, "the agent {} is started", self.name);
            let started = thread::Builder::new()
                .name(format!("{}-driver", self.name))
                .spawn(drive);
            match started {
                Ok(running) => self.running = Some(running),
                Err(error) => {
                    // Without a thread no command is carried out, but a turn must still end.
                    return self.refuse(command, &error);
                }
            }
        }
        if let Some(commands) = &self.commands {
            let _ = commands.send(command);
        }
    }

    fn refuse(&self, command: Command, error: &std::io::Error) {
        let message = format!("no thread could be started for the agent: {error}");
        let failure = AgentFailure::refused(message);
        match command {
            Command::Start(turn, _) => {
                let _ = self.events.try_send(AgentEvent::Failed { turn, failure });
            }
            command => command.fail(failure),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.commands = None;
        self.closing = None;
        if let Some(running) = self.running.take() {
            // The driver returns after its process has ended. A panic was reported when it happened.
            let _ = running.join();
        }
    }
}

/// The agent's capabilities as far as they are known: the driver updates them, the handle reads them.
#[derive(Debug, Clone)]
pub(super) struct SharedCapabilities(Arc<Mutex<AgentCapabilities>>);

impl SharedCapabilities {
    pub(super) fn new(capabilities: AgentCapabilities) -> Self {
        SharedCapabilities(Arc::new(Mutex::new(capabilities)))
    }

    pub(super) fn get(&self) -> AgentCapabilities {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    pub(super) fn set(&self, capabilities: AgentCapabilities) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = capabilities;
    }
}
