//! `fs/read_text_file` and `fs/write_text_file`: files the agent reads and writes through us.
//!
//! Reading is unrestricted, as it is for commands in any sandbox; writing is limited by the `sandbox` setting, and
//! a file is replaced whole or not at all. Paths are absolute; symbolic links are resolved before the check. A
//! notebook stays a notebook: other text is not written over it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::program::SizeLimit;
use crate::files::{FileMode, write_whole};
use crate::notebook::document::Document;
use crate::rpc::RpcError;
use crate::{AgentNotice, Change, FileChange, FileWritten, Sandbox};

/// The largest file that is read, in bytes.
const MAX_READ_BYTES: u64 = 64 << 20;

/// The largest file whose changes are shown, in bytes.
const MAX_DIFF_BYTES: u64 = 4 << 20;

/// The most that is sent at a time to an agent with a limit, in bytes.
pub(super) const READ_CHUNK_BYTES: usize = 48 << 10;

/// The protocol's error code for a missing resource.
const NOT_FOUND: i64 = -32002;

#[derive(Debug, Clone)]
pub(super) struct WritePolicy {
    pub(super) sandbox: Sandbox,
    pub(super) cwd: PathBuf,
    /// Plan mode is on: nothing is written, whatever the sandbox allows.
    pub(super) plans: bool,
}

fn path(params: &Value) -> Result<PathBuf, RpcError> {
    let path = params["path"]
        .as_str()
        .ok_or_else(|| RpcError::invalid_params("`path` is missing"))?;
    let path = PathBuf::from(path);
    match path.is_absolute() {
        true => Ok(path),
        false => Err(RpcError::invalid_params(format!(
            "`path` must be absolute, got `{}`",
            path.display()
        ))),
    }
}

/// Answers `fs/read_text_file`. `line` counts from 1; `limit` is a number of lines.
pub(super) fn read(
    params: &Value,
    handing: SizeLimit,
) -> Result<(Value, Option<AgentNotice>), RpcError> {
    let path = path(params)?;
    let name = path.display();
    let of_system = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound if handing == SizeLimit::Capped => RpcError {
            data: json!({"path": path, "reason": "file not found"}),
            ..RpcError::invalid_params(format!("file not found: {name}"))
        },
        ErrorKind::NotFound => RpcError::new(NOT_FOUND, format!("Resource not found: {name}")),
        _ => RpcError::new(-32603, format!("`{name}` cannot be read: {error}")),
    };
    let about = std::fs::metadata(&path).map_err(of_system)?;
    // Opening a pipe would wait for a writer.
    if !about.is_file() {
        return Err(RpcError::invalid_params(format!(
            "`{name}` is not a regular file"
        )));
    }
    let mut bytes = Vec::new();
    let file = File::open(&path).map_err(of_system)?;
    file.take(MAX_READ_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(of_system)?;
    if bytes.len() as u64 > MAX_READ_BYTES {
        return Err(RpcError::new(
            -32603,
            format!("`{name}` is larger than 64 MiB"),
        ));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| RpcError::new(-32603, format!("`{name}` is not UTF-8 text")))?;
    let count = |key: &str| params[key].as_u64().and_then(|it| usize::try_from(it).ok());
    let content = match (count("line"), count("limit")) {
        (None, None) => text,
        (line, limit) => {
            let lines = text.split_inclusive('\n');
            let lines = lines.skip(line.unwrap_or(1).saturating_sub(1));
            lines.take(limit.unwrap_or(usize::MAX)).collect()
        }
    };
    let (content, cut) = match handing {
        SizeLimit::Capped if content.len() > READ_CHUNK_BYTES => (truncated(&content), true),
        SizeLimit::Capped | SizeLimit::Unlimited => (content, false),
    };
    let aside = cut.then(|| AgentNotice::FileTruncated(name.to_string()));
    Ok((json!({"content": content}), aside))
}

/// The first [`READ_CHUNK_BYTES`] of a text, with a line on how to read on.
fn truncated(text: &str) -> String {
    let most = text.floor_char_boundary(READ_CHUNK_BYTES);
    let whole = text[..most].rfind('\n').map_or(most, |end| end + 1);
    let more =
        "... [truncated: file exceeds 48KB limit, use 'line' and 'limit' params to read sections]";
    format!("{}\n{more}", &text[..whole])
}

pub(super) fn write(
    params: &Value,
    allowed: &WritePolicy,
) -> Result<(Value, Option<AgentNotice>), RpcError> {
    let path = path(params)?;
    let content = params["content"].as_str();
    let content = content.ok_or_else(|| RpcError::invalid_params("`content` is missing"))?;
    let target = allowed.target(&path)?;
    let name = path.display();
    if is_notebook(&path) || is_notebook(&target) {
        check_notebook(&path, content)?;
    }
    let cannot = |why: String| RpcError::new(-32603, format!("`{name}` cannot be written: {why}"));
    if let Some(directory) = target.parent() {
        std::fs::create_dir_all(directory).map_err(|error| cannot(error.to_string()))?;
    }
    let old = match std::fs::metadata(&target) {
        Ok(about) if !about.is_file() => return Err(cannot("it is not a regular file".into())),
        Ok(about) if about.len() <= MAX_DIFF_BYTES => Some(std::fs::read_to_string(&target).ok()),
        Ok(_) => Some(None),
        Err(_) => None,
    };
    write_whole(&target, content.as_bytes(), FileMode::Keep).map_err(|error| {
        let source = std::error::Error::source(&error).map(|source| format!(" ({source})"));
        cannot(format!("{error}{}", source.unwrap_or_default()))
    })?;
    let new = content.to_owned();
    let change = match old {
        None => Change::Added(new),
        Some(Some(old)) => Change::Rewritten { old, new },
        Some(None) => Change::Diff(String::new()),
    };
    let path = name.to_string();
    let written = FileWritten {
        change: FileChange { path, change },
        bytes: content.len(),
    };
    Ok((json!({}), Some(AgentNotice::FileWritten(written))))
}

fn is_notebook(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// Checks that a notebook file is overwritten with a notebook only.
fn check_notebook(path: &Path, content: &str) -> Result<(), RpcError> {
    #[derive(Deserialize)]
    struct Format {
        nbformat: Option<u64>,
    }
    let name = path.display().to_string();
    let why = match Document::parse(content.to_owned()) {
        Err(error) => Some(error.sentence(&name)),
        Ok(document) => {
            let mut cells = document.cells().enumerate();
            let broken = cells.find_map(|(at, cell)| Some((at, cell.fault()?)));
            let format: Option<Format> =
                serde_json::from_str(content.trim_start_matches('\u{feff}')).ok();
            match (broken, format.and_then(|format| format.nbformat)) {
                (Some((at, fault)), _) => Some(format!("`{name}`: cell {} {fault}", at + 1)),
                (None, None) => Some(format!("`{name}` has no `nbformat`")),
                (None, Some(_)) => None,
            }
        }
    };
    let how =
        "send the whole notebook as valid JSON, or change its cells with a tool for notebooks";
    why.map_or(Ok(()), |why| {
        Err(RpcError::invalid_params(format!(
            "nothing was written: {why}; {how}"
        )))
    })
}

impl WritePolicy {
    /// The resolved path, if the policy allows writing to it.
    fn target(&self, path: &Path) -> Result<PathBuf, RpcError> {
        let name = path.display();
        if self.plans {
            let why = "plan mode is on, in which nothing is changed; give the plan instead";
            let message = format!("`{name}` was not written: {why}");
            return Err(RpcError::new(-32603, message));
        }
        let refused = |why: &str| {
            let message = format!("the user's settings do not allow writing `{name}`: {why}");
            Err(RpcError::new(-32603, message))
        };
        if path.components().any(|part| part == Component::ParentDir) {
            return refused("a path with `..`");
        }
        let target = resolved(path);
        match self.sandbox {
            Sandbox::FullAccess => Ok(target),
            Sandbox::ReadOnly => refused("sandbox is `read-only`"),
            Sandbox::WorkspaceWrite if target.starts_with(resolved(&self.cwd)) => Ok(target),
            Sandbox::WorkspaceWrite => {
                refused("sandbox is `workspace-write`, and it lies outside of the directory")
            }
        }
    }
}

/// `path` with symbolic links resolved as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut known = path;
    loop {
        if let Ok(real) = known.canonicalize() {
            return rest.iter().rev().fold(real, |path, part| path.join(part));
        }
        match (known.parent(), known.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name);
                known = parent;
            }
            _ => return path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content: Result<(Value, Option<AgentNotice>), RpcError>) -> String {
        match content {
            Ok((value, _)) => value["content"].as_str().unwrap_or("done").to_owned(),
            Err(error) => format!("{}: {}", error.code, error.message),
        }
    }

    #[test]
    fn a_file_is_read_whole_or_by_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a");
        std::fs::write(&file, "1\n2\n3").expect("written");
        let check = |more: Value, expected: &str| {
            let mut params = json!({"path": file});
            params
                .as_object_mut()
                .expect("object")
                .extend(more.as_object().expect("object").clone());
            assert_eq!(
                text(read(&params, SizeLimit::Unlimited)),
                expected,
                "{more}"
            );
        };
        check(json!({}), "1\n2\n3");
        check(json!({"line": 2}), "2\n3");
        check(json!({"line": 2, "limit": 1}), "2\n");
        check(json!({"limit": 0}), "");
        check(json!({"line": 99}), "");
        check(
            json!({"path": "a"}),
            "-32602: `path` must be absolute, got `a`",
        );
        check(json!({"path": null}), "-32602: `path` is missing");
        check(
            json!({"path": "/nowhere/x"}),
            "-32002: Resource not found: /nowhere/x",
        );
        check(json!({"path": "/"}), "-32602: `/` is not a regular file");
    }

    #[test]
    fn long_files_are_cut_at_a_line_where_that_is_wanted() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a");
        std::fs::write(
            &file,
            "é".repeat(9).as_str().to_owned() + "\n" + &"x\n".repeat(READ_CHUNK_BYTES),
        )
        .expect("written");
        let told = |params: Value| read(&params, SizeLimit::Capped);
        let (value, aside) = told(json!({"path": file})).expect("content");
        let content = value["content"].as_str().expect("text");
        let (kept, note) = content.rsplit_once("\n\n").expect("a note");
        assert!(
            kept.len() < READ_CHUNK_BYTES && kept.ends_with('x'),
            "{}",
            kept.len()
        );
        assert!(note.contains("'line' and 'limit'"), "{note}");
        assert!(matches!(aside, Some(AgentNotice::FileTruncated(_))));
        assert!(matches!(
            told(json!({"path": file, "limit": 2})),
            Ok((_, None))
        ));
        assert_eq!(
            text(told(json!({"path": "/nowhere/x"}))),
            "-32602: file not found: /nowhere/x"
        );
    }

    #[test]
    fn what_was_written_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let allowed = WritePolicy {
            sandbox: Sandbox::WorkspaceWrite,
            cwd: folder.path().to_owned(),
            plans: false,
        };
        let path = folder.path().join("a");
        let check = |content: &str, expected: &str| {
            let told = write(&json!({"path": path, "content": content}), &allowed);
            let Ok((_, Some(AgentNotice::FileWritten(written)))) = told else {
                panic!("{told:?}");
            };
            let told = written.summary().replace(&path.display().to_string(), "a");
            assert_eq!(told, expected);
        };
        check("1\n2\n", "created a (4 bytes, +2)");
        check("1\n3\n", "changed a (4 bytes, +1 −1)");
        check("1\n3\n", "changed a (4 bytes, as before)");
        std::fs::write(&path, b"\xff").expect("written");
        check("1", "changed a (1 byte)");
    }

    #[test]
    fn a_notebook_is_not_replaced_by_what_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let allowed = WritePolicy {
            sandbox: Sandbox::WorkspaceWrite,
            cwd: folder.path().to_owned(),
            plans: false,
        };
        let old = Document::empty().text().to_owned();
        let cell = |cell: Value| {
            json!({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).to_string()
        };
        let good = cell(json!({"cell_type": "code", "source": ["x"], "metadata": {},
            "outputs": [], "execution_count": null}));
        let sheets = json!({"worksheets": [{"cells": []}], "metadata": {}, "nbformat": 3,
            "nbformat_minor": 0});
        for (content, expected) in [
            (good.clone(), None),
            (format!("\u{feff}{good}"), None),
            (sheets.to_string(), None),
            (String::new(), Some("Invalid JSON in notebook")),
            ("x = 1\n".into(), Some("line 1, column 1")),
            (
                good[..good.len() - 1].to_owned(),
                Some("Invalid JSON in notebook"),
            ),
            (format!("{good}}}"), Some("Invalid JSON in notebook")),
            (
                good.replace("null", "None"),
                Some("Invalid JSON in notebook"),
            ),
            ("<<<<<<< HEAD\n{}".into(), Some("Invalid JSON in notebook")),
            ("[]".into(), Some("holds no object")),
            ("{}".into(), Some("has no list of cells")),
            (
                json!({"cells": {}}).to_string(),
                Some("has no list of cells"),
            ),
            (json!({"cells": []}).to_string(), Some("has no `nbformat`")),
            (cell(json!("x = 1")), Some("cell 1 is not a JSON object")),
            (
                cell(json!({"source": ""})),
                Some("cell 1 has no `cell_type`"),
            ),
            (
                cell(json!({"cell_type": "code"})),
                Some("cell 1 has no `source`"),
            ),
            (
                cell(json!({"cell_type": "code", "source": 7})),
                Some("neither text nor a list of lines"),
            ),
        ] {
            for name in ["a.ipynb", "b.IPYNB", "new/c.ipynb"] {
                let path = folder.path().join(name);
                if !name.starts_with("new") {
                    std::fs::write(&path, &old).expect("written");
                }
                let said = text(write(&json!({"path": path, "content": content}), &allowed));
                match expected {
                    None => assert_eq!(said, "done", "{content}"),
                    Some(expected) => {
                        assert!(said.contains(expected), "{content}: {said}");
                        let stands = std::fs::read_to_string(&path).ok();
                        assert!(stands.is_none_or(|stands| stands == old), "{content}");
                        assert!(!folder.path().join("new").exists());
                    }
                }
                drop(std::fs::remove_dir_all(folder.path().join("new")));
            }
        }
        // Under another name the content is ordinary text, and a link to a notebook is a notebook.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("a.ipynb"), &link).expect("a link");
        let path = folder.path().join("a.json");
        assert_eq!(
            text(write(&json!({"path": path, "content": "{"}), &allowed)),
            "done"
        );
        let said = text(write(&json!({"path": link, "content": "{"}), &allowed));
        assert!(said.contains("nothing was written"), "{said}");
    }

    #[test]
    fn writing_keeps_to_the_sandbox_and_links_lead_nowhere() {
        let folder = tempfile::tempdir().expect("a folder");
        let outside = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).expect("a link");
        let check = |sandbox: Sandbox, path: PathBuf, expected: &str| {
            let allowed = WritePolicy {
                sandbox,
                cwd: folder.path().to_owned(),
                plans: false,
            };
            let said = text(write(&json!({"path": path, "content": "x"}), &allowed));
            assert!(said.contains(expected), "{said}");
            assert_eq!(path.exists(), expected == "done", "{}", path.display());
        };
        let inside = |name: &str| folder.path().join(name);
        check(Sandbox::ReadOnly, inside("a"), "sandbox is `read-only`");
        check(Sandbox::WorkspaceWrite, inside("a"), "done");
        check(Sandbox::WorkspaceWrite, inside("new/deep/a"), "done");
        check(
            Sandbox::WorkspaceWrite,
            inside("link/b"),
            "outside of the directory",
        );
        check(Sandbox::WorkspaceWrite, inside("new/../../c"), "`..`");
        check(
            Sandbox::WorkspaceWrite,
            outside.path().join("c"),
            "outside of the directory",
        );
        check(Sandbox::FullAccess, outside.path().join("c"), "done");
    }
}
