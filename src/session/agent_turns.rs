//! Carries out the effects of prompts on the record, the runtime and the agent.

use std::time::Instant;

use crate::agent::AgentEvent;
use crate::dialog::Dialog;
use crate::record::RecordedOutcome;
use crate::session::approvals::{ApprovalEvent, ApprovalRequester};
use crate::session::attachments::Attachments;
use crate::session::effect::Event;
use crate::session::event_loop::Session;
use crate::session::events::{Notice, TurnOutcome};
use crate::session::exact_log;
use crate::session::ids::JobId;
use crate::session::peers::RuntimeRequester;
use crate::session::prompt::{PromptContext, PromptEffect, PromptEvent, PromptOutcome, TurnEffect};
use crate::session::question::QuestionSubject;

impl Session {
    /// Takes the dialog that was read from the record for the prompt with this ticket.
    pub(super) fn on_read(&mut self, ticket: JobId, dialog: Box<Dialog>, attached: Attachments) {
        if self.state.scheduler.is_current(ticket) {
            self.state.skill_registry.scan_conversation(&dialog);
            self.on_prompt(PromptEvent::RecordRead(dialog, attached));
        }
    }

    /// Forwards an event to the prompt with this ticket; drops the event when that prompt is no longer active.
    pub(super) fn on_prompt_of(&mut self, ticket: JobId, event: PromptEvent) {
        if self.state.scheduler.is_current(ticket) {
            self.on_prompt(event);
        }
    }

    pub(super) fn on_prompt(&mut self, event: PromptEvent) {
        let (turns, setup, choices) = (&self.state.turns, &self.io.deps, &self.state.choices);
        let (user, skills) = (&self.io.runtimes.user, &self.state.skill_registry);
        let around = PromptContext {
            now: Instant::now(),
            outputs: &self.io.outputs,
            skills: skills.newly_loaded(),
            runtime: user.able(),
        };
        let (cwd, agent) = (&self.state.cwd, &mut self.io.agent);
        let Some(prompt) = self.state.scheduler.prompt() else {
            return;
        };
        let actions = prompt.on(event, &around, move || {
            turns.context(
                agent.get().capabilities(),
                setup,
                choices,
                user,
                skills,
                cwd,
            )
        });
        self.io.outputs.save(self.state.out_or_background());
        for action in actions {
            self.run_prompt_action(action);
        }
    }

    fn run_prompt_action(&mut self, action: PromptEffect) {
        match action {
            PromptEffect::Show(event) => {
                let event = self.state.cell_calls.map_event(event);
                self.publish(event);
            }
            PromptEffect::WarnUnsupported(lines) => {
                for (what, line) in lines {
                    if self.state.turns.reported_missing.insert(what) {
                        self.publish([Notice::note(line)]);
                    }
                }
            }
            PromptEffect::AskRuntime(request) => {
                if let Some(ticket) = self.state.scheduler.ticket() {
                    self.ask_runtime(request, RuntimeRequester::Prompt(ticket));
                }
            }
            PromptEffect::AskAboutPictures(lost) => {
                self.ask_user(QuestionSubject::Pictures(lost), ApprovalRequester::Prompt);
            }
            PromptEffect::WithdrawPictureQuestion => {
                self.on_approval(ApprovalEvent::Cancelled(ApprovalRequester::Prompt))
            }
            PromptEffect::InterruptRuntime => {
                let told = self.interrupt_code();
                self.publish(told);
            }
            PromptEffect::RecordStart(start) => {
                self.io.turn = Some(self.io.record.begin_prompt(start));
                self.state.skill_registry.clear_newly_loaded();
            }
            PromptEffect::StartTurn(request) => {
                self.set_offered_tools(&request.tools);
                self.state.turns.running = Some(self.io.agent.get().start(*request));
            }
            PromptEffect::Turn(action) => self.run_turn_action(action),
            PromptEffect::SaveAnswer(stored) => {
                if let Some(key) = self.io.turn {
                    self.io.record.stream_answer(key, &stored);
                }
            }
            PromptEffect::CancelTools => {
                self.refuse_inside_calls();
                self.on_approval(ApprovalEvent::TurnOver);
                self.on_agent_code_end();
                if self.state.tool_runner.cancel() {
                    self.release_kernel();
                    self.raise(Event::Prompt(PromptEvent::ToolsStopped));
                }
            }
            PromptEffect::RecordEnd(finished) => self.finish_exchange(*finished),
            PromptEffect::Done => {
                self.end_branch();
                self.finish_current();
            }
        }
    }

    fn run_turn_action(&mut self, action: TurnEffect) {
        match action {
            TurnEffect::Show(event) => {
                self.state.out_or_background().send(event);
            }
            TurnEffect::CallTool(call) => self.call_tool(call),
            TurnEffect::Ask(question) => {
                let asker = ApprovalRequester::Agent {
                    question: question.id,
                    options: question.options,
                    reasons: question.accepts_reason,
                };
                self.ask_user(QuestionSubject::Agent(question.subject), asker);
            }
            TurnEffect::WithdrawQuestion(question) => {
                self.on_approval(ApprovalEvent::Withdrawn { question })
            }
            TurnEffect::InterruptTool => {
                if self.state.tool_runner.is_running() {
                    let told = self.interrupt_code();
                    self.publish(told);
                }
            }
            TurnEffect::Reply(reply) => {
                if let (Some(reply), Some(turn)) =
                    (self.route_reply(reply), self.state.turns.running)
                {
                    self.io.agent.get().reply(turn, reply);
                }
            }
            TurnEffect::CancelAgent => {
                if let Some(turn) = self.state.turns.running.take() {
                    self.io.agent.get().cancel(turn);
                    self.state.turns.cancelling = Some(turn);
                }
            }
            TurnEffect::End(_) => unreachable!("the prompt takes the end of its turn itself"),
        }
    }

    pub(super) fn on_agent(&mut self, event: AgentEvent) {
        if let AgentEvent::Update(news) = event {
            let line = self.state.turns.profile.take(news);
            return self.publish(line.map(Notice::note));
        }
        let turn = event.turn();
        let over = matches!(
            event,
            AgentEvent::Finished { .. } | AgentEvent::Failed { .. }
        );
        if turn.is_some() && self.state.turns.cancelling == turn {
            if over {
                self.state.turns.cancelling = None;
                self.on_prompt(PromptEvent::AgentIdle);
            }
        } else if turn.is_some() && self.state.turns.running == turn {
            if over {
                self.state.turns.running = None;
            }
            self.on_prompt(PromptEvent::Agent(event));
        }
    }

    /// Records and logs the finished exchange, and publishes it to the interpreter.
    fn finish_exchange(&mut self, finished: PromptOutcome) {
        let PromptOutcome {
            outcome,
            exchange,
            usage,
        } = finished;
        let Some(key) = self.io.turn.take() else {
            return;
        };
        let recorded = match outcome {
            TurnOutcome::Complete => RecordedOutcome::Complete,
            TurnOutcome::Interrupted => RecordedOutcome::Interrupted,
            TurnOutcome::Failed(_) => RecordedOutcome::Failed,
        };
        let Some(exchange) = exchange else {
            return self.io.record.finish_prompt(key, recorded, "", usage);
        };
        self.state.cell_calls.set_answer(&exchange.texts);
        let stored = exchange.stored;
        self.io.record.finish_prompt(key, recorded, &stored, usage);
        // After anything but a whole answer the thread no longer equals the record: the next turn seeds a new one.
        self.state.turns.set_thread(exchange.thread.clone());
        let agent = self.state.choices.agent.to_string();
        self.io.record.set_thread(&agent, exchange.thread);
        if recorded == RecordedOutcome::Failed {
            return;
        }
        if let Some(sent) = exchange.sent {
            let (path, session) = (
                self.io.deps.exact_log.clone(),
                self.state.numbering.session(),
            );
            let out = self.state.out_or_background().clone();
            exact_log::append(path, session, &sent, &stored, out);
        }
        self.io
            .runtimes
            .user
            .set_last_exchange(Some((exchange.prompt, stored)));
    }
}
