//! `initialize`: the first request; all others are refused before it.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct InitializeParams<'a> {
    #[serde(rename = "clientInfo")]
    pub(crate) client_info: ClientInfo<'a>,
    pub(crate) capabilities: InitializeCapabilities,
}

/// Part of the app-server's user agent string.
#[derive(Debug, Serialize)]
pub(crate) struct ClientInfo<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    pub(crate) version: &'a str,
}

#[derive(Debug, Serialize)]
pub(crate) struct InitializeCapabilities {
    /// Needed for `dynamicTools`, `thread/inject_items` and background terminals.
    #[serde(rename = "experimentalApi")]
    pub(crate) experimental_api: bool,
}
