//! `sessions`: lists the sessions that can be resumed.
//!
//! In: the record. Out: a table or JSON. Nothing is written.

use std::path::Path;

use serde_json::json;

use crate::cli::args::{Arguments, Sessions};
use crate::cli::resume::archive;
use crate::config::resolve;
use crate::environment::Environment;
use crate::record::{LIST_LIMIT, Scope};
use crate::screen::Screen;
use crate::session::listing;
use crate::text::report::Report;

pub(super) fn run(
    sessions: &Sessions,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let (settings, reports) = resolve(&arguments.common.flags(false)?, environment);
    let screen = Screen::open(environment, settings.color)?;
    reports
        .iter()
        .try_for_each(|report| screen.print_report(report))?;
    let rows = match archive(&settings)? {
        Some(mut archive) => {
            let scope = if sessions.all {
                Scope::All
            } else {
                archive.nearby_scope(environment.cwd.as_deref().unwrap_or(Path::new("/")))?
            };
            archive.page(&scope, i64::MAX, LIST_LIMIT)?
        }
        None => Vec::new(),
    };
    if sessions.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({
                    "id": row.id, "start": row.start, "end": row.end, "commands": row.commands,
                    "name": row.name, "cwd": row.cwd, "last_prompt": row.last_prompt,
                    "last_input": row.last_input, "once": row.once,
                    "parent": row.fork.map(|fork| fork.parent), "forked_at": row.fork.map(|fork| fork.before),
                })
            })
            .collect();
        screen.write_trusted(format!("{}\n", json!(rows)).as_bytes())?;
    } else {
        screen.write_untrusted(&listing(&rows))?;
        screen.write_trusted(b"\n")?;
    }
    screen.flush()?;
    Ok(0)
}
