//! Keys against questions: tables.

use super::*;
use crate::agent::{Change, FileChange, FormField};
use crate::keys::Decoder;
use crate::session::ProposedCell;
use crate::text::escape::visible_lines;
use crate::text::expand_tabs;
use proptest::prelude::*;

fn command() -> QuestionSubject {
    QuestionSubject::Agent(Subject::Command {
        command: "touch a".into(),
        cwd: "/w".into(),
        reason: None,
    })
}

fn cells() -> QuestionSubject {
    QuestionSubject::Cells(vec![ProposedCell {
        code: "a = 1".into(),
        title: String::new(),
        reset: false,
    }])
}

fn skill() -> QuestionSubject {
    QuestionSubject::SkillCode {
        skill: "s".into(),
        path: "/s".into(),
        blocks: vec!["x".into()],
    }
}

fn form(fields: Vec<FormField>) -> QuestionSubject {
    QuestionSubject::Agent(Subject::Form {
        server: String::new(),
        message: String::new(),
        fields,
    })
}

fn field(id: &str) -> FormField {
    FormField {
        id: id.into(),
        question: format!("{id}?"),
        ..FormField::default()
    }
}

fn options(id: &str, several: bool, free: bool) -> FormField {
    FormField {
        options: ["one", "two", "three"]
            .map(|value| (value.to_owned(), String::new()))
            .into(),
        multiple: several,
        free_text: free,
        ..field(id)
    }
}

fn press(code: KeyCode) -> Event {
    Event::Key(code.into())
}

/// Types `keys`; returns the last outcome that is not [`KeyOutcome::Open`], else that.
fn pressed(about: QuestionSubject, keys: &str) -> KeyOutcome {
    let mut open = OpenQuestion::new(Question::usual(7, about));
    let mut last = KeyOutcome::Open;
    for key in Decoder::all(keys.as_bytes()) {
        match open.take(&key) {
            KeyOutcome::Open => {}
            over @ KeyOutcome::Over(..) => return over,
            other => last = other,
        }
    }
    last
}

fn reply(about: QuestionSubject, keys: &str) -> Option<Reply> {
    match pressed(about, keys) {
        KeyOutcome::Over(_, reply) => Some(reply),
        _ => None,
    }
}

#[test]
fn choices() {
    use QuestionChoice::*;
    let check = |about: fn() -> QuestionSubject, keys: &str, expected: Option<QuestionChoice>| {
        assert_eq!(
            reply(about(), keys),
            expected.map(Reply::Chosen),
            "{keys:?}"
        );
    };
    for (keys, expected) in [
        ("y", Some(Once)),
        ("Y", Some(Once)),
        ("s", Some(Session)),
        ("n", Some(No)),
        ("x", Some(Stop)),
        ("\r", Some(No)),
        ("\n", Some(No)),
        ("\x1b", Some(No)),
        ("\x1b[A\r", Some(Session)),
        ("\x1b[A\x1b[A\r", Some(Once)),
        ("\t\t\r", Some(Stop)),
        ("\t\t\t\r", Some(Once)),
        ("\x1b[Z\r", Some(Session)),
        ("w", None),
        ("a", None),
        ("q 1é\x1by", None),
        ("\x1b[200~y\r\x1b[201~", None),
        ("\x1b[200~y\r\x1b[201~n", Some(No)),
    ] {
        check(command, keys, expected);
    }
    check(cells, "s", Some(Session));
    check(cells, "x", None);
    check(skill, "y", Some(Remember));
    check(skill, "\r", Some(No));
    assert_eq!(pressed(command(), "\x1b[99;5u"), KeyOutcome::Interrupt);
}

#[test]
fn no_and_why() {
    let check = |keys: &str, expected: Option<Reply>| {
        assert_eq!(reply(cells(), keys), expected, "{keys:?}");
    };
    let because = |why: &str| Some(Reply::NoBecause(why.into()));
    check("wtoo slow\r", because("too slow"));
    check("w漢x\x7f\r", because("漢"));
    check("wy\x1b[200~ a\nb\x1b[201~\r", because("y a b"));
    check("w\r", Some(Reply::Chosen(QuestionChoice::No)));
    check("wy\x1b", None);
    let mut open = OpenQuestion::new(Question::usual(1, cells()));
    open.take(&press(KeyCode::Char('w')));
    open.take(&press(KeyCode::Char('z')));
    open.take(&press(KeyCode::Esc));
    assert_eq!(
        open.take(&press(KeyCode::Char('y'))),
        KeyOutcome::Over(
            "✓ allowed once: a = 1".into(),
            Reply::Chosen(QuestionChoice::Once)
        )
    );
}

#[test]
fn forms() {
    let filled = |values: &[(&str, &[&str])]| {
        let own = |values: &[&str]| values.iter().map(|v| (*v).to_owned()).collect();
        Some(Reply::Filled(
            values
                .iter()
                .map(|(id, v)| ((*id).to_owned(), own(v)))
                .collect(),
        ))
    };
    let check = |fields: Vec<FormField>, keys: &str, expected: Option<Reply>| {
        assert_eq!(reply(form(fields), keys), expected, "{keys:?}");
    };
    check(vec![field("a")], "hi\r", filled(&[("a", &["hi"])]));
    check(vec![field("a")], "\r\r", None);
    check(vec![field("a")], "hi\x1b", Some(Reply::Declined));
    let optional = FormField {
        optional: true,
        ..field("a")
    };
    check(vec![optional], "\r", filled(&[("a", &[])]));
    let two = || vec![options("a", false, false), field("b")];
    check(two(), "2why\r", filled(&[("a", &["two"]), ("b", &["why"])]));
    check(two(), "\r", None);
    check(
        two(),
        "\x1b[B\x1b[B\x1b[B\rx\r",
        filled(&[("a", &["three"]), ("b", &["x"])]),
    );
    check(two(), "\x1b[A\r\r", None);
    check(two(), "1\x1b", Some(Reply::Declined));
    check(two(), "9x4", None);
    let several = || vec![options("a", true, true)];
    check(several(), "31\r", filled(&[("a", &["one", "three"])]));
    check(several(), "11\r", filled(&[("a", &[])]).filter(|_| false));
    check(
        several(),
        "\x1b[B \x1b[B \r",
        filled(&[("a", &["one", "two"])]),
    );
    check(several(), "14more\r", filled(&[("a", &["one", "more"])]));
    check(
        vec![options("a", false, true)],
        "4own\r",
        filled(&[("a", &["own"])]),
    );
    check(
        vec![options("a", false, true)],
        "4own\x1b[27u1",
        filled(&[("a", &["one"])]),
    );
    let free = FormField {
        free_text: true,
        optional: true,
        ..field("a")
    };
    check(vec![free.clone()], "own\r", filled(&[("a", &["own"])]));
    check(vec![free], "x\x1b", Some(Reply::Declined));
    check(Vec::new(), "\r", None);
    check(Vec::new(), "y", filled(&[]));
    check(Vec::new(), "n", Some(Reply::Declined));
    let many = FormField {
        options: (0..12).map(|n| (format!("v{n}"), String::new())).collect(),
        ..field("a")
    };
    check(vec![many.clone()], "1", None);
    check(vec![many], "1\r", filled(&[("a", &["v0"])]));
}

#[test]
fn a_secret_is_never_shown() {
    let secret = FormField {
        secret: true,
        ..field("key")
    };
    let mut open = OpenQuestion::new(Question::usual(1, form(vec![secret])));
    for c in "hunter2".chars() {
        open.take(&press(KeyCode::Char(c)));
        let shown = format!("{:?} {}", open.frame(40), open.line());
        assert!(!shown.contains('h') || !shown.contains("hu"), "{shown}");
    }
    let KeyOutcome::Over(verdict, Reply::Filled(given)) = open.take(&press(KeyCode::Enter)) else {
        panic!("it is answered");
    };
    assert_eq!(verdict, "✓ key?: (hidden)");
    assert_eq!(given, [("key".to_owned(), vec!["hunter2".to_owned()])]);
}

#[test]
fn the_line_that_stays_says_what_was_asked_and_answered() {
    let check = |about: QuestionSubject, keys: &str, expected: &str| {
        let KeyOutcome::Over(verdict, _) = pressed(about, keys) else {
            panic!("{keys:?} answers");
        };
        assert_eq!(verdict, expected);
    };
    check(command(), "y", "✓ allowed once: touch a");
    check(command(), "s", "✓ allowed for this session: touch a");
    check(command(), "n", "✗ not allowed: touch a");
    check(command(), "x", "✗ not allowed, stopped: touch a");
    check(cells(), "wno \x1b[A\r", "✗ not allowed (no): a = 1");
    check(skill(), "y", "✓ always allowed: code of the skill s");
    check(form(vec![field("a")]), "\x1b", "✗ declined: a?");
}

#[test]
fn frames_fit_and_mark_no_first() {
    for width in [2, 7, 20, 80] {
        for about in [
            command(),
            cells(),
            skill(),
            form(vec![options("a", true, true)]),
        ] {
            let open = OpenQuestion::new(Question::usual(1, about));
            let frame = open.frame(width);
            assert!(
                frame.rows.iter().all(|row| row.width() <= width),
                "{frame:?}"
            );
        }
    }
    let rows: Vec<String> = OpenQuestion::new(Question::usual(1, command()))
        .frame(20)
        .rows
        .iter()
        .map(Line::plain)
        .collect();
    assert_eq!(
        rows,
        [
            "Run this command?",
            "  y yes, this once",
            "  s yes, all session",
            "▸ n no",
            "  w no, say why",
            "  x no, and stop"
        ]
    );
}

/// Options with the agent's labels: each has a digit, and the first that changes nothing is marked.
#[test]
fn options_with_words_of_their_own() {
    use crate::agent::{Decision, QuestionOption};
    let option = |name: &str, kind| QuestionOption {
        id: name.to_lowercase(),
        name: name.into(),
        kind,
    };
    let mut question = Question::usual(1, command());
    question.options = vec![
        option("Always\x1b", Decision::AllowAlways),
        option("Allow", Decision::AllowOnce),
        option("Reject", Decision::RejectOnce),
    ];
    question.reasons = false;
    let shown = |question: &Question| -> Vec<String> {
        let frame = OpenQuestion::new(question.clone()).frame(40);
        frame.rows.iter().map(Line::plain).collect()
    };
    assert_eq!(
        shown(&question),
        [
            "Run this command?",
            "  1 Always^[",
            "  2 Allow",
            "▸ 3 Reject"
        ]
    );
    let answer = |question: &Question, key| OpenQuestion::new(question.clone()).take(&press(key));
    let over = |verdict: &str, choice| KeyOutcome::Over(verdict.into(), Reply::Chosen(choice));
    assert_eq!(
        answer(&question, KeyCode::Char('1')),
        over("✓ Always^[: touch a", QuestionChoice::Named(0))
    );
    assert_eq!(
        answer(&question, KeyCode::Enter),
        over("✗ Reject: touch a", QuestionChoice::Named(2))
    );
    // Nothing is marked where every option allows something; Esc still means no.
    question.options.pop();
    assert!(shown(&question).iter().all(|row| !row.starts_with('▸')));
    assert_eq!(answer(&question, KeyCode::Enter), KeyOutcome::Open);
    assert_eq!(
        answer(&question, KeyCode::Esc),
        over("✗ not allowed: touch a", QuestionChoice::No)
    );
}

proptest! {
    #[test]
    fn no_key_but_its_own_says_yes(keys in "[^yYsS]{0,40}") {
        // Without the letters and without moving the mark nothing is allowed.
        let still: String = keys.replace(['\t', '\x1b'], "");
        let answer = reply(command(), &still);
        let allows = [QuestionChoice::Once, QuestionChoice::Session, QuestionChoice::Remember]
            .map(|choice| Some(Reply::Chosen(choice)))
            .contains(&answer);
        prop_assert!(!allows, "{answer:?}");
    }
}

#[test]
fn the_keys_stand_between_what_is_offered_and_what_is_chosen_from() {
    let question = form(vec![options("a", false, true)]);
    let frame = OpenQuestion::new(Question::usual(1, question)).frame(80);
    let rows: Vec<String> = frame.rows.iter().map(Line::plain).collect();
    assert_eq!(
        rows,
        [
            "a number or arrows and Enter, Esc declines",
            "  1. one",
            "  2. two",
            "  3. three",
            "  4. something else…"
        ]
    );
}

/// True when these rows show the lines of `code`, each spelled and whole: `first` before its first row, as many blanks
/// before the others.
fn shows(rows: &[String], code: &str, first: impl Fn(usize) -> String) -> bool {
    let shown = visible_lines(code);
    let lines: Vec<String> = shown.split('\n').map(|line| expand_tabs(line, 0)).collect();
    let stands_at = |start: usize| {
        let mut rows = rows[start..].iter();
        lines.iter().enumerate().all(|(number, line)| {
            let before = first(number);
            let Some(row) = rows.next().and_then(|row| row.strip_prefix(&before)) else {
                return false;
            };
            let mut whole = row.to_owned();
            let margin = " ".repeat(before.chars().count());
            while whole.len() < line.len() {
                let Some(row) = rows.next().and_then(|row| row.strip_prefix(&margin)) else {
                    return false;
                };
                whole.push_str(row);
            }
            whole == *line
        })
    };
    (0..rows.len()).any(stands_at)
}

/// Text made to be read as something else: controls, an order of letters, what is wide or has no width, long and blank
/// lines.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z =()'#.]{1,12}",
        1 => Just("\n".to_owned()),
        1 => Just("\n\n\n\n".to_owned()),
        1 => "[\t ]{1,90}",
        1 => "[\u{0}-\u{1f}\u{7f}-\u{9f}]{1,4}",
        1 => "[\u{202a}-\u{202e}\u{2066}-\u{2069}\u{200b}-\u{200f}\u{e0020}-\u{e007f}\u{feff}\u{2028}]{1,3}",
        1 => "[漢字ひらカ한글]{1,60}",
        1 => "[אבגדابتثกขค]{1,9}",
        1 => "[e\u{301}\u{fe0f}👩\u{200d}👧🇩🇪]{1,5}",
        1 => Just("\r\n".to_owned()),
        1 => Just("x".repeat(300)),
    ];
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(crate::properties::cases(crate::properties::USUAL))]

    /// What is shown is what runs, whatever asks for it.
    #[test]
    fn what_is_shown_is_what_runs(code in hostile(), width in 40usize..160, colour: bool) {
        let appearance = Appearance { colour, ..Appearance::default() };
        let cell = |code: &str| ProposedCell { code: code.into(), title: code.into(), reset: false };
        let digits = code.lines().count().to_string().len();
        let numbered = |line: usize| format!("{:>1$} ", line + 1, digits + 2);
        let plain = |_: usize| "    ".to_owned();
        let signed = |_: usize| "  ".to_owned();
        let edit = |path: &str, change: Change| QuestionSubject::Agent(Subject::Edit {
            changes: vec![FileChange { path: path.into(), change }],
            reason: Some(code.clone()),
        });
        let subject = |about: QuestionSubject| {
            let question = OpenQuestion::new(Question::usual(1, about));
            let rows = question.body(width, &appearance);
            rows.iter().map(Line::plain).collect::<Vec<String>>()
        };
        let check = |kind: &str, about: QuestionSubject, first: &dyn Fn(usize) -> String| {
            let rows = subject(about);
            assert!(shows(&rows, &code, first), "{kind}, {width} columns: {code:?} as\n{}", rows.join("\n"));
            let hidden = rows.iter().find(|row| row.chars().any(char::is_control));
            assert_eq!(hidden, None, "{kind}");
        };
        check("cells", QuestionSubject::Cells(vec![cell("a"), cell(&code)]), &numbered);
        check("a cell", QuestionSubject::Cells(vec![cell(&code)]), &numbered);
        let unprotected = QuestionSubject::Unprotected { code: code.clone(), why: code.clone() };
        check("pyrun", unprotected, &numbered);
        let skill = QuestionSubject::SkillCode {
            skill: code.clone(),
            path: code.clone(),
            blocks: vec!["a".into(), code.clone()],
        };
        check("a skill", skill, &numbered);
        let command = Subject::Command { command: code.clone(), cwd: code.clone(), reason: Some(code.clone()) };
        check("a command", QuestionSubject::Agent(command), &plain);
        let input = Subject::Input {
            program: code.clone(),
            text: code.clone(),
            cwd: code.clone(),
            reason: None,
        };
        check("input", QuestionSubject::Agent(input), &plain);
        let link = Subject::Link { server: "s".into(), message: code.clone(), url: code.clone() };
        check("a link", QuestionSubject::Agent(link), &plain);
        let permissions = Subject::Permissions {
            requested: vec!["network".into(), code.clone()],
            cwd: code.clone(),
            reason: None,
        };
        check("permissions", QuestionSubject::Agent(permissions), &plain);
        // A diff shows a line for each line of the file.
        let line = code.replace(['\n', '\r'], " ");
        for path in ["/a/b.py", "/a/b.txt", "/a/b.ipynb"] {
            let rows = subject(edit(path, Change::Added(line.clone())));
            assert!(shows(&rows, &format!("+{line}"), signed), "{path}: {line:?} as\n{}", rows.join("\n"));
            let rows = subject(edit(path, Change::Deleted(line.clone())));
            assert!(shows(&rows, &format!("-{line}"), signed), "{path}: {line:?} as\n{}", rows.join("\n"));
        }
    }
}
