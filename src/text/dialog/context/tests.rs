//! The context, byte for byte and parsed back.

use proptest::prelude::*;

use super::*;
use crate::dialog::PromptEntry;
use crate::properties;

fn cell(line: u32, source: &str, output: &str) -> CellEntry {
    CellEntry {
        line,
        source: source.into(),
        output: (!output.is_empty()).then(|| output.into()),
        ..CellEntry::default()
    }
}

fn prompt(line: u32, history_line: u32, prompt: &str, response: &str) -> PromptEntry {
    PromptEntry {
        id: line.into(),
        line,
        history_line,
        prompt: prompt.into(),
        response: response.into(),
        ..PromptEntry::default()
    }
}

fn session() -> Dialog {
    Dialog {
        cells: vec![
            cell(1, "import math", ""),
            cell(2, ".first prompt", "answer"),
            cell(3, "x = 1", ""),
            cell(4, ".second prompt", ""),
            cell(5, "'why & how'", "'why & how'"),
            cell(6, "%ipycodex think m", "x"),
            cell(7, "  ", ""),
            cell(8, "a<b", "True"),
        ],
        prompts: vec![
            prompt(2, 1, "first prompt", "one"),
            prompt(4, 3, "second prompt", ""),
        ],
        reset_line: 0,
    }
}

#[test]
fn only_a_turn_that_was_stopped_is_told_as_one() {
    let mut dialog = session();
    let told = |dialog: &Dialog| dialog.exchanges()[1].assistant.clone();
    assert_eq!(told(&dialog), INTERRUPTED);
    dialog.prompts[1].complete = true;
    assert_eq!(told(&dialog), "");
}

#[test]
fn each_prompt_gets_the_cells_before_it() {
    let dialog = session();
    let exchange = |line, user: &str, assistant: &str| PastExchange {
        line,
        user: user.into(),
        assistant: assistant.into(),
        images: Vec::new(),
    };
    assert_eq!(
        dialog.exchanges(),
        [
            exchange(
                2,
                "<context><code>import math</code></context>\n<user-request>first prompt</user-request>",
                "one"
            ),
            exchange(
                4,
                "<context><code>x = 1</code></context>\n<user-request>second prompt</user-request>",
                "<system>user interrupted</system>"
            ),
        ]
    );
    assert_eq!(
        dialog.next_context(),
        "<context><note>why &amp; how</note><code>a&lt;b</code><output>True</output></context>\n"
    );
}

#[test]
fn reset_and_hiding() {
    let mut dialog = session();
    dialog.prompts[0].hidden = true;
    assert_eq!(
        dialog.exchanges()[0].user,
        "<context><code>import math</code><code>x = 1</code></context>\n<user-request>second prompt</user-request>"
    );
    dialog.prompts.clear();
    dialog.cells[7].hidden = true;
    dialog.reset_line = 4;
    assert_eq!(
        dialog.next_context(),
        "<context><note>why &amp; how</note></context>\n"
    );
    dialog.reset_line = 8;
    assert_eq!(dialog.next_context(), "");
}

/// References stand before the context of their prompt for good, their pictures before those of the cells.
#[test]
fn what_was_referred_to_belongs_to_its_exchange() {
    let mut dialog = session();
    dialog.prompts[1].expansion = Expansion {
        xml: shell("date", "Sunday"),
        images: vec!["data:a".into()],
    };
    for (at, name) in [
        (1, "data:own line"),
        (2, "data:b"),
        (4, "data:c"),
        (5, "data:command"),
    ] {
        dialog.cells[at].images.push(name.into());
    }
    let second = &dialog.exchanges()[1];
    assert_eq!(
        second.user,
        "<shell cmd=\"date\">Sunday</shell><context><code>x = 1</code></context>\n\
         <user-request>second prompt</user-request>"
    );
    assert_eq!(second.images, ["data:a", "data:b"].map(Arc::from));
    assert!(dialog.exchanges()[0].images.is_empty());
    let own = Expansion {
        images: vec!["data:d".into()],
        ..Expansion::default()
    };
    assert_eq!(
        dialog.next_pictures(&own),
        ["data:d", "data:c"].map(Arc::from)
    );
    // A hidden cell hides its picture; a hidden prompt hides its own pictures, not those of its cells.
    dialog.hide(&(5..=5), true);
    assert_eq!(dialog.next_pictures(&own), ["data:d"].map(Arc::from));
    dialog.hide(&(4..=4), true);
    assert_eq!(
        dialog.next_pictures(&own),
        ["data:d", "data:b"].map(Arc::from)
    );
    assert_eq!(dialog.last_exchange().map(|prompt| prompt.line), Some(2));
    dialog.hide(&(1..=9), true);
    assert_eq!(
        (dialog.next_context().as_str(), dialog.last_exchange()),
        ("", None)
    );
}

#[test]
fn rows_of_others_name_the_prompts_own_line() {
    let mut dialog = session();
    dialog.prompts[0].history_line = 2;
    dialog.prompts[1].history_line = 4;
    assert_eq!(dialog.exchanges(), session().exchanges());
}

#[test]
fn a_long_output_keeps_head_and_tail() {
    let dialog = Dialog {
        cells: vec![cell(1, "x", &"é\n".repeat(15_000))],
        ..Dialog::default()
    };
    let context = dialog.next_context();
    assert!(context.contains("[… 30,000 characters, 15,000 lines in all; 10,0"));
    assert!(context.contains("read_output(id=\"cell-1\", offset="));
    assert!(context.chars().count() < 20_200);
}

#[test]
fn the_last_error_is_told_whole_or_pointed_at() {
    let failed = CellEntry {
        failed: true,
        ..cell(5, "1/<0>", "ZeroDivisionError & co")
    };
    assert_eq!(last_error(&failed, true), "<last-error line=\"5\"/>");
    assert_eq!(
        last_error(&failed, false),
        "<last-error line=\"5\"><code>1/&lt;0&gt;</code><output>ZeroDivisionError &amp; co</output></last-error>"
    );
}

#[test]
fn a_cut_value_is_not_cut_again() {
    let long = "x\n".repeat(20_000);
    let cut = shorten_naming(&long, MODEL_CHARACTERS - 200, Rest::Kept("variable-1-1"));
    assert_eq!(variable("x", "str", &cut).matches("[…").count(), 1);
}

#[test]
fn the_other_elements() {
    assert_eq!(
        variable("f(\"x\")", "int", "<1"),
        "<variable name=\"f(&quot;x&quot;)\" type=\"int\">&lt;1</variable>"
    );
    assert_eq!(
        shell("echo hi", "hi\n"),
        "<shell cmd=\"echo hi\">hi</shell>"
    );
    assert_eq!(
        warnings(&["b".into(), "a".into(), "b".into()]),
        "<warnings>The following symbols were referenced but aren't defined in the interpreter: a, b</warnings>\n"
    );
    assert_eq!(warnings(&[]), "");
    assert_eq!(conversation_history(&[]), "");
    assert_eq!(
        conversation_history(&[("U".into(), "a </assistant ></turn> <b>".into())]),
        "<conversation-history><turn><user>U</user><assistant>a &lt;/assistant >&lt;/turn> <b></assistant></turn>\
         </conversation-history>\n"
    );
}

#[test]
fn a_long_session_is_one_pass() {
    let cells = (1..=11_000).map(|n| cell(n, if n % 11 == 0 { ".p" } else { "x = 1" }, "1"));
    let dialog = Dialog {
        cells: cells.collect(),
        prompts: (1..=1000)
            .map(|n| prompt(n * 11, n * 11 - 1, "p", "r"))
            .collect(),
        reset_line: 0,
    };
    let exchanges = dialog.exchanges();
    assert_eq!(exchanges.len(), 1000);
    assert!(
        exchanges
            .iter()
            .all(|exchange| exchange.user.matches("<code>").count() == 10)
    );
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            "]]>",
            "</context>",
            "</code>",
            "&amp;",
            "\0",
            "\u{FFFE}",
            "\u{FFFF}",
            "<!--",
            "<![CDATA[",
            "\r\n",
            "\r",
            "\"",
            "'",
            "\x1b[31m",
            "\u{85}",
            "\u{2028}",
            "<user-request>",
            "\u{FFFD}",
            "&#0;",
            "<?xml",
        ])
        .prop_map(str::to_owned),
        4 => any::<String>(),
        1 => Just("<é&".repeat(350_000)),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

fn allowed(text: &str) -> String {
    text.chars()
        .filter(|c| !matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}'))
        .collect()
}

proptest! {
    #![proptest_config(properties::cases(48))]

    /// A parser finds exactly the given cells, with their text.
    #[test]
    fn nothing_leaves_its_element(texts in prop::collection::vec((hostile(), hostile()), 1..5)) {
        let cells: Vec<_> = texts.iter().zip(1..).map(|((source, output), n)| cell(n, &format!("x{source}"),
            &format!("y{output}"))).collect();
        let dialog = Dialog { cells, ..Dialog::default() };
        let context = dialog.next_context();
        let tree = roxmltree::Document::parse(context.trim_end_matches('\n')).expect("the context is XML");
        let mut elements = tree.root_element().children();
        for ((source, output), n) in texts.iter().zip(1..) {
            let code = elements.next().expect("each cell is there");
            prop_assert!(code.has_tag_name("code"));
            let text = code.text().unwrap_or_default();
            let expected = allowed(&["x", source].concat());
            prop_assert!(text == expected);
            let shown = elements.next().expect("each output is there");
            prop_assert!(shown.has_tag_name("output"));
            let text = shown.text().unwrap_or_default();
            prop_assert!(text == allowed(&shorten_naming(&["y", output].concat(), MODEL_CHARACTERS,
                Rest::Kept(&cell_id(n)))));
        }
        prop_assert!(elements.next().is_none());
    }
}

#[test]
fn what_an_answer_tells_of_is_no_context_while_it_is_part_of_the_conversation() {
    let made = |told| CellEntry {
        in_answer_of: told,
        images: vec!["data:image/png;base64,AAAA".into()],
        ..cell(3, "y = 1", "made")
    };
    let dialog = |told, hidden| Dialog {
        cells: vec![
            cell(1, "x", ""),
            cell(2, ".p", ""),
            made(told),
            cell(4, "z", ""),
        ],
        prompts: vec![PromptEntry {
            hidden,
            ..prompt(2, 1, "p", "an answer that holds cell 3")
        }],
        reset_line: 0,
    };
    let check = |dialog: Dialog, expected: &str, pictures: usize| {
        assert_eq!(
            dialog.next_context(),
            format!("<context>{expected}</context>\n")
        );
        assert_eq!(dialog.next_pictures(&Expansion::default()).len(), pictures);
    };
    let cells = "<code>y = 1</code><output>made</output><code>z</code>";
    check(dialog(Some(2), false), "<code>z</code>", 0);
    check(dialog(None, false), cells, 1);
    check(dialog(Some(2), true), &format!("<code>x</code>{cells}"), 1);
    // The turn failed, so its prompt is not in the record.
    check(dialog(Some(9), false), cells, 1);
}
