//! The sources of completions, and requests to them.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::found::FoundCompletion;
use super::lookup;
use super::rules::CompletionSource;
use crate::environment::Environment;
use crate::runtime::{RuntimeReply, RuntimeRequest};
use crate::session::SessionHandle;

#[derive(Clone)]
pub(in crate::terminal) struct Sources {
    session: SessionHandle,
    environment: Arc<Environment>,
}

impl Sources {
    /// `environment` provides the home directory and the search path.
    pub(in crate::terminal) fn new(session: SessionHandle, environment: Environment) -> Self {
        Sources {
            session,
            environment: Arc::new(environment),
        }
    }

    pub(super) fn ask(&self, request: RuntimeRequest) -> oneshot::Receiver<RuntimeReply> {
        self.session.ask(request)
    }

    /// Looks completions up on a thread of their own; without a thread there is no answer.
    pub(super) fn look_up(
        &self,
        source: CompletionSource,
        before: String,
    ) -> oneshot::Receiver<Vec<FoundCompletion>> {
        let (tell, told) = oneshot::channel();
        let sources = self.clone();
        let look = move || {
            let found = lookup::look_up(&source, &before, &sources.session, &sources.environment);
            // Fails when the editor no longer waits.
            let _ = tell.send(found);
        };
        let _ = std::thread::Builder::new()
            .name("completion".into())
            .spawn(look);
        told
    }
}
