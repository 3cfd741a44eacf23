//! Our metadata in a notebook: the mark that we wrote it, the kind of each cell, and the times of its run.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::document::{Cell, Document};
use super::saved::CellTiming;

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
