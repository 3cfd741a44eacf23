//! Starts a shell with the descriptors around it.
//!
//! In: the plan and the terminal. Out: a [`LaunchedShell`]. Invariant: the shell reads the user's own settings as
//! it would anywhere else; our additions come after them, through a descriptor that is closed before the first
//! command.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::pipe::{PipeFlags, pipe_with};

use super::super::child_io::{InputPipe, exit_descriptor};
use super::super::marks::nonce;
use super::super::terminal::CellPty;
use super::plan::{Dialect, Program, ShellPlan};
use crate::process::{self, Child, Leadership, set_echo};

/// Numbers of our descriptors in the shell: high, because scripts choose low ones.
const LINES_NUMBER: i32 = 196;
const SETTINGS_NUMBER: i32 = 197;
const COMMANDS_NUMBER: i32 = 198;
const MARKS_NUMBER: i32 = 199;

const BASH: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/shell/bash.sh"));
const ZSH: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/shell/zsh.sh"));

/// A shell and our ends of its descriptors.
#[derive(Debug)]
pub(super) struct LaunchedShell {
    pub(super) child: Child,
    /// Becomes readable when the shell has ended.
    pub(super) exit: Option<OwnedFd>,
    pub(super) master: Arc<OwnedFd>,
    /// Lines that the shell reads at its prompt instead of the terminal.
    pub(super) lines: OwnedFd,
    /// Commands, as words that each end in a zero byte.
    pub(super) commands: InputPipe,
    pub(super) nonce: String,
    pub(super) dialect: Dialect,
}

/// Starts `program`; `settings`: read the user's own settings first.
///
/// # Errors
/// Errors of the operating system.
pub(super) fn launch(
    plan: &ShellPlan,
    program: &Program,
    settings: bool,
    terminal: &CellPty,
) -> io::Result<LaunchedShell> {
    let nonce = nonce()?;
    let LaunchRecipe {
        script,
        options,
        first_line,
        prompt,
    } = launch_recipe(program.dialect);
    let ours = script.replace("@NONCE@", &nonce);
    let ours = ours.replace("@RC@", if settings { "1" } else { "0" });
    let (their_lines, lines) = pipe_with(PipeFlags::CLOEXEC)?;
    let (their_commands, commands) = pipe_with(PipeFlags::CLOEXEC)?;
    let (their_settings, settings_end) = pipe_with(PipeFlags::CLOEXEC)?;
    // A pipe holds 64 KiB: this never waits.
    io::Write::write_all(&mut std::fs::File::from(settings_end), ours.as_bytes())?;
    let (master, slave) = terminal.open()?;
    if !first_line.is_empty() {
        set_echo(&master, false)?;
        rustix::io::write(&master, first_line)?;
    }
    let ends = [slave.try_clone()?, slave.try_clone()?, slave.try_clone()?];
    let [stdin, stdout, stderr] = ends;
    let mut child =
        process::SpawnPlan::new(&program.path, Leadership::Terminal, stdin, stdout, stderr);
    child.arguments = options.iter().map(OsString::from).collect();
    let mut variables = plan.variables.clone();
    variables.extend(prompt.map(|prompt| ("PS1".into(), prompt.into())));
    child.variables = Some(variables);
    // A deleted directory must not keep the shell from starting.
    child.cwd = Some(plan.cwd.clone()).filter(|cwd| cwd.is_dir());
    child.inherited = vec![
        (their_lines, LINES_NUMBER),
        (their_settings, SETTINGS_NUMBER),
        (their_commands, COMMANDS_NUMBER),
        (slave, MARKS_NUMBER),
    ];
    let child = process::spawn(child)?;
    rustix::io::ioctl_fionbio(lines.as_fd(), true)?;
    rustix::io::ioctl_fionbio(commands.as_fd(), true)?;
    Ok(LaunchedShell {
        exit: exit_descriptor(child.id()),
        child,
        master,
        lines,
        commands: InputPipe::new(commands),
        nonce,
        dialect: program.dialect,
    })
}

struct LaunchRecipe {
    /// Script read after the user's own settings.
    script: &'static str,
    options: &'static [&'static str],
    /// Line written to the terminal before the start.
    first_line: &'static [u8],
    /// Prompt before which that line is read.
    prompt: Option<&'static str>,
}

/// Turns line editors off: they would read the terminal.
fn launch_recipe(dialect: Dialect) -> LaunchRecipe {
    match dialect {
        Dialect::Bash => LaunchRecipe {
            script: BASH,
            options: &["--noediting", "--rcfile", "/dev/fd/197", "-i"],
            first_line: b"",
            prompt: None,
        },
        Dialect::Zsh => LaunchRecipe {
            script: ZSH,
            options: &[
                "-f",
                "-i",
                "-o",
                "nozle",
                "-o",
                "nopromptsp",
                "-o",
                "nopromptcr",
            ],
            first_line: b" . /dev/fd/197\n",
            prompt: Some(""),
        },
    }
}
