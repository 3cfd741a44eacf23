//! The user's variables, where the user wants them kept: written when the session ends, offered when it is resumed.
//!
//! In: what the interpreter answers. Out: what is asked and said of it. What goes wrong costs the variables, never the
//! session. Absent on purpose: what can be kept and how (the runtime's); when it is asked for (`ending`, `set_up`).

use std::path::PathBuf;

use tokio::sync::oneshot::Receiver;

use crate::history::History;
use crate::runtime::{KeptVariables, RuntimeAnswer};
use crate::session::commands::{Deed, tell};
use crate::session::events::Notice;
use crate::text::escape::visible;
use crate::text::{bytes_in_words, counted, cut};

/// Names of what was left out that are said, each with its reason.
const SAID: usize = 3;
/// Columns of such a name, of such a reason.
const SHORT: usize = 70;

/// What is said when they are in the file of this session; nothing where none are kept.
pub(super) async fn kept(told: Option<Receiver<RuntimeAnswer>>, session: i64) -> Vec<Deed> {
    let answer = match told {
        Some(told) => told.await.ok(),
        None => None,
    };
    let said = answer.and_then(|answer| said_of_end(&answer, session));
    said.into_iter().flat_map(tell).collect()
}

/// The session is left for another one when its variables are kept.
pub(super) async fn then(
    kept: impl Future<Output = Vec<Deed>>,
    change: impl Future<Output = Vec<Deed>>,
) -> Vec<Deed> {
    let mut deeds = kept.await;
    deeds.extend(change.await);
    deeds
}

/// They have been listed: the user is asked, or told what goes wrong and which names are missing.
pub(super) async fn listed(
    told: Receiver<RuntimeAnswer>,
    file: PathBuf,
    history: History,
) -> Vec<Deed> {
    let mut deeds = match told.await {
        Ok(RuntimeAnswer::Variables(kept)) if !kept.rows.is_empty() => {
            return vec![Deed::OfferVariables { kept, file }];
        }
        Ok(RuntimeAnswer::Failed(why)) => tell(Notice::warning(without_kind(&why))),
        _ => Vec::new(),
    };
    deeds.extend(missing(history).await);
    deeds
}

/// They are back: what is said of that, and which names are missing.
pub(super) async fn brought(told: Receiver<RuntimeAnswer>, history: History) -> Vec<Deed> {
    let mut deeds = match told.await {
        Ok(RuntimeAnswer::Variables(brought)) => tell(said_of_return(&brought)),
        Ok(RuntimeAnswer::Failed(why)) => tell(Notice::warning(without_kind(&why))),
        _ => Vec::new(),
    };
    deeds.extend(missing(history).await);
    deeds
}

/// Tells which names of the session's cells the interpreter lacks.
pub(super) async fn missing(history: History) -> Vec<Deed> {
    let (cells, beside) = (history.cells().await, false);
    vec![Deed::FindGone { cells, beside }]
}

/// What is said at the end: nothing where there was nothing to keep.
pub(super) fn said_of_end(answer: &RuntimeAnswer, session: i64) -> Option<Notice> {
    let kept = match answer {
        RuntimeAnswer::Variables(kept) => kept,
        RuntimeAnswer::Failed(why) => {
            let message = format!("variables were not kept: {}", without_kind(why));
            return Some(Notice::warning(message));
        }
        _ => return None,
    };
    if kept.rows.is_empty() && kept.left.is_empty() {
        return None;
    }
    let bytes = bytes_in_words(kept.rows.iter().map(|row| row.bytes).sum());
    let message = format!(
        "kept {} ({bytes}) for `ipycodex -r {session}`{}",
        counted(kept.rows.len(), "variable"),
        left_out(kept)
    );
    Some(Notice::note(message))
}

/// What is said when they are back.
fn said_of_return(brought: &KeptVariables) -> Notice {
    let names = brought.rows.iter().map(|row| visible(&row.name));
    let names = names.collect::<Vec<_>>().join(", ");
    let colon = if names.is_empty() { "" } else { ": " };
    Notice::note(format!(
        "brought back {}{colon}{}{}",
        counted(brought.rows.len(), "variable"),
        cut(&names, SHORT),
        left_out(brought)
    ))
}

fn left_out(kept: &KeptVariables) -> String {
    if kept.left.is_empty() {
        return String::new();
    }
    let said = kept.left.iter().take(SAID);
    let said = said.map(|(name, why)| {
        let why = visible(why);
        format!("{} ({})", cut(&visible(name), SHORT), cut(&why, SHORT))
    });
    let more = match kept.left.len().saturating_sub(SAID) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("; left out: {}{more}", said.collect::<Vec<_>>().join(", "))
}

/// A failure without the name of the exception that told it.
fn without_kind(why: &str) -> &str {
    why.strip_prefix("ValueError: ").unwrap_or(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::KeptVariable;

    fn kept(rows: usize, left: &[(&str, &str)]) -> KeptVariables {
        let row = |number: usize| KeptVariable {
            name: format!("v{number}"),
            type_name: "int".into(),
            bytes: 600,
        };
        let left = left
            .iter()
            .map(|(name, why)| ((*name).into(), (*why).into()));
        KeptVariables {
            age: 0,
            rows: (0..rows).map(row).collect(),
            left: left.collect(),
        }
    }

    #[test]
    fn what_was_kept_and_what_was_not_is_one_line() {
        let said = |kept: KeptVariables| {
            said_of_end(&RuntimeAnswer::Variables(kept), 7).map(|notice| notice.message)
        };
        assert_eq!(said(kept(0, &[])), None);
        assert_eq!(
            said(kept(2, &[("f", "an open file")])).unwrap(),
            "kept 2 variables (2 kB) for `ipycodex -r 7`; left out: f (an open file)"
        );
        let four = [("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")];
        assert_eq!(
            said_of_return(&kept(1, &four)).message,
            "brought back 1 variable: v0; left out: a (x), b (x), c (x) and 1 more"
        );
    }
}
