//! Search over what was recorded: inputs and answers, newest first, some sessions at a time.
//!
//! Absent on purpose: an index. Others write to these tables too (IPython does), and a scan of a million rows ends
//! before one has read the first lines of what it found: those are there at once.

use std::ops::Range;

use rusqlite::{Connection, params};

use super::listing::{self, Scope};
use crate::text::needle::Needle;

/// What something found is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundKind {
    /// An answer of the agent.
    Answer,
    /// A prompt.
    Prompt,
    /// A cell or a command.
    Cell,
}

/// An entry that holds what was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Number of its session.
    pub session: i64,
    /// In number; of an answer that of its prompt.
    pub line: u32,
    /// Start of the session, local time, `YYYY-MM-DD HH:MM:SS.ffffff`.
    pub start: String,
    /// What it is.
    pub kind: FoundKind,
    /// Its first line that holds it.
    pub text: String,
    /// Bytes of `text` that were looked for.
    pub at: Range<usize>,
}

/// See [`super::Archive::find`].
pub(super) fn find(
    db: &Connection,
    needle: &Needle,
    scope: &Scope,
    before: i64,
    most: u32,
) -> rusqlite::Result<(Vec<Found>, Option<i64>)> {
    let mut sessions = db.prepare_cached(&format!(
        "SELECT s.session, coalesce(s.start, '') FROM sessions s WHERE s.session < ?1 AND {}
         ORDER BY s.session DESC LIMIT ?2",
        listing::within("?3", "?4")
    ))?;
    let [cwd, inside] = listing::directory(scope);
    let sessions: Vec<(i64, String)> = sessions
        .query_map(params![before, most, cwd, inside], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    for (session, start) in &sessions {
        in_session(db, needle, *session, start, &mut found)?;
    }
    Ok((found, sessions.last().map(|(session, _)| *session)))
}

fn in_session(
    db: &Connection,
    needle: &Needle,
    session: i64,
    start: &str,
    found: &mut Vec<Found>,
) -> rusqlite::Result<()> {
    let first = found.len();
    let mut look = |line: u32, kind: FoundKind, text: &str| {
        if let Some(at) = needle.find(text) {
            let (text, at) = line_around(text, &at);
            found.push(Found {
                session,
                line,
                start: start.to_owned(),
                kind,
                text,
                at,
            });
        }
    };
    let mut inputs = db.prepare_cached(
        "SELECT line, coalesce(source_raw, source, '') FROM history WHERE session = ?1",
    )?;
    let mut rows = inputs.query([session])?;
    while let Some(row) = rows.next()? {
        let Ok(text) = row.get_ref(1)?.as_str() else {
            continue;
        };
        match text.strip_prefix('.') {
            Some(prompt) => look(row.get(0)?, FoundKind::Prompt, prompt),
            None => look(row.get(0)?, FoundKind::Cell, text),
        }
    }
    // A prompt of a turn of ours is an input, too; one recorded by others is here alone.
    let mut exchanges = db.prepare_cached(
        "SELECT coalesce(t.line, p.history_line + 1), CASE WHEN t.id IS NULL THEN p.prompt END, p.response
         FROM ai_prompts p LEFT JOIN ipycodex_turns t ON t.prompt_row = p.id WHERE p.session = ?1",
    )?;
    let mut rows = exchanges.query([session])?;
    while let Some(row) = rows.next()? {
        let line = row.get(0)?;
        if let Ok(prompt) = row.get_ref(1)?.as_str() {
            look(line, FoundKind::Prompt, prompt);
        }
        if let Ok(answer) = row.get_ref(2)?.as_str() {
            look(line, FoundKind::Answer, answer);
        }
    }
    found[first..].sort_by_key(|entry| (std::cmp::Reverse(entry.line), entry.kind));
    Ok(())
}

/// The line of `text` in which `at` begins, and `at` in it.
fn line_around(text: &str, at: &Range<usize>) -> (String, Range<usize>) {
    let begin = text[..at.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at.start..]
        .find('\n')
        .map_or(text.len(), |end| at.start + end);
    let line = text[begin..end].trim_end_matches('\r').to_owned();
    let at = at.start - begin..(at.end - begin).min(line.len());
    (line, at)
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn record() -> Connection {
        let db = file::memory();
        db.execute_batch(
            "INSERT INTO sessions (session, start, remark) VALUES (1, '2026-01-01 10:00:00.000000', '/a'),
                 (2, '2026-01-02 10:00:00.000000', '/b'), (5, '2026-01-03 10:00:00.000000', '/a');
             INSERT INTO history VALUES (1, 1, 'x', 'def f():\n    return Needle'), (1, 2, 'y', 'nothing'),
                 (2, 1, '.where is the needle?', '.where is the needle?'), (2, 2, 'needle = 1', 'needle = 1'),
                 (5, 3, 'z', NULL);
             INSERT INTO ipycodex_turns (id, session, line, history_line, prompt, state, prompt_row)
                 VALUES (1, 2, 1, 0, 'where is the needle?', 'complete', 1);
             INSERT INTO ai_prompts VALUES (1, 2, 'where is the needle?', 'In the\nhaystack: a needle', 0),
                 (2, 5, 'their needle', 'none', 0);",
        )
        .unwrap();
        db
    }

    fn check(needle: &str, scope: &Scope, expected: &[&str]) {
        let (found, last) = find(&record(), &Needle::new(needle), scope, i64::MAX, 10).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|entry| {
                let Found {
                    session,
                    line,
                    kind,
                    text,
                    at,
                    ..
                } = entry;
                let (before, rest) = text.split_at(at.start);
                let (marked, after) = rest.split_at(at.end - at.start);
                format!("{session}/{line} {kind:?} {before}<{marked}>{after}")
            })
            .collect();
        assert_eq!(shown, expected, "{needle}");
        assert_eq!(last, Some(1));
    }

    #[test]
    fn everything_typed_and_answered_is_found_newest_first() {
        let all = [
            "5/1 Prompt their <needle>",
            "2/2 Cell <needle> = 1",
            "2/1 Answer haystack: a <needle>",
            "2/1 Prompt where is the <needle>?",
            "1/1 Cell     return <Needle>",
        ];
        check("needle", &Scope::All, &all);
        check("Needle", &Scope::All, &all[4..]);
        check("needle", &Scope::Directory("/a".into()), &[all[0], all[4]]);
        check("nowhere", &Scope::All, &[]);
        check("the\nhay", &Scope::All, &["2/1 Answer In <the>"]);
    }

    #[test]
    fn sessions_are_looked_through_a_few_at_a_time() {
        let (db, needle) = (record(), Needle::new("needle"));
        let (found, last) = find(&db, &needle, &Scope::All, i64::MAX, 2).unwrap();
        assert_eq!((found.len(), last), (4, Some(2)));
        let (found, last) = find(&db, &needle, &Scope::All, 2, 2).unwrap();
        assert_eq!((found.len(), last), (1, Some(1)));
        let (found, last) = find(&db, &needle, &Scope::All, 1, 2).unwrap();
        assert_eq!((found.len(), last), (0, None));
    }
}
