//! What the questions say is done: shown, recorded, delivered to whoever asked.

use std::time::SystemTime;

use super::{Asker, AskingAction, AskingEvent};
use crate::session::events::{Notice, QuestionEvent};
use crate::session::prompt::PromptEvent;
use crate::session::question::About;
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
            AskingAction::Deliver(Asker::Tool, reply) => self.on_tool(ToolEvent::Replied(reply)),
            AskingAction::Deliver(Asker::SetUp, reply) => self.project_answered(&reply),
        }
    }
}
