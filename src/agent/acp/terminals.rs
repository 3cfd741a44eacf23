//! Terminals the agent runs commands in: each a pseudo-terminal of ours, its output kept up to the agent's limit.
//!
//! Owns the processes. One thread for each reads the output, sends it on ([`TerminalEvent`]), and waits for the
//! exit. The terminal neither echoes nor rewrites line ends: the output is kept as the command wrote it.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, OutputModes, tcgetattr, tcsetattr};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::tool_calls::TerminalOutput;
use crate::agent_process::ProcessConfig;
use crate::process::{Group, Leadership, SpawnPlan, spawn};
use crate::rpc::{RpcError, RpcId};

/// Bytes of output that are kept: the default, and the maximum.
const MAX_OUTPUT_BYTES: usize = 8 << 20;

#[derive(Debug)]
pub(super) enum TerminalEvent {
    /// New output.
    Text { terminal: String, delta: String },
    /// The command has ended.
    End { terminal: String },
}

pub(super) struct Terminals {
    last: u64,
    open: HashMap<String, Terminal>,
    tell: UnboundedSender<TerminalEvent>,
}

struct Terminal {
    group: Group,
    screen: Arc<Mutex<Screen>>,
    /// Requests that wait for the end.
    waiters: Vec<RpcId>,
    /// The agent has released the terminal; its output is still reported with its call.
    released: bool,
}

#[derive(Debug)]
struct Screen {
    bytes: VecDeque<u8>,
    limit: usize,
    truncated: bool,
    ended: Option<ExitStatus>,
}

impl Screen {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let surplus = self.bytes.len().saturating_sub(self.limit);
        if surplus > 0 {
            self.truncated = true;
            self.bytes.drain(..surplus);
            // Cut at a character boundary: drop UTF-8 continuation bytes.
            while self.bytes.front().is_some_and(|byte| byte & 0xc0 == 0x80) {
                self.bytes.pop_front();
            }
        }
    }

    fn text(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }

    fn status(&self) -> Value {
        match self.ended {
            None => Value::Null,
            Some(status) => json!({
                "exitCode": status.code(),
                "signal": status.signal().map(|signal| signal.to_string()),
            }),
        }
    }
}

pub(super) struct TerminalCommand {
    /// The whole command line, for a shell.
    pub(super) line: String,
    command: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    cwd: PathBuf,
    pub(super) limit: usize,
}

impl TerminalCommand {
    pub(super) fn cwd(&self) -> &std::path::Path {
        &self.cwd
    }

    /// Reads `terminal/create`. A command without arguments is a command line for a shell.
    pub(super) fn parse(
        params: &Value,
        cwd: &std::path::Path,
    ) -> Result<TerminalCommand, RpcError> {
        let command = params["command"].as_str().filter(|it| !it.is_empty());
        let command = command
            .ok_or_else(|| RpcError::invalid_params("`command` is missing"))?
            .to_owned();
        let texts = |value: &Value| -> Vec<String> {
            let list = value.as_array().into_iter().flatten();
            list.filter_map(|it| it.as_str().map(str::to_owned))
                .collect()
        };
        let arguments = texts(&params["args"]);
        let words = std::iter::once(&command).chain(&arguments);
        let line = match arguments.as_slice() {
            [] => command.clone(),
            _ => shlex::try_join(words.map(String::as_str))
                .map_err(|_| RpcError::invalid_params("a command with a NUL"))?,
        };
        let variables = params["env"].as_array().into_iter().flatten();
        let variables = variables.filter_map(|it| {
            Some((
                it["name"].as_str()?.to_owned(),
                it["value"].as_str()?.to_owned(),
            ))
        });
        let cwd = params["cwd"]
            .as_str()
            .map_or_else(|| cwd.to_owned(), PathBuf::from);
        if !cwd.is_absolute() {
            return Err(RpcError::invalid_params(format!(
                "`cwd` must be absolute, got `{}`",
                cwd.display()
            )));
        }
        let limit = params["outputByteLimit"].as_u64();
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        Ok(TerminalCommand {
            line,
            command,
            arguments,
            variables: variables.collect(),
            cwd,
            limit: limit.unwrap_or(MAX_OUTPUT_BYTES).min(MAX_OUTPUT_BYTES),
        })
    }
}

impl Terminals {
    pub(super) fn new(tell: UnboundedSender<TerminalEvent>) -> Self {
        Terminals {
            last: 0,
            open: HashMap::new(),
            tell,
        }
    }

    /// Runs a command; returns the response to `terminal/create`.
    pub(super) fn create(
        &mut self,
        command_request: TerminalCommand,
        plan: &ProcessConfig,
    ) -> Result<Value, RpcError> {
        let failed = |error: io::Error, line: &str| {
            RpcError::new(-32603, format!("`{line}` could not be started: {error}"))
        };
        self.last += 1;
        let id = format!("terminal-{}", self.last);
        let line = command_request.line.clone();
        let terminal = self
            .run(id.clone(), command_request, plan)
            .map_err(|error| failed(error, &line))?;
        self.open.insert(id.clone(), terminal);
        Ok(json!({"terminalId": id}))
    }

    fn run(
        &self,
        id: String,
        command_request: TerminalCommand,
        plan: &ProcessConfig,
    ) -> io::Result<Terminal> {
        let (ours, theirs) = open_pty()?;
        let mut started = SpawnPlan::new(
            &command_request.command,
            Leadership::Terminal,
            theirs.try_clone()?,
            theirs.try_clone()?,
            theirs,
        );
        started.arguments = command_request
            .arguments
            .into_iter()
            .map(Into::into)
            .collect();
        if started.arguments.is_empty() && command_request.command.contains(char::is_whitespace) {
            started.program = "/bin/sh".into();
            started.arguments = vec!["-c".into(), command_request.command.into()];
        }
        let mut variables = plan.variables.clone();
        variables.insert("TERM".into(), "dumb".into());
        let own = command_request.variables.into_iter();
        variables.extend(own.map(|(name, value)| (name.into(), value.into())));
        started.variables = Some(variables);
        started.cwd = Some(command_request.cwd);
        let mut child = spawn(started)?;
        let group = child.group();
        let screen = Arc::new(Mutex::new(Screen {
            bytes: VecDeque::new(),
            limit: command_request.limit,
            truncated: false,
            ended: None,
        }));
        let (shared, tell) = (Arc::clone(&screen), self.tell.clone());
        let follow = move || {
            let mut source = File::from(ours);
            let mut chunk = [0; 8192];
            // A pseudo-terminal reports the end of the last writer as an error.
            while let Ok(count @ 1..) = source.read(&mut chunk) {
                lock(&shared).put(&chunk[..count]);
                let delta = String::from_utf8_lossy(&chunk[..count]).into_owned();
                let terminal = id.clone();
                // Fails only when the driver has ended.
                let _ = tell.send(TerminalEvent::Text { terminal, delta });
            }
            lock(&shared).ended = child.wait().ok();
            let _ = tell.send(TerminalEvent::End { terminal: id });
        };
        std::thread::Builder::new()
            .name("agent terminal".into())
            .spawn(follow)?;
        Ok(Terminal {
            group,
            screen,
            waiters: Vec::new(),
            released: false,
        })
    }

    /// Handles `terminal/output`, `kill` and `release`; `wait_for_exit` is answered when the command has ended.
    pub(super) fn on_request(
        &mut self,
        id: &RpcId,
        method: &str,
        params: &Value,
    ) -> Option<Result<Value, RpcError>> {
        let name = params["terminalId"].as_str().unwrap_or_default();
        let open = self.open.get_mut(name).filter(|it| !it.released);
        let Some(terminal) = open else {
            let message = format!("there is no terminal `{name}`");
            return Some(Err(RpcError::new(-32002, message)));
        };
        Some(match method {
            "terminal/output" => {
                let screen = lock(&terminal.screen);
                let mut answer = json!({"output": screen.text(), "truncated": screen.truncated});
                if screen.ended.is_some() {
                    answer["exitStatus"] = screen.status();
                }
                Ok(answer)
            }
            "terminal/wait_for_exit" => {
                let screen = lock(&terminal.screen);
                if screen.ended.is_none() {
                    terminal.waiters.push(id.clone());
                    return None;
                }
                Ok(screen.status())
            }
            "terminal/kill" => {
                terminal.group.kill();
                Ok(json!({}))
            }
            "terminal/release" => {
                terminal.group.kill();
                terminal.released = true;
                Ok(json!({}))
            }
            _ => Err(RpcError::unknown_method(method)),
        })
    }

    /// Takes the end of a command: the requests that waited for it, and their responses.
    pub(super) fn ended(&mut self, terminal: &str) -> Vec<(RpcId, Value)> {
        let Some(terminal) = self.open.get_mut(terminal) else {
            return Vec::new();
        };
        let status = lock(&terminal.screen).status();
        let waiters = std::mem::take(&mut terminal.waiters);
        waiters.into_iter().map(|id| (id, status.clone())).collect()
    }

    pub(super) fn shown(&self, terminal: &str) -> Option<TerminalOutput> {
        let screen = lock(&self.open.get(terminal)?.screen);
        Some((screen.text(), screen.ended.and_then(|status| status.code())))
    }

    /// Ends every command, when its turn is over or the agent is gone.
    pub(super) fn end_all(&mut self) {
        for (_, terminal) in self.open.drain() {
            terminal.group.kill();
        }
    }
}

fn lock(screen: &Mutex<Screen>) -> std::sync::MutexGuard<'_, Screen> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens a pseudo-terminal: our end, and the command's.
fn open_pty() -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = open(name.as_c_str(), flags, Mode::empty())?;
    let mut modes = tcgetattr(&theirs)?;
    modes.output_modes.remove(OutputModes::OPOST);
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    Ok((ours, theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_goes_from_the_front_at_a_character() {
        let mut screen = Screen {
            bytes: VecDeque::new(),
            limit: 4,
            truncated: false,
            ended: None,
        };
        screen.put("abc".as_bytes());
        assert_eq!((screen.text().as_str(), screen.truncated), ("abc", false));
        screen.put("éé".as_bytes());
        assert_eq!((screen.text().as_str(), screen.truncated), ("éé", true));
        screen.put(b"xyz");
        assert_eq!(screen.text(), "xyz");
    }

    #[test]
    fn a_command_is_told_as_a_shell_takes_it() {
        let line = |params: Value| match TerminalCommand::parse(&params, "/w".as_ref()) {
            Ok(command_request) => command_request.line,
            Err(error) => error.message,
        };
        assert_eq!(line(json!({"command": "ls -l | wc"})), "ls -l | wc");
        assert_eq!(line(json!({"command": "ls", "args": ["a b"]})), "ls 'a b'");
        assert_eq!(line(json!({"args": []})), "`command` is missing");
        assert_eq!(
            line(json!({"command": "ls", "cwd": "x"})),
            "`cwd` must be absolute, got `x`"
        );
    }
}
