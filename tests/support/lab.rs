//! JupyterLab and a browser without a screen.
//!
//! In: a home, whose notebooks it serves; scripts of node that drive the browser. Out: what they say. Invariants: the
//! server ends with its [`Lab`], a test that panics included; a browser ends with the script that drives it.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use ipycodex::jupyter::ReservedPort;

use super::home::Home;
use super::{await_true, peers};

/// JupyterLab, killed by the system when the thread that started it is gone.
const BELOW: &str = "import ctypes, runpy; ctypes.CDLL(None).prctl(1, 9); \
    runpy.run_module('jupyterlab', run_name='__main__', alter_sys=True)";

/// A server on the notebooks of a home.
pub struct Lab {
    server: Child,
    port: ReservedPort,
    log: PathBuf,
    pub packages: PathBuf,
    pub chromium: PathBuf,
}

impl Lab {
    /// `None`: it cannot be had, and that was said.
    pub fn start(home: &Home) -> Option<Self> {
        let (python, (packages, chromium)) = (peers::lab()?, peers::browser()?);
        // No news are looked for, no cell out of sight is taken from the page.
        for (extension, settings) in [
            (
                "apputils-extension/notification",
                r#"{"fetchNews": "false", "checkForUpdates": false}"#,
            ),
            ("notebook-extension/tracker", r#"{"windowingMode": "none"}"#),
        ] {
            let below = "home/.jupyter/lab/user-settings/@jupyterlab";
            let file = format!("{below}/{extension}.jupyterlab-settings");
            let file = home.path().join(file);
            std::fs::create_dir_all(file.parent().expect("it is below a folder"))
                .expect("our own folder");
            std::fs::write(file, settings).expect("our own folder");
        }
        let port = ReservedPort::find().expect("a loopback port");
        let numbered = format!("--ServerApp.port={}", port.number());
        let words = [
            "-c",
            BELOW,
            "--no-browser",
            "--allow-root",
            "--IdentityProvider.token=",
            "--ServerApp.port_retries=0",
            numbered.as_str(),
        ];
        let log = home.path().join("lab.log");
        let server = home
            .foreign(&python, &words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).expect("our own folder"))
            .spawn()
            .expect("Python can be started");
        let lab = Lab {
            server,
            port,
            log,
            packages,
            chromium,
        };
        await_true("JupyterLab listens", || {
            TcpStream::connect(("127.0.0.1", lab.port.number())).is_ok()
        });
        Some(lab)
    }

    /// The command that runs `script` on a notebook; `way`: `lab`, or `doc` for the notebook alone.
    pub fn browser(
        &self,
        home: &Home,
        script: &str,
        way: &str,
        notebook: &str,
        words: &[&str],
    ) -> Command {
        let file = home.path().join("lab.mjs");
        std::fs::write(&file, script).expect("our own folder");
        let file = file.to_str().expect("our paths are UTF-8");
        let address = format!(
            "http://127.0.0.1:{}/{way}/tree/{notebook}?reset",
            self.port.number()
        );
        let words = [&[file, &address], words].concat();
        let mut command = home.foreign("node".as_ref(), &words);
        command.env("PACKAGES", &self.packages);
        command.env("CHROMIUM", &self.chromium);
        command
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Its kernels see that it is gone.
        let _ = self.server.kill();
        let _ = self.server.wait();
        if std::thread::panicking() {
            let said = std::fs::read_to_string(&self.log).unwrap_or_default();
            eprintln!("JupyterLab said:\n{said}");
        }
    }
}
