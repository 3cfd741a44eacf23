//! The index of typed texts: which blocks of rows may contain a text.
//!
//! Rows of `history` form blocks; the index holds all trigrams (three characters) of each block's texts, and its
//! directories. Full blocks are indexed between writes, once they are no longer new; a block that is not indexed yet
//! (rows of IPython's, too) may contain anything. Invariant: the index only rules out.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::listing::CWD;
use crate::text::needle::Needle;

/// Rows of a block; rows whose numbers have the same quotient by this are one block.
pub(super) const BLOCK_ROWS: i64 = 256;

/// The newest full blocks are not indexed yet: their rows may still be deleted.
const UNSETTLED_BLOCKS: i64 = 2;

/// Blocks indexed in one transaction, which holds up other processes for a few ms.
const BLOCKS_PER_TRANSACTION: i64 = 2;

/// Trigrams looked up at most: more do not narrow the result.
const MAX_TRIGRAMS: usize = 24;

/// Blocks read at most to find the sessions of a text before any session is searched.
const MAX_BLOCKS: usize = 256;

/// Blocks up to that of row `newest`, oldest first, that may contain an input with this text in this directory.
pub(super) fn candidate_blocks(
    db: &Connection,
    newest: i64,
    directory: Option<&str>,
    text: &str,
) -> rusqlite::Result<Vec<i64>> {
    let indexed = IndexProgress::read(db)?.blocks;
    let terms = directory
        .map(directory_token)
        .into_iter()
        .chain(trigrams(text));
    let mut blocks = match indexed {
        0 => Vec::new(),
        _ => find_blocks(db, terms, usize::MAX)?.unwrap_or_else(|| (0..indexed).collect()),
    };
    blocks.extend(indexed..=newest / BLOCK_ROWS);
    Ok(blocks)
}

/// Sessions with inputs that may contain `needle`; `None`: most may, or the index cannot say.
pub(super) fn candidate_sessions(
    db: &Connection,
    mark: IndexProgress,
    needle: &Needle,
) -> rusqlite::Result<Option<BTreeSet<i64>>> {
    if mark.blocks == 0 {
        return Ok(None);
    }
    // `i`, `k` and letters beyond ASCII can be the lower case of several letters; the index folds only letters of
    // equal length.
    let kept = |trigram: &String| {
        !needle.is_folded()
            || trigram
                .bytes()
                .all(|b| b.is_ascii() && b != b'i' && b != b'k')
    };
    let terms = trigrams(needle.text()).into_iter().filter(kept);
    let Some(blocks) = find_blocks(db, terms, MAX_BLOCKS + 1)? else {
        return Ok(None);
    };
    let newest = db.query_row("SELECT max(rowid) FROM history", [], |row| row.get(0));
    let rest = mark.blocks..=newest.unwrap_or(0) / BLOCK_ROWS;
    if blocks.len() + rest.clone().count() > MAX_BLOCKS {
        return Ok(None);
    }
    let mut rows =
        db.prepare_cached("SELECT DISTINCT session FROM history WHERE rowid BETWEEN ?1 AND ?2")?;
    let mut sessions = BTreeSet::new();
    for block in blocks.into_iter().chain(rest) {
        let of_block = rows.query_map(
            [block * BLOCK_ROWS, block * BLOCK_ROWS + BLOCK_ROWS - 1],
            |row| row.get(0),
        )?;
        for session in of_block {
            sessions.insert(session?);
        }
    }
    Ok(Some(sessions))
}

/// At most `most` blocks of the index that contain all `terms`, oldest first; `None` without any term.
fn find_blocks(
    db: &Connection,
    terms: impl Iterator<Item = String>,
    most: usize,
) -> rusqlite::Result<Option<Vec<i64>>> {
    let quoted = terms.map(|term| format!("\"{}\"", term.replace('"', "\"\"")));
    let asked = quoted.collect::<Vec<_>>().join(" AND ");
    if asked.is_empty() {
        return Ok(None);
    }
    let mut rows = db.prepare_cached(
        "SELECT rowid FROM ipycodex_recall WHERE ipycodex_recall MATCH ?1 ORDER BY rowid LIMIT ?2",
    )?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let blocks = rows.query_map(params![asked, most], |row| row.get(0))?;
    blocks.collect::<Result<_, _>>().map(Some)
}

/// The trigrams of a text as the index stores them; none for a text of less than three characters.
fn trigrams(text: &str) -> BTreeSet<String> {
    let characters: Vec<char> = text.chars().collect();
    let trigrams = characters
        .windows(3)
        .filter(|trigram| !trigram.contains(&'\0'));
    trigrams
        .map(|trigram| trigram.iter().collect())
        .take(MAX_TRIGRAMS)
        .collect()
}

/// The token of a directory in a block: characters that nobody types.
fn directory_token(directory: &str) -> String {
    // FNV-1a: the same in every version of this program.
    let hash = directory
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    let private = |part: u64| {
        let code = 0xE000 + u32::try_from(part % 6_400).unwrap_or(0);
        char::from_u32(code).unwrap_or('\u{E000}')
    };
    [hash, hash / 6_400, hash / 40_960_000]
        .map(private)
        .iter()
        .collect()
}

pub(super) fn directory_of(db: &Connection, session: i64) -> rusqlite::Result<Option<String>> {
    let found: Option<Option<String>> = db
        .prepare_cached(&format!(
            "SELECT {CWD} FROM sessions s WHERE s.session = ?1"
        ))?
        .query_row([session], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

/// The number of indexed blocks, and the last row in them, since other programs may renumber the rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct IndexProgress {
    blocks: i64,
    session: i64,
    line: i64,
}

impl IndexProgress {
    /// The recorded progress; empty when the rows are not those that were indexed.
    pub(super) fn read(db: &Connection) -> rusqlite::Result<IndexProgress> {
        let stored: Option<String> = db
            .query_row(
                "SELECT value FROM ipycodex_meta WHERE key = 'recalled'",
                [],
                |row| row.get(0),
            )
            .optional()?;
        let stored = stored.unwrap_or_default();
        let mut numbers = stored.split(' ').map_while(|number| number.parse().ok());
        let mut next = || numbers.next().unwrap_or(0);
        let mark = IndexProgress {
            blocks: next(),
            session: next(),
            line: next(),
        };
        let there = IndexProgress::at(db, mark.blocks)?;
        Ok(if mark == there {
            mark
        } else {
            IndexProgress::default()
        })
    }

    fn at(db: &Connection, blocks: i64) -> rusqlite::Result<IndexProgress> {
        let last = db
            .query_row(
                "SELECT session, line FROM history WHERE rowid < ?1 ORDER BY rowid DESC LIMIT 1",
                [blocks * BLOCK_ROWS],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let (session, line) = last.unwrap_or((0, 0));
        Ok(IndexProgress {
            blocks,
            session,
            line,
        })
    }

    fn write(self, db: &Connection) -> rusqlite::Result<()> {
        let IndexProgress {
            blocks,
            session,
            line,
        } = self;
        db.execute(
            "INSERT OR REPLACE INTO ipycodex_meta VALUES ('recalled', ?1)",
            [format!("{blocks} {session} {line}")],
        )?;
        Ok(())
    }
}

/// Deletes the index; indexing starts again from the first block.
pub(super) fn clear(db: &Connection) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO ipycodex_recall (ipycodex_recall) VALUES ('delete-all')",
        [],
    )?;
    IndexProgress::default().write(db)
}

pub(super) fn index_next(db: &mut Connection) -> rusqlite::Result<bool> {
    let full = |db: &Connection| -> rusqlite::Result<i64> {
        let newest: i64 =
            db.query_row("SELECT coalesce(max(rowid), 0) FROM history", [], |row| {
                row.get(0)
            })?;
        Ok((newest + 1) / BLOCK_ROWS - UNSETTLED_BLOCKS)
    };
    if IndexProgress::read(db)?.blocks >= full(db)? {
        return Ok(false);
    }
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have indexed them in the meantime.
    let (from, full) = (IndexProgress::read(&change)?.blocks, full(&change)?);
    let to = (from + BLOCKS_PER_TRANSACTION).min(full);
    if from == 0 {
        clear(&change)?;
    }
    for block in from..to {
        let text = block_text(&change, block)?;
        change
            .prepare_cached("INSERT INTO ipycodex_recall (rowid, texts) VALUES (?1, ?2)")?
            .execute(params![block, text])?;
    }
    if from < to {
        IndexProgress::at(&change, to)?.write(&change)?;
    }
    change.commit()?;
    Ok(to < full)
}

/// The indexed text of a block: its inputs and the tokens of its directories.
fn block_text(db: &Connection, block: i64) -> rusqlite::Result<String> {
    let mut rows = db.prepare_cached(
        "SELECT session, coalesce(source_raw, source) FROM history WHERE rowid BETWEEN ?1 AND ?2 ORDER BY rowid",
    )?;
    let mut rows = rows.query([block * BLOCK_ROWS, block * BLOCK_ROWS + BLOCK_ROWS - 1])?;
    let (mut all, mut session) = (String::new(), 0);
    while let Some(row) = rows.next()? {
        let of: i64 = row.get(0)?;
        if of != session {
            session = of;
            if let Some(directory) = directory_of(db, session)? {
                all = all + "\n" + &directory_token(&directory) + "\n";
            }
        }
        if let Ok(text) = row.get_ref(1)?.as_str() {
            // FTS takes a NUL for the end of the text.
            all.extend(text.chars().filter(|c| *c != '\0'));
            all.push('\n');
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    fn record(rows: u32) -> Connection {
        let db = file::open_in_memory();
        db.execute_batch(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
                 INSERT INTO history SELECT 1, i, '', 'row ' || i || '.' FROM n;
             INSERT INTO sessions (session, remark) VALUES (1, '/here')"
        ))
        .unwrap();
        db
    }

    #[test]
    fn full_blocks_are_indexed_but_for_the_newest() {
        for (rows, indexed) in [(766, 0), (767, 1), (768, 1), (1_023, 2), (1_535, 4)] {
            let mut db = record(rows);
            let mut more = true;
            while std::mem::take(&mut more) {
                more = index_next(&mut db).unwrap();
            }
            assert_eq!(IndexProgress::read(&db).unwrap().blocks, indexed, "{rows}");
        }
    }

    #[test]
    fn a_block_holds_its_own_rows_alone() {
        let mut db = record(1_535);
        while index_next(&mut db).unwrap() {}
        let newest = |directory: Option<&str>, text: &str| {
            let mut blocks = candidate_blocks(&db, 1_535, directory, text).unwrap();
            assert_eq!(
                blocks.split_off(blocks.len() - 2),
                [4, 5],
                "those that are not indexed"
            );
            blocks
        };
        for (row, block) in [(255, 0), (256, 1), (257, 1), (511, 1), (512, 2), (1_023, 3)] {
            assert_eq!(newest(None, &format!(" {row}.")), [block], "row {row}");
        }
        assert_eq!(newest(Some("/here"), " 256."), [1]);
        assert_eq!(newest(Some("/else"), " 256."), [] as [i64; 0]);
        assert_eq!(newest(Some("/here"), ""), [0, 1, 2, 3]);
        assert_eq!(newest(None, "1."), [0, 1, 2, 3], "too short for the index");
        clear(&db).unwrap();
        assert_eq!(IndexProgress::read(&db).unwrap(), IndexProgress::default());
    }

    #[test]
    fn sessions_of_a_text_are_named_where_the_index_can_say() {
        let mut db = record(1_535);
        db.execute_batch(
            "UPDATE history SET session = line;
             UPDATE history SET source_raw = char(8490) || 'elvin ÖS' WHERE line = 9",
        )
        .unwrap();
        let find = |db: &Connection, text: &str| {
            let mark = IndexProgress::read(db).unwrap();
            candidate_sessions(db, mark, &Needle::new(text)).unwrap()
        };
        assert_eq!(find(&db, "row 300."), None, "nothing is indexed");
        while index_next(&mut db).unwrap() {}
        let some = |text: &str, there: i64, not_there: i64| {
            let found = find(&db, text).unwrap();
            let of_end = found.contains(&1_024) && found.contains(&1_535);
            assert!(
                found.contains(&there) && !found.contains(&not_there) && of_end,
                "{text}"
            );
        };
        some("row 300.", 300, 200);
        some("row 300.", 511, 512);
        // `k` and `i` may be those of other letters.
        some("kelvin ös", 9, 300);
        assert_eq!(find(&db, "kiö"), None, "no trigram is certain");
    }

    #[test]
    fn the_token_of_a_directory_is_the_same_in_every_version() {
        assert_eq!(directory_token("/some/where"), "\u{e95a}\u{ea30}\u{f885}");
        let tokens: BTreeSet<String> = (0..500)
            .map(|n| directory_token(&format!("/{n}")))
            .collect();
        assert_eq!(tokens.len(), 500);
        let mut characters = tokens.iter().flat_map(|token| token.chars());
        assert!(
            characters.all(|c| ('\u{e000}'..='\u{f8ff}').contains(&c)),
            "nobody types them"
        );
    }
}
