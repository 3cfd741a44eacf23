//! Sessions as a list: newest first, of one directory or of all.
//!
//! Invariant: a session nothing was recorded of is in no list. A directory is compared as recorded: the `cwd` of the
//! remark, or a remark that is a plain path.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::SessionRow;

/// Rows of a listing at most.
pub const LISTED: u32 = 20;

/// Which sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Of every directory.
    All,
    /// Of this one.
    Directory(PathBuf),
}

/// The directory of a remark.
const CWD: &str =
    "CASE WHEN json_valid(s.remark) THEN json_extract(s.remark, '$.cwd') ELSE s.remark END";

/// Newest first, 20 at most; of `cwd`, else of the git root above it.
pub(super) fn list(db: &Connection, cwd: &Path, all: bool) -> rusqlite::Result<Vec<SessionRow>> {
    let scope = if all { Scope::All } else { near(db, cwd)? };
    page(db, &scope, i64::MAX, LISTED)
}

/// The sessions of `cwd`, or of the git root above it when it has none.
pub(super) fn near(db: &Connection, cwd: &Path) -> rusqlite::Result<Scope> {
    let here = Scope::Directory(cwd.to_owned());
    if !page(db, &here, i64::MAX, 1)?.is_empty() {
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
    let mut rows = db.prepare_cached(&format!(
        "SELECT s.session, coalesce(s.start, ''),
             CASE WHEN s.end LIKE '%+__:__' THEN strftime('%Y-%m-%d %H:%M:%f000', s.end, 'localtime') ELSE s.end END,
             (SELECT count(*) FROM history h WHERE h.session = s.session),
             coalesce((SELECT prompt FROM ai_prompts p WHERE p.session = s.session ORDER BY id DESC LIMIT 1), ''),
             (SELECT name FROM ipycodex_sessions i WHERE i.session = s.session), coalesce({CWD}, ''),
             coalesce((SELECT substr(prompt, 1, 2000) FROM ai_prompts p WHERE p.session = s.session ORDER BY id LIMIT 1), ''),
             coalesce((SELECT substr(coalesce(source_raw, source, ''), 1, 2000) FROM history h WHERE h.session = s.session
                       ORDER BY line DESC LIMIT 1), '')
         FROM sessions s WHERE s.session < ?1 AND {}
             AND EXISTS (SELECT 1 FROM history h WHERE h.session = s.session)
         ORDER BY s.session DESC LIMIT ?2",
        within("?3", "?4")
    ))?;
    let [cwd, inside] = directory(scope);
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
        })
    })?
    .collect()
}

/// The condition on `sessions s` that goes with the values of [`directory`], bound to these parameters.
pub(super) fn within(cwd: &str, inside: &str) -> String {
    format!(
        "({cwd} IS NULL OR (({inside} IS NULL OR instr(s.remark, {inside}) > 0) AND {CWD} = {cwd}))"
    )
}

/// The directory, NULL for all, and a text that stands in every remark with it (looking for it spares reading the JSON
/// of all others), NULL when JSON may write it in several ways.
pub(super) fn directory(scope: &Scope) -> [Option<String>; 2] {
    let Scope::Directory(cwd) = scope else {
        return [None, None];
    };
    let cwd = cwd.to_string_lossy().into_owned();
    let plain = |c: u8| (0x20..0x7f).contains(&c) && !matches!(c, b'"' | b'\\' | b'/');
    // A slash may be written as `\/`: the last name is looked for alone.
    let name = cwd.rsplit('/').next().unwrap_or_default();
    let inside = (!name.is_empty() && name.bytes().all(plain)).then(|| name.to_owned());
    [Some(cwd), inside]
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn check(remark: &str, cwd: &str, found: bool) {
        let db = file::memory();
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
    fn what_nothing_was_recorded_of_is_not_listed() {
        let db = file::memory();
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
}
