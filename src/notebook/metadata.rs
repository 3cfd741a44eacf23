//! Metadata of a notebook: the mark that we wrote it, the kind of each cell, the times of its run, and the language of
//! its code.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::document::{Cell, Document};
use super::saved::CellTiming;
use crate::text::report::Report;

/// The key of our metadata of a cell.
pub(super) const OURS: &str = "ipycodex";

/// The key of a run's times in the metadata of a cell, as Jupyter names it.
pub const TIMES: &str = "execution";

/// The key of the version of our metadata, in the notebook's metadata.
const VERSION: &str = "ipycodex_version";

/// True for a notebook that we wrote.
pub fn is_ours(notebook: &Document) -> bool {
    notebook.metadata(VERSION).is_some()
}

/// A cell's metadata without ours and without the times of its run.
pub(super) fn foreign_metadata(cell: Cell<'_>) -> Map<String, Value> {
    let mut metadata = match cell.value("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    metadata.retain(|key, _| key != OURS && key != TIMES);
    metadata
}

/// The times of a run, as Jupyter writes them; `ended` is `None` while the cell runs.
pub fn times(began: DateTime<Utc>, ended: Option<DateTime<Utc>>) -> Value {
    let written = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Micros, true);
    let began = written(began);
    // In the order in which `nbformat` writes keys.
    match ended.map(written) {
        Some(ended) => json!({
            "iopub.execute_input": began,
            "iopub.status.busy": began,
            "iopub.status.idle": ended,
            "shell.execute_reply": ended,
        }),
        None => json!({"iopub.execute_input": began, "iopub.status.busy": began}),
    }
}

/// The times of a recorded run; `None` when a time is beyond what can be written.
pub(super) fn recorded_times(ran: CellTiming) -> Option<Value> {
    let began = DateTime::from_timestamp(ran.began, 0)?;
    let took = ran.took.and_then(chrono::TimeDelta::try_milliseconds);
    Some(times(
        began,
        took.and_then(|took| began.checked_add_signed(took)),
    ))
}

/// The `language_info` of Python, for notebooks and kernels; a kernel adds the version.
pub fn python_language_info() -> Value {
    json!({
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    })
}

/// The warning about a notebook, called `shown`, for a runtime of `language`; `None` when the languages agree or the
/// notebook names none.
pub fn language_mismatch(document: &Document, shown: &str, language: &str) -> Option<Report> {
    let other = document.language()?;
    let [ours, theirs] = [language, &other].map(str::to_ascii_lowercase);
    // Python has many names: `python3`, `ipython`.
    if ours == theirs || ours == "python" && theirs.contains(&ours) {
        return None;
    }
    let report = Report::failure(format!(
        "`{shown}` is written in {other}, and cells here are {language}"
    ));
    Some(match document.kernel() {
        Some(kernel) => report.hint(format!(
            "its kernel is `{kernel}`: `--runtime jupyter:{kernel}` starts ipycodex with it"
        )),
        None => {
            report.hint("`--runtime jupyter:NAME` starts ipycodex with a kernel of that language")
        }
    })
}
