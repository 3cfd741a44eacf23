//! What the questions say is done: shown, recorded, delivered to whoever asked. And the question that a command asks:
//! whether the interpreter steps back with the exchange that is taken back.

use std::time::SystemTime;

use super::{Asker, AskingAction, AskingEvent};
use crate::runtime::{CheckpointWish, RuntimeRequest};
use crate::session::commands::undo;
use crate::session::events::{Notice, QuestionEvent};
use crate::session::floor::Holder;
use crate::session::prompt::PromptEvent;
use crate::session::question::{About, QuestionChoice, Reply};
use crate::session::run::RunSender;
use crate::session::taken_back::TakenBack;
use crate::session::task::Session;
use crate::session::toolbox::ToolEvent;

impl Session {
    /// Asks, now or after the questions before.
    pub(in crate::session) fn ask_user(&mut self, about: About, asker: Asker) {
        let line = self.floor.prompt().map_or(0, |prompt| prompt.line());
        let somebody = self.floor.asks(self.setup.asks);
        let caller = self.floor.caller().map(str::to_owned);
        self.on_asking(AskingEvent::Wanted {
            about,
            asker,
            caller,
            line,
            somebody,
        });
    }

    /// The user stopped what a command waits for: it may have been an answer.
    pub(in crate::session) fn stopped_waiting(&mut self, out: RunSender) {
        let about_project = self.asking.is_asked_by(&Asker::SetUp);
        // Whoever shows the question hears of its end.
        self.floor
            .give(Holder::Command { firm: false }, out.clone());
        self.on_asking(AskingEvent::TurnOver);
        self.floor.take_back();
        if about_project {
            self.without_project(out);
        } else {
            out.send(Notice::note("stopped waiting"));
        }
        self.free_floor(None);
    }

    /// Tells the questions, and does what they say.
    pub(in crate::session) fn on_asking(&mut self, event: AskingEvent) {
        for action in self.asking.on(event, SystemTime::now()) {
            self.do_asking(action);
        }
        if let Some(question) = self.asking.next(SystemTime::now()) {
            self.do_asking(question);
        }
    }

    fn do_asking(&mut self, action: AskingAction) {
        let out = self.out_or_background();
        match action {
            AskingAction::Show(question) => {
                self.tell_caller(QuestionEvent::Asked(question.clone()));
                out.send(QuestionEvent::Asked(question));
            }
            AskingAction::Over(id) => out.send(QuestionEvent::Over(id)),
            AskingAction::Note(line) => out.send(Notice::note(line)),
            AskingAction::Record(decided) => self.history.decided(decided),
            AskingAction::Deliver(
                Asker::Agent {
                    question, options, ..
                },
                reply,
            ) => {
                let answer = reply.for_agent(&options);
                self.on_prompt(PromptEvent::AgentAnswered(question, answer));
            }
            AskingAction::Deliver(Asker::Tool(by), reply) => {
                self.on_tool(by, ToolEvent::Replied(reply));
            }
            AskingAction::Deliver(Asker::Prompt, reply) => {
                let yes = reply == Reply::Chosen(QuestionChoice::Once);
                self.on_prompt(PromptEvent::WithoutPictures(yes));
            }
            AskingAction::Deliver(Asker::SetUp, reply) => self.project_answered(&reply),
            AskingAction::Deliver(Asker::TakesBack(taken), reply) => {
                self.step_answered(taken, &reply);
            }
            AskingAction::Deliver(Asker::BringsBack(file), reply) => {
                self.bring_answered(file, &reply);
            }
        }
    }
}

impl Session {
    /// Takes an exchange back that has run cells: the interpreter is asked whether it could step back.
    pub(in crate::session) fn take_back(&mut self, taken: TakenBack, out: &RunSender) {
        let taken = taken.since(self.numbering.gone_before());
        if taken.over.is_empty() || !self.runtimes.user.is_up() {
            return self.do_all(undo::deeds(&taken), out);
        }
        let told = self.ask_for(RuntimeRequest::Checkpoints(CheckpointWish::List));
        self.later(out, undo::offered(told, self.steps.sessions.clone(), taken));
    }

    /// The user is asked whether the interpreter steps back, too.
    pub(in crate::session) fn offer_step(&mut self, taken: TakenBack, out: &RunSender) {
        if !self.setup.asks {
            return self.do_all(undo::stays(&taken, &undo::nobody(&taken)), out);
        }
        self.floor
            .give(Holder::Command { firm: false }, out.clone());
        let about = About::StepBack {
            exchange: taken.line,
            over: taken.over.clone(),
        };
        self.ask_user(about, Asker::TakesBack(taken));
    }

    /// The user has answered.
    fn step_answered(&mut self, taken: TakenBack, reply: &Reply) {
        let Some(out) = self.floor.out().cloned() else {
            return;
        };
        self.floor.take_back();
        match reply {
            Reply::Chosen(QuestionChoice::Once) => {
                let wish = self.steps.sessions.back(taken.first());
                let told = self.ask_for(RuntimeRequest::Checkpoints(wish));
                let done = undo::stepped(
                    told,
                    wish,
                    self.history.clone(),
                    self.steps.sessions.clone(),
                    taken,
                );
                self.wait_as(Holder::Command { firm: true }, &out, done);
            }
            Reply::Declined => self.do_all(undo::stays(&taken, &undo::nobody(&taken)), &out),
            _ => self.do_all(undo::stays(&taken, ""), &out),
        }
        self.advance();
    }
}
