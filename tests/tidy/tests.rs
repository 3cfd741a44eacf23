//! The rules, tried on houses that break them.

use super::circles::circles;
use super::rules::{
    MOST_LINES, crates_and_map, front_ends_and_start, map_and_folders, read_map, sizes, undeclared,
    widths,
};
use super::source::Source;

#[test]
fn the_map_is_held_against_the_manifests() {
    let map = "//! # Crates\n//!\n//! | crate | needs | owns |\n//! |---|---|---|\n//! | [`text`] | | x |\n\
               //! | [`agent`] | text, notebook | x |\n//! | `gone` | | x |\n//! # Folders\n//! | [`no`] | x | x |";
    let map = read_map(map, "# Crates");
    let manifest = |needs: &[&str]| {
        let needs: String = needs
            .iter()
            .map(|name| format!("ipycodex-{name}.workspace = true\n"))
            .collect();
        format!(
            "[dependencies]\nserde.workspace = true\n{needs}[dev-dependencies]\nipycodex-x.workspace = true\n"
        )
    };
    let wrong = crates_and_map(
        &[
            ("text".to_owned(), manifest(&[])),
            ("agent".to_owned(), manifest(&["text", "process"])),
            ("jupyter".to_owned(), manifest(&[])),
        ],
        &map,
    );
    let expected = [
        "`agent` needs [\"process\", \"text\"], and the table of crates says [\"notebook\", \"text\"]",
        "no row for `jupyter`",
        "no crate is called `gone`",
    ];
    assert_eq!(wrong.len(), expected.len(), "{wrong:#?}");
    for (wrong, part) in wrong.iter().zip(expected) {
        assert!(wrong.contains(part), "{wrong}: {part}");
    }
}

#[test]
fn a_front_end_that_names_the_start_up_is_seen() {
    let files = [
        ("src/text/lib.rs", "use crate::cli;"),
        ("src/batch/mod.rs", "// crate::cli\nuse crate::cli::run;"),
        ("src/cli/mod.rs", "use crate::assemble::assemble;"),
        ("src/kernel/tests.rs", "use crate::cli::run;"),
    ];
    let files = files.map(|(path, text)| Source::new(path, text));
    let wrong = front_ends_and_start(&files);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].starts_with("src/batch/mod.rs:2: "), "{wrong:?}");
}

#[test]
fn wide_lines_are_seen() {
    let text = |columns: usize| format!("//! x\n// {}é\n", "a".repeat(columns - 4));
    let files = [120, 121].map(|columns| Source::new("src/a.rs", &text(columns)));
    let wrong = widths(&files);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(
        wrong[0].starts_with("src/a.rs:2: 121 columns, 120 are allowed"),
        "{wrong:?}"
    );
}

#[test]
fn sizes_headers_and_declarations_are_seen() {
    let long = format!("//! x\n{}", "let a = 1;\n".repeat(MOST_LINES + 1));
    let files = [Source::new("src/files/a.rs", &long)];
    assert_eq!(
        sizes(&files),
        ["src/files/a.rs:1: 601 lines of code, 600 are allowed: split it by what it owns"]
    );
    let tested = format!(
        "{}#[cfg(test)]\nmod tests {{\n{}}}\n",
        "// x\n\n".repeat(999),
        "let a = \"}\";\n".repeat(999)
    );
    assert_eq!(Source::new("src/a.rs", &tested).lines_of_code(), 0);
    let python =
        "#!/usr/bin/env python3\n\"\"\"About.\n\nmore\n\"\"\"\n# comment\nx = 1\n\ny = 2\n";
    assert_eq!(Source::new("assets/python/a.py", python).lines_of_code(), 2);

    let bare = [
        ("a.py", "x = 1"),
        ("b.rs", "use x;\n//! late"),
        ("c.py", python),
        ("d.rs", "//! x"),
    ];
    let bare = bare.map(|(path, text)| Source::new(path, text));
    let found: Vec<bool> = bare.iter().map(Source::has_header).collect();
    assert_eq!(found, [false, false, true, true]);

    let files = [
        ("src/text/lib.rs", "mod wide;"),
        ("src/text/wide.rs", ""),
        ("src/files/mod.rs", "pub(crate) mod a; // mod b;"),
        ("src/files/a.rs", ""),
        ("src/files/b.rs", ""),
    ];
    let files = files.map(|(path, text)| Source::new(path, text));
    let lost: Vec<String> = undeclared(&files)
        .into_iter()
        .filter(|what| what.contains("src/files/"))
        .collect();
    assert_eq!(lost.len(), 2, "{lost:#?}");
    assert!(
        lost[0].starts_with("src/files/mod.rs:1: not compiled")
            && lost[1].contains("`mod b;` in src/files/mod.rs"),
        "{lost:#?}"
    );
    let rows = "//! # Folders\n//! | folder | crate | owns |\n//! | [`wide`] | text | x |\n//! | [`cli`] | | x |";
    let wrong = map_and_folders(&files, &read_map(rows, "# Folders"));
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(
        wrong[0].contains("the map names `cli`") && wrong[1].contains("no row for `files`"),
        "{wrong:?}"
    );
}

#[test]
fn circles_are_found_and_told_from_trees() {
    let check = |files: &[(&str, &str)], expected: &[&str]| {
        let files: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source::new(path, text))
            .collect();
        let found = circles(&files);
        let told = found
            .iter()
            .zip(expected)
            .all(|(found, part)| found.contains(part));
        assert!(
            found.len() == expected.len() && told,
            "found {found:#?}\nexpected {expected:?}"
        );
    };
    let door = (
        "src/a/mod.rs",
        "mod b;\nmod c;\npub use b::B;\npub(crate) use c::{C, f as g};",
    );
    // What goes through the door leads to the file that defines it.
    check(
        &[
            door,
            ("src/a/b.rs", "pub struct B;"),
            ("src/a/c.rs", "use super::B;\npub struct C(B);"),
        ],
        &[],
    );
    check(
        &[
            door,
            ("src/a/b.rs", "use super::C;\npub struct B(C);"),
            ("src/a/c.rs", "\nuse super::b::B; pub struct C;"),
        ],
        &[
            "src/a/b.rs -> src/a/c.rs (`super::C`, line 1)\n    src/a/c.rs -> src/a/b.rs (`super::b::B`, line 2)",
        ],
    );
    // In a crate of its own, `crate` is that crate.
    let lib = ("src/a/lib.rs", "mod b;\nmod c;\nuse other::text;");
    let needs = |what| {
        [
            lib,
            ("src/a/b.rs", what),
            ("src/a/c.rs", "pub struct C; fn f() { super::b::g() }"),
        ]
    };
    check(
        &needs("use crate::c::C; fn g() {}"),
        &["src/a/b.rs -> src/a/c.rs (`crate::c::C`, line 1)"],
    );
    check(&needs("use crate::text::C; fn g() {}"), &[]);
    // A parent that uses what it re-exports needs its child, and the child its parent.
    let user = ("src/a/mod.rs", "mod b;\npub use b::B;\npub struct A(B);");
    check(&[user, ("src/a/b.rs", "pub struct B;")], &[]);
    check(
        &[user, ("src/a/b.rs", "pub struct B; fn f(_: super::A) {}")],
        &["src/a/b.rs -> src/a/mod.rs (`super::A`"],
    );
    check(
        &[
            user,
            ("src/a/b.rs", "pub struct B;\n#[cfg(test)]\nuse super::A;"),
        ],
        &[],
    );
    check(
        &[
            user,
            ("src/a/b.rs", "pub(in crate::a) struct B; // super::A"),
        ],
        &[],
    );
    // Importing a module is nothing, taking from it is.
    let taker = ("src/b.rs", "use crate::c;\nfn f() { c::g::<u8>() }");
    check(
        &[
            ("src/b.rs", "use crate::c;"),
            ("src/c.rs", "fn g() { crate::b::f() }"),
        ],
        &[],
    );
    check(
        &[taker, ("src/c.rs", "fn g() { crate::b::f() }")],
        &["src/b.rs -> src/c.rs (`c::g`, line 2)"],
    );
    // One object over two files.
    let object = ("src/b.rs", "pub struct Driver;\nimpl Driver {}");
    check(
        &[
            object,
            ("src/c.rs", "use crate::b::Driver;\nimpl<'a> Driver { }"),
        ],
        &["`impl Driver` there, line 2"],
    );
    check(
        &[
            object,
            (
                "src/c.rs",
                "use crate::b::Driver;\nimpl Clone for Driver {}",
            ),
        ],
        &[],
    );
    let three = [
        ("src/a.rs", "use crate::{b::B, c};"),
        ("src/b.rs", "use crate::c::{self, d::D as E}; pub struct B;"),
        ("src/c/mod.rs", "pub mod d;"),
        ("src/c/d.rs", "pub struct D; fn f() { crate::a::h() }"),
    ];
    check(&three, &["3 files need each other"]);
    let python = [
        ("assets/python/p/a.py", "from . import b, os\n"),
        ("assets/python/p/b.py", "def f():\n    from .c import d\n"),
        (
            "assets/python/p/c.py",
            "\"\"\"from . import a\"\"\"\nfrom .a import e\n",
        ),
    ];
    check(
        &python,
        &["assets/python/p/a.py -> assets/python/p/b.py (`b`, line 1)"],
    );
    check(&python[..2], &[]);
}
