//! What of ours reaches the model through the real app-server, on a model with plain tools and on one with code mode:
//! tools under any name, their descriptions, pictures, skills told once; and what the app-server tells beside turns.

use std::collections::BTreeSet;

use ipycodex::agent::{
    AgentEvent, AgentReply, Exchange, InputPart, Lookup, LookupReply, ThreadMode, ToolSpec,
};
use serde_json::{Value, json};

use super::app_server::{real, tool_names};
use super::harness::exchange;
use crate::support::responses::reply::Event;
use crate::support::responses::{Endpoint, Reply, tool_outputs};

const PLAIN: &str = "gpt-5.5";
const CODE: &str = "gpt-6.1-sol";
const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9\
                     awAAAABJRU5ErkJggg==";

fn tool(name: &str, description: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        schema: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    }
}

/// A model that calls every tool with `MARK` in its description.
fn calling_all(model: &str) -> Endpoint {
    let code = model == CODE;
    Endpoint::answering(move |index, request| match index {
        0 if code => Reply::exec(
            "c",
            "for (const t of ALL_TOOLS.filter(t => t.description.includes('MARK'))) text(await tools[t.name]({city: \
             'Oslo'}));",
        ),
        0 => {
            let mut events: Vec<Event> = request["tools"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|tool| {
                    tool["description"]
                        .as_str()
                        .is_some_and(|it| it.contains("MARK"))
                })
                .filter_map(|tool| tool["name"].as_str())
                .map(|name| Event::Call(format!("c_{name}"), name.into(), json!({"city": "Oslo"})))
                .collect();
            events.push(Event::Completed([1, 0, 1, 0]));
            Reply::Stream(events)
        }
        _ => Reply::text("done"),
    })
}

fn check_names(model: &str, names: &BTreeSet<String>) {
    let Some(real) = real(model, calling_all(model)) else {
        return;
    };
    let mut request = real.request("call");
    request.tools = names.iter().map(|name| tool(name, "MARK")).collect();
    let events = real.harness().run(request);
    assert_eq!(events.text(), "done", "{model}: {:?}", events.end);
    let called: BTreeSet<String> = events.calls.into_iter().map(|call| call.name).collect();
    let lost: Vec<_> = names
        .difference(&called)
        .map(|it| it.chars().take(40).collect::<String>())
        .collect();
    assert!(
        lost.is_empty() && called.len() == names.len(),
        "{model}: not called: {lost:?}"
    );
    let outputs = json!(real.endpoint.requests().last().map(tool_outputs)).to_string();
    assert!(
        outputs.contains("done größe") || !names.contains("größe"),
        "{outputs}"
    );
}

#[test]
fn tools_have_any_name() {
    let huge = "a".repeat(1_000_000);
    let names = [
        "weather",
        "exec_command",
        "exec",
        "wait",
        "apply_patch",
        "mcp__x",
        "größe",
        "名",
        "a-b",
        "a_b",
        "_1",
        "__proto__",
        "then",
        "constructor",
        "class",
        "py_exec",
        &huge,
    ];
    let names = names.map(str::to_owned).into();
    for model in [PLAIN, CODE] {
        check_names(model, &names);
    }
}

#[test]
fn a_name_of_the_agents_own_can_be_ours_too() {
    for model in [PLAIN, CODE] {
        let endpoint = Endpoint::answering(move |index, _| match index {
            0 if model == CODE => {
                Reply::exec("c", "text(JSON.stringify(ALL_TOOLS.map(t => t.name)));")
            }
            _ => Reply::text("done"),
        });
        let Some(real) = real(model, endpoint) else {
            return;
        };
        real.harness().run(real.request("what is there?"));
        let requests = real.endpoint.requests();
        let mut names: BTreeSet<String> = tool_names(&requests[0]).into_iter().collect();
        for item in requests[0]["input"].as_array().into_iter().flatten() {
            for namespace in item["tools"].as_array().into_iter().flatten() {
                names.extend(tool_names(namespace));
            }
        }
        for part in requests.last().map(tool_outputs).into_iter().flatten() {
            for text in part.as_array().into_iter().flatten() {
                let listed = text["text"]
                    .as_str()
                    .and_then(|text| serde_json::from_str(text).ok());
                names.extend(listed.unwrap_or_else(Vec::<String>::new));
            }
        }
        assert!(names.contains("exec_command") || model == CODE, "{names:?}");
        assert!(names.len() > 5, "{names:?}");
        check_names(model, &names);
    }
}

#[test]
fn descriptions_arrive_as_they_are() {
    let description = "First line.\n\n  indented `code` ${x} */ \"q\" 's' <b>&amp;</b> back\\slash größe 😀\ttab\n- a\n\
                       - b";
    for model in [PLAIN, CODE] {
        let Some(real) = real(model, Endpoint::script(vec![Reply::text("done")])) else {
            return;
        };
        let mut request = real.request("hi");
        request.tools = vec![tool("f", description)];
        real.harness().run(request);
        let sent = real.endpoint.requests()[0].to_string();
        let quoted = json!(description).to_string();
        assert!(sent.contains(quoted.trim_matches('"')), "{model}: {sent}");
    }
}

/// The pictures of a request, and whether a text is in it.
fn pictures(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(pictures).collect(),
        Value::Object(fields) => match fields.get("type").and_then(Value::as_str) {
            Some("input_image") => {
                vec![fields["image_url"].as_str().unwrap_or_default().to_owned()]
            }
            _ => fields.values().flat_map(pictures).collect(),
        },
        _ => Vec::new(),
    }
}

#[test]
fn pictures_of_results_reach_the_model() {
    for model in [PLAIN, CODE] {
        let endpoint = Endpoint::answering(move |index, request| match index {
            0 if model == CODE => {
                // As the instructions say.
                let text = request
                    .to_string()
                    .replace("\\\"", "\"")
                    .replace("\\\\n", "\\n");
                let from = text.find("for (const line of result").expect("it is told");
                let end = from + text[from..].find('`').expect("in backticks");
                Reply::exec(
                    "c",
                    &format!(
                        "const result = await tools.weather({{city: 'Oslo'}}); {}",
                        &text[from..end]
                    ),
                )
            }
            0 => Reply::calls(&[("c", "weather", json!({"city": "Oslo"}))]),
            _ => Reply::text("seen"),
        });
        let Some(real) = real(model, endpoint) else {
            return;
        };
        let mut harness = real.harness();
        let turn = harness.agent.start(real.request("draw"));
        let events = harness.finish(turn, |agent, turn, event| {
            if let AgentEvent::ToolCalled { call, .. } = event {
                let content = vec![
                    InputPart::Text("a figure".into()),
                    InputPart::Image(PIXEL.into()),
                    InputPart::Image("https://example.com/x.png".into()),
                    InputPart::Image("data:image/svg+xml;base64,PHN2Zy8+".into()),
                    InputPart::Text("the end".into()),
                ];
                let call = call.id.clone();
                agent.reply(
                    turn,
                    AgentReply::ToolResult {
                        call,
                        success: true,
                        content,
                    },
                );
            }
        });
        assert_eq!(events.text(), "seen", "{events:?}");
        let last = real.endpoint.requests().pop().expect("requests");
        let outputs = json!(tool_outputs(&last));
        assert_eq!(pictures(&outputs), [PIXEL], "{model}: {outputs}");
        for text in [
            "a figure",
            "the end",
            "[image not sent: it is a link",
            "[image not sent: the model cannot see SVG]",
        ] {
            assert!(
                outputs.to_string().contains(text),
                "{model}: {text}: {outputs}"
            );
        }
    }
}

#[test]
fn pictures_of_the_conversation_reach_the_model() {
    for (model, threads) in [
        (PLAIN, ThreadMode::Session),
        (CODE, ThreadMode::Session),
        (PLAIN, ThreadMode::Ephemeral),
    ] {
        let Some(real) = real(model, Endpoint::script(vec![Reply::text("seen")])) else {
            return;
        };
        let mut request = real.request("and this? ");
        request.settings.threads = threads;
        request
            .input
            .push(InputPart::Image(PIXEL.replace("png", "jpeg")));
        request
            .input
            .push(InputPart::Image("data:image/png;base64,AAAA".into()));
        request.history = vec![
            exchange("first?", "a"),
            Exchange {
                images: vec![PIXEL.into(), "file:///x.png".into()],
                ..exchange("what is it?", "a pixel")
            },
        ];
        assert_eq!(real.harness().run(request).text(), "seen");
        let sent = real.endpoint.requests().remove(0);
        assert_eq!(
            pictures(&sent["input"]),
            [PIXEL, PIXEL],
            "{model} {threads:?}"
        );
        for text in [
            "[image not sent: it is a link",
            "[image not sent: it is not a whole PNG",
        ] {
            assert!(
                sent.to_string().contains(text),
                "{model} {threads:?}: {text}"
            );
        }
    }
}

#[test]
fn skills_are_told_by_us_alone() {
    for model in [PLAIN, CODE] {
        for events in [0, 1] {
            let Some(real) = real(model, Endpoint::script(vec![Reply::text("done")])) else {
                return;
            };
            let folder = real.work().join(".agents/skills/canary-skill");
            std::fs::create_dir_all(&folder).unwrap();
            let text = "---\nname: canary-skill\ndescription: canary-description\n---\nDo it.\n";
            std::fs::write(folder.join("SKILL.md"), text).unwrap();
            let mut request = real.request("hi");
            request.instructions =
                "<skill name=\"canary-skill\">canary-description</skill>".repeat(events);
            real.harness().run(request);
            let sent = real.endpoint.requests()[0].to_string();
            for word in ["canary-skill", "canary-description"] {
                assert_eq!(sent.matches(word).count(), events, "{model}");
            }
        }
    }
}

#[test]
fn models_and_limits_are_looked_up_beside_a_turn() {
    let endpoint = Endpoint::script(vec![Reply::Stream(vec![
        Event::Begun(vec!["par".into()]),
        Event::Hold,
        Event::Message(vec!["done".into()], None),
        Event::Completed([1, 0, 1, 0]),
    ])]);
    let Some(real) = real(PLAIN, endpoint) else {
        return;
    };
    let mut harness = real.harness();
    let Ok(LookupReply::Models(first)) = harness.look_up(Lookup::Models) else {
        panic!("models, before any turn");
    };
    let sol = first
        .iter()
        .find(|model| model.name == CODE)
        .expect("in the catalog");
    assert!(sol.efforts.contains(&"low".to_owned()) && sol.efforts.contains(&sol.default_effort));
    assert_eq!(
        first.iter().filter(|model| model.is_default).count(),
        1,
        "{first:?}"
    );
    let turn = harness.agent.start(real.request("first?"));
    while !matches!(harness.next(), AgentEvent::Text { .. }) {}
    assert_eq!(
        harness.look_up(Lookup::Models),
        Ok(LookupReply::Models(first))
    );
    assert_eq!(
        harness.look_up(Lookup::Limits),
        Ok(LookupReply::Limits(Vec::new()))
    );
    real.endpoint.release();
    assert!(matches!(
        harness.finish(turn, |_, _, _| {}).end,
        Some(Ok(_))
    ));
}
