//! What these tests stand on: a home in which the kernel is installed, and programs of Python that speak to it.

use std::path::{Path, PathBuf};

use crate::support::home::{Home, PATIENCE, Ran, finish_within};
use crate::support::peers;

/// A home with the kernel, its cells in the Python of the clients, its agent the offline one.
pub(super) struct Harness {
    pub(super) home: Home,
    pub(super) python: PathBuf,
}

impl Harness {
    /// `None`: the clients cannot be had.
    pub(super) fn new() -> Option<Harness> {
        Harness::with_agent("demo")
    }

    /// The same with another agent.
    pub(super) fn with_agent(agent: &str) -> Option<Harness> {
        Harness::installed(&["--agent", agent])
    }

    /// A home with the kernel of agents; this program with these words between blanks is the agent.
    pub(super) fn of_agents(program: &str, words: &str) -> Option<Harness> {
        let mut harness = Harness::installed(&["--agent"])?;
        harness.home.set("ACP_AGENT_COMMAND", program);
        harness.home.set("ACP_AGENT_ARGS", words);
        Some(harness)
    }

    fn installed(how: &[&str]) -> Option<Harness> {
        let mut harness = Harness {
            python: peers::clients()?,
            home: Home::new(),
        };
        harness.install(how);
        Some(harness)
    }

    /// Installs the kernel for the Python of this harness.
    pub(super) fn install(&mut self, words: &[&str]) {
        let prefix = self.home.path().join("prefix");
        self.home.set("JUPYTER_PATH", prefix.join("share/jupyter"));
        let mut all = vec!["kernel", "install"];
        all.extend(words);
        all.extend(["--prefix", prefix.to_str().unwrap()]);
        all.extend(["--python", self.python.to_str().unwrap()]);
        let installed = self.home.run(&all, "");
        assert_eq!(installed.code(), 0, "{installed:?}");
    }

    /// Runs a program of these tests, found below `tests/kernel`: each wait in it has a limit of its own, the whole of
    /// it a long one.
    pub(super) fn python(&self, file: &str, words: &[&str]) -> Ran {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/kernel")
            .join(file);
        let mut all = vec![file.to_str().unwrap()];
        all.extend(words);
        finish_within(self.home.foreign(&self.python, &all), b"", 3 * PATIENCE)
    }

    /// A program beside the Python of the clients: `jupyter-execute` and its like.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.python.with_file_name(name)
    }
}

/// Runs one conversation; what it expects it says itself.
pub(super) fn converse(name: &str) {
    if let Some(harness) = Harness::new() {
        let ran = harness.python("conversations.py", &[name]);
        assert_eq!(ran.code(), 0, "{}\n{}", ran.stdout, ran.stderr);
    }
}
