//! The loop with a scripted runtime and a scripted agent: what front-ends see, what the agent is sent, what is kept.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::agent::connect::{AgentKind, AgentPlan, Patience};
use crate::agent::scripted;
use crate::agent::{AgentEvent, AgentReply, Approvals, Effort, Search, Threads, ToolCall, TurnId};
use crate::config::{RunCells, Sandbox};
use crate::history::{Begin, Opening};
use crate::output::mime::MimeBundle;
use crate::output::traceback::CellError;
use crate::runtime::connect::{RuntimeKind, RuntimePlan};
use crate::runtime::scripted::{Call, Calls, Script};
use crate::runtime::{
    Death, Display, Ending, Finish, OutputStream, RequestId, RuntimeEvent, Snapshot, ToolLookup,
};

const TURN: TurnId = TurnId(0);

pub(super) struct Stage {
    pub(super) session: SessionHandle,
    background: Run,
    pub(super) agent: scripted::Script,
    pub(super) calls: Arc<Calls>,
}

/// A session whose cells print `ran CODE` and have the value `42`; see [`cell`] for the odd ones.
fn stage(turns: Vec<Vec<AgentEvent>>) -> Stage {
    stage_with(turns, |_| {})
}

/// The same with other parts.
pub(super) fn stage_with(turns: Vec<Vec<AgentEvent>>, change: impl FnOnce(&mut Parts)) -> Stage {
    let hanging = Arc::new(Mutex::new(None));
    let hung = Arc::clone(&hanging);
    let runtime = Script::new(move |id, request| match request {
        RuntimeRequest::Execute(execute) => {
            if execute.code.starts_with("hang") {
                *hanging.lock().unwrap() = Some(id);
            }
            cell(id, &execute.code, execute.execution_count)
        }
        RuntimeRequest::Snapshot { code, unprotected } => {
            vec![answered(id, Answer::Snapshot(look(code, *unprotected)))]
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
                Answer::Tools(names.iter().map(look).collect()),
            )]
        }
        RuntimeRequest::CallTool { arguments, .. } => {
            let bundle = MimeBundle::plain(format!("got {}", arguments["x"]));
            vec![
                output(id, "printed\n"),
                answered(id, Answer::ToolResult(Ok(bundle))),
            ]
        }
        _ => Script::plain_end(id, request),
    })
    .reacting(move |call| {
        let ended = |id, ending| RuntimeEvent::Finished {
            id,
            finish: finish(ending),
        };
        let running = hung.lock().unwrap().take();
        match (call, running) {
            (Call::Interrupt, Some(id)) => {
                let error = CellError {
                    name: "KeyboardInterrupt".into(),
                    ..CellError::default()
                };
                vec![
                    RuntimeEvent::Error { id, error },
                    ended(id, Ending::Interrupted),
                ]
            }
            (Call::Interrupt, None) => Vec::new(),
            (Call::Kill, running) => {
                let cell = running.map(|id| ended(id, Ending::Died(Death::Killed)));
                let death = RuntimeEvent::Died {
                    death: Death::Killed,
                    restarting: true,
                };
                cell.into_iter().chain([death]).collect()
            }
        }
    });
    let calls = Arc::clone(&runtime.calls);
    let agent = scripted::Script::new(turns);
    let here = PathBuf::from("/");
    let runtime = RuntimePlan {
        kind: RuntimeKind::Scripted(runtime),
        interpreter: None,
        no_ipython: false,
        cwd: here.clone(),
        variables: Default::default(),
        terminal: None,
        cache_dir: here.clone(),
    };
    let plan = AgentPlan {
        kind: AgentKind::Scripted(agent.clone()),
        variables: Default::default(),
        cwd: here.clone(),
        client_version: "0".into(),
        patience: Patience::default(),
    };
    let opening = Opening {
        path: here.join("nowhere"),
        record: false,
        leave_log: false,
    };
    let begin = Begin {
        cwd: "/".into(),
        resume: None,
        provider: "scripted".into(),
    };
    let (history, reports) = crate::history::open(opening, begin);
    let choices = Choices {
        model: String::new(),
        completion_model: String::new(),
        think: Effort::Low,
        search: Search::Off,
        code_theme: "monokai".into(),
        log_exact: false,
        threads: Threads::Session,
        approvals: Approvals::Never,
        sandbox: Sandbox::ReadOnly,
        run_cells: RunCells::Ask,
    };
    let mut parts = Parts {
        runtime: Box::new(move || crate::runtime::connect::connect(runtime)),
        agent: Box::new(move || crate::agent::connect::connect(plan)),
        history,
        reports,
        instructions: "be brief".into(),
        choices,
        cwd: here,
        stdin: Stdin::Refuse,
        exact_log: PathBuf::new(),
        places: Vec::new(),
        resumed: false,
        python_at_once: true,
        asks: true,
    };
    change(&mut parts);
    let (session, background) = start(parts).unwrap();
    Stage {
        session,
        background,
        agent,
        calls,
    }
}

fn finish(ending: Ending) -> Finish {
    Finish {
        ending,
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
    }
}

/// `hang…` does not end, `die` dies, `raise` raises, `exit()` asks to leave, `load` to fill the editor, `plot` shows a
/// picture.
fn cell(id: RequestId, code: &str, count: Option<u32>) -> Vec<RuntimeEvent> {
    let finish = |ending| RuntimeEvent::Finished {
        id,
        finish: finish(ending),
    };
    let display = Display {
        bundle: MimeBundle::plain("42"),
        execution_count: count,
        display_id: None,
        update: false,
    };
    let mut events = vec![
        RuntimeEvent::Started { id },
        output(id, &format!("ran {code}\n")),
        RuntimeEvent::Display {
            id: Some(id),
            display,
        },
    ];
    match code {
        "hang" | "hang()" => {}
        "raise" => {
            events.push(RuntimeEvent::Error { id, error: error() });
            events.push(finish(Ending::Error));
        }
        "exit()" => {
            events.push(RuntimeEvent::ExitRequested { id, code: 0 });
            events.push(finish(Ending::Ok));
        }
        "load" => {
            let text = "loaded".into();
            events.push(RuntimeEvent::NextInput { id, text });
            events.push(finish(Ending::Ok));
        }
        "plot" => {
            let bundle = MimeBundle::new(vec![("image/png".into(), json!("AAAA"))]);
            let display = Display {
                bundle,
                execution_count: None,
                display_id: None,
                update: false,
            };
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

fn answered(id: RequestId, answer: Answer) -> RuntimeEvent {
    RuntimeEvent::Answered { id, answer }
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
        match self.agent.requests()[n].input.last() {
            Some(InputPart::Text(text)) => text.clone(),
            other => panic!("{other:?}"),
        }
    }
}

pub(super) fn words(run: &Run) -> Vec<String> {
    let mut words = Vec::new();
    loop {
        match run.next(Some(Duration::from_secs(20))) {
            Next::Ended => return words,
            Next::Nothing => panic!("nothing for 20 s after {words:?}"),
            Next::Event(event) if matches!(*event, SessionEvent::CellStarted) => {}
            Next::Event(event) => words.push(word(&event)),
        }
    }
}

pub(super) fn word(event: &SessionEvent) -> String {
    match event {
        SessionEvent::Numbered { line, .. } => format!("[{line}]"),
        SessionEvent::Output { bytes, .. } => String::from_utf8_lossy(bytes).trim_end().to_owned(),
        SessionEvent::Display(display) => format!("= {}", display.bundle.for_model()),
        SessionEvent::CellEnded { ending, .. } => format!("{ending:?}"),
        SessionEvent::Answer(AnswerEvent::Text { delta, .. }) => format!("> {delta}"),
        SessionEvent::Answer(AnswerEvent::ToolRan { line, .. }) => line.clone(),
        SessionEvent::Answer(AnswerEvent::ToolStarted { call }) => format!("{call}…"),
        SessionEvent::TurnEnded { outcome, .. } => match outcome {
            TurnOutcome::Failed(failure) => format!("Failed {}", failure.message),
            other => format!("{other:?}"),
        },
        SessionEvent::Notice(notice) => notice.message.clone(),
        SessionEvent::Refill(text) => format!("refill {text}"),
        SessionEvent::Text(text) => text.clone(),
        SessionEvent::Raised(error) => error.summary(),
        SessionEvent::AgentCell {
            line,
            title,
            source,
        } => format!("({line}) {title}|{source}"),
        SessionEvent::Asked(question) => format!("? {}", question.id),
        SessionEvent::QuestionOver(id) => format!("over {id}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn cells_and_prompts_share_one_numbering_and_the_context_is_what_is_new() {
    let stage = stage(vec![says("one"), says("two")]);
    assert_eq!(stage.run("a = 1"), ["[1]", "ran a = 1", "= 42", "Ok"]);
    assert_eq!(stage.run("'why'"), ["[2]", "ran 'why'", "= 42", "Ok"]);
    assert_eq!(stage.run(".first"), ["[3]", "> one", "Complete"]);
    assert_eq!(stage.run("b"), ["[4]", "ran b", "= 42", "Ok"]);
    assert_eq!(stage.run(".second"), ["[5]", "> two", "Complete"]);
    assert_eq!(stage.session.next_line(), 6);
    let first = "<context><code>a = 1</code><output>ran a = 1\n42</output><note>why</note></context>\n\
                 <user-request>first</user-request>";
    assert_eq!(stage.sent(0), first);
    let second = "<context><code>b</code><output>ran b\n42</output></context>\n<user-request>second</user-request>";
    assert_eq!(stage.sent(1), second);
    let requests = stage.agent.requests();
    assert_eq!(requests[1].history.len(), 1);
    assert_eq!(
        (
            requests[1].history[0].user.as_str(),
            requests[1].history[0].assistant.as_str()
        ),
        (first, "one")
    );
}

#[test]
fn a_thread_is_gone_on_with_only_while_it_equals_the_record() {
    let stage = stage(vec![says("1"), says("2"), says("3"), says("4"), says("5")]);
    stage.run(".a");
    stage.run(".b");
    stage.run("%ipycodex model other");
    stage.run(".c");
    stage.run(".d");
    stage.run("%ipycodex reset");
    stage.run(".e");
    let threads: Vec<bool> = stage
        .agent
        .requests()
        .iter()
        .map(|request| request.thread.is_some())
        .collect();
    assert_eq!(threads, [false, true, false, true, false]);
    assert!(stage.agent.requests()[4].history.is_empty());
}

#[test]
fn prompt_mode_records_code_without_its_mark_and_prompts_with_theirs() {
    let stage = stage(vec![says("one"), says("two")]);
    let submit = |text: &str| {
        words(&stage.session.submit(Submission {
            text: text.into(),
            prompt_mode: true,
            ..Submission::default()
        }))
    };
    submit(";x = 41");
    submit("what is x?");
    submit("and now?");
    let context = "<context><code>x = 41</code><output>ran x = 41\n42</output></context>\n";
    assert_eq!(
        stage.sent(0),
        format!("{context}<user-request>what is x?</user-request>")
    );
    assert_eq!(stage.sent(1), "<user-request>and now?</user-request>");
}

#[test]
fn empty_input_takes_no_number() {
    let stage = stage(Vec::new());
    for text in ["", " \n", ".", ". \n"] {
        assert!(stage.run(text).is_empty(), "{text:?}");
    }
    assert_eq!(stage.session.next_line(), 1);
}

#[test]
fn inputs_wait_for_the_one_before() {
    let stage = stage(Vec::new());
    let runs: Vec<Run> = ["x", "y", "z"].map(|text| stage.submit(text)).into();
    for (run, expected) in runs.iter().zip(["[1]", "[2]", "[3]"]) {
        assert_eq!(words(run)[0], expected);
    }
}

#[test]
fn a_tool_is_described_called_and_answered() {
    let call = ToolCall {
        id: "c1".into(),
        name: "f".into(),
        arguments: json!({"x": 1}),
    };
    let mut turn = vec![AgentEvent::ToolCalled { turn: TURN, call }];
    turn.extend(says("done"));
    let stage = stage(vec![turn, says("later")]);
    assert_eq!(
        stage.run(".use &`f`"),
        [
            "[1]",
            "f(x=1)…",
            "printed",
            "f(x=1) => got 1",
            "> done",
            "Complete"
        ]
    );
    let content = vec![InputPart::Text("got 1".into())];
    assert_eq!(
        stage.agent.replies(),
        [AgentReply::ToolResult {
            call: "c1".into(),
            success: true,
            content
        }]
    );
    stage.run(".go on");
    let names = |n: usize| {
        stage.agent.requests()[n]
            .tools
            .iter()
            .map(|tool| tool.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (names(0), names(1)),
        (
            vec!["pyrun".into(), "run_cells".into(), "f".into()],
            vec!["pyrun".into(), "run_cells".to_owned(), "f".into()]
        )
    );
    assert!(
        stage.agent.requests()[1].history[0]
            .assistant
            .contains("tool-usage-details")
    );
}

#[test]
fn a_missing_tool_sends_nothing_and_gives_the_prompt_back() {
    let stage = stage(Vec::new());
    assert_eq!(
        stage.run(".use &`g` and &`h`"),
        [
            "[1]",
            "NameError: Missing tool(s) in user_ns: g, h",
            "refill .use &`g` and &`h`"
        ]
    );
    assert!(stage.agent.requests().is_empty());
}

#[test]
fn an_interrupt_ends_the_turn_keeps_the_part_and_the_next_turn_sees_it() {
    let unfinished = vec![AgentEvent::Text {
        turn: TURN,
        message: 1,
        delta: "par".into(),
    }];
    let stage = stage(vec![unfinished, says("again")]);
    let run = stage.submit(".slow");
    loop {
        match run.next(Some(Duration::from_secs(20))) {
            Next::Event(event) if matches!(*event, SessionEvent::Answer(_)) => break,
            Next::Event(_) => {}
            other => panic!("{other:?}"),
        }
    }
    stage.session.interrupt();
    assert_eq!(words(&run), ["Interrupted"]);
    assert_eq!(stage.run(".next"), ["[2]", "> again", "Complete"]);
    let request = &stage.agent.requests()[1];
    assert_eq!(
        request.history[0].assistant,
        "par\n<system>user interrupted</system>"
    );
    assert_eq!(request.thread, None);
}

#[test]
fn a_failed_turn_stores_nothing_and_gives_the_prompt_back() {
    let failure = crate::agent::AgentFailure {
        kind: crate::agent::FailureKind::Upstream,
        message: "no quota".into(),
        hints: Vec::new(),
    };
    let stage = stage(vec![
        vec![AgentEvent::Failed {
            turn: TURN,
            failure,
        }],
        says("ok"),
    ]);
    assert_eq!(stage.run(".a"), ["[1]", "refill .a", "Failed no quota"]);
    stage.run(".b");
    assert!(stage.agent.requests()[1].history.is_empty());
}

#[test]
fn an_interrupt_of_a_cell_goes_to_the_runtime() {
    let stage = stage(Vec::new());
    let run = stage.submit("hang");
    while !matches!(run.next(Some(Duration::from_secs(20))), Next::Event(event) if word(&event) == "= 42")
    {
    }
    stage.session.interrupt();
    let closed = stage.session.close(Duration::from_secs(20));
    assert!(stage.calls.interrupts() >= 1);
    assert_eq!(closed.resumable, None);
    // The session is gone, and so is the run.
    assert!(matches!(
        run.next(Some(Duration::from_secs(20))),
        Next::Ended
    ));
    assert!(stage.run("late").is_empty());
    drop(stage.background);
}

#[test]
fn a_dead_interpreter_is_part_of_the_record() {
    let stage = stage(vec![says("ok")]);
    let run = stage.run("die");
    assert_eq!(run[3], "Died(Exited(7))");
    assert!(run[4].starts_with("RuntimeDied"), "{run:?}");
    stage.run(".what happened?");
    assert!(
        stage
            .sent(0)
            .contains("[the interpreter ended: exit code 7]"),
        "{}",
        stage.sent(0)
    );
}
