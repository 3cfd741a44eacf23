//! `%ipycodex` in the loop: carries out what a command orders.
//!
//! What needs the record or the agent is asked of it; the command is what is being worked on until the answer is there,
//! so the next input finds done what was ordered. What waits comes back as values ([`Deed`]), which the loop carries
//! out: nothing that waits holds the session. Ctrl-C stops the waiting, never what was ordered.

mod agent;
mod deed;
mod notebooks;
mod output;
mod sessions;
mod settings;
mod steps;
pub(super) mod turns;
pub(super) mod undo;

use std::time::Instant;

use crate::config::{AgentChoice, Choices, RunCells};
use crate::history::{Earlier, RecordedCell, TakenUp};
use crate::magics::{MagicOrder, View, for_now};
use crate::runtime::RuntimeRequest;
use crate::session::editor::{EditorWish, Pick};
use crate::session::events::{Notice, ToldEvent, notice};
use crate::session::floor::{FloorEvent, Holder};
use crate::session::handle::Command;
use crate::session::loading::{self, Loading, with_suffix};
use crate::session::prompt::{Preview, Prompt};
use crate::session::replay::{Purpose, ReplayRun};
use crate::session::resume::{self, Gone};
use crate::session::run::RunSender;
use crate::session::runtimes::Role;
use crate::session::taken_back::{Over, Then};
use crate::session::task::Session;
use crate::session::ticket::Ticket;
use crate::session::variables;

pub(super) use agent::model_names;
use deed::Moved;
pub(super) use deed::{Deed, tell};
pub use sessions::listing;
pub(super) use sessions::recorded_sessions;

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
                    self.carry_out(order, number, out);
                }
            }
        }
    }

    fn carry_out(&mut self, order: MagicOrder, number: u32, out: &RunSender) {
        let history = self.history.clone();
        let places = (&self.setup.notebooks, self.cwd.as_path());
        match order {
            MagicOrder::Say(text) => out.send(ToldEvent::Text(text)),
            MagicOrder::Note(text) => out.send(Notice::note(text)),
            MagicOrder::Keep { name, value } => {
                let agents = &self.setup.agents;
                if let Some(trouble) = settings::no_such_agent(agents, name, value.as_ref()) {
                    return out.send(notice(&trouble));
                }
                let kept = settings::keep(self.setup.config_file.clone(), name, value);
                self.wait_as(Holder::Command { firm: true }, out, kept);
            }
            MagicOrder::ChangeServer { name, command } => {
                let kept = settings::change_server(self.setup.config_file.clone(), name, command);
                self.wait_as(Holder::Command { firm: true }, out, kept);
            }
            MagicOrder::Help(page) => out.send(ToldEvent::Help(page)),
            MagicOrder::Themes(in_force) => self
                .shared
                .editor
                .wish(EditorWish::ShowThemes(in_force), out),
            MagicOrder::UseAgent(choice) => {
                let note = for_now("agent", &choice.to_string());
                if self.use_agent(choice, out) {
                    out.send(Notice::note(note));
                }
            }
            MagicOrder::DescribeAgent => {
                let told = self.exchanges.offers.listing();
                if !told.is_empty() {
                    out.send(ToldEvent::Text(told));
                }
                if let Some(kept) = agent::list_kept(self.exchanges.agent.get()) {
                    self.later(out, kept);
                }
            }
            MagicOrder::ChooseOption { name, value } => {
                let agent = self.exchanges.agent.get();
                match agent::choose_option(agent, &self.exchanges.offers, name, value) {
                    Ok(chosen) => self.later(out, chosen),
                    Err(told) => self.do_all(told, out),
                }
            }
            MagicOrder::Choose(choices) => self.choose(*choices),
            MagicOrder::ListModels(current) => {
                let listed = agent::list_models(self.exchanges.agent.get(), current);
                self.later(out, listed);
            }
            MagicOrder::CheckModel(name) => {
                let checked = agent::check_model(self.exchanges.agent.get(), name);
                self.later(out, checked);
            }
            MagicOrder::Reset => self.reset_conversation(out),
            MagicOrder::ListSessions => {
                let cwd = self.cwd.clone();
                self.later(out, async move {
                    let rows = recorded_sessions(history, cwd, false).await;
                    tell(ToldEvent::Text(listing(&rows)))
                });
            }
            MagicOrder::Show(shown) => {
                // An empty prompt that goes as far as the agent's door.
                let prompt = Prompt::new(number, String::new(), String::new(), Instant::now());
                self.begin_prompt(prompt.previewing(Preview::of(shown)), out.clone())
            }
            MagicOrder::Hide { lines, hidden } => {
                self.later(out, turns::hide(history, lines, hidden, number));
            }
            MagicOrder::Undo => {
                let ran_for = self.steps.ran_for.clone();
                self.later(out, undo::take_back(history, Then::Leave, ran_for));
            }
            MagicOrder::Retry => {
                let ran_for = self.steps.ran_for.clone();
                self.later(out, undo::take_back(history, Then::SendAgain, ran_for));
            }
            MagicOrder::Copy(copied) => self.later(out, turns::copy(history, copied, number)),
            MagicOrder::ShowHistory => self.later(out, turns::show_history(history)),
            MagicOrder::Save { file, force } => {
                let saved = notebooks::save(history, file, force, places, out.clone());
                self.later(out, saved);
            }
            MagicOrder::Load(name) => {
                let shown = with_suffix(&name);
                let loading = Loading {
                    path: self.setup.notebooks.file(&shown, &self.cwd),
                    shown,
                    startup: false,
                };
                let language = self.runtimes.user.able().language.clone();
                self.later(out, loading::load(loading, history, language, out.clone()));
            }
            MagicOrder::Open(name) => match notebooks::open(&self.workbook, &name, places) {
                Ok(opening) => self.later(out, opening),
                Err(why) => out.send(why),
            },
            MagicOrder::Bring(number) => match notebooks::bring(&self.workbook, number) {
                Ok(looked) => self.later(out, looked),
                Err(why) => out.send(why),
            },
            MagicOrder::Close => out.send(self.workbook.close()),
            MagicOrder::Export { file, force } => {
                let exported = notebooks::export(history, file, force, places, out.clone());
                self.later(out, exported);
            }
            MagicOrder::ShowOutput(id) => {
                self.later(out, output::show(self.outputs.clone(), id));
            }
            MagicOrder::ListSkills => {
                let found = self.shelf.found();
                self.later(out, async move {
                    found.await;
                    vec![Deed::ListSkills(Box::new(history.dialog().await))]
                });
            }
            MagicOrder::ShowUsage => {
                let told = agent::show_usage(self.exchanges.agent.get(), history);
                self.later(out, told);
            }
            MagicOrder::Login(method) => {
                let done = agent::log_in(self.exchanges.agent.get(), method);
                self.later(out, done);
            }
            MagicOrder::PickSession => {
                let cwd = self.cwd.clone();
                self.later(out, async move {
                    let current = history.session().await.map_or(0, |start| start.number);
                    vec![Deed::Wish(EditorWish::PickSession(Pick { current, cwd }))]
                });
            }
            MagicOrder::Resume(wanted) => {
                let kept = self.keep_variables();
                let found = resume::change_session(history, self.outputs.clone(), wanted);
                let done = variables::then(kept, found);
                self.wait_as(Holder::Command { firm: true }, out, done);
            }
            MagicOrder::NewSession(name) => {
                let kept = self.keep_variables();
                let begun = resume::begin_session(history, self.outputs.clone(), name);
                let done = variables::then(kept, begun);
                self.wait_as(Holder::Command { firm: true }, out, done);
            }
            MagicOrder::Replay(again) => {
                let gone_before = self.numbering.gone_before();
                self.later(out, resume::run_again(history, again, number, gone_before));
            }
            MagicOrder::Rename(name) => {
                self.history.rename(&name);
                self.later(out, async move {
                    let session = history.session().await.map_or(0, |start| start.number);
                    tell(ToldEvent::Text(format!(
                        "Session {session} is named `{name}`."
                    )))
                });
            }
            MagicOrder::TogglePrompts => self.shared.editor.wish(EditorWish::TogglePrompts, out),
            MagicOrder::ToggleShell => self.shared.editor.wish(EditorWish::ToggleShell, out),
            MagicOrder::Step(steps) => {
                let wish = steps::wish(steps, &self.steps.sessions);
                let told = self.ask_for(RuntimeRequest::Checkpoints(wish));
                let done = steps::answered(told, wish, history, self.steps.sessions.clone(), None);
                self.wait_as(Holder::Command { firm: true }, out, done);
            }
            MagicOrder::Interrupt if self.floor.holder().is_some() => {
                self.on_floor(FloorEvent::Interrupted)
            }
            MagicOrder::Interrupt => out.send(Notice::note("nothing is running")),
            MagicOrder::RestartRuntime => {
                self.runtimes
                    .user
                    .restart()
                    .into_iter()
                    .for_each(|notice| out.send(notice));
            }
        }
    }

    /// Waits for what is to be done, and does it, unless the user stops the waiting; the next input waits, too.
    pub(in crate::session) fn later(
        &mut self,
        out: &RunSender,
        wait: impl Future<Output = Vec<Deed>> + Send + 'static,
    ) {
        self.wait_as(Holder::Command { firm: false }, out, wait);
    }

    /// These choices from now on.
    fn choose(&mut self, choices: Choices) {
        self.choices = choices;
        let most = self.choices.checkpoints;
        self.runtimes.user.keep_checkpoints(most);
    }

    /// The interpreter is where it was before some cells, or after them.
    fn has_moved(&mut self, moved: Moved) {
        self.runtimes.user.is_another();
        if let Some(cwd) = moved.cwd {
            self.goes_to(Role::User, cwd);
        }
        let Over { here, elsewhere } = moved.over;
        self.history.step_over(None, here, moved.back);
        for (session, lines) in elsewhere {
            self.history.step_over(Some(session), lines, moved.back);
        }
    }

    /// As [`Session::later`], the floor being `holder`'s.
    pub(in crate::session) fn wait_as(
        &mut self,
        holder: Holder,
        out: &RunSender,
        wait: impl Future<Output = Vec<Deed>> + Send + 'static,
    ) {
        let ticket = self.floor.give(holder, out.clone());
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            // A session that has ended wants nothing any more.
            let _ = inbox.send(Command::Learned(ticket, wait.await));
        });
    }

    /// What was waited for is there.
    pub(super) fn learned(&mut self, ticket: Ticket, deeds: Vec<Deed>) {
        if let Some((out, interrupted)) = self.floor.end_wait(ticket) {
            self.do_all(deeds, &out);
            if interrupted {
                self.on_floor(FloorEvent::Interrupted);
            }
            self.advance();
        }
    }

    /// Does what comes of a command.
    pub(super) fn do_all(&mut self, deeds: Vec<Deed>, out: &RunSender) {
        for deed in deeds {
            match deed {
                Deed::Tell(event) => out.send(event),
                Deed::SetUp => self.set_up_with_project(out.clone()),
                Deed::Moved(moved) => self.has_moved(*moved),
                Deed::Wish(wish) => self.shared.editor.wish(wish, out),
                Deed::Hide { lines, hidden } => self.history.hide(lines, hidden),
                Deed::TakeBack(taken) => self.take_back(taken, out),
                Deed::OfferStep(taken) => self.offer_step(taken, out),
                Deed::SendAgain { line, text } => self.send_again(line, text, out),
                Deed::Begin(submission) => self.begin_at_once(*submission, out.clone()),
                Deed::ListSkills(dialog) => {
                    self.shelf.look_through(&dialog);
                    out.send(ToldEvent::Text(self.shelf.listing()));
                }
                Deed::PutIntoForce { name, value } => {
                    match settings::in_force(&self.choices, name, &value) {
                        None => out.send(Notice::note("it applies from the next start")),
                        Some(choices) if name == "agent" => {
                            self.use_agent(choices.agent, out);
                        }
                        Some(choices) => self.choose(choices),
                    }
                }
                Deed::RunCell {
                    role,
                    execute,
                    whose,
                    stops,
                } => self.run_cell(role, *execute, whose, stops, out.clone()),
                Deed::Replay {
                    replay,
                    last_code,
                    purpose,
                } => {
                    if matches!(purpose, Purpose::File { .. }) {
                        // All its steps take numbers: the next input's is known at once, if all goes well.
                        self.numbering.expect(replay.steps.len());
                    }
                    let run = ReplayRun::new(replay, last_code, purpose, out.clone());
                    self.go_on(run.into());
                }
                Deed::OpenNotebook(open) => self.workbook.opens(*open),
                Deed::BringCell(brought) => self.workbook.brings(brought),
                Deed::OfferVariables { kept, file } => self.offer_variables(kept, file, out),
                Deed::TakeUp(found) => self.take_up(*found, out),
                Deed::Chosen { option, value } => self.exchanges.offers.choose(&option, &value),
                Deed::FindGone { cells, beside } => self.find_gone(cells, beside, out),
            }
        }
    }

    fn reset_conversation(&mut self, out: &RunSender) {
        self.exchanges.thread_known(None);
        self.history.thread(&self.choices.agent.to_string(), None);
        self.runtimes.user.set_last_exchange(None);
        let history = self.history.clone();
        self.later(out, async move {
            let deleted = history.reset().await;
            // The number is there at the latest with the first row.
            let session = history.session().await.map_or(0, |start| start.number);
            let prompts = if deleted == 1 { "prompt" } else { "prompts" };
            let text = format!("Deleted {deleted} AI {prompts} from session {session}.");
            tell(ToldEvent::Text(text))
        });
    }

    /// Connects this agent in place of the one before, also when it is the same; false when it cannot be had. The next
    /// prompt seeds a thread of it from the record, as with any thread that does not hold the conversation.
    fn use_agent(&mut self, choice: AgentChoice, out: &RunSender) -> bool {
        let connect = match (self.setup.agents)(&choice) {
            Ok(connect) => connect,
            Err(report) => {
                out.send(notice(&report));
                return false;
            }
        };
        if let Some(old) = self.exchanges.replace_agent(connect) {
            // Its end is waited for, and not by the loop; without a thread it has to be.
            let _ = std::thread::Builder::new()
                .name("old agent".into())
                .spawn(move || drop(old));
        }
        let name = choice.to_string();
        self.history.thread(&name, None);
        let text = format!("agent is {name}");
        self.choices.agent = choice;
        out.send(ToldEvent::Text(text));
        true
    }

    /// Goes on in another session. Interpreter, variables and choices stay.
    fn take_up(&mut self, (taken, earlier): (TakenUp, Option<Earlier>), out: &RunSender) {
        let TakenUp { start, thread } = taken;
        self.exchanges.thread_known(thread);
        self.shelf.nothing_fresh();
        self.end_all_kernels();
        self.outputs = self.outputs.anew();
        self.outputs.settle(&start);
        self.runtimes.know(&self.outputs.told_to_cells(&start));
        // What was allowed for the session that is left is not allowed in this one.
        let allowed = std::mem::take(&mut self.asking.allowed);
        if allowed.resets_are_asked {
            self.choices.run_cells = RunCells::Ask;
        }
        let place = self.steps.change(self.numbering.session(), start.number);
        self.runtimes.user.counts_in(place);
        self.numbering.on_change(start);
        if let Some(earlier) = earlier {
            let other = self.other_agent(&earlier);
            out.send(ToldEvent::Earlier(Box::new(earlier)));
            other.into_iter().for_each(|notice| out.send(notice));
        }
        self.bring_back(out);
    }

    /// Asks the interpreter which names of these cells it lacks.
    fn find_gone(&mut self, cells: Vec<RecordedCell>, beside: bool, out: &RunSender) {
        let Some(gone) = Gone::of(cells, self.numbering.gone_before()) else {
            return;
        };
        let told = self.ask_for(gone.request());
        match beside {
            true => self.beside(out, gone.said(told)),
            false => self.later(out, gone.said(told)),
        }
    }

    /// As [`Session::later`], and nothing waits for it.
    pub(in crate::session) fn beside(
        &self,
        out: &RunSender,
        wait: impl Future<Output = Vec<Deed>> + Send + 'static,
    ) {
        let (inbox, out) = (self.inbox.clone(), out.clone());
        tokio::spawn(async move {
            // A session that has ended wants nothing any more.
            let _ = inbox.send(Command::Do(wait.await, out));
        });
    }
}
