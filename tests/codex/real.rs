//! The real app-server 0.169.0 with a scripted model.

use std::path::PathBuf;

use ipycodex::agent::connect::AgentKind;
use ipycodex::agent::{AgentEvent, FailureKind, InputPart, Threads};
use serde_json::{Value, json};

use super::bench::{Bench, exchange, folder, plan, request};
use crate::support::responses::{Endpoint, Event, Reply, conversation, shell_tool, tool_outputs};

/// The app-server and its home; `None` (and a passed test) where it is not installed.
struct Real {
    folder: tempfile::TempDir,
    endpoint: Endpoint,
    program: PathBuf,
}

fn program() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("target/peers/codex-0.169.0/node_modules/.bin/codex");
    path.exists().then_some(path)
}

fn real(model: &str, endpoint: Endpoint) -> Option<Real> {
    let folder = folder();
    endpoint.write_home(&folder.path().join("home"), model);
    std::fs::create_dir_all(folder.path().join("work")).unwrap();
    Some(Real {
        folder,
        endpoint,
        program: program()?,
    })
}

impl Real {
    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn bench(&self) -> Bench {
        let kind = AgentKind::Codex {
            command: vec![self.program.display().to_string()],
        };
        Bench::new(plan(kind, &self.folder.path().join("home"), &self.work()))
    }

    fn request(&self, text: &str) -> ipycodex::agent::TurnRequest {
        request(text, &self.work())
    }
}

#[test]
fn a_turn_streams_and_the_next_goes_on_in_its_thread() {
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::script(vec![
            Reply::Stream(vec![
                Event::Reasoning(vec!["think".into(), "more".into()]),
                Event::Message(vec!["look".into(), "ing".into()], Some("commentary")),
                Event::Message(vec!["he".into(), "llo".into()], Some("final_answer")),
                Event::Completed([100, 40, 10, 2]),
            ]),
            Reply::text("again"),
        ]),
    ) else {
        return;
    };
    let mut bench = real.bench();
    bench.agent.warm_up();
    let told = bench.run(real.request("first?"));
    assert_eq!(told.text(), "looking\nhello", "{told:?}");
    assert_eq!(
        told.thoughts.into_values().collect::<Vec<_>>(),
        ["think", "more"]
    );
    assert_eq!(told.sent, 1);
    let usage = told.usage.expect("counts");
    assert_eq!(
        (usage.input, usage.cached, usage.output, usage.reasoning),
        (100, 40, 10, 2)
    );
    let Some(Ok((false, Some(thread)))) = told.end else {
        panic!("{:?}", told.end);
    };

    let mut second = real.request("second?");
    second.thread = Some(thread.clone());
    second.history = vec![exchange("first?", "hello")];
    let told = bench.run(second);
    assert_eq!(told.thread(), thread);
    let usage = told.usage.expect("counts");
    assert_eq!(usage.input, 100, "of this turn alone");
    let requests = real.endpoint.requests();
    assert_eq!(
        conversation(&requests[1]),
        [
            "user: first?",
            "assistant: looking",
            "assistant: hello",
            "user: second?"
        ]
    );
    assert_eq!(
        requests[0]["prompt_cache_key"],
        requests[1]["prompt_cache_key"]
    );
}

#[test]
fn a_conversation_is_seeded_and_seen_in_order() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("c")])) else {
        return;
    };
    let mut bench = real.bench();
    let mut asked = real.request("third?");
    asked.history = vec![exchange("first?", "a"), exchange("second?", "b")];
    asked.thread = Some("0199a213-81c0-7800-8aa1-bbab2a035a53".into());
    let told = bench.run(asked);
    assert_eq!(told.text(), "c");
    assert_ne!(told.thread(), "0199a213-81c0-7800-8aa1-bbab2a035a53");
    let request = &real.endpoint.requests()[0];
    assert_eq!(
        conversation(request),
        [
            "user: first?",
            "assistant: a",
            "user: second?",
            "assistant: b",
            "user: third?"
        ]
    );
    assert!(request.to_string().contains("Be brief."));
    assert!(!request.to_string().contains("web_search"), "{request:#}");
    assert_eq!(request["reasoning"]["effort"], "low");
    assert_eq!(request["reasoning"]["summary"], "detailed");
}

#[test]
fn a_thread_is_resumed_by_another_process() {
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::script(vec![Reply::text("a"), Reply::text("b")]),
    ) else {
        return;
    };
    let thread = real.bench().run(real.request("first?")).thread();
    let mut second = real.request("second?");
    second.thread = Some(thread.clone());
    second.history = vec![exchange("first?", "something else")];
    assert_eq!(real.bench().run(second).thread(), thread);
    let requests = real.endpoint.requests();
    assert_eq!(
        conversation(&requests[1]),
        ["user: first?", "assistant: a", "user: second?"],
        "from the thread, not seeded"
    );
    let names = tool_names(&requests[1]);
    assert!(names.contains(&"weather".into()), "{names:?}");
}

fn tool_names(request: &Value) -> Vec<String> {
    request["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn an_ephemeral_thread_gets_the_conversation_in_one_text() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("c"); 2])) else {
        return;
    };
    let mut bench = real.bench();
    for number in 0..2 {
        let mut asked = real.request("now <b>?");
        asked.settings.threads = Threads::Ephemeral;
        asked.history = vec![exchange("a<b", "c")];
        let told = bench.run(asked);
        assert!(matches!(told.end, Some(Ok((false, None)))), "{told:?}");
        assert_eq!(
            conversation(&real.endpoint.requests()[number]),
            [
                "user: <conversation-history><turn><user>a&lt;b</user><assistant>c</assistant></turn></conversation-history>\nnow <b>?"
            ]
        );
    }
}

#[test]
fn tools_are_called_one_at_a_time_and_answered() {
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::script(vec![
            Reply::calls(&[
                ("c1", "weather", json!({"city": "Oslo"})),
                ("c2", "weather", json!({"city": "Rome"})),
            ]),
            Reply::text("sunny"),
        ]),
    ) else {
        return;
    };
    let mut bench = real.bench();
    let turn = bench.agent.start(real.request("weather?"));
    let mut open = 0;
    let told = bench.finish(turn, |_, _, event| {
        // `finish` answers each call before it reads on: a second one may come only after that.
        if matches!(event, AgentEvent::ToolCalled { .. }) {
            open += 1;
        }
    });
    assert_eq!(open, 2);
    assert_eq!(told.text(), "sunny");
    let called: Vec<_> = told.calls.iter().map(|call| &call.arguments).collect();
    assert_eq!(called, [&json!({"city": "Oslo"}), &json!({"city": "Rome"})]);
    let outputs = tool_outputs(&real.endpoint.requests()[1]).to_vec();
    for (output, city) in outputs.iter().zip(["Oslo", "Rome"]) {
        assert!(output.to_string().contains(city), "{output}");
    }
    assert_eq!(outputs.len(), 2);
    assert_eq!(told.usage.expect("counts").input, 200, "two model calls");
}

#[test]
fn tools_are_called_from_code_mode() {
    let script = "const r = await Promise.all([tools.weather({city: 'Oslo'}), tools.weather({city: 'Rome'})]); text(r.join('|'));";
    let Some(real) = real(
        "gpt-6.1-sol",
        Endpoint::script(vec![Reply::exec("c1", script), Reply::text("both")]),
    ) else {
        return;
    };
    let told = real.bench().run(real.request("weather?"));
    assert_eq!(told.text(), "both", "{told:?}");
    assert_eq!(told.calls.len(), 2);
    let output = format!("{:?}", tool_outputs(&real.endpoint.requests()[1]));
    assert!(
        output.contains("Oslo") && output.contains("Rome"),
        "{output}"
    );
}

/// Answers the first request with a shell command, the next with text.
fn running(command: &'static str) -> Endpoint {
    Endpoint::answering(move |index, request| match (index, shell_tool(request)) {
        (0, Some(tool)) => {
            let key = if tool == "exec_command" {
                "cmd"
            } else {
                "command"
            };
            Reply::calls(&[("c1", &tool, json!({ key: command }))])
        }
        _ => Reply::text("ran"),
    })
}

#[test]
fn commands_are_shown_whole_and_keep_no_secrets() {
    let Some(real) = real("gpt-5.5", running("env; echo to-err >&2; exit 3")) else {
        return;
    };
    let kind = AgentKind::Codex {
        command: vec![real.program.display().to_string()],
    };
    let mut plan = plan(kind, &real.folder.path().join("home"), &real.work());
    for name in [
        "MY_API_KEY",
        "MY_SECRET",
        "MY_TOKEN",
        "MY_PASSWORD",
        "MY_CREDENTIALS",
        "PLAIN",
    ] {
        plan.variables.insert(name.into(), "canary-7f3a".into());
    }
    let told = Bench::new(plan).run(real.request("run"));
    assert_eq!(told.text(), "ran", "{told:?}");
    let [command] = &told.commands[..] else {
        panic!("one command: {:?}", told.commands);
    };
    assert_eq!(told.started, std::slice::from_ref(&command.command));
    assert_eq!(command.exit_code, Some(3));
    assert_eq!(command.status, "failed");
    assert!(command.output.contains("to-err"));
    assert!(
        command.output.contains("PLAIN=canary"),
        "{}",
        command.output
    );
    for name in [
        "MY_API_KEY",
        "MY_SECRET",
        "MY_TOKEN",
        "MY_PASSWORD",
        "MY_CREDENTIALS",
    ] {
        assert!(!command.output.contains(name), "{}", command.output);
    }
}

#[test]
fn an_edit_is_told() {
    let patch = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch\n";
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::script(vec![
            Reply::Stream(vec![
                Event::Search("rust".into()),
                Event::Custom("c1".into(), "apply_patch".into(), patch.into()),
                Event::Completed([1, 0, 1, 0]),
            ]),
            Reply::text("done"),
        ]),
    ) else {
        return;
    };
    let told = real.bench().run(real.request("edit"));
    let [file] = &told.files[..] else {
        panic!("one file: {told:?}");
    };
    assert!(file.path.ends_with("new.txt"));
    assert_eq!((file.kind.as_str(), file.diff.as_str()), ("add", "hello\n"));
    assert!(
        told.progress.contains(&"searched: rust".into()),
        "{:?}",
        told.progress
    );
}

#[test]
fn a_stream_is_interrupted_and_the_next_turn_works() {
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::answering(|index, _| match index {
            0 => Reply::Stream(vec![Event::Begun(vec!["par".into()]), Event::Hold]),
            _ => Reply::text("fine"),
        }),
    ) else {
        return;
    };
    let mut bench = real.bench();
    let turn = bench.agent.start(real.request("first?"));
    let told = bench.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::Text { .. }) {
            agent.cancel(turn);
        }
    });
    assert!(told.interrupted(), "{told:?}");
    assert_eq!(told.text(), "par");
    let mut second = real.request("second?");
    second.history = vec![exchange("first?", "par")];
    assert_eq!(bench.run(second).text(), "fine");
    assert_eq!(
        conversation(&real.endpoint.requests()[1]),
        ["user: first?", "assistant: par", "user: second?"]
    );
    real.endpoint.release();
}

#[test]
fn an_interrupted_command_is_ended() {
    let Some(real) = real("gpt-5.5", running("echo $$ > pid; exec sleep 1000")) else {
        return;
    };
    let mut bench = real.bench();
    let file = real.work().join("pid");
    let turn = bench.agent.start(real.request("run"));
    let told = bench.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::CommandStarted { .. }) {
            await_true(|| std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n')));
            agent.cancel(turn);
        }
    });
    assert!(told.interrupted(), "{told:?}");
    let pid = std::fs::read_to_string(&file).unwrap();
    let process = PathBuf::from("/proc").join(pid.trim());
    await_true(|| !process.join("cmdline").exists());
    assert_eq!(bench.run(real.request("second?")).text(), "ran");
}

/// Looks again and again until it is so; the test runner's own limit ends a test that waits for ever.
fn await_true(mut so: impl FnMut() -> bool) {
    while !so() {
        std::thread::yield_now();
    }
}

#[test]
fn a_cancel_at_once_is_obeyed() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("a"); 3])) else {
        return;
    };
    let mut bench = real.bench();
    let turn = bench.agent.start(real.request("first?"));
    bench.agent.cancel(turn);
    assert!(bench.finish(turn, |_, _, _| {}).interrupted());
    // Between `turn/start` and its answer.
    let turn = bench.agent.start(real.request("second?"));
    let told = bench.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::Sent { .. }) {
            agent.cancel(turn);
        }
    });
    assert!(told.end.is_some_and(|end| end.is_ok()));
    assert_eq!(bench.run(real.request("third?")).text(), "a");
}

#[test]
fn a_retried_stream_starts_its_text_again() {
    for cut in [
        Vec::new(),
        vec![Event::Raw(
            "event: response.output_text.delta\ndata: {\"ty".into(),
        )],
    ] {
        let mut events = vec![Event::Begun(vec!["hal".into()])];
        events.extend(cut);
        let Some(real) = real(
            "gpt-5.5",
            Endpoint::script(vec![Reply::Stream(events), Reply::text("whole")]),
        ) else {
            return;
        };
        let told = real.bench().run(real.request("first?"));
        assert_eq!(told.text(), "whole", "{told:?}");
        assert_eq!(told.restarted, [0]);
        assert!(!told.progress.is_empty(), "a retry is said");
    }
}

#[test]
fn failures_of_the_service_are_one_line_with_a_remedy() {
    for (reply, kind, expected, hint) in [
        (
            Reply::status(401, "invalid_api_key", "bad key"),
            FailureKind::LoggedOut,
            "login",
            "codex login",
        ),
        (
            Reply::status(429, "rate_limit", "slow down"),
            FailureKind::Upstream,
            "429",
            "again",
        ),
        (
            Reply::status(429, "insufficient_quota", "no money"),
            FailureKind::Upstream,
            "usage limit",
            "reset",
        ),
        (
            Reply::status(500, "server_error", "oops"),
            FailureKind::Upstream,
            "problem",
            "again",
        ),
        (
            Reply::status(400, "invalid", "a bad request"),
            FailureKind::Upstream,
            "a bad request",
            "",
        ),
        (
            Reply::status(404, "model_not_found", "no such model"),
            FailureKind::Upstream,
            "model is not available",
            "%ipycodex model",
        ),
        (
            Reply::Stream(vec![Event::Failed("context_length_exceeded", "too long")]),
            FailureKind::Upstream,
            "too long for the model",
            "%ipycodex reset",
        ),
        (
            Reply::Stream(vec![Event::Begun(vec!["par".into()])]),
            FailureKind::Upstream,
            "stream disconnected",
            "",
        ),
    ] {
        let fallback = reply.clone();
        let endpoint = Endpoint::answering(move |_, request| {
            if conversation(request)
                .iter()
                .any(|it| it.contains("second?"))
            {
                Reply::text("fine")
            } else {
                reply.clone()
            }
        });
        let Some(real) = real("gpt-5.5", endpoint) else {
            return;
        };
        let mut bench = real.bench();
        let told = bench.run(real.request("first?"));
        let failure = told.failure();
        assert_eq!(failure.kind, kind, "{fallback:?}: {failure:?}");
        assert!(
            failure.message.contains(expected),
            "{fallback:?}: {failure:?}"
        );
        assert!(!failure.message.contains('\n') && !failure.message.contains("{\""));
        assert!(failure.hints.join("\n").contains(hint), "{failure:?}");
        assert_eq!(bench.run(real.request("second?")).text(), "fine");
    }
}

#[test]
fn nobody_logged_in_is_said_at_once() {
    let folder = folder();
    let Some(program) = program() else { return };
    let kind = AgentKind::Codex {
        command: vec![program.display().to_string()],
    };
    let mut bench = Bench::new(plan(kind, folder.path(), folder.path()));
    bench.agent.warm_up();
    for _ in 0..2 {
        let told = bench.run(request("hello?", folder.path()));
        assert_eq!(told.failure().kind, FailureKind::LoggedOut);
        assert_eq!(
            told.failure().hints,
            [
                "log in with `codex login`",
                "or try without Codex: `--agent demo`"
            ]
        );
        assert_eq!(told.sent, 0);
    }
}

#[test]
fn big_answers_and_many_deltas_arrive_whole() {
    let big = "x".repeat(1_000_000);
    let many: Vec<String> = (0..20_000).map(|n| format!("{} ", n % 10)).collect();
    let Some(real) = real(
        "gpt-5.5",
        Endpoint::script(vec![
            Reply::deltas(&[&big]),
            Reply::Stream(vec![
                Event::Message(many.clone(), None),
                Event::Completed([1, 0, 1, 0]),
            ]),
        ]),
    ) else {
        return;
    };
    let mut bench = real.bench();
    assert_eq!(bench.run(real.request("big?")).text(), big);
    assert_eq!(bench.run(real.request("many?")).text(), many.concat());
}

#[test]
fn a_prompt_too_long_for_codex_is_said() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("fine")])) else {
        return;
    };
    let mut bench = real.bench();
    let told = bench.run(real.request(&"x".repeat(1_100_000)));
    assert_eq!(told.failure().kind, FailureKind::Refused);
    assert!(
        told.failure().message.contains("1100000 characters"),
        "{told:?}"
    );
    assert_eq!(bench.run(real.request("short")).text(), "fine");
}

#[test]
fn an_image_reaches_the_model() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("seen")])) else {
        return;
    };
    let pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let mut asked = real.request("what is it? ");
    asked.input.push(InputPart::Text("this:".into()));
    asked.input.push(InputPart::Image(pixel.into()));
    assert_eq!(real.bench().run(asked).text(), "seen");
    let request = real.endpoint.requests()[0].to_string();
    assert!(request.contains("what is it? this:"));
    assert!(request.contains("data:image/png;base64,"));
}
