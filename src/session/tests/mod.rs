//! The loop with a scripted runtime and a scripted agent: what front-ends see, what the agent is sent, what is kept.
//!
//! Here is the stage: the session, its two peers, and a word for each event. One file per topic plays on it.

mod able;
mod agents;
mod commands;
mod compaction;
mod conversation;
mod front;
mod lasting;
mod plan_mode;
mod references;
mod replaced;
mod replay;
mod resume;
mod second_runtime;
mod steps;
mod stops;
mod suggestions;
mod taken_back;
mod tools;
mod undone;
mod words;
mod work;

use std::time::Duration;

use serde_json::{Value, json};

use std::sync::{Arc, Mutex};

use super::effect::Event;
use super::*;
pub(super) use words::{word, words};

use crate::agent::connect::{AgentConfig, AgentKind, Timeouts};
use crate::agent::scripted;
use crate::agent::{AgentEvent, AgentReply, InputPart, Sandbox, ToolCall, TurnId, WebSearchUse};
use crate::config::{AgentChoice, Provenance};
use crate::input::Mode;
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::record::{RecordOptions, SessionSpec};
use crate::runtime::connect::RuntimePlan;
use crate::runtime::scripted::{ControlCall, ControlCalls, Script};
use crate::runtime::{
    BranchRequest, Death, DisplayData, Ending, Finish, OutputStream, RequestId, RuntimeEvent,
    RuntimeReply, RuntimeRequest, Snapshot, ToolLookup,
};
use crate::skills::{Catalog, Consent};

/// How a picture begins.
const PNG: &str = "iVBORw0KGgoAAAANSUhE";

const TURN: TurnId = TurnId(0);

pub(super) struct Stage {
    pub(super) session: SessionHandle,
    background: Run,
    pub(super) agent: scripted::Script,
    pub(super) calls: Arc<ControlCalls>,
}

/// A session whose cells print `ran CODE` and have the value `42`; see [`cell`] for the odd ones.
fn stage(turns: Vec<Vec<AgentEvent>>) -> Stage {
    stage_with(turns, |_| {})
}

/// The same with other parts.
pub(super) fn stage_with(turns: Vec<Vec<AgentEvent>>, change: impl FnOnce(&mut Parts)) -> Stage {
    stage_of(usual(), turns, change)
}

/// A runtime that plays what [`cell`] says, and another one after a death.
fn kernel() -> PlannedRuntime {
    let mut script = usual();
    let again = script.initial_events.clone();
    let mut scene = script.on_request;
    script.on_request = Box::new(move |id, request| {
        let mut events = scene(id, request);
        if matches!(events.last(), Some(RuntimeEvent::Died { .. })) {
            events.extend(again.clone());
        }
        events
    });
    let plan = RuntimePlan::Scripted(script);
    PlannedRuntime {
        capabilities: crate::runtime::connect::capabilities(&plan),
        needs_session_at_start: false,
        connect: Box::new(move |_| crate::runtime::connect::connect(plan)),
    }
}

/// The runtime of most tests.
fn usual() -> Script {
    let hanging = Arc::new(Mutex::new(None));
    let hung = Arc::clone(&hanging);
    Script::new(move |id, request| match request {
        RuntimeRequest::Execute(execute) => {
            if execute.code.trim_end().ends_with("hang") || execute.code == "hang()" {
                *hanging.lock().unwrap() = Some(id);
            }
            cell(id, &execute.code, execute.execution_count)
        }
        RuntimeRequest::Snapshot { code, unprotected } => {
            vec![answered(
                id,
                RuntimeReply::Snapshot(look(code, *unprotected)),
            )]
        }
        RuntimeRequest::Branch(BranchRequest::Run {
            code, unprotected, ..
        }) => {
            vec![answered(
                id,
                RuntimeReply::Snapshot(look(code, *unprotected)),
            )]
        }
        RuntimeRequest::DescribeTools { names } => {
            let look = |name: &String| match name.as_str() {
                "f" => ToolLookup::Found {
                    name: name.clone(),
                    description: "F.".into(),
                    schema: json!({}),
                },
                _ => ToolLookup::Missing(name.clone()),
            };
            vec![answered(
                id,
                RuntimeReply::Tools(names.iter().map(look).collect()),
            )]
        }
        RuntimeRequest::CallTool { arguments, .. } => {
            let bundle = MimeBundle::plain(format!("got {}", arguments["x"]));
            vec![
                output(id, "printed\n"),
                answered(id, RuntimeReply::ToolResult(Ok(bundle))),
            ]
        }
        _ => Script::default_reply(id, request),
    })
    .with_control_handler(move |call| {
        let ended = |id, ending| RuntimeEvent::Finished {
            id,
            finish: finish(ending),
        };
        let running = hung.lock().unwrap().take();
        match (call, running) {
            (ControlCall::Interrupt, Some(id)) => {
                let error = CellError {
                    name: "KeyboardInterrupt".into(),
                    ..CellError::default()
                };
                vec![
                    RuntimeEvent::Error { id, error },
                    ended(id, Ending::Interrupted),
                ]
            }
            (ControlCall::Interrupt, None) => Vec::new(),
            (ControlCall::Kill, running) => {
                let cell = running.map(|id| ended(id, Ending::Died(Death::Killed)));
                let death = RuntimeEvent::Died {
                    death: Death::Killed,
                    restarting: true,
                };
                cell.into_iter().chain([death]).collect()
            }
        }
    })
}

/// A session with a runtime of its own kind.
fn stage_of(
    runtime: Script,
    turns: Vec<Vec<AgentEvent>>,
    change: impl FnOnce(&mut Parts),
) -> Stage {
    let calls = Arc::clone(&runtime.calls);
    let agent = scripted::Script::new(turns);
    let mut parts = parts_of(runtime, agent.clone());
    change(&mut parts);
    let (session, background) = start(parts).unwrap();
    Stage {
        session,
        background,
        agent,
        calls,
    }
}

fn parts_of(runtime: Script, agent: scripted::Script) -> Parts {
    let here = PathBuf::from("/");
    let runtime = RuntimePlan::Scripted(runtime);
    let plan = AgentConfig {
        kind: AgentKind::Scripted(agent),
        variables: Default::default(),
        cwd: here.clone(),
        client_version: "0".into(),
        timeouts: Timeouts::default(),
    };
    let opening = RecordOptions {
        path: here.join("nowhere"),
        record: false,
        named: false,
        leave_log: false,
    };
    let begin = SessionSpec {
        cwd: "/".into(),
        resume: None,
        fork: None,
        provider: "scripted".into(),
        once: false,
    };
    let (record, reports) = crate::record::open(opening, begin);
    Parts {
        runtime: PlannedRuntime {
            capabilities: crate::runtime::connect::capabilities(&runtime),
            needs_session_at_start: false,
            connect: Box::new(move |_| crate::runtime::connect::connect(runtime)),
        },
        shell: kernel(),
        agent: Box::new(move || crate::agent::connect::connect(plan)),
        agents: Box::new(|choice| Err(Report::usage(format!("no {choice}")))),
        missing: Box::new(|_| None),
        kernels: Box::new(|_| kernel()),
        asides: None,
        own_server: None,
        record,
        reports,
        instructions: "be brief".into(),
        choices: choices(),
        cwd: here,
        stdin: Stdin::Refuse,
        files: None,
        exact_log: PathBuf::new(),
        config_file: PathBuf::new(),
        provenance: Provenance::default(),
        keys: Arc::default(),
        resumed: false,
        runtime_at_once: true,
        wait_for_start: Box::new(|| ()),
        asks: true,
        startup_files: StartupFiles::default(),
        skills: Box::new(|| Skills {
            catalog: Catalog::default(),
            consent: Consent::none(),
            warning: None,
        }),
        artifacts: PathBuf::from("/nowhere"),
        record_path: PathBuf::from("/nowhere"),
        notebooks: NotebookPlaces::default(),
        lasting: LastingFile::default(),
    }
}

/// The choices a session of these tests begins with.
pub(super) fn choices() -> Choices {
    Choices {
        agent: AgentChoice::Demo,
        search: WebSearchUse::Off,
        sandbox: Sandbox::ReadOnly,
        ..Choices::default()
    }
}

fn finish(ending: Ending) -> Finish {
    Finish {
        ending,
        exit: None,
        milliseconds: 1.0,
        cwd: None,
        typeahead: Vec::new(),
    }
}

/// What a look gives: `bare` cannot be protected, `raise` raises.
fn look(code: &str, unprotected: bool) -> Snapshot {
    match code {
        "bare" if !unprotected => Snapshot::Unprotected("no Landlock".into()),
        "raise" => Snapshot::Ran {
            printed: "before\n".into(),
            result: Err(error()),
        },
        _ => Snapshot::Ran {
            printed: "looked\n".into(),
            result: Ok(MimeBundle::plain("7")),
        },
    }
}

fn error() -> CellError {
    CellError {
        name: "ValueError".into(),
        value: "bad".into(),
        traceback: vec!["line 1".into(), "ValueError: bad".into()],
        leaves: None,
    }
}

/// `hang…` does not end, `die` dies, `raise` raises, `exit()` asks to leave, `load` to fill the editor, `plot` shows a
/// picture that is none, `figure` one.
fn cell(id: RequestId, code: &str, count: Option<u32>) -> Vec<RuntimeEvent> {
    let finish = |ending| RuntimeEvent::Finished {
        id,
        finish: finish(ending),
    };
    let display = DisplayData {
        execution_count: count,
        ..DisplayData::new(MimeBundle::plain("42"))
    };
    let mut events = vec![
        RuntimeEvent::Started { id },
        output(id, &format!("ran {code}\n")),
        RuntimeEvent::Display {
            id: Some(id),
            display,
        },
    ];
    match code.trim_start_matches("#| eval: true\n").trim_end() {
        "hang" | "hang()" => {}
        "long" => {
            events.push(output(id, &"a line of it\n".repeat(5_000)));
            events.push(finish(Ending::Ok));
        }
        "raise" => {
            events.push(RuntimeEvent::Error { id, error: error() });
            events.push(finish(Ending::Error));
        }
        "exit()" => {
            events.push(RuntimeEvent::ExitRequested {
                id,
                code: 0,
                stays: false,
            });
            events.push(finish(Ending::Ok));
        }
        "load" => {
            let text = "loaded".into();
            events.push(RuntimeEvent::NextInput {
                id,
                text,
                replaces: false,
            });
            events.push(finish(Ending::Ok));
        }
        "plot" | "figure" => {
            let data = if code == "plot" { "AAAA" } else { PNG };
            let bundle = MimeBundle::new(vec![("image/png".into(), json!(data))]);
            let display = DisplayData::new(bundle);
            events.push(RuntimeEvent::Display {
                id: Some(id),
                display,
            });
            events.push(finish(Ending::Ok));
        }
        "die" => {
            let death = crate::runtime::Death::Exited(7);
            events.push(finish(Ending::Died(death.clone())));
            events.push(RuntimeEvent::Died {
                death,
                restarting: true,
            });
        }
        _ => events.push(finish(Ending::Ok)),
    }
    events
}

fn output(id: RequestId, text: &str) -> RuntimeEvent {
    RuntimeEvent::Output {
        id: Some(id),
        stream: OutputStream::Stdout,
        bytes: text.into(),
        foreign: false,
    }
}

fn answered(id: RequestId, answer: RuntimeReply) -> RuntimeEvent {
    RuntimeEvent::Replied { id, answer }
}

/// A turn that makes these calls, then says `text`.
pub(super) fn calls(calls: &[(&str, Value)], text: &str) -> Vec<AgentEvent> {
    let called = calls.iter().enumerate().map(|(n, (name, arguments))| {
        let call = ToolCall {
            id: format!("c{n}"),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        };
        AgentEvent::ToolCalled { turn: TURN, call }
    });
    called.chain(says(text)).collect()
}

pub(super) fn says(text: &str) -> Vec<AgentEvent> {
    vec![
        AgentEvent::Text {
            turn: TURN,
            message: 1,
            delta: text.into(),
        },
        AgentEvent::Finished {
            turn: TURN,
            interrupted: false,
            thread: Some("T".into()),
            point: None,
        },
    ]
}

impl Stage {
    pub(super) fn submit(&self, text: &str) -> Run {
        self.session.submit(Submission {
            text: text.into(),
            ..Submission::default()
        })
    }

    /// Runs an input to its end; a word for each event.
    pub(super) fn run(&self, text: &str) -> Vec<String> {
        words(&self.submit(text))
    }

    /// The user text of the agent's `n`th request.
    pub(super) fn sent(&self, n: usize) -> String {
        let request = &self.agent.requests()[n];
        let texts = request.input.iter().rev();
        let text = texts.into_iter().find_map(|part| match part {
            InputPart::Text(text) => Some(text.clone()),
            InputPart::Image(_) | InputPart::File { .. } => None,
        });
        text.expect("a prompt is text")
    }
}
