//! What the contract adds to a cell and to its displays, on the real interpreter.

use ipycodex::runtime::{
    Completeness, DisplayData, Execute, RequestId, RuntimeEvent, RuntimeReply, RuntimeRequest,
};
use serde_json::json;

use super::evaluations::benches;
use super::harness::Harness;

/// What a cell displays.
fn displays(harness: &mut Harness, cell: Execute) -> Vec<DisplayData> {
    let asked = harness.runtime().submit(RuntimeRequest::Execute(cell));
    let mut displays = Vec::new();
    loop {
        match harness.next() {
            RuntimeEvent::Display { id, display } if id == Some(asked) => displays.push(display),
            RuntimeEvent::Finished { id, .. } if id == asked => return displays,
            _ => {}
        }
    }
}

fn value(harness: &mut Harness, cell: Execute) -> String {
    let shown = displays(harness, cell).pop();
    let text = shown.and_then(|display| display.bundle.text("text/plain"));
    text.unwrap_or_default()
}

fn completeness(harness: &mut Harness, code: &str) -> Completeness {
    let asked: RequestId = harness
        .runtime()
        .submit(RuntimeRequest::IsComplete { code: code.into() });
    loop {
        match harness.next() {
            RuntimeEvent::Replied { id, answer } if id == asked => match answer {
                RuntimeReply::Completeness(completeness) => return completeness,
                other => panic!("{other:?}"),
            },
            _ => {}
        }
    }
}

#[test]
fn displays_keep_what_is_said_of_them() {
    for (which, mut harness) in benches() {
        let code = "from IPython.display import display\n".to_owned();
        // Without IPython `display` is a builtin of ours.
        let import = if which.starts_with("IPython") {
            code
        } else {
            String::new()
        };
        let cell = format!(
            "{import}class Wide:\n    def _repr_mimebundle_(self, **_):\n        return {{'text/plain': 'w'}}, \
             {{'text/plain': {{'width': 7}}}}\n\
             display({{'text/plain': 'x'}}, raw=True, metadata={{'k': 1}}, transient={{'display_id': 'd', 'more': \
             2}})\nWide()"
        );
        let shown = displays(&mut harness, Execute::numbered(cell, 1));
        let [first, value] = shown.as_slice() else {
            panic!("{which}: {shown:?}");
        };
        assert_eq!(json!(first.bundle.metadata()), json!({"k": 1}), "{which}");
        assert_eq!(json!(first.transient), json!({"more": 2}), "{which}");
        assert_eq!(first.display_id.as_deref(), Some("d"), "{which}");
        assert_eq!(value.execution_count, Some(1), "{which}");
        assert_eq!(
            json!(value.bundle.metadata()),
            json!({"text/plain": {"width": 7}}),
            "{which}"
        );
    }
}

#[test]
fn a_cell_has_its_directory_its_environment_and_its_place_in_the_history() {
    for (which, mut harness) in benches() {
        let asks = |code: &str| Execute::numbered(code.to_owned(), 1);
        let there = Execute {
            directory: Some("/".into()),
            environment: vec![("CELL".into(), Some("here".into())), ("HOME".into(), None)],
            ..asks("import os\nos.getcwd(), os.environ.get('CELL'), os.environ.get('HOME')")
        };
        assert_eq!(value(&mut harness, there), "('/', 'here', None)", "{which}");
        let unstored = Execute {
            store_history: false,
            ..Execute::numbered("41 + 1".into(), 2)
        };
        assert_eq!(value(&mut harness, unstored), "42", "{which}");
        let stored = Execute::numbered("2 in Out".into(), 3);
        assert_eq!(value(&mut harness, stored), "False", "{which}");
    }
}

#[test]
fn whether_a_text_is_complete_is_asked() {
    for (which, mut harness) in benches() {
        for (code, expected) in [
            ("1 + 1", Completeness::Complete),
            ("if x:", Completeness::Incomplete("    ".into())),
            ("1 +* 2", Completeness::Invalid),
        ] {
            assert_eq!(
                completeness(&mut harness, code),
                expected,
                "{which}: {code}"
            );
        }
    }
}
