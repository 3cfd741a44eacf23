//! Tests that hold the house: circles, sizes, widths, headers, the map.
//!
//! In: the files of this repository as text. Out: a list of what is out of place, each with file, line and what to do.
//!
//! Absent on purpose: a Rust parser. Comments and literals are blanked out, then paths and braces are what they seem.

mod circles;
mod module;
mod rules;
mod source;
mod tests;

use std::path::Path;
use std::process::Command;

use rules::Row;
use source::Source;

/// What may stand at the top of the repository, beside dot files.
const TOP_LEVEL: [&str; 12] = [
    "Cargo.toml",
    "Cargo.lock",
    "pyproject.toml",
    "src",
    "skills",
    "tests",
    "assets",
    "benches",
    "CHANGELOG.md",
    "README.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
];

#[track_caller]
fn none(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} out of place:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn house() -> Vec<Source> {
    source::read_all(root(), &["src", "tests", "benches", "assets/python"])
}

fn map(heading: &str) -> Vec<Row> {
    let lib = std::fs::read_to_string(root().join("src/lib.rs"));
    let rows = rules::read_map(&lib.expect("the crate has a lib.rs"), heading);
    assert!(rows.len() > 5, "{heading}: the table could not be read");
    rows
}

#[test]
fn crates_are_as_the_map_says() {
    let manifest =
        |folder: &&str| std::fs::read_to_string(root().join("src").join(folder).join("Cargo.toml"));
    let files = house();
    let manifests = rules::crates(&files).into_iter();
    let manifests: Vec<_> = manifests
        .map(|folder| {
            (
                folder.to_owned(),
                manifest(&folder).expect("a crate has a manifest"),
            )
        })
        .collect();
    none(&rules::crates_and_map(&manifests, &map("# Crates")));
}

#[test]
fn front_ends_do_not_name_the_start_up() {
    none(&rules::front_ends_and_start(&house()));
}

#[test]
fn files_stand_in_no_circle() {
    none(&circles::circles(&house()));
}

#[test]
fn the_map_names_every_folder() {
    none(&rules::map_and_folders(&house(), &map("# Folders")));
}

#[test]
fn files_are_short() {
    none(&rules::sizes(&house()));
}

#[test]
fn lines_are_narrow() {
    none(&rules::widths(&house()));
}

#[test]
fn files_have_headers() {
    none(&rules::headers(&house()));
}

#[test]
fn files_are_declared() {
    none(&rules::undeclared(&house()));
}

#[test]
fn the_top_level_is_fixed() {
    let listing = Command::new("git")
        .arg("-C")
        .arg(root())
        .args(["ls-files", "-z"])
        .output();
    let Some(listing) = listing
        .ok()
        .filter(|output| output.status.success() && !output.stdout.is_empty())
    else {
        // A published package comes without its repository, and Cargo chose its files.
        return;
    };
    let listing = String::from_utf8(listing.stdout).expect("our names are UTF-8");
    let mut names: Vec<&str> = listing
        .split('\0')
        .filter_map(|path| path.split('/').next())
        .collect();
    names.dedup();
    let strange = names
        .iter()
        .filter(|name| !name.is_empty() && !name.starts_with('.') && !TOP_LEVEL.contains(name));
    let wrong: Vec<String> = strange
        .map(|name| {
            format!("{name}: not a name for the top level: put it below one of {TOP_LEVEL:?}")
        })
        .collect();
    none(&wrong);
}

#[test]
fn the_changelog_knows_this_version() {
    let text = std::fs::read_to_string(root().join("CHANGELOG.md")).unwrap_or_default();
    let version = env!("CARGO_PKG_VERSION");
    let headings = text.lines().filter(|line| line.starts_with("## "));
    let known = headings
        .into_iter()
        .any(|line| line.contains(version) || line.contains("Unreleased"));
    assert!(
        known,
        "CHANGELOG.md:1: no heading `## Unreleased` or `## {version}`: say what a user will notice"
    );
}
