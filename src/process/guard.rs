//! A child's guard: the process between us and the child that ends the child's descendants, however either of us ends.
//!
//! The guard is a fork of ours that runs no program. It is the parent of the child and the subreaper of its descendants
//! (`PR_SET_CHILD_SUBREAPER`), so neither a double fork nor a session of its own hides a process from it. In:
//! [`CONTROL_FD`], a socket that carries signals for the child's group and ends when we do. Out: a byte there for each
//! signal that was sent; the child's own exit status. Invariants: it holds no descriptor of ours but the socket; it
//! takes no lock and no memory, since it is what a fork leaves of a process of many threads; it signals a process only
//! while its id cannot mean another one.
//!
//! Absent on purpose: the environment and descriptors of the child (`spawn.rs`).

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group,
    pidfd_open, pidfd_send_signal, set_child_subreaper, setpgid,
};

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
/// Capacity of the process list; further processes of the machine are ignored.
const MAX_PROCESSES: usize = 1 << 16;

/// One process of the machine, from `/proc/PID/stat`.
#[derive(Debug, Clone, Copy)]
struct Process {
    id: i32,
    parent: i32,
    began: u64,
    /// A zombie: kept as a link between its parent and its children.
    ended: bool,
    ours: bool,
}

/// Memory of the guard, allocated before the fork.
pub(super) struct Buffers {
    processes: Vec<Process>,
    /// Processes that were sent SIGTERM: ids and start times.
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
pub(super) fn fork_guarded(control: BorrowedFd<'_>, buffers: &mut Buffers) -> std::io::Result<()> {
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
                let status = run(child, control, buffers).unwrap_or(1 << 8);
                leave_as(status)
            }
        }
    }
}

/// Runs until all descendants have ended; returns the child's wait status.
fn run(child: i32, control: BorrowedFd<'_>, buffers: &mut Buffers) -> Result<i32, Errno> {
    // Apart from the group that the terminal's signals go to; a failure costs nothing, since all signals are blocked.
    let _ = setpgid(None, None);
    let _ = rustix::process::chdir(c"/");
    let (socket, exits) = descriptors(control)?;
    let mut control = ControlSocket {
        socket,
        leader: Pid::from_raw(child).ok_or(Errno::SRCH)?,
        former: [0; MOST_FORMER],
        ends_descendants: true,
        ended: false,
    };
    let mut status;
    loop {
        status = reap(&mut control).0;
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
        control.run_commands();
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
    /// All descendants end with the leader.
    ends_descendants: bool,
    /// The other end of the socket is closed: we are gone.
    ended: bool,
}

impl ControlSocket {
    /// Carries out the commands that have arrived.
    fn run_commands(&mut self) {
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
                        let _ = kill_process_group(child, signal);
                    }
                    let _ = rustix::net::send(&self.socket, &command, SendFlags::DONTWAIT);
                }
                Ok(1) => {
                    if let Some(signal) = Signal::from_named_raw(command[0].into()) {
                        let _ = kill_process_group(self.leader, signal);
                    }
                    let _ = rustix::net::send(&self.socket, &command, SendFlags::DONTWAIT);
                }
                Err(Errno::INTR) => {}
                _ => self.ended = true,
            }
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
fn reap(control: &mut ControlSocket) -> (Option<i32>, bool) {
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
                control.run_commands();
            }
            let led = is_leader(control);
            if (led || control.former.contains(&id))
                && let Some(group) = Pid::from_raw(id)
            {
                let _ = kill_process_group(group, Signal::KILL);
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
            let (ended, alone) = reap(control);
            status = status.or(ended);
            if alone {
                return status;
            }
            // A process that is reparented meanwhile may be missing from this list; the next one has it.
            list_processes(&mut buffers.processes);
            for process in buffers.processes.iter().filter(|it| it.ours && !it.ended) {
                let who = (process.id, process.began);
                if signal == Signal::KILL {
                    signal_process(process, signal);
                } else if !buffers.signalled.contains(&who)
                    && buffers.signalled.len() < MAX_PROCESSES
                {
                    buffers.signalled.push(who);
                    signal_process(process, signal);
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

/// Signals a process unless its id was reused; a stopped process is continued so that it acts on the signal.
fn signal_process(process: &Process, signal: Signal) {
    let Some(id) = Pid::from_raw(process.id) else {
        return;
    };
    match pidfd_open(id, PidfdFlags::empty()) {
        Ok(handle) => {
            let mut name = [0; 24];
            let same = read_stat(CWD, path(b"/proc/", process.id, &mut name))
                .is_some_and(|found| found.began == process.began);
            if same {
                let _ = pidfd_send_signal(&handle, signal);
                let _ = pidfd_send_signal(&handle, Signal::CONT);
            }
        }
        // An old kernel, or a filter that refuses the call.
        Err(Errno::NOSYS | Errno::PERM) => {
            let _ = kill_process(id, signal);
        }
        Err(_) => {}
    }
}

/// Fills `list` with the processes of the machine; descendants of this process are marked as `ours`.
fn list_processes(list: &mut Vec<Process>) {
    list.clear();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = openat(CWD, c"/proc", flags, Mode::empty()) else {
        return;
    };
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(&folder, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let id = number(entry.file_name().to_bytes());
        let mut name = [0; 24];
        let found = id.and_then(|id| read_stat(folder.as_fd(), path(b"", id, &mut name)));
        if let Some(process) = found.filter(|_| list.len() < list.capacity()) {
            list.push(process);
        }
    }
    let here = getpid().as_raw_nonzero().get();
    loop {
        let mut more = false;
        for index in 0..list.len() {
            let Process { parent, ours, .. } = list[index];
            let below = parent == here || list.iter().any(|other| other.ours && other.id == parent);
            if !ours && below {
                list[index].ours = true;
                more = true;
            }
        }
        if !more {
            return;
        }
    }
}

fn number(name: &[u8]) -> Option<i32> {
    std::str::from_utf8(name).ok()?.parse().ok()
}

/// Writes `PREFIX`ID`/stat` into `buffer`.
fn path<'a>(prefix: &[u8], id: i32, buffer: &'a mut [u8; 24]) -> &'a CStr {
    let mut digits = [0; 10];
    let (mut rest, mut first) = (id.unsigned_abs(), digits.len());
    while rest > 0 && first > 0 {
        first -= 1;
        digits[first] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    let bytes = prefix.iter().chain(&digits[first..]).chain(b"/stat\0");
    buffer
        .iter_mut()
        .zip(bytes)
        .for_each(|(place, byte)| *place = *byte);
    CStr::from_bytes_until_nul(buffer).unwrap_or_default()
}

fn read_stat(folder: BorrowedFd<'_>, path: &CStr) -> Option<Process> {
    let file = openat(
        folder,
        path,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .ok()?;
    let mut text = [0; 1024];
    let count = rustix::io::read(&file, &mut text).ok()?;
    parse_stat(&text[..count])
}

/// Parses `ID (NAME) STATE PARENT …`, where NAME is any bytes; the start time is the 20th field after the name.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let id = stat.split(|byte| *byte == b' ').next().and_then(number)?;
    let mut words = stat[close + 1..]
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    let state = words.next()?;
    let parent = words.next().and_then(number)?;
    let began = std::str::from_utf8(words.nth(17)?).ok()?.parse().ok()?;
    Some(Process {
        id,
        parent,
        began,
        ended: matches!(state, b"Z" | b"X"),
        ours: false,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_parsed_whatever_the_process_is_called() {
        let stat = "42 (a ) Z 1 (b)) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3";
        let found = parse_stat(stat.as_bytes()).unwrap();
        assert_eq!((found.id, found.parent, found.began), (42, 7, 98765));
        assert!(
            !found.ended
                && parse_stat(stat.replace(") S 7", ") Z 7").as_bytes())
                    .unwrap()
                    .ended
        );
        assert!(parse_stat(b"").is_none());
        let mut buffer = [0; 24];
        assert_eq!(
            path(b"/proc/", 4_194_304, &mut buffer),
            c"/proc/4194304/stat"
        );
        let me = read_stat(
            CWD,
            path(b"/proc/", getpid().as_raw_nonzero().get(), &mut [0; 24]),
        );
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!(me.unwrap().parent, parent);
    }
}
