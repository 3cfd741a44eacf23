//! Bytes between whoever started us and a running shell, both ways, as they come. Who says nothing more may still wait
//! for answers; the shell is left when they are there, or when nobody takes them any more.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;

use super::shells::RunningShell;
use crate::report::Report;
use crate::rpc::taken_no_more;

/// Carries what is said until one side hangs up.
///
/// # Errors
/// When the shell ended first, or standard input or output cannot be used.
pub fn relay(shell: RunningShell) -> Result<(), Report> {
    let failed =
        |error: io::Error| Report::failure("the connection to the shell was lost").because(error);
    let connection = shell.connection;
    let input = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned().map_err(failed)?);
    let watched = output.try_clone().map_err(failed)?;
    let to_shell = connection.try_clone().map_err(failed)?;
    let (left, leaving) = std::sync::mpsc::channel();
    let carry_in = move || {
        // What went wrong, the other direction tells.
        drop(carry(input, &to_shell));
        let _ = left.send(());
        drop(to_shell.shutdown(Shutdown::Write));
        taken_no_more(&watched);
        drop(to_shell.shutdown(Shutdown::Both));
    };
    std::thread::Builder::new()
        .name("mcp in".into())
        .spawn(carry_in)
        .map_err(failed)?;
    match carry(&connection, output) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(failed(error)),
        // The client hung up first.
        Ok(()) if leaving.try_recv().is_ok() => Ok(()),
        Ok(()) => Err(Report::failure(format!(
            "the shell {} has ended",
            shell.process
        ))),
    }
}

fn carry(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut bytes = vec![0; 64 << 10];
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                to.write_all(&bytes[..read])?;
                to.flush()?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
