//! The rules of the specification, as its reference validator (`skills-ref` 0.1) applies them.
//!
//! Stricter than loading: anything that a client repairs or ignores is a fault here. In: the directory of a skill, or
//! its file. Out: faults, one line each; none means valid.

use std::path::Path;

use crate::skills::frontmatter::{Fences, Frontmatter, Value, fences, parse};
use crate::text::escape::visible;

use super::manifest::{MOST_DESCRIPTION, name_faults, same_name};
use super::read;

const FIELDS: [&str; 6] = [
    "name",
    "description",
    "license",
    "allowed-tools",
    "metadata",
    "compatibility",
];

/// Characters of `compatibility` at most.
const MOST_COMPATIBILITY: usize = 500;

pub fn check(path: &Path) -> Vec<String> {
    let is_file = path.is_file() && path.file_name().is_some_and(is_skill_file);
    let directory = match path.parent() {
        Some(parent) if is_file && parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) if is_file => parent,
        _ => path,
    };
    if !directory.is_dir() {
        let what = if directory.exists() {
            "is not a directory"
        } else {
            "does not exist"
        };
        return vec![format!("`{}` {what}", directory.display())];
    }
    let names = ["SKILL.md", "skill.md"].map(|name| directory.join(name));
    let Some(file) = names.iter().find(|file| file.exists()) else {
        return vec!["there is no SKILL.md".into()];
    };
    let called = directory.canonicalize().ok();
    let called = called
        .as_deref()
        .and_then(Path::file_name)
        .unwrap_or_default();
    let bytes = match read::whole(file) {
        Ok(bytes) => bytes,
        Err(why) => return vec![format!("SKILL.md {why}")],
    };
    match frontmatter(&bytes) {
        Ok(frontmatter) => {
            let faults = faults(&frontmatter, &called.to_string_lossy());
            // They quote the file, whose words may have lines of their own.
            faults
                .iter()
                .map(|fault| visible(fault).into_owned())
                .collect()
        }
        Err(why) => vec![why],
    }
}

fn is_skill_file(name: &std::ffi::OsStr) -> bool {
    name.eq_ignore_ascii_case("skill.md")
}

fn frontmatter(bytes: &[u8]) -> Result<Frontmatter, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        format!(
            "SKILL.md is not valid UTF-8 at byte {}",
            error.valid_up_to()
        )
    })?;
    let text = text.replace("\r\n", "\n");
    let yaml = match fences(&text) {
        Fences::Closed { yaml, .. } => yaml,
        Fences::Open => return Err("the frontmatter is not closed by a line `---`".into()),
        Fences::Absent => return Err("the first line is not `---`".into()),
    };
    let frontmatter = parse(yaml).map_err(|fault| fault.to_string())?;
    let frontmatter = frontmatter.ok_or("the frontmatter is not a mapping")?;
    match frontmatter.loose() {
        Some(what) => Err(format!(
            "the frontmatter has {what}, which strict YAML refuses"
        )),
        None => Ok(frontmatter),
    }
}

fn faults(frontmatter: &Frontmatter, directory: &str) -> Vec<String> {
    let mut faults: Vec<String> = frontmatter
        .keys()
        .filter(|key| !FIELDS.contains(key))
        .map(|key| {
            format!(
                "`{key}` is not a field of a skill; {} are",
                FIELDS.join(", ")
            )
        })
        .collect();
    match required(frontmatter, "name") {
        Err(why) => faults.push(why),
        Ok(name) => {
            faults.extend(name_faults(name));
            if !same_name(name, directory) {
                faults.push(format!(
                    "the name `{name}` differs from the directory's name, `{directory}`"
                ));
            }
        }
    }
    match required(frontmatter, "description") {
        Err(why) => faults.push(why),
        Ok(_) => faults.extend(too_long(frontmatter, "description", MOST_DESCRIPTION)),
    }
    match frontmatter.value("compatibility") {
        Some(Value::Text { .. }) => {
            faults.extend(too_long(frontmatter, "compatibility", MOST_COMPATIBILITY));
        }
        Some(_) => faults.push("the compatibility is not text".into()),
        None => {}
    }
    faults
}

/// The value without surrounding blanks. A strict reader takes every scalar as text, `null` too.
fn required<'f>(frontmatter: &'f Frontmatter, key: &str) -> Result<&'f str, String> {
    match frontmatter.value(key) {
        None => Err(format!("the {key} is missing")),
        Some(Value::Text { text, .. }) if !text.trim().is_empty() => Ok(text.trim()),
        Some(Value::Text { .. }) => Err(format!("the {key} is blank")),
        Some(_) => Err(format!("the {key} is not text")),
    }
}

fn too_long(frontmatter: &Frontmatter, key: &str, most: usize) -> Option<String> {
    let Some(Value::Text { text, .. }) = frontmatter.value(key) else {
        return None;
    };
    let length = text.chars().count();
    (length > most).then(|| format!("the {key} has {length} characters, {most} are allowed"))
}
