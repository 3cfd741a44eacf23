//! The rules: from files to complaints.
//!
//! The map in the header of `src/lib.rs` is the one table of layers: it is read, not repeated. A folder has the layer
//! of its row; with two numbers the first is its `mod.rs`, the second all else. Code under `#[cfg(test)]` may import
//! what it likes and does not count for the size of a file.

use std::collections::BTreeMap;

use super::source::{Source, is_test_file};

/// Lines of code a file may have; blank lines, comments and test modules do not count.
pub(super) const MOST_LINES: usize = 600;

/// Columns a line may have, texts and comments included.
pub(super) const MOST_COLUMNS: usize = 120;

/// Layer of a folder's `mod.rs`, and of the rest of it.
pub(super) type Map = BTreeMap<String, (u8, u8)>;

/// Rows of the table in the header: ``| [`name`], [`name`] | 3 | ... |``; a name is no link where it is for tests only.
pub(super) fn read_map(lib: &str) -> Map {
    let mut map = Map::new();
    for line in lib.lines().filter_map(|line| line.strip_prefix("//! | ")) {
        let mut cells = line.split('|').map(str::trim);
        let (Some(names), Some(layers)) = (cells.next(), cells.next()) else {
            continue;
        };
        let numbers: Vec<u8> = layers
            .split(',')
            .filter_map(|number| number.trim().parse().ok())
            .collect();
        let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else {
            continue;
        };
        for name in names
            .split(',')
            .map(|name| name.trim().trim_matches(['[', ']', '`']))
        {
            map.insert(name.to_owned(), (first, last));
        }
    }
    map
}

/// Which folder of `src` (or single file) a path belongs to; `None` for `lib.rs`, the map itself.
fn folder_of(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?;
    let folder = inside.split('/').next()?.trim_end_matches(".rs");
    (folder != "lib").then_some(folder)
}

fn layer_of(path: &str, map: &Map) -> Option<u8> {
    let folder = folder_of(path)?;
    if folder == "main" {
        return Some(6);
    }
    let (contract, rest) = *map.get(folder)?;
    Some(if path == format!("src/{folder}/mod.rs") {
        contract
    } else {
        rest
    })
}

fn is_submodule(files: &[Source], folder: &str, name: &str) -> bool {
    let (file, module) = (
        format!("src/{folder}/{name}.rs"),
        format!("src/{folder}/{name}/mod.rs"),
    );
    files
        .iter()
        .any(|source| source.path == file || source.path == module)
}

/// Arrows that point up, past a neighbour's door, or at a concrete agent or runtime.
pub(super) fn layering(files: &[Source], map: &Map) -> Vec<String> {
    let mut wrong = Vec::new();
    for source in files.iter().filter(|source| !is_test_file(&source.path)) {
        let Some(own) = folder_of(&source.path) else {
            continue;
        };
        let Some(layer) = layer_of(&source.path, map) else {
            wrong.push(format!(
                "{}:1: `{own}` has no row in the map of src/lib.rs: add it with its layer",
                source.path
            ));
            continue;
        };
        for (line, path) in source.crate_paths() {
            let Some(target) = path.first() else {
                continue;
            };
            // A name at the end may be a function called like its file: a module is what more is taken from.
            let reaches = path.len() > 2 || path.get(1).is_some_and(|name| source.takes_from(name));
            let module = path
                .get(1)
                .filter(|name| reaches && is_submodule(files, target, name));
            let complaint = complain(map, (own, layer), target, module);
            wrong.extend(complaint.map(|what| {
                format!(
                    "{}:{line}: `crate::{}` {what}",
                    source.path,
                    path.join("::")
                )
            }));
        }
    }
    wrong
}

/// What is wrong with naming `target` (below it `submodule`) from the folder `own`, if anything.
fn complain(
    map: &Map,
    (own, layer): (&str, u8),
    target: &str,
    submodule: Option<&String>,
) -> Option<String> {
    let Some(&(contract, rest)) = map.get(target) else {
        return Some(
            "is in no row of the map of src/lib.rs: add its folder, or name the module it lies in"
                .into(),
        );
    };
    let target_layer = if submodule.is_some() { rest } else { contract };
    if target_layer > layer {
        return Some(format!(
            "points up, from layer {layer} to {target_layer}: move the type down, or hand the value in as an argument"
        ));
    }
    if target == own {
        return None;
    }
    let submodule = submodule?;
    if target_layer == layer {
        return Some(format!(
            "reaches into a neighbour of the same layer: export the name from src/{target}/mod.rs and import it from \
             there"
        ));
    }
    let concrete = contract != rest && submodule != "connect" && layer < 6;
    concrete.then(|| {
        format!(
            "names a concrete {target}: only `assemble` and `cli` may, others speak the contract"
        )
    })
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
    let roots = [
        "src/lib.rs",
        "src/main.rs",
        "tests/main.rs",
        "benches/main.rs",
    ];
    let mut wrong = Vec::new();
    for source in files
        .iter()
        .filter(|source| !source.is_python() && !roots.contains(&source.path.as_str()))
    {
        let module = source.path.trim_end_matches(".rs").trim_end_matches("/mod");
        let (parent, name) = module.rsplit_once('/').unwrap_or(("", module));
        let parents = match parent {
            "src" | "tests" | "benches" => roots
                .iter()
                .filter(|root| root.starts_with(parent))
                .map(|root| (*root).to_owned())
                .collect(),
            _ => vec![format!("{parent}/mod.rs"), format!("{parent}.rs")],
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

pub(super) fn unsafety(files: &[Source]) -> Vec<String> {
    let elsewhere = files
        .iter()
        .filter(|source| !source.is_python() && !source.path.starts_with("src/process/"));
    elsewhere
        .flat_map(|source| {
            source
                .lines_with_word("unsafe")
                .into_iter()
                .map(move |line| (source, line))
        })
        .map(|(source, line)| {
            format!(
                "{}:{line}: `unsafe` lives in src/process alone: ask for what you need there",
                source.path
            )
        })
        .collect()
}

pub(super) fn map_and_folders(files: &[Source], map: &Map) -> Vec<String> {
    let mut wrong: Vec<String> = Vec::new();
    for source in files {
        if let Some(folder) =
            folder_of(&source.path).filter(|folder| *folder != "main" && !map.contains_key(*folder))
        {
            wrong.push(format!(
                "src/lib.rs:1: the map has no row for `{folder}`: add its layer and what it owns"
            ));
        }
    }
    for name in map.keys().filter(|name| {
        !files
            .iter()
            .any(|source| folder_of(&source.path) == Some(name.as_str()))
    }) {
        wrong.push(format!(
            "src/lib.rs:1: the map names `{name}`, but src has no such folder: take the row out"
        ));
    }
    wrong.dedup();
    wrong
}
