//! Child processes: started as leaders of their own group or session, ended with all their descendants.
//!
//! A child never shares our process group, so the user's Ctrl-C reaches it only when we signal it. Each child has a
//! guard (`guard.rs`): a process between us and the child that forwards our signals to the child's group, and ends the
//! descendants (`process_list.rs`) when the child or we are gone. Two kinds of program have no guard: the one that
//! borrows the user's terminal (`foreground.rs`), which is in our group and survives us, and the one that is run for a
//! short answer (`timed_output.rs`).
//!
//! `job.rs` stops our own job at Ctrl-Z. `signals.rs` installs a handler for a while: for the keys of a lent terminal,
//! and for window size changes while the terminal answers a query (`deferred_resizes.rs`). `fatal_signals.rs` runs an
//! action before a fault ends us. `scheduling.rs` lets a child's writes go first. `io_hints.rs` and `heap.rs` have
//! nothing to do with children: they are here because `unsafe` is.
//!
//! Absent on purpose: what is sent over the pipes. `unsafe` is in this folder and nowhere else.

mod deferred_resizes;
mod fatal_signals;
pub mod files;
mod foreground;
mod guard;
mod heap;
mod io_hints;
mod job;
mod process_list;
mod procfs;
#[cfg(test)]
#[path = "../properties.rs"]
pub mod properties;
mod pty;
pub mod rpc;
mod scheduling;
mod signals;
mod spawn;
mod tail;
mod timed_output;

pub use deferred_resizes::{DeferredResizes, deliver_resize, resize_is_deferred};
pub use fatal_signals::run_on_fatal_signal;
pub use foreground::run_in_foreground;
pub use heap::{give_back_memory, share_heap};
pub use io_hints::{begin_writing, large_buffer};
pub use job::stop_our_job;
pub use procfs::{reads_input, session_commands};
pub use pty::{
    SuspendKey, foreground_job, is_raw, open_peer, open_pty, set_echo, set_size, take_unread,
};
pub use scheduling::BatchScheduling;
pub use spawn::{Leadership, SpawnPlan, spawn};
pub use tail::StderrTail;
pub use timed_output::output_within;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ipycodex_text as text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

/// A running or ended child. Dropping it kills the group at once if it still runs.
#[derive(Debug)]
pub struct Child {
    /// Ends after the child and its descendants, with the child's status.
    guard: std::process::Child,
    group: Group,
}

/// Signals a child's process group from any thread; does nothing once the child has ended.
#[derive(Debug, Clone)]
pub struct Group {
    control: Arc<OwnedFd>,
    /// Number of signals that the guard has not sent yet.
    unsent: Arc<Mutex<usize>>,
    killed: Arc<AtomicBool>,
    /// The child of the guard whose group it is; `None`: the leader's.
    other: Option<u32>,
}

impl Child {
    fn new(guard: std::process::Child, control: OwnedFd) -> Self {
        Child {
            guard,
            group: Group {
                control: Arc::new(control),
                unsent: Arc::default(),
                killed: Arc::new(AtomicBool::new(false)),
                other: None,
            },
        }
    }

    /// The process to wait for: the child's guard.
    pub fn id(&self) -> u32 {
        self.guard.id()
    }

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

    /// Returns true when the child is a zombie or gone within `patience`; does not reap it.
    fn ended_within(&mut self, patience: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + patience;
        let handle = i32::try_from(self.guard.id())
            .ok()
            .and_then(Pid::from_raw)
            .and_then(|guard| pidfd_open(guard, PidfdFlags::empty()).ok());
        let Some(handle) = handle else {
            // No pidfd (old kernel, or the child is gone): poll.
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
                Err(Errno::INTR) => {}
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
    /// Sends `signal` to every process of the group, a moment later: the guard does it.
    pub fn signal(&self, signal: Signal) {
        let mut unsent = self.unsent();
        self.take_answers(&mut unsent);
        let number = u8::try_from(signal.as_raw()).unwrap_or(0);
        *unsent += usize::from(match self.other {
            None => self.command(&[number]),
            Some(process) => {
                let [a, b, c, d] = process.to_ne_bytes();
                self.command(&[guard::OTHER, a, b, c, d, number])
            }
        });
    }

    /// Returns the group of another child of this guard, which was the leader before. It has a kill of its own.
    #[must_use]
    pub fn of_other(&self, process: u32) -> Self {
        Group {
            killed: Arc::default(),
            other: Some(process),
            ..self.clone()
        }
    }

    /// Waits until every signal has been sent, at most a second: what the child is given next comes after them.
    pub fn await_signals(&self) {
        let mut unsent = self.unsent();
        let second = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        self.take_answers(&mut unsent);
        while *unsent > 0 {
            let mut watched = [PollFd::from_borrowed_fd(
                self.control.as_fd(),
                PollFlags::IN,
            )];
            match poll(&mut watched, Some(&second)) {
                Ok(0) => return,
                _ => self.take_answers(&mut unsent),
            }
        }
    }

    fn unsent(&self) -> MutexGuard<'_, usize> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the signals that the guard has sent meanwhile.
    fn take_answers(&self, unsent: &mut usize) {
        let mut answers = [0; 64];
        while *unsent > 0 {
            match rustix::io::read(&self.control, &mut answers) {
                Ok(count @ 1..) => *unsent = unsent.saturating_sub(count),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The guard is gone.
                Ok(0) | Err(_) => *unsent = 0,
            }
        }
    }

    /// Lets descendants with a session of their own (a server, a browser) outlive the child, which is about to be
    /// ended.
    pub fn keep_sessions(&self) {
        self.command(&[guard::KEEP_SESSIONS]);
    }

    /// Makes another descendant, the leader of its own group, the child: the process that gets the signals, and whose
    /// end counts.
    pub fn follow(&self, process: u32) {
        let [a, b, c, d] = process.to_ne_bytes();
        self.command(&[guard::SUCCESSOR, a, b, c, d]);
    }

    fn command(&self, command: &[u8]) -> bool {
        // Fails only when no process is left to signal.
        rustix::io::write(&self.control, command).is_ok()
    }

    /// Kills the group on request; [`Group::was_killed`] is true from then on.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::SeqCst);
        self.signal(Signal::KILL);
    }

    pub fn was_killed(&self) -> bool {
        self.killed.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::OwnedFd;

    fn null() -> OwnedFd {
        let options = File::options().read(true).write(true).open("/dev/null");
        options.unwrap().into()
    }

    fn shell(script: &str, leadership: Leadership) -> Child {
        let mut plan = SpawnPlan::new("/bin/sh", leadership, null(), null(), null());
        plan.arguments = vec!["-c".into(), script.into()];
        spawn(plan).unwrap()
    }

    #[test]
    fn a_resource_tracker_outlives_a_kill_until_it_has_cleaned_up() {
        let folder = tempfile::tempdir().unwrap();
        let script = r#"cd "$0"; mkfifo pipe
            sh -c 'trap "" TERM; read line; : > cleaned' resource_tracker < pipe &
            exec 3> pipe; sleep 1000 & : > ready; wait"#;
        for ends_itself in [false, true] {
            let mut plan = SpawnPlan::new("/bin/sh", Leadership::Session, null(), null(), null());
            let script = script.replace("wait", if ends_itself { "kill -9 $$" } else { "wait" });
            plan.spares_trackers = true;
            plan.arguments = vec!["-c".into(), script.into(), folder.path().into()];
            let mut child = spawn(plan).unwrap();
            let deadline = Instant::now() + Duration::from_secs(20);
            while !folder.path().join("ready").exists() {
                assert!(Instant::now() < deadline);
                std::thread::yield_now();
            }
            if !ends_itself {
                child.group().kill();
            }
            assert!(child.wait_for(Duration::from_secs(20)).unwrap().is_some());
            for name in ["cleaned", "ready", "pipe"] {
                std::fs::remove_file(folder.path().join(name)).expect(name);
            }
        }
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
    fn a_child_names_no_stranger_as_the_one_to_be_signalled() {
        let mut stranger = shell("sleep 1000", Leadership::Session);
        let mut child = shell("sleep 1000", Leadership::Session);
        child.group().follow(stranger.id());
        child.group().kill();
        assert!(child.wait_for(Duration::from_secs(60)).unwrap().is_some());
        assert!(stranger.wait_for(Duration::ZERO).unwrap().is_none());
        stranger.end(Duration::ZERO).unwrap();
    }

    #[test]
    fn a_former_leader_gets_signals_of_its_own_and_ends_with_its_group() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display();
        // The heir is an orphan, so a child of the guard; the leader has a child in its group.
        let script = format!(
            "cd {place}; {ESCAPED}; sleep 1000 & echo $$ $! > own.new; mv own.new own; sleep 1000"
        );
        let child = shell(&script, Leadership::Session);
        let own = folder.path().join("own");
        while !own.exists() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let heir: u32 = read("told").trim().parse().unwrap();
        let ids: Vec<u32> = read("own")
            .split_whitespace()
            .map(|id| id.parse().unwrap())
            .collect();
        let group = child.group();
        group.follow(heir);
        let former = group.of_other(ids[0]);
        former.kill();
        former.await_signals();
        assert!(former.was_killed() && !group.was_killed());
        let lives = |id: u32| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let state = stat.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
            state.is_some_and(|state| !matches!(state, b'Z' | b'X'))
        };
        while ids.iter().any(|id| lives(*id)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(lives(heir));
        // It is gone: its id may be a stranger's.
        former.signal(Signal::TERM);
        drop(child);
        assert!(!lives(heir));
    }

    #[test]
    fn signals_have_been_sent_once_they_are_awaited() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().display();
        // A stopped process keeps its signals where they can be seen.
        let script = format!("cd {place}; echo $$ > told.new; mv told.new told; kill -STOP $$");
        let child = shell(&script, Leadership::Session);
        let line = |name: &str| {
            let id = std::fs::read_to_string(folder.path().join("told")).ok()?;
            let status = std::fs::read_to_string(format!("/proc/{}/status", id.trim())).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().to_owned())
        };
        while line("State:").is_none_or(|state| !state.starts_with('T')) {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Not HUP and INT, which a shell without job control may have told all of us to ignore.
        for signal in [Signal::TERM, Signal::USR1, Signal::USR2] {
            child.group().signal(signal);
            child.group().await_signals();
            let pending = u64::from_str_radix(&line("ShdPnd:").unwrap(), 16).unwrap();
            assert_ne!(pending & 1 << (signal.as_raw() - 1), 0, "{signal:?}");
        }
    }

    /// Starts a process without parent, in a session of its own, that ignores signals; its id is in a file.
    const ESCAPED: &str = "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > told.new; mv told.new told; sleep 1000' &)
        until [ -e told ]; do sleep 0.01; done";

    /// Runs a script in a folder of its own until it ends; gives the process it left, if that still runs.
    fn survivor_of(script: &str, let_go: bool) -> Option<Pid> {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("cd {}; {ESCAPED}; {script}", folder.path().display());
        let mut child = shell(&script, Leadership::Session);
        if let_go {
            child.group().keep_sessions();
        }
        child.wait().unwrap();
        let told = std::fs::read_to_string(folder.path().join("told")).unwrap();
        let left = Pid::from_raw(told.trim().parse().unwrap()).unwrap();
        rustix::process::test_kill_process(left).ok().map(|()| left)
    }

    #[test]
    fn a_process_that_left_the_group_ends_with_the_child() {
        for end in ["exit 0", "kill -KILL $$", "kill -SEGV $$"] {
            assert_eq!(survivor_of(end, false), None, "{end}");
        }
    }

    #[test]
    fn a_process_with_its_own_session_may_outlive_a_child_whose_end_is_wanted() {
        let left = survivor_of("exit 0", true).expect("it stayed");
        rustix::process::kill_process_group(left, Signal::KILL).unwrap();
    }

    #[test]
    fn the_guard_keeps_no_descriptor_of_ours() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut sleeping = shell("sleep 1000", Leadership::Group);
        drop(writer);
        assert_eq!(std::io::read_to_string(reader).unwrap(), "");
        let open = std::fs::read_dir(format!("/proc/{}/fd", sleeping.id())).unwrap();
        assert_eq!(open.count(), 5, "0-2, the socket and what tells of deaths");
        sleeping.group().kill();
        sleeping.wait().unwrap();
    }

    #[test]
    fn exit_codes_and_signals_are_reported() {
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
        let mut plan = SpawnPlan::new("/bin/bash", Leadership::Session, null(), null(), null());
        plan.arguments = vec!["-c".into(), "echo hello >&198".into()];
        plan.inherited = vec![(OwnedFd::from(writer), 198)];
        let mut child = spawn(plan).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(std::io::read_to_string(reader).unwrap(), "hello\n");
    }

    #[test]
    fn a_missing_program_is_an_error_with_its_kind() {
        let error = spawn(SpawnPlan::new(
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
