//! Connection files: the addresses of a kernel's sockets, and the key that signs its messages.
//!
//! In and out: files and [`ConnectionInfo`]s. Invariant: a file of ours is readable by its owner only, since the
//! key allows running code. Absent on purpose: kernels that listen on other addresses than their file says.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jupyter_protocol::ConnectionInfo;
use jupyter_protocol::connection_info::Transport;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

/// Maximum time for a kernel of this machine to accept a connection.
const TAKES: Duration = Duration::from_secs(2);

#[derive(Debug, thiserror::Error)]
pub enum ConnectionFileError {
    #[error("the connection file `{}` cannot be read: {why}", file.display())]
    Unreadable {
        file: PathBuf,
        /// Error of the operating system.
        why: io::Error,
    },
    #[error("`{}` is not a connection file: {why}", file.display())]
    Wrong {
        file: PathBuf,
        /// Error of the JSON parser.
        why: serde_json::Error,
    },
    #[error("`{}` wants messages signed by `{scheme}`; only hmac-sha256 is known", file.display())]
    Signed {
        file: PathBuf,
        /// The scheme named in the file.
        scheme: String,
    },
}

/// Returns 32 random hexadecimal digits, or a name that is unique in this process.
pub fn unique_id() -> String {
    let mut bytes = [0; 16];
    // Without random bytes a counter keeps the names of one process distinct.
    if getrandom::fill(&mut bytes).is_err() {
        static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        bytes[..8].copy_from_slice(&count.to_le_bytes());
        bytes[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a connection file.
///
/// # Errors
/// The file is not readable, or is no connection file.
pub fn read(path: &Path) -> Result<ConnectionInfo, ConnectionFileError> {
    let file = path.to_owned();
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(why) => return Err(ConnectionFileError::Unreadable { file, why }),
    };
    let info: ConnectionInfo = match serde_json::from_slice(&text) {
        Ok(info) => info,
        Err(why) => return Err(ConnectionFileError::Wrong { file, why }),
    };
    if info.key.is_empty() || info.signature_scheme == "hmac-sha256" {
        return Ok(info);
    }
    let scheme = info.signature_scheme;
    Err(ConnectionFileError::Signed { file, scheme })
}

/// Checks that a process accepts connections at the kernel's address; blocks for at most 2 s.
///
/// # Errors
/// No process does.
pub fn check_listening(info: &ConnectionInfo) -> io::Result<()> {
    match info.transport {
        Transport::TCP => {
            let ip = match info.ip.as_str() {
                "0.0.0.0" | "*" | "localhost" => "127.0.0.1",
                ip => ip,
            };
            let address = format!("{ip}:{}", info.shell_port);
            let address = address.parse().map_err(io::Error::other)?;
            std::net::TcpStream::connect_timeout(&address, TAKES).map(drop)
        }
        Transport::IPC => {
            let path = format!("{}-{}", info.ip, info.shell_port);
            std::os::unix::net::UnixStream::connect(path).map(drop)
        }
    }
}

/// A loopback port for a server that is about to start. While this value lives, no other process is given the port,
/// and the server can listen there.
pub struct ReservedPort {
    number: u16,
    /// Bound, and not listening: a process that binds the port exclusively fails, one that sets `SO_REUSEADDR`, as
    /// servers do, succeeds.
    _socket: OwnedFd,
}

impl ReservedPort {
    /// Finds a free port below the ephemeral range (Linux assigns from 32768, others from 49152), so that no
    /// outgoing connection takes it either.
    ///
    /// # Errors
    /// There is no free port, or no random bytes.
    pub fn find() -> io::Result<Self> {
        const TRIES: usize = 100;
        for _ in 0..TRIES {
            let mut random = [0; 2];
            getrandom::fill(&mut random).map_err(io::Error::other)?;
            let number = 20_000 + u16::from_le_bytes(random) % 12_000;
            match ReservedPort::at(number) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                kept => return kept,
            }
        }
        Err(io::ErrorKind::AddrInUse.into())
    }

    fn at(number: u16) -> io::Result<Self> {
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, number)))?;
        // Set only after the bind: set before it, the port could be shared with a process that already reserved it.
        set_socket_reuseaddr(&socket, true)?;
        let _socket = socket;
        Ok(ReservedPort { number, _socket })
    }

    pub fn number(&self) -> u16 {
        self.number
    }
}

/// Creates the connection of a new kernel: reserved loopback ports and a fresh key.
///
/// # Errors
/// There are no ports, or no random bytes.
pub fn new_connection(name: &str) -> io::Result<(ConnectionInfo, Vec<ReservedPort>)> {
    let mut ports = Vec::new();
    let mut port = || -> io::Result<u16> {
        let port = ReservedPort::find()?;
        let number = port.number();
        ports.push(port);
        Ok(number)
    };
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let info = ConnectionInfo {
        ip: "127.0.0.1".into(),
        transport: Transport::TCP,
        shell_port: port()?,
        iopub_port: port()?,
        stdin_port: port()?,
        control_port: port()?,
        hb_port: port()?,
        key: key.iter().map(|byte| format!("{byte:02x}")).collect(),
        signature_scheme: "hmac-sha256".into(),
        kernel_name: Some(name.to_owned()),
    };
    Ok((info, ports))
}

/// Writes a new file into `folder`, which is created if needed, readable by its owner only.
///
/// # Errors
/// The file cannot be written.
pub fn write(info: &ConnectionInfo, folder: &Path) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!("kernel-{}.json", unique_id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(&serde_json::to_vec_pretty(info)?)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_is_nobody_elses() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (info, ports) = new_connection("bash").unwrap();
        let path = write(&info, &folder.path().join("new")).unwrap();
        assert_eq!(read(&path).unwrap(), info);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(check_listening(&info).is_err());
        let kernel = TcpListener::bind((Ipv4Addr::LOCALHOST, info.shell_port)).unwrap();
        assert!(check_listening(&info).is_ok());
        drop((kernel, ports));
    }

    #[test]
    fn a_port_is_kept_for_the_server_that_is_to_be_started() {
        let kept = ReservedPort::find().unwrap();
        let number = kept.number();
        assert!((20_000..32_000).contains(&number), "{number}");
        assert!(ReservedPort::at(number).is_err());
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).unwrap();
        assert!(ReservedPort::at(number).is_err());
        drop((server, kept));
        assert!(ReservedPort::at(number).is_ok());
    }

    #[test]
    fn what_is_no_connection_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.json");
        let said = |path: &Path| read(path).unwrap_err().to_string();
        assert!(said(&path).contains("cannot be read"), "{}", said(&path));
        std::fs::write(&path, "{\"ip\": 1}").unwrap();
        assert!(
            said(&path).contains("is not a connection file"),
            "{}",
            said(&path)
        );
        let (mut info, _) = new_connection("x").unwrap();
        info.signature_scheme = "hmac-md5".into();
        std::fs::write(&path, serde_json::to_vec(&info).unwrap()).unwrap();
        assert!(said(&path).contains("hmac-md5"), "{}", said(&path));
    }
}
