//! `doctor`: looks at what the shell uses here, says of each thing whether it is well, and how to mend what is not.
//!
//! In: the surroundings and the settings. Out: [`Finding`]s, as a table or JSON. Nothing is written, no variable's
//! value and nothing secret is shown; the interpreter and the agent are asked for their versions, each for
//! ten seconds at most.

mod agent;
mod files;
mod finding;
mod kernels;
mod python;
mod terminal;

use serde_json::{Value, json};

use crate::cli::args::{Arguments, Doctor};
use crate::config::resolve;
use crate::environment::Environment;
use crate::report::Report;
use crate::screen::Screen;
use crate::text::escape::visible;
use finding::{Finding, Patient, Verdict};

/// Looks; returns the exit code.
pub(super) fn run(
    doctor: &Doctor,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let (settings, reports) = resolve(&arguments.common.flags(false)?, environment);
    let screen = Screen::open(environment, settings.color)?;
    let patient = Patient {
        environment,
        settings: &settings,
        reports: &reports,
        screen: &screen,
    };
    let groups = [
        ("Python", python::look(&patient)),
        ("Agent", agent::look(&patient)),
        ("Files", files::look(&patient)),
        ("Jupyter", kernels::look(&patient)),
        ("Terminal", terminal::look(&patient)),
    ];
    if doctor.json {
        let findings: Vec<Value> = groups
            .iter()
            .flat_map(|(group, findings)| findings.iter().map(|finding| as_json(group, finding)))
            .collect();
        let all = json!({"version": env!("CARGO_PKG_VERSION"), "findings": findings});
        screen.trusted(format!("{all}\n").as_bytes())?;
    } else {
        for (group, findings) in &groups {
            screen.untrusted(&format!("{group}\n"))?;
            findings
                .iter()
                .try_for_each(|finding| print(finding, &screen))?;
        }
    }
    screen.flush()?;
    let mut all = groups.iter().flat_map(|(_, findings)| findings);
    Ok(i32::from(all.any(|it| it.verdict == Verdict::Error)))
}

fn as_json(group: &str, finding: &Finding) -> Value {
    json!({
        "group": group, "subject": finding.subject, "verdict": finding.verdict.word(),
        "message": finding.message, "mend": finding.mend,
    })
}

fn print(finding: &Finding, screen: &Screen) -> Result<(), Report> {
    let word = format!("{:<8}", finding.verdict.word());
    let word = match screen.colour() {
        true => finding.verdict.colour().paint(word).to_string(),
        false => word,
    };
    screen.trusted(format!("  {word}").as_bytes())?;
    let message = visible(&finding.message);
    screen.untrusted(&format!("{:<12} {message}\n", finding.subject))?;
    if let Some(mend) = &finding.mend {
        screen.untrusted(&format!("{:23}{}\n", "", visible(mend)))?;
    }
    Ok(())
}
