//! An agent that takes text and answers with text: what it is asked, and what the user is told once.

use super::agents::connecting;
use super::*;
use crate::agent::{AgentCapabilities, Descriptor, Login, LoginMethod, LoginProgram};
use crate::{QuestionChoice, Reply};

/// A session with such an agent.
fn stage_for(able: AgentCapabilities, turns: Vec<Vec<AgentEvent>>) -> Stage {
    let mut script = scripted::Script::new(turns);
    script.capabilities = able.into();
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
fn who_cannot_be_held_to_a_schema_is_told_of_it() {
    let stage = plain(vec![says("{}")]);
    let run = stage.session.submit(Submission {
        text: ".list".into(),
        schema: Some(json!({"type": "object"})),
        ..Submission::default()
    });
    assert_eq!(words(&run).last().map(String::as_str), Some("Complete"));
    let request = &stage.agent.requests()[0];
    let sent: String = request
        .input
        .iter()
        .filter_map(InputPart::as_text)
        .collect();
    assert_eq!(request.schema, None);
    assert!(
        sent.contains("<answer-schema>Answer with nothing but JSON"),
        "{sent}"
    );
    assert!(
        sent.ends_with("<user-request>list</user-request>"),
        "{sent}"
    );
}

#[test]
fn a_prompt_whose_picture_is_all_it_has_waits_for_a_word() {
    let stage = plain(vec![says("one"), says("two"), says("three")]);
    let submit = |asks: bool, more: Vec<InputPart>| {
        let picture = InputPart::Image("data:image/png;base64,iVBORw0KGgo=".into());
        stage.session.submit(Submission {
            text: ".look".into(),
            attached: std::iter::once(picture).chain(more).collect(),
            asks: Some(asks),
            ..Submission::default()
        })
    };
    let why = "the prompt is not sent, because its picture is all it has and cannot be sent: the agent `plain` cannot \
               see pictures";
    assert_eq!(
        words(&submit(false, Vec::new()))[1..],
        [why, "refill .look"]
    );
    for (choice, ends) in [
        (Some(QuestionChoice::No), "refill .look"),
        (None, "Interrupted"),
        (Some(QuestionChoice::Once), "Complete"),
    ] {
        assert!(stage.agent.requests().is_empty());
        let run = submit(true, Vec::new());
        let question = loop {
            match run.next_blocking(Some(Duration::from_secs(60))) {
                NextEvent::Event(event) => {
                    if let SessionEvent::Question(QuestionEvent::Asked(question)) = *event {
                        break question;
                    }
                }
                other => panic!("{other:?}"),
            }
        };
        match choice {
            Some(choice) => stage.session.answer(question.id, Reply::Chosen(choice)),
            None => stage.session.interrupt(),
        }
        let told = words(&run);
        assert_eq!(told.last().map(String::as_str), Some(ends), "{told:?}");
    }
    // Something else goes with it: it is said each time, and nobody is asked.
    let left_out =
        "the agent `plain` cannot see pictures: those of this prompt are left out".to_owned();
    for _ in 0..2 {
        let text = InputPart::Text("<stdin>x</stdin>".into());
        let told = words(&submit(true, vec![text]));
        assert!(
            told.contains(&left_out) && told.last().is_some_and(|it| it == "Complete"),
            "{told:?}"
        );
    }
}

#[test]
fn what_cannot_be_done_without_it_is_refused() {
    let stage = plain(vec![says("{}")]);
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
                resumes_threads: false,
                ..AgentCapabilities::full("unable")
            },
            None,
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history.sqlite");
        let mut script = scripted::Script::new(vec![says("one"), says("two")]);
        script.capabilities = able.into();
        let agent = script.clone();
        let stage = stage_with(Vec::new(), move |parts| {
            parts.agent = connecting(&agent);
            (parts.record, parts.reports) = super::resume::open(&path, None);
        });
        stage.run(".first");
        stage.session.close(Duration::from_secs(60));
        let again = script.clone();
        let path = directory.path().join("history.sqlite");
        let stage = stage_with(Vec::new(), move |parts| {
            parts.agent = connecting(&again);
            (parts.record, parts.reports) = super::resume::open(&path, Some(1));
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
                descriptor: Descriptor {
                    id: "key".into(),
                    name: "API key".into(),
                    description: "of the account".into(),
                },
                program: None,
            },
            LoginMethod {
                descriptor: Descriptor {
                    id: "terminal".into(),
                    ..Descriptor::default()
                },
                program: Some(LoginProgram {
                    command: vec!["agent".into(), "log in".into()],
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
