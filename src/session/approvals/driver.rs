//! Carries out the effects of approvals: shows, records and delivers them; asks the user whether the interpreter
//! steps back when an exchange is undone.

use std::time::SystemTime;

use super::{ApprovalEffect, ApprovalEvent, ApprovalRequester};
use crate::runtime::{CheckpointRequest, RuntimeRequest};
use crate::session::commands::undo;
use crate::session::event::Event;
use crate::session::event_loop::Session;
use crate::session::events::{Notice, QuestionEvent};
use crate::session::prompt::PromptEvent;
use crate::session::question::{QuestionChoice, QuestionSubject, Reply};
use crate::session::run::RunSender;
use crate::session::scheduler::ActiveJob;
use crate::session::tools::ToolEvent;
use crate::session::undo::UndoRequest;

impl Session {
    /// Queues a question for the user; shows it when those before it are answered.
    pub(in crate::session) fn ask_user(
        &mut self,
        about: QuestionSubject,
        asker: ApprovalRequester,
    ) {
        let line = self
            .state
            .scheduler
            .prompt()
            .map_or(0, |prompt| prompt.line());
        let can_ask = self.state.scheduler.asks(self.io.deps.asks);
        let caller = self.state.scheduler.caller().map(str::to_owned);
        self.on_approval(ApprovalEvent::Requested {
            about,
            asker,
            caller,
            line,
            can_ask,
        });
    }

    /// Ends a wait that the user stopped, and withdraws its question if there is one.
    pub(in crate::session) fn on_wait_stopped(&mut self, out: RunSender) {
        let about_project = self
            .state
            .approvals
            .is_asked_by(&ApprovalRequester::Startup);
        for closed in self
            .state
            .approvals
            .on(ApprovalEvent::TurnOver, SystemTime::now())
        {
            self.run_approval_effect(closed, &out);
        }
        if about_project {
            self.set_up_without_project(out);
        } else {
            out.send(Notice::note("stopped waiting"));
        }
        self.free_floor(None);
    }

    pub(in crate::session) fn on_approval(&mut self, event: ApprovalEvent) {
        let out = self.state.out_or_background().clone();
        let mut replied = false;
        for action in self.state.approvals.on(event, SystemTime::now()) {
            replied |= matches!(action, ApprovalEffect::Deliver(..));
            self.run_approval_effect(action, &out);
        }
        match replied {
            true => self.raise(Event::NextQuestion),
            false => self.show_next_question(),
        }
    }

    pub(in crate::session) fn show_next_question(&mut self) {
        if let Some(question) = self.state.approvals.next(SystemTime::now()) {
            let out = self.state.out_or_background().clone();
            self.run_approval_effect(question, &out);
        }
    }

    fn run_approval_effect(&mut self, action: ApprovalEffect, out: &RunSender) {
        match action {
            ApprovalEffect::Show(question) => {
                self.notify_caller(QuestionEvent::Asked(question.clone()));
                out.send(QuestionEvent::Asked(question));
            }
            ApprovalEffect::Close(id) => out.send(QuestionEvent::Over(id)),
            ApprovalEffect::Note(line) => out.send(Notice::note(line)),
            ApprovalEffect::Record(decided) => self.io.record.record_decision(decided),
            ApprovalEffect::Deliver(asker, reply) => self.raise(Event::Replied(asker, reply)),
        }
    }

    pub(in crate::session) fn on_reply(&mut self, asker: ApprovalRequester, reply: Reply) {
        match asker {
            ApprovalRequester::Agent {
                question, options, ..
            } => {
                let answer = reply.for_agent(&options);
                self.on_prompt(PromptEvent::AgentQuestionAnswered(question, answer));
            }
            ApprovalRequester::Tool(by) => self.on_tool_event(by, ToolEvent::UserReplied(reply)),
            ApprovalRequester::Prompt => {
                let yes = reply == Reply::Chosen(QuestionChoice::Once);
                self.on_prompt(PromptEvent::PictureQuestionAnswered(yes));
            }
            ApprovalRequester::Startup => self.on_project_answer(&reply),
            ApprovalRequester::Undo(request) => self.on_step_back_answer(request, &reply),
            ApprovalRequester::RestoreVariables(file) => self.on_restore_answer(file, &reply),
        }
    }
}

impl Session {
    /// Undoes an exchange that has run cells, after asking the interpreter whether it can step back over them.
    pub(in crate::session) fn undo(&mut self, request: UndoRequest, out: &RunSender) {
        let request = request.since(self.state.numbering.gone_before());
        if request.over.is_empty() || !self.io.runtimes.user.is_up() {
            let effects = undo::remove_exchange(&request);
            return self.raise(Event::Effects(effects, out.clone()));
        }
        let told = self.ask_for(RuntimeRequest::Checkpoints(CheckpointRequest::List));
        self.await_effects(
            out,
            undo::on_checkpoints(told, self.state.step_log.sessions.clone(), request),
        );
    }

    /// Asks the user whether the interpreter steps back as well.
    pub(in crate::session) fn offer_step_back(&mut self, request: UndoRequest, out: &RunSender) {
        if !self.io.deps.asks {
            let effects = undo::remove_exchange_only(&request, &undo::nobody_to_ask(&request));
            return self.raise(Event::Effects(effects, out.clone()));
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

    fn on_step_back_answer(&mut self, request: UndoRequest, reply: &Reply) {
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
        self.raise(Event::Effects(
            undo::remove_exchange_only(&request, &why),
            out,
        ));
        self.raise(Event::Advance);
    }
}
