//! `save`, `load` and `export` in the loop: files are read and written on another thread.

use std::time::{Duration, Instant};

use crate::history::History;
use crate::notebook::SavedSession;
use crate::report::Report;
use crate::session::events::{Notice, ToldEvent};
use crate::session::loading::{Loading, with_suffix};
use crate::session::run::RunSender;
use crate::session::saving::{FileForm, SaveTarget, write_file};
use crate::session::task::{Session, notice};

/// How long an export may take before it says how far it is, and how often it does from then on.
const PATIENT: Duration = Duration::from_secs(2);

/// Cells that are named when a replay of them would fail.
const NAMED: usize = 5;

impl Session {
    /// Saves the session as a notebook: `file` as typed, with its suffix; `None`: the startup notebook.
    pub(super) fn save(&mut self, file: Option<String>, force: bool, out: &RunSender) {
        let (path, shown) = match &file {
            Some(name) => (self.setup.notebooks.file(name, &self.cwd), name.clone()),
            None => {
                let startup = self.setup.notebooks.startup.clone();
                let shown = startup.display().to_string();
                (startup, shown)
            }
        };
        let target = SaveTarget {
            path,
            form: FileForm::Notebook,
            force,
            private: file.is_none(),
            forcing: format!("%ipycodex save -f {}", file.unwrap_or_default())
                .trim_end()
                .to_owned(),
        };
        self.write(target, shown, "Saved", out);
    }

    /// Writes the session in the form the suffix names.
    pub(super) fn export(&mut self, file: &str, force: bool, out: &RunSender) {
        let path = self.setup.notebooks.file(file, &self.cwd);
        let Some(form) = FileForm::of(&path) else {
            let message = format!("export writes .ipynb, .md, .html and .py, not '{file}'");
            return out.send(Notice::warning(message));
        };
        let target = SaveTarget {
            path,
            form,
            force,
            private: false,
            forcing: format!("%ipycodex export -f {file}"),
        };
        self.write(target, file.to_owned(), "Exported", out);
    }

    /// Runs a file here, after this command.
    pub(super) fn load(&mut self, name: &str, out: &RunSender) {
        let shown = with_suffix(name);
        let loading = Loading {
            path: self.setup.notebooks.file(&shown, &self.cwd),
            shown,
            startup: false,
        };
        self.begin_load(loading, out);
    }

    fn write(&mut self, target: SaveTarget, shown: String, done: &'static str, out: &RunSender) {
        let (history, told) = (self.history.clone(), out.clone());
        let written = async move { write(history, target, told).await };
        self.later(out, written, move |_, written, out| match written {
            Ok(session) => {
                let counted = match done {
                    "Saved" => session.counted(),
                    _ => session.told(),
                };
                let text = format!("{done} {counted} to {shown}.");
                out.send(ToldEvent::Text(text));
                if done == "Saved"
                    && let Some(notice) = failing(&session)
                {
                    out.send(notice);
                }
            }
            Err(report) => out.send(notice(&report)),
        });
    }
}

async fn write(
    history: History,
    target: SaveTarget,
    out: RunSender,
) -> Result<SavedSession, Report> {
    let number = history.session().await.map_or(0, |start| start.number);
    let session = history.saved().await;
    let title = format!("Session {number}");
    let name = target.path.display().to_string();
    let work = move || {
        let (of, mut told) = (session.entries().len(), Instant::now());
        let progress = |done: usize| {
            if told.elapsed() >= PATIENT {
                told = Instant::now();
                let message = format!("writing `{name}`: {done} of {of}");
                out.send(Notice::note(message));
            }
        };
        write_file(&session, &title, &target, progress).map(|()| session)
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(written) => written,
        Err(error) => Err(Report::failure("the file could not be written").because(error)),
    }
}

/// What stops a replay of it, said when there is something.
fn failing(session: &SavedSession) -> Option<Notice> {
    let failed: Vec<u32> = session
        .cells()
        .filter(|cell| cell.failed)
        .map(|cell| cell.line)
        .collect();
    if failed.is_empty() {
        return None;
    }
    let lines: Vec<String> = failed.iter().take(NAMED).map(u32::to_string).collect();
    let more = if failed.len() > NAMED { ", …" } else { "" };
    let message = format!(
        "a replay stops at the first cell that fails; these did: {}{more}",
        lines.join(", ")
    );
    let hint = format!(
        "`%ipycodex hide {}` leaves them out of the next save",
        lines.join(" ")
    );
    Some(Notice::note(message).hint(hint))
}
