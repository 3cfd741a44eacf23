//! Starting a child under its guard.
//!
//! The standard library has no safe way to fork once more, make a session, take a controlling terminal, ask for a
//! parent-death signal or pass a descriptor under a chosen number; all five must happen between fork and exec. The
//! closure below makes only async-signal-safe system calls and does not allocate.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::io::ioctl_fionbio;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Signal, ioctl_tiocsctty, set_parent_process_death_signal, setpgid, setsid};

use super::Child;
use super::guard::{Buffers, fork_guarded};

/// What the child becomes the leader of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leadership {
    /// Its own process group, in our session.
    Group,
    /// Its own session, without a terminal.
    Session,
    /// Its own session whose controlling terminal is its standard input.
    Terminal,
}

/// Everything needed to start a child.
#[derive(Debug)]
pub struct SpawnPlan {
    /// The program; searched on PATH when it has no slash.
    pub program: PathBuf,
    /// Without the program's name.
    pub arguments: Vec<OsString>,
    /// The whole environment; `None` inherits ours.
    pub variables: Option<BTreeMap<OsString, OsString>>,
    /// The working directory; `None` inherits ours.
    pub cwd: Option<PathBuf>,
    pub leadership: Leadership,
    /// A kill spares the processes in which Python notes semaphores and shared memory, until they have freed them. Not
    /// for code that is not trusted: what has such a name outlives the child by 3 s, and longer if it forks fast.
    pub spares_trackers: bool,
    /// Further descriptors and the numbers they get. Numbers below 100 may collide with ours in the fork.
    pub inherited: Vec<(OwnedFd, RawFd)>,
    /// Descriptors 0, 1 and 2.
    pub stdio: [OwnedFd; 3],
}

impl SpawnPlan {
    /// A plan without arguments that inherits environment and directory.
    pub fn new(
        program: impl Into<PathBuf>,
        leadership: Leadership,
        stdin: OwnedFd,
        stdout: OwnedFd,
        stderr: OwnedFd,
    ) -> Self {
        SpawnPlan {
            program: program.into(),
            arguments: Vec::new(),
            variables: None,
            cwd: None,
            leadership,
            spares_trackers: false,
            inherited: Vec::new(),
            stdio: [stdin, stdout, stderr],
        }
    }
}

/// Starts a child. When we end, the child and its descendants get SIGTERM, and 2 s later SIGKILL.
///
/// # Errors
/// The operating system's: `NotFound` for a missing program, `EMFILE`, `EAGAIN`, …
#[allow(unsafe_code)]
pub fn spawn(plan: SpawnPlan) -> io::Result<Child> {
    let SpawnPlan {
        program,
        arguments,
        variables,
        cwd,
        leadership,
        spares_trackers,
        inherited,
        stdio,
    } = plan;
    let [stdin, stdout, stderr] = stdio;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    if let Some(variables) = variables {
        command.env_clear().envs(variables);
    }
    if let Some(cwd) = cwd {
        command.current_dir(cwd);
    }
    let numbers: Vec<(RawFd, RawFd)> = inherited
        .iter()
        .map(|(fd, number)| (fd.as_raw_fd(), *number))
        .collect();
    let (control, our_control) = socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    ioctl_fionbio(&our_control, true)?;
    let mut buffers = Buffers::new();
    let prepare = move || -> io::Result<()> {
        let guard = rustix::process::getpid();
        fork_guarded(control.as_fd(), spares_trackers, &mut buffers)?;
        match leadership {
            Leadership::Group => setpgid(None, None)?,
            Leadership::Session => drop(setsid()?),
            Leadership::Terminal => {
                setsid()?;
                ioctl_tiocsctty(rustix::stdio::stdin())?;
            }
        }
        set_parent_process_death_signal(Some(Signal::TERM))?;
        if rustix::process::getppid() != Some(guard) {
            // The guard died between fork and the line above: the child would get no signal.
            return Err(io::ErrorKind::NotFound.into());
        }
        for &(from, to) in &numbers {
            // SAFETY: `from` is open here (its owner outlives the fork). `to` is a number nobody in the child owns;
            // the temporary owner is forgotten, so it is not closed again.
            unsafe {
                let source = std::os::fd::BorrowedFd::borrow_raw(from);
                let mut target = OwnedFd::from_raw_fd(to);
                let outcome = rustix::io::dup2(source, &mut target);
                std::mem::forget(target);
                outcome?;
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only, and so does the guard; neither allocates or takes a lock.
    unsafe { command.pre_exec(prepare) };
    let guard = command.spawn()?;
    drop(inherited);
    Ok(Child::new(guard, our_control))
}
