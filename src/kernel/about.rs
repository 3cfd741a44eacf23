//! What the kernel says of itself: `kernel_info_reply`.

use serde_json::{Value, json};

use super::front::Introduces;
use crate::runtime::{RuntimeAnswer, RuntimeRequest, Variable};
use crate::session::SessionHandle;

/// The version of the messaging protocol that is spoken.
pub(super) const PROTOCOL: &str = "5.3";

/// What is said of the kernel of a session.
#[derive(Clone)]
pub(super) struct About(pub(super) SessionHandle);

impl Introduces for About {
    /// Waits for the interpreter, whose version is in it.
    async fn kernel(&self) -> Value {
        let version = version(&self.0).await;
        let language = self.0.language();
        let own = env!("CARGO_PKG_VERSION");
        let info = match language.as_str() {
            "Python" => python(&version),
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
            "supported_features": [],
            "help_links": [{"text": "ipycodex", "url": env!("CARGO_PKG_REPOSITORY")}],
        })
    }
}

fn python(version: &str) -> Value {
    json!({
        "name": "python",
        "version": version,
        "mimetype": "text/x-python",
        "file_extension": ".py",
        "pygments_lexer": "ipython3",
        "codemirror_mode": {"name": "ipython", "version": 3},
        "nbconvert_exporter": "python",
    })
}

/// The language's version; empty where nobody tells.
async fn version(session: &SessionHandle) -> String {
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
