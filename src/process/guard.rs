//! A child's guard: the process between us and it that ends whatever it started, however we or it end.
//!
//! The guard is a fork of ours that runs no program: parent of the child, and made to inherit what loses its parent
//! below (`PR_SET_CHILD_SUBREAPER`), so that neither a second fork nor a session of its own takes a process out of its
//! sight. In: [`CALLS`], a pipe that carries signals for the child's group and ends when we do. Out: the child's own
//! exit status. Invariants: it holds no descriptor of ours but the pipe; it takes no lock and no memory, since it is
//! what a fork leaves of a process of many threads; it signals a process only while its id cannot mean another one.
//!
//! Absent on purpose: the environment and descriptors of the child (`spawn.rs`).

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, set_child_subreaper, setpgid,
};

/// Where the guard finds the pipe.
const CALLS: i32 = 3;
/// Not a signal: what made a session of its own may stay when the child has left.
pub(super) const LET_GO: u8 = 0xff;
/// Not a signal: another process takes the child's place; its id follows.
pub(super) const HEIR: u8 = 0xfe;
/// How long what the child started has between SIGTERM and SIGKILL, and then until it is given up as immortal.
const GRACE: Duration = Duration::from_secs(2);
/// Pause between two looks at what is left; a process that is not the guard's own child ends unheard.
const TICK: Duration = Duration::from_millis(50);
/// The most processes of the machine that are looked at.
const MOST: usize = 1 << 16;

/// One line of the machine's list of processes.
#[derive(Debug, Clone, Copy)]
struct Process {
    id: i32,
    parent: i32,
    began: u64,
    /// A zombie: only a link between others.
    ended: bool,
    ours: bool,
}

/// Room for what the guard has to remember, to be made before the fork.
pub(super) struct Room {
    list: Vec<Process>,
    /// Who was sent SIGTERM: ids and beginnings.
    told: Vec<(i32, u64)>,
}

impl Room {
    pub(super) fn new() -> Self {
        Room {
            list: Vec::with_capacity(MOST),
            told: Vec::with_capacity(MOST),
        }
    }
}

/// Forks: returns in the child; the caller's process becomes its guard and does not return.
///
/// # Errors
/// The operating system's, when no process can be made.
#[allow(unsafe_code)]
pub(super) fn fork_guarded(calls: BorrowedFd<'_>, room: &mut Room) -> std::io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    // SAFETY: the sets are plain memory that is filled before it is read; `fork` is followed by system calls only.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        match libc::fork() {
            -1 => Err(std::io::Error::last_os_error()),
            0 => {
                libc::sigprocmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
                Ok(())
            }
            child => {
                let status = guard(child, calls, room).unwrap_or(1 << 8);
                leave_as(status)
            }
        }
    }
}

/// The guard's life; gives the child's status.
fn guard(child: i32, calls: BorrowedFd<'_>, room: &mut Room) -> Result<i32, Errno> {
    // Apart from the group that the terminal's signals go to; a failure costs nothing, since all signals are blocked.
    let _ = setpgid(None, None);
    let _ = rustix::process::chdir(c"/");
    let (pipe, deaths) = descriptors(calls)?;
    let mut calls = Calls {
        pipe,
        leader: Pid::from_raw(child).ok_or(Errno::SRCH)?,
        whole: true,
        ended: false,
    };
    let mut status;
    loop {
        status = reap(&mut calls).0;
        if status.is_some() {
            break;
        }
        let mut watched = [
            PollFd::from_borrowed_fd(calls.pipe.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(deaths.as_fd(), PollFlags::IN),
        ];
        if poll(&mut watched, None).is_err() {
            continue;
        }
        drain(&deaths);
        calls.hear();
        if calls.ended {
            break;
        }
    }
    if calls.whole || status.is_none() {
        status = end_all(&deaths, &mut calls, status, room);
    }
    Ok(status.unwrap_or(libc::SIGKILL))
}

/// What we say, and what came of it.
struct Calls {
    pipe: OwnedFd,
    /// Whose group gets the signals, and whose end is the end.
    leader: Pid,
    /// All it has started ends with it.
    whole: bool,
    /// We are gone, and did not say goodbye.
    ended: bool,
}

impl Calls {
    /// Does what has been said so far.
    fn hear(&mut self) {
        while !self.ended {
            let mut watched = [PollFd::from_borrowed_fd(self.pipe.as_fd(), PollFlags::IN)];
            if !poll(&mut watched, Some(&Timespec::default())).is_ok_and(|count| count > 0) {
                return;
            }
            let mut call = [0];
            match rustix::io::read(&self.pipe, &mut call) {
                Ok(1) if call[0] == LET_GO => self.whole = false,
                Ok(1) if call[0] == HEIR => {
                    // Written at once with the call: it is there.
                    let mut id = [0; 4];
                    if rustix::io::read(&self.pipe, &mut id) == Ok(4)
                        && let Some(heir) = Pid::from_raw(i32::from_ne_bytes(id))
                    {
                        self.leader = heir;
                    }
                }
                Ok(1) => {
                    if let Some(signal) = Signal::from_named_raw(call[0].into()) {
                        let _ = kill_process_group(self.leader, signal);
                    }
                }
                Err(Errno::INTR) => {}
                _ => self.ended = true,
            }
        }
    }
}

/// Nothing of ours stays open; the pipe gets its number. Gives it, and what tells of deaths.
#[allow(unsafe_code)]
fn descriptors(calls: BorrowedFd<'_>) -> Result<(OwnedFd, OwnedFd), Errno> {
    use std::os::fd::FromRawFd;
    // SAFETY: the descriptors are numbers of this process, which has no other thread and never uses what owned them
    // before the fork; each is owned once from here on.
    unsafe {
        if calls.as_raw_fd() != CALLS {
            libc::dup2(calls.as_raw_fd(), CALLS);
        }
        if libc::syscall(libc::SYS_close_range, CALLS + 1, u32::MAX, 0) < 0 {
            (CALLS + 1..4096).for_each(|number| {
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
        let deaths = libc::signalfd(-1, &raw const children, libc::SFD_NONBLOCK);
        if deaths < 0 {
            return Err(Errno::MFILE);
        }
        Ok((OwnedFd::from_raw_fd(CALLS), OwnedFd::from_raw_fd(deaths)))
    }
}

fn drain(deaths: &OwnedFd) {
    let mut told = [0; 1024];
    while rustix::io::read(deaths, &mut told).is_ok_and(|count| count > 0) {}
}

/// Reaps what has ended. Gives the status of the leader if that is among it, whose group is killed while the id is
/// still its own, unless another has taken its place; and whether nothing is left below: whoever loses its parent
/// becomes a child of the guard.
#[allow(unsafe_code)]
fn reap(calls: &mut Calls) -> (Option<i32>, bool) {
    let mut found = None;
    loop {
        // SAFETY: `told` and `status` are plain memory for the kernel to fill.
        let (led, status) = unsafe {
            let mut told: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            let id = match libc::waitid(libc::P_ALL, 0, &raw mut told, options) {
                0 => told.si_pid(),
                _ => return (found, true),
            };
            if id <= 0 {
                return (found, false);
            }
            let is_leader = |calls: &Calls| id == calls.leader.as_raw_nonzero().get();
            if is_leader(calls) {
                calls.hear();
            }
            let led = is_leader(calls);
            if led {
                let _ = kill_process_group(calls.leader, Signal::KILL);
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

/// SIGTERM to everything below, then SIGKILL; gives the status of the leader, which may have been known before.
fn end_all(
    deaths: &OwnedFd,
    calls: &mut Calls,
    mut status: Option<i32>,
    room: &mut Room,
) -> Option<i32> {
    for signal in [Signal::TERM, Signal::KILL] {
        let until = Instant::now() + GRACE;
        loop {
            let (ended, alone) = reap(calls);
            status = status.or(ended);
            if alone {
                return status;
            }
            // Those who lose their parent meanwhile may be missing in one list; they are in the next.
            list(&mut room.list);
            for process in room.list.iter().filter(|it| it.ours && !it.ended) {
                let who = (process.id, process.began);
                if signal == Signal::KILL {
                    tell(process, signal);
                } else if !room.told.contains(&who) && room.told.len() < MOST {
                    room.told.push(who);
                    tell(process, signal);
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
                &mut [PollFd::from_borrowed_fd(deaths.as_fd(), PollFlags::IN)],
                Some(&pause),
            );
            drain(deaths);
        }
    }
    status
}

/// Signals a process, unless another one has its id by now; one that is stopped goes on, to hear it.
fn tell(process: &Process, signal: Signal) {
    let Some(id) = Pid::from_raw(process.id) else {
        return;
    };
    match pidfd_open(id, PidfdFlags::empty()) {
        Ok(handle) => {
            let mut name = [0; 24];
            let same = described(CWD, path(b"/proc/", process.id, &mut name))
                .is_some_and(|found| found.began == process.began);
            if same {
                let _ = pidfd_send_signal(&handle, signal);
                let _ = pidfd_send_signal(&handle, Signal::CONT);
            }
        }
        Err(Errno::NOSYS) => {
            let _ = kill_process(id, signal);
        }
        Err(_) => {}
    }
}

/// Fills `room` with the machine's processes, those that descend from this one marked.
fn list(room: &mut Vec<Process>) {
    room.clear();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = openat(CWD, c"/proc", flags, Mode::empty()) else {
        return;
    };
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(&folder, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let id = number(entry.file_name().to_bytes());
        let mut name = [0; 24];
        let found = id.and_then(|id| described(folder.as_fd(), path(b"", id, &mut name)));
        if let Some(process) = found.filter(|_| room.len() < room.capacity()) {
            room.push(process);
        }
    }
    let here = getpid().as_raw_nonzero().get();
    loop {
        let mut more = false;
        for index in 0..room.len() {
            let Process { parent, ours, .. } = room[index];
            let below = parent == here || room.iter().any(|other| other.ours && other.id == parent);
            if !ours && below {
                room[index].ours = true;
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

/// `PREFIX`ID`/stat`, in `room`.
fn path<'a>(prefix: &[u8], id: i32, room: &'a mut [u8; 24]) -> &'a CStr {
    let mut digits = [0; 10];
    let (mut rest, mut first) = (id.unsigned_abs(), digits.len());
    while rest > 0 && first > 0 {
        first -= 1;
        digits[first] = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
    }
    let bytes = prefix.iter().chain(&digits[first..]).chain(b"/stat\0");
    room.iter_mut()
        .zip(bytes)
        .for_each(|(place, byte)| *place = *byte);
    CStr::from_bytes_until_nul(room).unwrap_or_default()
}

/// A process, from its `stat`.
fn described(folder: BorrowedFd<'_>, path: &CStr) -> Option<Process> {
    let file = openat(
        folder,
        path,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .ok()?;
    let mut text = [0; 1024];
    let count = rustix::io::read(&file, &mut text).ok()?;
    parsed(&text[..count])
}

/// `ID (NAME) STATE PARENT …`, the name of any bytes; the time it began is the 20th word after the name.
fn parsed(stat: &[u8]) -> Option<Process> {
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

/// Ends as the child ended.
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
    fn lines_of_the_list_are_read_whatever_a_process_is_called() {
        let stat = "42 (a ) Z 1 (b)) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3";
        let found = parsed(stat.as_bytes()).unwrap();
        assert_eq!((found.id, found.parent, found.began), (42, 7, 98765));
        assert!(
            !found.ended
                && parsed(stat.replace(") S 7", ") Z 7").as_bytes())
                    .unwrap()
                    .ended
        );
        assert!(parsed(b"").is_none());
        let mut room = [0; 24];
        assert_eq!(path(b"/proc/", 4_194_304, &mut room), c"/proc/4194304/stat");
        let me = described(
            CWD,
            path(b"/proc/", getpid().as_raw_nonzero().get(), &mut [0; 24]),
        );
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!(me.unwrap().parent, parent);
    }
}
