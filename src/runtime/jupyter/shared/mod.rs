//! A gateway of this machine that all our processes share: found if one runs, else started.
//!
//! In: a plan. Out: the gateway, and a lease that keeps it running. Invariants: the gateway listens on loopback
//! alone and always requires its token; one process starts it while the others wait; it outlives the process that
//! started it, and ends when there has been no lease for a while. Its keeper (`keeper.rs`), a process of ours,
//! ensures that; `gateway_dir.rs` is the folder through which they coordinate.

mod gateway_dir;
mod keeper;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::StartFailure;
use crate::process::output_within;
use gateway_dir::GatewayDir;
pub(super) use gateway_dir::Lease;
use ipycodex_jupyter::Gateway;
pub use keeper::keep_gateway;

/// Time after which a gateway without users ends.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
const LOOKS: Duration = Duration::from_secs(30);
/// Python code that prints the missing modules.
const MISSING: &str = "import importlib.util as u, sys
sys.stdout.write(' '.join(n for n in ('kernel_gateway', 'ipykernel') if u.find_spec(n) is None))";

#[derive(Debug, Clone)]
pub struct SharedPlan {
    /// The folder of all shared gateways; each interpreter has a subfolder.
    pub folder: PathBuf,
    /// The Python that has the modules.
    pub python: Option<PathBuf>,
    /// Our own program, which keeps the gateway.
    pub program: PathBuf,
    pub cwd: PathBuf,
    pub variables: BTreeMap<OsString, OsString>,
    pub idle: Duration,
}

/// A shared gateway that runs, for `ipycodex doctor`.
#[derive(Debug)]
pub struct SharedGateway {
    pub python: PathBuf,
    pub keeper: i32,
    pub gateway: Gateway,
}

/// Returns the shared gateways in the folder whose keeper runs.
pub fn shared_gateways(folder: &Path) -> Vec<SharedGateway> {
    let dirs = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let kept = dirs.filter_map(|entry| {
        let dir = GatewayDir::at(entry.path());
        let record = dir.record().filter(|_| dir.has_keeper())?;
        Some(SharedGateway {
            gateway: record.gateway()?,
            python: record.python,
            keeper: record.keeper,
        })
    });
    kept.collect()
}

/// Finds or starts the gateway, and keeps it running for as long as the lease lives.
pub(super) fn acquire(plan: &SharedPlan) -> Result<(Gateway, Lease), StartFailure> {
    let Some(python) = &plan.python else {
        return Err(StartFailure {
            message: "no Python was found that could run a gateway".to_owned(),
            hint: "name a Python with `--python PATH`, or set IPYCODEX_GATEWAY_URL to a running gateway"
                .to_owned(),
        });
    };
    let dir = GatewayDir::for_interpreter(&plan.folder, python)
        .map_err(|why| not_usable(&plan.folder, &why))?;
    // Held until the gateway answers, so that waiting processes then find it.
    let _starting = dir
        .lock_starting()
        .map_err(|why| not_usable(dir.folder(), &why))?;
    let lease = dir.lease().map_err(|why| not_usable(dir.folder(), &why))?;
    if let Some(record) = dir.record().filter(|_| dir.has_keeper())
        && let Some(gateway) = record.gateway()
    {
        if gateway.answers() {
            return Ok((gateway, lease));
        }
        dir.end_keeper(&record);
    }
    check_gateway_packages(python, &plan.variables)?;
    start_keeper(plan, python, &dir)?;
    match dir.record().and_then(|record| record.gateway()) {
        Some(gateway) => Ok((gateway, lease)),
        None => Err(not_usable(dir.folder(), "`gateway.json` is not there")),
    }
}

fn not_usable(folder: &Path, why: &str) -> StartFailure {
    StartFailure {
        message: format!(
            "the shared gateway cannot be used: {}: {why}",
            folder.display()
        ),
        hint: "make room there, or set XDG_STATE_HOME to a folder that can be written".to_owned(),
    }
}

/// Checks that this Python has the packages of a gateway.
///
/// # Errors
/// The missing packages, and how to install them.
pub fn check_gateway_packages(
    python: &Path,
    variables: &BTreeMap<OsString, OsString>,
) -> Result<(), StartFailure> {
    let shown = python.display();
    let mut asked = Command::new(python);
    asked
        .args(["-c", MISSING])
        .env_clear()
        .envs(variables)
        .current_dir("/");
    let failed = |message: String| StartFailure {
        message,
        hint: format!("try `{shown} -m kernel_gateway --version`"),
    };
    let answer = output_within(&mut asked, LOOKS)
        .map_err(|error| failed(format!("`{shown}` cannot be started: {error}")))?
        .ok_or_else(|| failed(format!("`{shown}` does not answer")))?;
    if !answer.status.success() {
        let said = String::from_utf8_lossy(&answer.stderr);
        let said = said.lines().last().unwrap_or_default();
        return Err(failed(format!(
            "`{shown}` could not be asked for its packages: {}",
            crate::text::escape::visible(said)
        )));
    }
    let missing = String::from_utf8_lossy(&answer.stdout);
    match missing.trim() {
        "" => Ok(()),
        missing => Err(StartFailure {
            message: format!(
                "`gateway:auto` needs a Jupyter Kernel Gateway, and `{shown}` lacks {}",
                missing
                    .split(' ')
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(" and ")
            ),
            hint: format!(
                "install it: `{shown} -m pip install jupyter_kernel_gateway ipykernel`; or set \
                 IPYCODEX_GATEWAY_URL to a gateway that runs"
            ),
        }),
    }
}

fn start_keeper(plan: &SharedPlan, python: &Path, dir: &GatewayDir) -> Result<(), StartFailure> {
    let failed = |why: String| StartFailure {
        message: format!("the shared gateway cannot be started: {why}"),
        hint: format!("its log is {}", dir.log().display()),
    };
    let mut keeper = Command::new(&plan.program)
        .arg("keep-gateway")
        .arg(dir.folder())
        .arg(python)
        .arg(plan.idle.as_secs().to_string())
        .env_clear()
        .envs(&plan.variables)
        .env_remove(crate::text::trace::VARIABLE)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(format!("`{}`: {error}", plan.program.display())))?;
    let mut said = String::new();
    // The keeper writes one line, and limits its own time.
    let read = keeper
        .stdout
        .take()
        .map(|mut out| out.read_to_string(&mut said));
    match (read, said.strip_prefix("failed ")) {
        (_, Some(why)) => {
            // The keeper is about to end; if we are killed first, init reaps it.
            let _ = keeper.wait();
            Err(failed(why.trim_end().to_owned()))
        }
        (Some(Ok(_)), None) if said.starts_with("ready") => {
            // The keeper outlives us; if it does not, the thread reaps it.
            let wait = move || drop(keeper.wait());
            let _ = std::thread::Builder::new()
                .name("gateway's keeper".into())
                .spawn(wait);
            Ok(())
        }
        _ => Err(failed(
            "the process that should have run it ended without saying why".to_owned(),
        )),
    }
}
