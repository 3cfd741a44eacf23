//! A Rust file as the search for circles sees it: what it declares, defines, imports and names.

use std::collections::BTreeSet;

use super::source::{Source, Token, is_word};

/// One Rust file, taken apart.
pub(super) struct Module {
    pub(super) file: String,
    /// The crate (empty: the root one), then the modules down to this one.
    pub(super) path: Vec<String>,
    /// Modules it declares.
    pub(super) children: BTreeSet<String>,
    /// Names it defines.
    pub(super) defines: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Words of its code outside imports.
    pub(super) words: BTreeSet<String>,
    /// Paths outside imports.
    pub(super) paths: Vec<(usize, Vec<String>)>,
    /// Types it has an `impl` without a trait for.
    pub(super) implements: Vec<(usize, Vec<String>)>,
}

pub(super) struct Import {
    pub(super) line: usize,
    pub(super) path: Vec<String>,
    pub(super) alias: String,
    pub(super) public: bool,
}

impl Module {
    pub(super) fn read(source: &Source, crates: &[&str]) -> Module {
        let tokens = source.tokens();
        let word = |at: usize| tokens.get(at).map_or("", |token| token.1);
        let inside = source
            .path
            .trim_start_matches("src/")
            .trim_end_matches(".rs")
            .trim_end_matches("/mod");
        let holder = inside
            .split('/')
            .next()
            .filter(|folder| crates.contains(folder));
        let below = holder.map_or(inside, |folder| {
            inside[folder.len()..].trim_start_matches('/')
        });
        let below = below.split('/').filter(|part| *part != "lib");
        let path = std::iter::once(holder.unwrap_or_default()).chain(below);
        let mut module = Module {
            file: source.path.clone(),
            path: path.map(str::to_owned).collect(),
            children: BTreeSet::new(),
            defines: BTreeSet::new(),
            imports: Vec::new(),
            words: BTreeSet::new(),
            paths: Vec::new(),
            implements: Vec::new(),
        };
        let mut at = 0;
        while at < tokens.len() {
            let (line, token) = tokens[at];
            match token {
                "use" => {
                    let public =
                        word(at.wrapping_sub(1)) == "pub" || word(at.wrapping_sub(1)) == ")";
                    at += 1;
                    for (path, alias) in imported(&tokens, &mut at) {
                        module.imports.push(Import {
                            line,
                            path,
                            alias,
                            public,
                        });
                    }
                    continue;
                }
                "pub" if word(at + 1) == "(" => {
                    while word(at + 1) != ")" {
                        at += 1;
                    }
                }
                "mod" if word(at + 2) == ";" => {
                    module.children.insert(word(at + 1).to_owned());
                    at += 2;
                    continue;
                }
                "struct" | "enum" | "union" | "trait" | "type" | "fn" | "const" | "static" => {
                    module.defines.insert(word(at + 1).to_owned());
                }
                "impl" if matches!(word(at.wrapping_sub(1)), "" | "}" | ";" | "]") => {
                    module
                        .implements
                        .extend(implemented(&tokens, at + 1).map(|path| (line, path)));
                }
                _ => {}
            }
            if token.starts_with(is_word) && word(at.wrapping_sub(1)) != "::" {
                let mut path = vec![token.to_owned()];
                let mut next = at + 1;
                while word(next) == "::" && word(next + 1).starts_with(is_word) {
                    path.push(word(next + 1).to_owned());
                    next += 2;
                }
                if path.len() > 1 {
                    module.paths.push((line, path));
                }
            }
            module.words.insert(token.to_owned());
            at += 1;
        }
        module
    }

    /// `path` from the crate on, if it begins where only the house can be meant.
    pub(super) fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let mut from = self.path.clone();
        match first.as_str() {
            "crate" => from.truncate(1),
            "self" => {}
            "super" => {
                let ups = 1 + rest.iter().take_while(|name| *name == "super").count();
                from.truncate(from.len().saturating_sub(ups).max(1));
                from.extend_from_slice(&rest[ups - 1..]);
                return Some(from);
            }
            child if self.children.contains(child) => from.push(child.to_owned()),
            _ => return None,
        }
        from.extend_from_slice(rest);
        Some(from)
    }
}

/// The leaves of an import from `at` on (behind `use`), each with the name it has here.
fn imported(tokens: &[Token<'_>], at: &mut usize) -> Vec<(Vec<String>, String)> {
    let mut leaves = Vec::new();
    leaf(tokens, at, &[], &mut leaves);
    leaves
}

fn leaf(
    tokens: &[Token<'_>],
    at: &mut usize,
    before: &[String],
    leaves: &mut Vec<(Vec<String>, String)>,
) {
    let mut path = before.to_vec();
    let word = |at: usize| tokens.get(at).map_or(";", |token| token.1);
    loop {
        match word(*at) {
            "::" => *at += 1,
            "{" => {
                *at += 1;
                while !matches!(word(*at), "}" | ";") {
                    leaf(tokens, at, &path, leaves);
                    *at += usize::from(word(*at) == ",");
                }
                *at += 1;
                return;
            }
            name if name == "*" || name != "as" && name.starts_with(is_word) => {
                path.push(name.to_owned());
                *at += 1;
            }
            _ => break,
        }
    }
    if path.len() > 1 {
        path.pop_if(|last| last == "self");
    }
    let mut alias = path.last().cloned().unwrap_or_default();
    if word(*at) == "as" {
        alias = word(*at + 1).to_owned();
        *at += 2;
    }
    leaves.push((path, alias));
}

/// The type of `impl … {` without a trait; `at` is behind the `impl`.
fn implemented(tokens: &[Token<'_>], mut at: usize) -> Option<Vec<String>> {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.1);
    let generics = |at: &mut usize| {
        let mut depth = 0;
        loop {
            match word(*at) {
                "<" => depth += 1,
                ">" if word(*at - 1) != "-" => depth -= 1,
                "" => return,
                _ => {}
            }
            if depth == 0 {
                return;
            }
            *at += 1;
        }
    };
    if word(at) == "<" {
        generics(&mut at);
        at += 1;
    }
    let mut path = Vec::new();
    while word(at).starts_with(is_word) || word(at) == "::" {
        if word(at) != "::" {
            path.push(word(at).to_owned());
        }
        at += 1;
        if matches!(word(at), "for" | "where") {
            break;
        }
    }
    if word(at) == "<" {
        generics(&mut at);
        at += 1;
    }
    matches!(word(at), "{" | "where").then_some(path)
}
