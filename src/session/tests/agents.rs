//! Another agent in mid-session: it is told all there was, and the old one is gone.

use super::*;
use crate::{ConnectAgent, PlanAgent};

pub(super) fn connecting(script: &scripted::Script) -> ConnectAgent {
    let plan = AgentConfig {
        kind: AgentKind::Scripted(script.clone()),
        variables: Default::default(),
        cwd: "/".into(),
        client_version: "0".into(),
        timeouts: Timeouts::default(),
    };
    Box::new(move || crate::agent::connect::connect(plan))
}

#[test]
fn another_agent_is_seeded_from_the_record() {
    let second = scripted::Script::new(vec![says("two"), says("three")]);
    let other = second.clone();
    let stage = stage_with(vec![says("one")], move |parts| {
        let plan: PlanAgent = Box::new(move |choice| match choice {
            AgentChoice::Acp(_) | AgentChoice::Named(_) => {
                Err(Report::usage("no such agent").hint("codex, demo"))
            }
            _ => Ok(connecting(&other)),
        });
        parts.agents = plan;
    });
    let said = |text: &str| stage.run(text)[1..].join("\n");
    stage.run("a");
    stage.run(".first");
    assert_eq!(said("%ipycodex agent"), "agent is demo");
    assert_eq!(said("%ipycodex agent other"), "no such agent");
    assert_eq!(said("%ipycodex agent acp:gemini"), "no such agent");
    assert_eq!(said("%ipycodex agent"), "agent is demo");
    assert!(second.requests().is_empty());
    assert_eq!(
        said("%ipycodex agent codex"),
        "agent is codex\nfor this session; `%ipycodex set agent codex` keeps it"
    );
    stage.run("b");
    assert_eq!(stage.run(".second")[1], "> two");
    let request = second.requests().pop().unwrap();
    assert_eq!(request.thread, None);
    assert_eq!(request.history.len(), 1);
    assert!(request.history[0].user.contains("<code>a</code>"));
    assert_eq!(request.history[0].assistant, "one");
    // Its own thread is gone on with.
    assert_eq!(stage.run(".third")[1], "> three");
    let request = second.requests().pop().unwrap();
    assert_eq!(request.thread.as_deref(), Some("T"));
    assert_eq!(stage.agent.requests().len(), 1);
    let listing = said("%ipycodex");
    assert!(listing.contains("\nagent             codex "), "{listing}");
}
