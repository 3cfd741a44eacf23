//! Processes as `/proc` describes them: parents, the jobs of a shell's session, and processes that wait for input.
//!
//! Document: proc(5), `/proc/PID/stat`, `cmdline`, `comm`, `syscall`. Invariant: what cannot be read is `None`, empty
//! or false, never an error. Absent on purpose: the shell's own numbers of its jobs.

use std::path::Path;

use rustix::process::Pid;

/// System call number of `read`.
const READ: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("0")
} else if cfg!(target_arch = "aarch64") {
    Some("63")
} else {
    None
};

/// Returns true while the process is blocked in a read of its standard input; false where the kernel does not say
/// (a process of another user, another architecture than those above).
pub fn reads_input(process: Pid) -> bool {
    let syscall = std::fs::read_to_string(format!("/proc/{}/syscall", process.as_raw_nonzero()));
    let syscall = syscall.unwrap_or_default();
    let mut fields = syscall.split(' ');
    let (number, descriptor) = (fields.next(), fields.next());
    READ.is_some_and(|read| number == Some(read)) && descriptor == Some("0x0")
}

/// The command lines of the processes in the session of `leader` but its own; empty where `/proc` cannot be read. A
/// fork of the leader that runs part of a command has the leader's command line, so the program name stands in for it.
pub fn session_commands(leader: u32) -> Vec<String> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let leader_line = command_line(&Path::new("/proc").join(leader.to_string()));
    let jobs = processes.flatten().filter_map(|entry| {
        let (id, process) = (entry.file_name(), entry.path());
        let is_job = id.to_str()?.parse() != Ok(leader) && is_in_session(&process, leader);
        let line = is_job.then(|| command_line(&process)).flatten()?;
        if leader_line.as_ref() != Some(&line) {
            return Some(line);
        }
        let program = std::fs::read_to_string(process.join("comm")).ok()?;
        Some(program.trim_end().to_owned())
    });
    jobs.collect()
}

/// Returns true for a process of this session that is no zombie.
fn is_in_session(process: &Path, leader: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(process.join("stat")) else {
        return false;
    };
    // The name, in parentheses, may contain parentheses: state, parent, group and session follow the last one.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = fields.split_whitespace();
    let ended = fields.next().is_none_or(|state| state == "Z");
    !ended && fields.nth(2) == Some(&leader.to_string())
}

fn command_line(process: &Path) -> Option<String> {
    let words = std::fs::read(process.join("cmdline")).ok()?;
    let words: Vec<_> = words
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(String::from_utf8_lossy)
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

pub(super) fn parent(process: Pid) -> Option<Pid> {
    let path = format!("/proc/{}/stat", process.as_raw_pid());
    let stat = std::fs::read_to_string(path).ok()?;
    // The name, in parentheses, can hold anything; state and parent follow it.
    let (_, behind) = stat.rsplit_once(')')?;
    Pid::from_raw(behind.split_whitespace().nth(1)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use rustix::process::getppid;

    use super::*;

    #[test]
    fn a_parent_is_found() {
        assert_eq!(parent(rustix::process::getpid()), getppid());
        assert_eq!(parent(Pid::from_raw(i32::MAX).unwrap()), None);
    }

    #[test]
    fn jobs_of_a_session_are_found_and_no_others() {
        let mut shell = Command::new("setsid")
            .args([
                "-w",
                "sh",
                "-c",
                "sleep 1001 & one=$!; sleep 1002 & echo $$; read line; kill $one $!",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let leader = line.trim().parse().unwrap();
        let found = || {
            let mut jobs = session_commands(leader);
            jobs.sort_unstable();
            jobs
        };
        // A fork has its parent's command line for a moment.
        let deadline = Instant::now() + Duration::from_secs(10);
        while found() != ["sleep 1001", "sleep 1002"] {
            assert!(Instant::now() < deadline, "{:?}", found());
            std::thread::sleep(Duration::from_millis(5));
        }
        shell.stdin.take().unwrap().write_all(b"\n").unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn a_process_that_reads_is_told_from_one_that_sleeps() {
        for (program, reads) in [(&["cat"][..], true), (&["sleep", "60"], false)] {
            let mut command = Command::new(program[0]);
            command.args(&program[1..]).stdin(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
            let deadline = Instant::now() + Duration::from_secs(if reads { 10 } else { 1 });
            let mut seen = false;
            while !seen && Instant::now() < deadline {
                seen = reads_input(pid);
                std::thread::sleep(Duration::from_millis(5));
            }
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(seen, reads, "{program:?}");
        }
    }
}
