//! A private home for one test: every directory the program may read or write, and the environment it is given.
//!
//! In: arguments, standard input. Out: commands that see nothing of the machine they run on but `PATH`, and what
//! came of running one ([`Ran`]).
//!
//! Invariants: nothing outside [`Home::path`] is written but the staged runner, which all homes share; the
//! environment is built from nothing, so no key, locale or setting of the developer reaches the program; `codex` is
//! never found on `PATH` by accident, and `python3` is the one without IPython. Homes do not lie under the system's
//! temporary folder, because Codex leaves out its helper links there.
//!
//! Absent on purpose: assertions. A test says what it expects.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::peers;

/// How long anything may take before a test calls it hung. Generous: it bounds a failure, it measures nothing.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Directories and variables of one test; removed on drop.
pub struct Home {
    directory: tempfile::TempDir,
    variables: Vec<(OsString, OsString)>,
}

impl Home {
    /// A home with `python3` (without IPython) on its path, and no Codex.
    pub fn new() -> Home {
        let directory = folder();
        let root = directory.path().canonicalize().expect("just made");
        for name in [
            "home", "config", "state", "cache", "data", "run", "ipython", "codex", "work", "bin",
            "tmp",
        ] {
            std::fs::create_dir(root.join(name)).expect("the folder is new");
        }
        let runtime = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(root.join("run"), runtime).expect("our own folder");
        let mut home = Home {
            directory,
            variables: Vec::new(),
        };
        home.variables = home.base_variables(&root);
        share_runner(&root.join("cache/ipycodex"));
        home.install("python3", peers::plain_python());
        home
    }

    /// The same with these variables set.
    pub fn with(variables: &[(&str, &str)]) -> Home {
        let mut home = Home::new();
        for (name, value) in variables {
            home.set(name, value);
        }
        home
    }

    fn base_variables(&self, root: &Path) -> Vec<(OsString, OsString)> {
        let mut path = vec![root.join("bin")];
        if let Some(inherited) = std::env::var_os("PATH") {
            let foreign = std::env::split_paths(&inherited);
            path.extend(foreign.filter(|folder| !folder.join("codex").exists()));
        }
        let path = std::env::join_paths(path).expect("they were joined before");
        let at = |name: &str| root.join(name).into_os_string();
        [
            ("HOME", at("home")),
            ("XDG_CONFIG_HOME", at("config")),
            ("XDG_STATE_HOME", at("state")),
            ("XDG_CACHE_HOME", at("cache")),
            ("XDG_DATA_HOME", at("data")),
            ("XDG_RUNTIME_DIR", at("run")),
            ("IPYTHONDIR", at("ipython")),
            ("CODEX_HOME", at("codex")),
            ("TMPDIR", at("tmp")),
            ("TERM", "xterm-256color".into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            ("PATH", path),
        ]
        .map(|(name, value)| (OsString::from(name), value))
        .into()
    }

    /// The folder all others lie in; absolute, without links.
    pub fn path(&self) -> PathBuf {
        self.directory
            .path()
            .canonicalize()
            .expect("lives as long as we do")
    }

    /// The working directory programs start in.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// `CODEX_HOME`.
    pub fn codex(&self) -> PathBuf {
        self.path().join("codex")
    }

    /// Where the configuration is looked for: `$XDG_CONFIG_HOME/ipycodex`, not made beforehand.
    pub fn config(&self) -> PathBuf {
        self.path().join("config/ipycodex")
    }

    /// The history file by default: `$XDG_STATE_HOME/ipycodex/history.sqlite`, not made beforehand.
    pub fn history(&self) -> PathBuf {
        self.path().join("state/ipycodex/history.sqlite")
    }

    /// Writes a file below the working directory and returns its path.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        let folder = path.parent().expect("it lies in the working directory");
        std::fs::create_dir_all(folder).expect("our own folder");
        std::fs::write(&path, content).expect("our own folder");
        path
    }

    /// Writes `config.json`, or a file beside it, and returns its path.
    pub fn write_config(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        self.write(&format!("../config/ipycodex/{name}"), content)
    }

    /// Sets a variable for everything started from here on.
    pub fn set(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        self.unset(name.as_ref());
        let pair = (name.as_ref().to_owned(), value.as_ref().to_owned());
        self.variables.push(pair);
    }

    /// Takes a variable away.
    pub fn unset(&mut self, name: impl AsRef<OsStr>) {
        self.variables.retain(|(known, _)| known != name.as_ref());
    }

    /// Puts `program` on the path under `name`: a script that runs it in its place, so that a virtual environment
    /// stays one.
    pub fn install(&self, name: &str, program: impl AsRef<Path>) {
        let program = program.as_ref().to_str().expect("paths of peers are UTF-8");
        let quoted = shlex::try_quote(program).expect("a path has no NUL");
        self.install_script(name, &format!("#!/bin/sh\nexec {quoted} \"$@\"\n"));
    }

    /// Puts an executable file with this text on the path.
    pub fn install_script(&self, name: &str, text: &str) {
        super::write_executable(&self.path().join("bin").join(name), text);
    }

    /// The variables programs get; there are no others.
    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// The program under test, not started.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        self.foreign(Path::new(env!("CARGO_BIN_EXE_ipycodex")), arguments)
    }

    /// Another program in this home, not started.
    pub fn foreign<S: AsRef<OsStr>>(&self, program: &Path, arguments: &[S]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.work())
            .process_group(0);
        command
    }

    /// Runs the program to its end with this on standard input.
    ///
    /// # Panics
    /// When it has not ended after [`PATIENCE`]; what it said by then is shown.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S], stdin: impl AsRef<[u8]>) -> Ran {
        finish(self.command(arguments), stdin.as_ref())
    }

    /// The same with the offline agent.
    ///
    /// # Panics
    /// As [`Home::run`].
    pub fn demo(&self, arguments: &[&str], stdin: impl AsRef<[u8]>) -> Ran {
        self.run(&[&["--agent", "demo"], arguments].concat(), stdin)
    }
}

impl Default for Home {
    fn default() -> Self {
        Home::new()
    }
}

/// How the names of homes begin.
const HOMES: &str = "ipycodex-home-";

/// Makes a folder for a home: in memory if programs can be started there and there is room, else in `target/tmp`.
pub fn folder() -> tempfile::TempDir {
    static PLACE: LazyLock<&Path> = LazyLock::new(|| {
        let in_memory = crate::HOMES_IN_MEMORY.map(Path::new);
        let place = in_memory.filter(|place| is_fit(place));
        place.inspect(|place| remove_left_homes(place));
        place.unwrap_or(Path::new(env!("CARGO_TARGET_TMPDIR")))
    });
    tempfile::Builder::new()
        .prefix(HOMES)
        .tempdir_in(*PLACE)
        .expect("the folder can be written")
}

fn is_fit(place: &Path) -> bool {
    let needed: u64 = 2 << 30; // bytes; tests that run beside each other write some hundred megabytes
    rustix::fs::statvfs(place).is_ok_and(|found| {
        !found.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC)
            && found.f_bavail * found.f_frsize > needed
    })
}

/// Removes the homes of tests that were killed a day ago.
fn remove_left_homes(place: &Path) {
    let day = Duration::from_secs(24 * 3600);
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let made = entry.metadata().and_then(|found| found.modified());
        let is_old = made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > day));
        if is_old && entry.file_name().to_string_lossy().starts_with(HOMES) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Makes `cache` a link to the one folder that holds the Python runner of all homes: its hundred files would be written
/// and compiled in each of a thousand.
fn share_runner(cache: &Path) {
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runner");
    std::fs::create_dir_all(&shared).expect("target/tmp can be written");
    std::os::unix::fs::symlink(shared, cache).expect("the folder is new");
}

/// What came of a program that ran to its end.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output, as written.
    pub stdout_bytes: Vec<u8>,
    /// Standard output; what is not UTF-8 is replaced.
    pub stdout: String,
    /// Standard error; what is not UTF-8 is replaced.
    pub stderr: String,
}

impl Ran {
    /// The exit code as a shell would say it: 128 + n after signal n.
    pub fn code(&self) -> i32 {
        let signalled = || self.status.signal().map(|signal| 128 + signal);
        let code = self.status.code().or_else(signalled);
        code.expect("a process ends by itself or by a signal")
    }
}

/// Runs a command to its end: standard input is written while both outputs are read, so no pipe can fill up.
///
/// # Panics
/// When it cannot be started, or has not ended after [`PATIENCE`].
pub fn finish(command: Command, stdin: &[u8]) -> Ran {
    finish_within(command, stdin, PATIENCE)
}

/// The same for a program that does a great deal.
///
/// # Panics
/// When it cannot be started, or has not ended after `patience`.
pub fn finish_within(mut command: Command, stdin: &[u8], patience: Duration) -> Ran {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let process = i32::try_from(child.id()).expect("process ids are positive");
    let mut input = child.stdin.take().expect("piped above");
    let stdin = stdin.to_owned();
    thread::spawn(move || {
        // A program may leave without reading its input to the end.
        let _ = input.write_all(&stdin);
    });
    let (sender, parts) = mpsc::channel();
    let collect = |which: usize, mut pipe: Box<dyn Read + Send>| {
        let sender = sender.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            let _ = sender.send(Part::Bytes(which, bytes));
        });
    };
    collect(0, Box::new(child.stdout.take().expect("piped above")));
    collect(1, Box::new(child.stderr.take().expect("piped above")));
    thread::spawn(move || wait(child, &sender));

    let deadline = Instant::now() + patience;
    let mut outputs = [None, None];
    let mut status = None;
    while status.is_none() || outputs.iter().any(Option::is_none) {
        match parts.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Part::Bytes(which, bytes)) => outputs[which] = Some(bytes),
            Ok(Part::Ended(ended)) => status = Some(ended),
            Err(_) => {
                let group = rustix::process::Pid::from_raw(process).expect("positive");
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
                // Killed, it closes its ends: what it said until then arrives after all.
                while let Ok(Part::Bytes(which, bytes)) = parts.recv_timeout(Duration::from_secs(1))
                {
                    outputs[which] = Some(bytes);
                }
                let said = outputs.map(|bytes| text(&bytes.unwrap_or_default()));
                panic!(
                    "{command:?} has not ended after {patience:?} (status: {status:?}); it said {said:#?}"
                );
            }
        }
    }
    let [stdout, stderr] = outputs.map(|bytes| bytes.expect("the loop waits for it"));
    Ran {
        status: status.expect("the loop waits for it"),
        stdout: text(&stdout),
        stdout_bytes: stdout,
        stderr: text(&stderr),
    }
}

enum Part {
    Bytes(usize, Vec<u8>),
    Ended(ExitStatus),
}

fn wait(mut child: Child, sender: &mpsc::Sender<Part>) {
    let status = child.wait().expect("our own child");
    let _ = sender.send(Part::Ended(status));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_home_shows_nothing_of_the_machine() {
    let home = Home::new();
    let ran = finish(home.foreign(Path::new("/usr/bin/env"), &[] as &[&str]), b"");
    assert_eq!(ran.code(), 0);
    assert!(!ran.stdout.contains("CARGO"), "{}", ran.stdout);
    let inside = home.path().join("codex");
    assert!(
        ran.stdout
            .contains(&format!("CODEX_HOME={}\n", inside.display()))
    );
    let which = finish(
        home.foreign(Path::new("/bin/sh"), &["-c", "command -v codex"]),
        b"",
    );
    assert_ne!(
        which.code(),
        0,
        "a Codex of the machine is visible: {}",
        which.stdout
    );
}

#[test]
fn both_outputs_and_the_code_come_back_with_more_input_than_a_pipe_holds() {
    let home = Home::new();
    let script = "wc -c; echo two >&2; exit 7";
    let input = vec![b'x'; 1 << 20];
    let ran = finish(home.foreign(Path::new("/bin/sh"), &["-c", script]), &input);
    assert_eq!(
        (ran.stdout.trim(), ran.stderr.as_str(), ran.code()),
        ("1048576", "two\n", 7)
    );
}
