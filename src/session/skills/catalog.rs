//! The list of skills, frozen when it is made, and the activation of one of them.
//!
//! In: [`Roots`]. Out: skills nearest first, in name order inside a folder; diagnostics; and, later, the text of a
//! skill whose file still has the bytes it had. A file is listed once, by its real path; of skills with the same name
//! all are kept, and all but the nearest are marked as shadowed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::fingerprint::fingerprint;
use super::manifest::{self, Manifest};
use super::roots::Roots;
use super::section::{Section, section, shown};
use super::{Activation, Skill, SkillDiagnostic, SkillOrigin, blocks, bundled, read, walk};
use crate::text::counted;

#[derive(Debug, Clone, Default)]
pub struct Catalog {
    skills: Vec<Skill>,
    diagnostics: Vec<SkillDiagnostic>,
    section: Section,
}

impl Catalog {
    /// Searches `roots`, then adds the bundled skills. Bounded; a skill that cannot be listed is a diagnostic.
    pub fn find(roots: &Roots) -> Self {
        let mut catalog = Catalog {
            diagnostics: roots.diagnostics.clone(),
            ..Catalog::default()
        };
        for root in &roots.roots {
            for candidate in walk::candidates(&root.path, &mut catalog.diagnostics) {
                let path = candidate.path.to_string_lossy().into_owned();
                // Found twice, through links: the nearer path came first, with its diagnostics.
                let known = catalog.skills.iter().map(|skill| &skill.path);
                let mut told = known.chain(catalog.diagnostics.iter().map(|told| &told.path));
                if told.any(|known| *known == path) {
                    continue;
                }
                let taken = match candidate.refused {
                    Some(why) => Err(why),
                    None => open(&candidate.path),
                };
                match taken {
                    Ok((hash, manifest)) => {
                        let origin = roots.origin(root, &candidate.path);
                        catalog.add(path, Some(candidate.path), origin, hash, manifest);
                    }
                    Err(message) => catalog.add_diagnostic(&path, true, message),
                }
            }
        }
        for (directory, text) in bundled::TABLE {
            let path = bundled::path(directory);
            let hash = read::hash(text.as_bytes());
            match manifest::read(text.as_bytes(), directory) {
                Ok(manifest) => catalog.add(path, None, SkillOrigin::Bundled, hash, manifest),
                Err(message) => catalog.add_diagnostic(&path, true, message),
            }
        }
        catalog.mark_shadowed();
        catalog.compose_section();
        catalog
    }

    /// All skills, nearest first.
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// Skills that were left out, and warnings.
    pub fn diagnostics(&self) -> &[SkillDiagnostic] {
        &self.diagnostics
    }

    /// The end of the instructions: a newline, then `<skills>` … `</skills>`; empty without skills.
    pub fn section(&self) -> String {
        self.section.text.clone()
    }

    /// Finds a skill by a path of the list (that of the `SKILL.md` or of its directory), or by a unique name.
    ///
    /// # Errors
    /// One line for the model: the skill is not on the list, or the name is not unique.
    pub fn resolve(&self, wanted: &str) -> Result<&Skill, String> {
        let wanted = wanted.trim();
        let folder = wanted.trim_end_matches('/');
        let is_path = |skill: &&Skill| {
            [skill.path.clone(), shown(&skill.path)].iter().any(|path| {
                path == wanted || path.rsplit_once('/').is_some_and(|(up, _)| up == folder)
            })
        };
        if let Some(skill) = self.skills.iter().find(is_path) {
            return Ok(skill);
        }
        let is_name = |skill: &&Skill| skill.name == wanted || shown(&skill.name) == wanted;
        let named: Vec<&Skill> = self.skills.iter().filter(is_name).collect();
        match named[..] {
            [skill] => Ok(skill),
            [] => Err(self.unknown(wanted)),
            _ => {
                let paths: Vec<String> = named.iter().map(|skill| shown(&skill.path)).collect();
                Err(format!(
                    "{} skills are named `{}`; give the path: {}",
                    named.len(),
                    shown(wanted),
                    paths.join(", ")
                ))
            }
        }
    }

    /// Loads the skill that [`Catalog::resolve`] finds for `wanted`. Asks for no approval and runs nothing.
    ///
    /// # Errors
    /// One line for the model: as [`Catalog::resolve`], or the file is missing or has changed.
    pub fn activate(&self, wanted: &str) -> Result<Activation, String> {
        let skill = self.resolve(wanted)?;
        let (manifest, directory) = match &skill.file {
            Some(file) => (
                read_unchanged(skill, file)?,
                file.parent().map(Path::to_owned),
            ),
            None => {
                let same = |(name, _): &&(&str, &str)| bundled::path(name) == skill.path;
                let row = bundled::TABLE.iter().find(same);
                let (name, text) = row.expect("the list was made of the table");
                (manifest::read(text.as_bytes(), name)?, None)
            }
        };
        let blocks = blocks::eval_blocks(&manifest.text);
        let hash = match &directory {
            _ if blocks.is_empty() => None,
            Some(directory) => fingerprint(directory, &skill.hash),
            None => Some(skill.hash.clone()),
        };
        Ok(Activation {
            name: skill.name.clone(),
            path: skill.path.clone(),
            blocks,
            text: manifest.text,
            hash,
            origin: skill.origin.clone(),
            files: directory.as_deref().map(walk::files).unwrap_or_default(),
            directory,
        })
    }

    fn unknown(&self, wanted: &str) -> String {
        let shown_wanted = shown(wanted);
        let file = Path::new(wanted);
        let is_skill = |path: &PathBuf| path.is_file() && path.ends_with("SKILL.md");
        let there = [file.to_owned(), file.join("SKILL.md")]
            .iter()
            .any(is_skill);
        if there && file.is_absolute() {
            return format!(
                "`{shown_wanted}` is not on the list of skills, which was made when the session began"
            );
        }
        format!("no skill `{shown_wanted}` is on the list; give a path from it")
    }

    fn add(
        &mut self,
        path: String,
        file: Option<PathBuf>,
        origin: SkillOrigin,
        hash: String,
        manifest: Manifest,
    ) {
        for warning in manifest.warnings {
            self.add_diagnostic(&path, false, warning);
        }
        self.skills.push(Skill {
            name: manifest.name,
            description: manifest.description,
            path,
            origin,
            hash,
            shadowed: false,
            file,
        });
    }

    fn add_diagnostic(&mut self, path: &str, skipped: bool, message: String) {
        self.diagnostics.push(SkillDiagnostic {
            path: path.to_owned(),
            skipped,
            message,
        });
    }

    fn mark_shadowed(&mut self) {
        let mut nearest: HashMap<String, String> = HashMap::new();
        let mut told = Vec::new();
        for skill in &mut self.skills {
            match nearest.get(&skill.name) {
                Some(path) => {
                    skill.shadowed = true;
                    told.push(SkillDiagnostic {
                        path: skill.path.clone(),
                        skipped: false,
                        message: format!(
                            "a nearer skill, `{path}`, is also named `{}`: load this one by its path",
                            skill.name
                        ),
                    });
                }
                None => {
                    nearest.insert(skill.name.clone(), skill.path.clone());
                }
            }
        }
        self.diagnostics.append(&mut told);
    }

    fn compose_section(&mut self) {
        self.section = section(&self.skills);
        let most = super::section::MOST_CHARACTERS;
        if let Some(columns) = self.section.shortened {
            let message = format!(
                "the list of skills is longer than {most} characters: descriptions are cut to {columns}"
            );
            self.add_diagnostic("<skills>", false, message);
        }
        if self.section.left_out > 0 {
            let skills = counted(self.section.left_out, "skill");
            let message = format!(
                "the list of skills is longer than {most} characters: left out the {skills} farthest from this \
                 directory"
            );
            self.add_diagnostic("<skills>", true, message);
        }
    }
}

/// The content of the skill's file, if it is unchanged.
fn read_unchanged(skill: &Skill, file: &Path) -> Result<Manifest, String> {
    let path = shown(&skill.path);
    if !file.exists() {
        return Err(format!(
            "`{path}` no longer exists: it was removed, or its directory renamed, after the session began"
        ));
    }
    let changed =
        format!("`{path}` has changed since the session began; it can be loaded in the next one");
    if !file.canonicalize().is_ok_and(|real| real == file) {
        return Err(changed);
    }
    let bytes = read::whole(file).map_err(|why| format!("`{path}` {why}"))?;
    if read::hash(&bytes) != skill.hash {
        return Err(changed);
    }
    parse(&bytes, file)
}

fn open(path: &Path) -> Result<(String, Manifest), String> {
    let bytes = read::whole(path)?;
    Ok((read::hash(&bytes), parse(&bytes, path)?))
}

fn parse(bytes: &[u8], path: &Path) -> Result<Manifest, String> {
    let directory = path.parent().and_then(Path::file_name).unwrap_or_default();
    let mut manifest = manifest::read(bytes, &directory.to_string_lossy())?;
    if path.file_name().is_some_and(|name| name == "skill.md") {
        let warning = "the file is called `skill.md`, not `SKILL.md`";
        manifest.warnings.push(warning.into());
    }
    Ok(manifest)
}
