//! The real app-server at work: tools, commands, edits, images, and being interrupted in it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ipycodex::agent::{Activity, AgentEvent, Change, InputPart};
use serde_json::json;

use super::app_server::{real, running};
use super::harness::{Harness, exchange};
use crate::support::await_true;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, conversation, tool_outputs};

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
    let mut harness = real.harness();
    let turn = harness.agent.start(real.request("weather?"));
    let mut open = 0;
    let events = harness.finish(turn, |_, _, event| {
        // `finish` answers each call before it reads on: a second one may come only after that.
        if matches!(event, AgentEvent::ToolCalled { .. }) {
            open += 1;
        }
    });
    assert_eq!(open, 2);
    assert_eq!(events.text(), "sunny");
    // The app-server asks for both at once, in no order.
    let called: BTreeSet<_> = events
        .calls
        .iter()
        .map(|it| it.arguments.to_string())
        .collect();
    let cities = ["Oslo", "Rome"].map(|city| json!({"city": city}).to_string());
    assert_eq!(called, BTreeSet::from(cities));
    let outputs = tool_outputs(&real.endpoint.requests()[1]).to_vec();
    for (output, city) in outputs.iter().zip(["Oslo", "Rome"]) {
        assert!(output.to_string().contains(city), "{output}");
    }
    assert_eq!(outputs.len(), 2);
    assert_eq!(events.usage.expect("counts").input, 200, "two model calls");
}

#[test]
fn tools_are_called_from_code_mode() {
    let script = "const r = await Promise.all([tools.weather({city: 'Oslo'}), tools.weather({city: 'Rome'})]); \
                  text(r.join('|'));";
    let Some(real) = real(
        "gpt-6.1-sol",
        Endpoint::script(vec![Reply::exec("c1", script), Reply::text("both")]),
    ) else {
        return;
    };
    let events = real.harness().run(real.request("weather?"));
    assert_eq!(events.text(), "both", "{events:?}");
    assert_eq!(events.calls.len(), 2);
    let output = format!("{:?}", tool_outputs(&real.endpoint.requests()[1]));
    assert!(
        output.contains("Oslo") && output.contains("Rome"),
        "{output}"
    );
}

#[test]
fn commands_are_shown_whole_and_keep_no_secrets() {
    let Some(real) = real("gpt-5.5", running("env; echo to-err >&2; exit 3")) else {
        return;
    };
    let mut plan = real.plan();
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
    let events = Harness::new(plan).run(real.request("run"));
    assert_eq!(events.text(), "ran", "{events:?}");
    let [command] = &events.commands[..] else {
        panic!("one command: {:?}", events.commands);
    };
    assert_eq!(events.started, std::slice::from_ref(&command.command));
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
    let events = real.harness().run(real.request("edit"));
    let [file] = &events.files[..] else {
        panic!("one file: {events:?}");
    };
    assert!(file.path.ends_with("new.txt"));
    assert_eq!(file.change, Change::Added("hello\n".into()));
    let work: Vec<String> = events
        .work
        .iter()
        .map(Activity::title_with_locations)
        .collect();
    assert_eq!(
        work.last().map(String::as_str),
        Some("searched: rust"),
        "{work:?}"
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
    let mut harness = real.harness();
    let turn = harness.agent.start(real.request("first?"));
    let events = harness.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::Text { .. }) {
            agent.cancel(turn);
        }
    });
    assert!(events.interrupted(), "{events:?}");
    assert_eq!(events.text(), "par");
    let mut second = real.request("second?");
    second.history = vec![exchange("first?", "par")];
    assert_eq!(harness.run(second).text(), "fine");
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
    let mut harness = real.harness();
    let file = real.work().join("pid");
    let turn = harness.agent.start(real.request("run"));
    let events = harness.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::CommandStarted { .. }) {
            await_true("std", || {
                std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n'))
            });
            agent.cancel(turn);
        }
    });
    assert!(events.interrupted(), "{events:?}");
    let pid = std::fs::read_to_string(&file).unwrap();
    let process = PathBuf::from("/proc").join(pid.trim());
    await_true("the process is gone", || !process.join("cmdline").exists());
    assert_eq!(harness.run(real.request("second?")).text(), "ran");
}

#[test]
fn a_cancel_at_once_is_obeyed() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("a"); 3])) else {
        return;
    };
    let mut harness = real.harness();
    let turn = harness.agent.start(real.request("first?"));
    harness.agent.cancel(turn);
    assert!(harness.finish(turn, |_, _, _| {}).interrupted());
    // Between `turn/start` and its answer.
    let turn = harness.agent.start(real.request("second?"));
    let events = harness.finish(turn, |agent, turn, event| {
        if matches!(event, AgentEvent::Sent { .. }) {
            agent.cancel(turn);
        }
    });
    assert!(events.end.is_some_and(|end| end.is_ok()));
    assert_eq!(harness.run(real.request("third?")).text(), "a");
}

#[test]
fn an_image_reaches_the_model() {
    let Some(real) = real("gpt-5.5", Endpoint::script(vec![Reply::text("seen")])) else {
        return;
    };
    let pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA\
                 AABJRU5ErkJggg==";
    let mut asked = real.request("what is it? ");
    asked.input.push(InputPart::Text("this:".into()));
    asked.input.push(InputPart::Image(pixel.into()));
    assert_eq!(real.harness().run(asked).text(), "seen");
    let request = real.endpoint.requests()[0].to_string();
    assert!(request.contains("what is it? this:"));
    assert!(request.contains("data:image/png;base64,"));
}
