//! The socket of a running shell, which clients of the same user attach to.
//!
//! Two files in a folder that only the user can enter: `PID.sock`, and `PID.key` with a random token. A client
//! sends the token in its first line ([`Handshake`]) and receives a description of the shell ([`ShellInfo`]); after
//! that the connection is one of MCP. Invariants: nothing is done for another user, without the token, or for more
//! than [`MAX_CLIENTS`] at a time; the files exist only while the shell lives. The files of a killed shell are
//! known by a socket that refuses connections; they are removed by the next shell that starts and by each client
//! that looks for shells. The first prompt does not wait for any of this.

use std::fs::{File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::connection::{ClientContext, McpConnection};
use crate::files::private_dir;
use crate::rpc::{Dialect, over_socket};
use crate::session::SessionHandle;
use crate::text::report::Report;

const MAX_CLIENTS: usize = 16;

/// Time for a client to send the token.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest first line, in bytes.
const HANDSHAKE_BYTES: u64 = 4096;

/// The first line of a client.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Handshake {
    pub(super) token: String,
}

/// The answer to [`Handshake`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShellInfo {
    /// Number of the session; 0: none yet.
    pub(super) session: i64,
    pub(super) started_in: PathBuf,
    /// Current directory of the interpreter.
    pub(super) cwd: PathBuf,
    /// The client is a descendant of the shell's process.
    pub(super) inside: bool,
}

/// A listening socket; dropping it removes its files.
#[derive(Debug)]
pub struct SocketServer {
    socket: PathBuf,
    is_closing: Arc<AtomicBool>,
}

impl SocketServer {
    /// Opens the socket of this process in `folder` for `session`, which was started in `started_in`. Returns at once;
    /// `on_failure` gets the error when the folder is not the user's own, or the operating system refuses a socket.
    pub fn open(
        folder: &Path,
        session: SessionHandle,
        started_in: PathBuf,
        on_failure: impl FnOnce(Report) + Send + 'static,
    ) -> SocketServer {
        let (socket, key) = files(folder, std::process::id());
        let socket_server = SocketServer {
            socket: socket.clone(),
            is_closing: Arc::default(),
        };
        let is_closing = Arc::clone(&socket_server.is_closing);
        let folder = folder.to_owned();
        let listen = move || {
            let (listener, token) = match listen(&folder, &socket, &key) {
                Ok(listening) => listening,
                Err(report) => return on_failure(report),
            };
            remove_stale(&folder);
            let server = Arc::new(Server {
                session,
                started_in,
                token,
                clients: AtomicUsize::new(0),
            });
            for client in listener.incoming() {
                if is_closing.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(client) = client else {
                    // Out of descriptors: the next call would fail at once, too.
                    std::thread::sleep(HANDSHAKE_TIMEOUT / 10);
                    continue;
                };
                let server = Arc::clone(&server);
                let named = std::thread::Builder::new().name("mcp client".into());
                // Without a thread the connection is closed.
                drop(named.spawn(move || server.accept(client)));
            }
        };
        // Without a thread no client can attach; clients find no shell.
        drop(
            std::thread::Builder::new()
                .name("mcp listener".into())
                .spawn(listen),
        );
        socket_server
    }
}

fn listen(folder: &Path, socket: &Path, key: &Path) -> Result<(UnixListener, String), Report> {
    private_dir(folder)?;
    let failed = |error: io::Error| {
        Report::failure("MCP clients cannot attach to this shell").because(error)
    };
    // Files that an earlier process with this id left behind.
    let opening = socket.with_extension("opening");
    for path in [socket, key, &opening] {
        drop(std::fs::remove_file(path));
    }
    let token = token().map_err(failed)?;
    let mut options = File::options();
    let mut file = (options.write(true).create_new(true).mode(0o600))
        .open(key)
        .map_err(failed)?;
    file.write_all(token.as_bytes()).map_err(failed)?;
    // Renamed only once it listens: a socket that refuses connections counts as left behind.
    let listener = UnixListener::bind(&opening).map_err(failed)?;
    let private = Permissions::from_mode(0o600);
    std::fs::set_permissions(&opening, private).map_err(failed)?;
    std::fs::rename(&opening, socket).map_err(failed)?;
    Ok((listener, token))
}

impl Drop for SocketServer {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::SeqCst);
        // Wakes the thread that listens.
        drop(UnixStream::connect(&self.socket));
        for path in [&self.socket, &self.socket.with_extension("key")] {
            drop(std::fs::remove_file(path));
        }
    }
}

struct Server {
    session: SessionHandle,
    started_in: PathBuf,
    token: String,
    clients: AtomicUsize,
}

impl Server {
    /// Authenticates the client and serves it until it is gone.
    fn accept(&self, client: UnixStream) {
        let count = self.clients.fetch_add(1, Ordering::SeqCst);
        // An error means that the client is gone.
        drop(self.serve(client, count < MAX_CLIENTS));
        self.clients.fetch_sub(1, Ordering::SeqCst);
    }

    fn serve(&self, client: UnixStream, has_room: bool) -> io::Result<()> {
        let peer = rustix::net::sockopt::socket_peercred(&client)?;
        if peer.uid != rustix::process::geteuid() {
            return refuse(client, "this shell belongs to another user");
        }
        if !has_room {
            let why = format!("{MAX_CLIENTS} clients work in this shell already");
            return refuse(client, &why);
        }
        client.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
        let mut line = Vec::new();
        // A buffer of one byte: bytes after the line belong to the MCP connection.
        let mut reader = BufReader::with_capacity(1, client.try_clone()?.take(HANDSHAKE_BYTES));
        reader.read_until(b'\n', &mut line)?;
        let handshake: Option<Handshake> = serde_json::from_slice(&line).ok();
        if !handshake.is_some_and(|handshake| constant_time_eq(&handshake.token, &self.token)) {
            return refuse(client, "the token is wrong");
        }
        client.set_read_timeout(None)?;
        let inside = is_descendant(peer.pid.as_raw_nonzero().get().unsigned_abs());
        let facts = ShellInfo {
            session: self.session.await_start().map_or(0, |start| start.number),
            started_in: self.started_in.clone(),
            cwd: self.session.surroundings().cwd,
            inside,
        };
        let mut answer = serde_json::to_vec(&facts)?;
        answer.push(b'\n');
        (&client).write_all(&answer)?;
        let (peer, lines, closed) = over_socket(client, Dialect::Versioned, "mcp")?;
        let context = ClientContext {
            session: self.session.clone(),
            allowance: None,
            inside,
        };
        McpConnection::new(context, peer).run(lines, closed)
    }
}

fn refuse(mut client: UnixStream, why: &str) -> io::Result<()> {
    let answer = serde_json::json!({ "refused": why });
    client.write_all(format!("{answer}\n").as_bytes())
}

/// 256 random bits.
fn token() -> io::Result<String> {
    let mut random = [0_u8; 32];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares in a time that does not depend on where they differ.
fn constant_time_eq(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    let differ = pairs.fold(0, |differ, (a, b)| differ | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differ) == 0
}

/// True if the process is ours or a descendant of ours.
fn is_descendant(process: u32) -> bool {
    let mut at = process;
    // The limit guards against a loop.
    for _ in 0..64 {
        if at == std::process::id() {
            return true;
        }
        match parent(at) {
            Some(parent) if parent > 1 => at = parent,
            _ => return false,
        }
    }
    false
}

fn parent(process: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}

/// Paths of the socket and the token of the shell with this process id.
pub(super) fn files(folder: &Path, process: u32) -> (PathBuf, PathBuf) {
    let at = |suffix| folder.join(format!("{process}.{suffix}"));
    (at("sock"), at("key"))
}

/// Process ids of the sockets in the folder, the newest first.
pub(super) fn sockets(folder: &Path) -> Vec<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut sockets: Vec<_> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let path = entry.path();
            let process: u32 = path.file_stem()?.to_str()?.parse().ok()?;
            let started = entry.metadata().ok()?.modified().ok()?;
            (path.extension()? == "sock").then_some((started, process))
        })
        .collect();
    sockets.sort_by(|one, other| other.cmp(one));
    sockets.into_iter().map(|(_, process)| process).collect()
}

pub(super) fn remove_files(folder: &Path, process: u32) {
    let (socket, key) = files(folder, process);
    for path in [socket, key] {
        drop(std::fs::remove_file(path));
    }
}

/// Removes the files of all shells that were killed.
pub(super) fn remove_stale(folder: &Path) {
    for process in sockets(folder) {
        let connected = UnixStream::connect(files(folder, process).0);
        if connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            remove_files(folder, process);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_compared_whole() {
        for (one, other, equal) in [
            ("abc", "abc", true),
            ("abc", "abd", false),
            ("abc", "ab", false),
            ("", "a", false),
            ("", "", true),
        ] {
            assert_eq!(constant_time_eq(one, other), equal, "{one} {other}");
        }
        let (one, other) = (token().unwrap(), token().unwrap());
        assert!(one.len() == 64 && one != other);
    }

    #[test]
    fn a_child_is_a_descendant_and_our_parent_is_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        assert!(is_descendant(child.id()));
        assert!(is_descendant(std::process::id()));
        assert!(!is_descendant(1));
        assert!(!is_descendant(std::os::unix::process::parent_id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
