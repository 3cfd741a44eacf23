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
