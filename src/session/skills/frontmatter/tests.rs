//! Detection, keys and refusals of frontmatter.

use super::*;
use proptest::prelude::*;

fn read(yaml: &str) -> Frontmatter {
    parse(yaml).unwrap().unwrap()
}

#[test]
fn fences_divide() {
    let check = |text: &str, key: Option<&str>, body: &str| {
        let split = split(text);
        let found = split.frontmatter.unwrap().and_then(|found| found.text("a"));
        assert_eq!(found.as_deref(), key, "{text:?}");
        assert_eq!(split.body, body, "{text:?}");
    };
    check("---\na: 1\n---\nbody\n", Some("1"), "body\n");
    check("---\r\na: 1\r\n---\r\nbody\r\n", Some("1"), "body\r\n");
    check("--- \na: 1\n---\t\nbody", Some("1"), "body");
    check("---\na: 1\n---", Some("1"), "");
    check("---\na: x --- y\n---\nb", Some("x --- y"), "b");
    check("---\na: 1\n---\nb\n---\nc", Some("1"), "b\n---\nc");
    for whole in [
        "",
        "---",
        "---\na: 1\n",
        "\n---\na: 1\n---\n",
        "---\n---\nbody",
        "---\n- a\n---\nbody",
        "---\njust text\n---\nbody",
        "a\n---\na: 1\n---\n",
        "----\na: 1\n---\n",
    ] {
        check(whole, None, whole);
    }
    assert_eq!(fences("x"), Fences::Absent);
    assert_eq!(fences("---\na: 1\n...\n"), Fences::Open);
}

#[test]
fn keys_speak() {
    let found = read(
        "tools: f  g\nlist: [f, 'g h', 1.10]\ncommas: f, g\ncmds:\n  - ls | wc -l\n  - ' '\none: git status -s\n\
         number: 1.10\nnull1: ~\nnull2: null\nnull3:\nquoted: 'null'\nyes: true\nno: false\non: Yes\n\
         fold: >\n  a\n  b\n",
    );
    let words: Vec<_> = ["tools", "list", "commas", "null1", "missing"]
        .iter()
        .map(|key| found.words(key).join("|"))
        .collect();
    assert_eq!(words, ["f|g", "f|g h|1.10", "f|g", "", ""]);
    assert_eq!(found.lines("cmds"), ["ls | wc -l"]);
    assert_eq!(found.lines("one"), ["git status -s"]);
    let text = |key| found.text(key);
    assert_eq!(text("number").as_deref(), Some("1.10"));
    assert_eq!(text("fold").as_deref(), Some("a b\n"));
    assert_eq!(text("quoted").as_deref(), Some("null"));
    for null in ["null1", "null2", "null3", "list", "missing"] {
        assert_eq!(text(null), None, "{null}");
    }
    let flags = ["yes", "no", "on", "missing", "list"].map(|key| found.flag(key));
    assert_eq!(flags, [true, false, true, false, false]);
}

#[test]
fn aliases_and_what_strict_readers_refuse() {
    let found = read("a: &x\n  - one\nb: *x\n");
    assert_eq!(found.words("b"), ["one"]);
    for (yaml, loose) in [
        ("a: [b]", Some("flow style (`[]` or `{}`) in line 2")),
        ("a: b\nc: !!str d", Some("a tag in line 3")),
        ("a: &x b", Some("an anchor or alias in line 2")),
        ("a: b\nc: |\n  [d]\n", None),
    ] {
        assert_eq!(read(yaml).loose(), loose, "{yaml}");
    }
}

#[test]
fn faults_are_one_line_with_a_place() {
    let check = |yaml: &str, expected: &str| {
        let why = parse(yaml).unwrap_err().to_string();
        assert!(why.contains(expected) && !why.contains('\n'), "{why}");
    };
    check("a: b: c", "line 2");
    check("a: 1\nb: 2\na: 3", "a second key `a` in line 4");
    check("a: 1\n---\nb: 2", "a second YAML document begins in line 3");
    check("? [a]\n: b", "a key is not text");
    check("a: &x [*x]", "an alias refers to a value that contains it");
    check("a: *nobody", "line 2");
}

#[test]
fn budgets_hold() {
    let bomb = (1..12).fold("a0: &a0 lol\n".to_owned(), |bomb, n| {
        let aliases = format!("*a{}, ", n - 1).repeat(10);
        bomb + &format!("a{n}: &a{n} [{aliases}]\n")
    });
    let long = format!("x: &x {}\n", "x".repeat(60_000)) + "y: [*x, *x, *x, *x, *x]";
    // Each alias adds one level to what it names.
    let chain = (1..200).fold("a0: &a0 [x]\n".to_owned(), |chain, n| {
        chain + &format!("a{n}: &a{n} [*a{}]\n", n - 1)
    });
    let blocks = (0..100).fold(String::new(), |text, n| text + &" ".repeat(n) + "a:\n");
    for (yaml, expected) in [
        (bomb, "more than 10000 values"),
        (long, "bytes of text"),
        (chain, "more than 32 levels"),
        ("a: ".to_owned() + &"[".repeat(3_000), "line 2"),
        ("a: ".to_owned() + &"{a: ".repeat(3_000), "line 2"),
        ("- ".repeat(3_000), "line 2"),
        (blocks, "line"),
        ("a: ".to_owned() + &"[".repeat(50_000), "line 2"),
        (format!("a: [{}]", "b,".repeat(20_000)), "more than 10000"),
        (format!("a: {}", "b".repeat(MOST_BYTES)), "are allowed"),
    ] {
        let fault = parse(&yaml).unwrap_err();
        assert!(matches!(fault, Fault::Budget(_)), "{fault}");
        assert!(fault.to_string().contains(expected), "{fault}");
    }
}

proptest! {
    #[test]
    fn any_text_is_divided(text in "(---\r?\n)?([ -~\n\t\u{1b}é漢&*:\\[\\]{}|>-]{0,80}\n)?(---\n)?\\PC{0,40}") {
        let split = split(&text);
        prop_assert!(text.ends_with(split.body));
        if let Err(why) = split.frontmatter {
            prop_assert!(!why.contains('\n'));
            prop_assert_eq!(split.body, &text);
        }
    }

    #[test]
    fn words_come_back(words in proptest::collection::vec("[a-z_]{1,8}", 1..6)) {
        let yaml = format!("---\nallowed-tools: {}\nlist:\n{}---\n", words.join(" "),
            words.iter().map(|word| format!("  - \"{word}\"\n")).collect::<String>());
        let found = split(&yaml).frontmatter.unwrap().unwrap();
        prop_assert_eq!(found.words("list"), words.clone());
        // `null` and `~` alone are YAML's null.
        if words.len() > 1 {
            prop_assert_eq!(found.words("allowed-tools"), words);
        }
    }
}
