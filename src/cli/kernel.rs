//! `kernel`: runs our Jupyter kernels, and installs, removes and lists their kernelspecs.
//!
//! In: the command line. Out: the exit code. Absent on purpose: the kernels themselves (`crate::kernel`).

use std::path::{Path, PathBuf};

use crate::assemble::{Assembly, SessionOptions, assemble, connect_client, python_of};
use crate::cli::args::{Arguments, Common, Kernel, KernelCommands, KernelTarget};
use crate::cli::session::{self, open_socket};
use crate::config::{RuntimeChoice, Settings, resolve};
use crate::environment::Environment;
use crate::jupyter::data_dirs;
use crate::kernel::{self, KernelKind, KernelOptions, KernelspecDir};
use crate::runtime::Stdin;
use crate::screen::Screen;
use crate::text::report::Report;

pub(super) fn run(
    wanted: &Kernel,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let mut common = arguments.common.clone();
    // `--agent` without a name selects the agent's kernel.
    let nameless = common.agent.take_if(|agent| agent.is_empty());
    let kind = match nameless {
        Some(_) => KernelKind::AgentClient,
        None => KernelKind::Cells,
    };
    let common = &common;
    let Some(command) = &wanted.command else {
        let Some(file) = &wanted.file else {
            return Err(Report::usage(
                "there is nothing to serve: name a connection file with `-f FILE`",
            )
            .hint("`ipycodex kernel install` makes Jupyter start the kernel by itself"));
        };
        return match kind {
            KernelKind::Cells => serve(file, common, environment),
            KernelKind::AgentClient => serve_agent(file, common, environment),
        };
    };
    let (settings, _) = resolve(&common.flags(false)?, environment);
    let screen = Screen::open(environment, settings.color)?;
    let say = |line: &str| -> Result<(), Report> {
        screen.write_untrusted(&format!("{line}\n"))?;
        Ok(screen.flush()?)
    };
    let python = python_of(environment, &settings);
    match command {
        KernelCommands::Install(target) => {
            let place = place(target, python.as_deref(), environment)?;
            let program = environment.program.clone();
            let program = program.unwrap_or_else(|| PathBuf::from("ipycodex"));
            let folder = kernel::install(
                &place,
                kind,
                &program,
                &spoken(kind, python.as_deref(), &settings, common),
            )?;
            say(&format!("Installed {}.", folder.display()))?;
            match &python {
                _ if kind == KernelKind::AgentClient => say(
                    "Its agent is that of ACP_AGENT_COMMAND and ACP_AGENT_ARGS, else codex-acp.",
                )?,
                Some(python) => say(&format!("Its cells run in {}.", python.display()))?,
                None => say("No Python was found; the kernel looks for one again when it starts.")?,
            }
        }
        KernelCommands::Uninstall(target) => {
            let place = place(target, python.as_deref(), environment)?;
            match kernel::uninstall(&place, kind)? {
                true => say(&format!("Removed the kernel from {}.", place.0.display()))?,
                false => {
                    let what = format!(
                        "no kernel of ipycodex is installed in `{}`",
                        place.0.join("kernels").join(kind.name()).display()
                    );
                    return Err(Report::failure(what)
                        .hint("`ipycodex kernel list` shows where kernels are installed"));
                }
            }
        }
        KernelCommands::List => {
            let prefix = python.as_deref().and_then(prefix);
            let folders = data_dirs(&environment.variables, prefix);
            let places: Vec<KernelspecDir> = folders.into_iter().map(KernelspecDir).collect();
            let found = kernel::list_installed(&places);
            for one in &found {
                say(&format!("{}  {}", one.folder.display(), one.argv.join(" ")))?;
            }
            if found.is_empty() {
                say("No ipycodex kernel is installed; `ipycodex kernel install` installs one.")?;
            }
        }
    }
    Ok(0)
}

fn spoken(
    kind: KernelKind,
    python: Option<&Path>,
    settings: &Settings,
    common: &Common,
) -> Vec<String> {
    let mut words = Vec::new();
    if kind == KernelKind::AgentClient {
        words.push("--agent".to_owned());
    }
    if let Some(python) = python {
        words.extend(["--python".to_owned(), python.display().to_string()]);
    }
    if let Some(agent) = &common.agent {
        words.extend(["--agent".to_owned(), agent.clone()]);
    }
    let own = settings.choices.runtime.to_string();
    if own != "embedded" && kind == KernelKind::Cells {
        words.extend(["--runtime".to_owned(), own]);
    }
    words
}

fn place(
    target: &KernelTarget,
    python: Option<&Path>,
    environment: &Environment,
) -> Result<KernelspecDir, Report> {
    let below = |prefix: &Path| KernelspecDir(prefix.join("share/jupyter"));
    if let Some(named) = &target.prefix {
        let cwd = environment.cwd.clone().unwrap_or_default();
        return Ok(below(&cwd.join(named)));
    }
    if target.sys_prefix {
        let found = python.and_then(prefix);
        return found.map(below).ok_or_else(|| {
            Report::failure("there is no Python environment to install into")
                .hint("activate one, or name it with `--python PATH`")
        });
    }
    let mut variables = environment.variables.clone();
    // Folders of `JUPYTER_PATH` are searched by other programs too, so they are not the user's own.
    variables.remove(std::ffi::OsStr::new("JUPYTER_PATH"));
    let own = data_dirs(&variables, None).into_iter().next();
    own.map(KernelspecDir).ok_or_else(|| {
        Report::failure("there is no home directory to install into")
            .hint("name a folder with `--prefix`")
    })
}

/// Returns the prefix of a Python's environment.
fn prefix(python: &Path) -> Option<&Path> {
    python.parent()?.parent()
}

fn serve_agent(file: &Path, common: &Common, environment: &Environment) -> Result<i32, Report> {
    let (settings, _) = resolve(&common.flags(false)?, environment);
    let python = python_of(environment, &settings);
    kernel::agentclient::run(environment, python, connect_client, file).map(|()| 0)
}

fn serve(file: &Path, common: &Common, environment: &Environment) -> Result<i32, Report> {
    let wanted = SessionOptions {
        stdin: Stdin::Ask,
        asks: true,
        at_home: true,
        kernel: Some(file.to_owned()),
        ..session::options(common, false)?
    };
    let Assembly {
        session,
        background,
        record,
        settings,
        screen,
        reports,
        ..
    } = assemble(environment, wanted)?;
    let _socket = open_socket(&session, &settings, environment);
    reports
        .iter()
        .try_for_each(|report| screen.print_report(report))?;
    let own = settings.choices.runtime == RuntimeChoice::Embedded;
    let options = KernelOptions {
        python: own.then(|| python_of(environment, &settings)).flatten(),
        startup: session.run_startup(),
        session,
        background,
        record,
        parent: environment
            .variable("JPY_PARENT_PID")
            .and_then(|id| id.parse().ok()),
    };
    kernel::run(options, file).map(|()| 0)
}
