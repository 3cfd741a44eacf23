//! Before the first input: the user's start-up files, those of the project, and variables kept by an earlier session.
//!
//! A project's files are approved once per content, by hash. Where no user can be asked they do not run, with a notice.

use std::path::PathBuf;

use crate::runtime::{KeptVariables, RuntimeRequest, SetUp, StartupFile, VariablesRequest};
use crate::session::asking::Asker;
use crate::session::cell::{CellRun, CellOrigin};
use crate::session::deps::StartupFiles;
use crate::session::effect::Effect;
use crate::session::events::Notice;
use crate::session::floor::{CellJob, ActiveJob};
use crate::session::question::{About, QuestionChoice, Reply};
use crate::session::run::RunSender;
use crate::session::task::Session;
use crate::session::variables;
use crate::skills::ProjectFiles;

impl Session {
    /// Starts the start-up job, where the runtime supports one.
    pub(super) fn begin_set_up(&mut self, out: RunSender) {
        if !self.runtimes.user.able().set_up {
            let told = self.unsupported_notice();
            told.into_iter().for_each(|notice| out.send(notice));
            return;
        }
        if self.setup.at_home.project.is_none() {
            return self.set_up(None, out);
        }
        // Earlier answers are read with the skills.
        let found = self.shelf.found();
        self.await_effects(&out, async move {
            found.await;
            vec![Effect::SetUp]
        });
    }

    /// The user's earlier answers are known.
    pub(super) fn set_up_with_project(&mut self, out: RunSender) {
        let Some(project) = &mut self.setup.at_home.project else {
            return;
        };
        for line in project.left_out.drain(..) {
            out.send(Notice::note(line));
        }
        let decided = project
            .hash
            .as_ref()
            .and_then(|hash| self.shelf.decided(hash));
        match decided {
            _ if project.files.is_empty() => self.set_up(None, out),
            Some(true) => {
                let project = self.setup.at_home.project.take();
                self.set_up(project.as_ref(), out);
            }
            Some(false) => self.set_up(None, out),
            None if !self.setup.asks => {
                let folder = project.folder.display();
                out.send(not_run(&folder.to_string()));
                self.set_up(None, out);
            }
            None => {
                let about = About::ProjectFiles {
                    folder: project.folder.display().to_string(),
                    files: project
                        .files
                        .iter()
                        .map(|(path, text)| (path.display().to_string(), text.clone()))
                        .collect(),
                };
                self.floor.start(ActiveJob::Command { firm: false }, out);
                self.ask_user(about, Asker::Startup);
            }
        }
    }

    /// The user has answered now.
    pub(super) fn on_project_answer(&mut self, reply: &Reply) {
        let (Some(project), Some(out)) =
            (self.setup.at_home.project.take(), self.floor.out().cloned())
        else {
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
            self.shelf.decide(hash.clone(), yes);
            self.shelf.save_decisions(&out);
        }
        self.floor.release();
        self.set_up(Some(&project).filter(|_| yes), out);
        self.advance();
    }

    /// The user stopped the question: what is the user's own counts all the same.
    pub(super) fn set_up_without_project(&mut self, out: RunSender) {
        out.send(Notice::note(
            "start-up files of this project were not run: you stopped the question; you will be asked again next time",
        ));
        self.set_up(None, out);
    }

    /// The notice about files that the runtime does not run.
    fn unsupported_notice(&mut self) -> Option<Notice> {
        let StartupFiles { set_up, project } = std::mem::take(&mut self.setup.at_home);
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
        let wanted = with_project(self.setup.at_home.set_up.clone(), project);
        if wanted.is_empty() {
            return;
        }
        let request = RuntimeRequest::SetUp(Box::new(wanted));
        let id = self.runtimes.user.get().submit(request);
        let run = CellRun::new(id, CellOrigin::SetUp, out.clone(), self.outputs.clone());
        let cell = CellJob::new(run, None);
        self.floor.start(ActiveJob::Cell(Box::new(cell)), out);
    }

    /// Offers the variables kept of the resumed session; then reports which names are missing.
    /// Nothing is read back unasked, and nothing where nobody can be asked.
    pub(super) fn bring_back(&mut self, out: &RunSender) {
        let wanted = self.choices.keep_variables && self.runtimes.user.able().keeps_variables;
        let file = wanted.then(|| self.outputs.kept_variables()).flatten();
        let history = self.history.clone();
        let Some(file) = file else {
            return self.await_effects(out, variables::find_missing(history));
        };
        if !self.setup.asks {
            let message = "variables of this session were kept, and not brought back: nobody can be asked here";
            out.send(
                Notice::note(message).hint("run `ipycodex -r` in a terminal: it will ask you"),
            );
            return self.await_effects(out, variables::find_missing(history));
        }
        let told = self.ask_for(RuntimeRequest::Variables {
            wish: VariablesRequest::List,
            file: file.clone(),
        });
        self.await_effects(out, variables::offer_listed(told, file, history));
    }

    pub(super) fn offer_variables(&mut self, kept: KeptVariables, file: PathBuf, out: &RunSender) {
        let holder = ActiveJob::Command { firm: false };
        self.floor.start(holder, out.clone());
        self.ask_user(About::Variables(kept), Asker::RestoreVariables(file));
    }

    /// The user has answered.
    pub(super) fn on_restore_answer(&mut self, file: PathBuf, reply: &Reply) {
        let Some(out) = self.floor.out().cloned() else {
            return;
        };
        self.floor.release();
        let history = self.history.clone();
        if *reply == Reply::Chosen(QuestionChoice::Once) {
            let wish = VariablesRequest::Bring;
            let told = self.ask_for(RuntimeRequest::Variables { wish, file });
            self.await_effects(&out, variables::report_restored(told, history));
        } else {
            self.await_effects(&out, variables::find_missing(history));
        }
        self.advance();
    }
}

fn not_run(folder: &str) -> Notice {
    let notice = Notice::note(format!(
        "start-up files of this project were not run: nobody can be asked here ({folder})"
    ));
    notice.hint("start `ipycodex` once in a terminal here: it will ask you")
}

/// A project's module takes the place of the user's of that name.
fn with_project(mut wanted: SetUp, project: Option<&ProjectFiles>) -> SetUp {
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
        let own = SetUp {
            files: own.iter().map(|path| file(path, None)).collect(),
            ..SetUp::default()
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
