//! Whether a process waits for what is typed: what the kernel tells of the system call it is in.
//!
//! In: a process. Out: true when it reads its standard input at this moment. Where the kernel does not tell (a process
//! of somebody else, another machine than those below), it is taken for busy. Document: proc(5), `/proc/PID/syscall`.

use rustix::process::Pid;

/// The number of `read`.
const READ: Option<&str> = if cfg!(target_arch = "x86_64") {
    Some("0")
} else if cfg!(target_arch = "aarch64") {
    Some("63")
} else {
    None
};

/// True while the process reads its standard input and waits.
pub fn reads_input(process: Pid) -> bool {
    let told = std::fs::read_to_string(format!("/proc/{}/syscall", process.as_raw_nonzero()));
    let told = told.unwrap_or_default();
    let mut words = told.split(' ');
    let (call, descriptor) = (words.next(), words.next());
    READ.is_some_and(|read| call == Some(read)) && descriptor == Some("0x0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn one_that_reads_is_told_from_one_that_sleeps() {
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
