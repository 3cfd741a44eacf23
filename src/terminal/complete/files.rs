//! Completes names of files and programs. Reads directories, so callers run it beside the editor, never in it.
//!
//! In: a path as typed, and how it is quoted. Out: replacements, quoted the same way. Invariant: an inserted path
//! reads back as the name of the file. Absent on purpose: matching inside of names.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::terminal::complete::rules::{FileKind, FoundCompletion, PathQuoting};

/// The most names offered.
const MOST: usize = 500;

/// Returns the completions of the path `typed`, which begins at byte `start` of the text.
pub(super) fn files(
    typed: &str,
    start: usize,
    writing: PathQuoting,
    wanted: FileKind,
    cwd: &Path,
    home: Option<&Path>,
) -> Vec<FoundCompletion> {
    if typed == "~" {
        return vec![FoundCompletion {
            start,
            value: "~/".into(),
            detail: String::new(),
        }];
    }
    let last = typed.rfind('/').map_or(0, |at| at + 1);
    let (folder, prefix) = (
        read_as(&typed[..last], writing),
        read_as(&typed[last..], writing),
    );
    let folder = match (folder.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(folder.as_ref()),
    };
    let mut names = entries(&folder, &prefix, wanted);
    names.sort_unstable();
    names.truncate(MOST);
    let written = names.into_iter().filter_map(|name| {
        Some(FoundCompletion {
            start: start + last,
            value: write_as(&name, writing)?,
            detail: String::new(),
        })
    });
    written.collect()
}

/// Returns names in a folder that begin with `prefix`; those of folders end in a slash.
fn entries(folder: &Path, prefix: &str, wanted: FileKind) -> Vec<String> {
    let Ok(read) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let fitting = read.flatten().filter_map(|entry| {
        let mut name = entry.file_name().into_string().ok()?;
        if !name.starts_with(prefix) || (name.starts_with('.') && !prefix.starts_with('.')) {
            return None;
        }
        let kind = entry.file_type().ok()?;
        let is_folder = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
        if is_folder {
            name.push('/');
        }
        let counts = is_folder
            || match wanted {
                FileKind::Any => true,
                FileKind::Folders => false,
                FileKind::Scripts => ends_in(&name, &["py", "ipy", "ipynb"]),
                FileKind::Notebooks => ends_in(&name, &["ipynb"]),
            };
        counts.then_some(name)
    });
    fitting.collect()
}

fn ends_in(name: &str, extensions: &[&str]) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, extension)| extensions.contains(&extension))
}

/// Returns programs on `path` whose names begin with `prefix`.
pub(super) fn programs(prefix: &str, path: Option<&OsStr>) -> Vec<String> {
    let folders: Vec<PathBuf> = path.map_or(Vec::new(), |path| {
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .collect()
    });
    let mut names: Vec<String> = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let plain = !name.chars().any(|c| c.is_control() || c.is_whitespace());
            let runs = name.starts_with(prefix)
                && plain
                && std::fs::metadata(entry.path())
                    .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0);
            runs.then_some(name)
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(MOST);
    names
}

fn read_as(typed: &str, writing: PathQuoting) -> Cow<'_, str> {
    let escapes = match writing {
        PathQuoting::Raw | PathQuoting::ShellQuoted('\'') => return Cow::Borrowed(typed),
        PathQuoting::Text(_) => "\\'\"",
        PathQuoting::ShellQuoted(_) => "\\\"$`",
        PathQuoting::Shell => "",
    };
    if !typed.contains('\\') {
        return Cow::Borrowed(typed);
    }
    let mut read = String::with_capacity(typed.len());
    let mut rest = typed.chars().peekable();
    while let Some(c) = rest.next() {
        let escaped = |next: &char| escapes.is_empty() || escapes.contains(*next);
        match rest.peek() {
            Some(next) if c == '\\' && escaped(next) => read.extend(rest.next()),
            _ => read.push(c),
        }
    }
    Cow::Owned(read)
}

/// Quotes a name; `None` where its characters cannot be quoted.
fn write_as(name: &str, writing: PathQuoting) -> Option<String> {
    if name.chars().any(char::is_control) {
        return None;
    }
    let escaped = |special: &dyn Fn(char) -> bool| {
        let mut written = String::with_capacity(name.len());
        for c in name.chars() {
            if special(c) {
                written.push('\\');
            }
            written.push(c);
        }
        written
    };
    Some(match writing {
        PathQuoting::Raw => name.to_owned(),
        PathQuoting::Text(quote) => escaped(&|c| c == '\\' || c == quote),
        PathQuoting::Shell => {
            escaped(&|c| c.is_ascii() && !c.is_ascii_alphanumeric() && !"_@%+=:,./-".contains(c))
        }
        PathQuoting::ShellQuoted('\'') => name.replace('\'', "'\\''"),
        PathQuoting::ShellQuoted(_) => escaped(&|c| matches!(c, '"' | '\\' | '$' | '`')),
    })
}
