//! What the kernel says of itself: `kernel_info_reply`.
//!
//! Clients wait for it before anything else, so it does not wait for the interpreter to be ready: the program it is
//! started from is asked for its version by itself, which takes a tenth of that.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::front::Introduces;
use crate::jupyter::PROTOCOL;
use crate::notebook::python;
use crate::process::short_answer;
use crate::runtime::{RuntimeAnswer, RuntimeRequest, Variable};
use crate::session::SessionHandle;

/// How long a Python may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is said of the kernel of a session.
#[derive(Clone)]
pub(super) struct About {
    session: SessionHandle,
    /// What cells run in, where that is a program.
    python: Option<PathBuf>,
    version: Arc<OnceCell<String>>,
}

impl About {
    /// The version is asked for from here on. Needs a Tokio runtime.
    pub(super) fn new(python: Option<PathBuf>, session: SessionHandle) -> Self {
        let about = About {
            session,
            python,
            version: Arc::default(),
        };
        let asks = about.clone();
        tokio::spawn(async move { drop(asks.version().await) });
        about
    }

    /// The language's version; empty where nobody tells.
    async fn version(&self) -> String {
        let asked = self.version.get_or_init(async || {
            let python = self.python.clone();
            let tells = move || python.and_then(|python| version_of(&python));
            match tokio::task::spawn_blocking(tells).await {
                Ok(Some(version)) => version,
                _ => version_within(&self.session).await,
            }
        });
        asked.await.clone()
    }
}

impl Introduces for About {
    async fn kernel(&self) -> Value {
        let version = self.version().await;
        let language = self.session.language();
        let own = env!("CARGO_PKG_VERSION");
        let info = match language.as_str() {
            "Python" => {
                let mut info = python();
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
        json!({
            "status": "ok",
            "protocol_version": PROTOCOL,
            "implementation": "ipycodex",
            "implementation_version": own,
            "language_info": info,
            "banner": format!(
                "ipycodex {own}, {language} {version}: a cell that starts with `.` is a prompt for the agent; \
                 `%ipycodex help` lists the commands"
            ),
            "debugger": false,
            // Those that version 5.5 leaves to kernels: none of them.
            "supported_features": [],
            "help_links": [{"text": "ipycodex", "url": env!("CARGO_PKG_REPOSITORY")}],
        })
    }
}

/// The version of a Python that cells can run in: of an older one, or of none, another takes the place.
fn version_of(python: &Path) -> Option<String> {
    let mut command = Command::new(python);
    let question = "import sys; print(sys.version_info >= (3, 8), sys.version.split()[0])";
    command.args(["-I", "-S", "-c", question]);
    let answer = short_answer(&mut command, PATIENCE).ok()??;
    let text = String::from_utf8(answer.stdout).ok()?;
    let version = text.trim().strip_prefix("True ")?;
    Some(version.to_owned())
}

/// The same from the interpreter itself, once it is ready.
async fn version_within(session: &SessionHandle) -> String {
    let asked = session.ask(RuntimeRequest::Evaluate {
        variables: vec!["__import__('platform').python_version()".to_owned()],
        shells: Vec::new(),
    });
    let Ok(RuntimeAnswer::Evaluated { variables, .. }) = asked.await else {
        return String::new();
    };
    match variables.into_iter().next() {
        Some(Variable::Value {
            text,
            failed: false,
            ..
        }) => text,
        _ => String::new(),
    }
}
