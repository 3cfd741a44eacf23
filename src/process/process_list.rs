//! The processes of the machine for a guard, which takes no lock and no memory (`guard.rs`).
//!
//! In: `/proc` (proc(5): `PID/stat`, `PID/cmdline`, `thread-self/children`). Out: entries in a list whose capacity the
//! caller has reserved. Invariant: a process is signalled only while its id cannot mean another one.
//!
//! Absent on purpose: what needs memory (`procfs.rs`).

use std::ffi::CStr;
use std::fmt::Display;
use std::io::Write;
use std::mem::MaybeUninit;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
};

/// One process of the machine, from `/proc/PID/stat`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub(super) id: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) began: u64,
    /// A zombie: kept as a link between its parent and its children.
    pub(super) ended: bool,
    /// A descendant of this process.
    pub(super) ours: bool,
}

impl Process {
    fn read(id: i32) -> Option<Process> {
        parse_stat(read_entry(id, "stat", &mut [0; 1024])?)
    }

    /// Whether it is the process in which Python's `multiprocessing`, or `loky`, notes the semaphores and the shared
    /// memory that others have made, to free them when the last of those has ended. `None` while a program is loaded.
    pub(super) fn is_resource_tracker(&self) -> Option<bool> {
        let name = b"resource_tracker";
        let mut text = [0; 1024];
        let command = read_entry(self.id, "cmdline", &mut text)?;
        (!command.is_empty()).then(|| command.windows(name.len()).any(|part| part == name))
    }

    /// Signals the process unless its id was reused; a stopped one is continued so that it acts on the signal.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(id) = Pid::from_raw(self.id) else {
            return;
        };
        match pidfd_open(id, PidfdFlags::empty()) {
            Ok(handle) => {
                if Process::read(self.id).is_some_and(|found| found.began == self.began) {
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
}

/// Fills `list` with the processes of the machine, up to its capacity; descendants of this process are `ours`.
pub(super) fn list_processes(list: &mut Vec<Process>) {
    list.clear();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = openat(CWD, c"/proc", flags, Mode::empty()) else {
        return;
    };
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(&folder, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        let found = number(entry.file_name().to_bytes()).and_then(Process::read);
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

/// Reads what fits into `text` of `/proc/PROCESS/ENTRY`.
pub(super) fn read_entry<'a>(
    process: impl Display,
    entry: &str,
    text: &'a mut [u8],
) -> Option<&'a [u8]> {
    let mut path = [0; 48];
    write!(&mut path[..], "/proc/{process}/{entry}\0").ok()?;
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let count = rustix::io::read(&file, &mut *text).ok()?;
    Some(&text[..count])
}

/// Parses `ID (NAME) STATE PARENT GROUP …`, where NAME is any bytes; the start time is the 20th field after the name.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let id = stat.split(|byte| *byte == b' ').next().and_then(number)?;
    let mut words = stat[close + 1..]
        .split(|byte| *byte == b' ')
        .filter(|word| !word.is_empty());
    let state = words.next()?;
    let parent = words.next().and_then(number)?;
    let group = words.next().and_then(number)?;
    let began = std::str::from_utf8(words.nth(16)?).ok()?.parse().ok()?;
    Some(Process {
        id,
        parent,
        group,
        began,
        ended: matches!(state, b"Z" | b"X"),
        ours: false,
    })
}

fn number(name: &[u8]) -> Option<i32> {
    std::str::from_utf8(name).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_parsed_whatever_the_process_is_called() {
        let stat = "42 (a ) Z 1 (b)) S 7 41 40 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3";
        let found = parse_stat(stat.as_bytes()).unwrap();
        let numbers = (found.id, found.parent, found.group, found.began);
        assert_eq!(numbers, (42, 7, 41, 98765));
        assert!(!found.ended);
        let zombie = parse_stat(stat.replace(") S 7", ") Z 7").as_bytes());
        assert!(zombie.unwrap().ended);
        assert!(parse_stat(b"").is_none());
        let me = Process::read(getpid().as_raw_nonzero().get()).unwrap();
        let parent = rustix::process::getppid().unwrap();
        let group = rustix::process::getpgrp();
        let expected = [parent, group].map(|id| id.as_raw_nonzero().get());
        assert_eq!([me.parent, me.group], expected);
        assert_eq!(me.is_resource_tracker(), Some(false));
    }
}
