//! The real app-server asks: commands, edits, permissions, questions of the model and of MCP servers; what each answer
//! does, and what the model then sees. On a model with plain tools and on one with code mode.

mod mcp;

use std::path::PathBuf;

use ipycodex::agent::{
    AgentEvent, AgentQuestion, AgentReply, Approvals, Change, Decision, QuestionAnswer, Sandbox,
    Subject, TurnId,
};
use serde_json::{Value, json};

use super::app_server::{Real, real};
use super::harness::{Harness, TurnEvents};
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, tool_outputs};

const PLAIN: &str = "gpt-5.5";
const CODE: &str = "gpt-6.1-sol";

/// A model that uses these tools of Codex (name, arguments), one after the other, then says `done`.
pub(super) fn using(model: &str, calls: &[(&str, Value)]) -> Endpoint {
    let code = model == CODE;
    let calls: Vec<(String, Value)> = calls
        .iter()
        .map(|(name, arguments)| ((*name).to_owned(), arguments.clone()))
        .collect();
    Endpoint::answering(move |index, _| match calls.get(index) {
        None => Reply::text("done"),
        Some((name, arguments)) if code => Reply::exec(
            "c",
            &format!("const r = await tools.{name}({arguments}); text(JSON.stringify(r));"),
        ),
        Some((name, Value::String(input))) => Reply::Stream(vec![
            Event::Custom(format!("c{index}"), name.clone(), input.clone()),
            Event::Completed([1, 0, 1, 0]),
        ]),
        Some((name, arguments)) => Reply::calls(&[(&format!("c{index}"), name, arguments.clone())]),
    })
}

pub(super) fn shell(command: &str) -> (&'static str, Value) {
    ("exec_command", json!({ "cmd": command }))
}

pub(super) fn patch(file: &str) -> (&'static str, Value) {
    let patch = format!("*** Begin Patch\n*** Add File: {file}\n+hello\n*** End Patch\n");
    ("apply_patch", json!(patch))
}

/// Runs a turn that asks; `answers` are given one after the other.
fn ask(real: &Real, harness: &mut Harness, text: &str, answers: &[QuestionAnswer]) -> TurnEvents {
    let mut request = real.request(text);
    request.settings.approvals = Approvals::Ask;
    request.settings.sandbox = Sandbox::WorkspaceWrite;
    let turn = harness.agent.start(request);
    let mut answers = answers.iter().cloned();
    harness.finish(turn, |agent, turn, event| {
        if let AgentEvent::QuestionAsked { question, .. } = event {
            let answer = answers.next().expect("an answer for each question");
            agent.reply(turn, answered(question, answer));
        }
    })
}

fn answered(question: &AgentQuestion, answer: QuestionAnswer) -> AgentReply {
    AgentReply::Answer {
        question: question.id.clone(),
        answer,
    }
}

pub(super) fn decided(decision: Decision) -> QuestionAnswer {
    QuestionAnswer::from_decision(decision)
}

/// What the model was told by the tools, as one text.
fn seen(real: &Real) -> String {
    let requests = real.endpoint.requests();
    let outputs = requests.last().map(tool_outputs).unwrap_or_default();
    json!(outputs).to_string()
}

fn check_command(model: &str, decision: Decision, asked: usize, runs: bool, events: &str) {
    let endpoint = using(model, &[shell("echo a >> file"), shell("echo a >> file")]);
    let Some(real) = real(model, endpoint) else {
        return;
    };
    let what = format!("{model} {decision:?}");
    let turn = ask(
        &real,
        &mut real.harness(),
        "run",
        &[decided(decision), decided(decision)],
    );
    assert_eq!(turn.questions.len(), asked, "{what}: {turn:?}");
    let expected = Subject::Command {
        command: "echo a >> file".into(),
        cwd: real.work().display().to_string(),
        reason: None,
    };
    assert_eq!(turn.questions[0].subject, expected, "{what}");
    assert_eq!(real.work().join("file").exists(), runs, "{what}");
    assert_eq!(
        turn.interrupted(),
        decision == Decision::Stop,
        "{what}: {turn:?}"
    );
    let seen = seen(&real);
    assert!(seen.contains(events), "{what}: {seen}");
}

#[test]
fn a_command_is_asked_about_and_the_answer_obeyed() {
    for model in [PLAIN, CODE] {
        check_command(model, Decision::AllowOnce, 2, true, "");
        check_command(model, Decision::AllowAlways, 1, true, "");
        check_command(model, Decision::RejectOnce, 2, false, "rejected by user");
        check_command(model, Decision::Stop, 1, false, "");
    }
}

#[test]
fn an_edit_is_asked_about_with_its_changes() {
    for model in [PLAIN, CODE] {
        for (decision, runs, events) in [
            (Decision::AllowOnce, true, "Success"),
            (Decision::AllowAlways, true, "Success"),
            (Decision::RejectOnce, false, "rejected"),
            (Decision::Stop, false, ""),
        ] {
            let Some(real) = real(model, using(model, &[patch("new.txt")])) else {
                return;
            };
            let told_turn = ask(&real, &mut real.harness(), "edit", &[decided(decision)]);
            let [question] = &told_turn.questions[..] else {
                panic!("{model}: one question: {told_turn:?}");
            };
            let file = real.work().join("new.txt");
            let Subject::Edit { changes, .. } = &question.subject else {
                panic!("{model}: {question:?}");
            };
            assert_eq!(changes.len(), 1);
            assert_eq!(PathBuf::from(&changes[0].path), file);
            assert_eq!(changes[0].change, Change::Added("hello\n".into()));
            assert_eq!(file.exists(), runs, "{model} {decision:?}");
            assert_eq!(told_turn.interrupted(), decision == Decision::Stop);
            if model == PLAIN || decision == Decision::RejectOnce {
                // Code mode answers a patch that was applied with an empty object.
                assert!(seen(&real).contains(events), "{model}: {}", seen(&real));
            }
        }
    }
}

#[test]
fn with_approvals_off_nothing_is_asked() {
    for model in [PLAIN, CODE] {
        let outside = json!({"cmd": "echo b > /var/tmp/../../etc/x", "sandbox_permissions": "require_escalated",
            "justification": "to test"});
        let endpoint = using(
            model,
            &[
                shell("echo a > file"),
                patch("new.txt"),
                ("exec_command", outside),
            ],
        );
        let Some(real) = real(model, endpoint) else {
            return;
        };
        let mut request = real.request("run");
        request.settings.sandbox = Sandbox::WorkspaceWrite;
        let events = real.harness().run(request);
        assert_eq!(events.text(), "done", "{events:?}");
        assert!(events.questions.is_empty(), "{:?}", events.questions);
        assert!(real.work().join("file").exists() && real.work().join("new.txt").exists());
        assert!(
            !PathBuf::from("/etc/x").exists(),
            "no more than the sandbox allows"
        );
    }
}

#[test]
fn questions_are_answered_once_and_late_answers_are_ignored() {
    let Some(real) = real(
        PLAIN,
        Endpoint::script(vec![
            Reply::calls(&[
                ("c1", "exec_command", json!({"cmd": "touch a"})),
                ("c2", "weather", json!({"city": "Oslo"})),
                ("c3", "exec_command", json!({"cmd": "touch b"})),
            ]),
            Reply::text("done"),
        ]),
    ) else {
        return;
    };
    let mut request = real.request("run");
    request.settings.approvals = Approvals::Ask;
    let mut harness = real.harness();
    let turn = harness.agent.start(request);
    let events = harness.finish(turn, |agent, turn, event| {
        if let AgentEvent::QuestionAsked { question, .. } = event {
            // Only the first answer counts.
            for answer in [Decision::AllowOnce, Decision::RejectOnce, Decision::Stop] {
                agent.reply(turn, answered(question, decided(answer)));
                agent.reply(TurnId(99), answered(question, decided(Decision::Stop)));
            }
        }
    });
    assert_eq!(events.text(), "done", "{events:?}");
    assert_eq!((events.questions.len(), events.calls.len()), (2, 1));
    assert!(real.work().join("a").exists() && real.work().join("b").exists());
}

#[test]
fn a_cancel_while_a_question_is_open_runs_nothing() {
    for model in [PLAIN, CODE] {
        let endpoint = using(model, &[shell("touch a")]);
        let Some(real) = real(model, endpoint) else {
            return;
        };
        let mut harness = real.harness();
        let mut request = real.request("run");
        request.settings.approvals = Approvals::Ask;
        let turn = harness.agent.start(request);
        let events = harness.finish(turn, |agent, turn, event| {
            if let AgentEvent::QuestionAsked { question, .. } = event {
                agent.cancel(turn);
                agent.reply(turn, answered(question, decided(Decision::AllowOnce)));
            }
        });
        assert!(events.interrupted(), "{events:?}");
        // A late answer of a turn that is over.
        harness.agent.reply(
            turn,
            answered(&events.questions[0], decided(Decision::AllowOnce)),
        );
        assert_eq!(harness.run(real.request("second?")).text(), "done");
        assert!(!real.work().join("a").exists());
    }
}

#[test]
fn a_question_of_the_model_is_asked_whatever_the_policy() {
    let arguments = json!({"questions": [{"id": "color", "header": "Color", "question": "Which?", "options": [
        {"label": "Blue (Recommended)", "description": "calm"}, {"label": "Red", "description": "loud"},
    ]}]});
    for model in [PLAIN, CODE] {
        let endpoint = {
            let arguments = arguments.clone();
            Endpoint::answering(move |index, _| match index {
                0 => Reply::calls(&[("c1", "request_user_input", arguments.clone())]),
                _ => Reply::text("done"),
            })
        };
        let Some(real) = real(model, endpoint) else {
            return;
        };
        let mut harness = real.harness();
        let turn = harness.agent.start(real.request("choose"));
        let events = harness.finish(turn, |agent, turn, event| {
            if let AgentEvent::QuestionAsked { question, .. } = event {
                let answer = vec![("color".to_owned(), vec!["Green".to_owned()])];
                agent.reply(turn, answered(question, QuestionAnswer::Filled(answer)));
            }
        });
        let [question] = &events.questions[..] else {
            panic!("{model}: {events:?} {}", seen(&real));
        };
        let Subject::Form { server, fields, .. } = &question.subject else {
            panic!("{question:?}");
        };
        assert_eq!(
            (server.as_str(), fields[0].question.as_str()),
            ("", "Which?")
        );
        assert_eq!(fields[0].options[1], ("Red".to_owned(), "loud".to_owned()));
        assert!(fields[0].free_text);
        assert!(seen(&real).contains("Green"), "{}", seen(&real));
        assert!(events.progress.is_empty(), "{:?}", events.progress);
    }
}

#[test]
fn more_permissions_are_asked_for_and_granted_as_decided() {
    let arguments = json!({"reason": "to test",
        "permissions": {"network": {"enabled": true}, "file_system": {"read": ["/etc"], "write": ["/var/tmp/z"]}}});
    for (decision, said) in [
        (Decision::AllowOnce, "\"scope\":\"turn\""),
        (Decision::AllowAlways, "\"scope\":\"session\""),
        (
            Decision::RejectOnce,
            "\"network\":null,\"file_system\":null",
        ),
        (Decision::Stop, ""),
    ] {
        let endpoint = using(PLAIN, &[("request_permissions", arguments.clone())]);
        let Some(real) = real(PLAIN, endpoint) else {
            return;
        };
        let config = real.home().join("config.toml");
        let mut text = std::fs::read_to_string(&config).unwrap();
        text.push_str("[features]\nrequest_permissions_tool = true\n");
        std::fs::write(config, text).unwrap();
        let events = ask(&real, &mut real.harness(), "may I?", &[decided(decision)]);
        let [question] = &events.questions[..] else {
            panic!("{events:?} {}", seen(&real));
        };
        let Subject::Permissions {
            requested: wanted,
            reason,
            ..
        } = &question.subject
        else {
            panic!("{question:?}");
        };
        assert_eq!(wanted, &["network", "read /etc", "write /var/tmp/z"]);
        assert_eq!(reason.as_deref(), Some("to test"));
        assert_eq!(
            events.interrupted(),
            decision == Decision::Stop,
            "{events:?}"
        );
        let seen = seen(&real).replace('\\', "");
        assert!(seen.contains(said), "{decision:?}: {seen}");
    }
}

#[test]
fn a_question_that_waits_for_nobody_is_part_of_the_answer() {
    // A tool of code mode's models: the turn goes on, and the user answers with the next prompt.
    let arguments = json!({"questions": [{"title": "Which colour?", "options": ["red", "blue"]}]});
    let endpoint = Endpoint::answering(move |index, _| match index {
        0 => Reply::Stream(vec![
            Event::NamespaceCall(
                "c".into(),
                "functions".into(),
                "request_user_input_async".into(),
                arguments.clone(),
            ),
            Event::Completed([1, 0, 1, 0]),
        ]),
        _ => Reply::text("meanwhile"),
    });
    let Some(real) = real(CODE, endpoint) else {
        return;
    };
    let events = real.harness().run(real.request("paint"));
    assert!(events.questions.is_empty(), "{events:?}");
    assert_eq!(events.text(), "Which colour?\n- red\n- blue\nmeanwhile");
}
