//! Carries out the effects of approvals: shows, records and delivers them; asks the user whether the interpreter
//! steps back when an exchange is undone.

use std::time::SystemTime;

use super::{ApprovalEffect, ApprovalEvent, ApprovalRequester};
use crate::commands::undo;
use crate::event_loop::Session;
use crate::events::{Notice, QuestionEvent};
use crate::prompt::PromptEvent;
use crate::question::{QuestionChoice, QuestionSubject, Reply};
use crate::run::RunSender;
use crate::runtime::{CheckpointRequest, RuntimeRequest};
use crate::scheduler::ActiveJob;
use crate::tools::ToolEvent;
use crate::undo::UndoRequest;

impl Session {
    /// Queues a question for the user; shows it when those before it are answered.
    pub(crate) fn ask_user(&mut self, about: QuestionSubject, asker: ApprovalRequester) {
        let line = self.scheduler.prompt().map_or(0, |prompt| prompt.line());
        let can_ask = self.scheduler.asks(self.deps.asks);
        let caller = self.scheduler.caller().map(str::to_owned);
        self.on_approval(ApprovalEvent::Requested {
            about,
            asker,
            caller,
            line,
            can_ask,
        });
    }

    /// Ends a wait that the user stopped, and withdraws its question if there is one.
    pub(crate) fn on_wait_stopped(&mut self, out: RunSender) {
        let about_project = self.approvals.is_asked_by(&ApprovalRequester::Startup);
        // The front-end that shows the question must get its end.
        self.scheduler
            .start(ActiveJob::Command { firm: false }, out.clone());
        self.on_approval(ApprovalEvent::TurnOver);
        self.scheduler.release();
        if about_project {
            self.set_up_without_project(out);
        } else {
            out.send(Notice::note("stopped waiting"));
        }
        self.free_floor(None);
    }

    pub(crate) fn on_approval(&mut self, event: ApprovalEvent) {
        for action in self.approvals.on(event, SystemTime::now()) {
            self.run_approval_effect(action);
        }
        if let Some(question) = self.approvals.next(SystemTime::now()) {
            self.run_approval_effect(question);
        }
    }

    fn run_approval_effect(&mut self, action: ApprovalEffect) {
        let out = self.out_or_background();
        match action {
            ApprovalEffect::Show(question) => {
                self.notify_caller(QuestionEvent::Asked(question.clone()));
                out.send(QuestionEvent::Asked(question));
            }
            ApprovalEffect::Close(id) => out.send(QuestionEvent::Over(id)),
            ApprovalEffect::Note(line) => out.send(Notice::note(line)),
            ApprovalEffect::Record(decided) => self.record.record_decision(decided),
            ApprovalEffect::Deliver(
                ApprovalRequester::Agent {
                    question, options, ..
                },
                reply,
            ) => {
                let answer = reply.for_agent(&options);
                self.on_prompt(PromptEvent::AgentQuestionAnswered(question, answer));
            }
            ApprovalEffect::Deliver(ApprovalRequester::Tool(by), reply) => {
                self.on_tool_event(by, ToolEvent::UserReplied(reply));
            }
            ApprovalEffect::Deliver(ApprovalRequester::Prompt, reply) => {
                let yes = reply == Reply::Chosen(QuestionChoice::Once);
                self.on_prompt(PromptEvent::PictureQuestionAnswered(yes));
            }
            ApprovalEffect::Deliver(ApprovalRequester::Startup, reply) => {
                self.on_project_answer(&reply)
            }
            ApprovalEffect::Deliver(ApprovalRequester::Undo(request), reply) => {
                self.on_step_back_answer(request, &reply);
            }
            ApprovalEffect::Deliver(ApprovalRequester::RestoreVariables(file), reply) => {
                self.on_restore_answer(file, &reply);
            }
        }
    }
}

impl Session {
    /// Undoes an exchange that has run cells, after asking the interpreter whether it can step back over them.
    pub(crate) fn undo(&mut self, request: UndoRequest, out: &RunSender) {
        let request = request.since(self.numbering.gone_before());
        if request.over.is_empty() || !self.runtimes.user.is_up() {
            return self.run_effects(undo::remove_exchange(&request), out);
        }
        let told = self.ask_for(RuntimeRequest::Checkpoints(CheckpointRequest::List));
        self.await_effects(
            out,
            undo::on_checkpoints(told, self.step_log.sessions.clone(), request),
        );
    }

    /// Asks the user whether the interpreter steps back as well.
    pub(crate) fn offer_step_back(&mut self, request: UndoRequest, out: &RunSender) {
        if !self.deps.asks {
            return self.run_effects(
                undo::remove_exchange_only(&request, &undo::nobody_to_ask(&request)),
                out,
            );
        }
        self.scheduler
            .start(ActiveJob::Command { firm: false }, out.clone());
        let about = QuestionSubject::StepBack {
            exchange: request.line,
            over: request.over.clone(),
        };
        self.ask_user(about, ApprovalRequester::Undo(request));
    }

    fn on_step_back_answer(&mut self, request: UndoRequest, reply: &Reply) {
        let Some(out) = self.scheduler.out().cloned() else {
            return;
        };
        self.scheduler.release();
        match reply {
            Reply::Chosen(QuestionChoice::Once) => {
                let wish = self.step_log.sessions.back(request.first());
                let told = self.ask_for(RuntimeRequest::Checkpoints(wish));
                let done = undo::on_stepped(
                    told,
                    wish,
                    self.record.clone(),
                    self.step_log.sessions.clone(),
                    request,
                );
                self.await_effects_as(ActiveJob::Command { firm: true }, &out, done);
            }
            Reply::Declined => self.run_effects(
                undo::remove_exchange_only(&request, &undo::nobody_to_ask(&request)),
                &out,
            ),
            _ => self.run_effects(undo::remove_exchange_only(&request, ""), &out),
        }
        self.advance();
    }
}
