//! Real gateways for these tests, each in a process of its own.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ipycodex::jupyter::{Gateway, ReservedPort};

use crate::support::{await_true, peers};

pub(super) const TOKEN: &str = "sesame";

/// A gateway of its own, ended with this.
pub(super) struct Served {
    child: Child,
    pub(super) address: String,
    home: tempfile::TempDir,
    _port: ReservedPort,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    pub(super) fn start(more: &[&str]) -> Option<Self> {
        let app = ("kernel_gateway", "KernelGatewayApp");
        Some(Served::of(&peers::kernels()?, app, more))
    }

    /// A gateway that is this module of this Python, with this name for its settings.
    pub(super) fn of(python: &Path, (module, app): (&str, &str), more: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let kept = ReservedPort::find().unwrap();
        let port = kept.number();
        let programs = python.parent().unwrap().display();
        let mut command = Command::new(python);
        command
            .args(["-m", module])
            .arg(format!("--{app}.ip=127.0.0.1"))
            .arg(format!("--{app}.port={port}"))
            .arg(format!("--{app}.auth_token={TOKEN}"))
            .arg(format!("--{app}.port_retries=0"))
            .args(more)
            .envs([("HOME", home.path()), ("IPYTHONDIR", home.path())])
            .env(
                "PATH",
                format!("{programs}:{}", std::env::var("PATH").unwrap()),
            )
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let served = Served {
            child: command.spawn().unwrap(),
            address: format!("127.0.0.1:{port}"),
            home,
            _port: kept,
        };
        await_true("the gateway listens", || {
            TcpStream::connect(&served.address).is_ok()
        });
        served
    }

    /// Where its kernels start.
    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(super) fn gateway(&self) -> Gateway {
        gateway(&self.address, TOKEN)
    }

    /// How many kernels it runs.
    pub(super) fn running(&self) -> usize {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let children =
            |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children"));
        let children = tasks.flatten().filter_map(|task| children(task).ok());
        children.map(|pids| pids.split_whitespace().count()).sum()
    }
}

pub(super) fn gateway(address: &str, token: &str) -> Gateway {
    Gateway::at(&format!("http://{address}"), Some(token.to_owned())).unwrap()
}
