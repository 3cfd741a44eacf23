//! Turns with the scripted agent: what is told, asked, written and run, and how a session is gone on with.

use ipycodex::agent::{
    AgentEvent, AgentNotice, AgentReply, AgentUpdate, Decision, FailureKind, InputPart, Lookup,
    LookupReply, McpServer, PlanMode, QuestionAnswer, Subject, ThreadPoint, ToolRoute, WorkStatus,
};

use serde_json::json;

use super::harness::{careful, request, run_prompt, scripted, sent};
use crate::codex::harness::{Harness, exchange, folder};
use crate::support::await_true;
use crate::support::home::PATIENCE;

#[test]
fn an_answer_streams_with_its_reasoning_plan_and_tokens() {
    let events = run_prompt("think plan hello there edit");
    assert_eq!(events.text(), "hello there ");
    assert_eq!(
        events.thoughts.values().next().map(String::as_str),
        Some("hm")
    );
    assert_eq!((events.plans.len(), events.sent), (2, 1));
    assert_eq!(events.plans[1][0].status, WorkStatus::Done);
    assert_eq!(events.files[0].path, "/p/a.py");
    let usage = events.usage.expect("tokens");
    assert_eq!((usage.input, usage.cached, usage.output), (10, 4, 2));
    assert!(
        matches!(events.end, Some(Ok((false, Some(_))))),
        "{events:?}"
    );
}

#[test]
fn plan_mode_is_a_mode_of_the_agent_while_it_lasts() {
    let folder = folder();
    let mut harness = Harness::new(scripted("", folder.path()));
    let mut thread = None;
    for (plan, expected) in [
        (PlanMode::Off, "code"),
        (PlanMode::On, "plan"),
        (PlanMode::On, "plan"),
        (PlanMode::Left, "code"),
        (PlanMode::Left, "code"),
    ] {
        let mut request = request("mode", folder.path());
        request.settings.plan = plan;
        request.thread = thread;
        let events = harness.run(request);
        assert_eq!(events.text(), expected, "{plan:?}");
        let Some(Ok((false, Some(now)))) = events.end else {
            panic!("{events:?}");
        };
        thread = Some(now);
    }
    let set = sent(folder.path());
    let set = set.iter().filter(|it| it["method"] == "session/set_mode");
    let set: Vec<_> = set.map(|it| it["params"]["modeId"].clone()).collect();
    assert_eq!(set, ["plan", "code"], "a mode is set when it changes");
}

#[test]
fn a_permission_has_the_agents_own_options_and_is_answered_by_their_ids() {
    for (answer, said, denied) in [
        (
            QuestionAnswer::Chosen("o-allow_once".into()),
            "o-allow_once",
            false,
        ),
        (
            QuestionAnswer::Chosen("o-reject_once".into()),
            "o-reject_once",
            true,
        ),
        (QuestionAnswer::Declined, "None", true),
    ] {
        let folder = folder();
        let mut harness = Harness::new(scripted("", folder.path()));
        let turn = harness.agent.start(request("permission", folder.path()));
        let events = harness.finish(turn, |agent, turn, event| {
            if let AgentEvent::QuestionAsked { question, .. } = event {
                let question = question.id.clone();
                let answer = answer.clone();
                agent.reply(turn, AgentReply::Answer { question, answer });
            }
        });
        let [question] = &events.questions[..] else {
            panic!("{events:?}");
        };
        assert!(
            matches!(&question.subject, Subject::Command { command, .. } if command == "touch x")
        );
        let kinds: Vec<Decision> = question.options.iter().map(|it| it.kind).collect();
        assert_eq!(
            kinds,
            [
                Decision::AllowAlways,
                Decision::AllowOnce,
                Decision::RejectOnce
            ]
        );
        assert_eq!(events.text(), format!("chosen: {said}"));
        assert_eq!(
            events.commands[0].status == "declined",
            denied,
            "{events:?}"
        );
    }
}

#[test]
fn a_form_is_filled_in_declined_or_left() {
    let filled = |value: &str| QuestionAnswer::Filled(vec![("colour".into(), vec![value.into()])]);
    let accepted = r#"{"action": "accept", "content": {"colour": "Red"}}"#;
    for (answers, expected) in [
        (vec![filled("Red")], accepted),
        (vec![filled("Green"), filled("Red")], accepted),
        (vec![QuestionAnswer::Declined], r#"{"action": "decline"}"#),
    ] {
        let folder = folder();
        let mut harness = Harness::new(scripted("", folder.path()));
        let turn = harness.agent.start(request("elicit", folder.path()));
        let mut left = answers.clone().into_iter();
        let events = harness.finish(turn, |agent, turn, event| {
            if let AgentEvent::QuestionAsked { question, .. } = event {
                let question = question.id.clone();
                let answer = left.next().expect("no more questions than answers");
                agent.reply(turn, AgentReply::Answer { question, answer });
            }
        });
        assert_eq!(events.text(), expected, "{events:?}");
        assert_eq!(events.questions.len(), answers.len());
        let able = &sent(folder.path())[0]["params"]["clientCapabilities"];
        assert_eq!(able["elicitation"], json!({"form": {}, "url": {}}));
    }
    let folder = folder();
    let mut harness = Harness::new(scripted("", folder.path()));
    let turn = harness.agent.start(request("elicit", folder.path()));
    let events = harness.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::QuestionAsked { .. }) {
            agent.cancel(turn);
        }
    });
    assert!(events.interrupted(), "{events:?}");
    // The turn is over for us before the agent has read what it is answered.
    await_true("the form is cancelled", || {
        let mut sent = sent(folder.path()).into_iter();
        sent.any(|it| it["result"]["action"] == "cancel")
    });
}

#[test]
fn what_cannot_be_asked_is_refused_and_what_is_taken_back_is_said() {
    let events = run_prompt("nothing withdraw");
    assert!(events.text().contains("-32602"), "{events:?}");
    assert!(events.text().ends_with("-32800"), "{events:?}");
    assert_eq!(events.withdrawn, [events.questions[0].id.as_str()]);
}

#[test]
fn files_are_read_and_written_where_the_sandbox_allows_it() {
    let folder = folder();
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let mut harness = Harness::new(scripted("", folder.path()));
    let notebook = folder.path().join("n.ipynb");
    std::fs::write(&notebook, "{}").unwrap();
    let events = harness.run(careful("broken", folder.path()));
    assert!(events.text().contains("nothing was written"), "{events:?}");
    assert_eq!(std::fs::read_to_string(&notebook).unwrap(), "{}");
    let events = harness.run(careful("read write outside peek", folder.path()));
    let [AgentNotice::FileWritten(written)] = &events.asides[..] else {
        panic!("{events:?}");
    };
    assert!(
        written.summary().ends_with("new/b.txt (8 bytes, +1)"),
        "{written:?}"
    );
    let text = events.text();
    assert!(text.contains(r#"{"content": "two\n"}{}"#), "{text}");
    assert!(
        text.contains("do not allow writing `/tmp/outside-of-it.txt`"),
        "{text}"
    );
    // Reading is free, as it is for commands.
    assert!(text.ends_with("['\"\"\"An', 'agent'] -32002"), "{text}");
    let written = std::fs::read_to_string(folder.path().join("new/b.txt"));
    assert_eq!(written.unwrap(), "written\n");
}

#[test]
fn a_command_runs_in_a_terminal_of_ours_when_it_may() {
    let folder = folder();
    let mut harness = Harness::new(scripted("", folder.path()));
    // Everything is allowed: it is not asked about.
    let events = harness.run(request("run", folder.path()));
    assert_eq!(events.text(), r"3 'out\ntty\n' -32002", "{events:?}");
    assert!(events.questions.is_empty());
    assert_eq!(events.commands[0].output, "out\ntty\n");
    assert_eq!(events.commands[0].exit_code, Some(3));
    for (decision, expected) in [
        (Decision::AllowOnce, r"3 'out\ntty\n' -32002"),
        (Decision::RejectOnce, "the user did not allow this command"),
    ] {
        let turn = harness.agent.start(careful("run", folder.path()));
        let events = harness.finish(turn, |agent, turn, event| {
            if let AgentEvent::QuestionAsked { question, .. } = event {
                let question = question.id.clone();
                let answer = QuestionAnswer::from_decision(decision);
                agent.reply(turn, AgentReply::Answer { question, answer });
            }
        });
        assert_eq!(events.questions.len(), 1);
        assert!(events.text().contains(expected), "{events:?}");
    }
}

#[test]
fn a_cancel_ends_the_turn_at_once_and_the_next_begins_anew() {
    let folder = folder();
    let mut plan = scripted("", folder.path());
    // An agent that is not told would be waited for until the harness gives up.
    plan.timeouts.cancel = 2 * PATIENCE;
    let mut harness = Harness::new(plan);
    for words in ["slow", "permission"] {
        let turn = harness.agent.start(request(words, folder.path()));
        let mut cancelled = false;
        let events = harness.finish(turn, |agent, turn, event| {
            if matches!(
                event,
                AgentEvent::Text { .. } | AgentEvent::QuestionAsked { .. }
            ) && !cancelled
            {
                agent.cancel(turn);
                cancelled = true;
            }
        });
        assert!(events.interrupted(), "{events:?}");
    }
    let events = harness.run(request("hello", folder.path()));
    assert_eq!(events.text(), "hello ");
    let before_it_is_sent = harness.agent.start(request("slow", folder.path()));
    harness.agent.cancel(before_it_is_sent);
    let events = harness.finish(before_it_is_sent, |_, _, _| {});
    assert!(events.interrupted());
}

#[test]
fn a_session_is_gone_on_with_while_it_equals_the_record() {
    let folder = folder();
    let mut harness = Harness::new(scripted("", folder.path()));
    let first = harness.run(request("session", folder.path()));
    let Some(Ok((false, Some(thread)))) = first.end.clone() else {
        panic!("{first:?}");
    };
    let mut second = request("session", folder.path());
    second.thread = Some(thread.clone());
    let events = harness.run(second);
    assert_eq!(
        (events.text(), thread.as_str()),
        (first.text(), first.text().as_str())
    );
    // Nothing says that it holds the conversation: a new one is told it.
    let mut third = request("all session", folder.path());
    third.instructions = "Be kind.".into();
    third.history = vec![exchange("<user-request>u</user-request>", "a")];
    let events = harness.run(third);
    assert!(
        events
            .text()
            .starts_with("Be kind.\n\n<conversation-history>"),
        "{events:?}"
    );
    assert!(events.text().contains("<assistant>a</assistant>"));
    assert!(!events.text().contains(&thread));
}

#[test]
fn another_process_resumes_or_loads_and_tells_nothing_twice() {
    for (fault, method) in [
        ("", "session/resume"),
        ("load only", "session/load"),
        ("bare", "session/new"),
    ] {
        let folder = folder();
        let mut harness = Harness::new(scripted(fault, folder.path()));
        let mut asked = request("hello", folder.path());
        asked.thread = Some("old".into());
        let events = harness.run(asked);
        assert_eq!(events.text(), "hello ", "{fault}: {events:?}");
        let methods: Vec<String> = sent(folder.path())
            .iter()
            .map(|message| message["method"].as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(methods, ["initialize", method, "session/prompt"]);
    }
}

#[test]
fn parts_go_as_blocks_that_the_agent_takes() {
    const PIXEL: &str = "data:image/png;base64,iVBORw0KGgo=";
    for (fault, expected, said) in [
        ("", r#"["resource", "image", "text"]"#, None),
        (
            "bare",
            r#"["text", "text"]"#,
            Some("1 picture was left out: the agent does not take it"),
        ),
    ] {
        let folder = folder();
        let mut harness = Harness::new(scripted(fault, folder.path()));
        let mut asked = request("blocks", folder.path());
        let file = InputPart::File {
            path: "a.txt".into(),
            text: "".into(),
        };
        asked
            .input
            .splice(0..0, [file, InputPart::Image(PIXEL.into())]);
        let events = harness.run(asked);
        assert!(events.text().starts_with(expected), "{events:?}");
        assert_eq!(events.progress.first().map(String::as_str), said);
    }
}

#[test]
fn commands_modes_and_titles_are_news_and_a_mode_is_set() {
    let folder = folder();
    let mut harness = Harness::new(scripted("", folder.path()));
    let events = harness.run(request("commands mode", folder.path()));
    assert_eq!(events.text(), "code");
    assert!(matches!(&events.news[0], AgentUpdate::Modes(modes) if modes.current == "code"));
    assert!(
        matches!(events.news.last(), Some(AgentUpdate::Commands(all)) if all[0].id == "review")
    );
    let done = harness.agent.choose("mode", "plan");
    assert_eq!(done.blocking_recv().unwrap(), Ok(()));
    let refused = harness
        .agent
        .choose("effort", "high")
        .blocking_recv()
        .unwrap();
    assert!(refused.unwrap_err().message.contains("`effort`"));
    let events = harness.run(request("mode", folder.path()));
    assert_eq!(events.text(), "plan");
    let Ok(LookupReply::Sessions(kept)) = harness.look_up(Lookup::Sessions) else {
        panic!("no sessions");
    };
    assert_eq!(
        (kept[0].id.as_str(), kept[0].title.as_str()),
        ("s1", "hello there")
    );
    let able = harness.agent.capabilities();
    assert!(
        able.resumes_threads
            && able.sessions
            && able.files
            && able.tools == Some(ToolRoute::McpServer)
    );
}

#[test]
fn a_limit_ends_an_answer_and_is_said() {
    let events = run_prompt("limit");
    assert_eq!(
        events.progress,
        ["the answer was cut off at the model's token limit"]
    );
    assert!(matches!(events.end, Some(Ok((false, Some(_))))));
}

#[test]
fn a_turn_without_an_input_opens_a_session_or_tells_it_of_other_servers() {
    let folder = folder();
    let mut harness = Harness::new(scripted("", folder.path()));
    let open = |thread: Option<String>, server: &str| {
        let mut wanted = request("", folder.path());
        wanted.input.clear();
        wanted.thread = thread;
        wanted.settings.mcp_servers = vec![McpServer {
            name: server.into(),
            command: server.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
        }];
        wanted
    };
    let opened = harness.run(open(None, "one"));
    let Some(Ok((false, Some(thread)))) = opened.end.clone() else {
        panic!("{opened:?}");
    };
    assert_eq!((opened.sent, opened.text().as_str()), (0, ""));
    let mut said = request("session servers", folder.path());
    said.thread = Some(thread.clone());
    let events = harness.run(said.clone()).text();
    assert!(
        events.starts_with(&thread) && events.contains("\"one\""),
        "{events}"
    );
    let again = harness.run(open(Some(thread.clone()), "two"));
    assert_eq!(again.end, Some(Ok((false, Some(thread.clone())))));
    let events = harness.run(said).text();
    assert!(
        events.starts_with(&thread) && events.contains("\"two\""),
        "{events}"
    );
    let methods: Vec<String> = sent(folder.path())
        .iter()
        .filter_map(|it| Some(it["method"].as_str()?.to_owned()))
        .filter(|it| it.starts_with("session/"))
        .collect();
    assert_eq!(
        methods,
        ["new", "prompt", "close", "resume", "prompt"].map(|it| format!("session/{it}"))
    );
}

#[test]
fn a_session_that_cannot_be_had_is_not_replaced_where_it_is_all_that_is_wanted() {
    let folder = folder();
    let mut harness = Harness::new(scripted("bare", folder.path()));
    let mut wanted = request("", folder.path());
    wanted.input.clear();
    wanted.thread = Some("old".into());
    let events = harness.run(wanted);
    let failure = events.failure();
    assert_eq!(failure.kind, FailureKind::Refused);
    assert!(failure.message.contains("`old`"), "{}", failure.message);
}

#[test]
fn what_a_terminal_shows_before_its_call_is_told_with_it() {
    let folder = folder();
    let mut harness = Harness::new(scripted("late calls", folder.path()));
    let turn = harness.agent.start(request("run", folder.path()));
    let mut shown = String::new();
    harness.finish(turn, |_, _, event| {
        if let AgentEvent::CommandOutput { delta, .. } = event {
            shown.push_str(delta);
        }
    });
    assert_eq!(shown, "out\ntty\n");
}

#[test]
fn a_session_is_forked_at_its_end_where_the_agent_can() {
    let at = |point: Option<&str>| {
        Some(ThreadPoint {
            thread: "s0".into(),
            point: point.map(str::to_owned),
        })
    };
    for (agent, fork, methods, is_fork) in [
        ("forks", at(None), &["session/fork"][..], true),
        ("forks", at(Some("a turn")), &["session/new"], false),
        ("forks", None, &["session/new"], false),
        (
            "forks not",
            at(None),
            &["session/fork", "session/new"],
            false,
        ),
        ("", at(None), &["session/new"], false),
    ] {
        let folder = folder();
        let mut harness = Harness::new(scripted(agent, folder.path()));
        let mut asked = request("hello", folder.path());
        asked.history = vec![exchange("earlier?", "a")];
        asked.fork = fork;
        let events = harness.run(asked);
        assert_eq!(events.thread() == "fork of s0", is_fork, "{agent}");
        let sent = sent(folder.path());
        let opened = sent.iter().filter_map(|message| message["method"].as_str());
        let opened = opened.filter(|method| ["session/new", "session/fork"].contains(method));
        assert_eq!(opened.collect::<Vec<_>>(), methods, "{agent}");
        let prompt = sent
            .iter()
            .find(|message| message["method"] == "session/prompt");
        let told = prompt.unwrap().to_string().contains("earlier?");
        assert_eq!(told, !is_fork, "a fork holds the conversation");
    }
}
