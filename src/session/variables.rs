//! The user's variables, kept when the session ends and offered when it is resumed, if the user has enabled that.
//!
//! In: answers of the interpreter. Out: requests and notices. A failure costs the variables, never the session.
//! Absent on purpose: what can be kept and how (the runtime); when (`shutdown`, `startup`).

use std::path::PathBuf;

use tokio::sync::oneshot::Receiver;

use crate::config::Choices;
use crate::effect::{Effect, Found, emit};
use crate::events::Notice;
use crate::outputs::Outputs;
use crate::record::RecordHandle;
use crate::runtime::{RuntimeReply, RuntimeRequest, SavedVariables, VariablesRequest};
use crate::runtimes::RuntimePeer;
use crate::step::Step;
use crate::text::escape::visible;
use crate::text::{bytes_in_words, counted, cut};

/// The most left-out names that are listed, each with its reason.
const SAID: usize = 3;
/// Columns of such a name, of such a reason.
const SHORT: usize = 70;

/// Returns the file to keep the variables in, if they are to be kept.
pub(super) fn file_to_keep_in(
    choices: &Choices,
    user: &RuntimePeer,
    outputs: &Outputs,
) -> Option<PathBuf> {
    let wanted = choices.keep_variables && user.able().saved_variables && user.is_up();
    wanted.then(|| outputs.file_of_variables()).flatten()
}

/// Keeps the variables before a change to another session; returns the notices for when it is done.
pub(super) fn keep(step: &mut Step<'_>) -> impl Future<Output = Vec<Effect>> + use<> {
    let file = file_to_keep_in(&step.state.choices, step.ctx.user(), step.ctx.outputs);
    let told = file.map(|file| {
        let wish = VariablesRequest::Save;
        step.ask_runtime(RuntimeRequest::Variables { wish, file })
    });
    let session = step.state.numbering.session();
    async move {
        let answer = match told {
            Some(told) => told.await.ok(),
            None => None,
        };
        let said = answer.and_then(|answer| kept_notice(&answer, session));
        said.into_iter().flat_map(emit).collect()
    }
}

/// Waits for the variables to be kept before the session is left for another one.
pub(super) async fn join(
    kept: impl Future<Output = Vec<Effect>>,
    change: impl Future<Output = Vec<Effect>>,
) -> Vec<Effect> {
    let mut effects = kept.await;
    effects.extend(change.await);
    effects
}

/// Offers the listed variables; else reports the failure and which names are missing.
pub(super) async fn offer_listed(
    told: Receiver<RuntimeReply>,
    file: PathBuf,
    record: RecordHandle,
) -> Vec<Effect> {
    let mut effects = match told.await {
        Ok(RuntimeReply::Variables(kept)) if !kept.rows.is_empty() => {
            return vec![Effect::found(Found::Variables { kept, file })];
        }
        Ok(RuntimeReply::Failed(why)) => emit(Notice::warning(without_kind(&why))),
        _ => Vec::new(),
    };
    effects.extend(find_missing(record).await);
    effects
}

/// Reports the restored variables, and which names are missing.
pub(super) async fn report_restored(
    told: Receiver<RuntimeReply>,
    record: RecordHandle,
) -> Vec<Effect> {
    let mut effects = match told.await {
        Ok(RuntimeReply::Variables(brought)) => emit(restored_notice(&brought)),
        Ok(RuntimeReply::Failed(why)) => emit(Notice::warning(without_kind(&why))),
        _ => Vec::new(),
    };
    effects.extend(find_missing(record).await);
    effects
}

/// Reports which names of the session's cells the interpreter lacks.
pub(super) async fn find_missing(record: RecordHandle) -> Vec<Effect> {
    let (cells, beside) = (record.cells().await, false);
    vec![Effect::found(Found::RecordedCells { cells, beside })]
}

/// Returns the notice at the end; `None` where there was nothing to keep.
pub(super) fn kept_notice(answer: &RuntimeReply, session: i64) -> Option<Notice> {
    let kept = match answer {
        RuntimeReply::Variables(kept) => kept,
        RuntimeReply::Failed(why) => {
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

fn restored_notice(brought: &SavedVariables) -> Notice {
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

fn left_out(kept: &SavedVariables) -> String {
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

/// Returns the failure without the name of its exception.
fn without_kind(why: &str) -> &str {
    why.strip_prefix("ValueError: ").unwrap_or(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SavedVariable;

    fn kept_variables(rows: usize, left: &[(&str, &str)]) -> SavedVariables {
        let row = |number: usize| SavedVariable {
            name: format!("v{number}"),
            type_name: "int".into(),
            bytes: 600,
        };
        let left = left
            .iter()
            .map(|(name, why)| ((*name).into(), (*why).into()));
        SavedVariables {
            age: 0,
            rows: (0..rows).map(row).collect(),
            left: left.collect(),
        }
    }

    #[test]
    fn what_was_kept_and_what_was_not_is_one_line() {
        let said = |kept: SavedVariables| {
            kept_notice(&RuntimeReply::Variables(kept), 7).map(|notice| notice.message)
        };
        assert_eq!(said(kept_variables(0, &[])), None);
        assert_eq!(
            said(kept_variables(2, &[("f", "an open file")])).unwrap(),
            "kept 2 variables (2 kB) for `ipycodex -r 7`; left out: f (an open file)"
        );
        let four = [("a", "x"), ("b", "x"), ("c", "x"), ("d", "x")];
        assert_eq!(
            restored_notice(&kept_variables(1, &four)).message,
            "brought back 1 variable: v0; left out: a (x), b (x), c (x) and 1 more"
        );
    }
}
