//! An agent that takes text and answers with text: what it is asked, and what the user is told once.

use super::agents::connecting;
use super::*;
use crate::agent::{AgentCapabilities, Login, LoginMethod, LoginProgram, Offering};

/// A session with such an agent.
fn stage_for(able: AgentCapabilities, turns: Vec<Vec<AgentEvent>>) -> Stage {
    let mut script = scripted::Script::new(turns);
    script.able = able.into();
    let agent = script.clone();
    let mut stage = stage_with(Vec::new(), move |parts| parts.agent = connecting(&agent));
    stage.agent = script;
    stage
}

fn plain(turns: Vec<Vec<AgentEvent>>) -> Stage {
    stage_for(AgentCapabilities::text_only("plain"), turns)
}

fn no_effect(name: &str) -> String {
    format!("`{name}` has no effect with the agent `plain`")
}

#[test]
fn a_whole_session_with_an_agent_that_only_talks() {
    let stage = plain(vec![says("one"), says("two"), says("three")]);
    stage.run("def f(): pass");
    stage.run("figure");
    // What differs from what is usual is told with the first prompt; a sandbox in any case.
    assert_eq!(
        stage.run(".use &`f` on this"),
        [
            "[3]",
            &no_effect("search"),
            &no_effect("sandbox"),
            "the agent `plain` does not support tools, so it is not offered `f`",
            "the agent `plain` cannot see pictures: they are left out",
            "> one",
            "Complete",
        ]
    );
    // And once.
    stage.run("figure");
    assert_eq!(stage.run(".again &`f`"), ["[5]", "> two", "Complete"]);
    let requests = stage.agent.requests();
    for request in &requests {
        assert!(request.tools.is_empty());
        assert!(
            !request
                .input
                .iter()
                .any(|part| matches!(part, InputPart::Image(_)))
        );
        assert_eq!(request.instructions, "");
    }
    // Instructions stand before the conversation; a thread that goes on has them.
    assert_eq!(requests[0].input[0], InputPart::Text("be brief\n\n".into()));
    assert_eq!(requests[1].thread.as_deref(), Some("T"));
    assert_eq!(requests[1].input.len(), 1);
    stage.run("%ipycodex undo");
    stage.run(".third");
    let third = stage.agent.requests().pop().unwrap();
    assert_eq!((third.thread, third.history.len()), (None, 1));
    assert_eq!(third.input[0], InputPart::Text("be brief\n\n".into()));
}

#[test]
fn a_setting_that_means_nothing_is_set_and_said() {
    let stage = plain(Vec::new());
    let said = |line: &str| stage.run(line)[1..].to_vec();
    assert_eq!(
        said("%ipycodex think h"),
        [
            "think is h",
            "for this session; `%ipycodex set think h` keeps it",
            &no_effect("think"),
        ]
    );
    assert_eq!(said("%ipycodex model x").last(), Some(&no_effect("model")));
    assert_eq!(
        said("%ipycodex model"),
        ["model is x", "the agent does not list its models"]
    );
    assert!(
        said("%ipycodex images off")
            .iter()
            .all(|line| !line.contains("no effect"))
    );
    let stage = stage_for(AgentCapabilities::full("able"), Vec::new());
    assert_eq!(stage.run("%ipycodex think h").len(), 3);
}

#[test]
fn what_cannot_be_done_without_it_is_refused() {
    let stage = plain(vec![says("never")]);
    let run = stage.session.submit(Submission {
        text: ".list".into(),
        schema: Some(json!({"type": "object"})),
        ..Submission::default()
    });
    assert_eq!(
        words(&run),
        [
            "[1]",
            "refill .list",
            "Failed the agent `plain` does not support answers that fit a JSON schema"
        ]
    );
    assert!(stage.agent.requests().is_empty());
    let (tell, told) = std::sync::mpsc::channel();
    let draft = Draft {
        before: "x = ".into(),
        after: String::new(),
        mode: Mode::Cells,
    };
    let _open = stage
        .session
        .suggest(draft, Box::new(move |suggested| drop(tell.send(suggested))));
    let failure = told
        .recv_timeout(Duration::from_secs(60))
        .unwrap()
        .unwrap_err();
    assert_eq!(failure.message, "the agent `plain` makes no suggestions");
    assert!(stage.agent.suggest_requests().is_empty());
}

#[test]
fn a_thread_of_another_process_is_for_agents_that_resume() {
    for (able, thread) in [
        (AgentCapabilities::full("able"), Some("T")),
        (
            AgentCapabilities {
                resumes: false,
                ..AgentCapabilities::full("unable")
            },
            None,
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.sqlite");
        let mut script = scripted::Script::new(vec![says("one"), says("two")]);
        script.able = able.into();
        let agent = script.clone();
        let stage = stage_with(Vec::new(), move |parts| {
            parts.agent = connecting(&agent);
            (parts.history, parts.reports) = super::resume::open(&path, None);
        });
        stage.run(".first");
        stage.session.close(Duration::from_secs(60));
        let again = script.clone();
        let path = directory.path().join("history.sqlite");
        let stage = stage_with(Vec::new(), move |parts| {
            parts.agent = connecting(&again);
            (parts.history, parts.reports) = super::resume::open(&path, Some(1));
            parts.resumed = true;
        });
        stage.run(".second");
        let request = script.requests().pop().unwrap();
        assert_eq!(request.thread.as_deref(), thread);
        assert_eq!(request.history.len(), 1, "the record tells it otherwise");
    }
}

#[test]
fn ways_to_log_in_are_told_and_taken() {
    let able = AgentCapabilities {
        login: Login::Methods(vec![
            LoginMethod {
                of: Offering {
                    id: "key".into(),
                    name: "API key".into(),
                    description: "of the account".into(),
                },
                program: None,
            },
            LoginMethod {
                of: Offering {
                    id: "terminal".into(),
                    ..Offering::default()
                },
                program: Some(LoginProgram {
                    words: vec!["agent".into(), "log in".into()],
                    variables: Vec::new(),
                }),
            },
        ]),
        ..AgentCapabilities::full("able")
    };
    let stage = stage_for(able, Vec::new());
    let said = |line: &str| stage.run(line)[1..].to_vec();
    assert_eq!(
        said("%ipycodex login"),
        ["%ipycodex login key  API key: of the account\n%ipycodex login terminal  "]
    );
    assert_eq!(
        said("%ipycodex login kye"),
        ["there is no login method `kye`"]
    );
    assert_eq!(said("%ipycodex login key"), ["Logged in."]);
    assert_eq!(stage.agent.logins(), ["key"]);
    assert_eq!(
        said("%ipycodex login terminal"),
        [
            "there is no terminal here: run `agent 'log in'` in one; the next prompt uses the new login"
        ]
    );
    let stage = stage_for(
        AgentCapabilities {
            login: Login::Command {
                line: "agent login".into(),
                more: "Or with a key.".into(),
            },
            ..AgentCapabilities::full("able")
        },
        Vec::new(),
    );
    assert_eq!(
        stage.run("%ipycodex login")[1],
        "Log in with `agent login`: in another terminal, or here as `!agent login`.\nOr with a key.\n\
         The next prompt uses the new login."
    );
}
