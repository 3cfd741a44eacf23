//! A question in full: exactly what would happen, in rows for the scrollback.
//!
//! In: the subject of a question, a width. Out: rows. Invariant: the subject is complete and escaped, nothing in it is
//! parsed as markup, no row is wider than the screen. Absent on purpose: the short texts around them (`words.rs`).

use nu_ansi_term::{Color, Style};

use crate::agent::{FileChange, Subject};
use crate::display::diff;
use crate::display::question::words;
use crate::display::rows::Rows;
use crate::markdown::Appearance;
use crate::runtime::SavedVariables;
use crate::session::{FileRewind, ProposedCell, Question, QuestionSubject, Replacement};
use crate::text::NOTICED;
use crate::text::escape::visible;
use crate::text::{Line, aligned, bytes_in_words, cut};

pub(super) fn rows(question: &Question, width: usize, appearance: &Appearance) -> Vec<Line> {
    let (mut rows, about) = (Rows::new(width), &question.about);
    let who = question.caller.as_deref().unwrap_or("The agent");
    let head = format!("? {}", words::head(who, about));
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
        QuestionSubject::Offer(offer) => {
            label(&mut rows, "prompt", &offer.prompt);
            if !offer.cells.is_empty() {
                label(&mut rows, "cells", &offer.cells.len().to_string());
            }
            for line in aligned(&offer.changes()) {
                rows.text(4, &line, Style::new());
            }
            let note =
                "(a merge runs code of the values' types, as a cell of the agent's here would)";
            rows.text(2, note, Style::new().dimmed());
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

fn value(described: &str) -> &str {
    if described.is_empty() {
        "deleted"
    } else {
        described
    }
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
    use crate::session::QuestionChoice;

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
            let shown: Vec<_> = choices
                .iter()
                .map(|one| words::choice(&question, *one))
                .collect();
            for (key, words) in &shown {
                assert!(words.len() <= 16, "{words}");
                assert_eq!(shown.iter().filter(|(other, _)| other == key).count(), 1);
            }
            assert!(choices.contains(&QuestionChoice::No));
        }
    }
}
