//! A log on standard error for diagnosis: `ACP_LOG_LEVEL` and `ACP_DEBUG_UPDATES`.
//!
//! Messages are named, and their content is never quoted. Updates are named as in the protocol or in its Python
//! library.

use std::io::Write;

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::text::trace::{UPDATES, WIRE};

/// Log target for the agent and its sessions.
pub(super) const AGENT: &str = "agent";

/// Names of updates: in the Python library, in the protocol.
const NAMES: [(&str, &str); 7] = [
    ("AgentMessageChunk", "agent_message_chunk"),
    ("AgentThoughtChunk", "agent_thought_chunk"),
    ("ToolCallStart", "tool_call"),
    ("ToolCallProgress", "tool_call_update"),
    ("AgentPlanUpdate", "plan"),
    ("AvailableCommandsUpdate", "available_commands_update"),
    ("CurrentModeUpdate", "current_mode_update"),
];

struct StderrLogger {
    level: LevelFilter,
    /// The updates that are logged; `None`: all.
    updates: Option<Vec<String>>,
}

/// Installs a logger if one of the variables asks for it.
pub(super) fn init(level: Option<&str>, updates: Option<&str>) {
    let logs = StderrLogger::new(level, updates);
    let most = logs.level;
    if most > LevelFilter::Off && log::set_boxed_logger(Box::new(logs)).is_ok() {
        log::set_max_level(most);
    }
}

impl StderrLogger {
    fn new(level: Option<&str>, updates: Option<&str>) -> Self {
        let wanted = updates.map(|names| {
            let names = names
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty());
            let of_protocol = names.map(|name| {
                let known = NAMES.iter().find(|(python, _)| *python == name);
                known.map_or(name, |(_, own)| own).to_owned()
            });
            of_protocol.collect::<Vec<_>>()
        });
        let level = match level.map(str::to_uppercase).as_deref() {
            Some("DEBUG") => LevelFilter::Trace,
            Some("INFO") => LevelFilter::Info,
            Some("WARNING" | "WARN") => LevelFilter::Warn,
            Some(_) => LevelFilter::Error,
            None if wanted.is_some() => LevelFilter::Debug,
            None => LevelFilter::Off,
        };
        StderrLogger {
            level,
            updates: wanted.filter(|names| !names.iter().any(|name| name == "all")),
        }
    }

    /// The line for a record; `None` if the record is filtered out.
    fn line(&self, record: &Record<'_>) -> Option<String> {
        if record.level() > self.level || !self.enabled(record.metadata()) {
            return None;
        }
        let said = record.args().to_string();
        if record.target() == UPDATES
            && let Some(wanted) = &self.updates
        {
            let kind = said.split(' ').next().unwrap_or_default();
            wanted.iter().find(|name| *name == kind)?;
        }
        let level = match record.level() {
            Level::Error => "ERROR",
            Level::Warn => "WARNING",
            Level::Info => "INFO",
            Level::Debug | Level::Trace => "DEBUG",
        };
        Some(format!("[{level} {}] {said}\n", record.target()))
    }
}

impl Log for StderrLogger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        [UPDATES, WIRE, AGENT].contains(&metadata.target())
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(line) = self.line(record) {
            // Standard error may be closed.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_names_say_what_is_told() {
        let check = |level: Option<&str>, updates: Option<&str>, expected: &[&str]| {
            let logs = StderrLogger::new(level, updates);
            let told = |target: &'static str, level: Level, said: &str| {
                let args = format_args!("{said}");
                logs.line(
                    &Record::builder()
                        .target(target)
                        .level(level)
                        .args(args)
                        .build(),
                )
            };
            let lines: Vec<String> = [
                told(UPDATES, Level::Debug, "tool_call of s"),
                told(UPDATES, Level::Debug, "plan of s"),
                told(AGENT, Level::Info, "started"),
                told("zeromq", Level::Error, "x"),
            ]
            .into_iter()
            .flatten()
            .collect();
            assert_eq!(lines, expected, "{level:?} {updates:?}");
        };
        let (call, plan, started) = (
            "[DEBUG updates] tool_call of s\n",
            "[DEBUG updates] plan of s\n",
            "[INFO agent] started\n",
        );
        check(None, None, &[]);
        check(Some("INFO"), Some("all"), &[started]);
        check(Some("debug"), None, &[call, plan, started]);
        check(Some("DEBUG"), Some("ToolCallStart, x"), &[call, started]);
        check(None, Some("plan"), &[plan, started]);
    }
}
