//! The licences of the libraries in the program: `assets/licences.txt` names each library with its licence, and holds
//! the texts. `IPYCODEX_WRITE_LICENCES=1 cargo test licences` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A library of others that is in the program.
struct Library {
    name: String,
    version: String,
    licence: String,
    folder: PathBuf,
}

fn cargo(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let ran = command.args(arguments).args(["--offline", "--locked"]);
    let ran = ran.output().unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8(ran.stdout).unwrap()
}

fn libraries() -> Vec<Library> {
    let tree = [
        "tree", "-e", "normal", "--target", TARGET, "--prefix", "none",
    ];
    let tree = cargo(&[&tree[..], &["--format", "{p}"]].concat());
    let shipped: BTreeSet<(String, String)> = tree
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(" v")?;
            let version = rest.split_whitespace().next()?;
            Some((name.to_owned(), version.to_owned()))
        })
        .collect();
    let metadata = cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--filter-platform",
        TARGET,
    ]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: Vec<Library> = packages
        .filter(|package| !package["source"].is_null())
        .map(|package| Library {
            name: text(&package["name"]),
            version: text(&package["version"]),
            licence: text(&package["license"]).replace('/', " OR "),
            folder: Path::new(&text(&package["manifest_path"]))
                .parent()
                .unwrap()
                .to_owned(),
        })
        .filter(|library| shipped.contains(&(library.name.clone(), library.version.clone())))
        .collect();
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    found
}

/// The texts a library comes with: that of MIT where it may be chosen, else all.
fn texts(library: &Library) -> Vec<String> {
    let files = std::fs::read_dir(&library.folder).unwrap();
    let named = |name: &str| {
        let name = name.to_ascii_lowercase();
        let words = ["licen", "copying", "notice", "unlicense"];
        words.iter().any(|word| name.starts_with(word))
    };
    let mut names: Vec<PathBuf> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.is_file()
                && path
                    .file_name()
                    .is_some_and(|it| named(&it.to_string_lossy()))
        })
        .collect();
    names.sort();
    let is_mit = |path: &PathBuf| path.to_string_lossy().to_ascii_uppercase().ends_with("MIT");
    if library.licence.contains("MIT")
        && !library.licence.contains("AND")
        && names.iter().any(is_mit)
    {
        names.retain(is_mit);
    }
    let read = |path: &PathBuf| {
        String::from_utf8_lossy(&std::fs::read(path).unwrap())
            .trim()
            .replace("\r\n", "\n")
    };
    names.iter().map(read).collect()
}

fn page(libraries: &[Library]) -> String {
    let mut page = String::from(
        "ipycodex is licensed under MIT or Apache-2.0, at your choice. These libraries of others are in it:\n\n",
    );
    for Library {
        name,
        version,
        licence,
        ..
    } in libraries
    {
        writeln!(page, "{name} {version}: {licence}").unwrap();
    }
    let mut whose: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for library in libraries {
        for text in texts(library) {
            whose.entry(text).or_default().insert(&library.name);
        }
    }
    for (text, names) in whose {
        let names: Vec<&str> = names.into_iter().collect();
        writeln!(page, "\n{}\n{}\n\n{text}", "=".repeat(80), names.join(", ")).unwrap();
    }
    page
}

#[test]
fn every_library_is_named_with_a_licence_that_lets_us_ship_it() {
    let libraries = libraries();
    assert!(libraries.len() > 100, "{}", libraries.len());
    let fine = [
        "MIT",
        "MIT-0",
        "Apache-2.0",
        "BSD-3-Clause",
        "BSD-2-Clause",
        "ISC",
        "Zlib",
        "MPL-2.0",
        "0BSD",
    ];
    for library in &libraries {
        let first = library.licence.split(" OR ");
        let may = first
            .flat_map(|it| it.split(" AND "))
            .any(|it| fine.contains(&it.trim().trim_matches(['(', ')'])));
        assert!(may, "{}: {}", library.name, library.licence);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/licences.txt");
    let page = page(&libraries);
    if std::env::var_os("IPYCODEX_WRITE_LICENCES").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let same = kept == page;
    assert!(
        same,
        "{} is old: IPYCODEX_WRITE_LICENCES=1 cargo test licences",
        file.display()
    );
}
