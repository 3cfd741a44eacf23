//! Lists the recorded sessions, as a table.

use std::path::PathBuf;

use crate::record::{RecordHandle, SessionRow};

/// Returns the sessions that the record holds entries of, newest first.
pub(crate) async fn recorded_sessions(
    record: RecordHandle,
    cwd: PathBuf,
    all: bool,
) -> Vec<SessionRow> {
    let mut rows = record.sessions(cwd, all).await;
    rows.retain(|row| row.commands > 0);
    rows
}

/// Formats sessions as a table, newest first. A session with a name shows it before its last prompt, or before its
/// last cell when it has no prompt.
pub fn listing(rows: &[SessionRow]) -> String {
    if rows.is_empty() {
        return "No sessions found for this directory.".to_owned();
    }
    let mut lines = vec!["    ID  Start                  Cmds  Last prompt".to_owned()];
    lines.extend(rows.iter().map(|row| {
        let start: String = row.start.chars().take(19).collect();
        // A session without prompts is described by its last cell.
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
