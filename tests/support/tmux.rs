//! The program in a tmux of its own, attached to a virtual terminal.
//!
//! In: keys, as a terminal would send them to tmux ([`Tmux::pty`]) or by tmux's names ([`Tmux::keys`]), and pastes.
//! Out: what tmux draws ([`Tmux::pty`] again, with all its waits), and what tmux holds of the pane, scrollback included
//! ([`Tmux::pane`]).
//!
//! Invariants: a server of its own (`-S`) with a configuration of its own, so that nothing of the developer's tmux is
//! seen or touched; it is killed on drop, with all that ran in it. Where there is no tmux the test says so and is
//! skipped; with `CI=true` it fails.

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::home::Home;
use super::pty::Pty;

/// A server with one session, one window, one pane, and a client in front of it.
pub struct Tmux {
    /// The client's terminal: what is typed here passes tmux, what is seen is drawn by it.
    pub pty: Pty,
    program: PathBuf,
    /// Holds the server's socket; short, because such paths have to be.
    folder: tempfile::TempDir,
    variables: Vec<(std::ffi::OsString, std::ffi::OsString)>,
}

impl Tmux {
    /// Starts the program under test in tmux; `size` is columns and rows. `None` where there is no tmux.
    pub fn start<S: AsRef<OsStr>>(home: &Home, arguments: &[S], size: (u16, u16)) -> Option<Tmux> {
        let mut words = vec![OsStr::new(env!("CARGO_BIN_EXE_ipycodex"))];
        words.extend(arguments.iter().map(AsRef::as_ref));
        Tmux::running(home, "", &words, size)
    }

    /// Starts any program in tmux, with these lines in its configuration.
    pub fn running<S: AsRef<OsStr>>(
        home: &Home,
        settings: &str,
        program_and_arguments: &[S],
        size: (u16, u16),
    ) -> Option<Tmux> {
        let program = installed()?;
        let folder = tempfile::tempdir_in("/tmp").expect("/tmp can be written");
        let socket = folder.path().join("socket");
        let configuration = home.path().join("tmux.conf");
        // Without its prefix, so that Ctrl-B is the program's.
        let lines = "set -g status off\nset -g default-terminal screen-256color\nset -s escape-time 20\n\
                     set -g prefix None\n";
        std::fs::write(&configuration, format!("{lines}{settings}")).expect("our own folder");
        let mut words = vec![OsStr::new("-S"), socket.as_os_str()];
        words.extend([OsStr::new("-f"), configuration.as_os_str()]);
        words.push(OsStr::new("new-session"));
        words.extend(program_and_arguments.iter().map(AsRef::as_ref));
        let pty = Pty::spawn_program(home, &program, &words, size);
        Some(Tmux {
            pty,
            program,
            folder,
            variables: home.variables().to_vec(),
        })
    }

    /// Types keys by tmux's names for them: `M-.`, `F2`, `BTab`, `C-r`.
    pub fn keys(&self, names: &[&str]) {
        let mut words = vec!["send-keys"];
        words.extend(names);
        self.command(&words, "");
    }

    /// Pastes text as a terminal does, in brackets when the program asked for them.
    pub fn paste(&self, text: &str) {
        self.command(&["load-buffer", "-"], text);
        self.command(&["paste-buffer", "-p", "-d"], "");
    }

    /// The pane's lines: what has scrolled off, and the screen.
    pub fn pane(&self) -> String {
        self.command(&["capture-pane", "-p", "-J", "-S", "-"], "")
    }

    /// The lines on the screen, one for each row.
    pub fn screen(&self) -> String {
        self.command(&["capture-pane", "-p"], "")
    }

    /// What tmux knows of the pane, by its names: `#{pane_title}`.
    pub fn format(&self, format: &str) -> String {
        let line = self.command(&["display-message", "-p", format], "");
        line.trim_end().to_owned()
    }

    /// What was copied last.
    pub fn buffer(&self) -> String {
        self.command(&["show-buffer"], "")
    }

    fn command(&self, words: &[&str], input: &str) -> String {
        let mut child = self
            .client(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it was started before");
        let mut stdin = child.stdin.take().expect("piped above");
        stdin.write_all(input.as_bytes()).expect("it reads all");
        drop(stdin);
        let output = child.wait_with_output().expect("our own child");
        assert!(output.status.success(), "tmux {words:?} failed");
        String::from_utf8(output.stdout).expect("our text is UTF-8")
    }

    fn client(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("-S").arg(self.folder.path().join("socket"));
        command.args(words).env_clear();
        command.envs(self.variables.iter().cloned());
        command
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // A server that has ended with its only program says so by failing.
        let mut end = self.client(&["kill-server"]);
        let _ = end.stderr(Stdio::null()).status();
    }
}

/// tmux on this machine.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join("tmux"))
        .find(|program| program.is_file());
    if found.is_none() {
        let why = "no tmux on PATH (apt-get install tmux)";
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "{why}, and CI skips nothing"
        );
        eprintln!("SKIPPED: {why}");
    }
    found
}
