//! `%ipycodex` in the loop: carries out what a command orders.
//!
//! What needs the record is asked of it and said when it answers, on the run of the command.

use std::path::PathBuf;

use crate::history::{History, SessionRow};
use crate::magics::{Order, View};
use crate::session::Command;
use crate::session::events::{Notice, RunSender, SessionEvent};
use crate::session::task::Session;

impl Session {
    /// Works a command off; `line` is what stands after `%ipycodex`.
    pub(super) fn command(&mut self, line: &str, out: &RunSender) {
        let view = View {
            choices: &self.choices,
            places: &self.places,
        };
        match crate::magics::run(line, &view) {
            Err(line) => out.send(SessionEvent::Notice(Notice::warning(line))),
            Ok(orders) => {
                for order in orders {
                    self.carry_out_order(order, out);
                }
            }
        }
    }

    fn carry_out_order(&mut self, order: Order, out: &RunSender) {
        match order {
            Order::Say(text) => out.send(SessionEvent::Text(text)),
            Order::Help(page) => out.send(SessionEvent::Help(page)),
            Order::Choose(choices) => self.choices = *choices,
            Order::Reset => {
                self.exchanges.thread_known(None);
                self.history.thread(None);
                let history = self.history.clone();
                self.say_later(out, async move {
                    let deleted = history.reset().await;
                    // The number is there at the latest with the first row.
                    let session = history.session().await.map_or(0, |start| start.number);
                    format!("Deleted {deleted} AI prompts from session {session}.")
                });
            }
            Order::ListSessions => {
                let (history, cwd) = (self.history.clone(), self.cwd.clone());
                self.say_later(out, async move {
                    listing(&recorded_sessions(&history, cwd, false).await)
                });
            }
            Order::ShowContext => {
                let history = self.history.clone();
                self.say_later(out, async move {
                    let dialog = history.dialog().await;
                    let context = dialog.next_context();
                    let turns = dialog.exchanges();
                    let earlier: usize = turns.iter().map(|turn| turn.user.chars().count() + turn.assistant.chars().count()).sum();
                    format!(
                        "{context}[{} characters of context; {} earlier exchanges, {earlier} characters]",
                        context.chars().count(),
                        turns.len(),
                    )
                });
            }
            Order::RestartRuntime => {
                if let Some(interrupter) = self.runtime.interrupter() {
                    interrupter.kill();
                }
                self.connected_runtime();
            }
        }
    }

    /// Says what `text` gives, on the run of the command, which stays open until then.
    fn say_later(&self, out: &RunSender, text: impl Future<Output = String> + Send + 'static) {
        let (inbox, out) = (self.inbox.clone(), out.clone());
        tokio::spawn(async move {
            let _ = inbox.send(Command::Said(out, SessionEvent::Text(text.await)));
        });
    }
}

/// The sessions something was recorded of, newest first.
pub(super) async fn recorded_sessions(
    history: &History,
    cwd: PathBuf,
    all: bool,
) -> Vec<SessionRow> {
    let mut rows = history.sessions(cwd, all).await;
    rows.retain(|row| row.commands > 0);
    rows
}

/// Sessions as a table, newest first.
pub fn listing(rows: &[SessionRow]) -> String {
    if rows.is_empty() {
        return "No sessions found for this directory.".to_owned();
    }
    let mut lines = vec!["    ID  Start                  Cmds  Last prompt".to_owned()];
    lines.extend(rows.iter().map(|row| {
        let start: String = row.start.chars().take(19).collect();
        let prompt = row.last_prompt.replace('\n', " ");
        let mut shown: String = prompt.chars().take(60).collect();
        if prompt.chars().count() > 60 {
            shown.push_str("...");
        }
        format!("{:>6}  {start:20}  {:>5}  {shown}", row.id, row.commands)
    }));
    lines.join("\n")
}
