//! The folder through which a shared gateway's keeper and its users coordinate.
//!
//! | file | meaning |
//! |---|---|
//! | `gateway.json` | the running gateway: address, token, process of its keeper |
//! | `starting.lock` | held by the process that starts or ends the gateway |
//! | `keeper.lock` | held by the keeper for its lifetime: proof that it runs |
//! | `users.lock` | shared by all leases: when the keeper can lock it exclusively, there are none |
//! | `gateway.log` | output of the gateway |
//!
//! Invariant: the locks are the system's, so they end with the process that holds them, however it ends. Absent on
//! purpose: process ids as proof of life.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files::{FileMode, private_dir, write_whole};
use ipycodex_jupyter::Gateway;

/// Maximum wait for another process that starts the gateway.
const STARTS: Duration = Duration::from_secs(240);
/// Interval at which a held lock is retried.
const AGAIN: Duration = Duration::from_millis(50);
/// Maximum time for a keeper to end after a signal.
const ENDS: Duration = Duration::from_secs(10);

pub(super) struct GatewayDir {
    folder: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GatewayRecord {
    pub url: String,
    pub token: String,
    pub keeper: i32,
    /// Interpreter of the gateway, for `ipycodex doctor` and the like.
    pub python: PathBuf,
    /// Start time in seconds since 1970.
    pub started: u64,
}

impl GatewayRecord {
    pub(super) fn gateway(&self) -> Option<Gateway> {
        Gateway::at(&self.url, Some(self.token.clone()))
    }
}

/// Keeps the gateway running while it lives.
#[derive(Debug)]
pub(in crate::jupyter) struct Lease {
    _lock: File,
}

fn told(error: &std::io::Error) -> String {
    error.to_string()
}

impl GatewayDir {
    /// Returns the folder for the gateway of this interpreter, and creates it.
    pub(super) fn for_interpreter(shared: &Path, python: &Path) -> Result<Self, String> {
        let name = Sha256::digest(python.as_os_str().as_encoded_bytes());
        let name: String = name[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = shared.join(name);
        private_dir(&folder).map_err(|error| error.to_string())?;
        Ok(GatewayDir { folder })
    }

    pub(super) fn at(folder: PathBuf) -> Self {
        GatewayDir { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("gateway.log")
    }

    pub(super) fn config(&self) -> PathBuf {
        self.folder.join("gateway_config.py")
    }

    fn lock(&self, name: &str) -> Result<File, String> {
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        options
            .open(self.folder.join(name))
            .map_err(|error| told(&error))
    }

    /// Waits until no other process starts or ends the gateway; the lock lasts until the file is closed.
    pub(super) fn lock_starting(&self) -> Result<File, String> {
        self.locked_within("starting.lock", STARTS)?
            .ok_or_else(|| "another process has been starting it for too long".to_owned())
    }

    /// As [`GatewayDir::lock_starting`], without waiting; `None` when it is held.
    pub(super) fn try_lock_starting(&self) -> Result<Option<File>, String> {
        self.locked_within("starting.lock", Duration::ZERO)
    }

    /// Takes the keeper's lock; `None` when another keeper runs.
    pub(super) fn lock_keeper(&self) -> Result<Option<File>, String> {
        self.locked_within("keeper.lock", ENDS)
    }

    pub(super) fn has_keeper(&self) -> bool {
        matches!(self.locked_within("keeper.lock", Duration::ZERO), Ok(None))
    }

    fn locked_within(&self, name: &str, patience: Duration) -> Result<Option<File>, String> {
        let file = self.lock(name)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) if began.elapsed() >= patience => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(AGAIN),
                Err(TryLockError::Error(error)) => return Err(told(&error)),
            }
        }
    }

    pub(super) fn lease(&self) -> Result<Lease, String> {
        let file = self.lock("users.lock")?;
        // The keeper holds the exclusive lock for a moment at most.
        file.lock_shared().map_err(|error| told(&error))?;
        Ok(Lease { _lock: file })
    }

    /// Takes the users' lock exclusively; `None` when there are leases. While the file is open, no lease is given.
    pub(super) fn try_lock_users(&self) -> Result<Option<File>, String> {
        self.locked_within("users.lock", Duration::ZERO)
    }

    /// Returns the recorded gateway, which may be gone; `None` without a valid record.
    pub(super) fn record(&self) -> Option<GatewayRecord> {
        let text = std::fs::read(self.folder.join("gateway.json")).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(super) fn write(&self, record: &GatewayRecord) -> Result<(), String> {
        let text = serde_json::to_string(record).map_err(|error| error.to_string())?;
        let path = self.folder.join("gateway.json");
        write_whole(&path, text.as_bytes(), FileMode::Private).map_err(|error| error.to_string())
    }

    /// Updates the file's modification time, to show that the gateway answers.
    pub(super) fn touch(&self) {
        let file = File::options()
            .append(true)
            .open(self.folder.join("gateway.json"));
        if let Ok(file) = file {
            // A sign for readers, not a proof: failure is harmless.
            let _ = file.set_modified(SystemTime::now());
        }
    }

    /// Removes the record after the gateway's end.
    pub(super) fn forget(&self) {
        if let Err(error) = std::fs::remove_file(self.folder.join("gateway.json"))
            && error.kind() != ErrorKind::NotFound
        {
            log::trace!(target: crate::text::trace::STARTUP, "gateway.json stays: {error}");
        }
    }

    /// Ends the keeper of a gateway that does not answer, and the gateway with it.
    pub(super) fn end_keeper(&self, record: &GatewayRecord) {
        for signal in [Signal::TERM, Signal::KILL] {
            // The keeper holds its lock, so the process is still the one that wrote the record.
            let Some(keeper) = Pid::from_raw(record.keeper).filter(|_| self.has_keeper()) else {
                return;
            };
            let _ = kill_process(keeper, signal);
            if matches!(self.lock_keeper(), Ok(Some(_))) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits until the lock can be had: a child that another test forks holds it, too, until it runs its own program.
    fn await_free(lock: impl Fn() -> Result<Option<File>, String>) {
        let begin = Instant::now();
        while lock().unwrap().is_none() {
            assert!(begin.elapsed() < Duration::from_secs(60), "still locked");
            std::thread::yield_now();
        }
    }

    #[test]
    fn users_are_counted_and_starting_is_for_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let dir =
            GatewayDir::for_interpreter(&folder.path().join("gateways"), Path::new("/a/python"))
                .unwrap();
        let other =
            GatewayDir::for_interpreter(&folder.path().join("gateways"), Path::new("/b/python"))
                .unwrap();
        assert_ne!(dir.folder(), other.folder());
        let starting = dir.lock_starting().unwrap();
        assert!(dir.try_lock_starting().unwrap().is_none());
        assert!(other.try_lock_starting().unwrap().is_some());
        drop(starting);
        await_free(|| dir.try_lock_starting());
        let (one, two) = (dir.lease().unwrap(), dir.lease().unwrap());
        assert!(dir.try_lock_users().unwrap().is_none());
        drop(one);
        assert!(dir.try_lock_users().unwrap().is_none());
        drop(two);
        await_free(|| dir.try_lock_users());
        assert!(!dir.has_keeper());
        let keeper = dir.lock_keeper().unwrap();
        assert!(keeper.is_some() && dir.has_keeper());
    }

    #[test]
    fn a_record_that_is_none_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let dir = GatewayDir::at(folder.path().to_owned());
        assert!(dir.record().is_none());
        std::fs::write(folder.path().join("gateway.json"), "{\"url\": 1}").unwrap();
        assert!(dir.record().is_none());
        let record = GatewayRecord {
            url: "http://127.0.0.1:1".into(),
            token: "t".into(),
            keeper: 1,
            python: "/python".into(),
            started: 0,
        };
        dir.write(&record).unwrap();
        assert_eq!(
            dir.record().unwrap().gateway().unwrap().url(),
            "http://127.0.0.1:1"
        );
        dir.forget();
        assert!(dir.record().is_none());
    }
}
