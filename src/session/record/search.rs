//! Search in recorded inputs and answers, newest first, some sessions at a time.
//!
//! A text that the index finds in few blocks is searched for in those alone; a more frequent text is found soon
//! anyway. Absent on purpose: an index of the answers, which are few beside the inputs: all are read.

use std::collections::BTreeMap;
use std::ops::Range;

use rusqlite::{Connection, OptionalExtension};

use super::index::{self, IndexProgress};
use super::listing::{self, Scope};
use crate::input::has_prompt_dot;
use crate::text::needle::Needle;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HitKind {
    Answer,
    Prompt,
    /// A cell or a command.
    Cell,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    pub session: i64,
    /// The In number; for an answer, that of its prompt.
    pub line: u32,
    /// Start of the session, local time, `YYYY-MM-DD HH:MM:SS.ffffff`.
    pub start: String,
    pub kind: HitKind,
    /// The first line of the entry that contains the text.
    pub text: String,
    /// The bytes of `text` that matched.
    pub at: Range<usize>,
}

/// A text, and the only sessions that may contain it.
#[derive(Debug, Clone)]
pub(super) struct SearchPlan {
    needle: Needle,
    /// By number, true when the session's inputs may contain it; `None`: any session may.
    sessions: Option<BTreeMap<i64, bool>>,
    /// The progress of the index, and the last input and answer, when the plan was made.
    state: (IndexProgress, i64, i64),
}

impl SearchPlan {
    /// The plan for `needle`; `known` while it still holds.
    pub(super) fn new(
        db: &Connection,
        needle: &Needle,
        known: Option<&SearchPlan>,
    ) -> rusqlite::Result<SearchPlan> {
        // A file of another program has no index.
        let mark = IndexProgress::read(db).unwrap_or_default();
        let last = "SELECT coalesce((SELECT max(rowid) FROM history), 0), coalesce((SELECT max(id) FROM ai_prompts), \
                    0)";
        let state = db.query_row(last, [], |row| Ok((mark, row.get(0)?, row.get(1)?)))?;
        let same =
            |known: &&SearchPlan| known.state == state && known.needle.text() == needle.text();
        if let Some(known) = known.filter(same) {
            return Ok(known.clone());
        }
        let mut sessions = None;
        if let Some(inputs) = index::candidate_sessions(db, mark, needle)? {
            let mut rows = db.prepare_cached("SELECT DISTINCT session FROM ai_prompts")?;
            let answered = rows.query_map([], |row| Ok((row.get(0)?, false)))?;
            let mut all: BTreeMap<i64, bool> = answered.collect::<Result<_, _>>()?;
            all.extend(inputs.into_iter().map(|session| (session, true)));
            sessions = Some(all);
        }
        Ok(SearchPlan {
            needle: needle.clone(),
            sessions,
            state,
        })
    }
}

/// See [`super::Archive::search`].
pub(super) fn find(
    db: &Connection,
    plan: &SearchPlan,
    scope: &Scope,
    before: i64,
    most: u32,
) -> rusqlite::Result<(Vec<SearchHit>, Option<i64>)> {
    let sessions = match (&plan.sessions, scope) {
        (Some(known), Scope::All) => {
            let mut starts =
                db.prepare_cached("SELECT coalesce(start, '') FROM sessions WHERE session = ?1")?;
            let next = known.range(..before).rev().take(most as usize);
            let start = |(session, _): (&i64, &bool)| {
                let start = starts.query_row([session], |row| row.get(0)).optional();
                start.map(|start| (*session, start))
            };
            next.map(start).collect::<rusqlite::Result<Vec<_>>>()?
        }
        _ => {
            let numbers = listing::session_numbers(db, scope, before, most)?;
            let started = numbers
                .into_iter()
                .map(|(session, start)| (session, Some(start)));
            started.collect()
        }
    };
    let mut found = Vec::new();
    for (session, start) in &sessions {
        let inputs = match &plan.sessions {
            Some(known) => known.get(session).copied(),
            None => Some(true),
        };
        if let (Some(start), Some(inputs)) = (start, inputs) {
            search_session(db, &plan.needle, *session, start, inputs, &mut found)?;
        }
    }
    Ok((found, sessions.last().map(|(session, _)| *session)))
}

fn search_session(
    db: &Connection,
    needle: &Needle,
    session: i64,
    start: &str,
    inputs: bool,
    found: &mut Vec<SearchHit>,
) -> rusqlite::Result<()> {
    let first = found.len();
    let mut look = |line: u32, kind: HitKind, text: &str| {
        if let Some(at) = needle.find(text) {
            let (text, at) = line_around(text, &at);
            found.push(SearchHit {
                session,
                line,
                start: start.to_owned(),
                kind,
                text,
                at,
            });
        }
    };
    if inputs {
        let mut rows = db.prepare_cached(
            "SELECT line, coalesce(source_raw, source, '') FROM history WHERE session = ?1",
        )?;
        let mut rows = rows.query([session])?;
        while let Some(row) = rows.next()? {
            let Ok(text) = row.get_ref(1)?.as_str() else {
                continue;
            };
            match text.strip_prefix('.').filter(|_| has_prompt_dot(text)) {
                Some(prompt) => look(row.get(0)?, HitKind::Prompt, prompt),
                None => look(row.get(0)?, HitKind::Cell, text),
            }
        }
    }
    // The prompt of a turn of ours is an input, too; one recorded by other programs is only here.
    let mut exchanges = db.prepare_cached(
        "SELECT coalesce(t.line, p.history_line + 1), CASE WHEN t.id IS NULL THEN p.prompt END, p.response
         FROM ai_prompts p LEFT JOIN ipycodex_turns t ON t.prompt_row = p.id WHERE p.session = ?1",
    )?;
    let mut rows = exchanges.query([session])?;
    while let Some(row) = rows.next()? {
        let line = row.get(0)?;
        if let Ok(prompt) = row.get_ref(1)?.as_str() {
            look(line, HitKind::Prompt, prompt);
        }
        if let Ok(answer) = row.get_ref(2)?.as_str() {
            look(line, HitKind::Answer, answer);
        }
    }
    found[first..].sort_by_key(|entry| (std::cmp::Reverse(entry.line), entry.kind));
    Ok(())
}

/// The line of `text` in which `at` begins, and `at` relative to the line.
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
        let db = file::open_in_memory();
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

    fn plan(db: &Connection, needle: &str) -> SearchPlan {
        SearchPlan::new(db, &Needle::new(needle), None).unwrap()
    }

    fn check(needle: &str, scope: &Scope, expected: &[&str]) {
        let db = record();
        let (found, last) = find(&db, &plan(&db, needle), scope, i64::MAX, 10).unwrap();
        let shown: Vec<String> = found
            .iter()
            .map(|entry| {
                let SearchHit {
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
        let db = record();
        let needle = plan(&db, "needle");
        let (found, last) = find(&db, &needle, &Scope::All, i64::MAX, 2).unwrap();
        assert_eq!((found.len(), last), (4, Some(2)));
        let (found, last) = find(&db, &needle, &Scope::All, 2, 2).unwrap();
        assert_eq!((found.len(), last), (1, Some(1)));
        let (found, last) = find(&db, &needle, &Scope::All, 1, 2).unwrap();
        assert_eq!((found.len(), last), (0, None));
    }

    /// All hits, in pages of 100 sessions.
    fn all(db: &Connection, plan: &SearchPlan, scope: &Scope) -> Vec<(i64, u32, String)> {
        let (mut all, mut before) = (Vec::new(), i64::MAX);
        loop {
            let (found, last) = find(db, plan, scope, before, 100).unwrap();
            all.extend(found.into_iter().map(|it| (it.session, it.line, it.text)));
            match last {
                Some(last) => before = last,
                None => return all,
            }
        }
    }

    #[test]
    fn the_index_loses_no_hit() {
        let mut db = file::open_in_memory();
        db.execute_batch(
            r#"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)
                 INSERT INTO history SELECT i / 10 + 1, i % 10 + 1, '', 'value_' || i || ' = 1' FROM n;
               INSERT INTO sessions (session, start, remark) SELECT DISTINCT session, '', iif(session % 2, '/a', '/b')
                 FROM history;
               UPDATE history SET source_raw = 'GRÖSSE, Größe, Kelvin \u212a' WHERE (session, line) = (7, 1);
               UPDATE history SET source_raw = NULL, source = 'said "otherwise"' WHERE (session, line) = (8, 2);
               INSERT INTO ai_prompts VALUES (1, 9, 'prompt', 'It is otherwise.', 3), (2, 400, 'p', 'otherwise', 0);
               UPDATE history SET source_raw = char(8490) || 'ö' WHERE (session, line) = (10, 1);"#,
        )
        .unwrap();
        let needles = [
            "otherwise",
            "größe",
            "sse, größe",
            "Größe",
            "kö",
            "value_17 ",
            "value_2999",
            "value",
            "no such thing",
            "x",
        ];
        let scopes = [
            Scope::All,
            Scope::Directory("/a".into()),
            Scope::Directory("/b".into()),
        ];
        let search = |db: &Connection| -> Vec<_> {
            let of = |needle: &&str| {
                let plan = plan(db, needle);
                scopes.each_ref().map(|scope| all(db, &plan, scope))
            };
            needles.iter().map(of).collect()
        };
        let before = search(&db);
        let counts = before.iter().map(|of| of.each_ref().map(Vec::len));
        let counts: Vec<_> = counts.collect();
        assert_eq!(
            counts,
            [
                [2, 1, 1],
                [1, 1, 0],
                [1, 1, 0],
                [1, 1, 0],
                [1, 0, 1],
                [1, 0, 1],
                [1, 0, 1],
                [2_997, 1_499, 1_498],
                [0, 0, 0],
                [0, 0, 0]
            ]
        );
        assert!(plan(&db, "no such thing").sessions.is_none());
        while index::index_next(&mut db).unwrap() || listing::index_directories(&mut db).unwrap() {}
        assert_eq!(search(&db), before);
        let some = plan(&db, "no such thing").sessions.unwrap();
        assert!(
            !some.contains_key(&1) && some[&300] && !some[&9] && plan(&db, "x").sessions.is_none()
        );
        // Later entries are found, too.
        let old = plan(&db, "otherwise");
        db.execute_batch("INSERT INTO history VALUES (1, 99, '', 'otherwise')")
            .unwrap();
        let now = SearchPlan::new(&db, &Needle::new("otherwise"), Some(&old)).unwrap();
        assert_eq!(all(&db, &now, &Scope::All).len(), 3);
    }

    #[test]
    fn few_letters_have_others_for_their_capitals() {
        let strangers = ('\u{80}'..=char::MAX).flat_map(char::to_lowercase);
        let ascii: std::collections::BTreeSet<char> = strangers.filter(char::is_ascii).collect();
        assert_eq!(Vec::from_iter(ascii), ['i', 'k']);
    }
}
