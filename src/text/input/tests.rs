//! The rules of input: readable cases in `tests/data/input`, and properties of any text.

use proptest::prelude::*;

use super::*;
use crate::properties;

const CLASSIFY: &str = include_str!("../../../tests/data/input/classify.txt");
const COMPLETENESS: &str = include_str!("../../../tests/data/input/completeness.txt");
const SPLIT: &str = include_str!("../../../tests/data/input/split.txt");

struct Case {
    mode: Mode,
    text: String,
    expected: Vec<String>,
}

fn cases(file: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for part in format!("\n{file}").split("\n==").skip(1) {
        let (title, body) = part.split_once('\n').expect("a case has lines");
        let (text, expected) = body.split_at(body.find("--> ").expect("a case says what it is"));
        cases.push(Case {
            mode: if title.trim_start().starts_with("prompts") {
                Mode::Prompts
            } else {
                Mode::Cells
            },
            text: text.to_owned(),
            expected: expected
                .lines()
                .filter_map(|line| line.strip_prefix("--> "))
                .map(str::to_owned)
                .collect(),
        });
    }
    assert!(cases.len() > 10, "only {} cases were found", cases.len());
    cases
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text is JSON")
}

#[test]
fn what_a_text_is() {
    for case in cases(CLASSIFY) {
        let text = case.text.strip_suffix('\n').unwrap_or(&case.text);
        let is = match classify(text, case.mode) {
            Input::Empty => "empty".to_owned(),
            Input::Exit => "leave".to_owned(),
            Input::Shell { command } => format!("shell {}", quoted(&command)),
            Input::Command { line } => format!("command {}", quoted(&line)),
            Input::Cell { source } => format!("cell {}", quoted(&source)),
            Input::Note { source, value } => {
                assert!(text.contains(&source));
                format!("note {}", quoted(&value))
            }
            Input::Prompt(Prompt { text, hint: None }) => format!("prompt {}", quoted(&text)),
            Input::Prompt(Prompt {
                text,
                hint: Some(hint),
            }) => format!("prompt {} hint {}", quoted(&text), quoted(&hint)),
        };
        assert_eq!(vec![is], case.expected, "{text:?} in {:?}", case.mode);
    }
}

#[test]
fn where_enter_submits() {
    for case in cases(COMPLETENESS) {
        let text = case.text.strip_suffix("$\n").expect("the end is marked");
        let is = match completeness(text, case.mode) {
            Completeness::Complete => "complete".to_owned(),
            Completeness::Incomplete { indent } => format!("incomplete {indent}"),
            Completeness::Invalid => "invalid".to_owned(),
        };
        assert_eq!(vec![is], case.expected, "{text:?} in {:?}", case.mode);
    }
}

/// The pieces of a text that arrives in these chunks.
fn split(bits: &[&str]) -> Vec<String> {
    let mut text = PipedText::default();
    let mut pieces = Vec::new();
    for bit in bits {
        text.push(bit);
        pieces.extend(text.whole(false));
    }
    pieces.extend(text.rest());
    pieces
}

#[test]
fn how_piped_text_is_cut() {
    for case in cases(SPLIT) {
        // The blank line before the next case is not part of this one: it stands after the expectations.
        let pieces: Vec<_> = split(&[&case.text]).iter().map(|p| quoted(p)).collect();
        assert_eq!(pieces, case.expected, "{}", case.text);
    }
}

#[test]
fn names_a_text_mentions() {
    let check = |text: &str, tools: &[&str], variables: &[&str], shells: &[&str]| {
        let found = references(text);
        assert_eq!(found.tools, tools, "{text}");
        assert_eq!(found.variables, variables, "{text}");
        assert_eq!(found.shells, shells, "{text}");
    };
    check("use &`f` and &`g`, &`f` again", &["f", "g"], &[], &[]);
    check(
        "$`x` and $`str(x)` and $`d.get('a')`",
        &[],
        &["x", "str(x)", "d.get('a')"],
        &[],
    );
    check("!`git log` now", &[], &[], &["git log"]);
    check("no!`x` `!`x` _!`x`", &[], &[], &[]);
    check("&`a b` &`` !` ` $`` $` `", &[], &[], &[]);
    check(
        "$`o.a` $`d['k']` $`x[0]` $`1+1` $`1x`",
        &[],
        &["o.a", "d['k']", "x[0]", "1+1", "1x"],
        &[],
    );
    check("&`open\nline` &`é` !$`v`", &["é"], &["v"], &[]);
    check("&&`f`$`v`&`", &["f"], &["v"], &[]);
}

#[test]
fn text_full_of_marks_is_read_in_linear_time() {
    let many: String = (0..100_000).map(|n| format!("$`v{n}` &`t{n}`")).collect();
    assert_eq!(references(&many).variables.len(), 100_000);
    for unit in ["`", "$`", "!`", "$`x\n", "&`!`$`", "!", "é!`"] {
        let text = unit.repeat((1 << 17) / unit.len());
        let found = references(&text);
        assert!(found.tools.is_empty(), "{unit:?}");
    }
}

#[test]
fn lines_that_are_ours() {
    for source in [
        ".x",
        "  .x",
        "%ipycodex",
        "%%ipycodex\nx",
        "%ipycodex think m",
    ] {
        assert!(is_ipycodex_input(source), "{source}");
    }
    for source in ["x", "%ipycodexes", "0.5", "%time x"] {
        assert!(!is_ipycodex_input(source), "{source}");
    }
    assert!(is_ipycodex_input(&prompt_source("why")));
}

#[test]
fn deep_nesting_is_no_danger() {
    for unit in ["f\"{", "(", "f'{f\"{", "{", "'''", "f\"{x:{", "try:\n"] {
        let text = unit.repeat(50_000);
        classify(&text, Mode::Cells);
        completeness(&text, Mode::Cells);
        split(&[&text]);
    }
}

#[test]
fn a_magic_that_goes_on_in_the_next_line_waits_for_it() {
    let parts = ["%ipycodex set a\\\n", "b\n"];
    assert_eq!(split(&parts), [parts.concat()]);
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "\n", "\n", " ", "    ", "\t", "\r\n", "\\", ".", "%%", "%", "!", ";", "(", ")", "[", "]", "{", "}", "\"",
            "'", "\"\"\"", "'''", "f\"", "r'", "\\N{", "\\u12", "\\x", "#", "# %%", ":", "=", "x", "if x:", "try:",
            "except:", "else:", "@d", "exit", "%ipycodex", "&`f`", "$`x`", "!`c`", "`", "é", "\u{1F600}", "\0",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(properties::cases(properties::USUAL))]

    #[test]
    fn any_text_is_something(text in any_text()) {
        for mode in [Mode::Cells, Mode::Prompts] {
            classify(&text, mode);
            completeness(&text, mode);
        }
        let found = references(&text);
        for name in &found.tools {
            prop_assert!(is_name(name) && text.contains(&format!("&`{}`", name)), "{}", name);
        }
        for expression in &found.variables {
            prop_assert!(!expression.trim().is_empty() && text.contains(&format!("$`{}`", expression)), "{}",
                expression);
        }
    }

    /// The pieces occur in the text in order, with only white space and markers between them.
    #[test]
    fn splitting_loses_nothing(text in any_text()) {
        let is_marker = |text: &str| text.starts_with("# %%") || text.starts_with("#%%");
        let mut rest = text.as_str();
        for piece in split(&[&text]) {
            // A piece may look like a part of a marker line, but it never is one.
            while is_marker(rest) || !rest.starts_with(&piece) {
                let line = rest.split_inclusive('\n').next().unwrap_or_default();
                prop_assert!(is_marker(line) || !line.is_empty() && line.trim().is_empty(), "{:?} before {:?}", rest,
                    piece);
                rest = &rest[line.len()..];
            }
            rest = &rest[piece.len()..];
        }
        for line in rest.split_inclusive('\n') {
            prop_assert!(line.trim().is_empty() || is_marker(line), "{:?} at the end", line);
        }
    }

    #[test]
    fn splitting_does_not_depend_on_when_text_comes(text in any_text(), at in any::<prop::sample::Index>()) {
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).chain([text.len()]).collect();
        let (one, other) = text.split_at(*at.get(&places));
        prop_assert_eq!(split(&[one, other]), split(&[&text]), "{:?} {:?}", one, other);
    }

    #[test]
    fn scanning_loses_nothing(text in any_text()) {
        let whole: String = scan::lines(&text).map(|line| line.text).collect();
        prop_assert_eq!(whole, text);
    }
}

#[test]
fn in_shell_mode_all_but_our_commands_is_for_the_shell() {
    let shell = |command: &str| Input::Shell {
        command: command.to_owned(),
    };
    let cell = |source: &str| Input::Cell {
        source: source.to_owned(),
    };
    for (text, expected) in [
        (". venv/bin/activate", shell(". venv/bin/activate")),
        ("\n ls -l\n", shell(" ls -l")),
        ("%timeit 1", shell("%timeit 1")),
        (
            "for f in *; do\n  a\ndone\n",
            shell("for f in *; do\n  a\ndone"),
        ),
        ("!ls", cell("!ls")),
        ("exit", Input::Exit),
        ("exit 3", shell("exit 3")),
        ("  \n", Input::Empty),
    ] {
        assert_eq!(classify(text, Mode::Shell), expected, "{text:?}");
    }
    assert!(matches!(
        classify("%ipycodex help", Mode::Shell),
        Input::Command { .. }
    ));
}

#[test]
fn a_field_that_is_still_open_may_end_in_a_later_line() {
    assert_eq!(split_piped("f'{x\n}'\ny\n"), ["f'{x\n}'\n", "y\n"]);
    let mut arriving = PipedText::default();
    arriving.push("f'{x\n");
    assert_eq!(arriving.whole(false), [""; 0]);
    arriving.push("}'\n");
    assert_eq!(arriving.whole(false), ["f'{x\n}'\n"]);
}

#[test]
fn what_was_classified_has_no_line_end_to_mend() {
    let cell = |source: &str| Input::Cell {
        source: source.into(),
    };
    assert_eq!(classify("a\r\r\nb\r\n\r", Mode::Cells), cell("a\nb"));
}
