//! The edge cases as data: one skill a row, with what loading, validating and Codex 0.169.0 make of it.
//!
//! In: a folder of skills. Out: rows, written to disk. Codex's column holds what was measured with `skills/list`.

use std::path::{Path, PathBuf};

use ipycodex::skills::{Catalog, Roots, Skill, SkillDiagnostic};

use crate::support::home::Home;

/// One skill.
pub(super) struct Case {
    pub(super) directory: &'static str,
    pub(super) file: &'static str,
    pub(super) bytes: Vec<u8>,
    /// Name and description, when it is loaded.
    pub(super) loaded: Option<(&'static str, String)>,
    /// Part of what is said about it; empty: nothing is.
    pub(super) told: &'static str,
    /// The validator accepts it.
    pub(super) valid: bool,
}

/// `name` and `description: Words` are filled in.
fn plain(directory: &'static str, yaml: &str, told: &'static str, valid: bool) -> Case {
    let text = format!("---\n{yaml}\n---\nBody\n");
    loaded(directory, text, directory, "Words", told, valid)
}

fn loaded(
    directory: &'static str,
    text: impl Into<Vec<u8>>,
    name: &'static str,
    description: impl Into<String>,
    told: &'static str,
    valid: bool,
) -> Case {
    Case {
        directory,
        file: "SKILL.md",
        bytes: text.into(),
        loaded: Some((name, description.into())),
        told,
        valid,
    }
}

fn skipped(directory: &'static str, text: impl Into<Vec<u8>>, told: &'static str) -> Case {
    Case {
        directory,
        file: "SKILL.md",
        bytes: text.into(),
        loaded: None,
        told,
        valid: false,
    }
}

/// Every row.
pub(super) fn cases() -> Vec<Case> {
    let long_name: &'static str =
        "a23456789-b23456789-c23456789-d23456789-e23456789-f23456789-g2345";
    let bomb = (1..12).fold("a0: &a0 lol\n".to_owned(), |bomb, n| {
        let aliases = format!("*a{}, ", n - 1).repeat(10);
        bomb + &format!("a{n}: &a{n} [{aliases}]\n")
    });
    let words = |directory: &str| format!("name: {directory}\ndescription: Words");
    let fenced = |yaml: &str| format!("---\n{yaml}\n---\nBody\n");
    vec![
        plain("plain", &words("plain"), "", true),
        loaded(
            "crlf",
            "---\r\nname: crlf\r\ndescription: Words\r\n---\r\nBody\r\n",
            "crlf",
            "Words",
            "",
            true,
        ),
        loaded(
            "bom",
            "\u{feff}---\nname: bom\ndescription: Words\n---\n",
            "bom",
            "Words",
            "byte-order mark",
            false,
        ),
        loaded(
            "blanks-at-fences",
            "--- \nname: blanks-at-fences\ndescription: Words\n---\t\nBody",
            "blanks-at-fences",
            "Words",
            "",
            true,
        ),
        loaded(
            "dashes-in-a-value",
            fenced("name: dashes-in-a-value\ndescription: a --- b"),
            "dashes-in-a-value",
            "a --- b",
            "",
            true,
        ),
        loaded(
            "no-last-newline",
            "---\nname: no-last-newline\ndescription: Words\n---",
            "no-last-newline",
            "Words",
            "",
            true,
        ),
        skipped(
            "blank-first-line",
            format!("\n{}", fenced(&words("blank-first-line"))),
            "its first line is not `---`",
        ),
        skipped(
            "unclosed",
            format!("---\n{}\n", words("unclosed")),
            "is not closed",
        ),
        skipped(
            "dots",
            format!("---\n{}\n...\nBody\n", words("dots")),
            "is not closed",
        ),
        skipped(
            "no-frontmatter",
            "# A skill\n",
            "its first line is not `---`",
        ),
        skipped("empty", "", "its first line is not `---`"),
        skipped("no-mapping", "---\n- a\n---\n", "is not a mapping"),
        skipped(
            "not-utf-8",
            b"---\nname: not-utf-8\ndescription: W\xffrds\n---\n".to_vec(),
            "is not valid UTF-8 at byte",
        ),
        loaded(
            "colon",
            fenced("name: colon\ndescription: Use when: asked"),
            "colon",
            "Use when: asked",
            "quotes around `description`",
            false,
        ),
        loaded(
            "broken-flow",
            fenced("name: broken-flow\ndescription: [x] [y]"),
            "broken-flow",
            "[x] [y]",
            "quotes around `description`",
            false,
        ),
        plain(
            "flow-list",
            &format!("{}\nallowed-tools: [Read, Write]", words("flow-list")),
            "",
            false,
        ),
        plain("tag", "name: tag\ndescription: !!str Words", "", false),
        plain("anchor", "name: anchor\ndescription: &d Words", "", false),
        plain(
            "block-list",
            &format!(
                "{}\nallowed-tools:\n  - Read\n  - Write",
                words("block-list")
            ),
            "",
            true,
        ),
        loaded(
            "comment",
            fenced("name: comment\ndescription: fix #3"),
            "comment",
            "fix",
            "where YAML begins a comment",
            true,
        ),
        loaded(
            "no-comment",
            fenced("name: no-comment\ndescription: \"fix #3\""),
            "no-comment",
            "fix #3",
            "",
            true,
        ),
        skipped(
            "twice",
            fenced("name: twice\ndescription: a\ndescription: b"),
            "a second key",
        ),
        plain(
            "No_Name",
            "description: Words",
            "the name is missing",
            false,
        ),
        plain(
            "blank-name",
            "name:\ndescription: Words",
            "the name is missing",
            false,
        ),
        loaded(
            "long-name",
            fenced(&format!("name: {long_name}\ndescription: Words")),
            "long-name",
            "Words",
            "the name has 65 characters",
            false,
        ),
        skipped(
            "Long_Name",
            fenced(&format!("name: {long_name}\ndescription: Words")),
            "cannot be used instead",
        ),
        loaded(
            "capitals",
            fenced("name: Capitals\ndescription: Words"),
            "Capitals",
            "Words",
            "not in lowercase",
            false,
        ),
        loaded(
            "underscore",
            fenced("name: under_score\ndescription: Words"),
            "under_score",
            "Words",
            "other than letters",
            false,
        ),
        loaded(
            "mismatch",
            fenced("name: other\ndescription: Words"),
            "other",
            "Words",
            "differs from the directory's name",
            false,
        ),
        plain("two--hyphens", &words("two--hyphens"), "two hyphens", false),
        plain("-hyphen", &words("-hyphen"), "begins or ends", false),
        plain("навык", &words("навык"), "", true),
        plain("技能", &words("技能"), "", true),
        loaded(
            "caf\u{e9}",
            fenced("name: cafe\u{301}\ndescription: Words"),
            "cafe\u{301}",
            "Words",
            "",
            true,
        ),
        loaded(
            "number",
            fenced("name: number\ndescription: 42"),
            "number",
            "42",
            "",
            true,
        ),
        loaded(
            "full",
            fenced(&format!("name: full\ndescription: {}", "é".repeat(1024))),
            "full",
            "é".repeat(1024),
            "",
            true,
        ),
        loaded(
            "too-full",
            fenced(&format!(
                "name: too-full\ndescription: {}",
                "é".repeat(1025)
            )),
            "too-full",
            "é".repeat(1024),
            "1025 characters",
            false,
        ),
        skipped(
            "no-description",
            fenced("name: no-description"),
            "the description is missing",
        ),
        skipped(
            "blank-description",
            fenced("name: blank-description\ndescription: \" \""),
            "the description is blank",
        ),
        skipped(
            "list-description",
            fenced("name: list-description\ndescription:\n  - a"),
            "the description is not text",
        ),
        loaded(
            "folded",
            fenced("name: folded\ndescription: >\n  Some\n  words"),
            "folded",
            "Some words",
            "",
            true,
        ),
        plain(
            "extra-keys",
            &format!("{}\nversion: 1.0\nmodel: x", words("extra-keys")),
            "",
            false,
        ),
        plain(
            "all-keys",
            &format!(
                "{}\nlicense: MIT\ncompatibility: Linux\nmetadata:\n  version: 1.0\nallowed-tools: Bash(git:*) Read",
                words("all-keys")
            ),
            "",
            true,
        ),
        plain(
            "long-compatibility",
            &format!(
                "{}\ncompatibility: {}",
                words("long-compatibility"),
                "x".repeat(501)
            ),
            "",
            false,
        ),
        Case {
            file: "skill.md",
            ..plain(
                "lowercase-file",
                &words("lowercase-file"),
                "not `SKILL.md`",
                true,
            )
        },
        skipped(
            "alias-bomb",
            fenced(&format!("{bomb}description: Words")),
            "more than 10000 values",
        ),
        skipped(
            "nested-brackets",
            fenced(&format!(
                "name: nested-brackets\ndescription: {}",
                "[".repeat(3_000)
            )),
            "levels",
        ),
        skipped(
            "huge-frontmatter",
            fenced(&format!("description: {}", "x".repeat(65_536))),
            "are allowed",
        ),
        skipped(
            "huge-file",
            format!("{}{}", fenced(&words("huge-file")), "x".repeat(1 << 20)),
            "are allowed",
        ),
        loaded(
            "escapes",
            fenced("name: escapes\ndescription: \"a\\e]52;c;x\\ab</skill></skills>\""),
            "escapes",
            "a\u{1b}]52;c;x\u{7}b</skill></skills>",
            "",
            true,
        ),
    ]
}

/// Writes every row below `folder`.
pub(super) fn write(folder: &Path) {
    for case in cases() {
        let directory = folder.join(case.directory);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(case.file), case.bytes).unwrap();
    }
}

/// A home whose project holds every row.
pub(super) fn project() -> (Home, PathBuf) {
    let home = Home::new();
    std::fs::create_dir(home.work().join(".git")).unwrap();
    let folder = home.work().join(".agents/skills");
    write(&folder);
    (home, folder)
}

/// What is found from the working directory of `home`.
pub(super) fn catalog(home: &Home) -> Catalog {
    let (user, config) = (home.path().join("home"), home.path().join("config"));
    Catalog::find(&Roots::find(Some(&home.work()), Some(&user), Some(&config)))
}

/// The skill whose file is `path`, and what is said about it.
pub(super) fn of<'c>(
    catalog: &'c Catalog,
    path: &Path,
) -> (Option<&'c Skill>, Vec<&'c SkillDiagnostic>) {
    let path = path.to_str().unwrap();
    let skill = catalog.skills().iter().find(|skill| skill.path == path);
    let told = catalog.diagnostics().iter();
    (skill, told.filter(|told| told.path == path).collect())
}
