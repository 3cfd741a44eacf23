//! What is cut and how it is read again.

use super::*;
use crate::dialog::CellEntry;

fn filled() -> Outputs {
    let outputs = Outputs::default();
    let lines: String = (1..=3_000).map(|n| format!("línea {n}\n")).collect();
    outputs.artifacts.keep("cell-12", lines);
    outputs
}

fn read(outputs: &Outputs, arguments: Value) -> String {
    let answer = outputs.read(&arguments);
    assert_eq!(answer.content, [InputPart::Text(answer.text.clone())]);
    assert_eq!(answer.success, !answer.text.starts_with("Error: "));
    answer.text
}

#[test]
fn pieces_by_characters() {
    let outputs = filled();
    let check = |offset: Value, limit: Value, expected: &str| {
        let arguments = json!({"id": "cell-12", "offset": offset, "limit": limit});
        assert_eq!(read(&outputs, arguments.clone()), expected, "{arguments}");
    };
    let first = "[cell-12: characters 0 to 8 of 31,893]\nlínea 1\n\n[read_output(id=\"cell-12\", offset=8) goes on]";
    for (offset, limit) in [
        (json!(0), json!(8)),
        (json!(null), json!("8")),
        (json!("0"), json!(8.0)),
        (json!(-1_000_000), json!(8)),
    ] {
        check(offset, limit, first);
    }
    check(
        json!(-11),
        json!(null),
        "[cell-12: characters 31,882 to 31,893 of 31,893]\nlínea 3000\n",
    );
    check(
        json!(99_999_999),
        json!(10),
        "[cell-12: characters 31,893 to 31,893 of 31,893]\n",
    );
    // A limit is at least one and at most what an agent passes on.
    check(
        json!(31_892),
        json!(-5),
        "[cell-12: characters 31,892 to 31,893 of 31,893]\n\n",
    );
    let whole = read(&outputs, json!({"id": " cell-12 ", "limit": 1_000_000}));
    assert!(
        whole.contains("characters 0 to 20,000 of"),
        "{}",
        &whole[..60]
    );
    assert!(whole.ends_with("offset=20000) goes on]"));
}

#[test]
fn lines_that_hold_a_text() {
    let outputs = filled();
    let find = |query: &str| read(&outputs, json!({"id": "cell-12", "query": query}));
    assert_eq!(
        find("LÍNEA 2999"),
        "[cell-12: 0 of 3,000 lines hold \"LÍNEA 2999\"]"
    );
    assert_eq!(
        find("línea 299"),
        "[cell-12: 11 of 3,000 lines hold \"línea 299\"]\n299: línea 299\n2990: línea 2990\n2991: línea 2991\n\
         2992: línea 2992\n2993: línea 2993\n2994: línea 2994\n2995: línea 2995\n2996: línea 2996\n2997: línea 2997\n\
         2998: línea 2998\n2999: línea 2999"
    );
    let many = find("línea");
    assert!(many.starts_with("[cell-12: 3,000 of 3,000 lines hold"));
    assert!(many.ends_with("\n[there are more; a longer `query` finds fewer]"));
    assert!(many.chars().count() < 10_200);
    // The case of a query in small letters does not count; a long line shows the place.
    let long = format!("{}Needle{}", "é".repeat(3_000), "z".repeat(3_000));
    outputs.artifacts.keep("cell-13", long);
    let found = read(&outputs, json!({"id": "cell-13", "query": "Needle"}));
    assert!(
        found.contains("Needle") && found.chars().count() < 600,
        "{found}"
    );
    assert!(read(&outputs, json!({"id": "cell-13", "query": "needle"})).contains("1 of 1 lines"));
}

#[test]
fn what_cannot_be_read_is_said() {
    let outputs = filled();
    let check = |arguments: Value, expected: &str| {
        assert_eq!(read(&outputs, arguments.clone()), expected, "{arguments}");
    };
    check(json!({}), "Error: `id` has to be a string");
    check(json!({"id": 12}), "Error: `id` has to be a string");
    check(json!("cell-12"), "Error: `id` has to be a string");
    check(
        json!({"id": "cell-12", "offset": "x"}),
        "Error: `offset` has to be a whole number",
    );
    check(
        json!({"id": "cell-12", "query": 1}),
        "Error: `query` has to be a string",
    );
    check(
        json!({"id": "../../etc/passwd"}),
        "Error: there is no output `../../etc/passwd`. Known, newest first: cell-12 (34,893 bytes)",
    );
    assert_eq!(
        read(&Outputs::default(), json!({"id": "cell-1"})),
        "Error: there is no output `cell-1`: nothing has been cut in this session"
    );
}

#[test]
fn what_the_context_cuts_can_be_read_and_the_rest_is_not_kept() {
    let outputs = Outputs::default();
    let cell = |line, output: String| CellEntry {
        line,
        output: Some(output),
        ..CellEntry::default()
    };
    let dialog = Dialog {
        cells: vec![cell(1, "é".repeat(20_000)), cell(2, "é".repeat(20_001))],
        ..Dialog::default()
    };
    outputs.keep_cells(&dialog);
    let listed: Vec<_> = outputs
        .artifacts
        .list()
        .into_iter()
        .map(|(id, _)| id)
        .collect();
    assert_eq!(listed, ["cell-2"]);
}

#[test]
fn more_than_is_kept_says_what_is_missing() {
    let outputs = Outputs::default();
    let text = "é".repeat(MOST_BYTES / 2 + 5);
    let cut = outputs.cut(Kind::Shell, 4, &text);
    assert!(
        cut.contains("4,194,309 characters"),
        "{}",
        &cut[19_000..21_000]
    );
    let end = read(&outputs, json!({"id": "shell-4-1", "offset": -44}));
    assert!(
        end.ends_with("[… the remaining 10 bytes were not kept …]"),
        "{end}"
    );
}

#[test]
fn the_tool_says_what_it_takes() {
    let spec = Outputs::spec();
    assert_eq!(spec.name, READ_OUTPUT);
    assert_eq!(spec.schema["required"], json!(["id"]));
    let properties = spec.schema["properties"].as_object().unwrap();
    let names: Vec<_> = properties.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 4);
    for name in ["id", "offset", "limit", "query"] {
        assert!(names.contains(&name), "{name}");
    }
    // The line the model sees in a cut text is the one the description shows.
    let cut = Outputs::default().cut(Kind::Tool, 1, &"x".repeat(30_000));
    let shown = |text: &str| text.contains(" shows it …]") && text.contains("read_output(id=\"");
    assert!(shown(&cut) && shown(&spec.description));
}
