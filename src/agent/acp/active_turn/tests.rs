//! The current turn: questions and their answers, early output, the end; without a process.

use super::*;
use crate::turn::tests::request;
use crate::{InputPart, TurnRequest};

const TURN: TurnId = TurnId(1);

fn turn_of(request: TurnRequest) -> ActiveTurn {
    ActiveTurn {
        turn: TURN,
        request: Box::new(request),
        sent: true,
        cancelled: None,
        state: TurnState::new(TURN),
    }
}

fn turn() -> ActiveTurn {
    turn_of(request())
}

fn id(text: &str) -> RpcId {
    RpcId::Text(text.into())
}

fn terminal(line: &str) -> Box<TerminalCommand> {
    let params = json!({"command": line, "cwd": "/q"});
    Box::new(TerminalCommand::parse(&params, "/w".as_ref()).expect("a command"))
}

/// A permission request about a command.
fn permission(call: &str, line: &str) -> Value {
    json!({
        "toolCall": {"toolCallId": call, "kind": "execute", "title": line},
        "options": [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}],
    })
}

fn number_form() -> Value {
    let properties = json!({"n": {"type": "integer"}});
    json!({"mode": "form", "message": "How many?", "requestedSchema": {"properties": properties}})
}

fn chosen(option: &str) -> QuestionAnswer {
    QuestionAnswer::Chosen(option.into())
}

fn filled(value: &str) -> QuestionAnswer {
    QuestionAnswer::Filled(vec![("n".into(), vec![value.into()])])
}

/// The response of an answer.
fn response(effect: Option<AnswerEffect>) -> (RpcId, Result<Value, i64>) {
    match effect {
        Some(AnswerEffect::Respond(id, response)) => (id, response.map_err(|error| error.code)),
        Some(AnswerEffect::RunCommand(id, command)) => (id, Ok(json!({"runs": command.line}))),
        Some(AnswerEffect::AskAgain(question)) => panic!("asked again: {question:?}"),
        None => panic!("no effect"),
    }
}

fn selected(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

#[test]
fn what_a_turn_is_told_by_its_request() {
    let mut turn = turn();
    assert!(!turn.runs_in("s"), "no session is open");
    turn.state.session = Some("s".into());
    assert!(turn.runs_in("s") && !turn.runs_in("other"));
    turn.sent = false;
    assert!(!turn.runs_in("s"), "no prompt was sent");
    assert!(turn.only_opens());
    turn.request.input.push(InputPart::Text("x".into()));
    assert!(!turn.only_opens());
    turn.request.settings.cwd = "/w".into();
    let policy = turn.write_policy();
    assert_eq!(
        (policy.sandbox, policy.cwd),
        (Sandbox::ReadOnly, "/w".into())
    );
}

#[test]
fn a_command_that_was_permitted_runs_without_a_second_question() {
    let mut turn = turn();
    for (number, option, free) in [(1, "no", false), (3, "yes", true)] {
        let line = format!("make {number}");
        let asked = turn
            .permission(&id("p"), &permission("c", &line))
            .expect("a question");
        assert_eq!(asked.id, format!("question-{number}"));
        assert!(turn.answer("question-0", &chosen(option)).is_none());
        assert_eq!(
            response(turn.answer(&asked.id, &chosen(option))),
            (id("p"), Ok(selected(option)))
        );
        assert!(
            turn.answer(&asked.id, &chosen("yes")).is_none(),
            "answered once"
        );
        assert_eq!(
            turn.command(&id("t"), terminal(&line)).is_err(),
            free,
            "{line}"
        );
        assert!(
            turn.command(&id("t"), terminal("rm x")).is_ok(),
            "another command asks"
        );
        turn.state.questions_asked = number + 1;
    }
}

#[test]
fn a_call_that_was_not_permitted_is_denied_and_not_failed() {
    let failed =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed"});
    for (option, denied) in [("yes", false), ("no", true)] {
        let mut turn = turn();
        let asked = turn
            .permission(&id("p"), &permission("c", "make"))
            .expect("a question");
        turn.answer(&asked.id, &chosen(option));
        let events = turn.update(&failed, &|_| None);
        let told = events
            .iter()
            .any(|event| matches!(event, AgentEvent::CommandDenied { .. }));
        assert_eq!(told, denied, "{events:?}");
    }
}

#[test]
fn a_request_for_permission_without_call_or_options_is_refused() {
    let call = json!({"toolCallId": "c"});
    for params in [
        json!({}),
        json!({"toolCall": {}, "options": []}),
        json!({"toolCall": call}),
    ] {
        let error = turn().permission(&id("p"), &params).expect_err("an error");
        assert_eq!(error.code, -32602, "{params}");
    }
}

#[test]
fn a_terminals_command_is_asked_for_unless_everything_is_allowed() {
    let mut free = request();
    free.settings.sandbox = Sandbox::FullAccess;
    assert!(turn_of(free).command(&id("t"), terminal("ls")).is_err());
    for (answer, expected) in [
        (
            QuestionAnswer::from_decision(Decision::AllowOnce),
            Ok(json!({"runs": "ls"})),
        ),
        (
            QuestionAnswer::from_decision(Decision::RejectOnce),
            Err(-32603),
        ),
        (QuestionAnswer::Declined, Err(-32603)),
    ] {
        let mut turn = turn();
        let Ok(asked) = turn.command(&id("t"), terminal("ls")) else {
            panic!("it runs without a question");
        };
        let subject = Subject::Command {
            command: "ls".into(),
            cwd: "/q".into(),
            reason: None,
        };
        assert_eq!((&asked.subject, asked.accepts_reason), (&subject, false));
        assert_eq!(
            response(turn.answer(&asked.id, &answer)),
            (id("t"), expected)
        );
    }
}

#[test]
fn a_form_is_asked_again_until_it_fits() {
    let mut turn = turn();
    let asked = turn.elicit(&id("e"), &number_form()).expect("a form");
    assert!(!asked.accepts_reason);
    let Some(AnswerEffect::AskAgain(again)) = turn.answer(&asked.id, &filled("many")) else {
        panic!("it does not fit");
    };
    assert_ne!(again.id, asked.id);
    assert!(
        matches!(&again.subject, Subject::Form { message, .. } if message.ends_with("\n\nHow many?")),
        "{again:?}"
    );
    assert!(turn.answer(&asked.id, &filled("7")).is_none());
    let accepted = json!({"action": "accept", "content": {"n": 7}});
    assert_eq!(
        response(turn.answer(&again.id, &filled("7"))),
        (id("e"), Ok(accepted))
    );
    assert!(turn.elicit(&id("e"), &json!({"mode": "url"})).is_err());
}

#[test]
fn a_question_that_the_agent_withdraws_is_open_no_more() {
    let mut turn = turn();
    let text = turn.elicit(&id("7"), &number_form()).expect("a form");
    let number = turn
        .elicit(&RpcId::Number(7), &number_form())
        .expect("a form");
    for (request, expected) in [
        (json!(8), None),
        (json!(null), None),
        (json!(7), Some((RpcId::Number(7), &number.id))),
        (json!(7), None),
        (json!("7"), Some((id("7"), &text.id))),
    ] {
        let expected = expected.map(|(request, name)| {
            let event = AgentEvent::RequestWithdrawn {
                turn: TURN,
                id: name.clone(),
            };
            (request, event)
        });
        assert_eq!(turn.withdraw(&request), expected, "{request}");
    }
    assert!(turn.answer(&text.id, &filled("7")).is_none());
}

#[test]
fn all_open_questions_are_refused_in_their_own_ways() {
    let mut turn = turn();
    turn.permission(&id("1"), &permission("c", "make"))
        .expect("a question");
    assert!(turn.command(&id("2"), terminal("ls")).is_ok());
    turn.elicit(&id("3"), &number_form()).expect("a form");
    let mut refused = turn.refuse_all();
    refused.sort_by_key(|(id, _)| format!("{id:?}"));
    assert_eq!(
        refused,
        [
            (id("1"), Ok(json!({"outcome": {"outcome": "cancelled"}}))),
            (id("2"), Err(denied())),
            (id("3"), Ok(json!({"action": "cancel"}))),
        ]
    );
    assert!(turn.refuse_all().is_empty());
}

#[test]
fn output_of_a_terminal_waits_for_the_call_that_shows_it() {
    let mut turn = turn();
    let begins = |call: &str, terminal: &str| {
        json!({"sessionUpdate": "tool_call", "toolCallId": call, "kind": "execute", "title": "ls",
            "status": "in_progress", "content": [{"type": "terminal", "terminalId": terminal}]})
    };
    let output = |call: &str, delta: &str| AgentEvent::CommandOutput {
        turn: TURN,
        id: call.into(),
        delta: delta.into(),
    };
    for (terminal, delta) in [("t", "a"), ("u", "x"), ("t", "b")] {
        assert_eq!(turn.output(terminal, delta.into()), None);
    }
    let events = turn.update(&begins("c", "t"), &|_| None);
    assert!(
        matches!(events[0], AgentEvent::CommandStarted { .. }),
        "{events:?}"
    );
    assert_eq!(events[1..], [output("c", "ab")]);
    assert_eq!(turn.output("t", "c".into()), Some(output("c", "c")));
    assert_eq!(
        turn.update(&begins("d", "u"), &|_| None)[1..],
        [output("d", "x")]
    );
    assert_eq!(
        turn.update(&begins("e", "u"), &|_| None).len(),
        1,
        "told once"
    );

    for (number, length, kept) in [(1, MAX_EARLY_OUTPUT - 1, 2), (2, MAX_EARLY_OUTPUT, 1)] {
        let (call, terminal, piece) = (
            format!("f{number}"),
            format!("v{number}"),
            "y".repeat(length),
        );
        for _ in 0..3 {
            turn.output(&terminal, piece.clone());
        }
        let events = turn.update(&begins(&call, &terminal), &|_| None);
        assert!(
            events[1..] == [output(&call, &piece.repeat(kept))],
            "{length}"
        );
    }
}

#[test]
fn how_a_prompt_ends() {
    let ends = |outcome: Result<Value, RpcError>, change: &dyn Fn(&mut ActiveTurn)| {
        let mut turn = turn();
        turn.state.session = Some("s".into());
        change(&mut turn);
        let events = prompt_events("acp", turn, outcome, &[]);
        let words = events.into_iter().map(|event| match event {
            AgentEvent::Finished {
                interrupted,
                thread,
                ..
            } => format!("finished {interrupted} {}", thread.unwrap_or_default()),
            AgentEvent::Failed { failure, .. } => format!("failed {:?}", failure.kind),
            AgentEvent::Progress { message, .. } => message,
            AgentEvent::Usage { usage, .. } => {
                let cost = usage.cost.map(|cost| cost.to_string());
                format!("{} {}", usage.input, cost.unwrap_or_default())
            }
            AgentEvent::CommandEnded { command, .. } => format!("ended {}", command.command),
            other => format!("{other:?}"),
        });
        words.collect::<Vec<_>>()
    };
    let nothing = |_: &mut ActiveTurn| {};
    let cancelled = |turn: &mut ActiveTurn| turn.cancelled = Some(Instant::now());
    let reason = |reason: &str| Ok(json!({"stopReason": reason}));
    let cut = "the answer was cut off at the model's token limit";
    let limit = "the agent stopped at its request limit for one turn";
    for (given, words) in [
        ("end_turn", vec!["finished false s"]),
        ("", vec!["finished false s"]),
        ("max_tokens", vec![cut, "finished false s"]),
        ("max_turn_requests", vec![limit, "finished false s"]),
        (
            "refusal",
            vec!["the agent declined to answer", "finished false "],
        ),
        ("cancelled", vec!["finished true "]),
    ] {
        assert_eq!(ends(reason(given), &nothing), words, "{given}");
    }
    assert_eq!(ends(reason("end_turn"), &cancelled), ["finished false s"]);
    let error = |code| Err(RpcError::new(code, "x"));
    assert_eq!(ends(error(-32603), &nothing), ["failed Upstream"]);
    assert_eq!(
        ends(error(failure::LOGIN_NEEDED), &nothing),
        ["failed LoggedOut"]
    );
    assert_eq!(ends(error(-32603), &cancelled), ["finished true "]);
    let ephemeral = |turn: &mut ActiveTurn| turn.request.settings.threads = ThreadMode::Ephemeral;
    assert_eq!(ends(reason("end_turn"), &ephemeral), ["finished false "]);
    let used = Ok(json!({"stopReason": "end_turn", "usage": {"inputTokens": 7}}));
    assert_eq!(ends(used.clone(), &nothing), ["7 ", "finished false s"]);
    let costs = |turn: &mut ActiveTurn| {
        let cost = json!({"amount": 0.5, "currency": "USD"});
        let update = json!({"sessionUpdate": "usage_update", "cost": cost});
        turn.update(&update, &|_| None);
    };
    assert_eq!(ends(used, &costs), ["7 0.50 USD", "finished false s"]);
    assert_eq!(
        ends(reason("end_turn"), &costs),
        ["0 0.50 USD", "finished false s"]
    );
    let runs = |turn: &mut ActiveTurn| {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "execute", "title": "ls",
            "status": "in_progress"});
        turn.update(&call, &|_| None);
    };
    assert_eq!(ends(error(-32603), &runs), ["ended ls", "failed Upstream"]);
}
