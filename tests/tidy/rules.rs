//! The rules: from files to complaints.
//!
//! The compiler keeps the crates apart; that their arrows are those of the map in the header of `src/lib.rs` is held
//! here. The map is read, not repeated. Code under `#[cfg(test)]` does not count for the size of a file.

use super::source::{Source, is_test_file};

/// Lines of code a file may have; blank lines, comments and test modules do not count.
pub(super) const MOST_LINES: usize = 600;

/// Columns a line may have, texts and comments included.
pub(super) const MOST_COLUMNS: usize = 120;

/// A row of the map: the crate of a folder, or what a crate needs.
pub(super) struct Row {
    pub(super) name: String,
    /// The second column, without its brackets and commas.
    pub(super) words: Vec<String>,
}

/// Rows of the two tables in the header of `src/lib.rs`: ``| [`name`] | words | ... |``, below a heading each.
pub(super) fn read_map(lib: &str, heading: &str) -> Vec<Row> {
    let lines = lib.lines().filter_map(|line| line.strip_prefix("//! "));
    let lines = lines.skip_while(|line| *line != heading).skip(1);
    let lines = lines.take_while(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| line.strip_prefix("| ")).skip(1);
    let bare = |word: &str| word.trim().trim_matches(['[', ']', '`']).to_owned();
    rows.filter_map(|row| {
        let mut cells = row.split('|');
        let (names, words) = (cells.next()?, cells.next()?);
        let words = words.split(',').map(bare).filter(|word| !word.is_empty());
        let words: Vec<String> = words.collect();
        Some(
            names
                .split(',')
                .map(move |name| Row {
                    name: bare(name),
                    words: words.clone(),
                })
                .collect::<Vec<_>>(),
        )
    })
    .flatten()
    .collect()
}

/// Folders of `src` that are crates of their own.
pub(super) fn crates(files: &[Source]) -> Vec<&str> {
    let folders = files
        .iter()
        .filter_map(|source| source.path.strip_prefix("src/")?.strip_suffix("/lib.rs"));
    folders.filter(|folder| !folder.contains('/')).collect()
}

/// The arrows between crates: those of the manifests, which the compiler holds, are those of the map.
pub(super) fn crates_and_map(manifests: &[(String, String)], map: &[Row]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, manifest) in manifests {
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let dependencies = dependencies
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with('['));
        let mut needs: Vec<&str> = dependencies
            .filter_map(|line| {
                line.strip_prefix("ipycodex-")?
                    .strip_suffix(".workspace = true")
            })
            .collect();
        needs.sort_unstable();
        let Some(row) = map.iter().find(|row| row.name == *name) else {
            wrong.push(format!(
                "src/lib.rs:1: the table of crates has no row for `{name}`"
            ));
            continue;
        };
        let mut told = row.words.clone();
        told.sort();
        if told != needs {
            wrong.push(format!(
                "src/lib.rs:1: `{name}` needs {needs:?}, and the table of crates says {told:?}"
            ));
        }
    }
    let strange = map
        .iter()
        .filter(|row| !manifests.iter().any(|(name, _)| *name == row.name));
    wrong.extend(strange.map(|row| {
        format!(
            "src/lib.rs:1: no crate is called `{}`: take its row out",
            row.name
        )
    }));
    wrong
}

/// Front-ends that name the start-up, which wires them: the one arrow inside the root crate that points up.
pub(super) fn front_ends_and_start(files: &[Source]) -> Vec<String> {
    let crates = crates(files);
    let starts = ["lib.rs", "main.rs", "assemble", "assemble.rs", "cli"];
    let mut wrong = Vec::new();
    for source in files.iter().filter(|source| !is_test_file(&source.path)) {
        let folder = source
            .path
            .strip_prefix("src/")
            .and_then(|inside| inside.split('/').next());
        let front_end =
            folder.is_some_and(|folder| !crates.contains(&folder) && !starts.contains(&folder));
        for line in source
            .lines_with_words(&["crate", "::", "cli"])
            .into_iter()
            .chain(source.lines_with_words(&["crate", "::", "assemble"]))
        {
            if front_end {
                wrong.push(format!(
                    "{}:{line}: a front-end names the start-up: hand the value in as an argument",
                    source.path
                ));
            }
        }
    }
    wrong
}

pub(super) fn sizes(files: &[Source]) -> Vec<String> {
    let counted = files.iter().filter(|source| !is_test_file(&source.path));
    let long = counted.filter_map(|source| {
        Some((source, source.lines_of_code())).filter(|(_, lines)| *lines > MOST_LINES)
    });
    long.map(|(source, lines)| {
        format!(
            "{}:1: {lines} lines of code, {MOST_LINES} are allowed: split it by what it owns",
            source.path
        )
    })
    .collect()
}

pub(super) fn widths(files: &[Source]) -> Vec<String> {
    let lines = files.iter().flat_map(|source| {
        (1..)
            .zip(source.text.lines())
            .map(move |line| (source, line))
    });
    lines
        .map(|(source, (number, line))| (source, number, line.chars().count()))
        .filter(|(_, _, columns)| *columns > MOST_COLUMNS)
        .map(|(source, number, columns)| {
            format!(
                "{}:{number}: {columns} columns, {MOST_COLUMNS} are allowed: break the line, a long text with `\\`",
                source.path
            )
        })
        .collect()
}

pub(super) fn headers(files: &[Source]) -> Vec<String> {
    let bare = files.iter().filter(|source| !source.has_header());
    bare.map(|source| {
        let form = if source.is_python() {
            "a docstring"
        } else {
            "`//!` lines"
        };
        format!(
            "{}:1: no header: say in {form} what it owns, what goes in and out, what is absent",
            source.path
        )
    })
    .collect()
}

/// Rust files that no `mod` line names are not compiled, so nothing in them is checked.
pub(super) fn undeclared(files: &[Source]) -> Vec<String> {
    let mut roots: Vec<String> = [
        "src/lib.rs",
        "src/main.rs",
        "tests/main.rs",
        "benches/main.rs",
    ]
    .map(str::to_owned)
    .into();
    roots.extend(
        crates(files)
            .iter()
            .map(|folder| format!("src/{folder}/lib.rs")),
    );
    let examples = files
        .iter()
        .filter(|source| source.path.contains("/examples/"));
    roots.extend(examples.map(|source| source.path.clone()));
    let mut wrong = Vec::new();
    for source in files
        .iter()
        .filter(|source| !source.is_python() && !roots.contains(&source.path))
        // Cargo's.
        .filter(|source| source.path != "src/build.rs")
    {
        let module = source.path.trim_end_matches(".rs").trim_end_matches("/mod");
        let (parent, name) = module.rsplit_once('/').unwrap_or(("", module));
        let parents: Vec<String> = match parent {
            "src" | "tests" | "benches" => roots
                .iter()
                .filter(|root| root.matches('/').count() == 1 && root.starts_with(parent))
                .cloned()
                .collect(),
            _ => ["/mod.rs", "/lib.rs", ".rs"]
                .map(|end| format!("{parent}{end}"))
                .into(),
        };
        let declares = |other: &Source| parents.contains(&other.path) && other.declares(name);
        if !files.iter().any(declares) {
            wrong.push(format!(
                "{}:1: not compiled: declare it with `mod {name};` in {}",
                source.path,
                parents.join(" or ")
            ));
        }
    }
    wrong
}

pub(super) fn map_and_folders(files: &[Source], map: &[Row]) -> Vec<String> {
    let crates = crates(files);
    let has = |path: String| {
        let below = |end: &str| {
            files
                .iter()
                .any(|source| source.path == format!("{path}{end}"))
        };
        below(".rs") || below("/mod.rs")
    };
    let missing = map.iter().filter(|row| match row.words.as_slice() {
        [holder] if crates.contains(&holder.as_str()) => !has(format!("src/{holder}/{}", row.name)),
        _ => !has(format!("src/{}", row.name)),
    });
    let mut wrong: Vec<String> = missing
        .map(|row| {
            format!(
                "src/lib.rs:1: the map names `{}`, but src has no such folder: take the row out",
                row.name
            )
        })
        .collect();
    for source in files {
        let folder = source
            .path
            .strip_prefix("src/")
            .and_then(|inside| inside.split('/').next());
        let folder = folder.map(|folder| folder.trim_end_matches(".rs"));
        let known = |folder: &str| {
            ["build", "lib", "main"].contains(&folder)
                || crates.contains(&folder)
                || map.iter().any(|row| row.name == folder)
        };
        if let Some(folder) = folder.filter(|folder| !known(folder)) {
            wrong.push(format!(
                "src/lib.rs:1: the map has no row for `{folder}`: add it with what it owns"
            ));
        }
    }
    wrong.dedup();
    wrong
}
