//! Tokens of turns: their stored form, and the turns of a session with their tokens.
//!
//! In: counts as the agent reported them. Out: [`TurnRow`]s, failed and deleted turns included: their tokens were
//! spent.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::request::RecordWrite;
use super::values::{TurnKey, TurnRow};
use crate::agent::{Cost, Usage};

/// The stored form.
pub(super) fn json(usage: &Usage) -> String {
    json!({
        "cached": usage.cached,
        "cost": usage.cost.map(|cost| (cost.millionths, String::from_utf8_lossy(&cost.currency).into_owned())),
        "filled": usage.filled,
        "input": usage.input,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "window": usage.window,
    })
    .to_string()
}

/// Reads the stored form; a missing or malformed count is 0.
fn read(text: &str) -> Option<Usage> {
    let value: Value = serde_json::from_str(text).ok()?;
    let count = |name: &str| value[name].as_u64().unwrap_or(0);
    Some(Usage {
        input: count("input"),
        cached: count("cached"),
        output: count("output"),
        reasoning: count("reasoning"),
        window: value["window"].as_u64(),
        filled: value["filled"].as_u64(),
        cost: cost(&value["cost"]),
    })
}

fn cost(value: &Value) -> Option<Cost> {
    let currency = value[1].as_str()?;
    Some(Cost {
        millionths: value[0].as_u64()?,
        currency: currency.as_bytes().try_into().ok()?,
    })
}

/// The turns in the file, oldest first.
pub(super) fn turns(db: &Connection, session: i64) -> rusqlite::Result<Vec<TurnRow>> {
    let mut rows =
        db.prepare_cached("SELECT line, usage FROM ipycodex_turns WHERE session = ?1 ORDER BY id")?;
    rows.query_map([session], |row| {
        Ok(TurnRow {
            line: row.get(0)?,
            usage: row.get::<_, Option<String>>(1)?.as_deref().and_then(read),
        })
    })?
    .collect()
}

/// Adds the turns of pending writes.
pub(super) fn overlay(turns: &mut Vec<TurnRow>, waiting: &mut dyn Iterator<Item = &RecordWrite>) {
    let mut begun: Vec<(TurnKey, usize)> = Vec::new();
    for write in waiting {
        match write {
            RecordWrite::BeginTurn { key, start } => {
                begun.push((*key, turns.len()));
                turns.push(TurnRow {
                    line: start.line,
                    usage: None,
                });
            }
            RecordWrite::FinishTurn { key, usage, .. } => {
                if let Some((_, at)) = begun.iter().find(|(known, _)| known == key) {
                    turns[*at].usage = *usage;
                }
            }
            _ => {}
        }
    }
}
