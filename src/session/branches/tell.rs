//! The end of what works beside the prompt: what the user is told, and what follows.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;

use super::BranchWork;
use super::ask::drop_branch;
use crate::effect::emit;
use crate::events::Notice;
use crate::step::Step;
use crate::text::age_in_words;

/// What follows the end of a cell in the background, or of a turn.
pub(super) enum AfterEnd {
    /// Its state is at the prompt.
    AtPrompt,
    /// Its names can be brought over.
    Merge,
    /// The reason why nobody knows which names it has changed.
    NotCompared(String),
    /// Its names are gone.
    Died,
}

/// Says that a cell or a turn has ended, and what follows; those who wait go on. A branch that holds nothing for the
/// prompt ends.
pub(super) fn tell_end(step: &mut Step<'_>, number: u32, after: AfterEnd) {
    let Some(job) = step.state.branches.get(number) else {
        return;
    };
    let (line, offer) = (job.line, job.offer_in_words());
    let holds = match after {
        AfterEnd::AtPrompt | AfterEnd::Died => false,
        AfterEnd::Merge => offer.is_some(),
        AfterEnd::NotCompared(_) => true,
    };
    let offer = offer.unwrap_or_else(|| "no names changed".to_owned());
    let (what, them) = match job.work {
        BranchWork::Cell { .. } => ("output", "them"),
        BranchWork::Aside(_) | BranchWork::Answer(_) => ("answer", "it"),
    };
    let Some(end) = &mut job.end else {
        return;
    };
    end.is_compared = false;
    let died = matches!(after, AfterEnd::Died);
    let mut text = format!("In [{line}] {} after {}", end.what, age_in_words(end.took));
    text.push_str(&match after {
        AfterEnd::AtPrompt => format!(": {offer}; its state is at the prompt"),
        AfterEnd::Merge if !holds => format!(": {offer}"),
        AfterEnd::Merge => format!(": {offer}; `%ipycodex merge {line}` brings {them} here"),
        AfterEnd::NotCompared(why) => format!(" (its names were not compared: {why})"),
        AfterEnd::Died => String::new(),
    });
    if end.has_output {
        text.push_str(&format!("; its {what}: `%ipycodex show {line}`"));
    }
    let notice = match died {
        true => Notice::warning(text),
        false => Notice::note(text),
    };
    let waiting = job.waiting.take();
    let waits = waiting.filter(|job| step.state.scheduler.is_current(*job));
    match waits {
        None => step.send_to_background(notice),
        Some(job) => step.finish_wait(job, emit(notice)),
    }
    if !holds {
        drop_branch(step, number);
    }
}

/// Returns a place that nobody else can have taken.
pub(super) fn folder(number: u32) -> PathBuf {
    let random = RandomState::new().build_hasher().finish();
    std::env::temp_dir().join(format!("ipycodex-branch-{number}-{random:016x}"))
}
