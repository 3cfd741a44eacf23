//! A question in full: exactly what would happen, in rows for the scrollback.
//!
//! In: the subject of a question, a width. Out: rows; also the short texts around them (the line above the choices,
//! the line that stays). Invariant: the subject is complete and escaped, nothing in it is parsed as markup, no row
//! is wider than the screen.

use std::borrow::Cow;
use std::time::Duration;

use nu_ansi_term::{Color, Style};

use crate::agent::{FileChange, Subject};
use crate::display::diff;
use crate::display::rows::Rows;
use crate::markdown::Appearance;
use crate::runtime::SavedVariables;
use crate::session::{
    FileRewind, LastingSubject, ProposedCell, Question, QuestionChoice, QuestionSubject,
    Replacement, ReplacementPurpose, RewindDirection,
};
use crate::text::NOTICED;
use crate::text::escape::visible;
use crate::text::{Line, age_in_words, aligned, bytes_in_words, counted, cut};

pub(super) fn rows(question: &Question, width: usize, appearance: &Appearance) -> Vec<Line> {
    let (mut rows, about) = (Rows::new(width), &question.about);
    let who = question.caller.as_deref().unwrap_or("The agent");
    let head = format!("? {}", head(who, about));
    rows.text(0, &head, NOTICED.bold());
    match about {
        QuestionSubject::Agent(subject) => agent(subject, appearance, &mut rows),
        QuestionSubject::Cells(cells) => cells_rows(cells, appearance, &mut rows),
        QuestionSubject::Unprotected { code, why } => {
            label(&mut rows, "why", why);
            numbered(code, appearance, &mut rows);
        }
        QuestionSubject::ProjectSkill {
            skill,
            path,
            project,
        } => {
            label(&mut rows, "skill", skill);
            label(&mut rows, "file", path);
            label(&mut rows, "project", project);
        }
        QuestionSubject::ProjectFiles { folder, files } => {
            label(&mut rows, "folder", folder);
            for (path, text) in files {
                rows.text(2, path, Style::new().dimmed());
                numbered(text.trim_end(), appearance, &mut rows);
            }
            let note = "(you are asked again when anything in this folder changes)";
            rows.text(2, note, Style::new().dimmed());
        }
        QuestionSubject::StepBack { over, .. } => {
            for cell in over {
                let after = if cell.own { "" } else { "  (ran after them)" };
                let text = format!("In [{}] {}{after}", cell.line, cell.code);
                rows.text(4, &text, Style::new());
            }
        }
        QuestionSubject::Replacement(plan) => replacement(plan, &mut rows),
        QuestionSubject::Plan(steps) => {
            for (number, step) in steps.iter().enumerate() {
                rows.text(4, &format!("{}. {step}", number + 1), Style::new());
            }
        }
        QuestionSubject::Files(rewind) => files(rewind, &mut rows),
        QuestionSubject::NameConflict(conflict) => {
            label(&mut rows, "there", value(&conflict.theirs));
            label(&mut rows, "here", value(&conflict.ours));
        }
        QuestionSubject::Variables(kept) => variables(kept, &mut rows),
        QuestionSubject::Pictures(lost) => {
            lost.iter().for_each(|why| rows.text(4, why, Style::new()))
        }
        QuestionSubject::SkillCode {
            skill,
            path,
            blocks,
        } => {
            label(&mut rows, "skill", skill);
            label(&mut rows, "file", path);
            for (number, block) in blocks.iter().enumerate() {
                if blocks.len() > 1 {
                    let count = format!("block {} of {}", number + 1, blocks.len());
                    rows.text(2, &count, Style::new().dimmed());
                }
                numbered(block, appearance, &mut rows);
            }
        }
    }
    rows.into_rows()
}

fn head(who: &str, about: &QuestionSubject) -> String {
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
        QuestionSubject::NameConflict(conflict) => format!(
            "`{}` was changed by In [{}] and here",
            conflict.name, conflict.line
        ),
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

fn value(described: &str) -> &str {
    if described.is_empty() {
        "deleted"
    } else {
        described
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
        QuestionChoice::Merge => ('m', "yes, and merge"),
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
        QuestionSubject::Variables(kept) => counted(kept.rows.len(), "variable"),
        QuestionSubject::Pictures(lost) => lost.join("; "),
        QuestionSubject::SkillCode { skill, .. } => format!("code of the skill {skill}"),
    };
    visible(&text).into_owned()
}

const LISTED: usize = 20;
const NAME: usize = 30;

/// Entries that leave the conversation and are listed each; the rest is counted.
const LEAVING: usize = 12;

fn replacement(plan: &Replacement, rows: &mut Rows) {
    let shown = match plan.leaves.len() {
        count if count > LEAVING => LEAVING - 1,
        count => count,
    };
    for entry in &plan.leaves[..shown] {
        let name = match entry.is_exchange {
            true => format!("[{}] .", entry.line),
            false => format!("In [{}] ", entry.line),
        };
        rows.text(4, &format!("{name}{}", entry.text), Style::new());
    }
    if let (Some(last), more @ 1..) = (plan.leaves.last(), plan.leaves.len() - shown) {
        let more = format!("… and {more} more, up to In [{}]", last.line);
        rows.text(4, &more, Style::new().dimmed());
    }
    label(rows, "interpreter", &plan.interpreter_in_words());
    label(rows, "files", &plan.files_in_words());
    if let Some(rewind) = plan.files.as_ref() {
        files(rewind, rows);
    }
}

/// What becomes of files: those that are put back, those that can be merged, those that stay.
fn files(rewind: &FileRewind, rows: &mut Rows) {
    let list = |rows: &mut Rows, lines: Vec<String>, style: Style| {
        let shown = match lines.len() {
            count if count > LEAVING => LEAVING - 1,
            count => count,
        };
        for line in &lines[..shown] {
            rows.text(4, line, style);
        }
        if let more @ 1.. = lines.len() - shown {
            rows.text(4, &format!("… and {more} more"), Style::new().dimmed());
        }
    };
    list(rows, rewind.restores(), Style::new());
    let merges = rewind.merges().into_iter();
    let merges = merges.map(|path| format!("{path} was changed since, too: can be merged"));
    list(rows, merges.collect(), Style::new());
    let kept = rewind.kept().into_iter();
    let kept = kept.map(|(path, why)| format!("{path} stays as it is: {why}"));
    list(rows, kept.collect(), Style::new().dimmed());
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

/// Shown for a command that comes with a reason.
const OUTSIDE: &str = "this command may run outside of it";

fn agent(subject: &Subject, appearance: &Appearance, rows: &mut Rows) {
    match subject {
        Subject::Command {
            command,
            cwd,
            reason,
        } => {
            rows.text(4, command, Style::new().bold());
            label(rows, "in", cwd);
            because(rows, reason.as_deref());
            if reason.is_some() {
                label(rows, "sandbox", OUTSIDE);
            }
        }
        Subject::Input {
            text, cwd, reason, ..
        } => {
            rows.text(4, text, Style::new().bold());
            label(rows, "in", cwd);
            because(rows, reason.as_deref());
        }
        Subject::Edit { changes, reason } => {
            because(rows, reason.as_deref());
            changes
                .iter()
                .for_each(|change| edit(change, appearance, rows));
        }
        Subject::Permissions {
            requested: wanted,
            cwd,
            reason,
        } => {
            for one in wanted {
                rows.text(4, one, Style::new().bold());
            }
            label(rows, "in", cwd);
            because(rows, reason.as_deref());
        }
        Subject::Form { message, .. } => {
            if !message.trim().is_empty() {
                rows.text(2, message, Style::new());
            }
        }
        Subject::Link { message, url, .. } => {
            if !message.trim().is_empty() {
                rows.text(2, message, Style::new());
            }
            rows.text(4, url, Style::new().bold());
        }
    }
}

fn edit(change: &FileChange, appearance: &Appearance, rows: &mut Rows) {
    rows.text(2, &visible(&diff::head(change)), Style::new().bold());
    diff::body(change, usize::MAX, appearance, rows);
}

fn because(rows: &mut Rows, reason: Option<&str>) {
    if let Some(reason) = reason.filter(|reason| !reason.trim().is_empty()) {
        label(rows, "why", reason);
    }
}

fn label(rows: &mut Rows, name: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    rows.labelled(
        (&format!("  {name}: "), Style::new().dimmed()),
        text,
        Style::new(),
    );
}

fn cells_rows(cells: &[ProposedCell], appearance: &Appearance, rows: &mut Rows) {
    for (number, cell) in cells.iter().enumerate() {
        let title = cell.title.trim();
        if cells.len() > 1 || !title.is_empty() {
            let of = if cells.len() > 1 {
                format!("cell {} of {}", number + 1, cells.len())
            } else {
                String::new()
            };
            let colon = if of.is_empty() || title.is_empty() {
                ""
            } else {
                ": "
            };
            let text = format!("{of}{colon}{title}");
            rows.text(2, &text, Style::new().dimmed());
        }
        if cell.reset {
            let warning = "! starts a new interpreter first: all variables are lost";
            rows.text(2, warning, Color::Red.bold());
        }
        numbered(&cell.code, appearance, rows);
    }
}

fn variables(kept: &SavedVariables, rows: &mut Rows) {
    let (shown, rest) = kept.rows.split_at(kept.rows.len().min(LISTED));
    let short = |text: &str| cut(&visible(text), NAME).into_owned();
    let table: Vec<_> = shown
        .iter()
        .map(|it| {
            [
                short(&it.name),
                short(&it.type_name),
                bytes_in_words(it.bytes),
            ]
        })
        .collect();
    for line in aligned(&table) {
        rows.text(4, &line, Style::new());
    }
    if !rest.is_empty() {
        let bytes = bytes_in_words(rest.iter().map(|it| it.bytes).sum());
        rows.text(
            4,
            &format!("… and {} more ({bytes})", rest.len()),
            Style::new(),
        );
    }
    let note = "(reading them runs code of their types; names that are taken stay as they are)";
    rows.text(2, note, Style::new().dimmed());
}

fn numbered(code: &str, appearance: &Appearance, rows: &mut Rows) {
    let digits = code.lines().count().to_string().len();
    rows.code(code, appearance, |line| {
        (
            format!("{:>1$} ", line + 1, digits + 2),
            Style::new().dimmed(),
        )
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(about: &QuestionSubject, width: usize) -> String {
        let question = Question::usual(0, about.clone());
        let rows = rows(&question, width, &Appearance::default());
        assert!(rows.iter().all(|row| row.width() <= width), "{rows:?}");
        rows.iter().map(|row| row.plain() + "\n").collect()
    }

    #[test]
    fn what_is_asked_is_whole_and_spelled_out() {
        let check = |about: QuestionSubject, width: usize, expected: &str| {
            assert_eq!(shown(&about, width), expected);
        };
        let command = |command: &str| {
            QuestionSubject::Agent(Subject::Command {
                command: command.into(),
                cwd: "/w".into(),
                reason: Some("**bold** `why`".into()),
            })
        };
        check(
            command("rm \x1b]52;c;eA==\x07\u{202e}\r-rf"),
            60,
            "? The agent asks to run a command\n    rm ^[]52;c;eA==^G\\u{202e}^M-rf\n  in: /w\n  why: **bold** \
             `why`\n  sandbox: this command may run outside of it\n",
        );
        check(
            command("echo one two three"),
            20,
            "? The agent asks to \nrun a command\n    echo one two \n    three\n  in: /w\n  why: **bold** \n       \
             `why`\n  sandbox: this \ncommand may run \noutside of it\n",
        );
        check(
            QuestionSubject::Cells(vec![
                ProposedCell {
                    code: "a = 1\nb = 2".into(),
                    title: "set up".into(),
                    reset: true,
                },
                ProposedCell {
                    code: "a".into(),
                    title: String::new(),
                    reset: false,
                },
            ]),
            70,
            "? The agent asks to run 2 cells in your session\n  cell 1 of 2: set up\n  ! starts a new interpreter \
             first: all variables are lost\n  1 a = 1\n  2 b = 2\n  cell 2 of 2\n  1 a\n",
        );
        check(
            QuestionSubject::Agent(Subject::Edit {
                changes: vec![FileChange {
                    path: "x\x1b[1m".into(),
                    change: crate::agent::Change::Diff("@@ -1 +1 @@\n-a\n+b\n".into()),
                }],
                reason: None,
            }),
            40,
            "? The agent asks to change a file\n  update x^[[1m +1 -1\n  @@ -1 +1 @@\n  -a\n  +b\n",
        );
        check(
            QuestionSubject::SkillCode {
                skill: "plot".into(),
                path: "/s/SKILL.md".into(),
                blocks: vec!["import x".into(), "y".into()],
            },
            60,
            "? A skill asks to run code in your session\n  skill: plot\n  file: /s/SKILL.md\n  block 1 of 2\n  1 \
             import x\n  block 2 of 2\n  1 y\n",
        );
    }

    #[test]
    fn an_mcp_client_is_named() {
        let mut question = Question::usual(0, QuestionSubject::Cells(Vec::new()));
        question.caller = Some("edit\x1b[31mor".into());
        let rows = rows(&question, 80, &Appearance::default());
        assert_eq!(
            rows[0].plain(),
            "? edit^[[31mor asks to run 0 cells in your session"
        );
    }

    #[test]
    fn every_choice_has_a_key_of_its_own_and_fits_twenty_columns() {
        let abouts = [
            QuestionSubject::Agent(Subject::Command {
                command: String::new(),
                cwd: String::new(),
                reason: None,
            }),
            QuestionSubject::Agent(Subject::Input {
                program: String::new(),
                text: String::new(),
                cwd: String::new(),
                reason: None,
            }),
            QuestionSubject::Agent(Subject::Link {
                server: String::new(),
                message: String::new(),
                url: String::new(),
            }),
            QuestionSubject::Cells(Vec::new()),
            QuestionSubject::ProjectSkill {
                skill: String::new(),
                path: String::new(),
                project: String::new(),
            },
            QuestionSubject::ProjectFiles {
                folder: String::new(),
                files: Vec::new(),
            },
            QuestionSubject::SkillCode {
                skill: String::new(),
                path: String::new(),
                blocks: Vec::new(),
            },
        ];
        for about in abouts {
            let question = Question::usual(0, about);
            let choices = question.choices();
            let shown: Vec<_> = choices.iter().map(|one| choice(&question, *one)).collect();
            for (key, words) in &shown {
                assert!(words.len() <= 16, "{words}");
                assert_eq!(shown.iter().filter(|(other, _)| other == key).count(), 1);
            }
            assert!(choices.contains(&QuestionChoice::No));
        }
    }
}
