//! Before a prompt is sent: its tools are looked up, then what it refers to is evaluated.
//!
//! In: the conversation as the record has it, answers of the runtime. Out: a turn that begins (`exchange.rs`), or the
//! prompt back in the editor with one line that says why. Invariants: nothing is sent and nothing recorded here; no
//! command runs for a prompt that is refused; what is missing and not demanded stops nothing.

use crate::agent::ToolSpec;
use crate::dialog::Dialog;
use crate::runtime::{Answer, RequestId, RuntimeRequest};
use crate::session::events::{AnswerEvent, Notice, SessionEvent};
use crate::session::expand::{Mentioned, error_asked_for};
use crate::session::prompt::{Phase, PromptRun};
use crate::session::task::Session;
use crate::session::tools::Offered;

impl Session {
    /// The conversation has been read: looks the tools up, or goes on when there are none.
    pub(super) fn on_record_read(&mut self, mut dialog: Dialog) {
        let Some(mut prompt) = self.take_prompt() else {
            return;
        };
        if !matches!(prompt.phase, Phase::Reading) {
            self.keep_prompt(prompt);
            return;
        }
        if let Some(replaced) = &prompt.replaces {
            dialog.hide(replaced, true);
        }
        self.outputs.keep_cells(&dialog);
        self.save_outputs();
        let offered = match Offered::of(&prompt.text, &dialog) {
            Ok(offered) => offered,
            Err(line) => return self.refuse(&prompt, line),
        };
        let names = offered.names();
        if names.is_empty() {
            return self.evaluate(prompt, Box::new(dialog), Vec::new());
        }
        let id = self
            .connected_runtime()
            .submit(RuntimeRequest::DescribeTools { names });
        prompt.phase = Phase::LookingUp {
            id,
            dialog: Box::new(dialog),
            offered,
        };
        self.keep_prompt(prompt);
    }

    /// The prompt is not sent; it goes back to the editor.
    fn refuse(&mut self, prompt: &PromptRun, line: String) {
        let notice = SessionEvent::Notice(Notice::warning(line));
        prompt.out().send(notice);
        prompt.give_back();
        self.finish_current();
    }

    /// The tools are known: what the prompt refers to is evaluated, or the turn begins when that is nothing.
    fn evaluate(&mut self, mut prompt: Box<PromptRun>, dialog: Box<Dialog>, tools: Vec<ToolSpec>) {
        let mentioned = Mentioned::of(&prompt.text, &dialog, &self.exchanges.loaded);
        prompt.expansion.xml = error_asked_for(&prompt.text, &dialog);
        if let Some(preview) = &mut prompt.preview {
            preview.leaves_out(&mentioned.variables, &mentioned.shells);
            return self.begin_turn(prompt, &dialog, tools);
        }
        if mentioned.is_empty() {
            return self.begin_turn(prompt, &dialog, tools);
        }
        for (n, command) in mentioned.shells.iter().enumerate() {
            let (id, command) = (shell_event(n), command.clone());
            let started = AnswerEvent::CommandStarted { id, command };
            prompt.out().send(SessionEvent::Answer(started));
        }
        let id = self.connected_runtime().submit(RuntimeRequest::Evaluate {
            variables: mentioned.variables.clone(),
            shells: mentioned.shells.clone(),
        });
        prompt.phase = Phase::Evaluating {
            id,
            dialog,
            tools,
            mentioned,
        };
        self.keep_prompt(prompt);
    }

    /// What the prompt refers to has been evaluated, or could not be: the turn begins.
    fn evaluated(&mut self, prompt: &mut PromptRun, mentioned: &Mentioned, answer: Answer) {
        if let Answer::Evaluated { shells, .. } = &answer {
            for (n, (command, output)) in mentioned.shells.iter().zip(shells).enumerate() {
                let ran = AnswerEvent::CommandRan {
                    id: shell_event(n),
                    command: command.clone(),
                    exit_code: None,
                    output: output.clone(),
                };
                prompt.out().send(SessionEvent::Answer(ran));
            }
        }
        let (expansion, notices) = mentioned.expanded(answer, &self.outputs, prompt.line);
        self.save_outputs();
        for notice in notices {
            prompt.out().send(SessionEvent::Notice(notice));
        }
        let error = std::mem::replace(&mut prompt.expansion, expansion);
        prompt.expansion.xml.push_str(&error.xml);
    }

    /// An answer of the runtime to a prompt that has not been sent yet: its tools, or the values it refers to.
    pub(super) fn on_prompt_answer(&mut self, id: RequestId, answer: Answer) {
        let Some(mut prompt) = self.take_prompt() else {
            return;
        };
        match prompt.phase {
            Phase::LookingUp {
                id: asked,
                dialog,
                offered,
            } if asked == id => {
                prompt.phase = Phase::Reading;
                let found = match answer {
                    Answer::Tools(found) => offered.resolve(found),
                    // Those of other sources are offered when they can be had.
                    _ if !offered.is_demanded() => Ok(Vec::new()),
                    Answer::Failed(why) => Err(why),
                    _ => Err("the interpreter did not say what the tools are".to_owned()),
                };
                match found {
                    Ok(tools) => self.evaluate(prompt, dialog, tools),
                    Err(line) => self.refuse(&prompt, line),
                }
            }
            Phase::Evaluating {
                id: asked,
                dialog,
                tools,
                mentioned,
            } if asked == id => {
                prompt.phase = Phase::Reading;
                self.evaluated(&mut prompt, &mentioned, answer);
                self.begin_turn(prompt, &dialog, tools);
            }
            _ => self.keep_prompt(prompt),
        }
    }
}

/// Names the `n`th command of a prompt in events.
fn shell_event(n: usize) -> String {
    format!("shell-{n}")
}
