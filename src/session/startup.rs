//! Before the first input: the user's start-up files, those of the project, and variables kept by an earlier session.
//!
//! A project's files are approved once per content, by hash. Where no user can be asked they do not run, with a notice.

use std::path::PathBuf;

use crate::approvals::ApprovalRequester;
use crate::cell::{CellOrigin, CellRun};
use crate::deps::StartupFiles;
use crate::effect::{Effect, Event, Found};
use crate::event_loop::Session;
use crate::events::Notice;
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::run::RunSender;
use crate::runtime::{RuntimeRequest, SavedVariables, StartupFile, StartupPlan, VariablesRequest};
use crate::scheduler::{ActiveJob, CellJob};
use crate::skills::ProjectFiles;
use crate::variables;

impl Session {
    pub(super) fn begin_set_up(&mut self, out: RunSender) {
        if !self.io.runtimes.user.able().startup {
            let told = self.unsupported_notice();
            told.into_iter().for_each(|notice| out.send(notice));
            return;
        }
        if self.state.startup.project.is_none() {
            return self.set_up(None, out);
        }
        // Earlier answers are read together with the skills.
        let found = self.state.skill_registry.ready();
        self.await_effects(&out, async move {
            found.await;
            vec![Effect::found(Found::StartupAnswers)]
        });
    }

    pub(super) fn set_up_with_project(&mut self, out: RunSender) {
        let Some(project) = &mut self.state.startup.project else {
            return;
        };
        for line in project.left_out.drain(..) {
            out.send(Notice::note(line));
        }
        let decided = project
            .hash
            .as_ref()
            .and_then(|hash| self.state.skill_registry.code_decision(hash));
        match decided {
            _ if project.files.is_empty() => self.set_up(None, out),
            Some(true) => {
                let project = self.state.startup.project.take();
                self.set_up(project.as_ref(), out);
            }
            Some(false) => self.set_up(None, out),
            None if !self.io.deps.asks => {
                let folder = project.folder.display();
                out.send(not_run(&folder.to_string()));
                self.set_up(None, out);
            }
            None => {
                let about = QuestionSubject::ProjectFiles {
                    folder: project.folder.display().to_string(),
                    files: project
                        .files
                        .iter()
                        .map(|(path, text)| (path.display().to_string(), text.clone()))
                        .collect(),
                };
                self.state
                    .scheduler
                    .start(ActiveJob::Command { firm: false }, out);
                self.ask_user(about, ApprovalRequester::Startup);
            }
        }
    }

    pub(super) fn on_project_answer(&mut self, reply: &Reply) {
        let (Some(project), Some(out)) = (
            self.state.startup.project.take(),
            self.state.scheduler.out().cloned(),
        ) else {
            return;
        };
        let yes = matches!(
            reply,
            Reply::Chosen(QuestionChoice::Once | QuestionChoice::Remember)
        );
        let passing = [Reply::Chosen(QuestionChoice::Once), Reply::Declined];
        if *reply == Reply::Declined {
            // No user could answer: the next session asks again.
            out.send(not_run(&project.folder.display().to_string()));
        }
        if let (Some(hash), false) = (&project.hash, passing.contains(reply)) {
            self.state
                .skill_registry
                .record_code_decision(hash.clone(), yes);
            self.state.skill_registry.save_decisions(&out);
        }
        self.state.scheduler.release();
        self.set_up(Some(&project).filter(|_| yes), out);
        self.raise(Event::Advance);
    }

    /// Continues after the user stopped the question; the user's own files run all the same.
    pub(super) fn set_up_without_project(&mut self, out: RunSender) {
        out.send(Notice::note(
            "start-up files of this project were not run: you stopped the question; you will be asked again next time",
        ));
        self.set_up(None, out);
    }

    /// Returns the notice about files that the runtime does not run.
    fn unsupported_notice(&mut self) -> Option<Notice> {
        let StartupFiles {
            own: set_up,
            project,
        } = std::mem::take(&mut self.state.startup);
        let own = set_up.files.into_iter().map(|file| file.path);
        let project = project.map(|project| project.folder);
        let named: Vec<_> = own.chain(project).collect();
        if named.is_empty() {
            return None;
        }
        let named: Vec<_> = named
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let notice = Notice::note(format!(
            "start-up files are not run in a kernel of Jupyter: {}",
            named.join(", ")
        ));
        Some(notice.hint("run what you need of them in a cell: `%run FILE` in a kernel of Python"))
    }

    fn set_up(&mut self, project: Option<&ProjectFiles>, out: RunSender) {
        let wanted = with_project(self.state.startup.own.clone(), project);
        if wanted.is_empty() {
            return;
        }
        let request = RuntimeRequest::Startup(Box::new(wanted));
        let run = CellRun::new(CellOrigin::Startup, out.clone());
        self.start_cell(CellJob::new(run, None), request, out);
    }

    /// Offers the variables kept of the resumed session, then reports missing names. Restores nothing without the
    /// user's yes, so nothing where no user can be asked.
    pub(super) fn bring_back(&mut self, out: &RunSender) {
        let wanted =
            self.state.choices.keep_variables && self.io.runtimes.user.able().saved_variables;
        let file = wanted.then(|| self.io.outputs.kept_variables()).flatten();
        let record = self.io.record.clone();
        let Some(file) = file else {
            return self.await_effects(out, variables::find_missing(record));
        };
        if !self.io.deps.asks {
            let message = "variables of this session were kept, and not brought back: nobody can be asked here";
            out.send(
                Notice::note(message).hint("run `ipycodex -r` in a terminal: it will ask you"),
            );
            return self.await_effects(out, variables::find_missing(record));
        }
        let told = self.ask_for(RuntimeRequest::Variables {
            wish: VariablesRequest::List,
            file: file.clone(),
        });
        self.await_effects(out, variables::offer_listed(told, file, record));
    }

    pub(super) fn offer_variables(&mut self, kept: SavedVariables, file: PathBuf, out: &RunSender) {
        let holder = ActiveJob::Command { firm: false };
        self.state.scheduler.start(holder, out.clone());
        self.ask_user(
            QuestionSubject::Variables(kept),
            ApprovalRequester::RestoreVariables(file),
        );
    }

    pub(super) fn on_restore_answer(&mut self, file: PathBuf, reply: &Reply) {
        let Some(out) = self.state.scheduler.out().cloned() else {
            return;
        };
        self.state.scheduler.release();
        let record = self.io.record.clone();
        if *reply == Reply::Chosen(QuestionChoice::Once) {
            let wish = VariablesRequest::Restore;
            let told = self.ask_for(RuntimeRequest::Variables { wish, file });
            self.await_effects(&out, variables::report_restored(told, record));
        } else {
            self.await_effects(&out, variables::find_missing(record));
        }
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
