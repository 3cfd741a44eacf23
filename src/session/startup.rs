//! Before the first input: the user's start-up files, those of the project, and variables kept by an earlier session.
//!
//! A project's files are approved once per content, by hash. Where no user can be asked they do not run, with a notice.

use std::path::PathBuf;

use crate::approvals::ApprovalRequester;
use crate::cell::{CellOrigin, CellRun};
use crate::deps::StartupFiles;
use crate::effect::{Effect, Event, Found};
use crate::events::Notice;
use crate::jobs;
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::run::RunSender;
use crate::runtime::{RuntimeRequest, SavedVariables, StartupFile, StartupPlan, VariablesRequest};
use crate::scheduler::CellJob;
use crate::skills::ProjectFiles;
use crate::step::Step;
use crate::variables;

pub(super) fn begin(step: &mut Step<'_>, out: &RunSender) {
    if !step.ctx.user().able().startup {
        let told = unsupported_notice(std::mem::take(&mut step.state.startup));
        told.into_iter().for_each(|notice| step.send(out, notice));
        return;
    }
    if step.state.startup.project.is_none() {
        return run(step, None, out);
    }
    // Earlier answers are read together with the skills.
    let found = step.state.skill_registry.ready();
    step.wait(out, async move {
        found.await;
        vec![Effect::found(Found::StartupAnswers)]
    });
}

/// Runs the start-up files, the project's as the user has answered; asks where there is no answer yet.
pub(super) fn begin_with_answers(step: &mut Step<'_>, out: &RunSender) {
    let Some(project) = &mut step.state.startup.project else {
        return;
    };
    let left_out: Vec<_> = project.left_out.drain(..).map(Notice::note).collect();
    let decided = project
        .hash
        .as_ref()
        .and_then(|hash| step.state.skill_registry.code_decision(hash));
    let folder = project.folder.display().to_string();
    let files: Vec<_> = project
        .files
        .iter()
        .map(|(path, text)| (path.display().to_string(), text.clone()))
        .collect();
    for notice in left_out {
        step.send(out, notice);
    }
    match decided {
        _ if files.is_empty() => run(step, None, out),
        Some(true) => {
            let project = step.state.startup.project.take();
            run(step, project.as_ref(), out);
        }
        Some(false) => run(step, None, out),
        None if !step.ctx.deps.asks => {
            step.send(out, not_run(&folder));
            run(step, None, out);
        }
        None => {
            step.hold_for_question(out);
            let about = QuestionSubject::ProjectFiles { folder, files };
            step.ask_user(about, ApprovalRequester::Startup);
        }
    }
}

pub(super) fn on_project_answer(step: &mut Step<'_>, reply: &Reply) {
    let Some(project) = step.state.startup.project.take() else {
        return;
    };
    let Some(out) = step.release_question() else {
        return;
    };
    let yes = matches!(
        reply,
        Reply::Chosen(QuestionChoice::Once | QuestionChoice::Remember)
    );
    let passing = [Reply::Chosen(QuestionChoice::Once), Reply::Declined];
    if *reply == Reply::Declined {
        // No user could answer: the next session asks again.
        step.send(&out, not_run(&project.folder.display().to_string()));
    }
    if let (Some(hash), false) = (&project.hash, passing.contains(reply)) {
        let registry = &mut step.state.skill_registry;
        registry.record_code_decision(hash.clone(), yes);
        registry.save_decisions(&out);
    }
    run(step, Some(&project).filter(|_| yes), &out);
    step.raise(Event::Advance);
}

/// Continues after the user stopped the question; the user's own files run all the same.
pub(super) fn begin_without_project(step: &mut Step<'_>, out: &RunSender) {
    step.send(
        out,
        Notice::note(
            "start-up files of this project were not run: you stopped the question; you will be asked again next time",
        ),
    );
    run(step, None, out);
}

/// Returns the notice about files that the runtime does not run.
fn unsupported_notice(files: StartupFiles) -> Option<Notice> {
    let own = files.own.files.into_iter().map(|file| file.path);
    let project = files.project.map(|project| project.folder);
    let named: Vec<_> = own
        .chain(project)
        .map(|path| path.display().to_string())
        .collect();
    if named.is_empty() {
        return None;
    }
    let notice = Notice::note(format!(
        "start-up files are not run in a kernel of Jupyter: {}",
        named.join(", ")
    ));
    Some(notice.hint("run what you need of them in a cell: `%run FILE` in a kernel of Python"))
}

fn run(step: &mut Step<'_>, project: Option<&ProjectFiles>, out: &RunSender) {
    let wanted = with_project(step.state.startup.own.clone(), project);
    if wanted.is_empty() {
        return;
    }
    let request = RuntimeRequest::Startup(Box::new(wanted));
    let run = CellRun::new(CellOrigin::Startup, out.clone());
    jobs::start_cell(step, CellJob::new(run, None), request, out);
}

/// Offers the variables kept of the resumed session, then reports missing names. Restores nothing without the user's
/// yes, so nothing where no user can be asked.
pub(super) fn restore_variables(step: &mut Step<'_>, out: &RunSender) {
    let wanted = step.state.choices.keep_variables && step.ctx.user().able().saved_variables;
    let file = wanted.then(|| step.ctx.outputs.kept_variables()).flatten();
    let record = step.ctx.record.clone();
    let Some(file) = file else {
        return step.wait(out, variables::find_missing(record));
    };
    if !step.ctx.deps.asks {
        let message =
            "variables of this session were kept, and not brought back: nobody can be asked here";
        step.send(
            out,
            Notice::note(message).hint("run `ipycodex -r` in a terminal: it will ask you"),
        );
        return step.wait(out, variables::find_missing(record));
    }
    let told = step.ask_runtime(RuntimeRequest::Variables {
        wish: VariablesRequest::List,
        file: file.clone(),
    });
    step.wait(out, variables::offer_listed(told, file, record));
}

pub(super) fn offer_variables(
    step: &mut Step<'_>,
    kept: SavedVariables,
    file: PathBuf,
    out: &RunSender,
) {
    step.hold_for_question(out);
    step.ask_user(
        QuestionSubject::Variables(kept),
        ApprovalRequester::RestoreVariables(file),
    );
}

pub(super) fn on_restore_answer(step: &mut Step<'_>, file: PathBuf, reply: &Reply) {
    let Some(out) = step.release_question() else {
        return;
    };
    let record = step.ctx.record.clone();
    if *reply == Reply::Chosen(QuestionChoice::Once) {
        let wish = VariablesRequest::Restore;
        let told = step.ask_runtime(RuntimeRequest::Variables { wish, file });
        step.wait(&out, variables::report_restored(told, record));
    } else {
        step.wait(&out, variables::find_missing(record));
    }
}

fn not_run(folder: &str) -> Notice {
    let notice = Notice::note(format!(
        "start-up files of this project were not run: nobody can be asked here ({folder})"
    ));
    notice.hint("start `ipycodex` once in a terminal here: it will ask you")
}

/// Merges both plans; a project's module replaces the user's of the same name.
fn with_project(mut wanted: StartupPlan, project: Option<&ProjectFiles>) -> StartupPlan {
    let Some(project) = project else {
        return wanted;
    };
    let modules: Vec<_> = project
        .files
        .iter()
        .filter(|(path, _)| path.parent() != Some(&project.folder))
        .filter_map(|(path, _)| path.file_name())
        .collect();
    wanted.files.retain(|file| {
        let is_module = file
            .path
            .parent()
            .is_some_and(|folder| folder.ends_with("modules"));
        let name = file.path.file_name();
        !(is_module && name.is_some_and(|name| modules.contains(&name)))
    });
    let files = project.files.iter().map(|(path, text)| StartupFile {
        path: path.clone(),
        text: Some(text.clone()),
    });
    wanted.files.extend(files);
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_of_the_project_takes_the_place_of_the_users() {
        let file = |path: &str, text: Option<&str>| StartupFile {
            path: path.into(),
            text: text.map(str::to_owned),
        };
        let own = ["/c/startup.py", "/c/modules/a.py", "/c/modules/b.py"];
        let own = StartupPlan {
            files: own.iter().map(|path| file(path, None)).collect(),
            ..StartupPlan::default()
        };
        let project = ProjectFiles {
            folder: "/p/.ipycodex".into(),
            files: vec![
                ("/p/.ipycodex/startup.py".into(), "s".into()),
                ("/p/.ipycodex/modules/a.py".into(), "a".into()),
            ],
            ..ProjectFiles::default()
        };
        assert_eq!(with_project(own.clone(), None), own);
        assert_eq!(
            with_project(own, Some(&project)).files,
            [
                file("/c/startup.py", None),
                file("/c/modules/b.py", None),
                file("/p/.ipycodex/startup.py", Some("s")),
                file("/p/.ipycodex/modules/a.py", Some("a")),
            ]
        );
    }
}
