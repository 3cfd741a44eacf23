//! Inputs with their session and number, as Jupyter clients request them.
//!
//! Absent on purpose: writes that are not in the file yet; a request returns what was recorded before it.

use rusqlite::{Connection, Row, params};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputsQuery {
    Last(usize),
    Range {
        /// The session's number; 0 is the current one, a negative number counts back from it.
        session: i64,
        start: i64,
        /// The In number behind the last; `None`: no bound.
        stop: Option<i64>,
    },
    Like {
        /// A pattern with `*` and `?`.
        pattern: String,
        most: usize,
        unique: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedInput {
    pub session: i64,
    /// The In number.
    pub line: i64,
    pub text: String,
    /// The cell's output, where one was recorded.
    pub output: Option<String>,
}

const COLUMNS: &str =
    "SELECT h.session, h.line, coalesce(h.source_raw, h.source, ''), o.output FROM history h
    LEFT JOIN output_history o ON o.session = h.session AND o.line = h.line";

/// Reads inputs, oldest first; `own` is the current session.
pub(super) fn read(
    db: &Connection,
    own: i64,
    wanted: &InputsQuery,
) -> rusqlite::Result<Vec<NumberedInput>> {
    let number = |most: usize| i64::try_from(most).unwrap_or(i64::MAX);
    match wanted {
        InputsQuery::Last(most) => {
            let sql = format!("{COLUMNS} ORDER BY h.session DESC, h.line DESC LIMIT ?1");
            query_oldest_first(db, &sql, params![number(*most)])
        }
        InputsQuery::Range {
            session,
            start,
            stop,
        } => {
            let session = match session {
                before @ ..=0 => own + before,
                session => *session,
            };
            let sql = format!(
                "{COLUMNS} WHERE h.session = ?1 AND h.line >= ?2 AND h.line < ?3 ORDER BY h.line DESC"
            );
            query_oldest_first(db, &sql, params![session, start, stop.unwrap_or(i64::MAX)])
        }
        InputsQuery::Like {
            pattern,
            most,
            unique,
        } => {
            let once = match unique {
                true => {
                    "GROUP BY coalesce(h.source_raw, h.source, '') HAVING max(h.session * 1000000 + h.line)"
                }
                false => "",
            };
            let sql = format!(
                "{COLUMNS} WHERE coalesce(h.source_raw, h.source, '') GLOB ?1 {once}
                 ORDER BY h.session DESC, h.line DESC LIMIT ?2"
            );
            query_oldest_first(db, &sql, params![pattern, number(*most)])
        }
    }
}

fn query_oldest_first(
    db: &Connection,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<Vec<NumberedInput>> {
    let input = |row: &Row<'_>| {
        Ok(NumberedInput {
            session: row.get(0)?,
            line: row.get(1)?,
            text: row.get(2)?,
            output: row.get(3)?,
        })
    };
    let mut rows = db.prepare_cached(sql)?;
    let found: rusqlite::Result<Vec<NumberedInput>> = rows.query_map(values, input)?.collect();
    let mut found = found?;
    found.reverse();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn inputs_are_found_by_place_and_by_pattern() {
        let db = file::open_in_memory();
        db.execute_batch(
            "INSERT INTO history VALUES (1, 1, 'a', 'a'), (1, 2, 'bb', 'bb'), (2, 1, 'a', 'a'), (2, 2, 'c', 'c');
             INSERT INTO output_history VALUES (2, 2, 'out');",
        )
        .unwrap();
        let check = |wanted: InputsQuery, expected: &[(i64, i64, &str)]| {
            let found = read(&db, 2, &wanted).unwrap();
            let found: Vec<_> = found
                .iter()
                .map(|one| (one.session, one.line, one.text.as_str()))
                .collect();
            assert_eq!(found, expected, "{wanted:?}");
        };
        check(InputsQuery::Last(2), &[(2, 1, "a"), (2, 2, "c")]);
        let range = |session, start, stop| InputsQuery::Range {
            session,
            start,
            stop,
        };
        check(range(0, 1, Some(2)), &[(2, 1, "a")]);
        check(range(-1, 2, None), &[(1, 2, "bb")]);
        check(range(1, 1, Some(2)), &[(1, 1, "a")]);
        let like = |pattern: &str, most, unique| InputsQuery::Like {
            pattern: pattern.into(),
            most,
            unique,
        };
        check(like("a*", 9, false), &[(1, 1, "a"), (2, 1, "a")]);
        check(like("a*", 9, true), &[(2, 1, "a")]);
        check(like("?", 1, false), &[(2, 2, "c")]);
        assert_eq!(
            read(&db, 2, &InputsQuery::Last(1)).unwrap()[0]
                .output
                .as_deref(),
            Some("out")
        );
    }
}
