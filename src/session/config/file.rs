//! The text of `config.json`: an object with comments, of which a change touches one value.
//!
//! In: the file. Out: its values with their lines. A file that cannot be parsed as a whole is reported and counts as
//! empty, and is then never written: a save would lose what was not understood.
//!
//! Absent on purpose: the meaning of the values (`resolve`).

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::jsonc::{self, Key};
use crate::files::{FileError, FileMode, check_private_dir, private_dir, write_whole};
use crate::text::report::Report;

/// The largest settings file or system prompt that is read, in bytes.
pub(super) const BUDGET: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct ConfigFile {
    path: PathBuf,
    text: String,
    values: Map<String, Value>,
    /// All keys in order; a repeated key is listed repeatedly.
    keys: Vec<Key>,
    /// False: the file exists and could not be parsed.
    is_readable: bool,
}

impl ConfigFile {
    /// Reads `path`; a missing file counts as empty. A fault of the file is returned as a report.
    pub fn read(path: &Path) -> (Self, Option<Report>) {
        let mut file = ConfigFile {
            path: path.to_owned(),
            text: String::new(),
            values: Map::new(),
            keys: Vec::new(),
            is_readable: true,
        };
        let report = file.load().err();
        file.is_readable = report.is_none();
        (file, report)
    }

    fn load(&mut self) -> Result<(), Report> {
        if let Some(directory) = self.path.parent() {
            check_private_dir(directory)?;
        }
        let Some(text) = read_text(&self.path)? else {
            return Ok(());
        };
        self.parse(text)
    }

    fn parse(&mut self, text: String) -> Result<(), Report> {
        let json = jsonc::strip_comments(without_bom(&text));
        self.text = text;
        // An editor may leave an empty file.
        if json.trim().is_empty() {
            return Ok(());
        }
        let broken = |what: String| {
            Report::failure(format!("`{}` {what}", self.path.display()))
                .hint("fix the file or move it away; until then the defaults apply")
        };
        match serde_json::from_str(&json) {
            Ok(Value::Object(values)) => self.values = values,
            Ok(other) => {
                return Err(broken(format!(
                    "holds {} instead of an object",
                    kind(&other)
                )));
            }
            Err(error) => return Err(broken("is not valid JSON".into()).because(error)),
        }
        self.keys = jsonc::keys(&json);
        Ok(())
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// The line (from 1) of the key whose value counts; `outer.inner` names a key one level deeper.
    pub fn line(&self, key: &str) -> Option<usize> {
        // Of repeated keys the last one counts.
        let found = self.keys.iter().rev().find(|known| known.name == key);
        found.map(|known| known.line)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets `key` and writes the file, creating it and its directory when missing. Everything else keeps its bytes.
    ///
    /// # Errors
    /// The file could not be parsed before, or cannot be written; it is unchanged then.
    pub fn save(&mut self, key: &str, value: Value) -> Result<(), Report> {
        if !self.is_readable {
            return Err(Report::failure(format!(
                "`{}` was not changed: it could not be read",
                self.path.display()
            ))
            .hint("fix the file or move it away"));
        }
        let body = without_bom(&self.text);
        let mark = &self.text[..self.text.len() - body.len()];
        let text = format!("{mark}{}", jsonc::set_value(body, key, &value));
        let mut changed = ConfigFile {
            text: String::new(),
            values: Map::new(),
            keys: Vec::new(),
            ..self.clone()
        };
        changed.parse(text)?;
        let mut expected = self.values.clone();
        expected.insert(key.to_owned(), value);
        if changed.values != expected {
            // The change would touch more than this value.
            return Err(Report::failure(format!(
                "`{}` was not changed: its form does not allow changing this value alone",
                self.path.display()
            ))
            .hint(format!("set `{key}` in it by hand")));
        }
        if let Some(directory) = self.path.parent() {
            private_dir(directory)?;
        }
        write_whole(&self.path, changed.text.as_bytes(), FileMode::Private)?;
        *self = changed;
        Ok(())
    }
}

/// A text without the byte order mark that some editors write.
fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The text of a small file of ours; `None` when it is missing.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, Report> {
    let cannot = |source| {
        Report::from(FileError::System {
            action: "read",
            path: path.to_owned(),
            source,
        })
    };
    let refused = |why: &str| Report::failure(format!("`{}` {why}", path.display()));
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot(error)),
        // Opening a pipe would wait for a writer.
        Ok(metadata) if !metadata.is_file() => return Err(refused("is not a regular file")),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(BUDGET + 1).read_to_end(&mut bytes))
        .map_err(cannot)?;
    if bytes.len() as u64 > BUDGET {
        return Err(refused("is larger than 1 MiB"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(refused("is not UTF-8").because(error.utf8_error())),
    }
}

/// The kind of a value, for messages.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn written(content: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.json");
        fs::write(&path, content).unwrap();
        (home, path)
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let check = |content: &[u8], part: &str| {
            let (_home, path) = written(content);
            let (mut file, report) = ConfigFile::read(&path);
            let report = report.unwrap().to_string();
            assert!(
                report.contains(part) && report.contains("config.json"),
                "{report}"
            );
            assert_eq!(file.keys().count(), 0);
            assert!(file.save("think", json!("m")).is_err());
            assert_eq!(fs::read(&path).unwrap(), content);
        };
        check(b"{\n  \"think\": \"m\",\n  oops\n}", "line 3 column 3");
        check(b"[1]", "holds an array instead of an object");
        check(b"\"x\"", "holds a string");
        check(b"{\"a\": \"\xff\"}", "is not UTF-8");
        check(&b"[".repeat(500), "recursion limit");
        check(&[b' '; (1 << 20) + 1], "larger than 1 MiB");
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.json");
        fs::create_dir(&path).unwrap();
        let (_, report) = ConfigFile::read(&path);
        assert!(report.unwrap().to_string().contains("not a regular file"));
    }

    #[test]
    fn nothing_is_an_empty_file() {
        for content in [&b""[..], b" \n", b"{}", b"\xef\xbb\xbf{}"] {
            let (_home, path) = written(content);
            assert_eq!(ConfigFile::read(&path).1, None);
        }
        assert_eq!(
            ConfigFile::read(Path::new("/nonexistent/config.json")).1,
            None
        );
    }

    #[test]
    fn a_directory_of_others_is_not_trusted() {
        let (home, path) = written(b"{\"think\": \"x\"}");
        fs::set_permissions(home.path(), Permissions::from_mode(0o777)).unwrap();
        let (file, report) = ConfigFile::read(&path);
        assert!(report.unwrap().to_string().contains("other users"));
        assert!(file.get("think").is_none());
    }

    #[test]
    fn a_rewrite_keeps_what_it_does_not_know() {
        let (_home, path) =
            written(b"{\"zeta\": {\"b\": 1, \"a\": 2}, \"think\": \"l\", \"alpha\": null}");
        let (mut file, _) = ConfigFile::read(&path);
        file.save("think", json!("h")).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "{\"zeta\": {\"b\": 1, \"a\": 2}, \"think\": \"h\", \"alpha\": null}"
        );
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(file.line("think"), Some(1));
    }

    #[test]
    fn comments_are_read_over_and_stay() {
        let content = "\u{feff}{\n  // how much\n  \"think\": \"l\", /* little */\n}\n";
        let (_home, path) = written(content.as_bytes());
        let (mut file, report) = ConfigFile::read(&path);
        assert_eq!(report, None);
        assert_eq!(
            (file.get("think"), file.line("think")),
            (Some(&json!("l")), Some(3))
        );
        file.save("think", json!("h")).unwrap();
        let expected = content.replace("\"l\"", "\"h\"");
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(file.get("think"), Some(&json!("h")));
    }

    #[test]
    fn saving_creates_what_is_missing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/ipycodex/config.json");
        let (mut file, _) = ConfigFile::read(&path);
        assert!(!home.path().join("a").exists());
        file.save("think", json!("h")).unwrap();
        assert_eq!(ConfigFile::read(&path).0.get("think"), Some(&json!("h")));
        assert_eq!(
            fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777,
            0o700
        );
    }
}
