//! Streamed answers: each new part is a row until the answer is complete.
//!
//! In: the whole text so far, each time. Out: rows of `ipycodex_answer_parts`, each with its byte offset. Invariant:
//! the parts of a turn, in order, are the last text received; text is written once, however often it is passed in.
//! The table has no index: it holds running answers only, and each page touched is a page written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, params};

use super::values::TurnKey;

/// The text written so far of each running answer; clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct StreamedAnswers {
    answers: Arc<Mutex<HashMap<TurnKey, StreamedAnswer>>>,
}

#[derive(Debug, Default)]
struct StreamedAnswer {
    text: String,
    part_starts: Vec<usize>,
}

impl StreamedAnswers {
    fn answers(&self) -> MutexGuard<'_, HashMap<TurnKey, StreamedAnswer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part to write so that the parts equal `stored`, and its byte offset; `None` when they do already.
    pub(super) fn next_part(&self, key: TurnKey, stored: &str) -> Option<(usize, String)> {
        let mut answers = self.answers();
        let sent = answers.entry(key).or_default();
        if sent.text == stored {
            return None;
        }
        let same = if stored.starts_with(&sent.text) {
            sent.text.len()
        } else {
            let both = sent.text.bytes().zip(stored.bytes());
            both.take_while(|(old, new)| old == new).count()
        };
        // Parts are replaced whole: text that was appended to one counts as new.
        let at = match sent.part_starts.iter().rposition(|start| *start <= same) {
            _ if same == sent.text.len() => same,
            Some(part) => sent.part_starts[part],
            None => 0,
        };
        sent.part_starts.retain(|start| *start < at);
        sent.part_starts.push(at);
        sent.text.truncate(at);
        sent.text.push_str(&stored[at..]);
        Some((at, stored[at..].to_owned()))
    }

    pub(super) fn finish(&self, key: TurnKey) {
        self.answers().remove(&key);
    }

    /// Forgets what was written, after the file was lost: each answer is written again from its beginning.
    pub(super) fn clear(&self) {
        self.answers().clear();
    }
}

/// Writes a part and deletes all parts that begin at its byte or later.
pub(super) fn write_part(
    db: &Connection,
    turn: i64,
    at: usize,
    text: &str,
) -> rusqlite::Result<()> {
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    db.prepare_cached("DELETE FROM ipycodex_answer_parts WHERE turn = ?1 AND at >= ?2")?
        .execute(params![turn, at])?;
    db.prepare_cached("INSERT INTO ipycodex_answer_parts (turn, at, text) VALUES (?1, ?2, ?3)")?
        .execute(params![turn, at, text])?;
    Ok(())
}

/// The answer as far as it was received.
pub(super) fn read_parts(db: &Connection, turn: i64) -> rusqlite::Result<String> {
    let mut parts =
        db.prepare_cached("SELECT text FROM ipycodex_answer_parts WHERE turn = ?1 ORDER BY at")?;
    let mut rows = parts.query([turn])?;
    let mut text = String::new();
    while let Some(row) = rows.next()? {
        text.push_str(row.get_ref(0)?.as_str()?);
    }
    Ok(text)
}

/// Deletes the parts of an answer that is stored whole.
pub(super) fn delete_parts(db: &Connection, turn: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM ipycodex_answer_parts WHERE turn = ?1")?
        .execute([turn])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::file;
    use super::*;
    use crate::properties;

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        /// Texts that grow, shrink and change in the middle: the parts always equal the last one.
        #[test]
        fn parts_are_the_last_text(texts in proptest::collection::vec("[aé€]{0,12}", 1..12)) {
            let (db, streamed, key) = (file::open_in_memory(), StreamedAnswers::default(), TurnKey(7));
            for text in texts {
                if let Some((at, part)) = streamed.next_part(key, &text) {
                    write_part(&db, 1, at, &part).unwrap();
                }
                prop_assert_eq!(read_parts(&db, 1).unwrap(), text);
            }
        }
    }

    #[test]
    fn only_the_new_end_of_an_answer_is_written() {
        let (streamed, key) = (StreamedAnswers::default(), TurnKey(7));
        assert_eq!(streamed.next_part(key, "ab"), Some((0, "ab".into())));
        assert_eq!(streamed.next_part(key, "abcd"), Some((2, "cd".into())));
        assert_eq!(streamed.next_part(key, "abcd"), None);
        assert_eq!(streamed.next_part(key, "abcX"), Some((2, "cX".into())));
        streamed.clear();
        assert_eq!(streamed.next_part(key, "abcX"), Some((0, "abcX".into())));
    }
}
