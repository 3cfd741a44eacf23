//! `%ipycodex` in the loop: carries out commands.
//!
//! A command that needs the record or the agent is the active job until the answer is there, so the next input
//! finds the command done. The wait returns [`Effect`]s, which the loop runs. Ctrl-C stops the wait, never a
//! command that is being carried out.

mod agent;
mod notebooks;
mod output;
mod sessions;
mod settings;
mod steps;
pub(super) mod turns;
pub(super) mod undo;

use std::time::Instant;

use crate::approvals::ApprovalRequester;
use crate::config::{AgentChoice, Choices, RunCells};
use crate::editor::{EditorRequest, SessionPick};
use crate::effect::{Effect, Event, Found, To, emit};
use crate::event_loop::Session;
use crate::events::{Notice, TextEvent, report_notice};
use crate::handle::Command;
use crate::ids::JobId;
use crate::loading::{self, LoadRequest, with_suffix};
use crate::magics::{MagicContext, MagicEffect, format_session_value};
use crate::prompt::{Preview, Prompt};
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::record::{RecordedCell, SessionTail, SwitchedSession};
use crate::replay::{ReplayPurpose, ReplayRun};
use crate::resume::{self, MissingNames};
use crate::run::RunSender;
use crate::runtime::{CheckpointRequest, RuntimeRequest};
use crate::runtimes::RuntimeRole;
use crate::scheduler::ActiveJob;
use crate::undo::{UndoFollowUp, UndoRequest};
use crate::variables;

pub(super) use agent::model_names;
pub use sessions::listing;
pub(super) use sessions::recorded_sessions;

impl Session {
    /// Runs a command; `line` is the text after `%ipycodex`.
    pub(super) fn command(&mut self, line: &str, number: u32, out: &RunSender) {
        let able = self.io.agent.get().capabilities();
        let view = MagicContext {
            choices: &self.state.choices,
            provenance: &self.io.deps.provenance,
            keys: &self.io.deps.keys,
            agent: &able,
        };
        match crate::magics::run(line, &view) {
            Err(line) => out.send(Notice::warning(line)),
            Ok(orders) => {
                for order in orders {
                    self.run_order(order, number, out);
                }
            }
        }
    }

    fn run_order(&mut self, order: MagicEffect, number: u32, out: &RunSender) {
        let record = self.io.record.clone();
        let places = (&self.io.deps.notebooks, self.state.cwd.as_path());
        match order {
            MagicEffect::Print(text) => out.send(TextEvent::Text(text)),
            MagicEffect::Note(text) => out.send(Notice::note(text)),
            MagicEffect::SaveSetting { name, value } => {
                let agents = &self.io.deps.agents;
                if let Some(trouble) = settings::no_such_agent(agents, name, value.as_ref()) {
                    return out.send(report_notice(&trouble));
                }
                let kept = settings::keep(self.io.deps.config_file.clone(), name, value);
                self.await_effects_as(ActiveJob::Command { firm: true }, out, kept);
            }
            MagicEffect::ChangeServer { name, command } => {
                let kept = settings::change_server(self.io.deps.config_file.clone(), name, command);
                self.await_effects_as(ActiveJob::Command { firm: true }, out, kept);
            }
            MagicEffect::ShowPage(page) => out.send(TextEvent::Help(page)),
            MagicEffect::ListThemes(in_force) => self
                .io
                .shared
                .editor
                .request(EditorRequest::ShowThemes(in_force), out),
            MagicEffect::UseAgent(choice) => {
                let note = format_session_value("agent", &choice.to_string());
                if self.use_agent(choice, out) {
                    out.send(Notice::note(note));
                }
            }
            MagicEffect::DescribeAgent => {
                let told = self.state.turns.profile.listing();
                if !told.is_empty() {
                    out.send(TextEvent::Text(told));
                }
                if let Some(kept) = agent::list_kept(self.io.agent.get()) {
                    self.await_effects(out, kept);
                }
            }
            MagicEffect::ChooseOption { name, value } => {
                let agent = self.io.agent.get();
                match agent::choose_option(agent, &self.state.turns.profile, name, value) {
                    Ok(chosen) => self.await_effects(out, chosen),
                    Err(told) => self.run_effects(told, out),
                }
            }
            MagicEffect::ApplyChoices(choices) => self.choose(*choices),
            MagicEffect::ListModels(current) => {
                let listed = agent::list_models(self.io.agent.get(), current);
                self.await_effects(out, listed);
            }
            MagicEffect::CheckModel(name) => {
                let checked = agent::check_model(self.io.agent.get(), name);
                self.await_effects(out, checked);
            }
            MagicEffect::Reset => self.reset_conversation(out),
            MagicEffect::ListSessions => {
                let cwd = self.state.cwd.clone();
                self.await_effects(out, async move {
                    let rows = recorded_sessions(record, cwd, false).await;
                    emit(TextEvent::Text(listing(&rows)))
                });
            }
            MagicEffect::Preview(shown) => {
                // An empty prompt takes every step but the last, the sending.
                let prompt = Prompt::new(number, String::new(), String::new(), Instant::now());
                self.begin_prompt(prompt.previewing(Preview::new(shown)), out.clone())
            }
            MagicEffect::Hide { lines, hidden } => {
                self.await_effects(out, turns::hide(record, lines, hidden, number));
            }
            MagicEffect::Undo => {
                let ran_for = self.state.step_log.ran_for.clone();
                self.await_effects(out, undo::undo_last(record, UndoFollowUp::Nothing, ran_for));
            }
            MagicEffect::Retry => {
                let ran_for = self.state.step_log.ran_for.clone();
                self.await_effects(out, undo::undo_last(record, UndoFollowUp::Resend, ran_for));
            }
            MagicEffect::Copy(copied) => {
                self.await_effects(out, turns::copy(record, copied, number))
            }
            MagicEffect::ShowHistory => self.await_effects(out, turns::show_history(record)),
            MagicEffect::Save { file, force } => {
                let saved = notebooks::save(record, file, force, places, out.clone());
                self.await_effects(out, saved);
            }
            MagicEffect::LoadFile(name) => {
                let shown = with_suffix(&name);
                let loading = LoadRequest {
                    path: self.io.deps.notebooks.file(&shown, &self.state.cwd),
                    shown,
                    startup: false,
                };
                let language = self.io.runtimes.user.able().language.clone();
                self.await_effects(out, loading::load(loading, record, language, out.clone()));
            }
            MagicEffect::OpenNotebook(name) => {
                match notebooks::open(&self.io.workbook, &name, places) {
                    Ok(opening) => self.await_effects(out, opening),
                    Err(why) => out.send(why),
                }
            }
            MagicEffect::EditCell(number) => match notebooks::bring(&self.io.workbook, number) {
                Ok(looked) => self.await_effects(out, looked),
                Err(why) => out.send(why),
            },
            MagicEffect::CloseNotebook => out.send(self.io.workbook.close()),
            MagicEffect::Export { file, force } => {
                let exported = notebooks::export(record, file, force, places, out.clone());
                self.await_effects(out, exported);
            }
            MagicEffect::ShowOutput(id) => {
                self.await_effects(out, output::show(self.io.outputs.clone(), id));
            }
            MagicEffect::ListSkills => {
                let found = self.state.skill_registry.ready();
                self.await_effects(out, async move {
                    found.await;
                    vec![Effect::found(Found::Skills(Box::new(
                        record.dialog().await,
                    )))]
                });
            }
            MagicEffect::ShowUsage => {
                let told = agent::show_usage(self.io.agent.get(), record);
                self.await_effects(out, told);
            }
            MagicEffect::Login(method) => {
                let done = agent::log_in(self.io.agent.get(), method);
                self.await_effects(out, done);
            }
            MagicEffect::PickSession => {
                let cwd = self.state.cwd.clone();
                self.await_effects(out, async move {
                    let current = record.session().await.map_or(0, |start| start.number);
                    let pick = EditorRequest::PickSession(SessionPick { current, cwd });
                    vec![Effect::RequestEditor(To::Job, pick)]
                });
            }
            MagicEffect::Resume(wanted) => {
                let kept = self.keep_variables();
                let found = resume::change_session(record, self.io.outputs.clone(), wanted);
                let done = variables::join(kept, found);
                self.await_effects_as(ActiveJob::Command { firm: true }, out, done);
            }
            MagicEffect::NewSession(name) => {
                let kept = self.keep_variables();
                let begun = resume::begin_session(record, self.io.outputs.clone(), name);
                let done = variables::join(kept, begun);
                self.await_effects_as(ActiveJob::Command { firm: true }, out, done);
            }
            MagicEffect::Replay(again) => {
                let gone_before = self.state.numbering.gone_before();
                self.await_effects(out, resume::run_again(record, again, number, gone_before));
            }
            MagicEffect::Rename(name) => {
                self.io.record.rename(&name);
                self.await_effects(out, async move {
                    let session = record.session().await.map_or(0, |start| start.number);
                    emit(TextEvent::Text(format!(
                        "Session {session} is named `{name}`."
                    )))
                });
            }
            MagicEffect::TogglePrompts => self
                .io
                .shared
                .editor
                .request(EditorRequest::TogglePrompts, out),
            MagicEffect::ToggleShell => self
                .io
                .shared
                .editor
                .request(EditorRequest::ToggleShell, out),
            MagicEffect::Step(steps) => {
                let wish = steps::request(steps, &self.state.step_log.sessions);
                let told = self.ask_for(RuntimeRequest::Checkpoints(wish));
                let done = steps::on_answer(
                    told,
                    wish,
                    record,
                    self.state.step_log.sessions.clone(),
                    None,
                );
                self.await_effects_as(ActiveJob::Command { firm: true }, out, done);
            }
            MagicEffect::Interrupt if self.state.scheduler.active().is_some() => {
                self.raise(Event::Interrupted)
            }
            MagicEffect::Interrupt => out.send(Notice::note("nothing is running")),
            MagicEffect::RestartRuntime => {
                self.io
                    .runtimes
                    .user
                    .restart()
                    .into_iter()
                    .for_each(|notice| out.send(notice));
            }
        }
    }

    /// Runs the effects of a future as the active job, unless the user stops the wait; the next input waits.
    pub(crate) fn await_effects(
        &mut self,
        out: &RunSender,
        wait: impl Future<Output = Vec<Effect>> + Send + 'static,
    ) {
        self.await_effects_as(ActiveJob::Command { firm: false }, out, wait);
    }

    fn choose(&mut self, choices: Choices) {
        self.state.choices = choices;
        let most = self.state.choices.checkpoints;
        self.io.runtimes.user.keep_checkpoints(most);
    }

    /// As [`Session::await_effects`], with `holder` as the active job.
    pub(crate) fn await_effects_as(
        &mut self,
        holder: ActiveJob,
        out: &RunSender,
        wait: impl Future<Output = Vec<Effect>> + Send + 'static,
    ) {
        let ticket = self.state.scheduler.start(holder, out.clone());
        let inbox = self.io.inbox.clone();
        tokio::spawn(async move {
            // Fails when the session has ended.
            let _ = inbox.send(Command::EffectsReady(ticket, wait.await));
        });
    }

    /// Runs the effects of the job with this ticket once its wait is over.
    pub(super) fn on_effects_ready(&mut self, ticket: JobId, effects: Vec<Effect>) {
        if let Some((out, interrupted)) = self.state.scheduler.finish_wait(ticket) {
            self.run_effects(effects, &out);
            if interrupted {
                self.raise(Event::Interrupted);
            }
            self.raise(Event::Advance);
        }
    }

    /// Goes on with what a command's wait has found.
    pub(super) fn on_found(&mut self, found: Found, out: &RunSender) {
        match found {
            Found::StartupAnswers => self.set_up_with_project(out.clone()),
            Found::Undo(taken) => self.undo(taken, out),
            Found::StepBackPossible(taken) => self.offer_step_back(taken, out),
            Found::Resend { line, text } => self.resend(line, text, out),
            Found::Input(submission) => self.begin_now(*submission, out.clone()),
            Found::Skills(dialog) => {
                self.state.skill_registry.scan_conversation(&dialog);
                out.send(TextEvent::Text(self.state.skill_registry.listing()));
            }
            Found::Setting { name, value } => {
                match settings::in_force(&self.state.choices, name, &value) {
                    None => out.send(Notice::note("it applies from the next start")),
                    Some(choices) if name == "agent" => {
                        self.use_agent(choices.agent, out);
                    }
                    Some(choices) => self.choose(choices),
                }
            }
            Found::Cell(start) => self.run_cell(*start, out.clone()),
            Found::Directory(place) => self.goes_to(RuntimeRole::User, place),
            Found::Replay {
                replay,
                last_code,
                purpose,
            } => {
                if matches!(purpose, ReplayPurpose::File { .. }) {
                    // All its steps take numbers: publish the next input's number at once, assuming that all
                    // goes well.
                    self.state.numbering.expect(replay.steps.len());
                }
                let run = ReplayRun::new(replay, last_code, purpose, out.clone());
                self.continue_replay(run.into());
            }
            Found::Variables { kept, file } => self.offer_variables(kept, file, out),
            Found::Session(found) => self.switch_session(*found, out),
            Found::Option { option, value } => self.state.turns.profile.choose(&option, &value),
            Found::RecordedCells { cells, beside } => self.find_missing_names(cells, beside, out),
        }
    }

    fn reset_conversation(&mut self, out: &RunSender) {
        self.state.turns.set_recorded_thread(None);
        self.io
            .record
            .set_thread(&self.state.choices.agent.to_string(), None);
        self.io.runtimes.user.set_last_exchange(None);
        let record = self.io.record.clone();
        self.await_effects(out, async move {
            let deleted = record.reset().await;
            // The number is there at the latest with the first row.
            let session = record.session().await.map_or(0, |start| start.number);
            let prompts = if deleted == 1 { "prompt" } else { "prompts" };
            let text = format!("Deleted {deleted} AI {prompts} from session {session}.");
            emit(TextEvent::Text(text))
        });
    }

    /// Connects this agent in place of the current one, even when it is the same; returns false when it cannot be
    /// connected. The next prompt seeds a thread from the record, as with any thread that does not hold the
    /// conversation.
    fn use_agent(&mut self, choice: AgentChoice, out: &RunSender) -> bool {
        let connect = match (self.io.deps.agents)(&choice) {
            Ok(connect) => connect,
            Err(report) => {
                out.send(report_notice(&report));
                return false;
            }
        };
        self.state.turns.agent_replaced();
        if let Some(old) = self.io.agent.replace(connect) {
            // Waits for the old agent's end outside of the loop; without a thread the loop has to wait.
            let _ = std::thread::Builder::new()
                .name("old agent".into())
                .spawn(move || drop(old));
        }
        let name = choice.to_string();
        self.io.record.set_thread(&name, None);
        let text = format!("agent is {name}");
        self.state.choices.agent = choice;
        out.send(TextEvent::Text(text));
        true
    }

    /// Continues in another session; interpreter, variables and choices stay.
    fn switch_session(
        &mut self,
        (taken, earlier): (SwitchedSession, Option<SessionTail>),
        out: &RunSender,
    ) {
        let SwitchedSession { start, thread } = taken;
        self.state.turns.set_recorded_thread(thread);
        self.state.skill_registry.clear_newly_loaded();
        self.end_all_kernels();
        self.io.outputs = self.io.outputs.anew();
        self.io.outputs.settle(&start);
        self.io
            .runtimes
            .know(&self.io.outputs.told_to_cells(&start));
        // Permissions belong to the session that is left.
        let allowed = std::mem::take(&mut self.state.approvals.grants);
        if allowed.ask_before_reset {
            self.state.choices.run_cells = RunCells::Ask;
        }
        let place = self
            .state
            .step_log
            .change(self.state.numbering.session(), start.number);
        self.io.runtimes.user.counts_in(place);
        self.state.numbering.on_change(start);
        if let Some(earlier) = earlier {
            let other = resume::other_agent(&earlier, &self.state.choices, &self.io.deps.missing);
            out.send(TextEvent::Earlier(Box::new(earlier)));
            other.into_iter().for_each(|notice| out.send(notice));
        }
        self.bring_back(out);
    }

    /// Undoes an exchange that has run cells, after asking the interpreter whether it can step back over them.
    fn undo(&mut self, request: UndoRequest, out: &RunSender) {
        let request = request.since(self.state.numbering.gone_before());
        if request.over.is_empty() || !self.io.runtimes.user.is_up() {
            let effects = undo::remove_exchange(&request);
            return self.run_effects(effects, out);
        }
        let told = self.ask_for(RuntimeRequest::Checkpoints(CheckpointRequest::List));
        self.await_effects(
            out,
            undo::on_checkpoints(told, self.state.step_log.sessions.clone(), request),
        );
    }

    /// Asks the user whether the interpreter steps back as well.
    fn offer_step_back(&mut self, request: UndoRequest, out: &RunSender) {
        if !self.io.deps.asks {
            let effects = undo::remove_exchange_only(&request, &undo::nobody_to_ask(&request));
            return self.run_effects(effects, out);
        }
        self.state
            .scheduler
            .start(ActiveJob::Command { firm: false }, out.clone());
        let about = QuestionSubject::StepBack {
            exchange: request.line,
            over: request.over.clone(),
        };
        self.ask_user(about, ApprovalRequester::Undo(request));
    }

    pub(crate) fn on_step_back_answer(&mut self, request: UndoRequest, reply: &Reply) {
        let Some(out) = self.state.scheduler.out().cloned() else {
            return;
        };
        self.state.scheduler.release();
        let why = match reply {
            Reply::Chosen(QuestionChoice::Once) => {
                let wish = self.state.step_log.sessions.back(request.first());
                let told = self.ask_for(RuntimeRequest::Checkpoints(wish));
                let done = undo::on_stepped(
                    told,
                    wish,
                    self.io.record.clone(),
                    self.state.step_log.sessions.clone(),
                    request,
                );
                return self.await_effects_as(ActiveJob::Command { firm: true }, &out, done);
            }
            Reply::Declined => undo::nobody_to_ask(&request),
            _ => String::new(),
        };
        self.run_effects(undo::remove_exchange_only(&request, &why), &out);
        self.raise(Event::Advance);
    }

    fn find_missing_names(&mut self, cells: Vec<RecordedCell>, beside: bool, out: &RunSender) {
        let Some(gone) = MissingNames::among(cells, self.state.numbering.gone_before()) else {
            return;
        };
        let told = self.ask_for(gone.request());
        match beside {
            true => self.spawn_effects(out, gone.said(told)),
            false => self.await_effects(out, gone.said(told)),
        }
    }

    /// As [`Session::await_effects`], outside of the queue.
    pub(crate) fn spawn_effects(
        &self,
        out: &RunSender,
        wait: impl Future<Output = Vec<Effect>> + Send + 'static,
    ) {
        let (inbox, out) = (self.io.inbox.clone(), out.clone());
        tokio::spawn(async move {
            // Fails when the session has ended.
            let _ = inbox.send(Command::RunEffects(wait.await, out));
        });
    }
}
