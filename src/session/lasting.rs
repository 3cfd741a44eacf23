//! Approvals that last: `allowed.json` in the state directory, outside of every project.
//!
//! In: a request of the agent, and the user's word. Out: what a lasting yes would cover, and whether one covers the
//! request. It covers one exact command, byte for byte, in one directory, or changes of the files of one folder with
//! one ending, below one directory. Invariants: nothing that may leave the sandbox is covered or offered: a command or
//! change with a reason, other permissions, files outside of the directory, behind links or hidden, removals; never
//! cells. The file is private (0600), written whole, and read anew for each request, so that what another session
//! revokes ends at once. A file that is broken, newer, or writable by others allows nothing and is not overwritten.
//!
//! Format: `{"version": 1, "allowed": [{"directory", "command" or "files", "by", "agent", "session", "at"}]}`.
//!
//! Absent on purpose: a lock: of two answers given at the same moment one may be lost, and is asked for again.

use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::agent::{Change, FileChange, Subject};
use crate::files::{FileMode, check_private_dir, private_dir, write_whole};
use crate::text::age_in_words;
use crate::text::escape::visible;

const VERSION: u32 = 1;

/// The largest file that is read.
const MOST: u64 = 4 << 20;

/// What a lasting yes covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lasting {
    /// Absolute, links resolved.
    pub directory: String,
    #[serde(flatten)]
    pub what: LastingSubject,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastingSubject {
    /// This command, byte for byte, in this directory.
    Command(String),
    /// Changes of files with this pattern below the directory: a folder and `*.ENDING`, or one name.
    Files(String),
}

/// A lasting yes as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    covers: Lasting,
    /// The user.
    by: String,
    /// The agent that asked.
    agent: String,
    /// The session it was given in.
    session: i64,
    /// In seconds since the epoch.
    at: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Content {
    version: u32,
    #[serde(default)]
    allowed: Vec<Entry>,
}

/// The file of lasting approvals.
#[derive(Debug, Clone, Default)]
pub struct LastingFile {
    /// `None`: nothing is kept.
    file: Option<PathBuf>,
    /// The name of the user, for the list.
    by: String,
}

/// Whether a request is covered, or could be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Coverage {
    #[default]
    None,
    /// A yes can be made to last.
    Offered(Box<Lasting>),
    Allowed,
}

impl Lasting {
    /// The command, or the pattern of files.
    pub fn text(&self) -> &str {
        match &self.what {
            LastingSubject::Command(text) | LastingSubject::Files(text) => text,
        }
    }

    /// Returns what a yes to this request can cover for good; several where files of several patterns change.
    fn of(subject: &Subject, cwd: &Path) -> Option<Vec<Lasting>> {
        let root = cwd.canonicalize().ok()?;
        let lasting = |directory: &Path, what| {
            let directory = directory.to_str()?.to_owned();
            Some(Lasting { directory, what })
        };
        match subject {
            Subject::Command {
                command,
                cwd,
                reason: None,
            } => {
                let directory = Path::new(cwd).canonicalize().ok()?;
                let inside = Path::new(cwd).is_absolute() && directory.starts_with(&root);
                let what = LastingSubject::Command(command.clone());
                Some(vec![lasting(&directory, what).filter(|_| inside)?])
            }
            Subject::Edit {
                changes,
                reason: None,
            } => {
                let mut all: Vec<Lasting> = Vec::new();
                for change in changes {
                    let pattern = pattern(change, &root)?;
                    let one = lasting(&root, LastingSubject::Files(pattern))?;
                    if !all.contains(&one) {
                        all.push(one);
                    }
                }
                (!all.is_empty()).then_some(all)
            }
            _ => None,
        }
    }
}

/// The pattern of a changed file below `root`; `None` where no yes may last.
fn pattern(change: &FileChange, root: &Path) -> Option<String> {
    if matches!(change.change, Change::Deleted(_)) {
        return None;
    }
    let path = root.join(&change.path);
    let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.components().all(plain) {
        return None;
    }
    let name = path.file_name()?.to_str()?.to_owned();
    let folder = path.parent()?.canonicalize().ok()?;
    let is_link = std::fs::symlink_metadata(folder.join(&name)).is_ok_and(|it| !it.is_file());
    let folder = folder.strip_prefix(root).ok()?.to_str()?.to_owned();
    let hidden = |part: &str| part.starts_with('.');
    if is_link || hidden(&name) || folder.split('/').any(hidden) || name.contains(char::is_control)
    {
        return None;
    }
    let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    let last = match ending {
        Some((_, ending)) if !ending.is_empty() => format!("*.{ending}"),
        _ => name,
    };
    Some(match folder.is_empty() {
        true => last,
        false => format!("{folder}/{last}"),
    })
}

impl LastingFile {
    /// `by`: the name of the user.
    pub fn new(state_dir: &Path, by: String) -> Self {
        LastingFile {
            file: Some(state_dir.join("allowed.json")),
            by,
        }
    }

    /// Returns whether a request is covered, or may be from now on; `cwd` is the session's directory.
    pub(crate) fn coverage(&self, subject: &Subject, cwd: &Path) -> Coverage {
        let Some(file) = &self.file else {
            return Coverage::None;
        };
        let (Some(mut wanted), Ok(kept)) = (Lasting::of(subject, cwd), load(file)) else {
            return Coverage::None;
        };
        let covered = |one: &Lasting| kept.allowed.iter().any(|entry| entry.covers == *one);
        match wanted.iter().all(covered) {
            true => Coverage::Allowed,
            false if wanted.len() == 1 => Coverage::Offered(Box::new(wanted.remove(0))),
            false => Coverage::None,
        }
    }

    /// Keeps a yes.
    ///
    /// # Errors
    /// Returns why it does not last, in a sentence.
    pub(crate) fn add(
        &self,
        covers: Lasting,
        agent: String,
        session: i64,
        now: SystemTime,
    ) -> Result<(), String> {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let entry = Entry {
            covers,
            by: self.by.clone(),
            agent,
            session,
            at: since.as_secs(),
        };
        self.change(|allowed| {
            if allowed.iter().all(|kept| kept.covers != entry.covers) {
                allowed.push(entry);
            }
            Ok(())
        })
    }

    /// Takes back the approval with this number of the list; returns what it covered.
    ///
    /// # Errors
    /// Returns why that is not possible, in a sentence.
    pub(crate) fn revoke(&self, number: usize) -> Result<Lasting, String> {
        let mut revoked = None;
        self.change(|allowed| {
            let index = number.checked_sub(1).filter(|index| *index < allowed.len());
            let index = index.ok_or_else(|| {
                format!("there is no lasting approval {number}: `%ipycodex allowed` lists them")
            })?;
            revoked = Some(allowed.remove(index).covers);
            Ok(())
        })?;
        revoked.ok_or_else(|| "nothing was revoked".to_owned())
    }

    /// Returns the list, a row each, with who gave each approval and when.
    ///
    /// # Errors
    /// Returns why the file cannot be used, in a sentence.
    pub(crate) fn listing(&self, now: SystemTime) -> Result<String, String> {
        let Some(file) = &self.file else {
            return Ok(NONE.to_owned());
        };
        let content = load(file).map_err(|why| unusable(file, &why))?;
        if content.allowed.is_empty() {
            return Ok(NONE.to_owned());
        }
        let rows = content.allowed.iter().enumerate().map(|(index, entry)| {
            let kind = match entry.covers.what {
                LastingSubject::Command(_) => "the command",
                LastingSubject::Files(_) => "changes of",
            };
            let at = UNIX_EPOCH + Duration::from_secs(entry.at);
            let age = age_in_words(now.duration_since(at).unwrap_or_default());
            format!(
                "{:>3}  {kind} {}\n     in {}; allowed by {} {age} ago, asked by {} in session {}",
                index + 1,
                visible(entry.covers.text()),
                visible(&entry.covers.directory),
                visible(&entry.by),
                visible(&entry.agent),
                entry.session
            )
        });
        let rows: Vec<String> = rows.collect();
        Ok(rows.join("\n"))
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Vec<Entry>) -> Result<(), String>,
    ) -> Result<(), String> {
        let Some(file) = &self.file else {
            return Err("nothing lasts here: there is no place to keep it".to_owned());
        };
        let mut content = load(file).map_err(|why| unusable(file, &why))?;
        change(&mut content.allowed)?;
        if let Some(directory) = file.parent() {
            private_dir(directory).map_err(|error| error.to_string())?;
        }
        let text = serde_json::to_string_pretty(&content).map_err(|error| error.to_string())?;
        write_whole(file, format!("{text}\n").as_bytes(), FileMode::Private)
            .map_err(|error| error.to_string())
    }
}

const NONE: &str = "nothing is allowed for good";

fn unusable(file: &Path, why: &str) -> String {
    format!(
        "`{}` {why}; it allows nothing, and is left unchanged",
        file.display()
    )
}

/// What is in `file`; empty when it is missing. The error continues a sentence that begins with the path.
fn load(file: &Path) -> Result<Content, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let metadata = match std::fs::symlink_metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Content {
                version: VERSION,
                allowed: Vec::new(),
            });
        }
        Err(error) => return Err(unreadable(error)),
    };
    if let Some(Err(error)) = file.parent().map(check_private_dir) {
        return Err(format!("is not in a safe place: {error}"));
    }
    let user = rustix::process::geteuid().as_raw();
    if !metadata.is_file() || metadata.uid() != user || metadata.mode() & 0o022 != 0 {
        return Err("is not a file that only you can write".to_owned());
    }
    if metadata.len() > MOST {
        return Err("is too large".to_owned());
    }
    let bytes = std::fs::read(file).map_err(unreadable)?;
    let content: Content =
        serde_json::from_slice(&bytes).map_err(|error| format!("is broken: {error}"))?;
    match content.version {
        VERSION => Ok(content),
        version => Err(format!("has version {version}, not {VERSION}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        file: LastingFile,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        for name in ["project/src", "project/.git", "project/sub", "outside"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let file = LastingFile::new(&folder.path().join("state"), "ann".into());
        Place { folder, file }
    }

    impl Place {
        fn project(&self) -> PathBuf {
            self.folder.path().join("project").canonicalize().unwrap()
        }

        fn command(&self, command: &str, cwd: &str, reason: Option<&str>) -> Subject {
            Subject::Command {
                command: command.into(),
                cwd: self.project().join(cwd).display().to_string(),
                reason: reason.map(str::to_owned),
            }
        }

        fn coverage(&self, subject: &Subject) -> Coverage {
            self.file.coverage(subject, &self.project())
        }

        /// Makes a yes to this request last.
        fn allow(&self, subject: &Subject) {
            let Coverage::Offered(lasting) = self.coverage(subject) else {
                panic!("not offered: {subject:?}");
            };
            let at = UNIX_EPOCH + Duration::from_secs(1_000_000);
            self.file.add(*lasting, "codex".into(), 7, at).unwrap();
        }
    }

    fn edit(paths: &[&str], reason: Option<&str>) -> Subject {
        let changes = paths.iter().map(|path| FileChange {
            path: (*path).into(),
            change: Change::Diff(String::new()),
        });
        Subject::Edit {
            changes: changes.collect(),
            reason: reason.map(str::to_owned),
        }
    }

    #[test]
    fn a_command_is_covered_byte_for_byte_in_its_directory() {
        let place = place();
        place.allow(&place.command("cargo test", "", None));
        let covered = |command: &str, cwd: &str, reason| {
            place.coverage(&place.command(command, cwd, reason)) == Coverage::Allowed
        };
        assert!(covered("cargo test", "", None));
        for command in [
            "cargo test ",
            "cargo  test",
            "cargo test;rm x",
            "cargo test\n",
            "Cargo test",
            "",
        ] {
            assert!(!covered(command, "", None), "{command:?}");
        }
        assert!(!covered("cargo test", "src", None));
        assert!(
            !covered("cargo test", "", Some("to see")),
            "it may leave the sandbox"
        );
    }

    #[test]
    fn what_may_leave_the_sandbox_or_the_directory_is_not_offered() {
        let place = place();
        let outside = place
            .folder
            .path()
            .join("outside/a.py")
            .display()
            .to_string();
        std::os::unix::fs::symlink(
            place.folder.path().join("outside"),
            place.project().join("link"),
        )
        .unwrap();
        std::os::unix::fs::symlink(&outside, place.project().join("src/l.py")).unwrap();
        let deleted = Subject::Edit {
            changes: vec![FileChange {
                path: "src/a.py".into(),
                change: Change::Deleted(String::new()),
            }],
            reason: None,
        };
        let permissions = Subject::Permissions {
            requested: vec!["network".into()],
            cwd: place.project().display().to_string(),
            reason: None,
        };
        for subject in [
            place.command("ls", "", Some("why")),
            place.command("ls", "../outside", None),
            place.command("ls", "link", None),
            place.command("ls", "missing", None),
            edit(&["src/a.py"], Some("why")),
            edit(&["../outside/a.py"], None),
            edit(&["src/../src/a.py"], None),
            edit(&[&outside], None),
            edit(&["src/a.py", &outside], None),
            edit(&["link/a.py"], None),
            edit(&["src/l.py"], None),
            edit(&[".git/config"], None),
            edit(&["src/.hidden.py"], None),
            edit(&["missing/a.py"], None),
            edit(&["src/a.py", "src/b.rs"], None),
            edit(&[], None),
            deleted,
            permissions,
        ] {
            assert_eq!(place.coverage(&subject), Coverage::None, "{subject:?}");
        }
    }

    #[test]
    fn files_are_covered_by_folder_and_ending() {
        let place = place();
        let absolute = place.project().join("src/a.py").display().to_string();
        for (paths, pattern) in [
            (&["src/a.py", "src/b.py"][..], "src/*.py"),
            (&[&absolute], "src/*.py"),
            (&["notes.tar.gz"], "*.gz"),
            (&["Makefile"], "Makefile"),
        ] {
            let Coverage::Offered(lasting) = place.coverage(&edit(paths, None)) else {
                panic!("{paths:?}");
            };
            assert_eq!(lasting.text(), pattern);
        }
        place.allow(&edit(&["src/a.py"], None));
        place.allow(&edit(&["b.rs"], None));
        let covered = |paths: &[&str]| place.coverage(&edit(paths, None)) == Coverage::Allowed;
        assert!(covered(&["src/c.py"]) && covered(&[&absolute, "x.rs"]));
        assert!(
            !covered(&["c.py"]) && !covered(&["sub/c.py"]) && !covered(&["src/c.py", "src/c.rs"])
        );
        // Another directory has its own approvals.
        let other = place.folder.path().join("outside");
        assert!(matches!(
            place.file.coverage(&edit(&["b.rs"], None), &other),
            Coverage::Offered(_)
        ));
    }

    #[test]
    fn approvals_are_listed_and_revoked_and_the_file_is_private() {
        let place = place();
        let now = UNIX_EPOCH + Duration::from_secs(1_000_060);
        assert_eq!(place.file.listing(now).unwrap(), NONE);
        place.allow(&place.command("make", "", None));
        place.allow(&edit(&["a.py"], None));
        let path = place.folder.path().join("state/allowed.json");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let project = place.project();
        let expected = format!(
            "  1  the command make\n     in {0}; allowed by ann 1 min ago, asked by codex in session 7\n\
             \x20 2  changes of *.py\n     in {0}; allowed by ann 1 min ago, asked by codex in session 7",
            project.display()
        );
        assert_eq!(place.file.listing(now).unwrap(), expected);
        assert!(
            place
                .file
                .revoke(3)
                .unwrap_err()
                .contains("no lasting approval 3")
        );
        assert!(place.file.revoke(0).is_err());
        assert_eq!(place.file.revoke(1).unwrap().text(), "make");
        assert!(matches!(
            place.coverage(&place.command("make", "", None)),
            Coverage::Offered(_)
        ));
        assert_eq!(place.coverage(&edit(&["a.py"], None)), Coverage::Allowed);
    }

    #[test]
    fn a_file_that_cannot_be_trusted_allows_nothing_and_stays() {
        use std::os::unix::fs::PermissionsExt;
        let place = place();
        let make = place.command("make", "", None);
        place.allow(&make);
        let path = place.folder.path().join("state/allowed.json");
        let good = std::fs::read_to_string(&path).unwrap();
        let newer = good.replace("\"version\": 1", "\"version\": 2");
        for (text, mode) in [
            ("{", 0o600),
            (newer.as_str(), 0o600),
            (good.as_str(), 0o666),
        ] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(place.coverage(&make), Coverage::None);
            assert!(place.file.listing(UNIX_EPOCH).is_err() && place.file.revoke(1).is_err());
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
