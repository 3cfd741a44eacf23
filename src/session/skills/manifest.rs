//! Parses a `SKILL.md` into name, description and text, or into the reason why it is not a skill.
//!
//! Lenient, as the guide for clients asks: a wrong name is a warning, a missing one is taken from the directory;
//! values that YAML cannot read because of a colon or a bracket are quoted and read again. A file without a
//! description, with a repeated key or beyond a limit is not a skill. Total: any bytes give one or the other. No file
//! access.

use unicode_normalization::UnicodeNormalization;

use crate::skills::frontmatter::{Fault, Fences, Frontmatter, fences, parse};
use crate::text::joined_words;

/// Characters of a name at most.
pub(super) const MOST_NAME: usize = 64;
/// Characters of a description at most.
pub(super) const MOST_DESCRIPTION: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manifest {
    /// One line without control characters.
    pub name: String,
    /// One line, at most [`MOST_DESCRIPTION`] characters.
    pub description: String,
    /// The file with line ends `\n`, without byte-order mark, and with unreadable values quoted.
    pub text: String,
    /// One line each.
    pub warnings: Vec<String>,
}

/// Reads `bytes`, the file of a directory called `directory`.
///
/// # Errors
/// One line: why the file is not a skill.
pub(super) fn read(bytes: &[u8], directory: &str) -> Result<Manifest, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("is not valid UTF-8 at byte {}", error.valid_up_to()))?;
    let mut warnings = Vec::new();
    let text = match text.strip_prefix('\u{feff}') {
        Some(text) => {
            warnings.push("it begins with a byte-order mark".to_owned());
            text
        }
        None => text,
    };
    let mut text = text.replace("\r\n", "\n");
    let (yaml, body) = match fences(&text) {
        Fences::Closed { yaml, body } => (yaml, body),
        Fences::Open => return Err("its frontmatter is not closed by a line `---`".into()),
        Fences::Absent => return Err("its first line is not `---`".into()),
    };
    let frontmatter = match parse(yaml) {
        Err(Fault::Syntax(why)) => {
            let (quoted_yaml, quoted) = quote_values(yaml);
            if quoted.is_empty() {
                return Err(why);
            }
            let frontmatter = parse(&quoted_yaml).map_err(|_| why)?;
            warnings.push(format!(
                "YAML needs quotes around `{}`",
                quoted.join("`, `")
            ));
            text = format!("---\n{quoted_yaml}---\n{body}");
            frontmatter
        }
        frontmatter => frontmatter.map_err(|fault| fault.to_string())?,
    };
    let frontmatter = frontmatter.ok_or("its frontmatter is not a mapping")?;
    let name = name(&frontmatter, directory, &mut warnings)?;
    let description = description(&frontmatter, &mut warnings)?;
    if let Fences::Closed { yaml, .. } = fences(&text) {
        warnings.extend(comment_warning(yaml, "name"));
        warnings.extend(comment_warning(yaml, "description"));
    }
    Ok(Manifest {
        name,
        description,
        text,
        warnings,
    })
}

/// The faults of a name, whatever its directory is called: one line each, in the words of the specification.
pub(super) fn name_faults(name: &str) -> Vec<String> {
    let name: String = name.nfkc().collect();
    let length = name.chars().count();
    let mut faults = Vec::new();
    if length > MOST_NAME {
        faults.push(format!(
            "the name has {length} characters, {MOST_NAME} are allowed"
        ));
    }
    if name != name.to_lowercase() {
        faults.push("the name is not in lowercase".into());
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("the name begins or ends with a hyphen".into());
    }
    if name.contains("--") {
        faults.push("the name has two hyphens in a row".into());
    }
    if !name.chars().all(|c| c.is_alphanumeric() || c == '-') {
        faults.push("the name has characters other than letters, digits and hyphens".into());
    }
    faults
}

/// Compares the name of a skill with its directory's, in whatever Unicode form each is written.
pub(super) fn same_name(name: &str, directory: &str) -> bool {
    name.nfkc().eq(directory.nfkc())
}

fn name(
    frontmatter: &Frontmatter,
    directory: &str,
    warnings: &mut Vec<String>,
) -> Result<String, String> {
    let written = joined_words(&frontmatter.text("name").unwrap_or_default());
    let unusable = if written.is_empty() {
        Some("the name is missing".to_owned())
    } else if written.chars().any(char::is_control) {
        Some("the name has control characters".to_owned())
    } else {
        let length = written.nfkc().count();
        (length > MOST_NAME)
            .then(|| format!("the name has {length} characters, {MOST_NAME} are allowed"))
    };
    if let Some(why) = unusable {
        let missing = written.is_empty() && !directory.chars().any(char::is_control);
        if directory.is_empty() || !(missing || name_faults(directory).is_empty()) {
            return Err(format!(
                "{why}, and the directory's name cannot be used instead"
            ));
        }
        warnings.push(format!("{why}; the directory's name is used instead"));
        return Ok(directory.to_owned());
    }
    warnings.extend(name_faults(&written));
    if !same_name(&written, directory) {
        warnings.push("the name differs from the directory's name".into());
    }
    Ok(written)
}

fn description(frontmatter: &Frontmatter, warnings: &mut Vec<String>) -> Result<String, String> {
    let Some(written) = frontmatter.text("description") else {
        let there = frontmatter.value("description").is_some();
        let what = if there { "is not text" } else { "is missing" };
        return Err(format!("the description {what}"));
    };
    let length = written.chars().count();
    let mut description = joined_words(&written);
    if description.is_empty() {
        return Err("the description is blank".into());
    }
    if length > MOST_DESCRIPTION {
        warnings.push(format!(
            "the description has {length} characters, the first {MOST_DESCRIPTION} are shown"
        ));
        if let Some((end, _)) = description.char_indices().nth(MOST_DESCRIPTION) {
            description.truncate(end);
        }
    }
    Ok(description)
}

/// Warns when YAML took the end of an unquoted value for a comment.
fn comment_warning(yaml: &str, key: &str) -> Option<String> {
    let line = yaml.lines().find_map(|line| {
        let value = line.strip_prefix(key)?.trim_start().strip_prefix(':')?;
        Some(value.trim_start())
    })?;
    let quoted = line.starts_with(['"', '\'', '|', '>', '#']);
    (!quoted && line.contains(" #"))
        .then(|| format!("the {key} ends before ` #`, where YAML begins a comment"))
}

/// Quotes the values that YAML cannot read; returns the frontmatter and their keys.
fn quote_values(yaml: &str) -> (String, Vec<&str>) {
    let mut quoted_yaml = String::with_capacity(yaml.len() + 16);
    let mut quoted = Vec::new();
    for entry in entries(yaml) {
        match plain_value(entry) {
            Some((key, value)) if matches!(parse(entry), Err(Fault::Syntax(_))) => {
                let value = joined_words(value).replace('\'', "''");
                quoted_yaml.push_str(&format!("{key}: '{value}'\n"));
                quoted.push(key);
            }
            _ => quoted_yaml.push_str(entry),
        }
    }
    (quoted_yaml, quoted)
}

/// The top-level entries: a line without indent and the indented lines below it.
fn entries(yaml: &str) -> Vec<&str> {
    let mut entries = Vec::new();
    let mut rest = yaml;
    while !rest.is_empty() {
        let mut end = 0;
        for line in rest.split_inclusive('\n') {
            let indented = line.starts_with([' ', '\t']) || line.trim().is_empty();
            if end > 0 && !indented {
                break;
            }
            end += line.len();
        }
        let (entry, after) = rest.split_at(end);
        entries.push(entry);
        rest = after;
    }
    entries
}

/// Key and value of an entry whose value is neither quoted nor a block.
fn plain_value(entry: &str) -> Option<(&str, &str)> {
    let (key, value) = entry.split_once(':')?;
    let word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let value = value.trim();
    let plain = !value.starts_with(['"', '\'', '|', '>']) && !value.is_empty();
    (plain && !key.is_empty() && key.chars().all(word)).then_some((key, value))
}

#[cfg(test)]
mod tests;
