//! The references that a prompt evaluates, when, and their rendering.

use super::*;
use crate::dialog::PromptEntry;

fn cell(line: u32, source: &str) -> CellEntry {
    CellEntry {
        line,
        source: source.into(),
        ..CellEntry::default()
    }
}

fn prompt(line: u32, hidden: bool) -> PromptEntry {
    PromptEntry {
        line,
        history_line: line - 1,
        prompt: "earlier $`p` !`rm p`".into(),
        hidden,
        ..PromptEntry::default()
    }
}

fn mentioned(text: &str, dialog: &Dialog, skills: &[&str]) -> (String, String) {
    let skills: Vec<String> = skills.iter().map(|skill| (*skill).to_owned()).collect();
    let found = PromptReferences::collect(text, dialog, &skills);
    (found.variables.join(" "), found.shells.join("; "))
}

#[test]
fn a_prompt_its_new_notes_and_new_skills_are_evaluated() {
    let note = "'''---\nexposed-vars: a, f(1) 1x rm;x\nshell-cmds: [ls -l, 'echo a b']\n---\n$`b` !`date` &`t`'''";
    let dialog = Dialog {
        cells: vec![cell(1, note), cell(2, "x = '$`code`'")],
        ..Dialog::default()
    };
    let skill = "---\nexposed-vars: [s]\nshell-cmds: uname -a\n---\n$`example` !`reboot`";
    assert_eq!(
        mentioned("$`x` $`a` $`str(x)` !`date` !`id`", &dialog, &[skill]),
        (
            "s a f(1) 1x rm;x b x str(x)".to_owned(),
            "uname -a; ls -l; echo a b; date; id".to_owned()
        )
    );
    assert!(PromptReferences::collect("a & b $5 `x`", &Dialog::default(), &[]).is_empty());
}

#[test]
fn nothing_of_an_earlier_prompt_runs_again() {
    let check = |prompts: Vec<PromptEntry>, reset_line, expected: (&str, &str)| {
        let dialog = Dialog {
            cells: vec![
                cell(1, "'$`n` $`o.a` $`f()` !`ls`'"),
                cell(5, "'$`m` !`id`'"),
            ],
            prompts,
            reset_line,
        };
        let (variables, shells) = mentioned("go", &dialog, &[]);
        assert_eq!(
            (variables.as_str(), shells.as_str()),
            expected,
            "{dialog:?}"
        );
    };
    check(vec![], 0, ("n o.a f() m", "ls; id"));
    check(vec![prompt(3, false)], 0, ("m", "id"));
    check(vec![prompt(3, false), prompt(6, false)], 0, ("", ""));
    // Of a hidden exchange only what changes nothing is evaluated again.
    check(vec![prompt(3, true)], 0, ("n o.a m", "id"));
    check(vec![prompt(3, false), prompt(6, true)], 0, ("m", ""));
    check(vec![], 4, ("m", "id"));
    check(vec![], 9, ("", ""));
}

#[test]
fn there_is_a_limit() {
    let text: String = (0..300).map(|n| format!("$`x{n}` !`c{n}` ")).collect();
    let found = PromptReferences::collect(&text, &Dialog::default(), &[]);
    assert_eq!((found.variables.len(), found.shells.len()), (100, 50));
    assert_eq!(found.too_many, 450);
    let expanded = found.render(RuntimeReply::Done, &Outputs::default(), 1);
    assert!(expanded.notices[1].message.ends_with("450 were left out"));
}

fn value(expression: &str, type_name: &str, text: &str) -> ReferenceValue {
    ReferenceValue::Value {
        expression: expression.into(),
        type_name: type_name.into(),
        text: text.into(),
        image: None,
        failed: false,
    }
}

fn undefined(expression: &str, names: &[&str]) -> ReferenceValue {
    ReferenceValue::Undefined {
        expression: expression.into(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

/// Returns the expansion of the prompt `text` when the runtime gives `answer`, and the notices to the user.
fn expanded(text: &str, answer: RuntimeReply) -> (Expansion, Vec<String>) {
    let references = PromptReferences::collect(text, &Dialog::default(), &[]);
    let EvaluatedReferences {
        expansion, notices, ..
    } = references.render(answer, &Outputs::default(), 7);
    let messages = notices.into_iter().map(|notice| notice.message);
    (expansion, messages.collect())
}

#[test]
fn the_order_is_warnings_variables_by_name_commands_as_written() {
    let answer = RuntimeReply::Evaluated {
        variables: vec![
            value("b", "str", "<b> & \u{0}"),
            undefined("nope", &["nope"]),
            value("a", "int", "1"),
            undefined("f(gone, x)", &["gone"]),
            value("f(\"q\")", "list", "[]"),
        ],
        shells: vec!["z <1>".into(), String::new()],
    };
    let text = "$`b` $`nope` $`a` $`f(gone, x)` $`f(\"q\")` !`z \"1\"` !`true`";
    let (expansion, told) = expanded(text, answer);
    assert_eq!(
        expansion.xml,
        "<warnings>The following symbols were referenced but aren't defined in the interpreter: gone, nope</warnings>\n\
         <variable name=\"a\" type=\"int\">1</variable>\
         <variable name=\"b\" type=\"str\">&lt;b&gt; &amp; </variable>\
         <variable name=\"f(&quot;q&quot;)\" type=\"list\">[]</variable>\
         <shell cmd=\"z &quot;1&quot;\">z &lt;1&gt;</shell><shell cmd=\"true\"></shell>"
    );
    assert_eq!(told, ["not defined in the interpreter: gone, nope"]);
    assert!(expansion.images.is_empty());
}

#[test]
fn without_an_interpreter_the_prompt_says_so() {
    for (answer, why) in [
        (
            RuntimeReply::Failed("no Python interpreter is running".into()),
            "no Python interpreter is running",
        ),
        (RuntimeReply::Done, "the interpreter gave no values"),
    ] {
        let (expansion, told) = expanded("$`x` $`f(x)` !`ls`", answer);
        assert_eq!(
            expansion.xml,
            format!(
                "<warnings>The following symbols were referenced but aren't defined in the interpreter: x</warnings>\n\
                 <variable name=\"f(x)\" type=\"Error\">Error: {why}</variable><shell cmd=\"ls\">Error: {why}</shell>"
            )
        );
        assert_eq!(
            told,
            [format!(
                "what the prompt refers to could not be evaluated: {why}"
            )]
        );
    }
}

#[test]
fn what_has_no_value_is_said_to_both() {
    let failed = |expression: &str, error: &str, text: &str| ReferenceValue::Value {
        expression: expression.into(),
        type_name: error.into(),
        text: format!("Error: {text}"),
        image: None,
        failed: true,
    };
    let answer = RuntimeReply::Evaluated {
        variables: vec![
            failed("1 +", "SyntaxError", "SyntaxError: invalid syntax"),
            failed("d['z']", "KeyError", "KeyError: 'z'\nmore"),
            undefined("gone.x", &["gone"]),
        ],
        shells: vec![],
    };
    let (expansion, told) = expanded("$`1 +` $`d['z']` $`gone.x`", answer);
    assert_eq!(
        told,
        [
            "no value for `1 +`: SyntaxError: invalid syntax",
            "no value for `d['z']`: KeyError: 'z'",
            "not defined in the interpreter: gone",
        ]
    );
    assert!(expansion.xml.contains(
        "<variable name=\"1 +\" type=\"SyntaxError\">Error: SyntaxError: invalid syntax</variable>"
    ));
}

#[test]
fn pictures_come_along_and_huge_values_are_cut() {
    let picture = |n: usize| ReferenceValue::Value {
        expression: format!("p{n}"),
        type_name: "Figure".into(),
        text: "<Figure>".into(),
        image: Some(format!("data:image/png;base64,{n}")),
        failed: false,
    };
    let mut variables: Vec<ReferenceValue> = (0..9).map(picture).collect();
    variables.push(value("x", "str", &"é\n".repeat(40_000)));
    let answer = RuntimeReply::Evaluated {
        variables,
        shells: vec!["y".repeat(30_000)],
    };
    let (expansion, _) = expanded("$`x` !`cat y`", answer);
    assert_eq!(expansion.images.len(), 8);
    assert_eq!(&*expansion.images[0], "data:image/png;base64,0");
    assert!(
        expansion
            .xml
            .contains("[1 picture is left out: too many or too large]")
    );
    assert_eq!(expansion.xml.matches("[… ").count(), 2);
    for id in ["variable-7-1", "shell-7-1"] {
        assert!(
            expansion.xml.contains(&format!("read_output(id=\"{id}\"")),
            "{id}"
        );
    }
}

#[test]
fn an_answer_that_is_too_short_does_no_harm() {
    let answer = RuntimeReply::Evaluated {
        variables: vec![],
        shells: vec!["one".into()],
    };
    let (expansion, _) = expanded("$`x` !`a` !`b`", answer);
    assert_eq!(expansion.xml, "<shell cmd=\"a\">one</shell>");
}

#[test]
fn names_of_a_megabyte_stay_small() {
    let long = "n".repeat(1 << 20);
    let answer = RuntimeReply::Evaluated {
        variables: vec![undefined(&long, &[&long])],
        shells: vec!["out".into()],
    };
    let (expansion, told) = expanded(&format!("$`{long}` !`{long}`"), answer);
    assert!(expansion.xml.len() < 3_000);
    assert!(told[0].len() < 1_100);
}

#[test]
fn fix_and_explain_take_the_last_error() {
    let failed = |line, source: &str| CellEntry {
        output: Some("Traceback: <E>".into()),
        failed: true,
        ..cell(line, source)
    };
    let mut dialog = Dialog {
        cells: vec![
            failed(1, "old"),
            failed(2, "1/0"),
            cell(3, "ok"),
            failed(4, ".fix"),
        ],
        ..Dialog::default()
    };
    let pointed = "<last-error line=\"2\"/>";
    let whole =
        "<last-error line=\"2\"><code>1/0</code><output>Traceback: &lt;E&gt;</output></last-error>";
    for text in ["fix", " Explain!\n", "FIX?", "explain."] {
        assert_eq!(requested_error(text, &dialog), pointed, "{text:?}");
    }
    for text in ["fix it", "why", "", "explain x", "prefix"] {
        assert_eq!(requested_error(text, &dialog), "", "{text:?}");
    }
    dialog.prompts = vec![prompt(4, false)];
    assert_eq!(requested_error("fix", &dialog), whole);
    dialog.prompts[0].hidden = true;
    assert_eq!(requested_error("fix", &dialog), pointed);
    dialog.cells[1].hidden = true;
    assert_eq!(requested_error("fix", &dialog), "<last-error line=\"1\"/>");
    dialog.reset_line = 3;
    assert_eq!(requested_error("fix", &dialog), "");
}
