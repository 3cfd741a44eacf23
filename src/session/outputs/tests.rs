//! How outputs are cut, and how the agent reads the rest.

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
        "Error: there is no shortened output `../../etc/passwd`. Shortened outputs, newest first: cell-12 (34,893 \
         bytes). Any other output is complete where it was shown (in code, `ipycodex.output(\"cell-12\")` gives what \
         any cell showed)",
    );
    assert_eq!(
        read(&Outputs::default(), json!({"id": "cell-1"})),
        "Error: there is no shortened output `cell-1`: no output of this session was too long, so each one is complete \
         where it was shown (in code, `ipycodex.output(\"cell-12\")` gives what any cell showed)"
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
fn of_more_than_is_kept_the_sizes_are_true_and_both_ends_are_there() {
    let outputs = Outputs::default();
    let lines: String = (0..1_000_000).map(|n| format!("línea {n:06}\n")).collect();
    let (characters, bytes) = (lines.chars().count(), lines.len());
    assert!(bytes > MOST_BYTES);
    let cut = outputs.cut(OutputKind::Shell, 4, &lines);
    let total = grouped(characters as u64);
    assert!(
        cut.contains(&format!("[… {total} characters, 1,000,000 lines in all; ")),
        "{}",
        &cut[9_000..11_000]
    );
    let end = read(&outputs, json!({"id": "shell-4-1", "offset": -13}));
    assert_eq!(
        end,
        format!(
            "[shell-4-1: characters {} to {total} of {total}]\nlínea 999999\n",
            grouped(characters as u64 - 13)
        )
    );
    // A gap is reported by reads that reach it, from before and from within. A line has 14 bytes and 13 characters.
    let from = MOST_BYTES / 2 / 14 * 13 - 1_000;
    let before = read(
        &outputs,
        json!({"id": "shell-4-1", "offset": from, "limit": 20_000}),
    );
    let (_, said) = before.rsplit_once("\n[characters ").expect("it is said");
    let (gap, next) = said
        .split_once(" were not kept; read_output(id=\"shell-4-1\", offset=")
        .expect("and how it goes on");
    let next: usize = next.trim_end_matches(") goes on]").parse().unwrap();
    assert!(
        gap.ends_with(&format!(" to {}", grouped(next as u64))),
        "{gap}"
    );
    let within = read(
        &outputs,
        json!({"id": "shell-4-1", "offset": next - 5, "limit": 20}),
    );
    assert!(
        within.starts_with(&format!(
            "[shell-4-1: characters {} to {} of {total}; characters {gap} were not kept]\n",
            grouped(next as u64),
            grouped(next as u64 + 20)
        )),
        "{within}"
    );
    // Lines have the numbers of the whole.
    let found = read(&outputs, json!({"id": "shell-4-1", "query": "ea 999999"}));
    assert!(
        found.starts_with(
            "[shell-4-1: 1 of 1,000,000 lines hold \"ea 999999\"]\n1000000: línea 999999\n[characters "
        ),
        "{found}"
    );
}

#[test]
fn a_text_that_comes_without_its_middle_is_told_by_its_true_size() {
    let outputs = Outputs::default();
    let came = shorten_bytes(&"x".repeat(10_400_018), 8_388_608);
    let cut = outputs.cut(OutputKind::Tool, 1, &came);
    assert!(
        cut.contains("\n[… 10,400,018 characters, 1 line in all; "),
        "{}",
        &cut[9_000..11_000]
    );
    let piece = read(&outputs, json!({"id": "tool-1-1", "offset": 10_400_000}));
    assert_eq!(
        piece,
        format!(
            "[tool-1-1: characters 10,400,000 to 10,400,018 of 10,400,018]\n{}",
            "x".repeat(18)
        )
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
    let cut = Outputs::default().cut(OutputKind::Tool, 1, &"x".repeat(30_000));
    let shown = |text: &str| text.contains(" shows it …]") && text.contains("read_output(id=\"");
    assert!(shown(&cut) && shown(&spec.description));
}

#[test]
fn an_address_is_an_id_and_people_get_the_whole() {
    let outputs = filled();
    let piece = |id: &str| read(&outputs, json!({"id": id, "limit": 8}));
    assert_eq!(piece("artifact://cell-12"), piece("cell-12"));
    for id in ["cell-12", "artifact://cell-12"] {
        assert!(outputs.whole(id).unwrap().ends_with("línea 3000\n"));
    }
    let none = outputs.whole("tool-1-1").unwrap_err();
    assert!(
        none.starts_with("there is no shortened output `tool-1-1`"),
        "{none}"
    );
    let all = outputs.whole("").unwrap_err();
    assert!(all.contains("cell-12 (") && !all.contains("``"), "{all}");
}
