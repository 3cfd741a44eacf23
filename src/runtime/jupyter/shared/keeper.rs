//! The process that keeps a shared gateway: starts it, reports that in one line, and ends it when it has no users.
//!
//! In: a folder, an interpreter. Out: `ready`, or `failed` with the reason, on standard output, which is then
//! closed. Invariants: the gateway ends with this process, however that ends; the token is in files of this user
//! alone, never in an argument or in the environment of kernels; settings of the user's Jupyter cannot weaken
//! access. Absent on purpose: leases (`gateway_dir.rs`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::gateway_dir::{GatewayDir, GatewayRecord};
use crate::files::{FileMode, write_whole};
use crate::process::{Child, Leadership, SpawnPlan, spawn};
use crate::text::escape::visible;
use ipycodex_jupyter::{Gateway, ReservedPort, unique_id};

const STARTS: Duration = Duration::from_secs(60);
/// Number of starts: another program may take the port first.
const TRIES: usize = 3;
/// Interval of checks until the gateway answers.
const LOOKS: Duration = Duration::from_millis(100);
/// Interval of checks for leases.
const COUNTS: Duration = Duration::from_secs(1);
/// Interval of checks that the gateway answers.
const BEATS: Duration = Duration::from_secs(5);
/// A gateway that has not answered for this long is ended.
const SILENT: Duration = Duration::from_secs(60);
/// Time for the gateway to end its kernels.
const GRACE: Duration = Duration::from_secs(3);
/// Seconds after which the gateway ends a kernel without a connection: its user was killed.
const LEFT: u32 = 300;

type Variables = BTreeMap<OsString, OsString>;

/// Keeps a gateway of this interpreter until it has been idle for that long; returns the exit code.
pub fn keep_gateway(
    folder: PathBuf,
    python: &Path,
    mut variables: Variables,
    idle: Duration,
) -> i32 {
    // A closing terminal must not end the keeper. Fails for a session leader, which needs no change.
    let _ = rustix::process::setsid();
    // These variables would override our configuration.
    variables.retain(|name, _| !name.as_encoded_bytes().starts_with(b"KG_"));
    let dir = GatewayDir::at(folder);
    let started = match dir.lock_keeper() {
        Ok(Some(lock)) => start(&dir, python, &variables).map(|started| (lock, started)),
        Ok(None) => Err("the process of the previous gateway has not ended".to_owned()),
        Err(why) => Err(why),
    };
    let (_lock, (mut child, gateway)) = match started {
        Ok(started) => started,
        Err(why) => {
            say(&format!("failed {}\n", visible(&why)));
            return 1;
        }
    };
    say("ready\n");
    watch(&dir, &mut child, &gateway, idle);
    let _ = child.end(GRACE);
    0
}

/// Writes the line and closes standard output: its reader waits for the end.
fn say(line: &str) {
    let mut out = std::io::stdout();
    // The reader may be gone.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    if let Ok(nothing) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nothing);
    }
}

fn start(
    dir: &GatewayDir,
    python: &Path,
    variables: &Variables,
) -> Result<(Child, Gateway), String> {
    let mut why = String::new();
    for _ in 0..TRIES {
        match start_once(dir, python, variables) {
            Ok(started) => return Ok(started),
            Err(fault) => why = fault,
        }
    }
    Err(why)
}

fn start_once(
    dir: &GatewayDir,
    python: &Path,
    variables: &Variables,
) -> Result<(Child, Gateway), String> {
    let told = |error: std::io::Error| error.to_string();
    let kept = ReservedPort::find().map_err(told)?;
    let port = kept.number();
    let token = unique_id();
    let config = config(port, &token);
    write_whole(&dir.config(), config.as_bytes(), FileMode::Private)
        .map_err(|error| error.to_string())?;
    let log = File::create(dir.log()).map_err(told)?;
    let nothing = File::open("/dev/null").map_err(told)?;
    let errors = log.try_clone().map_err(told)?;
    let mut plan = SpawnPlan::new(
        python,
        Leadership::Session,
        OwnedFd::from(nothing),
        OwnedFd::from(log),
        OwnedFd::from(errors),
    );
    let setting = dir.config();
    plan.arguments = vec!["-m".into(), "kernel_gateway".into(), "--config".into()];
    plan.arguments.push(setting.into_os_string());
    plan.variables = Some(variables.clone());
    let mut child = spawn(plan).map_err(|error| format!("`{}`: {error}", python.display()))?;
    let url = format!("http://127.0.0.1:{port}");
    let gateway = Gateway::at(&url, Some(token.clone())).ok_or("it has no address")?;
    let began = Instant::now();
    while !gateway.answers() {
        if child.wait_for(LOOKS).map_err(told)?.is_some() {
            return Err(format!(
                "it ended before it answered{}",
                last_words(&dir.log())
            ));
        }
        if began.elapsed() > STARTS {
            return Err(format!(
                "it did not answer within {} s{}",
                STARTS.as_secs(),
                last_words(&dir.log())
            ));
        }
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    dir.write(&GatewayRecord {
        url,
        token,
        keeper: i32::try_from(std::process::id()).unwrap_or(0),
        python: python.to_owned(),
        started: now.unwrap_or_default().as_secs(),
    })?;
    Ok((child, gateway))
}

/// Returns the configuration, which overrides the user's own gateway settings. Every variable may accompany the
/// request for a kernel, and listing kernels is allowed: the holder of the token is the user.
fn config(port: u16, token: &str) -> String {
    format!(
        "class Any(list):
    def __contains__(self, name):
        return True


c.KernelGatewayApp.ip = '127.0.0.1'
c.KernelGatewayApp.port = {port}
c.KernelGatewayApp.port_retries = 0
c.KernelGatewayApp.auth_token = '{token}'
c.KernelGatewayApp.allow_origin = ''
c.KernelGatewayApp.base_url = '/'
c.KernelGatewayApp.api = 'kernel_gateway.jupyter_websocket'
c.JupyterWebsocketPersonality.env_whitelist = Any()
c.JupyterWebsocketPersonality.list_kernels = True
c.MappingKernelManager.root_dir = '/'
c.MappingKernelManager.cull_idle_timeout = {LEFT}
c.MappingKernelManager.cull_interval = 60
c.MappingKernelManager.cull_busy = True
c.MappingKernelManager.cull_connected = False
c.ZMQChannelsWebsocketConnection.limit_rate = False
"
    )
}

fn last_words(log: &Path) -> String {
    let said = std::fs::read(log).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| format!(": {}", visible(line.trim())))
}

/// Returns when the gateway has ended, hangs, or has no users any more.
fn watch(dir: &GatewayDir, child: &mut Child, gateway: &Gateway, idle: Duration) {
    let (mut used, mut answered) = (Instant::now(), Instant::now());
    let mut beat = Instant::now();
    loop {
        // An error also means that the gateway is gone.
        if !matches!(child.wait_for(COUNTS), Ok(None)) {
            return dir.forget();
        }
        if beat.elapsed() >= BEATS {
            beat = Instant::now();
            if gateway.answers() {
                answered = Instant::now();
                dir.touch();
            }
        }
        if answered.elapsed() > SILENT {
            return dir.forget();
        }
        if !matches!(dir.try_lock_users(), Ok(Some(_))) {
            used = Instant::now();
        } else if used.elapsed() >= idle
            && let Ok(Some(_starting)) = dir.try_lock_starting()
            && let Ok(Some(_users)) = dir.try_lock_users()
        {
            // Processes that come from here on find no gateway, and start one.
            return dir.forget();
        }
    }
}
