//! `%ipycodex` in the loop: carries out commands.
//!
//! A command that needs the record or the agent is the active job until the answer is there, so the next input
//! finds the command done. The wait returns [`Effect`]s, which the loop runs. Ctrl-C stops the wait, never a
//! command that is being carried out.

mod agent;
mod look_back;
mod notebooks;
mod output;
pub(super) mod plan;
pub(super) mod replace;
pub(super) mod rewind;
mod sessions;
mod settings;
mod steps;
pub(super) mod turns;
pub(super) mod undo;

use serde_json::Value;

use steps::StepScope;

use crate::LoadRequest;
use crate::approvals::ApprovalPolicy;
use crate::branches;
use crate::config::{AgentChoice, Choices, RewindFiles};
use crate::editor::{EditorRequest, SessionPick};
use crate::effect::{Effect, Event, Found, RecordWrite, To, emit};
use crate::events::{Notice, TextEvent, report_notice};
use crate::jobs;
use crate::loading::{self, with_suffix};
use crate::magics::{MagicContext, MagicEffect, PlanCommand, format_session_value};
use crate::prompt::{Preview, Prompt};
use crate::record::RecordedThreads;
use crate::resume;
use crate::run::RunSender;
use crate::runtime::RuntimeRequest;
use crate::step::Step;
use crate::text::escape::visible;
use crate::undo::UndoFollowUp;
use crate::variables;

pub(super) use agent::model_names;
pub use sessions::listing;
pub(super) use sessions::{find_missing_names, recorded_sessions, switch};

/// Runs a command; `line` is the text after `%ipycodex`.
pub(super) fn run(step: &mut Step<'_>, line: &str, number: u32, out: &RunSender) {
    let able = step.ctx.agent().capabilities();
    let view = MagicContext {
        choices: &step.state.choices,
        provenance: &step.ctx.deps.provenance,
        keys: &step.ctx.deps.keys,
        agent: &able,
    };
    match crate::magics::run(line, &view) {
        Err(line) => step.send(out, Notice::warning(line)),
        Ok(orders) => {
            for order in orders {
                run_order(step, order, number, out);
            }
        }
    }
}

fn run_order(step: &mut Step<'_>, order: MagicEffect, number: u32, out: &RunSender) {
    if order.leaves_session()
        && let Some(why) = branches::driver::why_stay(step)
    {
        return step.send(out, why);
    }
    let record = step.ctx.record.clone();
    let places = (&step.ctx.deps.notebooks, step.state.cwd.as_path());
    match order {
        MagicEffect::Print(text) => step.send(out, TextEvent::Text(text)),
        MagicEffect::Note(text) => step.send(out, Notice::note(text)),
        MagicEffect::SaveSetting { name, value } => {
            let agents = &step.ctx.deps.agents;
            if let Some(trouble) = settings::no_such_agent(agents, name, value.as_ref()) {
                return step.send(out, report_notice(&trouble));
            }
            let kept = settings::keep(step.ctx.deps.config_file.clone(), name, value);
            step.wait_firmly(out, kept);
        }
        MagicEffect::ChangeServer { name, command } => {
            let kept = settings::change_server(step.ctx.deps.config_file.clone(), name, command);
            step.wait_firmly(out, kept);
        }
        MagicEffect::ShowPage(page) => step.send(out, TextEvent::Help(page)),
        MagicEffect::ListThemes(in_force) => {
            request_editor(step, EditorRequest::ShowThemes(in_force), out)
        }
        MagicEffect::UseAgent(choice) => {
            let note = format_session_value("agent", &choice.to_string());
            if use_agent(step, choice, out) {
                step.send(out, Notice::note(note));
            }
        }
        MagicEffect::DescribeAgent => {
            let told = step.state.turns.profile.listing();
            if !told.is_empty() {
                step.send(out, TextEvent::Text(told));
            }
            if let Some(kept) = agent::list_kept(&mut *step.ctx.agent()) {
                step.wait(out, kept);
            }
        }
        MagicEffect::ChooseOption { name, value } => {
            let profile = &step.state.turns.profile;
            let chosen = agent::choose_option(&mut *step.ctx.agent(), profile, name, value);
            match chosen {
                Ok(chosen) => step.wait(out, chosen),
                Err(told) => step.extend_for(told, out),
            }
        }
        MagicEffect::ApplyChoices(choices) => choose(step, *choices),
        MagicEffect::ListModels(current) => {
            let listed = agent::list_models(&mut *step.ctx.agent(), current);
            step.wait(out, listed);
        }
        MagicEffect::CheckModel(name) => {
            let checked = agent::check_model(&mut *step.ctx.agent(), name);
            step.wait(out, checked);
        }
        MagicEffect::Reset => reset_conversation(step, out),
        MagicEffect::ListSessions => {
            let cwd = step.state.cwd.clone();
            step.wait(out, async move {
                let rows = recorded_sessions(record, cwd, false).await;
                emit(TextEvent::Text(listing(&rows)))
            });
        }
        MagicEffect::Preview(shown) => {
            // An empty prompt takes every step but the last, the sending.
            let prompt = Prompt::new(number, String::new(), String::new(), step.ctx.now);
            jobs::begin_prompt(step, prompt.previewing(Preview::new(shown)), out);
        }
        MagicEffect::Hide { lines, hidden } => {
            let only = lines.first().filter(|_| lines.len() == 1 && !hidden);
            let only = only.map(|range| *range.start());
            match only.filter(|line| step.state.branches.knows(*line)) {
                Some(line) if branches::driver::watch(step, line, out) => return,
                Some(line) => return step.wait(out, turns::show_cell(record, line, number)),
                None => {}
            }
            step.wait(out, turns::hide(record, lines, hidden, number));
        }
        MagicEffect::Compact(keep) => step.wait(out, turns::compact(record, keep)),
        MagicEffect::EditPrompt(line) => step.wait(out, replace::edit(record, line)),
        MagicEffect::ForkSession(before) => {
            step.wait(out, replace::fork(record, before, number));
        }
        MagicEffect::Undo => {
            let ran_for = step.state.step_log.ran_for.clone();
            let sessions = step.state.step_log.sessions.clone();
            step.wait(
                out,
                undo::undo_last(record, UndoFollowUp::Nothing, ran_for, sessions),
            );
        }
        MagicEffect::Retry => {
            let ran_for = step.state.step_log.ran_for.clone();
            let sessions = step.state.step_log.sessions.clone();
            step.wait(
                out,
                undo::undo_last(record, UndoFollowUp::Resend, ran_for, sessions),
            );
        }
        MagicEffect::Copy(copied) => step.wait(out, turns::copy(record, copied, number)),
        MagicEffect::ShowHistory => step.wait(out, turns::show_history(record)),
        MagicEffect::Save { file, force } => {
            let saved = notebooks::save(record, file, force, places, out.clone());
            step.wait(out, saved);
        }
        MagicEffect::LoadFile(name) => {
            let shown = with_suffix(&name);
            let loading = LoadRequest {
                path: step.ctx.deps.notebooks.file(&shown, &step.state.cwd),
                shown,
                startup: false,
            };
            let language = step.ctx.user().able().language.clone();
            step.wait(out, loading::load(loading, record, language, out.clone()));
        }
        MagicEffect::OpenNotebook(name) => {
            match notebooks::open(step.ctx.workbook, &name, places) {
                Ok(opening) => step.wait(out, opening),
                Err(why) => step.send(out, why),
            }
        }
        MagicEffect::EditCell(number) => match notebooks::bring(step.ctx.workbook, number) {
            Ok(looked) => step.wait(out, looked),
            Err(why) => step.send(out, why),
        },
        MagicEffect::CloseNotebook => step.push_for(Effect::CloseNotebook(To::Job), out),
        MagicEffect::Export { file, force } => {
            let exported = notebooks::export(record, file, force, places, out.clone());
            step.wait(out, exported);
        }
        MagicEffect::ShowOutput(id) => {
            step.wait(out, output::show(step.ctx.outputs.clone(), id));
        }
        MagicEffect::ListSkills => {
            let found = step.state.skill_registry.ready();
            step.wait(out, async move {
                found.await;
                vec![Effect::found(Found::Skills(Box::new(
                    record.dialog().await,
                )))]
            });
        }
        MagicEffect::ShowUsage => {
            let told = agent::show_usage(&mut *step.ctx.agent(), record);
            step.wait(out, told);
        }
        MagicEffect::Login(method) => {
            let done = agent::log_in(&mut *step.ctx.agent(), method);
            step.wait(out, done);
        }
        MagicEffect::PickSession => {
            let cwd = step.state.cwd.clone();
            step.wait(out, async move {
                let current = record.session().await.map_or(0, |start| start.number);
                let pick = EditorRequest::PickSession(SessionPick { current, cwd });
                vec![Effect::RequestEditor(To::Job, pick)]
            });
        }
        MagicEffect::Resume(wanted) => {
            let kept = variables::keep(step);
            let found = resume::change_session(record, step.ctx.outputs.clone(), wanted);
            let done = variables::join(kept, found);
            step.wait_firmly(out, done);
        }
        MagicEffect::NewSession(name) => {
            let kept = variables::keep(step);
            let begun = resume::begin_session(record, step.ctx.outputs.clone(), name);
            let done = variables::join(kept, begun);
            step.wait_firmly(out, done);
        }
        MagicEffect::Replay(again) => {
            let gone_before = step.state.numbering.gone_before();
            step.wait(out, resume::run_again(record, again, number, gone_before));
        }
        MagicEffect::Rename(name) => {
            step.push(Effect::Record(RecordWrite::Rename(name.clone())));
            step.wait(out, async move {
                let session = record.session().await.map_or(0, |start| start.number);
                emit(TextEvent::Text(format!(
                    "Session {session} is named `{name}`."
                )))
            });
        }
        MagicEffect::TogglePrompts => request_editor(step, EditorRequest::TogglePrompts, out),
        MagicEffect::ToggleShell => request_editor(step, EditorRequest::ToggleShell, out),
        MagicEffect::Step(steps) => {
            let wish = steps::request(steps, &step.state.step_log.sessions);
            let told = step.ask_runtime(RuntimeRequest::Checkpoints(wish));
            let sessions = step.state.step_log.sessions.clone();
            let files = step.files();
            let done = steps::on_answer(told, wish, record, sessions, files, StepScope::Cells);
            step.wait_firmly(out, done);
        }
        MagicEffect::Changes(line) => rewind::list(step, line, out),
        MagicEffect::Allowed(revoked) => allowed(step, revoked, out),
        MagicEffect::Plan(PlanCommand::Switch(on)) => plan::switch(step, on, out),
        MagicEffect::Plan(PlanCommand::Act) => step.wait(out, plan::find(record)),
        MagicEffect::LookBack(wish) => look_back::begin(step, wish, number, out),
        MagicEffect::Aside(prompt) => branches::aside::begin(step, prompt, number),
        MagicEffect::ListJobs => branches::driver::list(step, out),
        MagicEffect::Wait(line) => branches::driver::wait(step, line, out),
        MagicEffect::AnswerCell(line, text) => branches::driver::answer(step, line, &text, out),
        MagicEffect::KillCell(line) => branches::driver::kill(step, line, out),
        MagicEffect::MergeCell(line) => branches::driver::merge(step, line, out),
        MagicEffect::Interrupt if step.state.scheduler.active().is_some() => {
            step.raise(Event::Interrupted)
        }
        MagicEffect::Interrupt => step.send(out, Notice::note("nothing is running")),
        MagicEffect::RestartRuntime => step.push_for(Effect::RestartRuntime(To::Job), out),
    }
}

/// Lists the lasting approvals, or revokes one.
fn allowed(step: &mut Step<'_>, revoked: Option<usize>, out: &RunSender) {
    let lasting = &step.ctx.deps.lasting;
    let told = match revoked {
        None => lasting.listing(step.ctx.at),
        Some(number) => lasting.revoke(number).map(|covered| {
            let (text, directory) = (visible(covered.text()), visible(&covered.directory));
            format!("Revoked: {text} in {directory}")
        }),
    };
    match told {
        Ok(text) => step.send(out, TextEvent::Text(text)),
        Err(why) => step.send(out, Notice::warning(why)),
    }
}

fn request_editor(step: &mut Step<'_>, request: EditorRequest, out: &RunSender) {
    step.push_for(Effect::RequestEditor(To::Job, request), out);
}

fn choose(step: &mut Step<'_>, choices: Choices) {
    step.push(Effect::KeepCheckpoints(choices.checkpoints));
    let keeps = choices.rewind_files != RewindFiles::Off;
    step.push(Effect::KeepFiles(keeps, step.state.cwd.clone()));
    let state = &mut *step.state;
    let mut policy = ApprovalPolicy {
        run_cells: &mut state.choices.run_cells,
        grants: &mut state.approvals.grants,
        can_ask: false,
    };
    policy.choose(choices.run_cells);
    state.choices = choices;
}

/// Puts a written setting into force, if that is possible before the next start.
pub(super) fn apply_setting(
    step: &mut Step<'_>,
    name: &'static str,
    value: &Value,
    out: &RunSender,
) {
    match settings::in_force(&step.state.choices, name, value) {
        None => step.send(out, Notice::note("it applies from the next start")),
        Some(choices) if name == "agent" => drop(use_agent(step, choices.agent, out)),
        Some(choices) => choose(step, choices),
    }
}

fn reset_conversation(step: &mut Step<'_>, out: &RunSender) {
    step.state
        .turns
        .set_recorded_threads(RecordedThreads::default());
    let agent = step.state.choices.agent.to_string();
    forget_thread(step, agent);
    step.push(Effect::PublishExchange(None));
    let record = step.ctx.record.clone();
    step.wait(out, async move {
        let deleted = record.reset().await;
        // The number is there at the latest with the first row.
        let session = record.session().await.map_or(0, |start| start.number);
        let prompts = if deleted == 1 { "prompt" } else { "prompts" };
        let text = format!("Deleted {deleted} AI {prompts} from session {session}.");
        emit(TextEvent::Text(text))
    });
}

fn forget_thread(step: &mut Step<'_>, agent: String) {
    let thread = None;
    step.push(Effect::Record(RecordWrite::Thread { agent, thread }));
}

/// Connects this agent in place of the current one, even when it is the same; returns false when it cannot be
/// connected. The next prompt seeds a thread from the record, as with any thread that does not hold the conversation.
fn use_agent(step: &mut Step<'_>, choice: AgentChoice, out: &RunSender) -> bool {
    let connect = match (step.ctx.deps.agents)(&choice) {
        Ok(connect) => connect,
        Err(report) => {
            step.send(out, report_notice(&report));
            return false;
        }
    };
    step.state.turns.agent_replaced();
    step.push(Effect::ReplaceAgent(connect));
    let name = choice.to_string();
    step.send(out, TextEvent::Text(format!("agent is {name}")));
    forget_thread(step, name);
    step.state.choices.agent = choice;
    true
}
