//! The user's variables, where the user wants them kept: written when the session ends, offered when it is resumed.
//!
//! In: the end of a session, a session taken up, the user's answer. Out: requests to the interpreter, one question, what
//! is said of it. Invariants: nothing is read back unasked, and nothing where nobody can be asked; what goes wrong costs
//! the variables, never the session. Absent on purpose: what can be kept and how (the runtime's).

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::runtime::{
    KeptVariables, RequestId, RuntimeAnswer, RuntimeEvent, RuntimeRequest, VariablesWish,
};
use crate::session::asking::Asker;
use crate::session::commands::{Deed, tell};
use crate::session::events::{CellEvent, Notice};
use crate::session::floor::Holder;
use crate::session::question::{About, QuestionChoice, Reply};
use crate::session::run::RunSender;
use crate::session::slots::Waiter;
use crate::session::task::Session;
use crate::text::escape::visible;
use crate::text::{bytes_in_words, cut};

/// How long the end of a session waits for them; an interpreter that is busy keeps none.
const KEEPING: Duration = Duration::from_secs(1);
/// Names of what was left out that are said, each with its reason.
const SAID: usize = 3;
/// Columns of such a name, of such a reason.
const SHORT: usize = 70;

/// Variables on their way to the file, or none.
pub(super) struct Keeping {
    session: i64,
    told: Option<oneshot::Receiver<RuntimeAnswer>>,
}

impl Keeping {
    /// What is said of them, once they are there.
    pub(super) async fn said(self) -> Vec<Deed> {
        match self.told {
            Some(told) => match told.await {
                Ok(answer) => said_of_end(answer, self.session)
                    .into_iter()
                    .flat_map(tell)
                    .collect(),
                Err(_) => Vec::new(),
            },
            None => Vec::new(),
        }
    }
}

impl Session {
    /// Keeps them, as the session is about to be left for another one.
    pub(super) fn keep_variables(&mut self) -> Keeping {
        let session = self.numbering.session();
        let told = self.file_to_keep_in().map(|file| {
            let (answer, told) = oneshot::channel();
            let wish = VariablesWish::Keep;
            self.ask_runtime(
                RuntimeRequest::Variables { wish, file },
                Waiter::Asker(answer),
            );
            told
        });
        Keeping { session, told }
    }

    /// Keeps them, as everything ends.
    pub(super) async fn keep_variables_at_end(&mut self) {
        let Some(file) = self.file_to_keep_in() else {
            return;
        };
        let wish = VariablesWish::Keep;
        let request = RuntimeRequest::Variables { wish, file };
        let id = self.runtimes.user.get().submit(request);
        let answered = tokio::time::timeout(KEEPING, self.until_answered(id)).await;
        let said = match answered {
            Ok(Some(answer)) => said_of_end(answer, self.numbering.session()),
            Ok(None) => None,
            Err(_) => Some(Notice::warning(
                "variables were not kept: the interpreter was busy until the end",
            )),
        };
        said.into_iter()
            .for_each(|notice| self.background.send(notice));
    }

    /// The answer of the user's interpreter to this request, while nothing else is listened to; `None`: it died.
    pub(super) async fn until_answered(&mut self, wanted: RequestId) -> Option<RuntimeAnswer> {
        loop {
            match self.runtimes.user.next().await {
                RuntimeEvent::Answered { id, answer } if id == wanted => return Some(answer),
                RuntimeEvent::Died { .. } => return None,
                RuntimeEvent::Output {
                    stream,
                    bytes,
                    foreign,
                    ..
                } => self.background.send(CellEvent::Output {
                    stream,
                    bytes,
                    foreign,
                }),
                _ => {}
            }
        }
    }

    fn file_to_keep_in(&self) -> Option<PathBuf> {
        let user = &self.runtimes.user;
        let wanted = self.choices.keep_variables && user.able().keeps_variables && user.is_up();
        wanted.then(|| self.outputs.file_of_variables()).flatten()
    }

    /// Offers those of the session that was taken up; then tells which names are missing.
    pub(super) fn bring_back(&mut self, out: &RunSender) {
        let wanted = self.choices.keep_variables && self.runtimes.user.able().keeps_variables;
        let file = wanted.then(|| self.outputs.kept_variables()).flatten();
        let Some(file) = file else {
            return self.then_tell_gone(out);
        };
        if !self.setup.asks {
            let message = "variables of this session were kept, and not brought back: nobody can be asked here";
            out.send(Notice::note(message).hint("`ipycodex -r` in a terminal asks"));
            return self.then_tell_gone(out);
        }
        let (answer, told) = oneshot::channel();
        let request = RuntimeRequest::Variables {
            wish: VariablesWish::List,
            file: file.clone(),
        };
        self.ask_runtime(request, Waiter::Asker(answer));
        let history = self.history.clone();
        self.later(out, async move {
            let mut deeds = match told.await {
                Ok(RuntimeAnswer::Variables(kept)) if !kept.rows.is_empty() => {
                    return vec![Deed::OfferVariables { kept, file }];
                }
                Ok(RuntimeAnswer::Failed(why)) => tell(Notice::warning(without_kind(&why))),
                _ => Vec::new(),
            };
            let (cells, beside) = (history.cells().await, false);
            deeds.push(Deed::FindGone { cells, beside });
            deeds
        });
    }

    /// Asks the user.
    pub(super) fn offer_variables(&mut self, kept: KeptVariables, file: PathBuf, out: &RunSender) {
        self.floor
            .give(Holder::Command { firm: false }, out.clone());
        self.ask_user(About::Variables(kept), Asker::BringsBack(file));
    }

    /// The user has answered.
    pub(super) fn bring_answered(&mut self, file: PathBuf, reply: &Reply) {
        let Some(out) = self.floor.out().cloned() else {
            return;
        };
        self.floor.take_back();
        if *reply != Reply::Chosen(QuestionChoice::Once) {
            self.then_tell_gone(&out);
            return self.advance();
        }
        let (answer, told) = oneshot::channel();
        let wish = VariablesWish::Bring;
        self.ask_runtime(
            RuntimeRequest::Variables { wish, file },
            Waiter::Asker(answer),
        );
        let history = self.history.clone();
        self.later(&out, async move {
            let mut deeds = match told.await {
                Ok(RuntimeAnswer::Variables(brought)) => tell(said_of_return(&brought)),
                Ok(RuntimeAnswer::Failed(why)) => tell(Notice::warning(without_kind(&why))),
                _ => Vec::new(),
            };
            let (cells, beside) = (history.cells().await, false);
            deeds.push(Deed::FindGone { cells, beside });
            deeds
        });
        self.advance();
    }

    fn then_tell_gone(&mut self, out: &RunSender) {
        let history = self.history.clone();
        self.later(out, async move {
            let (cells, beside) = (history.cells().await, false);
            vec![Deed::FindGone { cells, beside }]
        });
    }
}

/// What is said at the end: nothing where there was nothing to keep.
fn said_of_end(answer: RuntimeAnswer, session: i64) -> Option<Notice> {
    let kept = match answer {
        RuntimeAnswer::Variables(kept) => kept,
        RuntimeAnswer::Failed(why) => {
            let message = format!("variables were not kept: {}", without_kind(&why));
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
        count(kept.rows.len()),
        left_out(&kept)
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
        count(brought.rows.len()),
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

fn count(variables: usize) -> String {
    match variables {
        1 => "1 variable".to_owned(),
        count => format!("{count} variables"),
    }
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
            said_of_end(RuntimeAnswer::Variables(kept), 7).map(|notice| notice.message)
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
