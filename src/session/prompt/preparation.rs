//! The steps before a prompt is sent: the record is read, tools are looked up, references are evaluated.
//!
//! Invariant: a request that the runtime does not support is not sent to it; `RuntimeCapabilities::refusal` is taken as
//! the answer.

use super::event::PromptContext;
use super::input::PromptInput;
use super::references::{EvaluatedReferences, PromptReferences, requested_error};
use super::tool_mentions::ToolMentions;
use crate::agent::ToolSpec;
use crate::dialog::Dialog;
use crate::effect::Effect;
use crate::events::AnswerEvent;
use crate::peers::RuntimeRequester;
use crate::runtime::{RuntimeReply, RuntimeRequest};

pub(super) enum Preparation {
    Reading,
    /// The runtime looks the tools up.
    LookingUp {
        dialog: Box<Dialog>,
        mentions: ToolMentions,
    },
    /// The runtime evaluates what the prompt refers to.
    Evaluating {
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
        references: PromptReferences,
    },
    /// The user is asked whether to send the prompt without its pictures.
    ConfirmingPictures {
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
        lost: Vec<String>,
    },
}

pub(super) enum PreparationProgress {
    Waiting(Preparation),
    Ready {
        dialog: Box<Dialog>,
        tools: Vec<ToolSpec>,
    },
    Refused(String),
}

type PreparationStep = (PreparationProgress, Vec<Effect>);

impl Preparation {
    /// Looks the tools up, or continues when the conversation mentions none.
    pub(super) fn on_record(
        self,
        dialog: Box<Dialog>,
        input: &mut PromptInput,
        around: &PromptContext<'_>,
    ) -> PreparationStep {
        let Preparation::Reading = self else {
            return (PreparationProgress::Waiting(self), Vec::new());
        };
        around.outputs.keep_cells(&dialog);
        let mentions = match ToolMentions::collect(&input.reference_text(), &dialog) {
            Ok(mentions) => mentions,
            Err(line) => return (PreparationProgress::Refused(line), Vec::new()),
        };
        let names = mentions.names();
        if names.is_empty() {
            return evaluate(dialog, Vec::new(), input, around);
        }
        let request = RuntimeRequest::DescribeTools { names };
        let stage = Preparation::LookingUp { dialog, mentions };
        match around.runtime.refusal(&request) {
            Some(answer) => stage.on_answer(answer, input, around),
            None => (
                PreparationProgress::Waiting(stage),
                vec![ask(request, around)],
            ),
        }
    }

    pub(super) fn on_answer(
        self,
        answer: RuntimeReply,
        input: &mut PromptInput,
        around: &PromptContext<'_>,
    ) -> PreparationStep {
        match self {
            Preparation::Reading | Preparation::ConfirmingPictures { .. } => {
                (PreparationProgress::Waiting(self), Vec::new())
            }
            Preparation::LookingUp { dialog, mentions } => match mentions.specs_from(answer) {
                Ok(tools) => evaluate(dialog, tools, input, around),
                Err(line) => (PreparationProgress::Refused(line), Vec::new()),
            },
            Preparation::Evaluating {
                dialog,
                tools,
                references,
            } => {
                let actions = expand(&references, answer, input, around);
                (PreparationProgress::Ready { dialog, tools }, actions)
            }
        }
    }
}

fn evaluate(
    dialog: Box<Dialog>,
    tools: Vec<ToolSpec>,
    input: &mut PromptInput,
    around: &PromptContext<'_>,
) -> PreparationStep {
    let references = PromptReferences::collect(&input.reference_text(), &dialog, around.skills);
    input.expansion.xml = requested_error(&input.reference_text(), &dialog);
    if let Some(preview) = &mut input.preview {
        preview.set_unevaluated(&references.variables, &references.shells);
    }
    if references.is_empty() || input.preview.is_some() {
        return (PreparationProgress::Ready { dialog, tools }, Vec::new());
    }
    let request = RuntimeRequest::Evaluate {
        variables: references.variables.clone(),
        shells: references.shells.clone(),
    };
    if let Some(answer) = around.runtime.refusal(&request) {
        let actions = expand(&references, answer, input, around);
        return (PreparationProgress::Ready { dialog, tools }, actions);
    }
    let started = references.shells.iter().enumerate().map(|(n, command)| {
        Effect::show(AnswerEvent::CommandStarted {
            id: shell_event_id(n),
            command: command.clone(),
        })
    });
    let mut actions: Vec<Effect> = started.collect();
    actions.push(ask(request, around));
    let stage = Preparation::Evaluating {
        dialog,
        tools,
        references,
    };
    (PreparationProgress::Waiting(stage), actions)
}

/// Renders the evaluated references, or the reason why they could not be evaluated, into the prompt.
fn expand(
    references: &PromptReferences,
    answer: RuntimeReply,
    input: &mut PromptInput,
    around: &PromptContext<'_>,
) -> Vec<Effect> {
    let mut actions = Vec::new();
    if let RuntimeReply::Evaluated { shells, .. } = &answer {
        let ran = references.shells.iter().zip(shells).enumerate();
        actions.extend(ran.map(|(n, (command, output))| {
            Effect::show(AnswerEvent::CommandRan {
                id: shell_event_id(n),
                command: command.clone(),
                exit_code: None,
                output: output.clone(),
            })
        }));
    }
    let EvaluatedReferences {
        expansion,
        notices,
        lost_pictures,
        other_values,
    } = references.render(answer, around.outputs, input.line);
    input.pictures.not_sent.extend(lost_pictures);
    input.pictures.has_other_values |= other_values;
    actions.extend(notices.into_iter().map(Effect::show));
    let error = std::mem::replace(&mut input.expansion, expansion);
    input.expansion.xml.push_str(&error.xml);
    actions
}

fn ask(request: RuntimeRequest, around: &PromptContext<'_>) -> Effect {
    Effect::AskRuntime(
        crate::runtimes::RuntimeRole::User,
        request,
        RuntimeRequester::Prompt(around.job),
    )
}

fn shell_event_id(n: usize) -> String {
    format!("shell-{n}")
}
