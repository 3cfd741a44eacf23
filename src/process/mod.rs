//! Child processes: started as leaders of their own group or session, ended whole.
//!
//! A child never shares our process group, so the user's Ctrl-C reaches it only when we say so; it gets a
//! parent-death signal, so it does not outlive us; and whoever ends it ends its group with it. The thread that
//! calls [`spawn`] must live as long as the child should: the parent-death signal watches that thread.
//!
//! Absent on purpose: what is said over the pipes. `spawn.rs` holds the only `unsafe` of the crate.

mod spawn;
mod tail;

pub use spawn::{Leadership, Plan, spawn};
pub use tail::Tail;

use std::io;
use std::os::fd::AsFd;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

/// A running or ended child. Dropping it kills the group at once if it still runs.
#[derive(Debug)]
pub struct Child {
    inner: std::process::Child,
    group: Group,
}

/// Signals a child's process group from any thread; does nothing once the child was reaped.
#[derive(Debug, Clone)]
pub struct Group {
    leader: Option<Pid>,
    /// Holds true once the leader was reaped; locked around every signal so that a recycled id is never hit.
    reaped: Arc<Mutex<bool>>,
    killed: Arc<AtomicBool>,
}

impl Child {
    fn new(inner: std::process::Child) -> Self {
        // Ids of 0 and 1 would address our own group or every process.
        let leader = i32::try_from(inner.id())
            .ok()
            .filter(|id| *id > 1)
            .and_then(Pid::from_raw);
        Child {
            inner,
            group: Group {
                leader,
                reaped: Arc::new(Mutex::new(false)),
                killed: Arc::new(AtomicBool::new(false)),
            },
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.inner.id()
    }

    /// A handle for signals.
    pub fn group(&self) -> Group {
        self.group.clone()
    }

    /// Waits until the child has ended, at most `patience`; `None` means it still runs.
    ///
    /// What is left of its group is killed before the child is reaped.
    ///
    /// # Errors
    /// When the operating system does not tell (the child was reaped elsewhere).
    pub fn wait_for(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if !self.ended_within(patience)? {
            return Ok(None);
        }
        self.group.signal(Signal::KILL);
        self.reap().map(Some)
    }

    /// Waits until the child has ended. What is left of its group is killed.
    ///
    /// # Errors
    /// As [`Child::wait_for`].
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.wait_for(Duration::from_secs(3600))? {
                return Ok(status);
            }
        }
    }

    /// Ends the child and its group: `grace` to leave by itself, then SIGTERM, `grace` again, then SIGKILL.
    ///
    /// # Errors
    /// As [`Child::wait_for`].
    pub fn end(&mut self, grace: Duration) -> io::Result<ExitStatus> {
        if let Some(status) = self.wait_for(grace)? {
            return Ok(status);
        }
        self.group.signal(Signal::TERM);
        if let Some(status) = self.wait_for(grace)? {
            return Ok(status);
        }
        self.group.kill();
        self.wait()
    }

    /// True when the child is a zombie or gone within `patience`; does not reap it.
    fn ended_within(&mut self, patience: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + patience;
        let handle = self
            .group
            .leader
            .and_then(|leader| pidfd_open(leader, PidfdFlags::empty()).ok());
        let Some(handle) = handle else {
            // No pidfd (old kernel, or the child is gone): look now and then.
            loop {
                if self.inner.try_wait()?.is_some() {
                    return Ok(true);
                }
                if Instant::now() >= deadline {
                    return Ok(false);
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            match poll(
                &mut [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)],
                Some(&timeout),
            ) {
                Ok(0) => return Ok(false),
                Ok(_) => return Ok(true),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        let mut reaped = self
            .group
            .reaped
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let status = self.inner.wait()?;
        *reaped = true;
        Ok(status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.group.signal(Signal::KILL);
        // A failure means that it is reaped already.
        let _ = self.reap();
    }
}

impl Group {
    /// Sends `signal` to every process of the group.
    pub fn signal(&self, signal: Signal) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if let (false, Some(leader)) = (*reaped, self.leader) {
            // Fails only when nobody is left, which is what is wanted.
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Kills the group on request; [`Group::was_killed`] tells of it later.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::SeqCst);
        self.signal(Signal::KILL);
    }

    /// True after [`Group::kill`].
    pub fn was_killed(&self) -> bool {
        self.killed.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::OwnedFd;

    fn shell(script: &str, leadership: Leadership) -> Child {
        let null = || {
            OwnedFd::from(
                File::options()
                    .read(true)
                    .write(true)
                    .open("/dev/null")
                    .unwrap(),
            )
        };
        let mut plan = Plan::new("/bin/sh", leadership, null(), null(), null());
        plan.arguments = vec!["-c".into(), script.into()];
        spawn(plan).unwrap()
    }

    #[test]
    fn a_child_that_ignores_term_is_killed_with_its_group() {
        let mut child = shell("trap '' TERM; sleep 1000 & sleep 1000", Leadership::Session);
        let group = child.group();
        let status = child.end(Duration::from_millis(50)).unwrap();
        assert!(!status.success());
        assert!(group.was_killed());
        group.signal(Signal::TERM); // reaped: must not reach anybody
    }

    #[test]
    fn exit_codes_and_signals_are_told() {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(
            shell("exit 7", Leadership::Group).wait().unwrap().code(),
            Some(7)
        );
        assert_eq!(
            shell("kill -SEGV $$", Leadership::Group)
                .wait()
                .unwrap()
                .signal(),
            Some(11)
        );
        let mut sleeping = shell("sleep 1000", Leadership::Group);
        assert_eq!(sleeping.wait_for(Duration::from_millis(10)).unwrap(), None);
    }

    #[test]
    fn inherited_descriptors_get_their_numbers() {
        let (reader, writer) = std::io::pipe().unwrap();
        let null = || {
            OwnedFd::from(
                File::options()
                    .read(true)
                    .write(true)
                    .open("/dev/null")
                    .unwrap(),
            )
        };
        let mut plan = Plan::new("/bin/bash", Leadership::Session, null(), null(), null());
        plan.arguments = vec!["-c".into(), "echo hello >&198".into()];
        plan.inherited = vec![(OwnedFd::from(writer), 198)];
        let mut child = spawn(plan).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(std::io::read_to_string(reader).unwrap(), "hello\n");
    }

    #[test]
    fn a_missing_program_is_an_error_with_its_kind() {
        let null = || {
            OwnedFd::from(
                File::options()
                    .read(true)
                    .write(true)
                    .open("/dev/null")
                    .unwrap(),
            )
        };
        let error = spawn(Plan::new(
            "/nonexistent/program",
            Leadership::Group,
            null(),
            null(),
            null(),
        ))
        .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
