//! `sessions`: what can be resumed.

use std::time::Duration;

use serde_json::json;

use crate::assemble::{Assembly, Wanted, assemble};
use crate::cli::args::{Arguments, Sessions};
use crate::environment::Environment;
use crate::report::Report;
use crate::session::listing;

/// How long the end of the (empty) session may take.
const LEAVE: Duration = Duration::from_secs(2);

/// Lists them; returns the exit code.
pub(super) fn run(
    sessions: &Sessions,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let wanted = Wanted::record(arguments.common.flags(false)?);
    let Assembly {
        session,
        screen,
        reports,
        ..
    } = assemble(environment, wanted)?;
    reports
        .iter()
        .try_for_each(|report| screen.report(report))?;
    let rows = session.sessions(sessions.all);
    session.close(LEAVE);
    if sessions.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "id": row.id, "start": row.start, "end": row.end, "commands": row.commands,
                    "name": row.name, "cwd": row.cwd, "last_prompt": row.last_prompt,
                })
            })
            .collect();
        screen.trusted(format!("{}\n", json!(rows)).as_bytes())?;
    } else {
        screen.untrusted(&listing(&rows))?;
        screen.trusted(b"\n")?;
    }
    screen.flush()?;
    Ok(0)
}
