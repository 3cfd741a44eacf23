//! A source file as `tidy` sees it: text, the code in it without comments and literals, the paths it names.
//!
//! Invariant: blanking keeps every line where it is, so a line number in the code is one in the file.

use std::path::Path;

/// A word, `::` or a single sign, behind its line.
pub(super) type Token<'a> = (usize, &'a str);

/// One file.
pub(super) struct Source {
    /// Below the root of the repository, with `/`.
    pub path: String,
    /// As on disk.
    pub text: String,
    /// Comments blank, literals filled with dots.
    code: String,
}

/// Every Rust and Python file below these folders, by path.
pub(super) fn read_all(root: &Path, folders: &[&str]) -> Vec<Source> {
    let mut files = Vec::new();
    let mut open: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // A link is another way to a folder that is read anyway.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "rs" || extension == "py")
            {
                let inside = path
                    .strip_prefix(root)
                    .expect("found below it")
                    .to_str()
                    .expect("our names are UTF-8");
                let text = std::fs::read_to_string(&path)
                    .unwrap_or_else(|error| panic!("{inside}: {error}"));
                files.push(Source::new(inside, &text));
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

/// Sibling files of tests; their size and imports are free.
pub(super) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.starts_with("src/") && path.contains("/tests/")
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Source {
        let code = if path.ends_with(".py") {
            python_code(text)
        } else {
            without_test_modules(&rust_code(text))
        };
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code,
        }
    }

    pub(super) fn is_python(&self) -> bool {
        self.path.ends_with(".py")
    }

    /// Lines with code on them.
    pub(super) fn lines_of_code(&self) -> usize {
        self.code
            .lines()
            .filter(|line| !line.trim().is_empty())
            .count()
    }

    pub(super) fn has_header(&self) -> bool {
        let mut lines = self
            .text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        if self.is_python() {
            let first = lines.find(|line| !line.starts_with('#'));
            first.is_some_and(|line| line.trim_start_matches('r').starts_with("\"\"\""))
        } else {
            lines
                .next()
                .is_some_and(|line| line.starts_with("//!") && line.len() > 4)
        }
    }

    /// True when a `mod NAME;` stands in the file, tests included.
    pub(super) fn declares(&self, name: &str) -> bool {
        let code = rust_code(&self.text);
        let tokens = tokens(&code);
        let words: Vec<&str> = tokens.into_iter().map(|token| token.1).collect();
        words.windows(3).any(|three| three == ["mod", name, ";"])
    }

    /// Lines (from 1) with these words and signs in a row.
    pub(super) fn lines_with_words(&self, words: &[&str]) -> Vec<usize> {
        let tokens = tokens(&self.code);
        let rows = tokens.windows(words.len());
        rows.filter(|row| row.iter().map(|token| token.1).eq(words.iter().copied()))
            .map(|row| row[0].0)
            .collect()
    }

    /// The code in words and signs, tests not counted.
    pub(super) fn tokens(&self) -> Vec<Token<'_>> {
        tokens(&self.code)
    }
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Words, `::` and single signs, with their lines.
fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (line, number) in code.lines().zip(1..) {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                ':' if rest.starts_with("::") => 2,
                _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                _ => first.len_utf8(),
            };
            tokens.push((number, &rest[..length]));
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// Rust with comments blanked and the inside of literals filled with dots.
fn rust_code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let mut after_word = false;
    while let Some(first) = rest.chars().next() {
        let (length, fill) = match first {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), ' '),
            '/' if rest.starts_with("/*") => (block_comment(rest), ' '),
            '"' => (1 + quoted(&rest[1..], '"'), '.'),
            '\'' => (character(rest), '.'),
            'r' | 'b' | 'c' if !after_word => (raw_string(rest), '.'),
            _ => (0, ' '),
        };
        after_word = is_word(first);
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(
                rest[..length]
                    .chars()
                    .map(|c| if c == '\n' { c } else { fill }),
            );
            rest = &rest[length..];
            after_word = false;
        }
    }
    code
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Bytes up to and with the closing quote.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a character literal; 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text[1..].chars();
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => 1 + quoted(&text[1..], '\''),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 0,
    }
}

/// Length of `r"…"`, `br##"…"##` and their like; 0 when none starts here.
fn raw_string(text: &str) -> usize {
    let prefix = text.len() - text.trim_start_matches(['b', 'c']).len();
    let Some(rest) = text[prefix..].strip_prefix('r').filter(|_| prefix <= 1) else {
        return 0;
    };
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let Some(inside) = rest[hashes..].strip_prefix('"') else {
        return 0;
    };
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    prefix + 1 + hashes + 1 + length
}

/// Blanks `#[cfg(test)] mod name { … }` and other items for tests alone.
fn without_test_modules(code: &str) -> String {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find(ATTRIBUTE) {
        let after = &rest[start + ATTRIBUTE.len()..];
        let end = match after.find(['{', ';']) {
            Some(at) if begins_an_item(&after[..at]) => at + closing_brace(&after[at..]),
            _ => 0,
        };
        kept.push_str(&rest[..start]);
        let (gone, left) = rest[start..].split_at(ATTRIBUTE.len() + end);
        kept.extend(gone.chars().map(|c| if c == '\n' { c } else { ' ' }));
        rest = left;
    }
    kept + rest
}

/// An item of a file, as opposed to a field or a statement.
fn begins_an_item(code: &str) -> bool {
    let code = code.trim_start();
    let code = code.strip_prefix("pub").map_or(code, |code| {
        let scope = code.strip_prefix('(').and_then(|code| code.split_once(')'));
        scope.map_or(code, |(_, code)| code).trim_start()
    });
    ["mod ", "use ", "fn ", "impl ", "const "]
        .iter()
        .any(|word| code.starts_with(word))
}

/// Bytes up to and with the brace that closes the one here; 1 when none opens here.
fn closing_brace(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

/// Python with comment lines and docstrings blanked; good enough to count.
fn python_code(text: &str) -> String {
    let mut code = String::new();
    let mut docstring = false;
    for line in text.lines() {
        let bare = line.trim();
        let quotes = bare.matches("\"\"\"").count();
        let opens = !docstring && bare.trim_start_matches('r').starts_with("\"\"\"");
        let counts = !docstring && !opens && !bare.starts_with('#');
        docstring = if docstring || opens {
            quotes % 2 == usize::from(opens)
        } else {
            docstring
        };
        code.push_str(if counts { line } else { "" });
        code.push('\n');
    }
    code
}
