//! The MCP servers for the agent: those the user added, those of the project's and of the user's Codex.
//!
//! Pure but for reading Codex's files, which are never written to. Of several servers with one name, the user's
//! takes precedence over the project's, and that over the global one. Disabled servers are listed and not started.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::agent::McpServer;

/// Source of a server; servers are listed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ServerSource {
    User,
    Project,
    Global,
}

impl ServerSource {
    pub(super) fn name(self) -> &'static str {
        match self {
            ServerSource::User => "user",
            ServerSource::Project => "codex-project",
            ServerSource::Global => "codex-global",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedServer {
    pub(super) server: McpServer,
    pub(super) source: ServerSource,
    pub(super) enabled: bool,
}

/// The servers in Codex's files, as of the last reading.
#[derive(Debug, Clone, Default)]
pub(super) struct CodexServers {
    servers: Vec<(ServerSource, McpServer)>,
    /// A line for each file that could not be read.
    pub(super) warnings: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct McpServers {
    user: Vec<McpServer>,
    disabled: BTreeSet<String>,
    pub(super) ignores_codex: bool,
}

impl McpServers {
    /// All servers, in the order of the list.
    pub(super) fn known(&self, codex: &CodexServers) -> Vec<ListedServer> {
        let user = self.user.iter().map(|server| (ServerSource::User, server));
        let codex = codex.servers.iter().filter(|_| !self.ignores_codex);
        let codex = codex.map(|(source, server)| (*source, server));
        let mut known: BTreeMap<&str, (ServerSource, &McpServer)> = BTreeMap::new();
        for (source, server) in user.chain(codex) {
            let place = known.entry(&server.name).or_insert((source, server));
            if source < place.0 {
                *place = (source, server);
            }
        }
        let known = known.into_values().map(|(source, server)| ListedServer {
            server: server.clone(),
            source,
            enabled: !self.disabled.contains(&server.name),
        });
        let mut known: Vec<ListedServer> = known.collect();
        known.sort_by_key(|known| known.source);
        known
    }

    /// The servers for the agent to start.
    pub(super) fn active(&self, codex: &CodexServers) -> Vec<McpServer> {
        let known = self.known(codex).into_iter().filter(|known| known.enabled);
        known.map(|known| known.server).collect()
    }

    /// Adds a server; true when it replaces one of the same name.
    pub(super) fn add(&mut self, server: McpServer) -> bool {
        self.disabled.remove(&server.name);
        match self.user.iter_mut().find(|known| known.name == server.name) {
            Some(known) => {
                *known = server;
                true
            }
            None => {
                self.user.push(server);
                false
            }
        }
    }

    /// Removes a server of the user's; false when there is none of this name.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let before = self.user.len();
        self.user.retain(|server| server.name != name);
        let removed = self.user.len() < before;
        if removed {
            self.disabled.remove(name);
        }
        removed
    }

    /// Removes all servers of the user's; returns their number.
    pub(super) fn clear(&mut self) -> usize {
        let servers = std::mem::take(&mut self.user);
        for server in &servers {
            self.disabled.remove(&server.name);
        }
        servers.len()
    }

    pub(super) fn disable(&mut self, name: &str) {
        self.disabled.insert(name.to_owned());
    }

    /// False when the server was not disabled.
    pub(super) fn enable(&mut self, name: &str) -> bool {
        self.disabled.remove(name)
    }
}

impl CodexServers {
    /// Reads Codex's files for a session in `cwd`.
    pub(super) fn read(home: Option<&Path>, cwd: &Path) -> CodexServers {
        let mut read = CodexServers::default();
        let global = home.map(|home| home.join("config.toml"));
        let project = cwd.join(".codex/config.toml");
        let same = |path: &PathBuf| path.canonicalize().ok() == project.canonicalize().ok();
        let global = global.filter(|path| !(path.exists() && same(path)));
        read.take(ServerSource::Project, &project);
        if let Some(global) = global {
            read.take(ServerSource::Global, &global);
        }
        read
    }

    fn take(&mut self, source: ServerSource, path: &Path) {
        // A missing file configures nothing.
        let Ok(bytes) = std::fs::read(path) else {
            return;
        };
        match servers(&String::from_utf8_lossy(&bytes)) {
            Ok(found) => self
                .servers
                .extend(found.into_iter().map(|server| (source, server))),
            Err(why) => self.warnings.push(format!(
                "the MCP servers of {} are left out: {why}",
                path.display()
            )),
        }
    }
}

/// The servers of a `config.toml` that are commands.
fn servers(text: &str) -> Result<Vec<McpServer>, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start].lines().count().max(1));
        format!("line {line}: {}", error.message())
    })?;
    let servers = table.get("mcp_servers").and_then(toml::Value::as_table);
    let texts = |value: Option<&toml::Value>| -> Vec<String> {
        let all = value.and_then(toml::Value::as_array).into_iter().flatten();
        all.filter_map(|value| value.as_str().map(str::to_owned))
            .collect()
    };
    let found = servers.into_iter().flatten().filter_map(|(name, told)| {
        if told.get("enabled").and_then(toml::Value::as_bool) == Some(false) {
            return None;
        }
        let variables = told.get("env").and_then(toml::Value::as_table);
        let variables = variables.into_iter().flatten();
        let variables =
            variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Some(McpServer {
            name: name.clone(),
            command: told.get("command")?.as_str()?.to_owned(),
            arguments: texts(told.get("args")),
            variables: variables.collect(),
        })
    });
    Ok(found.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, command: &str) -> McpServer {
        McpServer {
            name: name.into(),
            command: command.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
        }
    }

    #[test]
    fn the_nearer_source_wins_and_what_is_disabled_is_listed() {
        let home = tempfile::tempdir().expect("a folder");
        let project = tempfile::tempdir().expect("a folder");
        let global = "[mcp_servers.a]\ncommand = 'global'\n[mcp_servers.c]\ncommand = 'c'\nargs = ['1', '2']\n\
                      env = { K = 'v' }\n[mcp_servers.http]\nurl = 'http://x'\n\
                      [mcp_servers.off]\ncommand = 'x'\nenabled = false\n";
        std::fs::write(home.path().join("config.toml"), global).expect("written");
        std::fs::create_dir(project.path().join(".codex")).expect("made");
        let mine = "model = 'm'\n[mcp_servers.a]\ncommand = 'project'\n[mcp_servers.b]\ncommand = 'project'\n";
        std::fs::write(project.path().join(".codex/config.toml"), mine).expect("written");
        let codex = CodexServers::read(Some(home.path()), project.path());
        assert!(codex.warnings.is_empty());
        let mut servers = McpServers::default();
        let listed = |servers: &McpServers| {
            let known = servers.known(&codex);
            let line = |it: &ListedServer| {
                format!(
                    "{} {} {} {}",
                    it.server.name,
                    it.source.name(),
                    it.server.command,
                    it.enabled
                )
            };
            known.iter().map(line).collect::<Vec<_>>()
        };
        assert_eq!(
            listed(&servers),
            [
                "a codex-project project true",
                "b codex-project project true",
                "c codex-global c true"
            ]
        );
        let c = &servers.active(&codex)[2];
        assert_eq!(
            (c.arguments.as_slice(), c.variables.as_slice()),
            (
                &["1".into(), "2".into()][..],
                &[("K".into(), "v".into())][..]
            )
        );
        assert!(!servers.add(server("b", "user")) && servers.add(server("b", "mine")));
        servers.disable("a");
        assert_eq!(
            listed(&servers)[..2],
            ["b user mine true", "a codex-project project false"]
        );
        assert_eq!(servers.active(&codex).len(), 2);
        servers.ignores_codex = true;
        assert_eq!(listed(&servers), ["b user mine true"]);
        servers.ignores_codex = false;
        assert!(servers.enable("a") && !servers.enable("a"));
        assert!(servers.remove("b") && !servers.remove("b"));
        assert_eq!(servers.clear(), 0);
        assert_eq!(listed(&servers).len(), 3);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::write(home.path().join("config.toml"), "a = 1\n[mcp_servers\n").expect("written");
        let codex = CodexServers::read(Some(home.path()), Path::new("/nowhere"));
        let warning = &codex.warnings[0];
        assert!(
            warning.contains("config.toml are left out: line 2"),
            "{warning}"
        );
        assert!(
            CodexServers::read(None, Path::new("/nowhere"))
                .warnings
                .is_empty()
        );
    }
}
