//! `load_skill`: reads a skill of the catalog, and first runs the code that the skill marks in the live namespace.
//!
//! Invariants: with a user to ask, nothing of a project's skill reaches the model before the user trusts the project;
//! code runs only when its exact content was allowed, or when the skill is the user's own or built in; the user sees
//! what runs. A skill that the conversation holds is not sent twice.

use std::path::PathBuf;

use serde_json::Value;

use super::arguments::Arguments;
use super::skill_registry::ALREADY;
use super::tool::is_yes;
use super::{BeginResult, CodeDisplay, Tool, ToolCode, ToolContext, ToolEffect, ToolEvent, specs};
use crate::cell::CellResult;
use crate::output::limits::{Rest, shorten_transcript};
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::runtime::{Death, Ending};
use crate::skills::{Activation, LANGUAGE, SkillOrigin};
use crate::tool_return::ToolReturn;

/// Longest output of a block in the result, in code points.
const BLOCK_CHARACTERS: usize = 2_000;

const NOBODY: &str = "the user has to allow it and there is nobody here to ask";
const PLANS: &str = "plan mode is on";
const DECLINED: &str = "the user does not allow it";

enum SkillLoad {
    AskingTrust {
        path: String,
        project: PathBuf,
    },
    Reading,
    AskingCode(Box<Activation>),
    Running {
        skill: Box<Activation>,
        ran: Vec<CellResult>,
    },
    Over,
}

pub(super) fn begin(arguments: &Value, context: &mut ToolContext<'_>) -> BeginResult {
    let path = Arguments::parse(arguments, "", &["path"])
        .and_then(|arguments| arguments.text("path", "a path from the list of skills"))
        .map_err(|why| format!("{}: {why}", specs::LOAD_SKILL));
    let skill = path
        .and_then(|path| context.skills.catalog().resolve(path))
        .map_err(|why| ToolReturn::failed(&why))?;
    if context.skills.is_loaded(&skill.path) {
        let text = format!("{ALREADY}: it stands earlier in this conversation");
        return Err(ToolReturn::text(text));
    }
    Ok(match &skill.origin {
        // Without a user to ask, the skill is read like any file; its code does not run.
        SkillOrigin::Project(project)
            if context.policy.can_ask && !context.skills.trusts(project) =>
        {
            let about = QuestionSubject::ProjectSkill {
                skill: skill.name.clone(),
                path: skill.path.clone(),
                project: project.to_string_lossy().into_owned(),
            };
            let state = SkillLoad::AskingTrust {
                path: skill.path.clone(),
                project: project.clone(),
            };
            (Box::new(state), ToolEffect::Ask(about))
        }
        _ => {
            let path = skill.path.clone();
            (Box::new(SkillLoad::Reading), ToolEffect::ReadSkill(path))
        }
    })
}

impl Tool for SkillLoad {
    fn on(&mut self, event: ToolEvent, context: &mut ToolContext<'_>) -> ToolEffect {
        match (std::mem::replace(self, SkillLoad::Over), event) {
            (SkillLoad::AskingTrust { path, project }, ToolEvent::UserReplied(reply)) => {
                if !is_yes(&reply) {
                    let what = "not loaded: the user does not allow the skills of this project";
                    return ToolEffect::Done(ToolReturn::denied(what, &reply));
                }
                let remembered = reply == Reply::Chosen(QuestionChoice::Remember);
                context.skills.trust(project, remembered);
                *self = SkillLoad::Reading;
                ToolEffect::ReadSkill(path)
            }
            (SkillLoad::Reading, ToolEvent::SkillRead(Err(why))) => ToolEffect::failed(&why),
            (SkillLoad::Reading, ToolEvent::SkillRead(Ok(skill))) => self.on_read(skill, context),
            (SkillLoad::AskingCode(skill), ToolEvent::UserReplied(reply)) => {
                let yes = is_yes(&reply);
                if let Some(hash) = skill.hash.clone() {
                    context.skills.record_code_decision(hash, yes);
                }
                if yes {
                    return self.next_block(skill, Vec::new(), context);
                }
                let why = format!("{DECLINED}{}", reply.reason());
                finish(&skill, &not_run_note(&skill, &why), context)
            }
            (SkillLoad::Running { skill, mut ran }, ToolEvent::CodeEnded { remains, .. }) => {
                let ok = remains.ending == Ending::Ok;
                ran.push(*remains);
                if ok {
                    return self.next_block(skill, ran, context);
                }
                finish(&skill, &run_report(&skill, &ran), context)
            }
            (state, _) => {
                *self = state;
                ToolEffect::Wait
            }
        }
    }
}

impl SkillLoad {
    fn on_read(&mut self, skill: Box<Activation>, context: &mut ToolContext<'_>) -> ToolEffect {
        if skill.blocks.is_empty() {
            return finish(&skill, "", context);
        }
        let language = &context.runtime.language;
        if language != LANGUAGE {
            let why = format!("its code is {LANGUAGE}, and cells here are {language}");
            return finish(&skill, &not_run_note(&skill, &why), context);
        }
        if context.plans {
            return finish(&skill, &not_run_note(&skill, PLANS), context);
        }
        match context.skills.may_run(&skill) {
            Some(true) => self.next_block(skill, Vec::new(), context),
            Some(false) => finish(&skill, &not_run_note(&skill, DECLINED), context),
            None if !context.policy.can_ask => {
                finish(&skill, &not_run_note(&skill, NOBODY), context)
            }
            None => {
                let about = QuestionSubject::SkillCode {
                    skill: skill.name.clone(),
                    path: skill.path.clone(),
                    blocks: skill.blocks.clone(),
                };
                *self = SkillLoad::AskingCode(skill);
                ToolEffect::Ask(about)
            }
        }
    }

    /// Runs the next block, or returns the result when none is left.
    fn next_block(
        &mut self,
        skill: Box<Activation>,
        ran: Vec<CellResult>,
        context: &mut ToolContext<'_>,
    ) -> ToolEffect {
        let Some(source) = skill.blocks.get(ran.len()).cloned() else {
            return finish(&skill, &run_report(&skill, &ran), context);
        };
        let name = skill.name.clone();
        *self = SkillLoad::Running { skill, ran };
        ToolEffect::Run(ToolCode {
            source,
            directory: None,
            display: CodeDisplay::Skill { name },
        })
    }
}

fn finish(skill: &Activation, run_report: &str, context: &mut ToolContext<'_>) -> ToolEffect {
    context.skills.mark_loaded(skill);
    let mut text = skill.reply();
    if !run_report.is_empty() {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(run_report);
    }
    ToolEffect::Done(ToolReturn::text(text))
}

fn not_run_note(skill: &Activation, why: &str) -> String {
    let (blocks, verb) = match skill.blocks.len() {
        1 => ("The code block", "was"),
        _ => ("The code blocks", "were"),
    };
    format!("\n{blocks} marked `eval: true` {verb} not run: {why}.\n")
}

fn run_report(skill: &Activation, ran: &[CellResult]) -> String {
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
