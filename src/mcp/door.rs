//! The door of a running shell: a socket that clients of the same user attach to.
//!
//! Two files in a folder nobody else can enter: `PID.sock`, and `PID.key` with a random token. Whoever connects says
//! the token in the first line ([`Knock`]) and is told which shell this is ([`ShellFacts`]); from then on it is a
//! guest. Invariants: nothing is done for another user, without the token, or for more than [`GUESTS`] at a time; the
//! files are there only while the shell lives (`folder.rs` knows what a killed one left behind). The first prompt does
//! not wait for any of this.

use std::fs::{File, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::folder::{files, sweep};
use super::guest::{Guest, Host};
use crate::files::private_dir;
use crate::report::Report;
use crate::rpc::{Dialect, over_socket};
use crate::session::SessionHandle;

/// Guests at a time.
const GUESTS: usize = 16;

/// How long whoever connects may take to say the token.
const KNOCKING: Duration = Duration::from_secs(2);

/// Bytes of the first line.
const KNOCK: u64 = 4096;

/// The first line of whoever connects.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Knock {
    pub(super) token: String,
}

/// The answer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ShellFacts {
    /// Number of its session; 0: none yet.
    pub(super) session: i64,
    /// Where it was started.
    pub(super) started_in: PathBuf,
    /// Where its interpreter is.
    pub(super) cwd: PathBuf,
    /// Whoever asked was started by it.
    pub(super) inside: bool,
}

/// A door that stands open; dropping it takes its files away.
#[derive(Debug)]
pub struct Door {
    socket: PathBuf,
}

impl Door {
    /// Opens the door of this process in `folder`, for work in `session`, which was started in `started_in`. Does not
    /// wait for it; `trouble` hears why it cannot be opened: the folder is not the user's own, or the operating system
    /// refuses a socket.
    pub fn open(
        folder: &Path,
        session: SessionHandle,
        started_in: PathBuf,
        trouble: impl FnOnce(Report) + Send + 'static,
    ) -> Door {
        let (socket, key) = files(folder, std::process::id());
        let door = Door {
            socket: socket.clone(),
        };
        let folder = folder.to_owned();
        let listen = move || {
            let (listener, token) = match listen(&folder, &socket, &key) {
                Ok(listening) => listening,
                Err(report) => return trouble(report),
            };
            sweep(&folder);
            let room = Arc::new(Room {
                session,
                started_in,
                token,
                guests: AtomicUsize::new(0),
            });
            for guest in listener.incoming() {
                let Ok(guest) = guest else {
                    // Without descriptors the next one fails at once, too.
                    std::thread::sleep(KNOCKING / 10);
                    continue;
                };
                let room = Arc::clone(&room);
                let named = std::thread::Builder::new().name("mcp guest".into());
                // Without a thread the connection closes.
                drop(named.spawn(move || room.receive(guest)));
            }
        };
        // Without a thread nobody can attach; whoever tries is told that there is no shell.
        drop(
            std::thread::Builder::new()
                .name("mcp door".into())
                .spawn(listen),
        );
        door
    }
}

/// Makes the files and listens.
fn listen(folder: &Path, socket: &Path, key: &Path) -> Result<(UnixListener, String), Report> {
    private_dir(folder)?;
    let failed = |error: io::Error| {
        Report::failure("MCP clients cannot attach to this shell").because(error)
    };
    // What another process of this id left behind.
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
    // Under its name once somebody listens: a socket that refuses is taken for one that was left behind.
    let listener = UnixListener::bind(&opening).map_err(failed)?;
    let private = Permissions::from_mode(0o600);
    std::fs::set_permissions(&opening, private).map_err(failed)?;
    std::fs::rename(&opening, socket).map_err(failed)?;
    Ok((listener, token))
}

impl Drop for Door {
    fn drop(&mut self) {
        for path in [&self.socket, &self.socket.with_extension("key")] {
            drop(std::fs::remove_file(path));
        }
    }
}

/// What is behind the door.
struct Room {
    session: SessionHandle,
    started_in: PathBuf,
    token: String,
    guests: AtomicUsize,
}

impl Room {
    /// Looks who it is, and serves them until they leave.
    fn receive(&self, guest: UnixStream) {
        let count = self.guests.fetch_add(1, Ordering::SeqCst);
        // A guest that left in the middle of it left.
        drop(self.serve(guest, count < GUESTS));
        self.guests.fetch_sub(1, Ordering::SeqCst);
    }

    fn serve(&self, guest: UnixStream, room: bool) -> io::Result<()> {
        let peer = rustix::net::sockopt::socket_peercred(&guest)?;
        if peer.uid != rustix::process::geteuid() {
            return refuse(guest, "this shell belongs to another user");
        }
        if !room {
            let why = format!("{GUESTS} clients work in this shell already");
            return refuse(guest, &why);
        }
        guest.set_read_timeout(Some(KNOCKING))?;
        let mut line = Vec::new();
        // Byte by byte beyond the line nothing may be taken: what follows it is the guest's.
        let mut knocking = BufReader::with_capacity(1, guest.try_clone()?.take(KNOCK));
        knocking.read_until(b'\n', &mut line)?;
        let knock: Option<Knock> = serde_json::from_slice(&line).ok();
        if !knock.is_some_and(|knock| same(&knock.token, &self.token)) {
            return refuse(guest, "the token is wrong");
        }
        guest.set_read_timeout(None)?;
        let inside = is_ours(peer.pid.as_raw_nonzero().get().unsigned_abs());
        let facts = ShellFacts {
            session: self.session.started().map_or(0, |start| start.number),
            started_in: self.started_in.clone(),
            cwd: self.session.surroundings().cwd,
            inside,
        };
        let mut told = serde_json::to_vec(&facts)?;
        told.push(b'\n');
        (&guest).write_all(&told)?;
        let (peer, lines, gone) = over_socket(guest, Dialect::Versioned, "mcp")?;
        let host = Host {
            session: self.session.clone(),
            allowance: None,
            inside,
        };
        Guest::new(host, peer).receive(lines, gone)
    }
}

fn refuse(mut guest: UnixStream, why: &str) -> io::Result<()> {
    let told = serde_json::json!({ "refused": why });
    guest.write_all(format!("{told}\n").as_bytes())
}

/// 256 random bits.
fn token() -> io::Result<String> {
    let mut random = [0_u8; 32];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares without telling by the time it takes where they differ.
fn same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    let differ = pairs.fold(0, |differ, (a, b)| differ | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differ) == 0
}

/// Whether this process is one that we started, or that such a one did.
fn is_ours(process: u32) -> bool {
    let mut at = process;
    // A chain of parents that is longer than this is none.
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
            assert_eq!(same(one, other), equal, "{one} {other}");
        }
        let (one, other) = (token().unwrap(), token().unwrap());
        assert!(one.len() == 64 && one != other);
    }

    #[test]
    fn a_child_of_ours_is_ours_and_our_parent_is_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        assert!(is_ours(child.id()));
        assert!(is_ours(std::process::id()));
        assert!(!is_ours(1));
        assert!(!is_ours(std::os::unix::process::parent_id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
