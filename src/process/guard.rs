//! A child's guard: the process between us and the child that ends the child's descendants, however either of us ends.
//!
//! The guard is a fork of ours that runs no program. It is the parent of the child and the subreaper of its descendants
//! (`PR_SET_CHILD_SUBREAPER`), so neither a double fork nor a session of its own hides a process from it. In:
//! [`CONTROL_FD`], a socket that carries signals for the child's group and ends when we do. Out: a byte there for each
//! signal that was sent; the child's own exit status. Invariants: it holds no descriptor of ours but the socket; it
//! takes no lock and no memory, since it is what a fork leaves of a process of many threads.
//!
//! Absent on purpose: the environment and descriptors of the child (`spawn.rs`).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process_group, set_child_subreaper, setpgid,
};

use super::process_list::{Process, list_processes, read_entry};

/// The descriptor of the control socket in the guard.
const CONTROL_FD: i32 = 3;
/// Command byte, no signal: descendants with a session of their own may outlive the child.
pub(super) const KEEP_SESSIONS: u8 = 0xff;
/// Command byte, no signal: another process becomes the leader; its id follows (4 bytes, native order).
pub(super) const SUCCESSOR: u8 = 0xfe;
/// Command byte: a signal for the group of another child; its id (4 bytes, native order) and the signal (1) follow.
pub(super) const OTHER: u8 = 0xfd;
/// Former leaders that are remembered: their groups end with them.
const MOST_FORMER: usize = 64;
/// Time for descendants between SIGTERM and SIGKILL, and again between SIGKILL and giving up.
const GRACE: Duration = Duration::from_secs(2);
/// Pause between two looks at the descendants; only the guard's own children announce their end (SIGCHLD).
const TICK: Duration = Duration::from_millis(50);
/// Capacity of each list of processes; further processes of the machine are ignored.
const MAX_PROCESSES: usize = 1 << 16;
/// Pause between two looks at the members of a group that is being killed.
const LOOK_PAUSE: Duration = Duration::from_millis(1);

/// Memory of the guard, allocated before the fork.
pub(super) struct Buffers {
    processes: Vec<Process>,
    /// Processes that were sent SIGTERM: ids and start times; behind these, those of a group that is being killed.
    signalled: Vec<(i32, u64)>,
}

impl Buffers {
    pub(super) fn new() -> Self {
        Buffers {
            processes: Vec::with_capacity(MAX_PROCESSES),
            signalled: Vec::with_capacity(MAX_PROCESSES),
        }
    }
}

/// Forks: returns in the child; the caller's process becomes its guard and does not return.
///
/// # Errors
/// The operating system's, when no process can be made.
#[allow(unsafe_code)]
pub(super) fn fork_guarded(
    control: BorrowedFd<'_>,
    spares_trackers: bool,
    buffers: &mut Buffers,
) -> std::io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    // SAFETY: the sets are plain memory that is filled before it is read; `fork` is followed by system calls only.
    unsafe {
        let (mut all, mut previous) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, &raw mut previous);
        match libc::fork() {
            -1 => Err(std::io::Error::last_os_error()),
            0 => {
                libc::sigprocmask(libc::SIG_SETMASK, &raw const previous, std::ptr::null_mut());
                Ok(())
            }
            child => {
                let status = run(child, control, spares_trackers, buffers).unwrap_or(1 << 8);
                leave_as(status)
            }
        }
    }
}

/// Runs until all descendants have ended; returns the child's wait status.
fn run(
    child: i32,
    control: BorrowedFd<'_>,
    spares_trackers: bool,
    buffers: &mut Buffers,
) -> Result<i32, Errno> {
    // Apart from the group that the terminal's signals go to; a failure costs nothing, since all signals are blocked.
    let _ = setpgid(None, None);
    let _ = rustix::process::chdir(c"/");
    let (socket, exits) = descriptors(control)?;
    let mut control = ControlSocket {
        socket,
        leader: Pid::from_raw(child).ok_or(Errno::SRCH)?,
        former: [0; MOST_FORMER],
        spares_trackers,
        ends_descendants: true,
        ended: false,
    };
    let mut status;
    loop {
        status = reap(&mut control, buffers).0;
        if status.is_some() {
            break;
        }
        let mut watched = [
            PollFd::from_borrowed_fd(control.socket.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(exits.as_fd(), PollFlags::IN),
        ];
        if poll(&mut watched, None).is_err() {
            continue;
        }
        drain(&exits);
        control.run_commands(buffers);
        if control.ended {
            break;
        }
    }
    if control.ends_descendants || status.is_none() {
        status = end_all(&exits, &mut control, status, buffers);
    }
    Ok(status.unwrap_or(libc::SIGKILL))
}

/// The socket from us, and the state that its commands have set.
struct ControlSocket {
    socket: OwnedFd,
    /// The process whose group gets the signals, and whose end counts.
    leader: Pid,
    /// Children that were leaders once; 0: none. Of more than these, the oldest are forgotten.
    former: [i32; MOST_FORMER],
    /// SIGKILL for the group of a leader spares the resource trackers in it, which free what the others leave.
    spares_trackers: bool,
    /// All descendants end with the leader.
    ends_descendants: bool,
    /// The other end of the socket is closed: we are gone.
    ended: bool,
}

impl ControlSocket {
    /// Carries out the commands that have arrived.
    fn run_commands(&mut self, buffers: &mut Buffers) {
        while !self.ended {
            let mut watched = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
            if !poll(&mut watched, Some(&Timespec::default())).is_ok_and(|count| count > 0) {
                return;
            }
            let mut command = [0];
            match rustix::io::read(&self.socket, &mut command) {
                Ok(1) if command[0] == KEEP_SESSIONS => self.ends_descendants = false,
                Ok(1) if command[0] == SUCCESSOR => {
                    // Written at once with the call: it is there.
                    let mut id = [0; 4];
                    if rustix::io::read(&self.socket, &mut id) == Ok(4)
                        && let Some(heir) = Pid::from_raw(i32::from_ne_bytes(id))
                        && is_child(heir)
                    {
                        self.former.rotate_right(1);
                        self.former[0] = self.leader.as_raw_nonzero().get();
                        self.leader = heir;
                    }
                }
                Ok(1) if command[0] == OTHER => {
                    let mut rest = [0; 5];
                    if rustix::io::read(&self.socket, &mut rest) == Ok(5)
                        && let [a, b, c, d, signal] = rest
                        && let Some(child) = Pid::from_raw(i32::from_ne_bytes([a, b, c, d]))
                        && let Some(signal) = Signal::from_named_raw(signal.into())
                        && is_child(child)
                    {
                        self.signal_group(child, signal, buffers);
                    }
                    let _ = rustix::net::send(&self.socket, &command, SendFlags::DONTWAIT);
                }
                Ok(1) => {
                    if let Some(signal) = Signal::from_named_raw(command[0].into()) {
                        self.signal_group(self.leader, signal, buffers);
                    }
                    let _ = rustix::net::send(&self.socket, &command, SendFlags::DONTWAIT);
                }
                Err(Errno::INTR) => {}
                _ => self.ended = true,
            }
        }
    }

    /// Signals the group of a child. One that was never a leader may be confined: nothing in its group is spared.
    fn signal_group(&self, child: Pid, signal: Signal, buffers: &mut Buffers) {
        let spares = signal == Signal::KILL
            && self.spares_trackers
            && (child == self.leader || self.former.contains(&child.as_raw_nonzero().get()))
            && !ended_alone(child);
        if !spares || !spare_trackers(child, buffers) {
            let _ = kill_process_group(child, signal);
        }
    }
}

/// True for a child of ours. Whose id we are told, the child's own code may have written: its group gets our signals.
fn is_child(process: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    rustix::process::waitid(WaitId::Pid(process), options).is_ok()
}

/// Closes every inherited descriptor but the socket; returns the socket under its number and a signalfd for SIGCHLD.
#[allow(unsafe_code)]
fn descriptors(control: BorrowedFd<'_>) -> Result<(OwnedFd, OwnedFd), Errno> {
    use std::os::fd::FromRawFd;
    // SAFETY: the descriptors are numbers of this process, which has no other thread and never uses what owned them
    // before the fork; each is owned once from here on.
    unsafe {
        if control.as_raw_fd() != CONTROL_FD {
            libc::dup2(control.as_raw_fd(), CONTROL_FD);
        }
        if libc::syscall(libc::SYS_close_range, CONTROL_FD + 1, u32::MAX, 0) < 0 {
            (CONTROL_FD + 1..4096).for_each(|number| {
                libc::close(number);
            });
        }
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        (0..3).for_each(|number| {
            libc::dup2(null, number);
        });
        libc::close(null);
        libc::prctl(libc::PR_SET_NAME, c"ipycodex-guard".as_ptr());
        let mut children = std::mem::zeroed();
        libc::sigemptyset(&raw mut children);
        libc::sigaddset(&raw mut children, libc::SIGCHLD);
        let exits = libc::signalfd(-1, &raw const children, libc::SFD_NONBLOCK);
        if exits < 0 {
            return Err(Errno::MFILE);
        }
        Ok((
            OwnedFd::from_raw_fd(CONTROL_FD),
            OwnedFd::from_raw_fd(exits),
        ))
    }
}

fn drain(exits: &OwnedFd) {
    let mut buffer = [0; 1024];
    while rustix::io::read(exits, &mut buffer).is_ok_and(|count| count > 0) {}
}

/// Reaps ended children. Returns the leader's status if it was among them, and whether no child is left (orphans become
/// children of the guard). The group of a leader, also of a former one, is killed before it is reaped, while the id is
/// still its own.
#[allow(unsafe_code)]
fn reap(control: &mut ControlSocket, buffers: &mut Buffers) -> (Option<i32>, bool) {
    let mut found = None;
    loop {
        // SAFETY: `info` and `status` are plain memory for the kernel to fill.
        let (led, status) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            let id = match libc::waitid(libc::P_ALL, 0, &raw mut info, options) {
                0 => info.si_pid(),
                _ => return (found, true),
            };
            if id <= 0 {
                return (found, false);
            }
            let is_leader = |control: &ControlSocket| id == control.leader.as_raw_nonzero().get();
            if is_leader(control) {
                control.run_commands(buffers);
            }
            let led = is_leader(control);
            if (led || control.former.contains(&id))
                && let Some(group) = Pid::from_raw(id)
            {
                control.signal_group(group, Signal::KILL, buffers);
            }
            let mut status = 0;
            libc::waitpid(id, &raw mut status, 0);
            (led, status)
        };
        if led {
            found = Some(status);
        }
    }
}

/// Sends SIGTERM to all descendants, then SIGKILL; returns the status of the leader, also when it was known before.
fn end_all(
    exits: &OwnedFd,
    control: &mut ControlSocket,
    mut status: Option<i32>,
    buffers: &mut Buffers,
) -> Option<i32> {
    for signal in [Signal::TERM, Signal::KILL] {
        let until = Instant::now() + GRACE;
        loop {
            let (ended, alone) = reap(control, buffers);
            status = status.or(ended);
            if alone {
                return status;
            }
            // A process that is reparented meanwhile may be missing from this list; the next one has it.
            list_processes(&mut buffers.processes);
            let spares_trackers = control.spares_trackers
                && signal == Signal::KILL
                && Instant::now() + GRACE / 2 < until;
            let remaining = buffers.processes.iter().filter(|it| it.ours && !it.ended);
            let is_spared =
                |it: &&Process| spares_trackers && it.is_resource_tracker() != Some(false);
            for process in remaining.filter(|it| !is_spared(it)) {
                let who = (process.id, process.began);
                if signal == Signal::KILL {
                    process.signal(signal);
                } else if !buffers.signalled.contains(&who)
                    && buffers.signalled.len() < MAX_PROCESSES
                {
                    buffers.signalled.push(who);
                    process.signal(signal);
                }
            }
            if Instant::now() > until {
                break;
            }
            let pause = Timespec {
                tv_sec: 0,
                tv_nsec: TICK.subsec_nanos().into(),
            };
            let _ = poll(
                &mut [PollFd::from_borrowed_fd(exits.as_fd(), PollFlags::IN)],
                Some(&pause),
            );
            drain(exits);
        }
    }
    status
}

/// Kills the group of a leader but for the resource trackers. False: it has none, or new members go on appearing.
fn spare_trackers(leader: Pid, buffers: &mut Buffers) -> bool {
    let Buffers {
        processes,
        signalled,
    } = buffers;
    let leader = leader.as_raw_nonzero().get();
    let is_tracker = |it: &Process| match it.id == leader {
        true => Some(false),
        false => it.is_resource_tracker(),
    };
    let earlier = signalled.len();
    let until = Instant::now() + GRACE;
    let all_but_trackers = loop {
        list_processes(processes);
        let members = || {
            processes
                .iter()
                .filter(|it| it.group == leader && !it.ended)
        };
        if Instant::now() > until || members().all(|it| is_tracker(it) == Some(false)) {
            break false;
        }
        // Who was sent SIGKILL forks no more: a look that shows nobody else shows all.
        let mut all = true;
        for process in members() {
            let who = (process.id, process.began);
            let is_tracker = is_tracker(process);
            if is_tracker == Some(true) || signalled[earlier..].contains(&who) {
                continue;
            }
            all = false;
            if is_tracker == Some(false) && signalled.len() < MAX_PROCESSES {
                signalled.push(who);
                process.signal(Signal::KILL);
            }
        }
        if all {
            break true;
        }
        std::thread::sleep(LOOK_PAUSE);
    };
    signalled.truncate(earlier);
    all_but_trackers
}

/// True when this process has the child alone, and that has ended: it has left nobody behind. False when that is not
/// known.
fn ended_alone(child: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let ended = rustix::process::waitid(WaitId::Pid(child), options);
    matches!(ended, Ok(Some(_)))
        && read_entry("thread-self", "children", &mut [0; 64])
            .is_some_and(|ids| ids.iter().filter(|byte| **byte == b' ').count() == 1)
}

#[allow(unsafe_code)]
fn leave_as(status: i32) -> ! {
    // SAFETY: system calls of a process of one thread; the limit is plain memory.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            let signal = libc::WTERMSIG(status);
            libc::signal(signal, libc::SIG_DFL);
            let mut nothing = std::mem::zeroed();
            libc::sigemptyset(&raw mut nothing);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const nothing, std::ptr::null_mut());
            libc::kill(libc::getpid(), signal);
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
