//! What was typed: the command line as a value. Nothing is resolved here.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::cli::version::version;
use crate::config::{ChoiceSetting, ConfigFlags};
use crate::markdown::Theme;
use crate::runtime::IpythonFlags;
use crate::screen::ColorChoice;
use crate::text::report::Report;
use crate::text::similar::nearest;
use clap::{Args, Command, CommandFactory, Parser, Subcommand, ValueEnum};

/// Python cells and an AI agent in one live session.
///
/// Type Python as in IPython. A line that starts with `.` is a prompt for the agent, which sees what was run.
#[derive(Debug, Parser)]
#[command(
    name = "ipycodex",
    version,
    long_version = version(),
    max_term_width = 100,
    after_help = "IPython's own settings (--Class.trait=value) go before the command"
)]
pub(super) struct Arguments {
    /// A subcommand, or the REPL.
    #[command(subcommand)]
    pub command: Option<Subcommands>,
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
    /// Run this cell and leave
    #[arg(short, value_name = "CODE")]
    pub code: Option<String>,
    /// Run this module as a script and leave; what follows its name is in its `sys.argv`
    #[arg(short, value_name = "MODULE", conflicts_with_all = ["code", "file"])]
    pub module: Option<String>,
    /// Stay after `-c`, `-m` or FILE, which then runs as a script, with what follows it in its `sys.argv`
    #[arg(short)]
    pub interactive: bool,
    /// Of the script ([`without_arguments`](crate::cli::script::without_arguments)).
    #[arg(skip)]
    pub arguments: Vec<OsString>,
    /// Resume an earlier session by its number or name; without ID, pick one from a list
    #[arg(short, long, value_name = "ID", num_args = 0..=1)]
    pub resume: Option<Option<String>>,
    /// Load a notebook or script first
    #[arg(short, long, value_name = "FILE")]
    pub load: Option<PathBuf>,
    /// A .ipynb, or a .py (cells at `# %%`, else one cell), to load first
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Start in prompt mode, or in Python mode if `prompt_mode` is set
    #[arg(short)]
    pub prompt_mode: bool,
}

impl Arguments {
    /// There is one thing to run, and nothing to stay for.
    pub(super) fn leaves(&self) -> bool {
        !self.interactive && (self.code.is_some() || self.module.is_some())
    }
}

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Subcommands {
    /// Send one prompt and print the answer; standard input is added as context
    Ask(Ask),
    /// Run a script as `python FILE ARG…` would, a notebook, or standard input (`-`)
    Run(Run),
    /// List the sessions of this directory, newest first
    Sessions(Sessions),
    /// Search what was typed and answered in the sessions of this directory, newest first; exit code 1 if nothing is
    /// found
    Search(SearchArguments),
    /// Write a session with its outputs as a .ipynb, .md, .html or .py
    Export(Export),
    /// Show a notebook file as text, change single cells of it, compare two; the rest of a file stays as it is
    Notebook(crate::cli::notebook::Notebook),
    /// List the agent skills, nearest first, and what is wrong with them
    Skills(Skills),
    /// Check what the shell uses here and how to fix what is wrong; exit code 1 if anything is
    Doctor(Doctor),
    /// Make a Python environment with IPython, used when no other is active; run it again to update
    Setup(Setup),
    /// Offer a session's tools to a client of the Model Context Protocol over standard input and output: those of the
    /// shell running in this directory, or of a new session without a terminal
    Mcp(Mcp),
    /// Install, list or remove the Jupyter kernels; `kernel -f FILE` is what Jupyter itself runs
    Kernel(Kernel),
    /// Print a completion script for your shell: `source <(ipycodex completions bash)`
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the program or of a command: `ipycodex man run | man -l -`
    Man {
        /// The command, such as `notebook edit`
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
    },
    /// Run the offline agent for other clients: `demo --acp` speaks the Agent Client Protocol over standard input and
    /// output
    Demo {
        /// The Agent Client Protocol
        #[arg(long, required = true)]
        acp: bool,
    },
    /// The process that keeps the gateway of `--runtime gateway:auto`
    #[command(hide = true)]
    KeepGateway {
        /// Where its users meet
        folder: PathBuf,
        /// The Python it runs in
        python: PathBuf,
        /// Seconds without users after which it ends
        idle: u64,
    },
    /// The offline agent's process
    #[command(hide = true)]
    DemoAgent {
        /// What a Codex app-server would be told; accepted and ignored
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        ignored: Vec<String>,
    },
}

/// `kernel`.
#[derive(Debug, Args)]
pub(super) struct Kernel {
    /// What to do; without a command, serve the kernel of `-f FILE`
    #[command(subcommand)]
    pub command: Option<KernelCommands>,
    /// Serve a kernel at the addresses in this connection file
    #[arg(short, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// With a NAME: the agent that the kernel `ipycodex` uses. Without one: the kernel `agentclient`, whose cells are
    /// prompts to the agent of `ACP_AGENT_COMMAND`
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub agent: Option<String>,
    /// What clients that start kernels hand on of their own arguments (`jupyter run FILE`): not used
    #[arg(
        hide = true,
        requires = "file",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub rest: Vec<String>,
}

/// What can be done with the kernel.
#[derive(Debug, Subcommand)]
pub(super) enum KernelCommands {
    /// Install the Jupyter kernel `ipycodex`, or `agentclient` with `--agent`; its cells run in the Python found now,
    /// or in that of `--python`
    Install(KernelTarget),
    /// Remove the kernel
    Uninstall(KernelTarget),
    /// List the installed kernels: where each is, and what it starts
    List,
}

/// Where a kernelspec lies.
#[derive(Debug, Args)]
pub(super) struct KernelTarget {
    /// For this user only (the default)
    #[arg(long, conflicts_with_all = ["sys_prefix", "prefix"])]
    pub user: bool,
    /// In the Python environment that cells run in
    #[arg(long, conflicts_with = "prefix")]
    pub sys_prefix: bool,
    /// Below this folder, in `PREFIX/share/jupyter/kernels`
    #[arg(long, value_name = "PREFIX")]
    pub prefix: Option<PathBuf>,
    /// With a NAME: the agent that the kernel `ipycodex` uses. Without one: the kernel `agentclient`, whose cells are
    /// prompts to the agent of `ACP_AGENT_COMMAND`
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub agent: Option<String>,
}

/// `mcp`.
#[derive(Debug, Args)]
pub(super) struct Mcp {
    /// Attach to the running shell that has this session open, by its number or name
    #[arg(long, value_name = "ID", conflicts_with_all = ["here", "shell"])]
    pub session: Option<String>,
    /// Attach to the running shell of this directory, else of its git root; never start a session
    #[arg(long, conflicts_with = "shell")]
    pub here: bool,
    /// Attach to the running shell of this process id
    #[arg(long, value_name = "PID")]
    pub shell: Option<u32>,
    /// Allow this beforehand, because without a shell nobody can be asked; may be repeated
    #[arg(long, value_name = "WHAT", value_enum)]
    pub allow: Vec<Allow>,
}

/// What is allowed beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Allow {
    /// `run_cells` runs cells in the session
    Cells,
    /// Notebooks outside of the working directory are changed
    Files,
    /// Skills of the project are loaded, and their code runs
    Skills,
    /// `pyrun` runs where nothing keeps its code from changing files
    Unprotected,
    /// All of the above
    All,
}

/// `ask`.
#[derive(Debug, Args)]
pub(super) struct Ask {
    /// The prompt; without it, standard input is the prompt
    pub prompt: Option<String>,
    /// Add a text file as context
    #[arg(short, long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Show the agent a PNG, JPEG, GIF or WebP
    #[arg(long = "image", value_name = "FILE")]
    pub images: Vec<PathBuf>,
    /// Continue an earlier session, by its number or name
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Print one JSON object: status, answer, error, tools, tokens, seconds
    #[arg(long)]
    pub json: bool,
    /// JSON schema the answer must fit; one that does not is asked for again, once
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,
}

/// `sessions`.
#[derive(Debug, Args)]
pub(super) struct Sessions {
    /// List the sessions of every directory, and those of `-c` and piped text
    #[arg(long)]
    pub all: bool,
    /// Print a JSON list: id, start, end, commands, name, cwd, last_prompt, last_input, once (of `-c` or piped text)
    #[arg(long)]
    pub json: bool,
}

/// `search`.
#[derive(Debug, Args)]
pub(super) struct SearchArguments {
    /// What to look for in cells, prompts and answers; lower case also matches capitals
    pub text: String,
    /// In sessions of all directories
    #[arg(long)]
    pub all: bool,
    /// Print a JSON list: session, line (In number), start, kind (cell, prompt, answer), text (the line found)
    #[arg(long)]
    pub json: bool,
}

/// `doctor`.
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// Print a JSON object: version, and findings with group, subject, verdict (ok, warning, error), message and mend
    #[arg(long)]
    pub json: bool,
}

/// `setup`.
#[derive(Debug, Args)]
pub(super) struct Setup {
    /// Remove that environment
    #[arg(long)]
    pub undo: bool,
}

/// `export`.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// Number of the session, as `sessions` lists it
    #[arg(value_name = "ID")]
    pub id: i64,
    /// The file to write; its suffix decides the format
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace the file even if ipycodex did not write it, or it holds other cells
    #[arg(long)]
    pub force: bool,
}

/// `skills`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Skills {
    /// Print JSON: skills (name, scope, state, path, description), diagnostics (path, skipped, message)
    #[arg(long)]
    pub json: bool,
    /// Something else than the list.
    #[command(subcommand)]
    pub command: Option<SkillsCommand>,
}

/// What `skills` does instead of listing.
#[derive(Debug, Subcommand)]
pub(super) enum SkillsCommand {
    /// Print what loading a skill gives the agent
    Show {
        /// Its name, or its path where several have the name
        name: String,
    },
    /// Check skills against the specification: one line per fault, exit code 1 if there is any
    Check {
        /// Directories of skills, or their SKILL.md
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
    },
}

/// `run`.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// `.py` (cells at `# %%`, else one cell), `.ipynb`, or `-`
    pub file: PathBuf,
    /// Arguments of the script (`sys.argv`); put `--` before those that look like options of ipycodex
    #[arg(
        value_name = "ARG",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub arguments: Vec<OsString>,
    /// Write the cells and their outputs into this notebook as they run; may be FILE itself
    #[arg(short, long, value_name = "OUT.ipynb")]
    pub output: Option<PathBuf>,
    /// Go on after a failing cell
    #[arg(long)]
    pub allow_errors: bool,
    /// Stop a cell that takes longer than S seconds; it counts as failed
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// Set a parameter of the notebook, in a new cell after the one tagged `parameters`; may be repeated
    #[arg(short = 'p', num_args = 2, value_names = ["NAME", "VALUE"], allow_hyphen_values = true)]
    pub parameters: Vec<String>,
    /// Also send the saved prompts of a notebook again; otherwise they keep their answers
    #[arg(long)]
    pub prompts: bool,
    /// Print one JSON object instead of what cells show: status, exit_code, output, seconds, cells
    #[arg(long)]
    pub json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a number of seconds greater than 0".to_owned();
    let number: f64 = text.parse().map_err(|_| wrong())?;
    let seconds = Duration::try_from_secs_f64(number).map_err(|_| wrong())?;
    (!seconds.is_zero()).then_some(seconds).ok_or_else(wrong)
}

/// Options every command takes.
#[derive(Debug, Default, Clone, Args)]
pub(super) struct Common {
    /// Model of the agent
    #[arg(long, global = true, value_name = "NAME")]
    pub model: Option<String>,
    /// Model of the suggestions at the cursor
    #[arg(long, global = true, value_name = "NAME")]
    pub completion_model: Option<String>,
    /// How much the model thinks
    #[arg(long, global = true, value_name = "l|m|h|x")]
    pub think: Option<String>,
    /// How much the agent searches the web
    #[arg(long, global = true, value_name = "off|l|m|h")]
    pub search: Option<String>,
    /// Theme of code in answers
    #[arg(long, global = true, value_name = "NAME")]
    pub code_theme: Option<String>,
    /// `codex`; `demo`, built in, offline, no AI; `acp:COMMAND`, any agent of the Agent Client Protocol; or a name from
    /// `agents` in `config.json`
    #[arg(long, global = true, value_name = "NAME")]
    pub agent: Option<String>,
    /// The Python interpreter
    #[arg(long, global = true, value_name = "PATH")]
    pub python: Option<PathBuf>,
    /// What runs cells: `embedded`; `jupyter:NAME`, an installed kernel of any language; `jupyter:FILE`, the
    /// connection file of one that runs; `gateway:URL`, a kernel behind a gateway of Jupyter; `gateway:auto`, behind
    /// one that your shells share, started where none runs
    #[arg(long, global = true, value_name = "WHAT")]
    pub runtime: Option<String>,
    /// Use the built-in engine even where IPython is installed
    #[arg(long, global = true)]
    pub no_ipython: bool,
    /// IPython's profile to load, where IPython is installed
    #[arg(long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// Load no profile of IPython
    #[arg(long, global = true, conflicts_with = "profile")]
    pub no_profile: bool,
    /// Open the debugger after an exception
    #[arg(long, global = true)]
    pub pdb: bool,
    /// Prepare Matplotlib as `%matplotlib BACKEND` does
    #[arg(
        long,
        global = true,
        value_name = "BACKEND",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto"
    )]
    pub matplotlib: Option<String>,
    /// Load an extension of IPython; may be repeated
    #[arg(long = "ext", global = true, value_name = "NAME")]
    pub extensions: Vec<String>,
    /// `--Class.trait=value`, taken out of the command line ([`without_traits`]).
    #[arg(skip)]
    pub traits: Vec<String>,
    /// The record; may be IPython's own history.sqlite
    #[arg(long, global = true, value_name = "PATH")]
    pub hist_file: Option<PathBuf>,
    /// Directory of config.json and sysp.txt
    #[arg(long, global = true, value_name = "PATH")]
    pub config_dir: Option<PathBuf>,
    /// Record nothing
    #[arg(long, global = true)]
    pub no_record: bool,
    /// Colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// When colours are used.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Common {
    /// What is asked of IPython.
    pub(super) fn ipython(&self) -> IpythonFlags {
        IpythonFlags {
            pdb: self.pdb,
            matplotlib: self.matplotlib.clone(),
            extensions: self.extensions.clone(),
            traits: self.traits.clone(),
        }
    }

    /// The options as settings.
    ///
    /// # Errors
    /// A usage report that names the option, what was given and what is allowed.
    pub(super) fn flags(&self, prompt_mode: bool) -> Result<ConfigFlags, Report> {
        Ok(ConfigFlags {
            model: self.model.clone(),
            completion_model: self.completion_model.clone(),
            think: word("--think", self.think.as_deref(), ChoiceSetting::parse)?,
            search: word("--search", self.search.as_deref(), ChoiceSetting::parse)?,
            code_theme: word("--code-theme", self.code_theme.as_deref(), |name| {
                Theme::named(name).map(|_| name.to_owned())
            })?,
            agent: word("--agent", self.agent.as_deref(), str::parse)?,
            runtime: word("--runtime", self.runtime.as_deref(), str::parse)?,
            python: self.python.clone(),
            ipython_profile: match self.no_profile {
                true => Some(String::new()),
                false => self.profile.clone(),
            },
            hist_file: self.hist_file.clone(),
            config_dir: self.config_dir.clone(),
            color: Some(match self.color {
                Color::Auto => ColorChoice::Auto,
                Color::Always => ColorChoice::Always,
                Color::Never => ColorChoice::Never,
            }),
            no_ipython: self.no_ipython,
            prompt_mode,
            no_record: self.no_record,
        })
    }
}

/// Takes settings of IPython out of a command line, as far as a command or `--`: behind those everything is theirs.
pub(super) fn without_traits(
    command: &Command,
    arguments: impl Iterator<Item = OsString>,
) -> (Vec<OsString>, Vec<String>) {
    let (mut rest, mut traits, mut ended) = (Vec::new(), Vec::new(), false);
    for argument in arguments {
        match argument.to_str() {
            Some(word) if !ended && is_trait(word) => traits.push(word.to_owned()),
            word => {
                let ends = |word| word == "--" || command.find_subcommand(word).is_some();
                ended |= word.is_some_and(ends);
                rest.push(argument);
            }
        }
    }
    (rest, traits)
}

/// True for `--Class.trait=value`, as IPython takes it.
fn is_trait(word: &str) -> bool {
    let name = word
        .strip_prefix("--")
        .and_then(|rest| rest.split_once('='));
    name.and_then(|(name, _)| name.split_once('.'))
        .is_some_and(|(class, name)| {
            class.starts_with(|first: char| first.is_ascii_uppercase()) && !name.is_empty()
        })
}

/// What is said of a first word that is neither a command nor a file; names the command it looks like.
pub(super) fn no_command(word: &str) -> Report {
    let report = Report::usage(format!("`{word}` is neither a command nor a file to load"));
    let command = Arguments::command();
    let known = command
        .get_subcommands()
        .filter(|known| !known.is_hide_set());
    match nearest(word, known.map(clap::Command::get_name)) {
        Some(meant) => report.hint(format!("did you mean `ipycodex {meant}`?")),
        None => report.hint("`ipycodex --help` lists the commands; files are .ipynb or .py"),
    }
}

/// A mistyped command among arguments that could not be understood; its options are none of ours.
pub(super) fn mistyped(arguments: impl Iterator<Item = OsString>) -> Option<Report> {
    let command = Arguments::command();
    let names: Vec<&str> = command
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let takes_value = |word: &str| {
        let mut options = command.get_arguments();
        let name = word.strip_prefix("--");
        options.any(|it| it.get_long() == name && it.get_action().takes_values())
    };
    let mut is_value = false;
    let mut words = arguments
        .skip(1)
        .map(|word| word.into_string().unwrap_or_default());
    let word = words.find(|word| {
        !std::mem::replace(&mut is_value, word.starts_with("--") && takes_value(word))
            && !word.starts_with('-')
            && nearest(word, names.iter().copied()).is_some()
    })?;
    (!names.contains(&word.as_str())).then(|| no_command(&word))
}

fn word<T, E: std::fmt::Display>(
    option: &str,
    value: Option<&str>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, Report> {
    value
        .map(|value| {
            parse(value).map_err(|why| {
                Report::usage(format!("`{value}` is not a value for `{option}`")).because(why)
            })
        })
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn settings_of_ipython_stand_before_a_command() {
        for (line, rest, traits) in [
            ("--A.b=1 -c x", "-c x", "--A.b=1"),
            (
                "--no-record --A.b.c=[] x.py",
                "--no-record x.py",
                "--A.b.c=[]",
            ),
            ("run x.py --A.b=1", "run x.py --A.b=1", ""),
            ("-- --A.b=1", "-- --A.b=1", ""),
            (
                "--a.b=1 --A=1 --A.=1 -A.b=1",
                "--a.b=1 --A=1 --A.=1 -A.b=1",
                "",
            ),
        ] {
            let words = line.split(' ').map(OsString::from);
            let (left, found) = without_traits(&Arguments::command(), words);
            let rest: Vec<OsString> = rest.split(' ').map(OsString::from).collect();
            assert_eq!((left, found.join(" ")), (rest, traits.to_owned()), "{line}");
        }
    }

    #[test]
    fn what_follows_a_scripts_first_argument_is_the_scripts() {
        for (line, expected, allow_errors) in [
            (&["x.py", "--allow-errors"][..], &[][..], true),
            (
                &["x.py", "a", "--allow-errors", "-h"],
                &["a", "--allow-errors", "-h"],
                false,
            ),
            (
                &["x.py", "--verbose", "-n", "3"],
                &["--verbose", "-n", "3"],
                false,
            ),
            (&["x.py", "--", "--model", "m"], &["--model", "m"], false),
            (&["--allow-errors", "x.py", "a"], &["a"], true),
        ] {
            let line = [&["ipycodex", "run"], line].concat();
            let arguments = Arguments::try_parse_from(&line).unwrap();
            let Some(Subcommands::Run(run)) = arguments.command else {
                unreachable!("it is `run`");
            };
            assert_eq!(
                (run.arguments, run.allow_errors),
                (expected.iter().map(OsString::from).collect(), allow_errors),
                "{line:?}"
            );
        }
    }

    #[test]
    fn common_options_stand_before_or_after_a_subcommand() {
        for line in [
            ["ipycodex", "--agent", "demo", "ask", "hi"],
            ["ipycodex", "ask", "hi", "--agent", "demo"],
        ] {
            let arguments = Arguments::try_parse_from(line).unwrap();
            assert_eq!(arguments.common.agent.as_deref(), Some("demo"));
            assert!(
                matches!(arguments.command, Some(Subcommands::Ask(Ask { prompt: Some(prompt), .. })) if prompt == "hi")
            );
        }
    }
}
