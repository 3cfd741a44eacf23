//! Writes the embedded runner to a folder where an interpreter can read it.
//!
//! In: the cache directory. Out: the path of `runner.py`. Invariants: the folder is named by the hash of its
//! content, appears whole or not at all (written beside, then renamed) and has mode 0700. An existing folder is
//! used only when the user alone can write it and every file has its full length; a truncated one is replaced.
//! Absent on purpose: removing other versions, which may be running.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, open, statat};

macro_rules! embedded {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/assets/python/", $path)))),+]
    };
}

/// Path below the folder and text of every file of the runner.
const FILES: &[(&str, &str)] = embedded![
    "runner.py",
    "_ipycodex_runner/__init__.py",
    "_ipycodex_runner/arguments.py",
    "_ipycodex_runner/array_views.py",
    "_ipycodex_runner/arrive.py",
    "_ipycodex_runner/aside.py",
    "_ipycodex_runner/background.py",
    "_ipycodex_runner/bindings.py",
    "_ipycodex_runner/branch.py",
    "_ipycodex_runner/cell_context.py",
    "_ipycodex_runner/cell_environment.py",
    "_ipycodex_runner/cells.py",
    "_ipycodex_runner/checkpoints.py",
    "_ipycodex_runner/comms.py",
    "_ipycodex_runner/complete.py",
    "_ipycodex_runner/completeness.py",
    "_ipycodex_runner/confine.py",
    "_ipycodex_runner/copies.py",
    "_ipycodex_runner/dark_figures.py",
    "_ipycodex_runner/debug.py",
    "_ipycodex_runner/definitions.py",
    "_ipycodex_runner/descriptors.py",
    "_ipycodex_runner/embedded.py",
    "_ipycodex_runner/expressions.py",
    "_ipycodex_runner/figures.py",
    "_ipycodex_runner/file_audit.py",
    "_ipycodex_runner/fork_state.py",
    "_ipycodex_runner/forks.py",
    "_ipycodex_runner/guard.py",
    "_ipycodex_runner/handoff.py",
    "_ipycodex_runner/host.py",
    "_ipycodex_runner/host_calls.py",
    "_ipycodex_runner/host_watch.py",
    "_ipycodex_runner/import_hooks.py",
    "_ipycodex_runner/inspection.py",
    "_ipycodex_runner/ipycodex.py",
    "_ipycodex_runner/ipython.py",
    "_ipycodex_runner/ipython_debugger.py",
    "_ipycodex_runner/ipython_history.py",
    "_ipycodex_runner/ipython_profile.py",
    "_ipycodex_runner/ipython_terminal.py",
    "_ipycodex_runner/kernel.py",
    "_ipycodex_runner/key_completion.py",
    "_ipycodex_runner/lazy_checkpoints.py",
    "_ipycodex_runner/live_objects.py",
    "_ipycodex_runner/look.py",
    "_ipycodex_runner/look_back.py",
    "_ipycodex_runner/loop.py",
    "_ipycodex_runner/magic_cells.py",
    "_ipycodex_runner/magic_files.py",
    "_ipycodex_runner/magic_history.py",
    "_ipycodex_runner/magic_names.py",
    "_ipycodex_runner/magic_run.py",
    "_ipycodex_runner/magic_stored.py",
    "_ipycodex_runner/magics.py",
    "_ipycodex_runner/merge.py",
    "_ipycodex_runner/mime.py",
    "_ipycodex_runner/outputs.py",
    "_ipycodex_runner/pandas_display.py",
    "_ipycodex_runner/pictures.py",
    "_ipycodex_runner/prefault.py",
    "_ipycodex_runner/reader.py",
    "_ipycodex_runner/record.py",
    "_ipycodex_runner/references.py",
    "_ipycodex_runner/reload.py",
    "_ipycodex_runner/requests.py",
    "_ipycodex_runner/results.py",
    "_ipycodex_runner/saved_variables.py",
    "_ipycodex_runner/schema.py",
    "_ipycodex_runner/serve.py",
    "_ipycodex_runner/shell.py",
    "_ipycodex_runner/shutdown.py",
    "_ipycodex_runner/signatures.py",
    "_ipycodex_runner/snapshot.py",
    "_ipycodex_runner/startup_files.py",
    "_ipycodex_runner/static_completion.py",
    "_ipycodex_runner/stdin.py",
    "_ipycodex_runner/stdlib.py",
    "_ipycodex_runner/structured_ask.py",
    "_ipycodex_runner/symbols.py",
    "_ipycodex_runner/syntax.py",
    "_ipycodex_runner/system.py",
    "_ipycodex_runner/terminal.py",
    "_ipycodex_runner/tools.py",
    "_ipycodex_runner/tracebacks.py",
    "_ipycodex_runner/trial.py",
    "_ipycodex_runner/truncate.py",
    "_ipycodex_runner/user_expressions.py",
    "_ipycodex_runner/value_digest.py",
    "_ipycodex_runner/value_pickle.py",
    "_ipycodex_runner/value_restore.py",
    "_ipycodex_runner/watchdog.py",
    "_ipycodex_runner/wire.py",
];

/// Modules that a foreign Python kernel needs for tools, references and rich output, and for the module `ipycodex`.
const INJECTABLE: &[&str] = &[
    "arguments",
    "arrive",
    "bindings",
    "cells",
    "confine",
    "dark_figures",
    "debug",
    "definitions",
    "embedded",
    "expressions",
    "figures",
    "forks",
    "guard",
    "host_calls",
    "ipycodex",
    "loop",
    "mime",
    "pictures",
    "record",
    "references",
    "results",
    "schema",
    "signatures",
    "snapshot",
    "stdin",
    "stdlib",
    "structured_ask",
    "syntax",
    "tools",
    "tracebacks",
    "truncate",
    "watchdog",
    "wire",
];

pub(crate) fn injectable_modules() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(|(path, text)| {
        let name = path
            .strip_prefix("_ipycodex_runner/")?
            .strip_suffix(".py")?;
        INJECTABLE.contains(&name).then_some((name, *text))
    })
}

#[derive(Debug)]
pub(super) struct Staged {
    pub(super) script: PathBuf,
    /// Why the script is not below the cache directory, if so.
    pub(super) fallback: Option<String>,
}

/// Stages the runner below `cache_dir`, or in a private temporary folder when that is not writable.
///
/// # Errors
/// Neither is writable.
pub(super) fn stage(cache_dir: &Path) -> io::Result<Staged> {
    let error = match stage_below(cache_dir) {
        Ok(script) => {
            return Ok(Staged {
                script,
                fallback: None,
            });
        }
        Err(error) => error,
    };
    let user = rustix::process::geteuid().as_raw();
    let private = std::env::temp_dir().join(format!("ipycodex-{user}"));
    let script = stage_below(&private)?;
    let fallback = format!(
        "{} cannot be written ({error}); the Python runner is kept in {} instead",
        cache_dir.display(),
        private.display()
    );
    Ok(Staged {
        script,
        fallback: Some(fallback),
    })
}

fn stage_below(parent: &Path) -> io::Result<PathBuf> {
    let folder = parent.join(format!("runner-{CONTENT:032x}"));
    if is_intact(&folder) {
        return Ok(folder.join("runner.py"));
    }
    create_private(parent)?;
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let written = parent.join(format!(".runner-{:016x}", u64::from_ne_bytes(random)));
    let outcome = write_files(&written).and_then(|()| install(&written, &folder));
    if outcome.is_err() {
        // A half-written folder is harmless: no lookup uses its name.
        let _ = fs::remove_dir_all(&written);
    }
    outcome?;
    Ok(folder.join("runner.py"))
}

/// Renames a complete folder to its final name; a broken folder of that name is moved away first.
fn install(written: &Path, folder: &Path) -> io::Result<()> {
    if fs::rename(written, folder).is_ok() {
        return Ok(());
    }
    if is_intact(folder) {
        // Another process was faster.
        return fs::remove_dir_all(written);
    }
    let broken = written.with_extension("broken");
    fs::rename(folder, &broken)?;
    let outcome = fs::rename(written, folder);
    let _ = fs::remove_dir_all(&broken);
    outcome
}

fn write_files(folder: &Path) -> io::Result<()> {
    create_private(folder)?;
    for (path, text) in FILES {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            create_private(parent)?;
        }
        fs::write(file, text)?;
    }
    Ok(())
}

fn create_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

/// Returns true for a folder of the user that nobody else can write, with every file of its full length. Contents
/// are not read: that takes as long as an interpreter's first steps, and interpreters do not read them either while
/// the code file beside them fits.
fn is_intact(folder: &Path) -> bool {
    let is_ours = fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir()
            && found.uid() == rustix::process::geteuid().as_raw()
            && found.mode() & 0o022 == 0
    });
    // Names are looked up from the folder: its own path is long.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = open(folder, flags, Mode::empty());
    let Ok(opened) = opened else { return false };
    is_ours
        && FILES.iter().all(|(path, text)| {
            statat(&opened, *path, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|found| {
                FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
                    && usize::try_from(found.st_size) == Ok(text.len())
            })
        })
}

/// Hash of the content (FNV-1a), computed at compile time: hashing takes longer than starting a process.
#[allow(long_running_const_eval, reason = "a third of a megabyte, once")]
const CONTENT: u128 = {
    const fn mix(mut hash: u128, bytes: &[u8]) -> u128 {
        let mut at = 0;
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u128).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
            at += 1;
        }
        // A byte that no UTF-8 text contains separates the texts, so that moving text between two of them changes
        // the hash.
        (hash ^ 0xff).wrapping_mul(0x0100_0000_0000_0000_0000_013b)
    }
    let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut file = 0;
    while file < FILES.len() {
        hash = mix(hash, FILES[file].0.as_bytes());
        hash = mix(hash, FILES[file].1.as_bytes());
        file += 1;
    }
    hash
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_file_of_the_folder_is_embedded() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/python");
        let mut found = BTreeSet::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.extension().and_then(|e| e.to_str()) {
                    _ if path.is_dir() => folders.push(path),
                    // Interpreters leave compiled code beside the sources.
                    extension => {
                        if extension != Some("py") {
                            continue;
                        }
                        let below = path.strip_prefix(&root).unwrap();
                        found.insert(below.to_str().unwrap().to_owned());
                    }
                }
            }
        }
        let embedded: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(embedded, found);
    }

    #[test]
    fn staged_once_and_mended_when_broken() {
        let cache = tempfile::tempdir().unwrap();
        let parent = cache.path().join("a/b");
        let script = stage(&parent).unwrap().script;
        assert_eq!(fs::read_to_string(&script).unwrap(), FILES[0].1);
        let folder = script.parent().unwrap();
        assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
        let inode = fs::metadata(folder).unwrap().ino();
        stage(&parent).unwrap();
        assert_eq!(fs::metadata(folder).unwrap().ino(), inode, "staged again");
        fs::write(&script, "truncated").unwrap();
        stage(&parent).unwrap();
        assert_eq!(fs::read_to_string(&script).unwrap(), FILES[0].1);
        assert_eq!(
            fs::read_dir(&parent).unwrap().count(),
            1,
            "nothing is left behind"
        );
    }

    #[test]
    fn an_unwritable_cache_is_told_and_replaced() {
        let cache = tempfile::tempdir().unwrap();
        let file = cache.path().join("file");
        fs::write(&file, "").unwrap();
        let staged = stage(&file.join("cache")).unwrap();
        assert!(staged.script.is_file());
        assert!(staged.fallback.unwrap().contains("cannot be written"));
    }

    #[test]
    fn a_folder_others_can_write_is_not_trusted() {
        let cache = tempfile::tempdir().unwrap();
        let folder = stage(cache.path())
            .unwrap()
            .script
            .parent()
            .unwrap()
            .to_owned();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        stage(cache.path()).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    }
}
