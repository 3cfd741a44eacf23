//! Wires a session: environment and settings in, a running session out.
//!
//! The only code that names the concrete runtime and agent. Invariant: nothing here waits; files are read, threads
//! are started, and later failures arrive as events or reports.

mod aside;
mod home;
mod kernels;
mod parts;
mod prompt_gate;

use std::path::PathBuf;

pub use kernels::{gateways, is_connection_file};
pub use parts::python_plan;
pub use prompt_gate::PromptGate;

use parts::{Surroundings, agent_plan, own_server, silent_parts, starts_within};

use crate::agent::Agent;
use crate::agent::connect::{AgentConfig, AgentEvents, AgentKind, Program, SizeLimit};
use crate::config::{Choices, ConfigFlags, RuntimeChoice, Settings, resolve};
use crate::display::Pictures;
use crate::environment::Environment;
use crate::kernel::agentclient::AgentCommand;
use crate::markdown::{Appearance, Theme};
use crate::record::{self, Recall, RecordHandle, RecordOptions, SessionSpec};
use crate::runtime::connect::{PythonPlan, RuntimePlan, ScriptRun, best_interpreter};
use crate::runtime::{IpythonFlags, Stdin};
use crate::screen::Screen;
use crate::session::{
    self, ConnectRuntime, FilePlaces, Parts, PlannedRuntime, Run, SessionHandle, StartupFiles,
};
use crate::text::report::Report;
use crate::text::trace::STARTUP;

pub struct SessionOptions {
    pub flags: ConfigFlags,
    pub resume: Option<i64>,
    /// The session is one command line or one text; only a list of all sessions includes it.
    pub once: bool,
    /// Cells get a pseudo-terminal.
    pub cells_own_a_terminal: bool,
    pub stdin: Stdin,
    /// A user is present who can answer questions.
    pub asks: bool,
    /// Starts the interpreter before the first cell.
    pub runtime_at_once: bool,
    pub script: Option<ScriptRun>,
    /// IPython's options of the command line.
    pub ipython: IpythonFlags,
    /// Runs the user's start-up files and those of the project before the first cell.
    pub at_home: bool,
    /// Lets MCP clients attach to the session.
    pub takes_clients: bool,
    /// Connection file, when the session is a Jupyter kernel.
    pub kernel: Option<PathBuf>,
    /// The user waits only for the prompt: other work is delayed until it is shown.
    pub prompt_first: bool,
}

/// A running session with what its front-end needs beside it.
pub struct Assembly {
    pub session: SessionHandle,
    pub background: Run,
    pub screen: Screen,
    pub appearance: Appearance,
    pub pictures: Pictures,
    pub recall: Recall,
    pub record: RecordHandle,
    pub settings: Settings,
    /// Problems found in the settings.
    pub reports: Vec<Report>,
    /// No record existed before this session.
    pub first: bool,
    /// The interpreter that will be tried first.
    pub python: Option<PathBuf>,
    /// Dropped when the first prompt is shown, which starts the delayed work.
    pub waiting: PromptGate,
}

/// Builds a session.
///
/// # Errors
/// A thread or standard output is not available, or a setting names something that does not exist.
pub fn assemble(environment: &Environment, wanted: SessionOptions) -> Result<Assembly, Report> {
    let (settings, reports) = resolve(&wanted.flags, environment);
    log::trace!(target: STARTUP, "the settings are read");
    let paths = &settings.paths;
    let screen = Screen::open(environment, settings.color)?;
    let cwd = environment
        .cwd
        .clone()
        .or_else(|| environment.home.clone())
        .unwrap_or_else(|| PathBuf::from("/"));
    let opening = RecordOptions {
        path: paths.history.clone(),
        named: !paths.history_is_ours(),
        record: settings.record,
        // A script's exit must not wait for a sync of the log; an interactive shell has idle time for it.
        leave_log: !wanted.cells_own_a_terminal,
    };
    let begin = SessionSpec {
        cwd: cwd.to_string_lossy().into_owned(),
        resume: wanted.resume,
        fork: None,
        provider: settings.choices.agent.to_string(),
        once: wanted.once,
    };
    let theme = Theme::named(&settings.choices.code_theme).unwrap_or_default();
    let appearance = Appearance {
        colour: screen.colour(),
        links: false,
        theme,
    };
    let pictures = Pictures::new(environment, settings.choices.images);
    let runtime = runtime_plan(environment, &wanted, &settings, &screen, cwd.clone())?;
    let greets = wanted.cells_own_a_terminal && settings.choices.greeting;
    let python = greets.then(|| first_interpreter(&runtime)).flatten();
    let first = greets && settings.record && !paths.history.exists();
    let agent = agent_plan(environment, &settings, &settings.choices.agent, cwd.clone())?;
    // Without a prompt to show, the start of the interpreter takes longest: it goes first, and the record is opened
    // meanwhile. Before a prompt the session's thread starts it.
    let told_at_start = !matches!(runtime, RuntimePlan::Embedded(_));
    let at_once = wanted.runtime_at_once && !wanted.cells_own_a_terminal && !told_at_start;
    let able = crate::runtime::connect::capabilities(&runtime);
    let connect: ConnectRuntime = if at_once {
        let started = crate::runtime::connect::connect(runtime);
        // The interpreter learns the session's id with its first cell.
        Box::new(move |_| started)
    } else {
        Box::new(move |told| crate::runtime::connect::connect(runtime.with_environment(told)))
    };
    let mut waiting = PromptGate::default();
    let mut turn = || match wanted.prompt_first {
        true => waiting.turn(),
        false => Box::new(|| ()),
    };
    let (record, history_reports) = record::open_after(opening, begin, turn());
    let runtime = PlannedRuntime {
        capabilities: able,
        needs_session_at_start: told_at_start,
        connect,
    };
    let surroundings = Surroundings {
        cwd,
        size: screen.size(),
        choices: settings.choices.clone(),
        record: record.clone(),
        reports: history_reports,
    };
    let parts = Parts {
        asides: wanted
            .asks
            .then(|| aside::start(environment.clone(), settings.clone(), screen.size())),
        own_server: wanted.takes_clients.then(|| own_server(environment, None)),
        stdin: wanted.stdin,
        files: wanted.asks.then(|| FilePlaces {
            stores: paths.state_dir.join("files"),
            excluded: [&paths.state_dir, &paths.cache_dir, &paths.config_dir]
                .map(Clone::clone)
                .to_vec(),
            home: environment.home.clone(),
        }),
        resumed: wanted.resume.is_some(),
        runtime_at_once: wanted.runtime_at_once,
        wait_for_start: turn(),
        asks: wanted.asks,
        startup_files: StartupFiles {
            own: home::set_up(environment, &settings, wanted.ipython, wanted.at_home),
            project: home::project(environment, wanted.at_home),
        },
        ..silent_parts(environment, &settings, surroundings, runtime, agent)
    };
    let (session, background) = session::start(parts)?;
    log::trace!(target: STARTUP, "the session is started");
    if wanted.resume.is_some() {
        let start = session.await_start()?;
        if start.number == 0 {
            return Err(Report::failure(format!(
                "`{}` is locked by another program",
                settings.paths.history.display()
            ))
            .hint("close that program, then resume again"));
        }
    }
    let recall = record.recall();
    Ok(Assembly {
        session,
        background,
        screen,
        appearance,
        pictures,
        recall,
        record,
        settings,
        reports,
        first,
        python,
        waiting,
    })
}

fn runtime_plan(
    environment: &Environment,
    wanted: &SessionOptions,
    settings: &Settings,
    screen: &Screen,
    cwd: PathBuf,
) -> Result<RuntimePlan, Report> {
    match &settings.choices.runtime {
        RuntimeChoice::Embedded => {}
        RuntimeChoice::Jupyter(name) => {
            let python = python_plan(environment, settings, cwd.clone());
            let python = first_interpreter(&RuntimePlan::Embedded(python));
            let plan = kernels::jupyter_plan(environment, settings, name, cwd, python.as_deref());
            return Ok(RuntimePlan::Jupyter(plan));
        }
        RuntimeChoice::Gateway(address) => {
            let python = python_plan(environment, settings, cwd.clone());
            let python = || first_interpreter(&RuntimePlan::Embedded(python));
            let plan = kernels::gateway_plan(environment, settings, address, cwd, python)?;
            return Ok(RuntimePlan::Gateway(plan));
        }
    }
    Ok(RuntimePlan::Embedded(PythonPlan {
        terminal: wanted.cells_own_a_terminal.then(|| screen.size()),
        script: wanted.script.clone(),
        kernel: wanted.kernel.clone(),
        ..python_plan(environment, settings, cwd)
    }))
}

pub fn python_of(environment: &Environment, settings: &Settings) -> Option<PathBuf> {
    let plan = python_plan(environment, settings, PathBuf::from("/"));
    first_interpreter(&RuntimePlan::Embedded(plan))
}

fn first_interpreter(plan: &RuntimePlan) -> Option<PathBuf> {
    let RuntimePlan::Embedded(plan) = plan else {
        return None;
    };
    best_interpreter(plan).map(|candidate| candidate.program)
}

/// Connects an agent for a client that has no session.
pub(crate) fn connect_client(command: AgentCommand) -> (Box<dyn Agent>, AgentEvents) {
    crate::agent::connect::connect(AgentConfig {
        kind: AgentKind::Acp(Program {
            name: command.name,
            command: command.words,
            variables: Vec::new(),
            size_limit: SizeLimit::Capped,
        }),
        variables: command.variables,
        cwd: command.cwd,
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        timeouts: starts_within(Choices::default().agent_start),
    })
}
