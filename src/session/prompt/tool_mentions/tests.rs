//! The sources of tool names, and the names that are refused.

use serde_json::json;

use super::*;
use crate::dialog::{AnswerBuilder, CellEntry, PromptEntry, ToolRecord};

/// A stored answer with one call of `name` that returned `result`.
fn answered(name: &str, result: &str) -> String {
    let mut answer = AnswerBuilder::default();
    answer.push_text(1, "Well:");
    answer.push_tool(&ToolRecord {
        id: "c".into(),
        name: name.into(),
        arguments: json!({}),
        result: result.into(),
        success: !result.starts_with("Error"),
    });
    answer.stored()
}

fn prompt(line: u32, prompt: &str, response: String) -> PromptEntry {
    PromptEntry {
        line,
        history_line: line - 1,
        prompt: prompt.into(),
        response,
        ..PromptEntry::default()
    }
}

fn cell(line: u32, source: &str) -> CellEntry {
    CellEntry {
        line,
        source: source.into(),
        ..CellEntry::default()
    }
}

fn names(text: &str, dialog: &Dialog) -> String {
    ToolMentions::collect(text, dialog)
        .unwrap()
        .names()
        .join(" ")
}

#[test]
fn every_source_offers_its_names() {
    let check = |dialog: Dialog, expected: &str| {
        assert_eq!(names("use &`here`", &dialog), expected, "{dialog:?}");
    };
    let of = |cells: Vec<CellEntry>, prompts: Vec<PromptEntry>| Dialog {
        cells,
        prompts,
        reset_line: 0,
    };
    check(Dialog::default(), "here");
    check(
        of(vec![], vec![prompt(2, "&`early` &`here`", String::new())]),
        "early here",
    );
    check(of(vec![cell(1, "'a &`noted` b'")], vec![]), "here noted");
    check(
        of(
            vec![cell(
                1,
                "'''---\nallowed-tools: one Bash(git:*) two\n---\nand &`three`'''",
            )],
            vec![],
        ),
        "here one three two",
    );
    // Not a note, and a note with broken frontmatter.
    check(of(vec![cell(1, "f('&`noted`')")], vec![]), "here");
    check(
        of(
            vec![cell(1, "'''---\nallowed-tools: [x\n---\n&`body`'''")],
            vec![],
        ),
        "body here",
    );
    for name in ["load_skill", "anything"] {
        let skill = "---\nname: s\nallowed-tools: [plot, fit]\n---\nuse &`show`";
        check(
            of(vec![], vec![prompt(2, "x", answered(name, skill))]),
            "fit here plot show",
        );
    }
    let evaluated = "---\neval: true\n---\nuse &`show`";
    check(
        of(vec![], vec![prompt(2, "x", answered("f", evaluated))]),
        "here show",
    );
    for nothing in [
        "use &`show`",
        "---\nname: s\n---\nuse &`show`",
        "---\neval: false\n---\nuse &`show`",
        " text\n---\nallowed-tools: x\n---\n",
        "Error: ---\nallowed-tools: x\n---\n",
    ] {
        check(
            of(vec![], vec![prompt(2, "x", answered("f", nothing))]),
            "here",
        );
    }
}

#[test]
fn what_left_the_conversation_offers_nothing() {
    let skill = || answered("load_skill", "---\nallowed-tools: deep\n---\n");
    let mut dialog = Dialog {
        cells: vec![cell(1, "'&`old`'"), cell(4, "'&`noted`'")],
        prompts: vec![prompt(3, "&`early`", skill())],
        reset_line: 0,
    };
    assert_eq!(names("x", &dialog), "deep early noted old");
    dialog.prompts[0].hidden = true;
    dialog.cells[1].hidden = true;
    assert_eq!(names("x", &dialog), "old");
    dialog.reset_line = 3;
    assert_eq!(names("x", &dialog), "");
}

fn found(name: &str) -> ToolLookup {
    ToolLookup::Found {
        name: name.into(),
        description: String::new(),
        schema: json!({}),
    }
}

#[test]
fn what_a_prompt_names_is_offered_or_refused() {
    let dialog = Dialog {
        prompts: vec![prompt(1, "&`a` &`z`", String::new())],
        ..Dialog::default()
    };
    let check = |text: &str, found: Vec<ToolLookup>, expected: Result<&str, &str>| {
        let resolved =
            ToolMentions::collect(text, &dialog).and_then(|mentions| mentions.resolve(found));
        let names = resolved.map(|tools| {
            let names: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
            names.join(" ")
        });
        assert_eq!(names.as_deref().map_err(String::as_str), expected, "{text}");
    };
    let missing = |name: &str| ToolLookup::Missing(name.into());
    let not_callable = |name: &str| ToolLookup::NotCallable(name.into());
    // The order does not tell where a name was mentioned.
    check("&`z`", vec![found("z"), found("a")], Ok("a z"));
    check("go on", vec![found("a"), found("z")], Ok("a z"));
    check("go on", vec![missing("a"), not_callable("z")], Ok(""));
    check(
        "&`b` &`a`",
        vec![missing("a"), missing("b"), not_callable("z")],
        Err("NameError: Missing tool(s) in user_ns: a, b"),
    );
    check(
        "&`b`",
        vec![not_callable("b"), found("z")],
        Err("TypeError: Non-callable tool(s): b"),
    );
    check(
        "&`pyrun`",
        vec![found("pyrun")],
        Err(
            "NameError: `pyrun` is a tool of this shell; to offer a function of yours, give it another name",
        ),
    );
    check("&`pyrun`", vec![missing("pyrun"), found("a")], Ok("a"));
    let invalid = "a tool's name is at most 128 ASCII letters, digits and `_`";
    check(
        "&`größe`",
        vec![],
        Err(&format!("ValueError: `größe` cannot be a tool: {invalid}")),
    );
    check(
        "&`mcp__x`",
        vec![],
        Err(&format!("ValueError: `mcp__x` cannot be a tool: {invalid}")),
    );
    let long = "n".repeat(1 << 20);
    check(
        &format!("&`{long}`"),
        vec![],
        Err(&format!(
            "ValueError: `{}…` cannot be a tool: {invalid}",
            &long[..60]
        )),
    );
}

#[test]
fn names_of_other_sources_that_cannot_be_tools_are_skipped() {
    let long = "n".repeat(10_000);
    let note = format!("'''---\nallowed-tools: mcp__a pyrun größe 1x a-b {long} fine\n---'''");
    let dialog = Dialog {
        cells: vec![cell(1, &note)],
        ..Dialog::default()
    };
    assert_eq!(names("x", &dialog), "fine");
}

#[test]
fn a_text_full_of_beginnings_is_read_in_linear_time() {
    let answer = "<details class='tool-usage-details'>\n<summary>\"---</summary>x".repeat(20_000);
    let dialog = Dialog {
        prompts: vec![prompt(1, "x", answer)],
        ..Dialog::default()
    };
    assert_eq!(names("x", &dialog), "");
}
