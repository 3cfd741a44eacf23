//! Lists of sessions: newest first, of one directory or of all.
//!
//! Invariants: an empty session is in no list; a session of one command line or text is only in the list of all
//! sessions, unless it has a name. A directory is compared as recorded: the `cwd` of the remark, or a remark that is
//! a plain path. Sessions are indexed by directory after they began; for the newest ones, and in files of other
//! programs, the remarks are read.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::values::{ForkOrigin, SessionRow};

/// Rows of a list at most.
pub const LIST_LIMIT: u32 = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    Directory(PathBuf),
}

/// SQL: the directory of a remark.
pub(super) const CWD: &str =
    "CASE WHEN json_valid(s.remark) THEN json_extract(s.remark, '$.cwd') ELSE s.remark END";

/// Newest first, 20 at most; of `cwd`, else of the git root above it.
pub(super) fn list(db: &Connection, cwd: &Path, all: bool) -> rusqlite::Result<Vec<SessionRow>> {
    let scope = if all { Scope::All } else { nearby(db, cwd)? };
    page(db, &scope, i64::MAX, LIST_LIMIT)
}

/// The scope of `cwd`, or of the git root above it when `cwd` has no listed sessions.
pub(super) fn nearby(db: &Connection, cwd: &Path) -> rusqlite::Result<Scope> {
    find_scope(db, cwd, IS_LISTED)
}

/// Like `nearby`, but unlisted sessions count too.
pub(super) fn nearby_with_unlisted(db: &Connection, cwd: &Path) -> rusqlite::Result<Scope> {
    find_scope(db, cwd, "1")
}

fn find_scope(db: &Connection, cwd: &Path, which: &str) -> rusqlite::Result<Scope> {
    let here = Scope::Directory(cwd.to_owned());
    if !in_directory(db, cwd, which, i64::MAX, 1)?.is_empty() {
        return Ok(here);
    }
    let root = cwd
        .ancestors()
        .find(|directory| directory.join(".git").exists());
    Ok(match root {
        Some(root) if root != cwd => Scope::Directory(root.to_owned()),
        _ => here,
    })
}

/// At most `most` sessions with a number below `before`, newest first.
pub(super) fn page(
    db: &Connection,
    scope: &Scope,
    before: i64,
    most: u32,
) -> rusqlite::Result<Vec<SessionRow>> {
    match scope {
        Scope::All => rows(db, "1", before, most, [None, None]),
        Scope::Directory(directory) => in_directory(db, directory, IS_LISTED, before, most),
    }
}

/// Numbers and start times of at most `most` sessions below `before`, newest first, empty ones included.
pub(super) fn session_numbers(
    db: &Connection,
    scope: &Scope,
    before: i64,
    most: u32,
) -> rusqlite::Result<Vec<(i64, String)>> {
    let read = |which: &str, before: i64, most: u32, [cwd, inside]: [Option<String>; 2]| {
        let mut rows = db.prepare_cached(&format!(
            "SELECT s.session, coalesce(s.start, '') FROM sessions s
             WHERE s.session < ?1 AND {which} AND ?3 IS ?3 AND ?4 IS ?4 ORDER BY s.session DESC LIMIT ?2"
        ))?;
        let rows = rows.query_map(params![before, most, cwd, inside], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        rows.collect()
    };
    match scope {
        Scope::All => read("1", before, most, [None, None]),
        Scope::Directory(directory) => query_directory(db, directory, before, most, read),
    }
}

fn in_directory(
    db: &Connection,
    directory: &Path,
    which: &str,
    before: i64,
    most: u32,
) -> rusqlite::Result<Vec<SessionRow>> {
    query_directory(db, directory, before, most, |read, before, most, values| {
        rows(db, &format!("{read} AND {which}"), before, most, values)
    })
}

/// Reads the sessions of a directory: first those whose remarks must be read, then those in the index. Calls `read`
/// with a condition on `sessions s`, the upper bound of the number, the limit, and the values of ?3 and ?4.
fn query_directory<T>(
    db: &Connection,
    directory: &Path,
    before: i64,
    most: u32,
    read: impl Fn(&str, i64, u32, [Option<String>; 2]) -> rusqlite::Result<Vec<T>>,
) -> rusqlite::Result<Vec<T>> {
    let placed = indexed_up_to(db)?;
    let values = directory_values(&Scope::Directory(directory.to_owned()));
    let cwd = values[0].clone();
    let newest = format!(
        "s.session > {placed} AND {}",
        directory_condition("?3", "?4")
    );
    let mut found = read(&newest, before, most, values)?;
    let left = most.saturating_sub(u32::try_from(found.len()).unwrap_or(most));
    if left > 0 {
        let placed_there = "s.session IN (SELECT p.session FROM ipycodex_places p WHERE p.directory = ?3 AND p.session \
                            < ?1)";
        let before = before.min(placed.saturating_add(1));
        found.extend(read(placed_there, before, left, [cwd, None])?);
    }
    Ok(found)
}

/// SQL: the session is more than one command line or text, or has a name.
const IS_LISTED: &str = "NOT EXISTS (SELECT 1 FROM ipycodex_sessions i
    WHERE i.session = s.session AND i.once = 1 AND i.name IS NULL)";

/// Rows of the sessions below `before` that meet a condition, which may use ?3 and ?4.
fn rows(
    db: &Connection,
    which: &str,
    before: i64,
    most: u32,
    [cwd, inside]: [Option<String>; 2],
) -> rusqlite::Result<Vec<SessionRow>> {
    let mut rows = db.prepare_cached(&format!(
        "SELECT s.session, coalesce(s.start, ''),
             CASE WHEN s.end LIKE '%+__:__' THEN strftime('%Y-%m-%d %H:%M:%f000', s.end, 'localtime') ELSE s.end END,
             (SELECT count(*) FROM history h WHERE h.session = s.session),
             coalesce((SELECT prompt FROM ai_prompts p WHERE p.session = s.session ORDER BY id DESC LIMIT 1), ''),
             i.name, coalesce({CWD}, ''),
             coalesce((SELECT substr(prompt, 1, 2000) FROM ai_prompts p WHERE p.session = s.session ORDER BY id LIMIT \
             1), ''),
             coalesce((SELECT substr(coalesce(source_raw, source, ''), 1, 2000) FROM history h WHERE h.session = \
             s.session
                       ORDER BY line DESC LIMIT 1), ''), coalesce(i.once, 0),
             i.parent, i.forked_at
         FROM sessions s LEFT JOIN ipycodex_sessions i ON i.session = s.session
         WHERE s.session < ?1 AND {which} AND ?3 IS ?3 AND ?4 IS ?4 AND EXISTS (SELECT 1 FROM history h WHERE \
         h.session = s.session)
         ORDER BY s.session DESC LIMIT ?2"
    ))?;
    rows.query_map(params![before, most, cwd, inside], |row| {
        Ok(SessionRow {
            id: row.get(0)?,
            start: row.get(1)?,
            end: row.get(2)?,
            commands: row.get(3)?,
            last_prompt: row.get(4)?,
            name: row.get(5)?,
            cwd: row.get(6)?,
            first_prompt: row.get(7)?,
            last_input: row.get(8)?,
            once: row.get(9)?,
            fork: origin(row.get(10)?, row.get(11)?),
        })
    })?
    .collect()
}

fn origin(parent: Option<i64>, before: Option<u32>) -> Option<ForkOrigin> {
    let (parent, before) = parent.zip(before)?;
    Some(ForkOrigin { parent, before })
}

/// Sessions indexed by directory in one transaction.
const SESSIONS_PER_TRANSACTION: i64 = 1_000;

/// The highest session number that is indexed by directory.
fn indexed_up_to(db: &Connection) -> rusqlite::Result<i64> {
    let known = db.query_row(
        "SELECT value FROM ipycodex_meta WHERE key = 'placed'",
        [],
        |row| row.get::<_, String>(0),
    );
    // A file of another program has no such table.
    let known = known.optional().unwrap_or_default();
    Ok(known.and_then(|known| known.parse().ok()).unwrap_or(0))
}

/// Indexes some more sessions by directory; true when there are others.
pub(super) fn index_directories(db: &mut Connection) -> rusqlite::Result<bool> {
    let last = "SELECT coalesce(max(session), 0) FROM sessions";
    let last: i64 = db.query_row(last, [], |row| row.get(0))?;
    if indexed_up_to(db)? >= last {
        return Ok(false);
    }
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = indexed_up_to(&change)?;
    let to = from.saturating_add(SESSIONS_PER_TRANSACTION).min(last);
    change.execute(
        &format!(
            "INSERT OR IGNORE INTO ipycodex_places SELECT {CWD}, s.session FROM sessions s
             WHERE s.session > ?1 AND s.session <= ?2 AND {CWD} IS NOT NULL"
        ),
        [from, to],
    )?;
    change.execute(
        "INSERT OR REPLACE INTO ipycodex_meta VALUES ('placed', ?1)",
        [to.to_string()],
    )?;
    change.commit()?;
    Ok(to < last)
}

/// SQL: the condition on `sessions s` for the values of `directory_values`, bound to these parameters.
pub(super) fn directory_condition(cwd: &str, inside: &str) -> String {
    format!(
        "({cwd} IS NULL OR (({inside} IS NULL OR instr(s.remark, {inside}) > 0) AND {CWD} = {cwd}))"
    )
}

/// The directory, NULL for all, and a text that occurs in every remark with it (searching for it avoids parsing the
/// JSON of all others); the text is NULL when JSON may spell it in several ways.
pub(super) fn directory_values(scope: &Scope) -> [Option<String>; 2] {
    let Scope::Directory(cwd) = scope else {
        return [None, None];
    };
    let cwd = cwd.to_string_lossy().into_owned();
    let plain = |c: u8| (0x20..0x7f).contains(&c) && !matches!(c, b'"' | b'\\' | b'/');
    // JSON may write a slash as `\/`: only the last path component is searched for.
    let name = cwd.rsplit('/').next().unwrap_or_default();
    let inside = (!name.is_empty() && name.bytes().all(plain)).then(|| name.to_owned());
    [Some(cwd), inside]
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn check(remark: &str, cwd: &str, found: bool) {
        let db = file::open_in_memory();
        db.execute(
            "INSERT INTO sessions (session, remark) VALUES (1, ?1)",
            [remark],
        )
        .unwrap();
        db.execute("INSERT INTO history VALUES (1, 1, 'x', 'x')", [])
            .unwrap();
        let rows = page(&db, &Scope::Directory(cwd.into()), i64::MAX, 9).unwrap();
        assert_eq!(rows.len(), usize::from(found), "{remark} in {cwd}");
    }

    #[test]
    fn a_remark_names_its_directory_in_any_writing() {
        for (remark, cwd, found) in [
            (r#"{"cwd":"/a/b","provider":"codex"}"#, "/a/b", true),
            (r#"{"cwd":"\/a\/b"}"#, "/a/b", true),
            (r#"{"cwd":"/a/\u00e9"}"#, "/a/é", true),
            (r#"{"cwd":"/a/é"}"#, "/a/é", true),
            (r#"{"cwd":"/a/b \"c\""}"#, "/a/b \"c\"", true),
            ("/a/b", "/a/b", true),
            ("/", "/", true),
            (r#"{"cwd":"/"}"#, "/", true),
            (r#"{"cwd":"/a/b/c"}"#, "/a/b", false),
            (r#"{"cwd":"/a"}"#, "/a/b", false),
            ("", "/a", false),
        ] {
            check(remark, cwd, found);
        }
    }

    #[test]
    fn a_session_without_inputs_is_not_listed() {
        let db = file::open_in_memory();
        for session in 1..=30 {
            db.execute(
                "INSERT INTO sessions (session, remark) VALUES (?1, '/a')",
                [session],
            )
            .unwrap();
            if session % 3 != 0 {
                let text = "INSERT INTO history VALUES (?1, 1, 'x', '%x')";
                db.execute(text, [session]).unwrap();
            }
        }
        let ids = |rows: Vec<SessionRow>| rows.iter().map(|row| row.id).collect::<Vec<_>>();
        let rows = list(&db, Path::new("/a"), false).unwrap();
        assert_eq!(rows.len(), 20);
        assert_eq!(
            ids(page(&db, &Scope::All, 10, 4).unwrap()),
            [8, 7, 5, 4],
            "below the last one seen"
        );
        assert_eq!(
            list(&db, Path::new("/nowhere"), false).unwrap(),
            [],
            "another directory"
        );
    }
    #[test]
    fn one_command_line_is_listed_among_all_sessions_alone_unless_it_has_a_name() {
        let mut db = file::open_in_memory();
        db.execute_batch(
            "INSERT INTO sessions (session, remark) VALUES (1, '/a'), (2, '/a'), (3, '/a'), (4, '/b'), (5, '/a');
             INSERT INTO history SELECT session, 1, 'x', 'x' FROM sessions;
             INSERT INTO ipycodex_sessions (session, name, once) VALUES (1, NULL, NULL), (2, NULL, 1), (3, 'kept', 1);",
        )
        .unwrap();
        let ids = |db: &Connection, scope: &Scope, before| {
            let rows = page(db, scope, before, 9).unwrap();
            rows.iter()
                .map(|row| (row.id, row.once))
                .collect::<Vec<_>>()
        };
        let here = Scope::Directory("/a".into());
        let all = [(5, false), (4, false), (3, true), (2, true), (1, false)];
        assert_eq!(ids(&db, &Scope::All, i64::MAX), all);
        assert_eq!(ids(&db, &here, i64::MAX), [all[0], all[2], all[4]]);
        // The index by directory finds the same sessions, and those that came since.
        assert!(!index_directories(&mut db).unwrap());
        db.execute_batch("INSERT INTO sessions (session, remark) VALUES (6, '/a'); INSERT INTO history VALUES (6, 1, \
                          'x', 'x')")
            .unwrap();
        assert_eq!(
            ids(&db, &here, i64::MAX),
            [(6, false), all[0], all[2], all[4]]
        );
        assert_eq!(ids(&db, &here, 5), [all[2], all[4]]);
        assert_eq!(ids(&db, &Scope::Directory("/nowhere".into()), i64::MAX), []);
    }

    #[test]
    fn the_name_of_a_directory_is_searched_for_where_json_spells_it_in_one_way() {
        for (cwd, name) in [
            ("/a/b", Some("b")),
            ("/a/b c.d-1", Some("b c.d-1")),
            ("/", None),
            ("/a/é", None),
            ("/a/b\"", None),
            ("/a/b\\", None),
        ] {
            let values = directory_values(&Scope::Directory(cwd.into()));
            assert_eq!(values, [Some(cwd.to_owned()), name.map(str::to_owned)]);
        }
        assert_eq!(directory_values(&Scope::All), [None, None]);
    }
}
