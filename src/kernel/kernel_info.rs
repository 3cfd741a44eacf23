//! The kernel's description of itself: `kernel_info_reply`.
//!
//! Clients wait for it before anything else, so it does not wait for the interpreter: the program behind the
//! interpreter is asked for its version directly, which takes a tenth of the time.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::jupyter::PROTOCOL;
use crate::notebook::python_language_info;
use crate::process::output_within;
use crate::runtime::{ReferenceValue, RuntimeReply, RuntimeRequest};
use crate::session::SessionHandle;

/// Time for a Python to report its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) trait KernelInfo {
    /// Content of `kernel_info_reply`.
    async fn kernel_info(&self) -> Value;
}

/// Content of `kernel_info_reply` for a kernel of this name, language and banner.
pub(super) fn info_reply(implementation: &str, language_info: Value, banner: String) -> Value {
    json!({
        "status": "ok",
        "protocol_version": PROTOCOL,
        "implementation": implementation,
        "implementation_version": VERSION,
        "language_info": language_info,
        "banner": banner,
        "debugger": false,
        // Optional features of protocol 5.5: none.
        "supported_features": [],
        "help_links": [{"text": "ipycodex", "url": env!("CARGO_PKG_REPOSITORY")}],
    })
}

#[derive(Clone)]
pub(super) struct SessionKernelInfo {
    session: SessionHandle,
    /// The Python of cells, where they run in an interpreter of our own.
    python: Option<PathBuf>,
    version: Arc<OnceCell<String>>,
}

impl SessionKernelInfo {
    /// Begins to look up the version. Needs a Tokio runtime.
    pub(super) fn new(python: Option<PathBuf>, session: SessionHandle) -> Self {
        let info = SessionKernelInfo {
            session,
            python,
            version: Arc::default(),
        };
        let prefetch = info.clone();
        tokio::spawn(async move { drop(prefetch.version().await) });
        info
    }

    /// The version of the language; empty when it is unknown.
    async fn version(&self) -> String {
        let version = self.version.get_or_init(async || {
            let python = self.python.clone();
            let ask = move || python.and_then(|python| program_version(&python));
            match tokio::task::spawn_blocking(ask).await {
                Ok(Some(version)) => version,
                _ => session_version(&self.session).await,
            }
        });
        version.await.clone()
    }
}

impl KernelInfo for SessionKernelInfo {
    async fn kernel_info(&self) -> Value {
        let version = self.version().await;
        let language = self.session.language();
        let info = match language.as_str() {
            "Python" => {
                let mut info = python_language_info();
                info["version"] = version.as_str().into();
                info
            }
            other => json!({
                "name": other.to_lowercase(),
                "version": version,
                "mimetype": "text/plain",
                "file_extension": ".txt",
            }),
        };
        let banner = format!(
            "ipycodex {VERSION}, {language} {version}: a cell that starts with `.` is a prompt for the agent; \
             `%ipycodex help` lists the commands"
        );
        info_reply("ipycodex", info, banner)
    }
}

/// The version of a Python; `None` for one too old to run cells, for which another is used.
fn program_version(python: &Path) -> Option<String> {
    let mut command = Command::new(python);
    let question = "import sys; print(sys.version_info >= (3, 8), sys.version.split()[0])";
    command.args(["-I", "-S", "-c", question]);
    let answer = output_within(&mut command, VERSION_TIMEOUT).ok()??;
    let text = String::from_utf8(answer.stdout).ok()?;
    let version = text.trim().strip_prefix("True ")?;
    Some(version.to_owned())
}

/// The version that the interpreter reports, once it is ready.
async fn session_version(session: &SessionHandle) -> String {
    let answer = session.ask(RuntimeRequest::Evaluate {
        variables: vec!["__import__('platform').python_version()".to_owned()],
        shells: Vec::new(),
    });
    let Ok(RuntimeReply::Evaluated { variables, .. }) = answer.await else {
        return String::new();
    };
    match variables.into_iter().next() {
        Some(ReferenceValue::Value {
            text,
            failed: false,
            ..
        }) => text,
        _ => String::new(),
    }
}
