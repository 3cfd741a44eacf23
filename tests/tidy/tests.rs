//! The rules, tried on houses that break them.

use super::circles::circles;
use super::rules::{
    MOST_LINES, Map, layering, map_and_folders, read_map, sizes, undeclared, unsafety, widths,
};
use super::source::Source;

/// A house of a few files, each a path and its text.
fn model(files: &[(&str, &str)]) -> (Vec<Source>, Map) {
    let map = "//! | [`text`], [`output`] | 1 | x |\n//! | [`runtime`] | 2, 3 | x |\n//! | [`files`] | 3 | x |\n\
               //! | [`rpc`] | 3 | x |\n//! | [`session`] | 4 | x |\n//! | [`cli`] | 6 | x |";
    let base = [
        "text/mod",
        "text/width",
        "output/mod",
        "runtime/mod",
        "runtime/python/mod",
        "runtime/connect",
        "rpc/mod",
        "rpc/peer",
        "session/mod",
    ];
    let base = base.map(|name| Source::new(&format!("src/{name}.rs"), "//! x"));
    let files = files.iter().map(|(path, text)| Source::new(path, text));
    (base.into_iter().chain(files).collect(), read_map(map))
}

#[test]
fn arrows_are_told_apart() {
    let check = |path: &str, text: &str, expected: &[&str]| {
        let (files, map) = model(&[(path, text)]);
        let found = layering(&files, &map);
        let as_expected = found.len() == expected.len()
            && found
                .iter()
                .zip(expected)
                .all(|(found, part)| found.contains(part));
        assert!(
            as_expected,
            "{path}: {text:?}\nfound {found:#?}\nexpected {expected:?}"
        );
    };
    check("src/files/a.rs", "use crate::text::width::Width;", &[]);
    check(
        "src/files/a.rs",
        "use crate::session::Run;",
        &["a.rs:1: `crate::session::Run` points up, from layer 3 to 4"],
    );
    check("src/files/a.rs", "use crate::rpc::Peer;", &[]);
    check(
        "src/files/a.rs",
        "\nuse crate::rpc::peer::Peer;",
        &["a.rs:2: `crate::rpc::peer::Peer` reaches into a neighbour"],
    );
    check(
        "src/files/a.rs",
        "use crate::rpc::peer; fn f() { peer() }",
        &[],
    );
    check(
        "src/files/a.rs",
        "use crate::rpc::peer; fn f() { peer::new() }",
        &["reaches into a neighbour"],
    );
    check(
        "src/output/a.rs",
        "fn f() { crate::runtime::go() }",
        &["from layer 1 to 2"],
    );
    check(
        "src/runtime/mod.rs",
        "use crate::runtime::python::P;",
        &["from layer 2 to 3"],
    );
    check(
        "src/runtime/connect.rs",
        "use crate::runtime::{python::P, Runtime};",
        &[],
    );
    check(
        "src/session/a.rs",
        "use crate::{text::T,\n runtime::{Runtime, connect::open, python::{P, Q}}};",
        &["python::P` names a concrete runtime", "python::Q"],
    );
    check(
        "src/cli/a.rs",
        "use crate::runtime::python::P; use crate::session::S;",
        &[],
    );
    check("src/main.rs", "use ipycodex::cli::run;", &[]);
    check(
        "src/files/a.rs",
        "use crate::nowhere::X;",
        &["is in no row of the map"],
    );
    check("src/other/mod.rs", "", &["`other` has no row"]);
    check(
        "src/files/a.rs",
        "use super::super::session::Run;",
        &["points up"],
    );
    check(
        "src/files/a.rs",
        "// crate::session::S\n/* crate::session::S /* x */ */ const A: &str = \"crate::session::S\";",
        &[],
    );
    check(
        "src/files/a.rs",
        "const A: &str = r#\"\" crate::session::S\"#; const B: char = '\"'; fn f<'a>() { crate::session::s::<u8>() }",
        &["`crate::session::s` points up"],
    );
    check(
        "src/files/a.rs",
        "#[cfg(test)]\nmod tests { use crate::session::S; fn f() { { } } }\nuse crate::session::T;",
        &["a.rs:3: `crate::session::T`"],
    );
    check("src/files/a/tests.rs", "use crate::session::S;", &[]);
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
    let (files, _) = model(&[("src/files/a.rs", &long)]);
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

    let (files, map) = model(&[
        ("src/files/mod.rs", "pub(crate) mod a; // mod b;"),
        ("src/files/a.rs", ""),
        ("src/files/b.rs", "unsafe {}"),
    ]);
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
    assert_eq!(unsafety(&files).len(), 1);
    assert_eq!(
        map_and_folders(&files, &map),
        ["src/lib.rs:1: the map names `cli`, but src has no such folder: take the row out"]
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
