//! The sessions there are, as a table.

use std::path::PathBuf;

use crate::record::{RecordHandle, SessionRow};

/// The sessions something was recorded of, newest first.
pub(in crate::session) async fn recorded_sessions(
    record: RecordHandle,
    cwd: PathBuf,
    all: bool,
) -> Vec<SessionRow> {
    let mut rows = record.sessions(cwd, all).await;
    rows.retain(|row| row.commands > 0);
    rows
}

/// Sessions as a table, newest first. One with a name shows it before its last prompt, or its last cell without any.
pub fn listing(rows: &[SessionRow]) -> String {
    if rows.is_empty() {
        return "No sessions found for this directory.".to_owned();
    }
    let mut lines = vec!["    ID  Start                  Cmds  Last prompt".to_owned()];
    lines.extend(rows.iter().map(|row| {
        let start: String = row.start.chars().take(19).collect();
        // One that holds only cells is known by its last.
        let said = [&row.last_prompt, &row.last_input];
        let said = said.into_iter().find(|text| !text.is_empty());
        let prompt = said.map_or(String::new(), |text| text.replace('\n', " "));
        let mut shown: String = prompt.chars().take(60).collect();
        if prompt.chars().count() > 60 {
            shown.push_str("...");
        }
        if let Some(name) = &row.name {
            shown = format!("[{name}] {shown}");
        }
        let shown = shown.trim_end();
        format!("{:>6}  {start:20}  {:>5}  {shown}", row.id, row.commands)
    }));
    lines.join("\n")
}
