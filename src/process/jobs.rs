//! What runs in a session beside its leader: the jobs of a shell.
//!
//! Absent on purpose: the shell's own numbers of them.

use std::path::Path;

/// The command lines of the processes in the session of `leader`, without it; nothing where that cannot be told. A fork
/// of the leader that runs a part of what was typed has the leader's line, and is named as its program.
pub fn session_of(leader: u32) -> Vec<String> {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let of_leader = command_line(&Path::new("/proc").join(leader.to_string()));
    let jobs = processes.flatten().filter_map(|entry| {
        let (id, process) = (entry.file_name(), entry.path());
        let is_job = id.to_str()?.parse() != Ok(leader) && is_in(&process, leader);
        let line = is_job.then(|| command_line(&process)).flatten()?;
        if of_leader.as_ref() != Some(&line) {
            return Some(line);
        }
        let program = std::fs::read_to_string(process.join("comm")).ok()?;
        Some(program.trim_end().to_owned())
    });
    jobs.collect()
}

/// The process is in this session, and has not ended.
fn is_in(process: &Path, leader: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(process.join("stat")) else {
        return false;
    };
    // The name stands in brackets, and may hold some: state, parent, group and session follow the last.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

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
        let mut told = String::new();
        BufReader::new(shell.stdout.take().unwrap())
            .read_line(&mut told)
            .unwrap();
        let leader = told.trim().parse().unwrap();
        let found = || {
            let mut jobs = session_of(leader);
            jobs.sort_unstable();
            jobs
        };
        // A fork has its parent's command line for a moment.
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while found() != ["sleep 1001", "sleep 1002"] {
            assert!(std::time::Instant::now() < deadline, "{:?}", found());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        shell.stdin.take().unwrap().write_all(b"\n").unwrap();
        shell.wait().unwrap();
    }
}
