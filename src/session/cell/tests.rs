//! A cell as tables of events: what is shown of it, and that its row is written before its end.

use super::*;
use crate::output::traceback::CellError;
use crate::run::stream;

const ID: RequestId = RequestId(1);

fn output(text: &str) -> RuntimeEvent {
    RuntimeEvent::Output {
        id: Some(ID),
        stream: OutputStream::Stdout,
        bytes: text.into(),
        foreign: false,
    }
}

fn finished(ending: Ending, exit: Option<i32>) -> RuntimeEvent {
    let finish = Finish {
        ending,
        exit,
        milliseconds: 1.0,
        cwd: None,
        typeahead: Vec::new(),
    };
    RuntimeEvent::Finished { id: ID, finish }
}

fn raised() -> RuntimeEvent {
    let error = CellError {
        name: "E".into(),
        ..CellError::default()
    };
    RuntimeEvent::Error { id: ID, error }
}

fn word(effect: &Effect) -> String {
    match effect {
        Effect::Record(RecordWrite::ShellExit { exit, .. }) => format!("exit {exit}"),
        Effect::Record(RecordWrite::Output(row)) => {
            format!("row {} {:?}", row.line, row.state)
        }
        Effect::Emit(To::Run(_), SessionEvent::Cell(event)) => match event {
            CellEvent::Started => "started".into(),
            CellEvent::Output { bytes, .. } => String::from_utf8_lossy(bytes).trim().into(),
            CellEvent::Raised(error) => format!("raised {}", error.name),
            CellEvent::Ended { .. } => "ended".into(),
            _ => "cell".into(),
        },
        Effect::Emit(To::Run(_), SessionEvent::Notice(notice)) => notice.message.clone(),
        _ => "other".into(),
    }
}

fn check(
    origin: CellOrigin,
    change: fn(&mut CellRun),
    events: Vec<RuntimeEvent>,
    expected: &[&str],
) {
    let (out, _run) = stream();
    let outputs = Outputs::new("/nowhere".into(), "/nowhere".into());
    let mut cell = CellRun::new(origin, out);
    change(&mut cell);
    let effects = events
        .into_iter()
        .flat_map(|event| cell.on(event, &outputs).0);
    let words: Vec<String> = effects.map(|effect| word(&effect)).collect();
    assert_eq!(words, expected);
}

#[test]
fn the_row_is_written_before_the_end_is_told() {
    let cell = CellOrigin::User(7);
    let started = RuntimeEvent::Started { id: ID };
    check(
        cell,
        |_| {},
        vec![started, output("a"), finished(Ending::Ok, None)],
        &["started", "a", "row 7 Complete", "ended"],
    );
    check(
        cell,
        |_| {},
        vec![finished(Ending::Ok, Some(3))],
        &["exit 3", "row 7 Failed", "ended"],
    );
    check(
        cell,
        |_| {},
        vec![finished(Ending::Died(Death::Killed), None)],
        &["row 7 Failed", "ended"],
    );
}

#[test]
fn what_is_not_recorded_has_no_row() {
    check(
        CellOrigin::Private,
        |_| {},
        vec![output("a"), finished(Ending::Ok, None)],
        &["a", "ended"],
    );
    check(
        CellOrigin::Internal,
        |_| {},
        vec![output("a"), finished(Ending::Ok, None)],
        &["a"],
    );
    check(
        CellOrigin::Startup,
        |_| {},
        vec![finished(Ending::Interrupted, None)],
        &["interrupted: start-up files were not run", "ended"],
    );
}

#[test]
fn withheld_output_comes_before_the_error() {
    let events = || {
        vec![
            output("a"),
            output("b"),
            raised(),
            finished(Ending::Error, None),
        ]
    };
    let cell = CellOrigin::Replay {
        line: 7,
        recorded: false,
    };
    check(
        cell,
        CellRun::show_only_on_error,
        events(),
        &["ab", "raised E", "ended"],
    );
    check(cell, CellRun::skip, events(), &["ended"]);
    check(
        cell,
        CellRun::show_only_on_error,
        vec![output("a"), finished(Ending::Ok, None)],
        &["ended"],
    );
}

#[test]
fn an_output_that_is_too_long_is_recorded_as_the_model_gets_it() {
    let (out, _run) = stream();
    let outputs = Outputs::new("/nowhere".into(), "/nowhere".into());
    let mut cell = CellRun::new(CellOrigin::User(7), out);
    cell.on(output(&"line\n".repeat(RECORDED / 4)), &outputs);
    let (effects, _) = cell.on(finished(Ending::Ok, None), &outputs);
    let Some(Effect::Record(RecordWrite::Output(row))) = effects.first() else {
        panic!("the row comes first");
    };
    assert!(row.text.chars().count() <= MODEL_CHARACTERS);
}
