//! The parts that all sessions of one program are made of: plans of their peers, and their places.
//!
//! In: environment and settings. Out: plans; nothing is started here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::agent::connect::{AgentConfig, AgentKind, Program, SizeLimit, Timeouts};
use crate::agent::{McpServer, Sandbox};
use crate::config::{AgentChoice, Choices, Paths, Seconds, Settings};
use crate::environment::Environment;
use crate::record::RecordHandle;
use crate::runtime::connect::{Confinement, ManagedPython, PythonPlan, RuntimePlan, ShellPlan};
use crate::runtime::{Stdin, TerminalSize};
use crate::session::{
    FindSkills, LastingFile, MissingAgent, NotebookPlaces, Parts, PlanAgent, PlanKernel,
    PlannedRuntime, Skills, StartupFiles,
};
use crate::skills::{Catalog, Consent, Roots};
use crate::text::report::Report;
use crate::text::similar::did_you_mean;

/// What differs between the sessions of one program.
pub(super) struct Surroundings {
    pub(super) cwd: PathBuf,
    /// Of the terminal.
    pub(super) size: TerminalSize,
    pub(super) choices: Choices,
    pub(super) record: RecordHandle,
    /// Errors of the record's thread.
    pub(super) reports: UnboundedReceiver<Report>,
}

/// Returns the parts of a session that continues another one and that nobody looks at: it asks nobody.
pub(super) fn silent_parts(
    environment: &Environment,
    settings: &Settings,
    around: Surroundings,
    runtime: PlannedRuntime,
    agent: AgentConfig,
) -> Parts {
    let Surroundings {
        cwd,
        size,
        choices,
        record,
        reports,
    } = around;
    let paths = &settings.paths;
    Parts {
        runtime,
        shell: plan_shell(environment, size, cwd.clone()),
        agent: Box::new(move || crate::agent::connect::connect(agent)),
        agents: plan_agent(environment.clone(), settings.clone(), cwd.clone()),
        missing: missing_agent(environment.clone(), settings.clone()),
        kernels: plan_kernel(environment, settings),
        asides: None,
        own_server: None,
        record,
        reports,
        instructions: settings.system_prompt.clone(),
        choices,
        cwd,
        stdin: Stdin::Refuse,
        files: None,
        exact_log: paths.exact_log.clone(),
        config_file: paths.config_file.clone(),
        provenance: settings.provenance.clone(),
        keys: Arc::clone(&settings.keys),
        resumed: true,
        runtime_at_once: false,
        wait_for_start: Box::new(|| ()),
        asks: false,
        startup_files: StartupFiles::default(),
        skills: find_skills(environment, paths),
        artifacts: paths.artifacts.clone(),
        record_path: paths.history.clone(),
        notebooks: NotebookPlaces::new(paths, environment.home.clone()),
        lasting: LastingFile::new(&paths.state_dir, user_name(environment)),
    }
}

/// Returns our own MCP server, for agents that take tools only from one: it connects back to this process, in `sockets`
/// where that is not the usual place.
pub(super) fn own_server(environment: &Environment, sockets: Option<&Path>) -> McpServer {
    let program = environment.program.as_deref();
    let program = program.map_or("ipycodex".into(), |path| path.display().to_string());
    // These variables determine the path of the socket, and agents pass few variables on.
    let places = ["XDG_RUNTIME_DIR", "XDG_STATE_HOME"].into_iter();
    let places =
        places.filter_map(|name| Some((name.to_owned(), environment.variable(name)?.to_owned())));
    let sockets = sockets.map(|folder| folder.to_string_lossy().into_owned());
    let sockets = sockets.map(|folder| ("XDG_RUNTIME_DIR".to_owned(), folder));
    McpServer {
        name: crate::mcp::SERVER_NAME.into(),
        command: program,
        arguments: vec![
            "mcp".into(),
            "--shell".into(),
            std::process::id().to_string(),
        ],
        variables: places.chain(sockets).collect(),
    }
}

/// The name of the user, for the list of approvals that last.
fn user_name(environment: &Environment) -> String {
    let names = ["USER", "LOGNAME"].into_iter();
    let mut names = names.filter_map(|name| environment.variable(name));
    names.next().unwrap_or("you").to_owned()
}

/// Returns the search for skills, which the session runs later.
fn find_skills(environment: &Environment, paths: &Paths) -> FindSkills {
    let (environment, state_dir) = (environment.clone(), paths.state_dir.clone());
    Box::new(move || {
        let (consent, trouble) = Consent::open(&state_dir);
        Skills {
            catalog: Catalog::find(&Roots::new(&environment)),
            consent,
            warning: trouble,
        }
    })
}

/// Returns the plan of the configured Python as a plain program of this user: without a terminal, and not confined.
pub fn python_plan(environment: &Environment, settings: &Settings, cwd: PathBuf) -> PythonPlan {
    PythonPlan {
        interpreter: settings.choices.python.clone(),
        managed: Some(ManagedPython::below(&settings.paths.data_dir)),
        no_ipython: !settings.ipython,
        cwd,
        variables: environment.variables.clone(),
        terminal: None,
        cache_dir: settings.paths.cache_dir.clone(),
        script: None,
        confined: None,
        kernel: None,
    }
}

/// Returns the plan of the user's own shell; the shell is searched for when it is first needed.
fn plan_shell(environment: &Environment, terminal: TerminalSize, cwd: PathBuf) -> PlannedRuntime {
    let plan = RuntimePlan::Shell(ShellPlan {
        cwd,
        variables: environment.variables.clone(),
        terminal,
    });
    PlannedRuntime {
        capabilities: crate::runtime::connect::capabilities(&plan),
        needs_session_at_start: false,
        connect: Box::new(move |_| crate::runtime::connect::connect(plan)),
    }
}

/// Returns the plan of the agent's own kernels: confined like the agent's commands, with the variables that are no
/// secrets.
fn plan_kernel(environment: &Environment, settings: &Settings) -> PlanKernel {
    let plan = PythonPlan {
        variables: environment.variables_for_untrusted_code(),
        ..python_plan(environment, settings, PathBuf::new())
    };
    let temporary = PathBuf::from(environment.variable("TMPDIR").unwrap_or("/tmp"));
    Box::new(move |wish| {
        let writes = match wish.sandbox {
            Sandbox::FullAccess => None,
            Sandbox::ReadOnly => Some(Vec::new()),
            Sandbox::WorkspaceWrite => Some(vec![
                wish.cwd.clone(),
                PathBuf::clone(&temporary),
                "/tmp".into(),
                "/var/tmp".into(),
            ]),
        };
        let plan = RuntimePlan::Embedded(PythonPlan {
            cwd: wish.cwd.clone(),
            confined: writes.map(|writes| Confinement { writes }),
            ..plan.clone()
        });
        PlannedRuntime {
            capabilities: crate::runtime::connect::capabilities(&plan),
            needs_session_at_start: false,
            connect: Box::new(move |told| {
                crate::runtime::connect::connect(plan.with_environment(told))
            }),
        }
    })
}

/// Returns the plans of other agents, for a change of agent.
fn plan_agent(environment: Environment, settings: Settings, cwd: PathBuf) -> PlanAgent {
    Box::new(move |choice| {
        let plan = agent_plan(&environment, &settings, choice, cwd.clone())?;
        Ok(Box::new(move || crate::agent::connect::connect(plan)))
    })
}

/// Returns a check that reports agents that are not installed.
fn missing_agent(environment: Environment, settings: Settings) -> MissingAgent {
    Box::new(move |choice| {
        let word = match choice {
            AgentChoice::Codex => settings.codex_command.first().cloned(),
            AgentChoice::Demo => return None,
            AgentChoice::Acp(line) => shlex::split(line).and_then(|words| words.first().cloned()),
            AgentChoice::Named(name) => match settings.agents.get(name) {
                Some(agent) => agent.words.first().cloned(),
                None => return Some(format!("`agents` in `config.json` has no `{name}`")),
            },
        };
        let word = word.unwrap_or_default();
        match environment.find_program(&word) {
            Some(_) => None,
            None => Some(format!("`{word}` was not found")),
        }
    })
}

pub(super) fn agent_plan(
    environment: &Environment,
    settings: &Settings,
    choice: &AgentChoice,
    cwd: PathBuf,
) -> Result<AgentConfig, Report> {
    let kind = match choice {
        AgentChoice::Codex => AgentKind::Codex {
            command: settings.codex_command.clone(),
        },
        AgentChoice::Demo => AgentKind::Demo {
            program: environment
                .program
                .clone()
                .unwrap_or_else(|| PathBuf::from("ipycodex")),
        },
        AgentChoice::Acp(line) => {
            let words = shlex::split(line).unwrap_or_default();
            let name = words
                .first()
                .map(|word| word.rsplit('/').next().unwrap_or(word));
            AgentKind::Acp(Program {
                name: name.unwrap_or("agent").to_owned(),
                command: words,
                variables: Vec::new(),
                size_limit: SizeLimit::Unlimited,
            })
        }
        AgentChoice::Named(name) => {
            let Some(agent) = settings.agents.get(name) else {
                return Err(no_such_agent(name, settings));
            };
            AgentKind::Acp(Program {
                name: name.clone(),
                command: agent.words.clone(),
                variables: agent.variables.clone(),
                size_limit: SizeLimit::Unlimited,
            })
        }
    };
    Ok(AgentConfig {
        kind,
        variables: environment.variables.clone(),
        cwd,
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        timeouts: match choice {
            AgentChoice::Codex | AgentChoice::Demo => Timeouts::default(),
            AgentChoice::Acp(_) | AgentChoice::Named(_) => {
                starts_within(settings.choices.agent_start)
            }
        },
    })
}

pub(super) fn starts_within(start: Seconds) -> Timeouts {
    Timeouts {
        initialize: start.limit().unwrap_or(Duration::MAX),
        ..Timeouts::default()
    }
}

fn no_such_agent(name: &str, settings: &Settings) -> Report {
    let known = settings.agents.keys().map(String::as_str);
    let known: Vec<&str> = AgentChoice::WORDS.into_iter().chain(known).collect();
    let meant = did_you_mean(name, known.iter().copied());
    Report::usage(format!("there is no agent `{name}`{meant}")).hint(format!(
        "choose one of: {}; `acp:COMMAND ARGUMENTS`; or name one under `agents` in `config.json`",
        known.join(", ")
    ))
}
