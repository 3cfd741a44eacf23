//! Every text a person reads, in one table: `tests/data/texts.txt`.
//!
//! A new or changed text shows up there, and in the review of the change. `IPYCODEX_TEXTS=1` writes the table anew. In:
//! the string literals of `src` and of the runner that hold words, and the help of the command line. Absent on purpose:
//! SQL, panics, what only the model reads is among them all the same.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use crate::support::home::{Home, finish};
use crate::support::peers;

const TABLE: &str = "tests/data/texts.txt";

/// What no text of ours says any more.
const NEVER: [&str; 6] = [
    "is no text",
    "is no UTF-8",
    "nothing is known",
    "1 prompts",
    "PosixPath",
    "self.model",
];

/// The string literals of Rust code, and whether each explains a panic.
fn literals(code: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let rest = &code[at..];
        let raw = rest
            .strip_prefix('r')
            .map(|it| it.len() - it.trim_start_matches('#').len());
        let raw = raw.filter(|hashes| {
            rest[1 + hashes..].starts_with('"') && !code[..at].ends_with(char::is_alphanumeric)
        });
        let step = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(hashes) = raw {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = &rest[hashes + 2..];
            let length = body.find(&end).unwrap_or(body.len());
            found.push((body[..length].to_owned(), false));
            (hashes + 2 + length + end.len()).min(rest.len())
        } else if let Some(body) = rest.strip_prefix('"') {
            let (text, length) = string(body);
            found.push((text, code[..at].trim_end().ends_with("expect(")));
            length + 2
        } else if let Some(escaped) = rest.strip_prefix("'\\") {
            let end = escaped.char_indices().nth(1);
            end.map_or(rest.len(), |(end, _)| end + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        at += step;
    }
    found
}

/// A literal up to its closing quote, and its bytes; what a `\` at the end of a line leaves out is left out.
fn string(rest: &str) -> (String, usize) {
    let mut text = String::new();
    let mut characters = rest.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (text, at),
            '\\' => match characters.next() {
                Some((_, '\n')) => {
                    while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {}
                }
                Some((_, escaped)) => text.extend(['\\', escaped]),
                None => {}
            },
            c => text.push(c),
        }
    }
    (text, rest.len())
}

/// Two words in a row that no program would spell like this.
fn is_said(text: &str) -> bool {
    let is_word =
        |word: &str| word.len() > 1 && word.bytes().all(|it| it.is_ascii_lowercase() || it == b',');
    let words: Vec<&str> = text.split(' ').collect();
    let sql = [
        "SELECT ", "FROM ", "WHERE ", "CREATE ", "JOIN ", "INTEGER", "ORDER BY",
    ];
    words
        .windows(2)
        .any(|pair| is_word(pair[0]) && !pair[1].is_empty())
        && !sql.iter().any(|it| text.contains(it))
}

fn of_rust(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        if path.is_dir() {
            if !name.ends_with("/tests") {
                of_rust(&path, root, found);
            }
            continue;
        }
        if !name.ends_with(".rs") || name.ends_with("/tests.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let told = literals(code)
            .into_iter()
            .filter(|(text, panics)| !panics && is_said(text));
        found.extend(told.map(|(text, _)| format!("{name}: {}", text.replace('\n', "\\n"))));
        if name.ends_with("args.rs") {
            let help = code
                .lines()
                .filter_map(|line| line.trim().strip_prefix("/// "));
            found.extend(help.map(|line| format!("{name}: {line}")));
        }
    }
}

#[test]
fn each_text_is_in_the_reviewed_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    of_rust(&root.join("src"), root, &mut found);
    let home = Home::new();
    let runner = root.join("assets/python");
    let words = ["-", runner.to_str().unwrap()];
    let ran = finish(
        home.foreign(&peers::plain_python(), &words),
        include_bytes!("../data/texts.py"),
    );
    assert_eq!(ran.code(), 0, "{ran:?}");
    found.extend(ran.stdout.lines().map(str::to_owned));
    assert!(found.len() > 1000, "{}", found.len());
    for text in &found {
        for never in NEVER {
            assert!(!text.contains(never), "{text}");
        }
    }
    let table = found.iter().fold(String::new(), |mut table, text| {
        writeln!(table, "{text}").unwrap();
        table
    });
    let kept = root.join(TABLE);
    if std::env::var_os("IPYCODEX_TEXTS").is_some() {
        std::fs::write(kept, table).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(kept).unwrap();
    let kept: BTreeSet<String> = kept.lines().map(str::to_owned).collect();
    let new: Vec<_> = found.difference(&kept).collect();
    let gone: Vec<_> = kept.difference(&found).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "texts have changed. Read each as a stranger would; `IPYCODEX_TEXTS=1 cargo test --test it texts` then takes \
         them into {TABLE}.\nnew: {new:#?}\ngone: {gone:#?}"
    );
}
