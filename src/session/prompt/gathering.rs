//! What a prompt needs before it can be sent: its tools looked up, what it refers to evaluated.
//!
//! Invariant: what the runtime cannot do is not asked of it; its refusal is taken as the answer.

use super::expand::{Mentioned, error_asked_for};
use super::offered::Offered;
use super::{Around, Prompt, PromptAction, State, show};
use crate::agent::ToolSpec;
use crate::dialog::Dialog;
use crate::runtime::{RuntimeAnswer, RuntimeRequest};
use crate::session::events::{AnswerEvent, SessionEvent};

impl Prompt {
    /// The conversation has been read: the tools are looked up, or it goes on when there are none.
    pub(super) fn on_record(
        &mut self,
        mut dialog: Box<Dialog>,
        around: &Around<'_>,
    ) -> Vec<PromptAction> {
        if let Some(replaced) = &self.replaces {
            dialog.hide(replaced, true);
        }
        around.outputs.keep_cells(&dialog);
        let offered = match Offered::of(&self.text, &dialog) {
            Ok(offered) => offered,
            Err(line) => return self.refuse(line),
        };
        let names = offered.names();
        if names.is_empty() {
            return self.evaluate(dialog, Vec::new(), around);
        }
        let request = RuntimeRequest::DescribeTools { names };
        if let Some(answer) = around.able.refusal(&request) {
            return self.on_tools(dialog, &offered, answer, around);
        }
        self.state = State::LookingUp { dialog, offered };
        vec![PromptAction::AskRuntime(request)]
    }

    pub(super) fn on_tools(
        &mut self,
        dialog: Box<Dialog>,
        offered: &Offered,
        answer: RuntimeAnswer,
        around: &Around<'_>,
    ) -> Vec<PromptAction> {
        match offered.found(answer) {
            Ok(tools) => self.evaluate(dialog, tools, around),
            Err(line) => self.refuse(line),
        }
    }

    /// The tools are known: what the prompt refers to is evaluated, when that is anything.
    fn evaluate(
        &mut self,
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
        around: &Around<'_>,
    ) -> Vec<PromptAction> {
        let mentioned = Mentioned::of(&self.text, &dialog, around.skills);
        self.expansion.xml = error_asked_for(&self.text, &dialog);
        if let Some(preview) = &mut self.preview {
            preview.leaves_out(&mentioned.variables, &mentioned.shells);
        }
        if mentioned.is_empty() || self.preview.is_some() {
            return self.has_gathered(dialog, tools, Vec::new());
        }
        let request = RuntimeRequest::Evaluate {
            variables: mentioned.variables.clone(),
            shells: mentioned.shells.clone(),
        };
        if let Some(answer) = around.able.refusal(&request) {
            let actions = self.expand(&mentioned, answer, around);
            return self.has_gathered(dialog, tools, actions);
        }
        let started = mentioned.shells.iter().enumerate().map(|(n, command)| {
            show(AnswerEvent::CommandStarted {
                id: shell_event(n),
                command: command.clone(),
            })
        });
        let mut actions: Vec<PromptAction> = started.collect();
        actions.push(PromptAction::AskRuntime(request));
        self.state = State::Evaluating {
            dialog,
            tools,
            mentioned,
        };
        actions
    }

    /// What the prompt refers to has been evaluated, or could not be.
    pub(super) fn expand(
        &mut self,
        mentioned: &Mentioned,
        answer: RuntimeAnswer,
        around: &Around<'_>,
    ) -> Vec<PromptAction> {
        let mut actions = Vec::new();
        if let RuntimeAnswer::Evaluated { shells, .. } = &answer {
            let ran = mentioned.shells.iter().zip(shells).enumerate();
            actions.extend(ran.map(|(n, (command, output))| {
                show(AnswerEvent::CommandRan {
                    id: shell_event(n),
                    command: command.clone(),
                    exit_code: None,
                    output: output.clone(),
                })
            }));
        }
        let (expansion, notices) = mentioned.expanded(answer, around.outputs, self.line);
        let notices = notices.into_iter().map(SessionEvent::Notice);
        actions.extend(notices.map(PromptAction::Show));
        let error = std::mem::replace(&mut self.expansion, expansion);
        self.expansion.xml.push_str(&error.xml);
        actions
    }

    /// All that is needed is there.
    pub(super) fn has_gathered(
        &mut self,
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
        mut actions: Vec<PromptAction>,
    ) -> Vec<PromptAction> {
        self.state = State::Gathered { dialog, tools };
        actions.push(PromptAction::Gathered);
        actions
    }
}

/// Names the `n`th command of a prompt in events.
fn shell_event(n: usize) -> String {
    format!("shell-{n}")
}
