//! Circles of files: which file needs which, and where that leads back.
//!
//! An arrow goes from a file to the file that *defines* what it names. Code under `#[cfg(test)]`, comments and literals
//! name nothing. In Rust:
//!
//! - A path counts in an import and in passing, when it begins with `crate`, `self`, `super`, a module that the file
//!   declares, or one that it imports. A name that is only passed on (`pub use`, or an import of the file it is taken
//!   from) leads on to where it is defined: a `mod.rs` that declares and re-exports its children has no arrow to them,
//!   and none comes to it from who takes them there.
//! - What a file re-exports and uses itself, it needs: an arrow.
//! - Importing a module is none; taking something from it is.
//! - An `impl Type` outside the file of `Type` is an arrow from that file to this one: the methods belong to the type,
//!   and whoever calls them names no path. That is how one object is spread over files.
//!
//! In Python: `from . import part` and `from .part import name`, at the top or inside a function, since a part that is
//! loaded late is needed all the same. What is loaded by a name in a table (`importlib`) is none.
//!
//! Arrows between crates are no matter here: Cargo refuses circles of them.
//!
//! Absent on purpose: methods called through a trait, what a macro makes, `super` inside an inline module.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::module::{Import, Module};
use super::rules::crates;
use super::source::{Source, is_test_file};

/// From a file to those it needs, each with the line and the path that says so.
type Arrows = BTreeMap<String, BTreeMap<String, (usize, String)>>;

/// Every circle, as its shortest way round.
pub(super) fn circles(files: &[Source]) -> Vec<String> {
    let counted = |source: &&Source| !is_test_file(&source.path);
    let mut arrows = rust_arrows(
        &files.iter().filter(counted).collect::<Vec<_>>(),
        &crates(files),
    );
    arrows.extend(python_arrows(files));
    let mut wrong: Vec<String> = knots(&arrows)
        .iter()
        .map(|knot| way_round(&arrows, knot))
        .collect();
    wrong.sort();
    wrong
}

fn way_round(arrows: &Arrows, knot: &BTreeSet<String>) -> String {
    let inside = |file: &String| {
        arrows[file]
            .keys()
            .filter(|to| knot.contains(*to))
            .cloned()
            .collect::<Vec<_>>()
    };
    let ways = knot.iter().filter_map(|start| {
        let mut open = VecDeque::from([vec![start.clone()]]);
        let mut seen = BTreeSet::new();
        while let Some(way) = open.pop_front() {
            for next in inside(way.last().expect("never empty")) {
                if next == *start {
                    return Some(way);
                }
                if seen.insert(next.clone()) {
                    open.push_back(way.iter().cloned().chain([next]).collect());
                }
            }
        }
        None
    });
    let way = ways.min_by_key(Vec::len).expect("a knot has a circle");
    let steps = way.iter().enumerate().map(|(n, from)| {
        let to = &way[(n + 1) % way.len()];
        let (line, path) = &arrows[from][to];
        format!("\n    {from} -> {to} ({path}, line {line})")
    });
    format!(
        "{}:1: {} files need each other: move what they share below them, or hand it in as an argument{}",
        way[0],
        knot.len(),
        steps.collect::<String>()
    )
}

/// Files that can be reached from each other (Tarjan's strongly connected components of more than one).
fn knots(arrows: &Arrows) -> Vec<BTreeSet<String>> {
    #[derive(Default)]
    struct Search<'a> {
        number: BTreeMap<&'a str, usize>,
        low: BTreeMap<&'a str, usize>,
        stack: Vec<&'a str>,
        found: Vec<BTreeSet<String>>,
    }
    fn visit<'a>(search: &mut Search<'a>, arrows: &'a Arrows, file: &'a str) {
        let number = search.number.len();
        search.number.insert(file, number);
        search.low.insert(file, number);
        search.stack.push(file);
        for next in arrows.get(file).into_iter().flat_map(BTreeMap::keys) {
            let reached = if !search.number.contains_key(next.as_str()) {
                visit(search, arrows, next);
                search.low[next.as_str()]
            } else if search.stack.contains(&next.as_str()) {
                search.number[next.as_str()]
            } else {
                continue;
            };
            let low = search.low[file].min(reached);
            search.low.insert(file, low);
        }
        if search.low[file] == number {
            let at = search
                .stack
                .iter()
                .position(|on| *on == file)
                .expect("pushed above");
            let knot: BTreeSet<String> = search.stack.drain(at..).map(str::to_owned).collect();
            if knot.len() > 1 {
                search.found.push(knot);
            }
        }
    }
    let mut search = Search::default();
    for file in arrows.keys() {
        if !search.number.contains_key(file.as_str()) {
            visit(&mut search, arrows, file);
        }
    }
    search.found
}

/// All modules, found by their paths.
struct Modules(BTreeMap<Vec<String>, Module>);

impl Modules {
    /// The file that defines what an absolute path names.
    fn defining(&self, path: &[String], depth: usize) -> Option<&Module> {
        let length = (1..=path.len())
            .rev()
            .find(|length| self.0.contains_key(&path[..*length]))?;
        let module = &self.0[&path[..length]];
        let rest = &path[length..];
        let Some(name) = rest.first().filter(|name| !module.defines.contains(*name)) else {
            return Some(module);
        };
        let passed_on = |import: &&Import| import.alias == *name;
        let Some(import) = module.imports.iter().find(passed_on).filter(|_| depth < 9) else {
            return Some(module);
        };
        // What is not of the house has no file.
        let mut origin = module.absolute(&import.path)?;
        origin.extend_from_slice(&rest[1..]);
        self.defining(&origin, depth + 1)
    }
}

fn rust_arrows(files: &[&Source], crates: &[&str]) -> Arrows {
    let house = files
        .iter()
        .filter(|source| source.path.starts_with("src/"));
    let modules = house.map(|source| Module::read(source, crates));
    let modules = Modules(
        modules
            .map(|module| (module.path.clone(), module))
            .collect(),
    );
    let mut arrows = Arrows::new();
    let mut add = |from: &Module, to: Option<&Module>, line: usize, why: String| {
        if let Some(to) = to.filter(|to| to.file != from.file) {
            let needed = arrows.entry(from.file.clone()).or_default();
            needed.entry(to.file.clone()).or_insert((line, why));
        }
    };
    for module in modules.0.values() {
        let mut local: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for import in &module.imports {
            let Some(path) = module.absolute(&import.path) else {
                continue;
            };
            let taken = !import.public || module.words.contains(&import.alias);
            if taken && !modules.0.contains_key(&path) {
                let why = format!("`{}`", import.path.join("::"));
                add(module, modules.defining(&path, 0), import.line, why);
            }
            local.insert(&import.alias, path);
        }
        let found = |path: &[String]| {
            module.absolute(path).or_else(|| {
                let mut begin = local.get(path[0].as_str())?.clone();
                begin.extend_from_slice(&path[1..]);
                Some(begin)
            })
        };
        for (line, path) in &module.paths {
            let through_module = local
                .get(path[0].as_str())
                .is_none_or(|begin| modules.0.contains_key(begin));
            if let Some(absolute) = found(path).filter(|_| through_module) {
                let why = format!("`{}`", path.join("::"));
                add(module, modules.defining(&absolute, 0), *line, why);
            }
        }
        for (line, path) in &module.implements {
            let own = path.len() == 1 && module.defines.contains(&path[0]);
            let home = found(path)
                .filter(|_| !own)
                .and_then(|path| modules.defining(&path, 0));
            if let Some(home) = home {
                add(
                    home,
                    Some(module),
                    *line,
                    format!("`impl {}` there", path.join("::")),
                );
            }
        }
    }
    arrows
}

fn python_arrows(files: &[Source]) -> Arrows {
    let parts: BTreeMap<&str, &Source> = files
        .iter()
        .filter(|source| source.path.starts_with("assets/python/") && source.is_python())
        .filter_map(|source| Some((source.path.rsplit_once('/')?.1.strip_suffix(".py")?, source)))
        .collect();
    let mut arrows = Arrows::new();
    for (name, source) in &parts {
        let tokens = source.tokens();
        for (at, (line, _)) in tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| token.1 == "from")
        {
            let words = tokens[at + 1..].iter().map(|token| token.1);
            let mut words = words.skip_while(|word| *word == ".").peekable();
            if tokens.get(at + 1).is_none_or(|token| token.1 != ".") {
                continue;
            }
            let named: Vec<&str> = match words.next() {
                // Names up to the end of the statement: nothing but commas, brackets and `as` stands between them.
                Some("import") => {
                    let on_line = tokens[at..]
                        .iter()
                        .take_while(|token| token.0 == *line)
                        .count();
                    tokens[at..at + on_line]
                        .iter()
                        .map(|token| token.1)
                        .collect()
                }
                Some(part) => vec![part],
                None => Vec::new(),
            };
            for part in named.iter().filter(|part| **part != *name) {
                if let Some(to) = parts.get(part) {
                    let needed = arrows.entry(source.path.clone()).or_default();
                    needed
                        .entry(to.path.clone())
                        .or_insert((*line, format!("`{part}`")));
                }
            }
        }
    }
    arrows
}
