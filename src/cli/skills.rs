//! `skills`: lists the skills with their problems, prints one, and validates a folder.
//!
//! Needs neither Python nor an agent, and writes nothing. Text from files is sanitised for the terminal.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::args::{Arguments, Skills, SkillsCommand};
use crate::config::{ConfigFlags, Paths};
use crate::environment::Environment;
use crate::screen::Screen;
use crate::skills::{Catalog, Consent, Roots, Skill, SkillDiagnostic, SkillOrigin, check};
use crate::text::columns;
use crate::text::escape::visible;
use crate::text::report::Report;

pub(super) fn run(
    skills: &Skills,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let flags = arguments.common.flags(false)?;
    let screen = Screen::open(environment, flags.color.unwrap_or_default())?;
    let status = match &skills.command {
        Some(SkillsCommand::Check { paths }) => check_all(paths, &screen)?,
        Some(SkillsCommand::Show { name }) => show(name, environment, &screen)?,
        None => list(skills.json, &flags, environment, &screen)?,
    };
    screen.flush()?;
    Ok(status)
}

fn check_all(paths: &[PathBuf], screen: &Screen) -> Result<i32, Report> {
    let mut status = 0;
    for path in paths {
        let faults = check(path);
        let shown = path.to_string_lossy();
        let shown = visible(&shown);
        if faults.is_empty() {
            screen.write_untrusted(&format!("{shown}: valid\n"))?;
        }
        for fault in faults {
            status = 1;
            screen.write_untrusted(&format!("{shown}: {}\n", visible(&fault)))?;
        }
    }
    Ok(status)
}

fn show(name: &str, environment: &Environment, screen: &Screen) -> Result<i32, Report> {
    let catalog = Catalog::find(&Roots::new(environment));
    let loaded = catalog.activate(name).map_err(|why| {
        Report::failure(why).hint("`ipycodex skills` lists them with their paths")
    })?;
    let text = loaded.reply();
    screen.write_untrusted(&text)?;
    if !text.ends_with('\n') {
        screen.write_trusted(b"\n")?;
    }
    Ok(0)
}

fn list(
    as_json: bool,
    flags: &ConfigFlags,
    environment: &Environment,
    screen: &Screen,
) -> Result<i32, Report> {
    let catalog = Catalog::find(&Roots::new(environment));
    let paths = Paths::new(environment, flags.config_dir.as_deref(), None);
    let (consent, told) = Consent::open(&paths.state_dir);
    if let Some(told) = told {
        screen.print_notice(&told)?;
    }
    let rows = rows(&catalog, &consent);
    if as_json {
        let listing = json!({
            "skills": rows.iter().map(Row::json).collect::<Vec<_>>(),
            "diagnostics": catalog.diagnostics().iter().map(diagnostic_json).collect::<Vec<_>>(),
        });
        screen.write_trusted(format!("{listing}\n").as_bytes())?;
    } else {
        screen.write_untrusted(&table(&rows))?;
        for told in catalog.diagnostics() {
            let line = format!("{}: {}", told.path, told.message);
            screen.write_untrusted(&format!("{}\n", visible(&line)))?;
        }
    }
    Ok(0)
}

struct Row<'c> {
    name: String,
    scope: &'static str,
    state: &'static str,
    path: &'c str,
    description: Option<&'c str>,
}

impl Row<'_> {
    fn json(&self) -> Value {
        json!({
            "name": self.name, "scope": self.scope, "state": self.state, "path": self.path,
            "description": self.description,
        })
    }
}

fn diagnostic_json(told: &SkillDiagnostic) -> Value {
    json!({"path": told.path, "skipped": told.skipped, "message": told.message})
}

/// Returns the skills in order, then files that are no skills.
fn rows<'c>(catalog: &'c Catalog, consent: &Consent) -> Vec<Row<'c>> {
    let listed = catalog.skills().iter().map(|skill| Row {
        name: skill.name.clone(),
        scope: match skill.origin {
            SkillOrigin::Bundled => "built in",
            SkillOrigin::Own => "own",
            SkillOrigin::Project(_) => "project",
        },
        state: state(skill, consent),
        path: &skill.path,
        description: Some(&skill.description),
    });
    let is_skill = |told: &&SkillDiagnostic| {
        told.skipped && told.path.to_ascii_lowercase().ends_with("/skill.md")
    };
    let skipped = catalog.diagnostics().iter().filter(is_skill).map(|told| {
        let directory = Path::new(&told.path).parent().and_then(Path::file_name);
        Row {
            name: directory.unwrap_or_default().to_string_lossy().into_owned(),
            scope: "-",
            state: "skipped",
            path: &told.path,
            description: None,
        }
    });
    listed.chain(skipped).collect()
}

fn state(skill: &Skill, consent: &Consent) -> &'static str {
    match &skill.origin {
        _ if skill.shadowed => "shadowed",
        SkillOrigin::Project(project) if !consent.trusts(project) => "asks first",
        _ => "listed",
    }
}

fn table(rows: &[Row<'_>]) -> String {
    let names: Vec<_> = rows.iter().map(|row| visible(&row.name)).collect();
    let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    let width = widest.clamp(4, 40);
    let mut table = format!(
        "Name{}  Scope     State       Path\n",
        " ".repeat(width - 4)
    );
    for (row, name) in rows.iter().zip(&names) {
        let padding = " ".repeat(width.saturating_sub(columns(name)));
        let path = visible(row.path);
        table.push_str(&format!(
            "{name}{padding}  {:<8}  {:<10}  {path}\n",
            row.scope, row.state
        ));
    }
    table
}
