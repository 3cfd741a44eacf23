//! Files into the session: notebooks, scripts and the old snapshot become steps of a replay.
//!
//! In: the file, and whether it is the startup notebook. Out: a replay, or a report with the place of the error.
//! Invariants: nothing runs before the whole file has been parsed; prompts are never sent; prompts, commands and
//! broken cells among the code are left out with a notice. A missing or empty startup notebook is not reported;
//! `startup.json` of earlier versions is tried then.
//!
//! Absent on purpose: how steps are run (`replay`).

use std::path::Path;
use std::time::Duration;

use crate::LoadRequest;
use crate::effect::{Effect, Found, emit};
use crate::events::{Notice, report_notice};
use crate::input::is_ipycodex_input;
use crate::notebook::{
    Document, SavedCell, SavedEntry, SavedSession, broken_cells, language_mismatch, read_events,
    read_script, read_session,
};
use crate::record::RecordHandle;
use crate::replay::{Replay, ReplayPurpose, ReplayStep, last_code};
use crate::run::RunSender;
use crate::runtime::SourceLocation;
use crate::saving::read_text;
use crate::text::counted;
use crate::text::report::Report;

/// Time after which a slow read is reported.
const PATIENT: Duration = Duration::from_secs(2);

/// Bytes of a cell that takes an interpreter seconds to read.
const LARGE: usize = 1 << 20;

struct LoadedFile {
    steps: Vec<ReplayStep>,
    /// For example `2 code cells and 1 prompt`.
    counted: String,
    left_out: usize,
    broken: Vec<String>,
    /// The first cell that takes long to read: its place, from 1, and its number of lines.
    large: Option<(usize, usize)>,
}

/// The parsed text, before it becomes steps.
#[derive(Default)]
struct ParsedFile {
    session: SavedSession,
    /// The lines of a script's cells, by their In numbers.
    lines: Vec<u32>,
    broken: Vec<String>,
}

/// Returns the file name to load; a name without a known suffix is a notebook.
pub(super) fn with_suffix(name: &str) -> String {
    let known = |suffix: &str| ["ipynb", "py", "json"].contains(&suffix);
    let suffix = Path::new(name)
        .extension()
        .and_then(|suffix| suffix.to_str());
    match suffix.map(str::to_ascii_lowercase) {
        Some(suffix) if known(&suffix) => name.to_owned(),
        _ => format!("{name}.ipynb"),
    }
}

/// Reads a file for a runtime of `language`; no step runs before all of it has been read. Reports a slow read on
/// `out`.
pub(super) async fn load(
    loading: LoadRequest,
    record: RecordHandle,
    language: String,
    out: RunSender,
) -> Vec<Effect> {
    let file = loading.clone();
    let mut reading = tokio::task::spawn_blocking(move || read(&file, &language));
    let read = match tokio::time::timeout(PATIENT, &mut reading).await {
        Ok(read) => read,
        Err(_) => {
            out.send(Notice::note(format!(
                "reading {} takes a while",
                loading.shown
            )));
            reading.await
        }
    };
    let failed = |error| Err(Report::failure("the file could not be read").because(error));
    match read.unwrap_or_else(failed) {
        Ok(Some(loaded)) => replay_effects(loaded, &loading, last_code(&record.dialog().await)),
        Ok(None) => Vec::new(),
        Err(report) => emit(report_notice(&report)),
    }
}

fn replay_effects(loaded: LoadedFile, loading: &LoadRequest, last_code: u32) -> Vec<Effect> {
    let shown = &loading.shown;
    let mut effects = Vec::new();
    for fault in &loaded.broken {
        effects.extend(emit(Notice::note(format!(
            "{shown}: {fault}; it was left out"
        ))));
    }
    if loaded.left_out > 0 {
        let hold = if loaded.left_out == 1 {
            "holds"
        } else {
            "hold"
        };
        let cells = counted(loaded.left_out, "cell");
        effects.extend(emit(Notice::note(format!(
            "{shown}: left out {cells} that {hold} prompts or commands"
        ))));
    }
    if let Some((number, lines)) = loaded.large {
        effects.extend(emit(Notice::note(format!(
            "{shown}: code cell {number} has {}; the interpreter takes a while to read it",
            counted(lines, "line")
        ))));
    }
    let said = match loading.startup {
        true => String::new(),
        false => format!("Loaded {} from {shown}.", loaded.counted),
    };
    let replay = Replay {
        name: shown.clone(),
        steps: loaded.steps,
        quiet: false,
    };
    let purpose = ReplayPurpose::File { said };
    effects.push(Effect::found(Found::Replay {
        replay,
        last_code,
        purpose,
    }));
    effects
}

/// Returns `None` when there is nothing to run.
fn read(loading: &LoadRequest, language: &str) -> Result<Option<LoadedFile>, Report> {
    let LoadRequest {
        path,
        shown,
        startup,
    } = loading;
    let found = read_text(path)?;
    let ParsedFile {
        session,
        lines,
        broken,
    } = match found {
        Some(text) if *startup && text.trim().is_empty() => return Ok(None),
        Some(text) => parse(path, shown, &text, language)?,
        None if *startup => {
            let old = path.with_extension("json");
            let Some(text) = read_text(&old)?.filter(|text| !text.trim().is_empty()) else {
                return Ok(None);
            };
            parse(&old, "startup.json", &text, language)?
        }
        None => return Err(Report::failure(not_found_message(path, shown))),
    };
    let (mut steps, mut left_out) = (Vec::new(), 0);
    let large = (1..).zip(session.cells()).find_map(|(number, cell)| {
        (cell.source.len() > LARGE).then(|| (number, cell.source.lines().count()))
    });
    let mut kept = Vec::new();
    for entry in session.entries() {
        match entry {
            SavedEntry::Code(cell) if cell.source.trim().is_empty() => continue,
            SavedEntry::Code(cell) if is_ipycodex_input(&cell.source) => {
                left_out += 1;
                continue;
            }
            SavedEntry::Code(cell) => steps.push(ReplayStep::Cell {
                source: cell.source.clone(),
                again: None,
                place: lines.get(cell.line as usize).map(|line| SourceLocation {
                    file: path.clone(),
                    line: *line,
                    last: false,
                }),
                metadata: cell.metadata.clone(),
            }),
            SavedEntry::Prompt(prompt) => steps.push(ReplayStep::Prompt {
                prompt: prompt.prompt.clone(),
                response: prompt.response.clone(),
                after: None,
                metadata: prompt.metadata.clone(),
            }),
        }
        kept.push(entry.clone());
    }
    if *startup && steps.is_empty() && broken.is_empty() {
        return Ok(None);
    }
    Ok(Some(LoadedFile {
        steps,
        counted: SavedSession::from_entries(kept).summary(),
        left_out,
        broken,
        large,
    }))
}

pub fn not_found_message(path: &Path, shown: &str) -> String {
    match suffix(path).as_str() {
        "py" => format!("Script not found: {shown}"),
        _ => format!("Notebook not found: {shown}"),
    }
}

fn suffix(path: &Path) -> String {
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    suffix.unwrap_or_default().to_ascii_lowercase()
}

fn parse(path: &Path, shown: &str, text: &str, language: &str) -> Result<ParsedFile, Report> {
    let wrong = |error| Report::failure(format!("`{shown}` {error}"));
    match suffix(path).as_str() {
        "py" => {
            let cells = read_script(text);
            let lines = cells.iter().map(|cell| cell.line).collect();
            let entries = (0..).zip(cells).map(|(line, cell)| {
                SavedEntry::Code(SavedCell {
                    line,
                    source: cell.source,
                    ..SavedCell::default()
                })
            });
            Ok(ParsedFile {
                session: SavedSession::from_entries(entries.collect()),
                lines,
                ..ParsedFile::default()
            })
        }
        "json" => Ok(ParsedFile {
            session: read_events(text).map_err(wrong)?,
            ..ParsedFile::default()
        }),
        _ => {
            let notebook = Document::parse(text.to_owned()).map_err(wrong)?;
            match language_mismatch(&notebook, shown, language) {
                Some(report) => Err(report),
                None => Ok(ParsedFile {
                    session: read_session(&notebook),
                    broken: broken_cells(&notebook),
                    ..ParsedFile::default()
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;

    fn loading(path: &Path, startup: bool) -> LoadRequest {
        LoadRequest {
            path: path.to_owned(),
            shown: path.file_name().unwrap().to_str().unwrap().to_owned(),
            startup,
        }
    }

    fn code(source: &str) -> ReplayStep {
        ReplayStep::Cell {
            source: source.into(),
            again: None,
            place: None,
            metadata: Map::new(),
        }
    }

    fn at(file: &Path, line: u32, source: &str) -> ReplayStep {
        ReplayStep::Cell {
            source: source.into(),
            again: None,
            place: Some(SourceLocation {
                file: file.to_owned(),
                line,
                last: false,
            }),
            metadata: Map::new(),
        }
    }

    #[test]
    fn files_become_steps() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, text: &str, expected: &[ReplayStep], counted: &str, left_out| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let loaded = read(&loading(&path, false), "Python").unwrap().unwrap();
            assert_eq!(loaded.steps, expected, "{name}");
            assert_eq!(
                (loaded.counted.as_str(), loaded.left_out),
                (counted, left_out)
            );
        };
        let prompt = ReplayStep::Prompt {
            prompt: "hi".into(),
            response: "yes".into(),
            after: None,
            metadata: Map::new(),
        };
        check(
            "a.ipynb",
            r#"{"metadata": {"ipycodex_version": 1}, "cells": [
                {"cell_type": "markdown", "source": "yes", "metadata": {"ipycodex":
                    {"kind": "prompt", "line": 2, "history_line": 1, "prompt": "hi"}}},
                {"cell_type": "code", "source": "a", "metadata": {"ipycodex": {"kind": "code", "line": 1}}},
                {"cell_type": "code", "source": "x", "metadata": {}}]}"#,
            &[code("a"), prompt.clone()],
            "1 code cell and 1 prompt",
            0,
        );
        check(
            "b.py",
            "# %%\na = 1\n# %%\n.ask\n# %%\n%ipycodex reset\n# %%\nb",
            &[
                at(&folder.path().join("b.py"), 2, "a = 1"),
                at(&folder.path().join("b.py"), 8, "b"),
            ],
            "2 code cells and 0 prompts",
            2,
        );
        check(
            "c.json",
            r#"{"events": [{"kind": "code", "line": 1, "source": "a"},
                {"kind": "prompt", "line": 2, "history_line": 1, "prompt": "hi", "response": "yes"}]}"#,
            &[code("a"), prompt],
            "1 code cell and 1 prompt",
            0,
        );
    }

    #[test]
    fn a_large_cell_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.py");
        let large = "a = 1\n".repeat(LARGE / 6 + 1);
        std::fs::write(&path, format!("# %%\nb\n# %%\n{large}")).unwrap();
        let loaded = read(&loading(&path, false), "Python").unwrap().unwrap();
        assert_eq!(loaded.large, Some((2, LARGE / 6 + 1)));
    }

    #[test]
    fn what_cannot_be_loaded_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, text: Option<&str>, expected: &str| {
            let path = folder.path().join(name);
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
            }
            let report = read(&loading(&path, false), "Python").err().unwrap();
            assert_eq!(report.message, expected);
        };
        check("a.ipynb", None, "Notebook not found: a.ipynb");
        check("a.py", None, "Script not found: a.py");
        check(
            "b.ipynb",
            Some("{\n \"cells\": [,"),
            "`b.ipynb` is not valid JSON: line 2, column 12: expected value",
        );
        check(
            "c.ipynb",
            Some("{}"),
            "`c.ipynb` is not a notebook: it has no list of cells",
        );
        let r = r#"{"cells": [], "metadata": {"kernelspec": {"language": "R"}}}"#;
        check(
            "d.ipynb",
            Some(r),
            "`d.ipynb` is written in R, and cells here are Python",
        );
    }

    #[test]
    fn the_startup_notebook_may_be_missing_or_empty_and_the_old_one_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("startup.ipynb");
        let steps = || {
            read(&loading(&path, true), "Python")
                .unwrap()
                .map(|loaded| loaded.steps)
        };
        assert_eq!(steps(), None);
        let old = r#"{"version": 1, "events": [{"kind": "code", "line": 1, "source": "old"}]}"#;
        std::fs::write(path.with_extension("json"), old).unwrap();
        assert_eq!(steps(), Some(vec![code("old")]));
        std::fs::write(&path, " \n").unwrap();
        assert_eq!(steps(), None);
        std::fs::write(&path, r#"{"cells": []}"#).unwrap();
        assert_eq!(steps(), None);
        std::fs::write(&path, r#"{"cells": [{"cell_type": "code"}]}"#).unwrap();
        assert_eq!(
            read(&loading(&path, true), "Python")
                .unwrap()
                .unwrap()
                .broken,
            ["cell 1 of 1 has no `source`"]
        );
        std::fs::write(path.with_extension("json"), "{").unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(read(&loading(&path, true), "Python").is_err());
    }

    #[test]
    fn names_of_notebooks() {
        for (name, expected) in [
            ("a", "a.ipynb"),
            ("a.b", "a.b.ipynb"),
            ("a.py", "a.py"),
            ("a.IPYNB", "a.IPYNB"),
            ("old/startup.json", "old/startup.json"),
        ] {
            assert_eq!(with_suffix(name), expected);
        }
    }
}
