//! A prompt as tables of events: events in, expected effects out.

use std::collections::{HashMap, HashSet};

use super::*;
use crate::agent::{AgentCapabilities, AgentEvent, AgentFailure, FailureKind, ToolCall, TurnId};
use crate::attachments::Attachments;
use crate::events::{AnswerEvent, SessionEvent};
use crate::ids::JobId;
use crate::outputs::Outputs;
use crate::runtime::{ReferenceValue, RuntimeReply, RuntimeRequest, ToolLookup};
use crate::runtimes::RuntimeRole;
use crate::tests::choices;
use crate::tool_return::ToolReturn;

const TURN: TurnId = TurnId(1);

/// Events of a table, in short.
enum On {
    Record,
    RecordWhileBusy,
    Tools(Vec<ToolLookup>),
    Values,
    Lost,
    Free,
    Text(&'static str),
    Call,
    Returned,
    Done,
    Broken,
    Away,
    Interrupt,
}

fn found(name: &str) -> ToolLookup {
    ToolLookup::Found {
        name: name.into(),
        description: String::new(),
        schema: serde_json::json!({}),
    }
}

fn word(effect: &Effect) -> String {
    match effect {
        Effect::Emit(_, event) => shown(event),
        Effect::AskRuntime(_, RuntimeRequest::DescribeTools { names }, _) => {
            format!("look up {}", names.join(" "))
        }
        Effect::AskRuntime(..) => "evaluate".into(),
        Effect::Interrupt { .. } => "interrupt runtime".into(),
        Effect::Record(RecordWrite::BeginTurn(start)) => format!("begin {}", start.prompt),
        Effect::Record(RecordWrite::Answer(stored)) => format!("save {stored}"),
        Effect::StartTurn(_, request) => format!("start {}", request.tools.len()),
        Effect::Raise(Event::ToolCalled(_)) => "call".into(),
        Effect::ReplyToAgent(..) => "reply".into(),
        Effect::CancelTurn(_) => "cancel".into(),
        Effect::Raise(Event::ToolInterrupted) => "interrupt tool".into(),
        Effect::Raise(Event::TurnOver) => "put away".into(),
        Effect::Raise(Event::JobOver) => "leave".into(),
        _ => "other".into(),
    }
}

fn shown(event: &SessionEvent) -> String {
    match event {
        SessionEvent::After(AfterEvent::Refill(text)) => format!("back {text}"),
        SessionEvent::Notice(notice) => notice.message.clone(),
        SessionEvent::End(EndEvent::Turn { outcome, .. }) => match outcome {
            TurnOutcome::Complete => "complete".into(),
            TurnOutcome::Interrupted => "interrupted".into(),
            TurnOutcome::Failed(_) => "failed".into(),
        },
        SessionEvent::Answer(AnswerEvent::Text { delta, .. }) => delta.clone(),
        _ => "show".into(),
    }
}

fn finish(outcome: &PromptOutcome) -> String {
    match &outcome.exchange {
        Some(exchange) => format!("finish {} {:?}", exchange.stored, exchange.thread.is_some()),
        None => "finish nothing".into(),
    }
}

fn play(mut prompt: Prompt, events: Vec<On>) -> Vec<String> {
    let choices = choices();
    let runtime = crate::runtime::RuntimeCapabilities::all("Python");
    let outputs = Outputs::new("/nowhere".into(), "/nowhere".into());
    let around = PromptContext {
        job: JobId(1),
        role: RuntimeRole::User,
        now: Instant::now(),
        outputs: &outputs,
        skills: &[],
        runtime: &runtime,
    };
    let mut words = Vec::new();
    for event in events {
        let surroundings = RequestContext {
            instructions: "be brief".into(),
            choices: &choices,
            cwd: "/".into(),
            thread: None,
            points: &HashMap::new(),
            agent: AgentCapabilities::full("test"),
            commands: &[],
            tools: Vec::new(),
            own_server: None,
            no_interpreter: false,
            warned: &mut HashSet::new(),
            agent_is_busy: matches!(event, On::RecordWhileBusy),
        };
        let agent = |event| PromptEvent::Agent(event);
        let event = match event {
            On::Record | On::RecordWhileBusy => {
                PromptEvent::RecordRead(Box::default(), Attachments::default(), None)
            }
            On::Tools(found) => PromptEvent::RuntimeAnswered(RuntimeReply::Tools(found)),
            On::Values => PromptEvent::RuntimeAnswered(RuntimeReply::Evaluated {
                variables: vec![ReferenceValue::Undefined {
                    names: vec!["x".into()],
                    expression: "x".into(),
                }],
                shells: Vec::new(),
            }),
            On::Lost => {
                PromptEvent::RuntimeAnswered(RuntimeReply::Failed("the interpreter is gone".into()))
            }
            On::Free => PromptEvent::AgentIdle,
            On::Text(delta) => agent(AgentEvent::Text {
                turn: TURN,
                message: 1,
                delta: delta.into(),
            }),
            On::Call => agent(AgentEvent::ToolCalled {
                turn: TURN,
                call: ToolCall {
                    id: "c".into(),
                    name: "f".into(),
                    arguments: serde_json::json!({}),
                },
            }),
            On::Returned => PromptEvent::ToolReturned(ToolReturn::text("7".into()), Vec::new()),
            On::Done => agent(AgentEvent::Finished {
                turn: TURN,
                interrupted: false,
                thread: Some("T".into()),
                point: None,
            }),
            On::Broken => agent(AgentEvent::Failed {
                turn: TURN,
                failure: AgentFailure {
                    kind: FailureKind::Died,
                    message: "gone".into(),
                    hints: Vec::new(),
                },
            }),
            On::Away => PromptEvent::ToolsStopped,
            On::Interrupt => PromptEvent::Interrupted,
        };
        let step = prompt.on(event, &around, || surroundings);
        words.extend(step.outcome.as_deref().map(finish));
        words.extend(step.effects.iter().map(word));
        // What the loop tells a turn that the agent has begun; ignored while none runs.
        started(&mut prompt, &around);
    }
    words
}

fn started(prompt: &mut Prompt, around: &PromptContext<'_>) {
    let step = prompt.on(PromptEvent::TurnStarted(TURN), around, || unreachable!());
    assert!(step.effects.is_empty());
}

fn prompt(text: &str) -> Prompt {
    Prompt::new(3, text.into(), format!(".{text}"), Instant::now())
}

fn check(text: &str, events: Vec<On>, expected: &[&str]) {
    assert_eq!(play(prompt(text), events), expected, "{text}");
}

#[test]
fn an_answered_prompt() {
    check(
        "hi",
        vec![On::Record, On::Text("yes"), On::Done, On::Away],
        &[
            "begin hi",
            "start 0",
            "yes",
            "put away",
            "finish yes true",
            "complete",
            "leave",
        ],
    );
}

#[test]
fn tools_are_looked_up_then_values_evaluated_then_it_is_sent() {
    check(
        "use &`f` on $`x`",
        vec![On::Record, On::Tools(vec![found("f")]), On::Values],
        &[
            "look up f",
            "evaluate",
            "not defined in the interpreter: x",
            "begin use &`f` on $`x`",
            "start 1",
        ],
    );
}

#[test]
fn a_refused_prompt_is_neither_sent_nor_recorded_and_runs_nothing() {
    let missing = On::Tools(vec![ToolLookup::Missing("f".into())]);
    check(
        "&`f` !`rm x`",
        vec![On::Record, missing, On::Values],
        &[
            "look up f",
            "NameError: Missing tool(s) in user_ns: f",
            "back .&`f` !`rm x`",
            "leave",
        ],
    );
    check(
        "&`f`",
        vec![On::Record, On::Lost],
        &[
            "look up f",
            "the interpreter is gone",
            "back .&`f`",
            "leave",
        ],
    );
}

#[test]
fn ctrl_c_at_each_place() {
    let back =
        |before: &[&'static str]| [before, &["back .$`x` &`f`", "interrupted", "leave"]].concat();
    let text = "$`x` &`f`";
    check(text, vec![On::Interrupt, On::Record], &back(&[]));
    check(
        text,
        vec![On::Record, On::Interrupt, On::Values],
        &back(&["look up f"]),
    );
    check(
        text,
        vec![
            On::Record,
            On::Tools(vec![found("f")]),
            On::Interrupt,
            On::Values,
        ],
        &back(&["look up f", "evaluate", "interrupt runtime"]),
    );
    // A queued prompt is in the record already.
    check(
        "hi",
        vec![On::RecordWhileBusy, On::Interrupt, On::Free],
        &["begin hi", "finish nothing", "interrupted", "leave"],
    );
    check(
        "hi",
        vec![
            On::Record,
            On::Text("ye"),
            On::Interrupt,
            On::Done,
            On::Away,
        ],
        &[
            "begin hi",
            "start 0",
            "ye",
            "cancel",
            "put away",
            "finish ye\n<system>user interrupted</system> false",
            "interrupted",
            "leave",
        ],
    );
}

#[test]
fn a_stopped_turn_whose_code_runs_on_waits_for_it_and_hears_ctrl_c_again() {
    let events = vec![
        On::Record,
        On::Call,
        On::Interrupt,
        On::Interrupt,
        On::Returned,
        On::Away,
        On::Interrupt,
    ];
    let words = play(prompt("hi"), events);
    assert_eq!(
        &words[2..],
        [
            "show",
            "call",
            "cancel",
            "interrupt tool",
            "put away",
            "interrupt runtime",
            "finish  false",
            "interrupted",
            "leave",
        ]
    );
}

#[test]
fn a_prompt_waits_for_the_end_of_the_stopped_turn() {
    check(
        "hi",
        vec![
            On::RecordWhileBusy,
            On::Text("late"),
            On::Free,
            On::Broken,
            On::Away,
        ],
        &[
            "begin hi",
            "start 0",
            "put away",
            "finish  false",
            "back .hi",
            "failed",
            "leave",
        ],
    );
}

#[test]
fn what_a_prompt_does_not_wait_for_it_ignores() {
    check(
        "hi",
        vec![On::Values, On::Free, On::Text("x"), On::Away, On::Returned],
        &[],
    );
    check("hi", vec![On::Record, On::Record], &["begin hi", "start 0"]);
}
