//! Frames as the runner writes them, and the events they become.

use super::*;
use crate::Death;
use crate::python::host_calls::answered_call;
use crate::python::requests::reply_line;
use crate::python::wire::parse_frame;

fn in_flight(requests: &[(u64, RequestKind)]) -> InFlightRequests {
    let mut in_flight = InFlightRequests::default();
    for (id, kind) in requests {
        in_flight.add(RequestId(*id), *kind);
    }
    in_flight
}

fn told(in_flight: &mut InFlightRequests, line: &str) -> Option<String> {
    let frame = parse_frame(line.as_bytes()).unwrap().frame;
    in_flight.event(frame).map(|event| format!("{event:?}"))
}

fn check(requests: &[(u64, RequestKind)], line: &str, expected: Option<&str>) {
    let mut in_flight = in_flight(requests);
    let told = told(&mut in_flight, line);
    match (&told, expected) {
        (Some(told), Some(expected)) => {
            assert!(told.contains(expected), "{line}\n{told}\n{expected}")
        }
        (told, expected) => assert_eq!(told.as_deref(), expected, "{line}"),
    }
}

#[test]
fn frames_become_events() {
    use RequestKind::*;
    let cell = [(3, Execute)];
    for (requests, line, expected) in [
        (
            &cell[..],
            r#"{"type":"started","id":3}"#,
            Some("Started { id: RequestId(3) }"),
        ),
        (&cell, r#"{"type":"started","id":4}"#, None),
        (&cell, r#"{"type":"started","id":""}"#, None),
        (
            &cell,
            r#"{"type":"result","id":3,"bundle":{"text/plain":"2"},"metadata":{},"executionCount":7}"#,
            Some("execution_count: Some(7)"),
        ),
        (
            &cell,
            r#"{"type":"display","id":3,"bundle":{},"displayId":"d","update":true}"#,
            Some(r#"display_id: Some("d"), transient: {}, update: true"#),
        ),
        (
            &cell,
            r#"{"type":"next_input","id":3,"text":"x"}"#,
            Some(r#"text: "x""#),
        ),
        (
            &cell,
            r#"{"type":"exit_requested","id":3}"#,
            Some("code: 0"),
        ),
        (
            &cell,
            r#"{"type":"exit_requested","id":3,"code":null}"#,
            Some("code: 0"),
        ),
        (
            &cell,
            r#"{"type":"exit_requested","id":3,"code":9}"#,
            Some("code: 9"),
        ),
        (
            &cell,
            r#"{"type":"exit_requested","id":3,"code":"no"}"#,
            Some("code: 1"),
        ),
        (
            &cell,
            r#"{"type":"error","id":3,"ename":"E","evalue":"v","traceback":["t"]}"#,
            Some(r#"CellError { name: "E", value: "v", traceback: ["t"], leaves: None }"#),
        ),
        (
            &cell,
            r#"{"type":"error","id":"","ename":"E","evalue":"v","traceback":[]}"#,
            Some("Notice"),
        ),
        (
            &cell,
            r#"{"type":"done","id":3,"status":"ok","ms":1.5,"cwd":"/x","typeahead":"YQ=="}"#,
            Some(
                r#"Finish { ending: Ok, exit: None, milliseconds: 1.5, cwd: Some("/x"), typeahead: [97] }"#,
            ),
        ),
        (
            &cell,
            r#"{"type":"done","id":3,"status":"error","cancelled":false}"#,
            Some("ending: Error"),
        ),
        (
            &cell,
            r#"{"type":"done","id":3,"status":"error","cancelled":true}"#,
            Some("ending: Interrupted"),
        ),
        (&cell, r#"{"type":"done","id":2,"status":"ok"}"#, None),
        (
            &cell,
            r#"{"type":"answer","id":3,"error":{"ename":"ProtocolError","evalue":"x"}}"#,
            Some("ending: Error"),
        ),
        (
            &[(5, Complete)],
            r#"{"type":"answer","id":5,"completions":[{"start":0,"end":2,"text":"os","kind":"module"}]}"#,
            Some(
                "Completion { start: CodePoints(0), end: CodePoints(2), text: \"os\", kind: \"module\", \
                 signature: \"\", type_name: \"\", everywhere: false }",
            ),
        ),
        (
            &[(5, Complete)],
            r#"{"type":"answer","id":5,"error":{"ename":"E","evalue":"v"}}"#,
            Some(r#"Failed("E: v")"#),
        ),
        (
            &[(5, Inspect)],
            r#"{"type":"answer","id":5,"inspection":{"found":true,"bundle":{"text/plain":"x"}}}"#,
            Some("Inspection(Some("),
        ),
        (
            &[(5, Inspect)],
            r#"{"type":"answer","id":5,"inspection":{"found":false,"bundle":{}}}"#,
            Some("Inspection(None)"),
        ),
        (
            &[(5, Inspect)],
            r#"{"type":"answer","id":5,"inspection":null}"#,
            Some("Inspection(None)"),
        ),
        (
            &[(5, DescribeTools)],
            r#"{"type":"answer","id":5,"tools":[{"name":"a","found":false},{"name":"b","callable":false}]}"#,
            Some(r#"Tools([Missing("a"), NotCallable("b")])"#),
        ),
        (
            &[(5, CallTool)],
            r#"{"type":"answer","id":5,"tool":{"bundle":{"text/plain":"1"}}}"#,
            Some("ToolResult(Ok("),
        ),
        (
            &[(5, CallTool)],
            r#"{"type":"answer","id":5,"error":{"ename":"E","evalue":"v","traceback":[]}}"#,
            Some("ToolResult(Err("),
        ),
        (
            &[(5, SetVariables)],
            r#"{"type":"answer","id":5,"set":true}"#,
            Some("Done"),
        ),
        (
            &[],
            r#"{"type":"answer","id":"","error":{"ename":"ProtocolError","evalue":"x"}}"#,
            Some("Notice"),
        ),
        (&[], r#"{"type":"answer","id":5,"set":true}"#, None),
        (
            &[],
            r#"{"type":"display","id":"","bundle":{"text/plain":"1"}}"#,
            Some("id: None"),
        ),
        (&[], r#"{"type":"clear","wait":true}"#, None),
    ] {
        check(requests, line, expected);
    }
}

#[test]
fn output_belongs_to_what_runs() {
    let mut in_flight = in_flight(&[(1, RequestKind::Execute)]);
    assert_eq!(in_flight.current, None);
    told(&mut in_flight, r#"{"type":"started","id":1}"#);
    assert_eq!(in_flight.current, Some(RequestId(1)));
    told(&mut in_flight, r#"{"type":"done","id":1,"status":"ok"}"#);
    assert_eq!((in_flight.current, in_flight.running()), (None, 0));
    for kind in [
        RequestKind::CallTool,
        RequestKind::Evaluate,
        RequestKind::Snapshot,
    ] {
        in_flight.add(RequestId(2), kind);
        assert_eq!((in_flight.current, in_flight.running()), (None, 1));
        let started = told(&mut in_flight, r#"{"type":"started","id":2}"#);
        assert_eq!(started, None, "only cells tell of their beginning");
        assert_eq!(in_flight.current, Some(RequestId(2)));
        told(&mut in_flight, r#"{"type":"answer","id":2}"#);
        assert_eq!((in_flight.current, in_flight.running()), (None, 0));
    }
}

#[test]
fn a_question_is_answered_once_and_dies_with_its_cell() {
    let mut in_flight = in_flight(&[(1, RequestKind::Execute), (2, RequestKind::Execute)]);
    let ask = r#"{"type":"input_request","id":1,"call":"1#1","prompt":"p","password":true}"#;
    assert!(
        told(&mut in_flight, ask)
            .unwrap()
            .contains(r#"call: 1, prompt: "p", password: true"#)
    );
    assert_eq!(in_flight.take_question(1), Some(Value::from("1#1")));
    assert_eq!(in_flight.take_question(1), None);
    assert!(told(&mut in_flight, ask).unwrap().contains("call: 2"));
    told(&mut in_flight, r#"{"type":"done","id":1,"status":"ok"}"#);
    assert_eq!(in_flight.take_question(2), None);
    assert_eq!(in_flight.abandon(), [(RequestId(2), RequestKind::Execute)]);
}

#[test]
fn where_the_record_is_is_asked_and_told() {
    let mut in_flight = in_flight(&[(1, RequestKind::CallTool)]);
    let ask = r#"{"type":"record_request","id":1,"call":"1#1"}"#;
    assert_eq!(
        told(&mut in_flight, ask).as_deref(),
        Some("RecordRequested { id: RequestId(1), call: 1 }")
    );
    let place = crate::RecordLocation {
        path: "/a b/h".into(),
        session: 7,
    };
    for (place, fields) in [
        (Some(place), r#""path":"/a b/h","session":7"#),
        (None, r#""path":null,"session":null"#),
    ] {
        let reply = RuntimeRequest::ReplyRecord { call: 1, place };
        assert_eq!(
            (RequestKind::from_request(&reply), answered_call(&reply)),
            (None, Some(1))
        );
        let line = reply_line(&Value::from("1#1"), &reply).unwrap();
        let line: Value = serde_json::from_slice(&line).unwrap();
        let expected = format!(r#"{{"type":"record_reply","id":"1#1",{fields}}}"#);
        assert_eq!(line, serde_json::from_str::<Value>(&expected).unwrap());
    }
}

#[test]
fn only_replies_have_no_end() {
    let reply = RuntimeRequest::ReplyInput {
        call: 1,
        reply: crate::InputReply::Eof,
    };
    assert_eq!(RequestKind::from_request(&reply), None);
    let cell = RuntimeRequest::Execute(crate::Execute::unnumbered(String::new()));
    assert_eq!(RequestKind::from_request(&cell), Some(RequestKind::Execute));
    let end = RequestKind::Complete.end(RequestId(1), &Death::Exited(1));
    assert!(format!("{end:?}").contains("exit code 1"));
}
