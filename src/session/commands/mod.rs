//! `%ipycodex` in the loop: carries out what a command orders.
//!
//! What needs the record or the agent is asked of it; the command is what is being worked on until the answer is there,
//! so the next input finds done what was ordered. Ctrl-C stops the waiting, never what was ordered.

mod agent;
mod connecting;
mod notebooks;
mod preview;
mod settings;
mod turns;

use std::path::PathBuf;

use tokio::sync::oneshot;

use crate::history::{History, SessionRow};
use crate::magics::{MagicOrder, View, for_now};
use crate::session::editor::{EditorWish, Pick};
use crate::session::events::{Notice, ToldEvent};
use crate::session::floor::{Holder, Ticket};
use crate::session::run::RunSender;
use crate::session::task::Session;
use crate::session::{Command, Surroundings};

pub(super) use preview::Preview;

/// What is done in the loop with what a command waited for.
pub(super) type Then = Box<dyn FnOnce(&mut Session, &RunSender) + Send>;

impl Session {
    /// Works a command off; `line` is what stands after `%ipycodex`.
    pub(super) fn command(&mut self, line: &str, number: u32, out: &RunSender) {
        let able = self.exchanges.agent.get().capabilities();
        let view = View {
            choices: &self.choices,
            provenance: &self.setup.provenance,
            keys: &self.setup.keys,
            able: &able,
        };
        match crate::magics::run(line, &view) {
            Err(line) => out.send(Notice::warning(line)),
            Ok(orders) => {
                for order in orders {
                    self.carry_out_order(order, number, out);
                }
            }
        }
    }

    fn carry_out_order(&mut self, order: MagicOrder, number: u32, out: &RunSender) {
        match order {
            MagicOrder::Say(text) => out.send(ToldEvent::Text(text)),
            MagicOrder::Note(text) => out.send(Notice::note(text)),
            MagicOrder::Keep { name, value } => self.keep_setting(name, value, out),
            MagicOrder::Help(page) => out.send(ToldEvent::Help(page)),
            MagicOrder::Themes(in_force) => self.wish(EditorWish::ShowThemes(in_force), out),
            MagicOrder::UseAgent(choice) => {
                let note = for_now("agent", &choice.to_string());
                if self.use_agent(choice, out) {
                    out.send(Notice::note(note));
                }
            }
            MagicOrder::DescribeAgent => self.describe_agent(out),
            MagicOrder::ChooseOption { name, value } => self.choose_option(name, value, out),
            MagicOrder::Choose(choices) => self.choices = *choices,
            MagicOrder::ListModels(current) => self.list_models(current, out),
            MagicOrder::CheckModel(name) => self.check_model(name, out),
            MagicOrder::Reset => self.reset_conversation(out),
            MagicOrder::ListSessions => {
                let sessions = recorded_sessions(&self.history, self.cwd.clone(), false);
                let sessions = async { listing(&sessions.await) };
                self.later(out, sessions, |_, text, out| {
                    out.send(ToldEvent::Text(text))
                });
            }
            MagicOrder::Show(preview) => self.preview(preview, number, out),
            MagicOrder::Hide { lines, hidden } => self.hide(lines, hidden, number, out),
            MagicOrder::Undo => self.undo(out),
            MagicOrder::Retry => self.retry(out),
            MagicOrder::ShowHistory => self.show_history(out),
            MagicOrder::Save { file, force } => self.save(file, force, out),
            MagicOrder::Load(name) => self.load(&name, out),
            MagicOrder::Open(name) => self.open_notebook(&name, out),
            MagicOrder::Bring(number) => self.bring_cell(number, out),
            MagicOrder::Close => self.close_notebook(out),
            MagicOrder::Export { file, force } => self.export(&file, force, out),
            MagicOrder::ListSkills => self.list_skills(out),
            MagicOrder::ShowUsage => self.show_usage(out),
            MagicOrder::Login(method) => self.log_in(method, out),
            MagicOrder::PickSession => self.let_pick(out),
            MagicOrder::Resume(wanted) => self.change_session(wanted, out),
            MagicOrder::Replay(again) => self.run_again(again, number, out),
            MagicOrder::Rename(name) => self.rename(&name, out),
            MagicOrder::TogglePrompts => self.wish(EditorWish::TogglePrompts, out),
            MagicOrder::Interrupt => self.interrupt_by_command(out),
            MagicOrder::RestartRuntime => self.restart_runtime(out),
        }
    }

    /// Waits for `wait` and does `then` with what came, unless the user stops it; the next input waits, too.
    pub(in crate::session) fn later<T: Send + 'static>(
        &mut self,
        out: &RunSender,
        wait: impl Future<Output = T> + Send + 'static,
        then: impl FnOnce(&mut Session, T, &RunSender) + Send + 'static,
    ) {
        self.wait_as(Holder::Command { firm: false }, out, wait, then);
    }

    /// As [`Session::later`], but the user cannot stop the waiting: what is waited for changes what comes next.
    pub(in crate::session) fn firmly_later<T: Send + 'static>(
        &mut self,
        out: &RunSender,
        wait: impl Future<Output = T> + Send + 'static,
        then: impl FnOnce(&mut Session, T, &RunSender) + Send + 'static,
    ) {
        self.wait_as(Holder::Command { firm: true }, out, wait, then);
    }

    /// As [`Session::later`], the floor being `holder`'s.
    pub(in crate::session) fn wait_as<T: Send + 'static>(
        &mut self,
        holder: Holder,
        out: &RunSender,
        wait: impl Future<Output = T> + Send + 'static,
        then: impl FnOnce(&mut Session, T, &RunSender) + Send + 'static,
    ) {
        let ticket = self.floor.give(holder, out.clone());
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            let value = wait.await;
            let then: Then = Box::new(move |session, out| then(session, value, out));
            // A session that has ended wants nothing any more.
            let _ = inbox.send(Command::Learned(ticket, then));
        });
    }

    /// What was waited for is there.
    pub(super) fn learned(&mut self, ticket: Ticket, then: Then) {
        if let Some((out, interrupted)) = self.floor.end_wait(ticket) {
            then(self, &out);
            if interrupted {
                self.interrupt();
            }
            self.advance();
        }
    }

    fn reset_conversation(&mut self, out: &RunSender) {
        self.exchanges.thread_known(None);
        self.history.thread(None);
        self.set_last_exchange(None);
        let history = self.history.clone();
        let deleted = async move {
            let deleted = history.reset().await;
            // The number is there at the latest with the first row.
            let session = history.session().await.map_or(0, |start| start.number);
            (deleted, session)
        };
        self.later(out, deleted, |_, (deleted, session), out| {
            let text = format!("Deleted {deleted} AI prompts from session {session}.");
            out.send(ToldEvent::Text(text));
        });
    }

    fn list_skills(&mut self, out: &RunSender) {
        let (history, found) = (self.history.clone(), self.shelf.found());
        let dialog = async move {
            found.await;
            history.dialog().await
        };
        self.later(out, dialog, |session, dialog, out| {
            session.shelf.look_through(&dialog);
            out.send(ToldEvent::Text(session.shelf.listing()));
        });
    }

    /// Tells directory and skills to whoever asks beside the conversation.
    pub(super) fn tell_surroundings(&self, answer: oneshot::Sender<Surroundings>) {
        let offers = &self.exchanges.offers;
        let commands = offers.commands().iter();
        let options = offers.selections();
        // Whoever asked may have gone.
        let _ = answer.send(Surroundings {
            cwd: self.cwd.clone(),
            skills: self.shelf.names(),
            commands: commands.map(|it| (it.id.clone(), it.about())).collect(),
            options: options.map(|it| (it.of.id.clone(), it.line())).collect(),
        });
    }

    fn rename(&mut self, name: &str, out: &RunSender) {
        self.history.rename(name);
        let (history, name) = (self.history.clone(), name.to_owned());
        let session = async move { history.session().await.map_or(0, |start| start.number) };
        self.later(out, session, move |_, session, out| {
            let text = format!("Session {session} is named '{name}'.");
            out.send(ToldEvent::Text(text));
        });
    }

    fn let_pick(&mut self, out: &RunSender) {
        let (history, cwd) = (self.history.clone(), self.cwd.clone());
        let session = async move { history.session().await.map_or(0, |start| start.number) };
        self.later(out, session, |session, current, out| {
            session.wish(EditorWish::PickSession(Pick { current, cwd }), out);
        });
    }

    fn wish(&self, wish: EditorWish, out: &RunSender) {
        self.shared.editor.wish(wish, out);
    }

    fn interrupt_by_command(&mut self, out: &RunSender) {
        if self.floor.holder().is_some() {
            self.interrupt();
        } else {
            let message = "nothing is running";
            out.send(Notice::note(message));
        }
    }
}

/// The sessions something was recorded of, newest first.
pub(super) fn recorded_sessions(
    history: &History,
    cwd: PathBuf,
    all: bool,
) -> impl Future<Output = Vec<SessionRow>> + Send + use<> {
    let history = history.clone();
    async move {
        let mut rows = history.sessions(cwd, all).await;
        rows.retain(|row| row.commands > 0);
        rows
    }
}

/// Sessions as a table, newest first. One with a name shows it before its last prompt, or its last cell without any.
pub fn listing(rows: &[SessionRow]) -> String {
    if rows.is_empty() {
        return "No sessions found for this directory.".to_owned();
    }
    let mut lines = vec!["    ID  Start                  Cmds  Last prompt".to_owned()];
    lines.extend(rows.iter().map(|row| {
        let start: String = row.start.chars().take(19).collect();
        // One that holds only cells is known by its last.
        let said = [&row.last_prompt, &row.last_input];
        let said = said.into_iter().find(|text| !text.is_empty());
        let prompt = said.map_or(String::new(), |text| text.replace('\n', " "));
        let mut shown: String = prompt.chars().take(60).collect();
        if prompt.chars().count() > 60 {
            shown.push_str("...");
        }
        if let Some(name) = &row.name {
            shown = format!("[{name}] {shown}");
        }
        let shown = shown.trim_end();
        format!("{:>6}  {start:20}  {:>5}  {shown}", row.id, row.commands)
    }));
    lines.join("\n")
}
