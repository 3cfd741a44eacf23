//! A question as text: for the record, and for the notice where no user can be asked.

use crate::agent::{QuestionOption, Subject};
use crate::question::{NameConflict, QuestionChoice, QuestionSubject, Reply};
use crate::text::cut;

/// Returns the notice, one line, for when nobody can be asked; `None` where the requester gives its own.
pub(super) fn unasked_note(about: &QuestionSubject) -> Option<String> {
    if matches!(
        about,
        QuestionSubject::Pictures(_) | QuestionSubject::Replacement(_)
    ) {
        return None;
    }
    let (kind, subject) = describe(about);
    let verdict = match about {
        QuestionSubject::Agent(Subject::Form { .. }) => "a question of the agent was left open",
        _ => "the agent was not given permission",
    };
    let remedy = match about {
        QuestionSubject::Agent(
            Subject::Command { .. }
            | Subject::Input { .. }
            | Subject::Edit { .. }
            | Subject::Permissions { .. },
        ) => "; with `approvals` set to `never` the sandbox decides",
        _ => "",
    };
    let subject = subject.replace('\n', " ");
    let subject = cut(&subject, 200);
    let line = format!("{verdict} ({kind}), because nobody can be asked here: {subject}{remedy}");
    Some(line)
}

/// Returns the notice, one line, for what plan mode refuses.
pub(super) fn refused_note(about: &QuestionSubject) -> String {
    let (kind, subject) = describe(about);
    let subject = subject.replace('\n', " ");
    format!("not allowed in plan mode ({kind}): {}", cut(&subject, 200))
}

/// Returns the question in the record's form: its kind and its subject.
pub(super) fn describe(about: &QuestionSubject) -> (&'static str, String) {
    match about {
        QuestionSubject::Agent(Subject::Command { command, cwd, .. }) => {
            ("command", format!("{command}\n(in {cwd})"))
        }
        QuestionSubject::Agent(Subject::Input { text, cwd, .. }) => {
            ("input", format!("{text}\n(in {cwd})"))
        }
        QuestionSubject::Agent(Subject::Edit { changes, .. }) => {
            let changes = changes.iter().map(|file| {
                let change = &file.change;
                format!("{} {}\n{}", change.as_str(), file.path, change.text())
            });
            ("edit", changes.collect::<Vec<_>>().join("\n"))
        }
        QuestionSubject::Agent(Subject::Permissions {
            requested: wanted,
            cwd,
            ..
        }) => ("permissions", format!("{}\n(in {cwd})", wanted.join("\n"))),
        QuestionSubject::Agent(Subject::Form {
            server,
            message,
            fields,
        }) => {
            let questions = fields.iter().map(|field| field.question.as_str());
            let parts = [server.as_str(), message.as_str()].into_iter();
            let parts: Vec<&str> = parts
                .chain(questions)
                .filter(|part| !part.is_empty())
                .collect();
            ("form", parts.join("\n"))
        }
        QuestionSubject::Agent(Subject::Link { server, url, .. }) => {
            ("link", format!("{server}: {url}"))
        }
        QuestionSubject::Cells(cells) => {
            let cells = cells.iter().map(|cell| {
                let reset = if cell.reset { "(reset)\n" } else { "" };
                format!("{reset}{}", cell.code)
            });
            ("cells", cells.collect::<Vec<_>>().join("\n# %%\n"))
        }
        QuestionSubject::Unprotected { code, .. } => ("snapshot", code.clone()),
        QuestionSubject::ProjectSkill { path, .. } => ("project skill", path.clone()),
        QuestionSubject::ProjectFiles { files, .. } => {
            let files = files.iter().map(|(path, text)| format!("{path}\n{text}"));
            ("project files", files.collect::<Vec<_>>().join("\n"))
        }
        QuestionSubject::StepBack { over, .. } => {
            let cells = over
                .iter()
                .map(|cell| format!("In [{}] {}", cell.line, cell.code));
            ("step back", cells.collect::<Vec<_>>().join("\n"))
        }
        QuestionSubject::Replacement(plan) => {
            let leaves = plan.leaves.iter();
            let mut lines: Vec<String> = leaves
                .map(|entry| format!("[{}] {}", entry.line, entry.text))
                .collect();
            lines.push(format!("interpreter: {}", plan.interpreter_in_words()));
            lines.push(format!("files: {}", plan.files_in_words()));
            ("replacement", lines.join("\n"))
        }
        QuestionSubject::Plan(steps) => ("plan", steps.join("\n")),
        QuestionSubject::Files(rewind) => {
            let merges = rewind
                .merges()
                .into_iter()
                .map(|path| format!("merge {path}"));
            let lines: Vec<String> = rewind.restores().into_iter().chain(merges).collect();
            ("files", lines.join("\n"))
        }
        QuestionSubject::NameConflict(conflict) => {
            let NameConflict {
                name, theirs, ours, ..
            } = conflict;
            ("merge", format!("{name}: {theirs} there, {ours} here"))
        }
        QuestionSubject::Offer(offer) => ("offer", offer.details()),
        QuestionSubject::Variables(kept) => {
            let names = kept.rows.iter().map(|row| row.name.as_str());
            ("variables", names.collect::<Vec<_>>().join(", "))
        }
        QuestionSubject::Pictures(lost) => ("pictures", lost.join("\n")),
        QuestionSubject::SkillCode { path, blocks, .. } => {
            ("skill code", format!("{path}\n{}", blocks.join("\n# %%\n")))
        }
    }
}

/// Returns the answer in the record's form; `options` are those of the agent that asked.
pub(super) fn decision(reply: &Reply, options: &[QuestionOption]) -> String {
    match reply {
        Reply::Chosen(QuestionChoice::Once) => "once".to_owned(),
        Reply::Chosen(QuestionChoice::Try) => "dry run".to_owned(),
        Reply::Chosen(QuestionChoice::Merge) => "merge".to_owned(),
        Reply::Chosen(QuestionChoice::Edit) => "edit".to_owned(),
        Reply::Chosen(QuestionChoice::Diff) => "differences".to_owned(),
        Reply::Chosen(QuestionChoice::Theirs) => "theirs".to_owned(),
        Reply::Chosen(QuestionChoice::Mine) => "mine".to_owned(),
        Reply::Chosen(QuestionChoice::Both) => "both".to_owned(),
        Reply::Chosen(QuestionChoice::Cells) => "cells".to_owned(),
        Reply::Chosen(QuestionChoice::Details) => "details".to_owned(),
        Reply::Chosen(QuestionChoice::Drop) => "drop".to_owned(),
        Reply::Chosen(QuestionChoice::Conversation) => "conversation".to_owned(),
        Reply::Chosen(QuestionChoice::Session) => "session".to_owned(),
        Reply::Chosen(QuestionChoice::Always) => "always in this directory".to_owned(),
        Reply::Chosen(QuestionChoice::Remember) => "remember".to_owned(),
        Reply::Chosen(QuestionChoice::No | QuestionChoice::NoBecause) => "no".to_owned(),
        Reply::Chosen(QuestionChoice::Stop) => "stop".to_owned(),
        Reply::Chosen(QuestionChoice::Named(number)) => match options.get(*number) {
            Some(option) => format!("{} ({})", option.id, option.name),
            None => "no".to_owned(),
        },
        Reply::NoBecause(why) => format!("no: {why}"),
        Reply::Filled(_) => "answered".to_owned(),
        Reply::Declined => "declined".to_owned(),
    }
}
