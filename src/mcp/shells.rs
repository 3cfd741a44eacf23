//! The running shells of this user, found by their doors.
//!
//! In: the folder of sockets. Out: connections to shells that answered, with what they are. What a killed shell left
//! there is taken away. A shell of another user cannot be here: the folder is the user's own, and who answers is looked
//! at, too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::door::{Knock, ShellFacts};
use super::folder::{files, sockets, take_away};
use crate::files::check_private_dir;
use crate::report::Report;

/// How long a shell may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of what it says.
const SAID: u64 = 64 << 10;

/// A shell that runs, and a connection to it.
#[derive(Debug)]
pub struct RunningShell {
    /// Its process.
    pub process: u32,
    /// Number of its session; 0: none yet.
    pub session: i64,
    /// Where it was started.
    pub started_in: PathBuf,
    /// Where its interpreter is.
    pub cwd: PathBuf,
    /// It started us.
    pub inside: bool,
    pub(super) connection: UnixStream,
}

/// The running shells, those started last first; `refused` says which did not let us in, and why.
///
/// # Errors
/// When the folder belongs to somebody else.
pub fn running(folder: &Path) -> Result<(Vec<RunningShell>, Vec<String>), Report> {
    check_private_dir(folder)?;
    let (mut shells, mut refused) = (Vec::new(), Vec::new());
    for process in sockets(folder) {
        match knock(folder, process) {
            Ok(Ok(shell)) => shells.push(shell),
            Ok(Err(why)) => refused.push(format!("shell {process}: {why}")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                take_away(folder, process);
            }
            // It has just ended.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => refused.push(format!("shell {process}: {error}")),
        }
    }
    Ok((shells, refused))
}

/// Connects to a shell; the inner error is its refusal.
fn knock(folder: &Path, process: u32) -> io::Result<Result<RunningShell, String>> {
    let (socket, key) = files(folder, process);
    let connection = UnixStream::connect(socket)?;
    let token = std::fs::read_to_string(key)?;
    let peer = rustix::net::sockopt::socket_peercred(&connection)?;
    if peer.uid != rustix::process::geteuid() {
        return Ok(Err("it belongs to another user".into()));
    }
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut knock = serde_json::to_vec(&Knock { token })?;
    knock.push(b'\n');
    (&connection).write_all(&knock)?;
    let mut said = Vec::new();
    // Not a byte beyond the line: what follows is for the client.
    let mut reader = BufReader::with_capacity(1, connection.try_clone()?.take(SAID));
    reader.read_until(b'\n', &mut said)?;
    connection.set_read_timeout(None)?;
    let said: Value = serde_json::from_slice(&said)?;
    if let Some(why) = said["refused"].as_str() {
        return Ok(Err(why.to_owned()));
    }
    let facts: ShellFacts = serde_json::from_value(said)?;
    Ok(Ok(RunningShell {
        process,
        session: facts.session,
        started_in: facts.started_in,
        cwd: facts.cwd,
        inside: facts.inside,
        connection,
    }))
}
