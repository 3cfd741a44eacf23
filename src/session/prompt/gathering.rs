//! What a prompt needs before it can be sent: its tools looked up, what it refers to evaluated.
//!
//! Invariant: what the runtime cannot do is not asked of it; its refusal is taken as the answer.

use super::asked::Asked;
use super::event::{Around, PromptAction};
use super::expand::{Expanded, Mentioned, error_asked_for};
use super::offered::Offered;
use crate::agent::ToolSpec;
use crate::dialog::Dialog;
use crate::runtime::{RuntimeAnswer, RuntimeRequest};
use crate::session::events::{AnswerEvent, SessionEvent};

/// What is waited for.
pub(super) enum Gathering {
    /// The record is being read.
    Reading,
    /// The runtime looks the tools up.
    LookingUp {
        dialog: Box<Dialog>,
        offered: Offered,
    },
    /// The runtime evaluates what the prompt refers to.
    Evaluating {
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
        mentioned: Mentioned,
    },
    /// The user says whether it goes without its pictures.
    Doubtful {
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
        lost: Vec<String>,
    },
}

/// How far it is.
pub(super) enum Reached {
    /// This is still to come.
    Stage(Gathering),
    /// All that is needed is there.
    All {
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
    },
    /// It cannot be sent: why.
    Refused(String),
}

type Step = (Reached, Vec<PromptAction>);

impl Gathering {
    /// The conversation has been read: the tools are looked up, or it goes on when there are none.
    pub(super) fn on_record(
        self,
        dialog: Box<Dialog>,
        asked: &mut Asked,
        around: &Around<'_>,
    ) -> Step {
        let Gathering::Reading = self else {
            return (Reached::Stage(self), Vec::new());
        };
        around.outputs.keep_cells(&dialog);
        let offered = match Offered::of(&asked.referring(), &dialog) {
            Ok(offered) => offered,
            Err(line) => return (Reached::Refused(line), Vec::new()),
        };
        let names = offered.names();
        if names.is_empty() {
            return evaluate(dialog, Vec::new(), asked, around);
        }
        let request = RuntimeRequest::DescribeTools { names };
        let stage = Gathering::LookingUp { dialog, offered };
        match around.able.refusal(&request) {
            Some(answer) => stage.on_answer(answer, asked, around),
            None => (
                Reached::Stage(stage),
                vec![PromptAction::AskRuntime(request)],
            ),
        }
    }

    /// The runtime has answered what was asked last.
    pub(super) fn on_answer(
        self,
        answer: RuntimeAnswer,
        asked: &mut Asked,
        around: &Around<'_>,
    ) -> Step {
        match self {
            Gathering::Reading | Gathering::Doubtful { .. } => (Reached::Stage(self), Vec::new()),
            Gathering::LookingUp { dialog, offered } => match offered.found(answer) {
                Ok(tools) => evaluate(dialog, tools, asked, around),
                Err(line) => (Reached::Refused(line), Vec::new()),
            },
            Gathering::Evaluating {
                dialog,
                tools,
                mentioned,
            } => {
                let actions = expand(&mentioned, answer, asked, around);
                (Reached::All { dialog, tools }, actions)
            }
        }
    }
}

/// The tools are known: what the prompt refers to is evaluated, when that is anything.
fn evaluate(
    dialog: Box<Dialog>,
    tools: Vec<ToolSpec>,
    asked: &mut Asked,
    around: &Around<'_>,
) -> Step {
    let mentioned = Mentioned::of(&asked.referring(), &dialog, around.skills);
    asked.expansion.xml = error_asked_for(&asked.referring(), &dialog);
    if let Some(preview) = &mut asked.preview {
        preview.leaves_out(&mentioned.variables, &mentioned.shells);
    }
    if mentioned.is_empty() || asked.preview.is_some() {
        return (Reached::All { dialog, tools }, Vec::new());
    }
    let request = RuntimeRequest::Evaluate {
        variables: mentioned.variables.clone(),
        shells: mentioned.shells.clone(),
    };
    if let Some(answer) = around.able.refusal(&request) {
        let actions = expand(&mentioned, answer, asked, around);
        return (Reached::All { dialog, tools }, actions);
    }
    let started = mentioned.shells.iter().enumerate().map(|(n, command)| {
        show(AnswerEvent::CommandStarted {
            id: shell_event(n),
            command: command.clone(),
        })
    });
    let mut actions: Vec<PromptAction> = started.collect();
    actions.push(PromptAction::AskRuntime(request));
    let stage = Gathering::Evaluating {
        dialog,
        tools,
        mentioned,
    };
    (Reached::Stage(stage), actions)
}

/// What the prompt refers to has been evaluated, or could not be.
fn expand(
    mentioned: &Mentioned,
    answer: RuntimeAnswer,
    asked: &mut Asked,
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
    let Expanded {
        expansion,
        notices,
        lost,
        beside,
    } = mentioned.expanded(answer, around.outputs, asked.line);
    asked.pictures.lost.extend(lost);
    asked.pictures.beside |= beside;
    let notices = notices.into_iter().map(SessionEvent::Notice);
    actions.extend(notices.map(PromptAction::Show));
    let error = std::mem::replace(&mut asked.expansion, expansion);
    asked.expansion.xml.push_str(&error.xml);
    actions
}

fn show(event: AnswerEvent) -> PromptAction {
    PromptAction::Show(SessionEvent::Answer(event))
}

/// Names the `n`th command of a prompt in events.
fn shell_event(n: usize) -> String {
    format!("shell-{n}")
}
