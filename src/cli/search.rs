//! `search`: finds inputs and answers in the record.
//!
//! In: a text. Out: one line per entry, newest first, written as it is found, while older sessions are still being
//! read. Exit code 1 without a match.

use std::path::PathBuf;

use serde_json::json;

use crate::cli::args::{Arguments, SearchArguments};
use crate::cli::resume::archive;
use crate::config::resolve;
use crate::environment::Environment;
use crate::record::{HitKind, Scope, SearchHit};
use crate::screen::Screen;
use crate::text::escape::visible;
use crate::text::needle::{Needle, excerpt};
use crate::text::report::Report;

/// Number of sessions searched before the first output; later batches grow up to `MOST`.
const FIRST: u32 = 8;
const MOST: u32 = 3_200;

/// Minimum width in columns for lines with all facts.
const WIDE: usize = 70;

pub(super) fn run(
    search: &SearchArguments,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    if search.text.trim().is_empty() {
        return Err(Report::usage("there is nothing to look for"));
    }
    let (settings, _) = resolve(&arguments.common.flags(false)?, environment);
    let screen = Screen::open(environment, settings.color)?;
    let needle = Needle::new(&search.text);
    let mut writer = Writer {
        width: environment
            .stdout_is_terminal
            .then(|| usize::from(screen.size().columns)),
        screen,
        json: search.json,
        count: 0,
    };
    if let Some(mut archive) = archive(&settings)? {
        let cwd = environment
            .cwd
            .clone()
            .unwrap_or_else(|| PathBuf::from("/"));
        let scope = if search.all {
            Scope::All
        } else {
            archive.search_scope(&cwd)?
        };
        let (mut before, mut most) = (i64::MAX, FIRST);
        loop {
            let (found, last) = archive.search(&needle, &scope, before, most)?;
            writer.write(&found)?;
            let Some(last) = last else { break };
            (before, most) = (last, (most * 2).min(MOST));
        }
    }
    writer.end()?;
    if writer.count == 0 && !search.json {
        let place = if search.all { "" } else { " in this directory" };
        let text = visible(&search.text);
        writer
            .screen
            .print_notice(&format!("nothing recorded{place} contains `{text}`"))?;
    }
    Ok(i32::from(writer.count == 0))
}

struct Writer {
    screen: Screen,
    /// Width of the terminal in columns; `None`: lines are not cut.
    width: Option<usize>,
    json: bool,
    count: usize,
}

impl Writer {
    fn write(&mut self, found: &[SearchHit]) -> Result<(), Report> {
        for entry in found {
            self.count += 1;
            if self.json {
                self.write_json(entry)?;
            } else {
                self.write_line(entry)?;
            }
        }
        if !found.is_empty() {
            self.screen.flush()?;
        }
        Ok(())
    }

    fn end(&self) -> Result<(), Report> {
        if self.json {
            let end = if self.count == 0 { "[]\n" } else { "]\n" };
            self.screen.write_trusted(end.as_bytes())?;
        }
        self.screen.flush()?;
        Ok(())
    }

    fn write_json(&self, entry: &SearchHit) -> Result<(), Report> {
        let before = if self.count == 1 { "[" } else { ",\n" };
        let entry = json!({
            "session": entry.session, "line": entry.line, "start": entry.start, "kind": word(entry.kind),
            "text": entry.text,
        });
        self.screen
            .write_trusted(format!("{before}{entry}").as_bytes())?;
        Ok(())
    }

    fn write_line(&self, entry: &SearchHit) -> Result<(), Report> {
        let wide = self.width.is_none_or(|width| width >= WIDE);
        if wide && self.count == 1 {
            self.screen
                .write_trusted(b"    ID    In  Start             What    Line\n")?;
        }
        let (id, line, kind) = (entry.session, entry.line, word(entry.kind));
        let facts = if wide {
            let start: String = entry.start.chars().take(16).collect();
            format!("{id:>6}  {line:>4}  {start:16}  {kind:6}  ")
        } else {
            format!("{id}/{line} {kind}: ")
        };
        let room = self.width.map(|width| width.saturating_sub(facts.len()));
        let [before, matched, after] = match room {
            Some(room) => excerpt(&entry.text, &entry.at, room),
            None => {
                let (before, rest) = entry.text.split_at(entry.at.start);
                let (matched, after) = rest.split_at(entry.at.end - entry.at.start);
                [before, matched, after].map(|part| visible(part).into_owned())
            }
        };
        let [begin, end] = if self.screen.colour() {
            ["\x1b[1;4m", "\x1b[0m"]
        } else {
            ["", ""]
        };
        let text = format!("{facts}{before}{begin}{matched}{end}{after}\n");
        self.screen.write_trusted(text.as_bytes())?;
        Ok(())
    }
}

fn word(kind: HitKind) -> &'static str {
    match kind {
        HitKind::Cell => "cell",
        HitKind::Prompt => "prompt",
        HitKind::Answer => "answer",
    }
}
