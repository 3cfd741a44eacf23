//! A question as text: for the record, and for the notice where no user can be asked.

use crate::agent::{Choosable, Subject};
use crate::session::question::{About, QuestionChoice, Reply};
use crate::text::cut;

/// The notice where nobody can be asked, on one line; `None` where the requester gives its own.
pub(super) fn unasked_note(about: &About) -> Option<String> {
    if matches!(about, About::Pictures(_)) {
        return None;
    }
    let (kind, subject) = describe(about);
    let verdict = match about {
        About::Agent(Subject::Form { .. }) => "a question of the agent was left open",
        _ => "the agent was not given permission",
    };
    let remedy = match about {
        About::Agent(
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

/// A question as the record has it: its kind, and what it was about.
pub(super) fn describe(about: &About) -> (&'static str, String) {
    match about {
        About::Agent(Subject::Command { command, cwd, .. }) => {
            ("command", format!("{command}\n(in {cwd})"))
        }
        About::Agent(Subject::Input { text, cwd, .. }) => ("input", format!("{text}\n(in {cwd})")),
        About::Agent(Subject::Edit { changes, .. }) => {
            let changes = changes.iter().map(|file| {
                let change = &file.change;
                format!("{} {}\n{}", change.word(), file.path, change.text())
            });
            ("edit", changes.collect::<Vec<_>>().join("\n"))
        }
        About::Agent(Subject::Permissions { wanted, cwd, .. }) => {
            ("permissions", format!("{}\n(in {cwd})", wanted.join("\n")))
        }
        About::Agent(Subject::Form {
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
        About::Agent(Subject::Link { server, url, .. }) => ("link", format!("{server}: {url}")),
        About::Cells(cells) => {
            let cells = cells.iter().map(|cell| {
                let reset = if cell.reset { "(reset)\n" } else { "" };
                format!("{reset}{}", cell.code)
            });
            ("cells", cells.collect::<Vec<_>>().join("\n# %%\n"))
        }
        About::Unprotected { code, .. } => ("snapshot", code.clone()),
        About::ProjectSkill { path, .. } => ("project skill", path.clone()),
        About::ProjectFiles { files, .. } => {
            let files = files.iter().map(|(path, text)| format!("{path}\n{text}"));
            ("project files", files.collect::<Vec<_>>().join("\n"))
        }
        About::StepBack { over, .. } => {
            let cells = over
                .iter()
                .map(|cell| format!("In [{}] {}", cell.line, cell.code));
            ("step back", cells.collect::<Vec<_>>().join("\n"))
        }
        About::Variables(kept) => {
            let names = kept.rows.iter().map(|row| row.name.as_str());
            ("variables", names.collect::<Vec<_>>().join(", "))
        }
        About::Pictures(lost) => ("pictures", lost.join("\n")),
        About::SkillCode { path, blocks, .. } => {
            ("skill code", format!("{path}\n{}", blocks.join("\n# %%\n")))
        }
    }
}

/// An answer as the record has it; `options` are those of the agent that asked.
pub(super) fn decision(reply: &Reply, options: &[Choosable]) -> String {
    match reply {
        Reply::Chosen(QuestionChoice::Once) => "once".to_owned(),
        Reply::Chosen(QuestionChoice::Try) => "dry run".to_owned(),
        Reply::Chosen(QuestionChoice::Session) => "session".to_owned(),
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
