//! `%ipycodex compact`: what the agent gets, what is hidden for a summary, and that nothing is where there is none.

use super::*;
use crate::agent::{
    AgentCapabilities, AgentFailure, AgentUpdate, Descriptor, FailureKind, TurnRequest,
};

/// A stage whose agent plays `turns` and has these capabilities.
fn with_agent(turns: Vec<Vec<AgentEvent>>, able: AgentCapabilities) -> Stage {
    let mut script = scripted::Script::new(turns);
    script.capabilities = able.into();
    let agent = script.clone();
    let mut stage = stage_with(Vec::new(), move |parts| {
        parts.agent = super::agents::connecting(&agent);
    });
    stage.agent = script;
    stage
}

fn compacting() -> AgentCapabilities {
    AgentCapabilities {
        compacts: true,
        ..AgentCapabilities::full("able")
    }
}

/// The texts of the exchanges that a request holds, as user and assistant.
fn history(request: &TurnRequest) -> Vec<(&str, &str)> {
    let history = request.history.iter();
    let texts = history.map(|past| (past.user.as_str(), past.assistant.as_str()));
    texts.collect()
}

fn input(request: &TurnRequest) -> String {
    let parts = request.input.iter().filter_map(InputPart::as_text);
    parts.collect()
}

#[test]
fn a_summary_stands_for_what_was_visible_before_it() {
    let stage = stage(
        ["one", "two", "the summary", "three", "four"]
            .map(says)
            .into(),
    );
    for text in [
        "a",
        ".first",
        "b",
        ".second",
        "c",
        "%ipycodex hide 1",
        "%ipycodex context",
    ] {
        stage.run(text);
    }
    let said = stage.run("%ipycodex compact the <cutoff>").join("\n");
    assert!(said.contains("the summary"), "{said}");
    let note = "the conversation goes on from this summary; `%ipycodex show 2-5` puts back what it stands for";
    assert!(said.contains(note), "{said}");
    let request = stage.agent.requests().pop().unwrap();
    assert!(!request.compact);
    assert_eq!(history(&request).len(), 2);
    let sent = input(&request);
    assert!(sent.starts_with("<task>Write a summary"), "{sent}");
    assert!(
        sent.contains(" Keep in any case: the &lt;cutoff&gt;</task>\n<context><code>c</code>"),
        "{sent}"
    );
    assert!(
        sent.ends_with(
            "<user-request>Shorten the conversation so far, and keep: the <cutoff></user-request>"
        ),
        "{sent}"
    );
    // The next prompt has the summary alone, and what ran since.
    stage.run("d");
    stage.run(".third");
    let request = stage.agent.requests().pop().unwrap();
    assert_eq!(request.thread, None, "no thread holds that");
    let past = history(&request);
    assert_eq!(past.len(), 1, "{past:?}");
    assert_eq!(past[0].1, "the summary");
    assert!(!past[0].0.contains("<context>"), "{past:?}");
    assert!(
        input(&request).starts_with("<context><code>d</code>"),
        "{}",
        input(&request)
    );
    // What it said comes back, without what was hidden before.
    stage.run("%ipycodex show 2-5");
    stage.run(".fourth");
    let request = stage.agent.requests().pop().unwrap();
    let answers: Vec<&str> = history(&request)
        .iter()
        .map(|(_, answer)| *answer)
        .collect();
    assert_eq!(answers, ["one", "two", "the summary", "three"]);
    let all: String = history(&request).iter().map(|(user, _)| *user).collect();
    assert!(
        all.contains("<code>b</code>") && all.contains("<code>c</code>"),
        "{all}"
    );
    assert!(!all.contains("<code>a</code>"), "{all}");
}

#[test]
fn without_a_whole_summary_nothing_is_hidden() {
    let failed = vec![AgentEvent::Failed {
        turn: TURN,
        failure: AgentFailure {
            kind: FailureKind::Refused,
            message: "no room".into(),
            hints: Vec::new(),
        },
    }];
    for turn in [failed, says(" \n")] {
        let stage = stage(vec![says("one"), turn, says("two")]);
        stage.run("a");
        stage.run(".first");
        let said = stage.run("%ipycodex compact").join("\n");
        assert!(!said.contains("goes on from this summary"), "{said}");
        stage.run(".second");
        let request = stage.agent.requests().pop().unwrap();
        assert_eq!(history(&request)[0].1, "one", "{said}");
    }
}

#[test]
fn an_agent_that_can_shortens_its_own_thread() {
    let stage = with_agent(
        ["one", "done", "two", "summary"].map(says).into(),
        compacting(),
    );
    for text in ["a", ".first", "b", "%ipycodex compact", "c", ".second"] {
        stage.run(text);
    }
    let [_, compaction, after] = &stage.agent.requests()[..] else {
        panic!("{:?}", stage.agent.requests());
    };
    assert!(compaction.compact && compaction.thread.is_some());
    assert!(!after.compact);
    assert_eq!(after.thread.as_deref(), Some("T"), "the thread goes on");
    // It got no input: the cell before it is still to be sent.
    let sent = input(after);
    assert!(
        sent.starts_with("<context><code>b</code>") && sent.contains("<code>c</code>"),
        "{sent}"
    );
    let past = history(after);
    assert_eq!(
        past[1],
        (
            "<user-request>Shorten the conversation so far.</user-request>",
            "done"
        )
    );
    // A wish is for a summary.
    stage.run("%ipycodex compact the names");
    let request = stage.agent.requests().pop().unwrap();
    assert!(!request.compact && input(&request).contains("Keep in any case: the names"));
}

#[test]
fn a_thread_that_is_not_there_is_no_thread_to_shorten() {
    let stage = with_agent(vec![says("summary")], compacting());
    let said = stage.run("%ipycodex compact").join("\n");
    assert!(
        said.contains("there is no conversation to shorten yet"),
        "{said}"
    );
    assert!(stage.agent.requests().is_empty());
    stage.run("a");
    let said = stage.run("%ipycodex compact").join("\n");
    assert!(said.contains("`%ipycodex show 2` puts back"), "{said}");
    assert!(!stage.agent.requests()[0].compact);
}

#[test]
fn an_agent_with_a_command_for_it_gets_that() {
    let command = Descriptor {
        id: "compact".into(),
        ..Descriptor::default()
    };
    let mut first = vec![AgentEvent::Update(AgentUpdate::Commands(vec![command]))];
    first.extend(says("one"));
    let able = AgentCapabilities {
        commands: true,
        ..AgentCapabilities::full("able")
    };
    let stage = with_agent(vec![first, says("done"), says("two")], able);
    for text in [".first", "%ipycodex compact the names", ".second"] {
        stage.run(text);
    }
    let requests = stage.agent.requests();
    assert_eq!(input(&requests[1]), "/compact the names");
    assert_eq!(requests[2].thread.as_deref(), Some("T"));
    assert_eq!(requests[2].history.len(), 2);
}
