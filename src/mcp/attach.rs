//! The client side of a running shell's socket: finds the shells of this user and copies bytes to and from one of them.
//!
//! In: the folder of sockets. Out: connections to the shells that answered, and the facts each reported. The files of a
//! killed shell are removed. Sockets of another user are refused twice: the folder is the user's own, and the peer's
//! credentials are checked.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::socket_server::{Handshake, ShellInfo, files, remove_files, sockets};
use crate::files::check_private_dir;
use crate::rpc::wait_until_closed;
use crate::text::report::Report;

/// How long a shell may take to answer the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest answer to the handshake, in bytes.
const MAX_INFO_BYTES: u64 = 64 << 10;

/// A running shell, and a connection to it.
#[derive(Debug)]
pub struct RunningShell {
    pub process: u32,
    /// Number of the session; 0: none yet.
    pub session: i64,
    pub started_in: PathBuf,
    /// Current directory of the interpreter.
    pub cwd: PathBuf,
    /// True when our process is a descendant of the shell's.
    pub inside: bool,
    pub(super) connection: UnixStream,
}

/// The running shells, the newest first, and a line for each shell that refused the connection.
///
/// # Errors
/// When the folder belongs to another user.
pub fn running_shells(folder: &Path) -> Result<(Vec<RunningShell>, Vec<String>), Report> {
    check_private_dir(folder)?;
    let (mut shells, mut refused) = (Vec::new(), Vec::new());
    for process in sockets(folder) {
        match connect(folder, process) {
            Ok(Ok(shell)) => shells.push(shell),
            Ok(Err(why)) => refused.push(format!("shell {process}: {why}")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                remove_files(folder, process);
            }
            // The shell has just ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => refused.push(format!("shell {process}: {error}")),
        }
    }
    Ok((shells, refused))
}

/// Connects to a shell; the inner error is its refusal.
fn connect(folder: &Path, process: u32) -> io::Result<Result<RunningShell, String>> {
    let (socket, key) = files(folder, process);
    let connection = UnixStream::connect(socket)?;
    let token = std::fs::read_to_string(key)?;
    let peer = rustix::net::sockopt::socket_peercred(&connection)?;
    if peer.uid != rustix::process::geteuid() {
        return Ok(Err("it belongs to another user".into()));
    }
    connection.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    let mut handshake = serde_json::to_vec(&Handshake { token })?;
    handshake.push(b'\n');
    (&connection).write_all(&handshake)?;
    let mut answer = Vec::new();
    // A buffer of one byte: bytes after the line are for the client.
    let mut reader = BufReader::with_capacity(1, connection.try_clone()?.take(MAX_INFO_BYTES));
    reader.read_until(b'\n', &mut answer)?;
    connection.set_read_timeout(None)?;
    let answer: Value = serde_json::from_slice(&answer)?;
    if let Some(why) = answer["refused"].as_str() {
        return Ok(Err(why.to_owned()));
    }
    let info: ShellInfo = serde_json::from_value(answer)?;
    Ok(Ok(RunningShell {
        process,
        session: info.session,
        started_in: info.started_in,
        cwd: info.cwd,
        inside: info.inside,
        connection,
    }))
}

/// Copies bytes both ways until one side closes. A client that has stopped writing may still wait for responses; the
/// connection is kept until the client stops reading, too.
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
    let (client_closed, client_close) = std::sync::mpsc::channel();
    let copy_in = move || {
        // The other direction reports the error.
        drop(copy(input, &to_shell));
        let _ = client_closed.send(());
        drop(to_shell.shutdown(Shutdown::Write));
        wait_until_closed(&watched);
        drop(to_shell.shutdown(Shutdown::Both));
    };
    std::thread::Builder::new()
        .name("mcp in".into())
        .spawn(copy_in)
        .map_err(failed)?;
    match copy(&connection, output) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(failed(error)),
        // The client closed first.
        Ok(()) if client_close.try_recv().is_ok() => Ok(()),
        Ok(()) => Err(Report::failure(format!(
            "the shell {} has ended",
            shell.process
        ))),
    }
}

fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
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
