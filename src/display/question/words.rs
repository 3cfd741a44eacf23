//! The short texts around a question: its first line, what is asked, the choices with their keys, the line that stays.
//!
//! Invariant: what is foreign in them is escaped, but in the first line, whose rows escape it.

use std::borrow::Cow;
use std::time::Duration;

use crate::agent::Subject;
use crate::session::{
    LastingSubject, Question, QuestionChoice, QuestionSubject, Replacement, ReplacementPurpose,
    RewindDirection,
};
use crate::text::escape::visible;
use crate::text::{age_in_words, counted};

/// Returns the first line of a question that `who` asks.
pub(super) fn head(who: &str, about: &QuestionSubject) -> String {
    let server = |server: &str, rest: &str| format!("The MCP server {server} {rest}");
    let asks = |what: &str| format!("{who} asks {what}");
    match about {
        QuestionSubject::Agent(Subject::Command { .. }) => asks("to run a command"),
        QuestionSubject::Agent(Subject::Input { .. }) => asks("to type into a running program"),
        QuestionSubject::Agent(Subject::Edit { changes, .. }) => match changes.len() {
            1 => asks("to change a file"),
            count => asks(&format!("to change {count} files")),
        },
        QuestionSubject::Agent(Subject::Permissions { .. }) => asks("for more permissions"),
        QuestionSubject::Agent(Subject::Form { server: name, .. }) if name.is_empty() => {
            asks("you")
        }
        QuestionSubject::Agent(Subject::Form { server: name, .. }) => server(name, "asks you"),
        QuestionSubject::Agent(Subject::Link { server: name, .. }) => {
            server(name, "asks you to open a page")
        }
        QuestionSubject::Cells(cells) => match cells.len() {
            1 => asks("to run a cell in your session"),
            count => asks(&format!("to run {count} cells in your session")),
        },
        QuestionSubject::Unprotected { .. } => asks("to run code without write protection"),
        QuestionSubject::ProjectSkill { .. } => {
            asks("to read a skill that comes with this project")
        }
        QuestionSubject::ProjectFiles { files, .. } => match files.len() {
            1 => "This project has a start-up file that runs in your session".into(),
            count => format!("This project has {count} start-up files that run in your session"),
        },
        QuestionSubject::StepBack { exchange, over } => {
            match over.iter().filter(|cell| cell.own).count() {
                1 => format!("The exchange [{exchange}] has run a cell in your session"),
                count => format!("The exchange [{exchange}] has run {count} cells in your session"),
            }
        }
        QuestionSubject::Replacement(plan) => match plan.purpose {
            ReplacementPurpose::Replace => leaving_in_words(plan),
            ReplacementPurpose::Fork => format!(
                "A new session begins before In [{}]; this one stays whole",
                plan.line
            ),
        },
        QuestionSubject::Plan(steps) => {
            format!("The agent has a plan of {}", counted(steps.len(), "step"))
        }
        QuestionSubject::Files(rewind) => match rewind.direction {
            RewindDirection::Back => "Files were changed since then".to_owned(),
            RewindDirection::Forward => "The step back put files back".to_owned(),
        },
        QuestionSubject::NameConflict(conflict) if conflict.is_file => format!(
            "In [{}] has written {}, and another one is here",
            conflict.line,
            visible(&conflict.name)
        ),
        QuestionSubject::NameConflict(conflict) => format!(
            "`{}` was changed by In [{}] and here",
            conflict.name, conflict.line
        ),
        QuestionSubject::Offer(offer) => format!("In [{}] has left this", offer.line),
        QuestionSubject::Variables(kept) => format!(
            "The variables of this session were kept {} ago",
            age_in_words(Duration::from_secs(kept.age))
        ),
        QuestionSubject::Pictures(_) => {
            "The prompt goes without its picture, which cannot be sent".into()
        }
        QuestionSubject::SkillCode { .. } => "A skill asks to run code in your session".into(),
    }
}

pub(super) fn ask(about: &QuestionSubject) -> &'static str {
    match about {
        QuestionSubject::Agent(Subject::Command { .. }) => "Run this command?",
        QuestionSubject::Agent(Subject::Input { .. }) => "Type this?",
        QuestionSubject::Agent(Subject::Edit { .. }) => "Make these changes?",
        QuestionSubject::Agent(Subject::Permissions { .. }) => "Allow this?",
        QuestionSubject::Agent(Subject::Form { .. }) => "",
        QuestionSubject::Agent(Subject::Link { .. }) => "Open this page?",
        QuestionSubject::Cells(cells) if cells.iter().any(|cell| cell.reset) => {
            "Lose all variables and run this?"
        }
        QuestionSubject::Cells(_) => "Run this in your session?",
        QuestionSubject::Unprotected { .. } => "Run this without protection?",
        QuestionSubject::ProjectSkill { .. } => "Let the agent read the skills of this project?",
        QuestionSubject::ProjectFiles { .. } => "Run this code at the start?",
        QuestionSubject::StepBack { .. } => "Step the interpreter back to before this, too?",
        QuestionSubject::Replacement(plan) => match plan.purpose {
            ReplacementPurpose::Replace => "Send the prompt in their place?",
            ReplacementPurpose::Fork => "Fork the session there?",
        },
        QuestionSubject::Plan(_) => "Carry it out?",
        QuestionSubject::Files(rewind) => match rewind.direction {
            RewindDirection::Back => "Put the files back, too?",
            RewindDirection::Forward => "Undo that, too?",
        },
        QuestionSubject::NameConflict(_) => "Which one?",
        QuestionSubject::Offer(_) => "Bring it here?",
        QuestionSubject::Variables(_) => "Bring them back?",
        QuestionSubject::Pictures(_) => "Send it all the same?",
        QuestionSubject::SkillCode { .. } => "Run this code?",
    }
}

pub(super) fn choice(question: &Question, choice: QuestionChoice) -> (char, Cow<'static, str>) {
    let about = &question.about;
    let (key, words) = match choice {
        QuestionChoice::Once if matches!(about, QuestionSubject::Agent(Subject::Link { .. })) => {
            ('y', "yes, I open it")
        }
        // A yes applies to all skills of the project.
        QuestionChoice::Once if matches!(about, QuestionSubject::ProjectSkill { .. }) => {
            ('y', "yes, all session")
        }
        QuestionChoice::Once if matches!(about, QuestionSubject::StepBack { .. }) => {
            ('y', "yes, step back")
        }
        QuestionChoice::Once if matches!(about, QuestionSubject::Replacement(_)) => match about {
            QuestionSubject::Replacement(plan) if plan.steps_to().is_some() => {
                ('y', "yes, and step back")
            }
            QuestionSubject::Replacement(plan) if plan.moves_more() => {
                ('y', "yes, and put files back")
            }
            _ => ('y', "yes"),
        },
        QuestionChoice::Once if matches!(about, QuestionSubject::Files(_)) => {
            ('y', "yes, put back")
        }
        QuestionChoice::Once if matches!(about, QuestionSubject::Plan(_)) => {
            ('y', "yes, act on it")
        }
        QuestionChoice::Edit => ('e', "edit it first"),
        QuestionChoice::No if matches!(about, QuestionSubject::Plan(_)) => {
            ('n', "no, keep planning")
        }
        QuestionChoice::Merge if matches!(about, QuestionSubject::Offer(_)) => ('m', "merge"),
        QuestionChoice::Merge => ('m', "yes, and merge"),
        QuestionChoice::Cells => ('c', "only the cells"),
        QuestionChoice::Details => ('d', "details first"),
        QuestionChoice::Drop => ('x', "drop it"),
        QuestionChoice::No if matches!(about, QuestionSubject::Offer(_)) => ('n', "not now"),
        QuestionChoice::Diff => ('d', "show the diff first"),
        QuestionChoice::Theirs => ('t', "theirs"),
        QuestionChoice::Mine => ('m', "mine"),
        QuestionChoice::Both => match about {
            QuestionSubject::NameConflict(conflict) => {
                return ('b', format!("both, theirs as `{}`", conflict.both).into());
            }
            _ => ('b', "both"),
        },
        QuestionChoice::No if matches!(about, QuestionSubject::NameConflict(_)) => {
            ('n', "no, bring nothing over")
        }
        QuestionChoice::Once if matches!(about, QuestionSubject::Variables(_)) => {
            ('y', "yes, bring back")
        }
        QuestionChoice::Once if matches!(about, QuestionSubject::Pictures(_)) => {
            ('y', "yes, send it")
        }
        QuestionChoice::Once => ('y', "yes, this once"),
        QuestionChoice::Session
            if matches!(about, QuestionSubject::Agent(Subject::Input { .. })) =>
        {
            ('s', "yes, all of it")
        }
        QuestionChoice::Session => ('s', "yes, all session"),
        QuestionChoice::Always => return ('a', always(question).into()),
        QuestionChoice::Try => ('d', "dry run first"),
        QuestionChoice::Conversation => match about {
            QuestionSubject::Replacement(plan) if plan.purpose == ReplacementPurpose::Fork => {
                ('c', "yes, nothing else moves")
            }
            _ => ('c', "only the conversation"),
        },
        QuestionChoice::Remember if question.choices().contains(&QuestionChoice::Once) => {
            ('a', "yes, always")
        }
        QuestionChoice::Remember => ('y', "yes, always"),
        QuestionChoice::No
            if matches!(
                about,
                QuestionSubject::StepBack { .. }
                    | QuestionSubject::Replacement(_)
                    | QuestionSubject::Files(_)
            ) =>
        {
            ('n', "no, leave it")
        }
        QuestionChoice::No => ('n', "no"),
        QuestionChoice::NoBecause => ('w', "no, say why"),
        QuestionChoice::Stop => ('x', "no, and stop"),
        QuestionChoice::Named(number) => {
            let digit = u32::try_from(number + 1).ok();
            let key = digit.and_then(|digit| char::from_digit(digit, 10));
            return (key.unwrap_or(' '), option(question, number).into());
        }
    };
    (key, words.into())
}

/// What a yes covers that lasts.
fn always(question: &Question) -> String {
    let Some(lasting) = &question.lasting else {
        return "yes, always".to_owned();
    };
    let directory = visible(&lasting.directory);
    match &lasting.what {
        LastingSubject::Command(_) => format!("yes, always this in {directory}"),
        LastingSubject::Files(pattern) => {
            format!("yes, always {} in {directory}", visible(pattern))
        }
    }
}

fn option(question: &Question, number: usize) -> String {
    match question.options.get(number) {
        Some(option) if !option.name.is_empty() => visible(&option.name).into_owned(),
        _ => "no, never".to_owned(),
    }
}

/// Returns the answer as the line that stays shows it.
pub(super) fn verdict(question: &Question, choice: QuestionChoice) -> Cow<'static, str> {
    let about = &question.about;
    let words = match choice {
        QuestionChoice::Once if matches!(about, QuestionSubject::ProjectSkill { .. }) => {
            "✓ allowed for this session"
        }
        QuestionChoice::Once if matches!(about, QuestionSubject::StepBack { .. }) => {
            "✓ stepping back"
        }
        QuestionChoice::Once if matches!(about, QuestionSubject::Replacement(_)) => match about {
            QuestionSubject::Replacement(plan) if plan.steps_to().is_some() => "✓ stepping back",
            _ => "✓ yes",
        },
        QuestionChoice::Once if matches!(about, QuestionSubject::Files(_)) => "✓ putting them back",
        QuestionChoice::Once if matches!(about, QuestionSubject::Plan(_)) => "✓ carrying it out",
        QuestionChoice::Edit => "… to be edited",
        QuestionChoice::No if matches!(about, QuestionSubject::Plan(_)) => "✗ still planning",
        QuestionChoice::Merge if matches!(about, QuestionSubject::Offer(_)) => "✓ merging",
        QuestionChoice::Cells => "✓ only the cells",
        QuestionChoice::Details => "… the details",
        QuestionChoice::Drop => "✗ dropped",
        QuestionChoice::No if matches!(about, QuestionSubject::Offer(_)) => "✗ not now",
        QuestionChoice::Merge => "✓ putting them back, and merging",
        QuestionChoice::Diff => "… the diff",
        QuestionChoice::Theirs => "✓ theirs",
        QuestionChoice::Mine => "✓ mine",
        QuestionChoice::Both => "✓ both",
        QuestionChoice::No if matches!(about, QuestionSubject::NameConflict(_)) => {
            "✗ nothing is brought over"
        }
        QuestionChoice::Once if matches!(about, QuestionSubject::Variables(_)) => {
            "✓ bringing them back"
        }
        QuestionChoice::Once => "✓ allowed once",
        QuestionChoice::Session
            if matches!(about, QuestionSubject::Agent(Subject::Input { .. })) =>
        {
            "✓ allowed, whatever it types there"
        }
        QuestionChoice::Session => "✓ allowed for this session",
        QuestionChoice::Try => "… tried in a copy",
        QuestionChoice::Conversation => "✓ only the conversation",
        QuestionChoice::Remember => "✓ always allowed",
        QuestionChoice::Always => "✓ always allowed here",
        QuestionChoice::No
            if matches!(
                about,
                QuestionSubject::StepBack { .. }
                    | QuestionSubject::Replacement(_)
                    | QuestionSubject::Files(_)
            ) =>
        {
            "✗ left as it is"
        }
        QuestionChoice::No if matches!(about, QuestionSubject::Variables(_)) => "✗ not now",
        QuestionChoice::No | QuestionChoice::NoBecause => "✗ not allowed",
        QuestionChoice::Stop => "✗ not allowed, stopped",
        QuestionChoice::Named(number) => {
            let chosen = question.options.get(number);
            let allows = chosen.is_some_and(|option| option.kind.allows());
            let mark = if allows { '✓' } else { '✗' };
            return format!("{mark} {}", option(question, number)).into();
        }
    };
    words.into()
}

/// Returns a short description of the subject, on one line.
pub(super) fn brief(about: &QuestionSubject) -> String {
    let joined = |parts: Vec<&str>| parts.join(", ");
    let text = match about {
        QuestionSubject::Agent(Subject::Command { command, .. }) => command.clone(),
        QuestionSubject::Agent(Subject::Input { text, .. }) => text.clone(),
        QuestionSubject::Agent(Subject::Edit { changes, .. }) => {
            joined(changes.iter().map(|change| change.path.as_str()).collect())
        }
        QuestionSubject::Agent(Subject::Permissions {
            requested: wanted, ..
        }) => wanted.join(", "),
        QuestionSubject::Agent(Subject::Form { message, .. }) => message.clone(),
        QuestionSubject::Agent(Subject::Link { url, .. }) => url.clone(),
        QuestionSubject::Cells(cells) => {
            joined(cells.iter().map(|cell| cell.code.trim()).collect())
        }
        QuestionSubject::Unprotected { code, .. } => code.trim().to_owned(),
        QuestionSubject::ProjectSkill { project, .. } => format!("skills of {project}"),
        QuestionSubject::ProjectFiles { folder, .. } => format!("start-up files in {folder}"),
        QuestionSubject::StepBack { over, .. } => match over.first() {
            Some(first) => format!("the interpreter, before In [{}]", first.line),
            None => "the interpreter".to_owned(),
        },
        QuestionSubject::Replacement(plan) => match plan.purpose {
            ReplacementPurpose::Replace => format!("In [{}] and after", plan.line),
            ReplacementPurpose::Fork => format!("a session before In [{}]", plan.line),
        },
        QuestionSubject::Plan(steps) => format!("a plan of {}", counted(steps.len(), "step")),
        QuestionSubject::Files(rewind) => {
            let count = rewind.plan.restores.len() + rewind.plan.merges.len();
            counted(count, "file")
        }
        QuestionSubject::NameConflict(conflict) => conflict.name.clone(),
        QuestionSubject::Offer(offer) => format!("what In [{}] has left", offer.line),
        QuestionSubject::Variables(kept) => counted(kept.rows.len(), "variable"),
        QuestionSubject::Pictures(lost) => lost.join("; "),
        QuestionSubject::SkillCode { skill, .. } => format!("code of the skill {skill}"),
    };
    visible(&text).into_owned()
}

/// What leaves the conversation, counted.
fn leaving_in_words(plan: &Replacement) -> String {
    let exchanges = plan.leaves.iter().filter(|entry| entry.is_exchange).count();
    let parts = [
        (exchanges, "exchange"),
        (plan.leaves.len() - exchanges, "cell"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what)| counted(count, what)).collect();
    let verb = if plan.leaves.len() == 1 {
        "leaves"
    } else {
        "leave"
    };
    format!("{} {verb} the conversation", parts.join(" and "))
}
