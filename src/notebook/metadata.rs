//! What we say in the metadata of a notebook: that it is ours, what each cell was, and when it ran.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::document::{Cell, Document};
use super::saved::CellTiming;

/// The key of what we know of a cell, in its metadata.
pub(super) const OURS: &str = "ipycodex";

/// The key of the times of a run, in the metadata of a cell, as Jupyter has it.
pub const TIMES: &str = "execution";

/// The key of the format of what we know, in the notebook's metadata.
const VERSION: &str = "ipycodex_version";

/// True when we wrote it.
pub fn is_ours(notebook: &Document) -> bool {
    notebook.metadata(VERSION).is_some()
}

/// What of a cell's metadata is not ours and says nothing of a run.
pub(super) fn foreign_metadata(cell: Cell<'_>) -> Map<String, Value> {
    let mut metadata = match cell.value("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    metadata.retain(|key, _| key != OURS && key != TIMES);
    metadata
}

/// The times of a run that began and ended then, as Jupyter writes them; `None`: it goes on.
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

/// The times of a run as it is recorded; `None`: no such time can be written.
pub(super) fn recorded_times(ran: CellTiming) -> Option<Value> {
    let began = DateTime::from_timestamp(ran.began, 0)?;
    let took = ran.took.and_then(chrono::TimeDelta::try_milliseconds);
    Some(times(
        began,
        took.and_then(|took| began.checked_add_signed(took)),
    ))
}
