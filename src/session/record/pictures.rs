//! Pictures of the conversation: which of them are sent to the model, and where they are stored.
//!
//! In: outputs of cells, and pictures that prompts refer to (stored under the prompt's own number). Out: `data:` URLs
//! in the entries of a [`Dialog`]. Only PNG, JPEG, GIF and WebP with the signature of their type are sent: one that
//! the model's service cannot read would make every later turn fail.
//!
//! Invariant: pictures sent are bounded in number and bytes, newest first, and the bound moves in steps: a prompt
//! that was sent with its pictures keeps them for a while, so that the agent's thread still equals the record.

use std::collections::{HashMap, HashSet};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rusqlite::{Connection, OptionalExtension, params};

use super::request::RecordWrite;
use super::values::StoredBundle;
use crate::dialog::Dialog;
use crate::output::picture_type;

/// At least this many of the newest are sent, at most twice as many; the same holds for bytes of their stored form.
const STEP: usize = 8;
const STEP_BYTES: u64 = 4 << 20;

/// The largest picture that is sent, in bytes of its stored form.
const LARGEST: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PictureRef {
    line: u32,
    position: i64,
    bytes: u64,
    /// The bundle, when it is not in the file yet.
    json: Option<String>,
}

/// The pictures in the file.
pub(super) fn read_stored(db: &Connection, session: i64) -> rusqlite::Result<Vec<PictureRef>> {
    let mut rows = db.prepare_cached(
        "SELECT line, position, picture FROM ipycodex_outputs
         WHERE session = ?1 AND picture IS NOT NULL ORDER BY line, position",
    )?;
    rows.query_map([session], |row| {
        Ok(PictureRef {
            line: row.get(0)?,
            position: row.get(1)?,
            bytes: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
            json: None,
        })
    })?
    .collect()
}

/// The pictures in pending writes.
pub(super) fn from_pending(writes: &mut dyn Iterator<Item = &RecordWrite>) -> Vec<PictureRef> {
    let mut found = Vec::new();
    for write in writes {
        let (line, bundles) = match write {
            RecordWrite::Output { line, bundles, .. } => (*line, bundles.clone()),
            RecordWrite::BeginTurn { start, .. } => {
                let urls = start.expansion.images.iter();
                (
                    start.line,
                    urls.filter_map(|url| StoredBundle::from_data_url(url))
                        .collect(),
                )
            }
            _ => continue,
        };
        let pictured = (0_i64..)
            .zip(bundles)
            .filter(|(_, bundle)| bundle.has_picture);
        found.extend(pictured.map(|(position, bundle)| PictureRef {
            line,
            position,
            bytes: bundle.json.len() as u64,
            json: Some(bundle.json),
        }));
    }
    found
}

/// Counts the pictures of `found` that are too large to be sent, in their cells.
pub(super) fn count_too_large(found: &[PictureRef], dialog: &mut Dialog) {
    for picture in found.iter().filter(|picture| picture.bytes > LARGEST) {
        let at = dialog
            .cells
            .binary_search_by_key(&picture.line, |cell| cell.line);
        if let Ok(at) = at {
            dialog.cells[at].too_large += 1;
        }
    }
}

/// The pictures of `found` that are sent with the conversation, in its order.
pub(super) fn select(mut found: Vec<PictureRef>, dialog: &Dialog) -> Vec<PictureRef> {
    if found.is_empty() {
        return found;
    }
    let cells = dialog
        .cells
        .iter()
        .filter(|cell| !cell.is_excluded() && cell.line > dialog.reset_line);
    let prompts = dialog.prompts.iter().filter(|prompt| !prompt.hidden);
    let lines: HashSet<u32> = cells
        .map(|cell| cell.line)
        .chain(prompts.map(|prompt| prompt.line))
        .collect();
    found.retain(|picture| lines.contains(&picture.line) && picture.bytes <= LARGEST);
    found.sort_by_key(|picture| (picture.line, picture.position));
    let first = step_before(found.len() as u64, STEP as u64);
    let total: u64 = found.iter().map(|picture| picture.bytes).sum();
    let from = step_before(total, STEP_BYTES);
    let (mut number, mut bytes) = (0, 0);
    found.retain(|picture| {
        let keep = number >= first && bytes >= from;
        number += 1;
        bytes += picture.bytes;
        keep
    });
    found
}

/// The offset in `total` at which the kept part begins: a multiple of `step`, at least one step before the end.
fn step_before(total: u64, step: u64) -> u64 {
    (total.saturating_sub(1) / step * step).saturating_sub(step)
}

pub(super) fn read_urls(
    db: &Connection,
    session: i64,
    kept: Vec<PictureRef>,
) -> rusqlite::Result<Vec<(u32, String)>> {
    let mut bundles = db.prepare_cached(
        "SELECT bundle FROM ipycodex_outputs WHERE session = ?1 AND line = ?2 AND position = ?3",
    )?;
    let mut urls = Vec::new();
    for picture in kept {
        let json = match picture.json {
            Some(json) => Some(json),
            None => bundles
                .query_row(params![session, picture.line, picture.position], |row| {
                    row.get(0)
                })
                .optional()?,
        };
        let url = json.and_then(|json: String| data_url(&json));
        urls.extend(url.map(|url| (picture.line, url)));
    }
    Ok(urls)
}

fn data_url(json: &str) -> Option<String> {
    let (mime, base64) = StoredBundle::parse(json)?.image()?;
    has_signature(mime, &base64).then(|| format!("data:{mime};base64,{base64}"))
}

/// True when the data begins with the signature of its type.
fn has_signature(mime: &str, base64: &str) -> bool {
    let Some(head) = base64
        .get(..16)
        .and_then(|head| BASE64_STANDARD.decode(head).ok())
    else {
        return false;
    };
    picture_type(&head) == Some(mime)
}

pub(super) fn attach(dialog: &mut Dialog, pictures: Vec<(u32, String)>) {
    if pictures.is_empty() {
        return;
    }
    let prompts: HashMap<u32, usize> = dialog
        .prompts
        .iter()
        .enumerate()
        .map(|(at, prompt)| (prompt.line, at))
        .collect();
    for (line, url) in pictures {
        if let Some(at) = prompts.get(&line) {
            dialog.prompts[*at].expansion.images.push(url.into());
        } else if let Ok(at) = dialog.cells.binary_search_by_key(&line, |cell| cell.line) {
            dialog.cells[at].images.push(url.into());
        }
    }
}

/// Stores the rich formats of an output in their order.
pub(super) fn write_bundles(
    change: &Connection,
    session: i64,
    line: u32,
    bundles: &[StoredBundle],
) -> rusqlite::Result<()> {
    for (position, bundle) in (0_i64..).zip(bundles) {
        change
            .prepare_cached(
                "INSERT OR REPLACE INTO ipycodex_outputs (session, line, position, bundle, picture)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                session,
                line,
                position,
                bundle.json,
                bundle.picture_bytes()
            ])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialog::{CellEntry, PromptEntry};
    use crate::output::mime::MimeBundle;

    fn found(line: u32, bytes: u64) -> PictureRef {
        PictureRef {
            line,
            position: 0,
            bytes,
            json: None,
        }
    }

    fn session(cells: u32) -> Dialog {
        let cell = |line| CellEntry {
            line,
            source: "x".into(),
            ..CellEntry::default()
        };
        Dialog {
            cells: (1..=cells).map(cell).collect(),
            ..Dialog::default()
        }
    }

    fn lines(kept: &[PictureRef]) -> Vec<u32> {
        kept.iter().map(|picture| picture.line).collect()
    }

    /// For any number of pictures, at least one step of the newest is kept, at most two; the bound stands still in
    /// between.
    #[test]
    fn a_bundle_keeps_its_metadata_and_an_old_row_has_none() {
        let metadata = serde_json::json!({"image/png": {"width": 400}});
        let forms = vec![("image/png".to_owned(), "iVBORw0KGgo=".into())];
        let metadata = metadata.as_object().cloned().unwrap_or_default();
        let bundle = MimeBundle::new(forms).with_metadata(metadata);
        let kept = StoredBundle::from_mime(&bundle);
        assert_eq!(StoredBundle::parse(&kept.json), Some(bundle));
        assert!(kept.has_picture);
        let old = r#"{"text/plain": "1"}"#;
        assert_eq!(StoredBundle::parse(old), Some(MimeBundle::plain("1")));
    }

    #[test]
    fn the_newest_are_kept_and_the_bound_moves_in_steps() {
        let mut begins = Vec::new();
        for count in 1..=100_u32 {
            let kept = select((1..=count).map(|n| found(n, 10)).collect(), &session(count));
            assert!(
                kept.len() >= STEP.min(count as usize) && kept.len() <= 2 * STEP,
                "{count}"
            );
            assert_eq!(lines(&kept).last(), Some(&count));
            begins.push(kept[0].line);
        }
        begins.dedup();
        assert_eq!(begins.len(), 100_usize.div_ceil(STEP) - 1, "{begins:?}");
    }

    #[test]
    fn bytes_are_bounded_too() {
        let big = STEP_BYTES / 2;
        for count in 1..=20_u32 {
            let kept = select(
                (1..=count).map(|n| found(n, big)).collect(),
                &session(count),
            );
            let bytes: u64 = kept.iter().map(|picture| picture.bytes).sum();
            assert!((1..=2 * STEP_BYTES).contains(&bytes), "{count}: {bytes}");
            assert_eq!(lines(&kept).last(), Some(&count));
        }
        let large = [found(1, LARGEST + 1), found(1, LARGEST)];
        let mut dialog = session(1);
        count_too_large(&large, &mut dialog);
        assert_eq!(dialog.cells[0].too_large, 1);
        assert_eq!(dialog.next_too_large(), [1]);
        let missing = "<missing>1 picture, too large to be sent</missing>";
        assert!(dialog.next_context().contains(missing));
        assert_eq!(select(large.into(), &dialog).len(), 1);
    }

    #[test]
    fn only_entries_of_the_conversation_count() {
        let mut dialog = session(6);
        dialog.reset_line = 1;
        dialog.cells[1].hidden = true;
        dialog.prompts = vec![PromptEntry {
            line: 7,
            ..PromptEntry::default()
        }];
        let all = (1..=8).map(|n| found(n, 10)).collect();
        assert_eq!(lines(&select(all, &dialog)), [3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_picture_is_sent_only_if_its_data_has_its_type() {
        let url = |mime: &str, bytes: &[u8]| {
            let text = BASE64_STANDARD.encode(bytes);
            data_url(&format!(
                r#"{{"text/plain": "<Figure>", "{mime}": "{text}\n"}}"#
            ))
        };
        let png = b"\x89PNG\r\n\x1a\n0000";
        assert_eq!(
            url("image/png", png),
            Some(format!(
                "data:image/png;base64,{}",
                BASE64_STANDARD.encode(png)
            ))
        );
        assert!(url("image/webp", b"RIFF0000WEBP").is_some());
        assert!(url("image/jpeg", b"\xff\xd8\xff000000000").is_some());
        assert!(url("image/gif", b"GIF89a000000").is_some());
        assert_eq!(url("image/png", b"\xff\xd8\xff000000000"), None);
        assert_eq!(url("image/png", b"short"), None);
        assert_eq!(url("image/svg+xml", b"<svg></svg>      "), None);
    }
}
