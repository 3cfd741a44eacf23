//! Child processes: started as leaders of their own group or session, ended whole.
//!
//! A child never shares our process group, so the user's Ctrl-C reaches it only when we say so. Between it and us
//! stands its guard (`guard.rs`), which passes our signals on to its group and ends what it started when it or we are
//! gone.
//!
//! `job.rs` stops us, and what waits for us, at the user's Ctrl-Z. What the user's terminal is lent to (`front.rs`) is
//! in our group, and has no guard: it is the user's own, and stays when we go. A program that only says one short thing
//! (`short.rs`) has none, either.
//!
//! Signals that a handler of our own catches for a while (`caught.rs`) are the keys of a terminal that is lent, and
//! changes of its size while its answer is waited for (`resizes.rs`).
//!
//! What is done before a fault of our own ends us is in `faults.rs`.
//!
//! `memory.rs` and `disk.rs` have nothing to do with children: they are here since `unsafe` is.
//!
//! `pty.rs` makes the pseudo-terminals of those that own one.
//!
//! Absent on purpose: what is said over the pipes. `unsafe` is in this folder and nowhere else.

mod caught;
mod disk;
mod faults;
mod front;
mod guard;
mod job;
mod jobs;
mod memory;
mod pty;
mod reading;
mod resizes;
mod short;
mod spawn;
mod tail;

pub use disk::begin_writing;
pub use faults::before_a_fault_ends_us;
pub use front::run_in_front;
pub use job::stop_our_job;
pub use jobs::session_of;
pub use memory::large_buffer;
pub use pty::{
    StopKey, is_raw, job_in_front, open_pty, other_end, set_echo, set_size, take_unread,
};
pub use reading::reads_input;
pub use resizes::{KeptResizes, let_resize_come, resize_is_kept};
pub use short::short_answer;
pub use spawn::{Leadership, Plan, spawn};
pub use tail::Tail;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

/// A running or ended child. Dropping it kills the group at once if it still runs.
#[derive(Debug)]
pub struct Child {
    /// It ends after the child and what that started, with the child's status.
    guard: std::process::Child,
    group: Group,
}

/// Signals a child's process group from any thread; does nothing once the child has ended.
#[derive(Debug, Clone)]
pub struct Group {
    calls: Arc<OwnedFd>,
    killed: Arc<AtomicBool>,
}

impl Child {
    fn new(guard: std::process::Child, calls: OwnedFd) -> Self {
        Child {
            guard,
            group: Group {
                calls: Arc::new(calls),
                killed: Arc::new(AtomicBool::new(false)),
            },
        }
    }

    /// The process to wait for: the child's guard.
    pub fn id(&self) -> u32 {
        self.guard.id()
    }

    /// A handle for signals.
    pub fn group(&self) -> Group {
        self.group.clone()
    }

    /// Waits until the child and what it started have ended, at most `patience`; `None` means that some still run.
    ///
    /// # Errors
    /// When the operating system does not tell (the child was reaped elsewhere).
    pub fn wait_for(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        if !self.ended_within(patience)? {
            return Ok(None);
        }
        self.guard.wait().map(Some)
    }

    /// Waits until the child and what it started have ended.
    ///
    /// # Errors
    /// As [`Child::wait_for`].
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.guard.wait()
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
        let handle = i32::try_from(self.guard.id())
            .ok()
            .and_then(Pid::from_raw)
            .and_then(|guard| pidfd_open(guard, PidfdFlags::empty()).ok());
        let Some(handle) = handle else {
            // No pidfd (old kernel, or the child is gone): look now and then.
            loop {
                if self.guard.try_wait()?.is_some() {
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
}

impl Drop for Child {
    fn drop(&mut self) {
        self.group.signal(Signal::KILL);
        // A failure means that it is reaped already.
        let _ = self.guard.wait();
    }
}

impl Group {
    /// Sends `signal` to every process of the group.
    pub fn signal(&self, signal: Signal) {
        self.call(u8::try_from(signal.as_raw()).unwrap_or(0));
    }

    /// What made a session of its own (a server, a browser) may stay when the child has left: it ends on our wish.
    pub fn let_go(&self) {
        self.call(guard::LET_GO);
    }

    /// Another descendant, which leads a group of its own, takes the child's place: signals are for it, and its end is
    /// the child's.
    pub fn follow(&self, process: u32) {
        let mut call = [guard::HEIR, 0, 0, 0, 0];
        call[1..].copy_from_slice(&process.to_ne_bytes());
        let _ = rustix::io::write(&self.calls, &call);
    }

    fn call(&self, call: u8) {
        // Fails only when nobody is left, which is what is wanted.
        let _ = rustix::io::write(&self.calls, &[call]);
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

    /// What a script starts that hears no signal, has a session of its own and lost its parent; a file tells its id.
    const ESCAPED: &str = "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > told.new; mv told.new told; sleep 1000' &)
        until [ -e told ]; do sleep 0.01; done";

    /// Runs a script in a folder of its own until it ends; gives the process it left, if that still runs.
    fn left_by(script: &str, let_go: bool) -> Option<Pid> {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("cd {}; {ESCAPED}; {script}", folder.path().display());
        let mut child = shell(&script, Leadership::Session);
        if let_go {
            child.group().let_go();
        }
        child.wait().unwrap();
        let told = std::fs::read_to_string(folder.path().join("told")).unwrap();
        let left = Pid::from_raw(told.trim().parse().unwrap()).unwrap();
        rustix::process::test_kill_process(left).ok().map(|()| left)
    }

    #[test]
    fn what_escaped_from_the_group_ends_with_the_child_however_that_ends() {
        for end in ["exit 0", "kill -KILL $$", "kill -SEGV $$"] {
            assert_eq!(left_by(end, false), None, "{end}");
        }
    }

    #[test]
    fn what_made_a_session_of_its_own_may_stay_when_the_end_is_wished() {
        let left = left_by("exit 0", true).expect("it stayed");
        rustix::process::kill_process_group(left, Signal::KILL).unwrap();
    }

    #[test]
    fn the_guard_holds_nothing_of_ours() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut sleeping = shell("sleep 1000", Leadership::Group);
        drop(writer);
        assert_eq!(std::io::read_to_string(reader).unwrap(), "");
        let open = std::fs::read_dir(format!("/proc/{}/fd", sleeping.id())).unwrap();
        assert_eq!(open.count(), 5, "0-2, the pipe and what tells of deaths");
        sleeping.group().kill();
        sleeping.wait().unwrap();
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
