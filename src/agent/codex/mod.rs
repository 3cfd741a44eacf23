//! The Codex app-server as an agent.
//!
//! ```text
//!  Agent calls --commands--> driver (one thread: link, opening, turn) --lines--> codex app-server
//!  AgentEvents <--bounded--            <--messages, bounded--  reader thread
//! ```
//!
//! The handle here only queues commands, so it never blocks. The driver owns everything else and starts the process
//! when first needed, and again after a death. Wire types live in `wire/` and stay there. Facts about the peer: Codex
//! 0.169.0. The built-in offline agent speaks the same protocol and comes through the same client.

mod activity;
mod answer;
mod asked;
mod completion;
mod driver;
mod facts;
mod failure;
mod form;
mod images;
mod link;
mod names;
mod opening;
mod questions;
mod request;
mod seed;
mod turn;
pub(crate) mod wire;

use std::ffi::OsString;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot, watch};

use crate::agent::connect::{AgentEvents, AgentPlan};
use crate::agent::{
    Agent, AgentEvent, AgentFailure, AgentReply, Capabilities, Facts, Login, Lookup,
    SuggestRequest, Suggested, TurnId, TurnRequest,
};
use driver::Driver;

/// Events that wait for the session before the driver waits.
const ROOM: usize = 1024;

/// What is run, and what it is called.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) login: Login,
}

impl Program {
    /// Codex: `command` and what makes it an app-server that keeps secrets from the commands it runs.
    pub(crate) fn codex(command: Vec<String>) -> Self {
        let login = command.iter().map(String::as_str).chain(["login"]);
        // A word with a NUL can be no command: it will not start.
        let login = shlex::try_join(login).unwrap_or_else(|_| "codex login".into());
        let mut words = command.into_iter().map(OsString::from);
        let program = words.next().unwrap_or_else(|| "codex".into()).into();
        let own = [
            "app-server",
            "--listen",
            "stdio://",
            "-c",
            "shell_environment_policy.ignore_default_excludes=false",
        ];
        Program {
            name: "codex",
            program,
            arguments: words.chain(own.map(OsString::from)).collect(),
            login: Login::Command {
                more: format!(
                    "On a machine without a browser: `{login} --device-auth`. With an API key: \
                     `printenv OPENAI_API_KEY | {login} --with-api-key`."
                ),
                line: login,
            },
        }
    }

    /// The offline agent in our own binary.
    pub(crate) fn demo(program: PathBuf) -> Self {
        Program {
            name: "demo",
            program,
            arguments: vec!["demo-agent".into()],
            login: Login::Unneeded,
        }
    }
}

/// What the handle tells the driver.
#[derive(Debug)]
enum Command {
    WarmUp,
    Start(TurnId, Box<TurnRequest>),
    Reply(TurnId, AgentReply),
    Cancel(TurnId),
    LookUp(Lookup, oneshot::Sender<Result<Facts, AgentFailure>>),
    Suggest(Box<SuggestRequest>, oneshot::Sender<Suggested>),
}

/// The handle: queues commands. Dropping it ends the process.
pub(crate) struct Codex {
    name: &'static str,
    login: Login,
    commands: Option<mpsc::UnboundedSender<Command>>,
    /// Dropped to tell a driver that waits for room in the events.
    closing: Option<watch::Sender<()>>,
    /// What starts the driver's thread, until it runs.
    idle: Option<Driver>,
    running: Option<JoinHandle<()>>,
    turns: u64,
}

/// Makes the agent; starts nothing.
pub(crate) fn connect(program: Program, plan: AgentPlan) -> (Codex, AgentEvents) {
    let (commands, orders) = mpsc::unbounded_channel();
    let (events, told) = mpsc::channel(ROOM);
    let (closing, closed) = watch::channel(());
    let name = program.name;
    let codex = Codex {
        name,
        login: program.login.clone(),
        commands: Some(commands),
        closing: Some(closing),
        idle: Some(Driver::new(program, plan, orders, events, closed)),
        running: None,
        turns: 0,
    };
    (codex, told)
}

impl Codex {
    fn tell(&mut self, command: Command) {
        if let Some(driver) = self.idle.take() {
            let events = driver.events();
            let started = thread::Builder::new()
                .name(format!("{}-driver", self.name))
                .spawn(move || driver.run());
            match started {
                Ok(running) => self.running = Some(running),
                Err(error) => {
                    // Without a thread nothing can be asked; a turn still ends.
                    let failure = failure::no_thread(&error);
                    match command {
                        Command::Start(turn, _) => {
                            let _ = events.try_send(AgentEvent::Failed { turn, failure });
                        }
                        Command::LookUp(_, tell) => {
                            let _ = tell.send(Err(failure));
                        }
                        Command::Suggest(_, tell) => {
                            let _ = tell.send(Err(failure));
                        }
                        _ => {}
                    }
                    return;
                }
            }
        }
        if let Some(commands) = &self.commands {
            let _ = commands.send(command);
        }
    }
}

impl Agent for Codex {
    fn capabilities(&self) -> Capabilities {
        // The offline agent speaks the same protocol, and there is less behind it.
        let real = self.name == "codex";
        Capabilities {
            images: real,
            resumes: real,
            beside_tools: images::TOLD,
            login: self.login.clone(),
            ..Capabilities::full(self.name)
        }
    }

    fn start(&mut self, request: TurnRequest) -> TurnId {
        self.turns += 1;
        let turn = TurnId(self.turns);
        self.tell(Command::Start(turn, Box::new(request)));
        turn
    }

    fn reply(&mut self, turn: TurnId, reply: AgentReply) {
        self.tell(Command::Reply(turn, reply));
    }

    fn cancel(&mut self, turn: TurnId) {
        self.tell(Command::Cancel(turn));
    }

    fn look_up(&mut self, lookup: Lookup) -> oneshot::Receiver<Result<Facts, AgentFailure>> {
        let (tell, told) = oneshot::channel();
        self.tell(Command::LookUp(lookup, tell));
        told
    }

    fn suggest(&mut self, request: SuggestRequest) -> oneshot::Receiver<Suggested> {
        let (tell, told) = oneshot::channel();
        self.tell(Command::Suggest(Box::new(request), tell));
        told
    }

    fn warm_up(&mut self) {
        self.tell(Command::WarmUp);
    }
}

impl Drop for Codex {
    fn drop(&mut self) {
        self.commands = None;
        self.closing = None;
        if let Some(running) = self.running.take() {
            // The driver ends the process first, which is what is waited for. A panic of it was reported already.
            let _ = running.join();
        }
    }
}
