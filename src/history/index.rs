//! The index of what was typed: in which blocks of rows a text may stand.
//!
//! Rows of `history` are taken in blocks; of each block the index knows every three characters that stand in its texts,
//! and its directories. It is made beside the writing, of whole blocks that are no longer new; what it has not yet
//! (rows of IPython's, too) may hold anything. Invariant: it only rules out.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::listing::CWD;
use crate::text::needle::Needle;

/// Rows of a block: the rows whose numbers differ only in what is below this.
pub(super) const ROWS: i64 = 256;

/// Blocks that are not indexed yet though they are full: the newest rows may still be taken back.
const NEW: i64 = 2;

/// Blocks indexed in one transaction: it holds up others for a few ms.
const AT_ONCE: i64 = 2;

/// Groups of three characters looked up at most: more tell no more.
const GROUPS: usize = 24;

/// Blocks looked in at most, to tell the sessions of a text before any session is looked through.
const FEW: usize = 256;

/// Blocks up to that of row `newest`, oldest first, that may hold an input with this text in this directory.
pub(super) fn blocks(
    db: &Connection,
    newest: i64,
    directory: Option<&str>,
    text: &str,
) -> rusqlite::Result<Vec<i64>> {
    let indexed = Mark::read(db)?.blocks;
    let terms = directory.map(token).into_iter().chain(groups(text));
    let mut blocks = match indexed {
        0 => Vec::new(),
        _ => looked_up(db, terms, usize::MAX)?.unwrap_or_else(|| (0..indexed).collect()),
    };
    blocks.extend(indexed..=newest / ROWS);
    Ok(blocks)
}

/// Sessions with inputs that may hold `needle`; `None`: most may, or the index cannot tell.
pub(super) fn sessions(
    db: &Connection,
    mark: Mark,
    needle: &Needle,
) -> rusqlite::Result<Option<BTreeSet<i64>>> {
    if mark.blocks == 0 {
        return Ok(None);
    }
    // Other letters than these may be another's small one; the index knows of those of one length alone.
    let kept = |group: &String| {
        !needle.is_folded()
            || group
                .bytes()
                .all(|b| b.is_ascii() && b != b'i' && b != b'k')
    };
    let terms = groups(needle.text()).into_iter().filter(kept);
    let Some(blocks) = looked_up(db, terms, FEW + 1)? else {
        return Ok(None);
    };
    let newest = db.query_row("SELECT max(rowid) FROM history", [], |row| row.get(0));
    let rest = mark.blocks..=newest.unwrap_or(0) / ROWS;
    if blocks.len() + rest.clone().count() > FEW {
        return Ok(None);
    }
    let mut rows =
        db.prepare_cached("SELECT DISTINCT session FROM history WHERE rowid BETWEEN ?1 AND ?2")?;
    let mut sessions = BTreeSet::new();
    for block in blocks.into_iter().chain(rest) {
        let of_block = rows.query_map([block * ROWS, block * ROWS + ROWS - 1], |row| row.get(0))?;
        for session in of_block {
            sessions.insert(session?);
        }
    }
    Ok(Some(sessions))
}

/// At most `most` blocks of the index with all of these, oldest first; `None` when nothing is asked for.
fn looked_up(
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

/// The groups of three characters of a text, as the index has them; none of a shorter one.
fn groups(text: &str) -> BTreeSet<String> {
    let characters: Vec<char> = text.chars().collect();
    let groups = characters.windows(3).filter(|group| !group.contains(&'\0'));
    groups
        .map(|group| group.iter().collect())
        .take(GROUPS)
        .collect()
}

/// What stands in a block for a directory: one group of characters nobody types.
fn token(directory: &str) -> String {
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

/// The directory of a session.
pub(super) fn directory_of(db: &Connection, session: i64) -> rusqlite::Result<Option<String>> {
    let found: Option<Option<String>> = db
        .prepare_cached(&format!(
            "SELECT {CWD} FROM sessions s WHERE s.session = ?1"
        ))?
        .query_row([session], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

/// How far the index goes: so many blocks, and what the last row in it was, since other programs may number rows anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    blocks: i64,
    session: i64,
    line: i64,
}

impl Mark {
    /// Nothing, when the rows are not those that were indexed.
    pub(super) fn read(db: &Connection) -> rusqlite::Result<Mark> {
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
        let mark = Mark {
            blocks: next(),
            session: next(),
            line: next(),
        };
        let there = Mark::at(db, mark.blocks)?;
        Ok(if mark == there { mark } else { Mark::default() })
    }

    fn at(db: &Connection, blocks: i64) -> rusqlite::Result<Mark> {
        let last = db
            .query_row(
                "SELECT session, line FROM history WHERE rowid < ?1 ORDER BY rowid DESC LIMIT 1",
                [blocks * ROWS],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()?;
        let (session, line) = last.unwrap_or((0, 0));
        Ok(Mark {
            blocks,
            session,
            line,
        })
    }

    fn write(self, db: &Connection) -> rusqlite::Result<()> {
        let Mark {
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

/// Forgets all that is indexed: it is made anew.
pub(super) fn forget(db: &Connection) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO ipycodex_recall (ipycodex_recall) VALUES ('delete-all')",
        [],
    )?;
    Mark::default().write(db)
}

/// Indexes a few blocks; true when there are more.
pub(super) fn index(db: &mut Connection) -> rusqlite::Result<bool> {
    let full = |db: &Connection| -> rusqlite::Result<i64> {
        let newest: i64 =
            db.query_row("SELECT coalesce(max(rowid), 0) FROM history", [], |row| {
                row.get(0)
            })?;
        Ok((newest + 1) / ROWS - NEW)
    };
    if Mark::read(db)?.blocks >= full(db)? {
        return Ok(false);
    }
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been first.
    let (from, full) = (Mark::read(&change)?.blocks, full(&change)?);
    let to = (from + AT_ONCE).min(full);
    if from == 0 {
        forget(&change)?;
    }
    for block in from..to {
        let text = text_of(&change, block)?;
        change
            .prepare_cached("INSERT INTO ipycodex_recall (rowid, texts) VALUES (?1, ?2)")?
            .execute(params![block, text])?;
    }
    if from < to {
        Mark::at(&change, to)?.write(&change)?;
    }
    change.commit()?;
    Ok(to < full)
}

/// All that is looked for in a block: its texts, and what stands for its directories.
fn text_of(db: &Connection, block: i64) -> rusqlite::Result<String> {
    let mut rows = db.prepare_cached(
        "SELECT session, coalesce(source_raw, source) FROM history WHERE rowid BETWEEN ?1 AND ?2 ORDER BY rowid",
    )?;
    let mut rows = rows.query([block * ROWS, block * ROWS + ROWS - 1])?;
    let (mut all, mut session) = (String::new(), 0);
    while let Some(row) = rows.next()? {
        let of: i64 = row.get(0)?;
        if of != session {
            session = of;
            if let Some(directory) = directory_of(db, session)? {
                all = all + "\n" + &token(&directory) + "\n";
            }
        }
        if let Ok(text) = row.get_ref(1)?.as_str() {
            // The index takes what comes after it for the end.
            all.extend(text.chars().filter(|c| *c != '\0'));
            all.push('\n');
        }
    }
    Ok(all)
}
