//! Sessions into files: where, in which form, and what is not overwritten.
//!
//! In: the saved session, the name as typed. Out: a file written whole, or a report. Invariant: nothing a user made
//! is overwritten unasked. A file is replaced when we wrote it and, for a notebook, when the new text holds all its
//! cells; else only with `-f`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::config::Paths;
use crate::files::{FileMode, TrackedFile, private_dir};
use crate::notebook::{
    Document, LARGEST, NotebookError, SavedEntry, SavedSession, is_ours, read_session, to_html,
    to_markdown, to_script, update_notebook, write_session,
};
use crate::text::report::Report;

/// The marker in the first line of exported files that are no notebooks.
const WRITTEN_BY_US: &str = "ipycodex export";

/// Files and directories of a user's notebooks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NotebookPlaces {
    pub startup: PathBuf,
    pub home: Option<PathBuf>,
}

impl NotebookPlaces {
    pub fn new(paths: &Paths, home: Option<PathBuf>) -> Self {
        NotebookPlaces {
            startup: paths.startup_notebook.clone(),
            home,
        }
    }

    /// Returns the file for `name`, as typed in a session whose directory is `cwd`.
    pub fn file(&self, name: &str, cwd: &Path) -> PathBuf {
        let name = Path::new(name);
        match (name.strip_prefix("~"), &self.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => cwd.join(name),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileForm {
    Notebook,
    Markdown,
    Page,
    Script,
}

impl FileForm {
    pub fn of(path: &Path) -> Option<Self> {
        let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match suffix.as_str() {
            "ipynb" => FileForm::Notebook,
            "md" | "markdown" => FileForm::Markdown,
            "html" | "htm" => FileForm::Page,
            "py" => FileForm::Script,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone)]
pub struct SaveTarget {
    pub path: PathBuf,
    pub form: FileForm,
    pub force: bool,
    /// Readable by the user alone, in a directory of ours, which is created when missing.
    pub private: bool,
    /// The command that forces the replacement, for the hint.
    pub forcing: String,
}

/// Writes a session; during long work, `done` gets the number of entries written. Returns the note about attributes
/// that the file lost, as [`TrackedFile::lost_attributes`].
///
/// # Errors
/// Fails when something would be lost, or the file cannot be written.
pub fn write_file(
    session: &SavedSession,
    title: &str,
    target: &SaveTarget,
    done: impl FnMut(usize),
) -> Result<Option<String>, Report> {
    let path = &target.path;
    let found = TrackedFile::read(path, LARGEST);
    let (old, mut file) = match found {
        Ok(found) => found,
        Err(_) if target.force => (None, TrackedFile::open_for_write(path)?),
        Err(error) => return Err(spared(error.into(), target)),
    };
    let fresh = (target.form == FileForm::Notebook).then(|| write_session(session));
    let is_kept = |old: &str| fresh.as_ref().is_some_and(|fresh| goes_on(old, fresh));
    let old = old.filter(|old| !old.trim().is_empty() && !is_kept(old));
    let notebook = fresh.as_ref().and_then(|_| old.clone());
    let notebook = notebook.map(Document::parse);
    if !target.force {
        check_replaced(session, old.as_deref(), notebook.as_ref(), target)?;
    }
    let again = || {
        let notebook = notebook.as_ref()?.as_ref().ok()?;
        is_ours(notebook).then(|| again(notebook, session))?
    };
    let text = match target.form {
        FileForm::Notebook => again().or(fresh).unwrap_or_default(),
        FileForm::Markdown => {
            format!("<!-- {WRITTEN_BY_US} -->\n{}", to_markdown(session, title))
        }
        FileForm::Page => {
            format!(
                "<!-- {WRITTEN_BY_US} -->\n{}",
                to_html(session, title, done)
            )
        }
        FileForm::Script => format!("# {WRITTEN_BY_US}: {title}\n\n{}", to_script(session)),
    };
    if let (true, Some(directory)) = (target.private, path.parent()) {
        private_dir(directory)?;
    }
    let mode = if target.private {
        FileMode::Private
    } else {
        FileMode::Keep
    };
    file.replace(std::iter::once(text.as_bytes()), mode)?;
    Ok(file.lost_attributes())
}

/// Returns true when a notebook we wrote is `old` itself, or `old` with cells appended: most saves are, and need no
/// search for cells that others added.
fn goes_on(old: &str, fresh: &str) -> bool {
    let Some((cells, rest)) = old
        .rfind("\n ],\n \"metadata\": {")
        .map(|end| old.split_at(end))
    else {
        return old == fresh;
    };
    fresh.ends_with(rest)
        && (fresh.strip_prefix(cells))
            .is_some_and(|behind| behind == rest || behind.starts_with(",\n  {"))
}

/// Returns the notebook with the current session; additions of others to cells that are still there stay. `None`
/// when the cells cannot be identified.
fn again(notebook: &Document, session: &SavedSession) -> Option<String> {
    let draft = update_notebook(notebook, session)?;
    Some(draft.render(notebook).ok()?.text())
}

/// Fails when the existing file holds something that the new one does not.
fn check_replaced(
    session: &SavedSession,
    old: Option<&str>,
    notebook: Option<&Result<Document, NotebookError>>,
    target: &SaveTarget,
) -> Result<(), Report> {
    let Some(old) = old else {
        return Ok(());
    };
    let name = target.path.display();
    let kept = |why: String| Err(spared(Report::failure(why), target));
    if target.form != FileForm::Notebook {
        let ours = old
            .lines()
            .next()
            .is_some_and(|first| first.contains(WRITTEN_BY_US));
        return if ours {
            Ok(())
        } else {
            kept(format!("`{name}` already exists and is not an export"))
        };
    }
    let notebook = match notebook {
        Some(Ok(notebook)) => notebook,
        Some(Err(error)) => return kept(format!("`{name}` {error}")),
        None => return Ok(()),
    };
    if !is_ours(notebook) {
        return kept(format!("`{name}` is a notebook of another program"));
    }
    let lost = if target.private {
        // The snapshot is meant to be replaced; the additions of another program are not.
        notebook.len() - read_session(notebook).entries().len()
    } else {
        missing(notebook, session)
    };
    match lost {
        0 => Ok(()),
        1 => kept(format!("`{name}` has a cell that is not in this session")),
        lost => kept(format!(
            "`{name}` has {lost} cells that are not in this session"
        )),
    }
}

fn spared(report: Report, target: &SaveTarget) -> Report {
    report
        .hint(format!("`{}` replaces it", target.forcing))
        .hint("or choose another name")
}

/// Counts the cells of the notebook that the session does not have.
fn missing(notebook: &Document, session: &SavedSession) -> usize {
    let known: HashSet<_> = session.entries().iter().map(SavedEntry::texts).collect();
    let old = read_session(notebook);
    let found = old
        .entries()
        .iter()
        .filter(|entry| known.contains(&entry.texts()));
    notebook.len() - found.count()
}

/// Returns the text of a file; `None` when there is none.
///
/// # Errors
/// Fails when the file cannot be read, is too large, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<Option<String>, Report> {
    Ok(TrackedFile::read(path, LARGEST)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::SavedCell;

    fn session(sources: &[&str]) -> SavedSession {
        let cells = (1..).zip(sources).map(|(line, source)| SavedCell {
            line,
            source: (*source).to_owned(),
            ..SavedCell::default()
        });
        SavedSession::new(cells.collect(), vec![])
    }

    fn target(path: PathBuf) -> SaveTarget {
        SaveTarget {
            form: FileForm::of(&path).unwrap(),
            path,
            force: false,
            private: false,
            forcing: "save -f x".into(),
        }
    }

    fn write(session: &SavedSession, target: &SaveTarget) -> Result<(), String> {
        let written = write_file(session, "Session 1", target, |_| {});
        written.map(drop).map_err(|report| report.to_string())
    }

    #[test]
    fn a_notebook_is_replaced_by_one_that_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let target = target(folder.path().join("a.ipynb"));
        write(&session(&["a", "b"]), &target).unwrap();
        write(&session(&["a", "b", "c"]), &target).unwrap();
        let error = write(&session(&["a"]), &target).unwrap_err();
        assert!(
            error.contains("2 cells that are not in this session"),
            "{error}"
        );
        assert!(error.contains("`save -f x` replaces it"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        let forced = SaveTarget {
            force: true,
            ..target
        };
        write(&session(&["a"]), &forced).unwrap();
    }

    #[test]
    fn a_file_that_goes_on_is_known_by_its_text() {
        let [none, one, two, other] =
            [&[][..], &["a"], &["a", "b"], &["a", "c", "d"]].map(|it| write_session(&session(it)));
        assert!(goes_on(&none, &none) && goes_on(&one, &one) && goes_on(&one, &two));
        assert!(!goes_on(&two, &one) && !goes_on(&two, &other));
        // Shortened or extended by other programs.
        assert!(!goes_on(&one.replace("\"a\"", "\"\""), &one));
        assert!(!goes_on(
            &one.replace("\"nbformat\"", "\"x\": 1,\n \"nbformat\""),
            &two
        ));
    }

    #[test]
    fn what_others_wrote_is_spared() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text, why) in [
            ("a.ipynb", "{\"cells\": []}", "another program"),
            ("b.ipynb", "{\n\"cells\": ", "line 2, column"),
            ("c.md", "# mine\n", "not an export"),
            ("d.py", "x = 1\n", "not an export"),
            ("e.html", "<p>", "not an export"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let error = write(&session(&["a"]), &target(path.clone())).unwrap_err();
            assert!(error.contains(why), "{error}");
            assert_eq!(std::fs::read_to_string(path).unwrap(), text);
        }
        for name in ["n.ipynb", "n.md", "n.py", "n.html"] {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            write(&session(&["a"]), &target(path.clone())).unwrap();
            write(&session(&["a"]), &target(path)).unwrap();
        }
    }

    #[test]
    fn the_snapshot_gives_way_but_not_what_was_added_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config/startup.ipynb");
        let target = SaveTarget {
            private: true,
            ..target(path.clone())
        };
        write(&session(&["a", "b"]), &target).unwrap();
        write(&session(&["c"]), &target).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let added = text.replacen(
            "\"cells\": [",
            "\"cells\": [{\"cell_type\": \"code\", \"source\": \"mine\"},",
            1,
        );
        std::fs::write(&path, added).unwrap();
        let error = write(&session(&["c"]), &target).unwrap_err();
        assert!(
            error.contains("a cell that is not in this session"),
            "{error}"
        );
    }

    #[test]
    fn names_are_meant_from_the_sessions_directory() {
        let places = NotebookPlaces {
            home: Some("/h".into()),
            ..NotebookPlaces::default()
        };
        for (name, expected) in [
            ("a.ipynb", "/w/a.ipynb"),
            ("/x/a.ipynb", "/x/a.ipynb"),
            ("~/a.ipynb", "/h/a.ipynb"),
            ("../a.ipynb", "/w/../a.ipynb"),
        ] {
            assert_eq!(places.file(name, Path::new("/w")), Path::new(expected));
        }
    }
}
