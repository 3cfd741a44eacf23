//! Checks the settings, the directories and the record.
//!
//! In: the environment and the settings. Out: findings. Invariant: nothing is written.

use std::io::ErrorKind;
use std::path::Path;

use rustix::fs::{Access, access};

use super::finding::{DoctorContext, Finding};
use crate::record::{Archive, RecordHealth};
use crate::text::counted;
use crate::text::report::Report;

pub(super) fn look(context: &DoctorContext<'_>) -> Vec<Finding> {
    let paths = &context.settings.paths;
    let mut findings = settings(context);
    for (subject, folder) in [
        ("settings in", &paths.config_dir),
        ("state in", &paths.state_dir),
        ("cache in", &paths.cache_dir),
        ("data in", &paths.data_dir),
    ] {
        findings.push(directory(subject, folder, context));
    }
    findings.push(record(context));
    findings
}

fn settings(context: &DoctorContext<'_>) -> Vec<Finding> {
    let file = &context.settings.paths.config_file;
    let place = context.shown(file);
    if context.reports.is_empty() {
        let message = match file.exists() {
            true => format!("{place} is valid"),
            false => format!("there is no {place}: the defaults apply"),
        };
        return vec![Finding::ok("settings", message)];
    }
    let told = |report: &Report| {
        let mend = match report.hints.is_empty() {
            true => format!("edit {place}"),
            false => report.hints.join("; "),
        };
        Finding::warning("settings", whole(report), mend)
    };
    context.reports.iter().map(told).collect()
}

fn whole(report: &Report) -> String {
    let causes = report.causes.iter().map(String::as_str);
    let parts: Vec<&str> = std::iter::once(report.message.as_str())
        .chain(causes)
        .collect();
    parts.join(": ")
}

fn directory(subject: &'static str, folder: &Path, context: &DoctorContext<'_>) -> Finding {
    let place = context.shown(folder);
    // The nearest existing parent determines if the folder can be created.
    let there = folder.ancestors().find(|folder| folder.exists());
    let writable = there.is_some_and(|folder| access(folder, Access::WRITE_OK).is_ok());
    match std::fs::metadata(folder) {
        Ok(found) if !found.is_dir() => Finding::error(
            subject,
            format!("{place} is not a directory"),
            "move it away",
        ),
        Ok(_) if writable => Finding::ok(subject, place),
        Err(error) if error.kind() == ErrorKind::NotFound && writable => {
            Finding::ok(subject, format!("{place}, created when needed"))
        }
        _ => Finding::error(
            subject,
            format!("{place} cannot be written"),
            format!("`ls -ld {place}` shows its owner and permissions"),
        ),
    }
}

fn record(context: &DoctorContext<'_>) -> Finding {
    let paths = &context.settings.paths;
    let place = context.shown(&paths.history);
    if !context.settings.record {
        return Finding::ok("record", "nothing is recorded: `--no-record` was given");
    }
    let looked = Archive::open(&paths.history, &paths.artifacts)
        .and_then(|archive| archive.map(|mut archive| archive.health()).transpose());
    match looked {
        Ok(None) => Finding::ok("record", format!("{place}, still empty")),
        Ok(Some(RecordHealth {
            bytes,
            sessions,
            schema,
            faults,
        })) if faults.is_empty() => {
            let size = bytes as f64 / 1e6;
            let sessions = counted(sessions, "session");
            Finding::ok(
                "record",
                format!("{place}: {size:.1} MB, {sessions}, schema {schema}, undamaged"),
            )
        }
        Ok(Some(health)) => Finding::error(
            "record",
            format!("{place} is damaged: {}", health.faults.join("; ")),
            "move it away to begin a new one; `sqlite3 FILE .recover` saves what can be read",
        ),
        Err(report) => {
            let mend = report.hints.join("; ");
            Finding::error("record", whole(&report), mend)
        }
    }
}
