//! `load_skill`: a skill of the frozen list is read, and code it marks runs in the live namespace first.
//!
//! Invariants: nothing of a project's skill reaches the model before the user trusted the project; code runs only when
//! its very content was allowed, or the skill is the user's own or the program's; what runs is shown. A skill the
//! conversation holds is not sent twice.

use std::path::PathBuf;

use serde_json::Value;

use super::arguments::Arguments;
use super::shelf::ALREADY;
use super::{Begun, Code, Desk, ShownAs, Tool, ToolEvent, ToolStep, specs};
use crate::output::limits::{Rest, shorten_transcript};
use crate::runtime::{Death, Ending};
use crate::session::cell::Remains;
use crate::session::question::{About, QuestionChoice, Reply};
use crate::session::tool_return::ToolReturn;
use crate::skills::{Activation, LANGUAGE, Origin};

/// Code points of a block's output in the result.
const BLOCK_CHARACTERS: usize = 2_000;

/// Why code of a skill did not run.
const NOBODY: &str = "the user has to allow it and there is nobody here to ask";
const DECLINED: &str = "the user does not allow it";

/// A skill on its way.
enum Loading {
    /// The user is asked whether the project is trusted.
    AskingTrust { path: String, project: PathBuf },
    /// Its file is being read.
    Reading,
    /// The user is asked whether its code may run.
    AskingCode(Box<Activation>),
    /// Its code runs, one block after the other.
    Running {
        skill: Box<Activation>,
        ran: Vec<Remains>,
    },
    /// Nothing is left to do.
    Over,
}

pub(super) fn begin(arguments: &Value, desk: &mut Desk<'_>) -> Begun {
    let wanted = Arguments::of(arguments, "", &["path"])
        .and_then(|arguments| arguments.text("path", "a path from the list of skills"))
        .map_err(|why| format!("{}: {why}", specs::LOAD_SKILL));
    let skill = wanted
        .and_then(|wanted| desk.shelf.catalog().resolve(wanted))
        .map_err(|why| ToolReturn::failed(&why))?;
    if desk.shelf.holds(&skill.path) {
        let text = format!("{ALREADY}: it stands earlier in this conversation");
        return Err(ToolReturn::text(text));
    }
    Ok(match &skill.origin {
        // Where nobody can be asked its text is read, as any file would be; nothing of it runs.
        Origin::Project(project) if desk.somebody && !desk.shelf.trusts(project) => {
            let about = About::ProjectSkill {
                skill: skill.name.clone(),
                path: skill.path.clone(),
                project: project.to_string_lossy().into_owned(),
            };
            let loading = Loading::AskingTrust {
                path: skill.path.clone(),
                project: project.clone(),
            };
            (Box::new(loading), ToolStep::Ask(about))
        }
        _ => {
            let path = skill.path.clone();
            (Box::new(Loading::Reading), ToolStep::ReadSkill(path))
        }
    })
}

impl Tool for Loading {
    fn on(&mut self, event: ToolEvent, desk: &mut Desk<'_>) -> ToolStep {
        match (std::mem::replace(self, Loading::Over), event) {
            (Loading::AskingTrust { path, project }, ToolEvent::Replied(reply)) => {
                if !is_yes(&reply) {
                    let what = "not loaded: the user does not allow the skills of this project";
                    return ToolStep::Done(ToolReturn::denied(what, &reply));
                }
                let remembered = reply == Reply::Chosen(QuestionChoice::Remember);
                desk.shelf.trust(project, remembered);
                *self = Loading::Reading;
                ToolStep::ReadSkill(path)
            }
            (Loading::Reading, ToolEvent::SkillRead(Err(why))) => ToolStep::failed(&why),
            (Loading::Reading, ToolEvent::SkillRead(Ok(skill))) => self.is_read(skill, desk),
            (Loading::AskingCode(skill), ToolEvent::Replied(reply)) => {
                let yes = is_yes(&reply);
                if let Some(hash) = skill.hash.clone() {
                    desk.shelf.decide(hash, yes);
                }
                if yes {
                    return self.next_block(skill, Vec::new(), desk);
                }
                let why = format!("{DECLINED}{}", reply.reason());
                loaded(&skill, &not_run(&skill, &why), desk)
            }
            (Loading::Running { skill, mut ran }, ToolEvent::CodeEnded { remains, .. }) => {
                let ok = remains.ending == Ending::Ok;
                ran.push(*remains);
                if ok {
                    return self.next_block(skill, ran, desk);
                }
                loaded(&skill, &told(&skill, &ran), desk)
            }
            (loading, _) => {
                *self = loading;
                ToolStep::Wait
            }
        }
    }
}

impl Loading {
    fn is_read(&mut self, skill: Box<Activation>, desk: &mut Desk<'_>) -> ToolStep {
        if skill.blocks.is_empty() {
            return loaded(&skill, "", desk);
        }
        let language = &desk.able.language;
        if language != LANGUAGE {
            let why = format!("its code is {LANGUAGE}, and cells here are {language}");
            return loaded(&skill, &not_run(&skill, &why), desk);
        }
        match desk.shelf.may_run(&skill) {
            Some(true) => self.next_block(skill, Vec::new(), desk),
            Some(false) => loaded(&skill, &not_run(&skill, DECLINED), desk),
            None if !desk.somebody => loaded(&skill, &not_run(&skill, NOBODY), desk),
            None => {
                let about = About::SkillCode {
                    skill: skill.name.clone(),
                    path: skill.path.clone(),
                    blocks: skill.blocks.clone(),
                };
                *self = Loading::AskingCode(skill);
                ToolStep::Ask(about)
            }
        }
    }

    /// Runs the next block; the result when none is left.
    fn next_block(
        &mut self,
        skill: Box<Activation>,
        ran: Vec<Remains>,
        desk: &mut Desk<'_>,
    ) -> ToolStep {
        let Some(source) = skill.blocks.get(ran.len()).cloned() else {
            return loaded(&skill, &told(&skill, &ran), desk);
        };
        let name = skill.name.clone();
        *self = Loading::Running { skill, ran };
        ToolStep::Run(Code {
            source,
            directory: None,
            shown_as: ShownAs::Skill { name },
        })
    }
}

fn is_yes(reply: &Reply) -> bool {
    let Reply::Chosen(choice) = reply else {
        return false;
    };
    matches!(
        choice,
        QuestionChoice::Once | QuestionChoice::Session | QuestionChoice::Remember
    )
}

fn loaded(skill: &Activation, told: &str, desk: &mut Desk<'_>) -> ToolStep {
    desk.shelf.load(skill);
    let mut text = skill.reply();
    if !told.is_empty() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(told);
    }
    ToolStep::Done(ToolReturn::text(text))
}

/// What is said of code that did not run.
fn not_run(skill: &Activation, why: &str) -> String {
    let (blocks, verb) = match skill.blocks.len() {
        1 => ("The code block", "was"),
        _ => ("The code blocks", "were"),
    };
    format!("\n{blocks} marked `eval: true` {verb} not run: {why}.\n")
}

/// What is said of code that ran.
fn told(skill: &Activation, ran: &[Remains]) -> String {
    let all = skill.blocks.len();
    let mut text = String::new();
    for (n, remains) in ran.iter().enumerate() {
        let number = n + 1;
        let end = match &remains.ending {
            Ending::Ok => "ran".to_owned(),
            Ending::Error => match &remains.raised {
                Some(summary) => format!("failed: {summary}"),
                None => "failed".to_owned(),
            },
            Ending::Interrupted => "was interrupted".to_owned(),
            Ending::Lost(why) => format!("may still run: the connection was lost ({why})"),
            Ending::Died(Death::NotStarted(failure)) => format!("did not run: {}", failure.message),
            Ending::Died(death) => {
                format!("ended the interpreter ({death}), all variables are lost")
            }
        };
        text.push_str(&format!(
            "\nCode block {number} of {all} (`eval: true`) {end}."
        ));
        let shown = shorten_transcript(&remains.shown, BLOCK_CHARACTERS, Rest::Gone);
        if !shown.trim().is_empty() {
            text.push_str(&format!(" Output:\n{}", shown.trim_end_matches('\n')));
        }
    }
    if ran.len() < all {
        text.push_str("\nThe blocks after it were not run.");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
