//! `initialize`: the first request, without which all others are refused.

use serde::Serialize;

/// Who we are and what we want.
#[derive(Debug, Serialize)]
pub(crate) struct InitializeParams<'a> {
    #[serde(rename = "clientInfo")]
    pub(crate) client_info: ClientInfo<'a>,
    pub(crate) capabilities: InitializeCapabilities,
}

/// Shows up in the agent's user agent.
#[derive(Debug, Serialize)]
pub(crate) struct ClientInfo<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    pub(crate) version: &'a str,
}

/// What we opt into.
#[derive(Debug, Serialize)]
pub(crate) struct InitializeCapabilities {
    /// Needed for `dynamicTools`, `thread/inject_items` and background terminals.
    #[serde(rename = "experimentalApi")]
    pub(crate) experimental_api: bool,
}
