//! `doctor`: checks everything the shell uses here, with a verdict and a remedy for each.
//!
//! In: the environment and the settings. Out: [`Finding`]s, as a table or JSON. Invariants: nothing is written, and
//! no secrets and no values of variables are shown; the interpreter and the agent are run only to report about
//! themselves, each for ten seconds at most.

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
use crate::screen::Screen;
use crate::text::escape::visible;
use crate::text::indented;
use crate::text::report::Report;
use finding::{DoctorContext, Finding, Verdict};

pub(super) fn run(
    doctor: &Doctor,
    arguments: &Arguments,
    environment: &Environment,
) -> Result<i32, Report> {
    let (settings, reports) = resolve(&arguments.common.flags(false)?, environment);
    let screen = Screen::open(environment, settings.color)?;
    let context = DoctorContext {
        environment,
        settings: &settings,
        reports: &reports,
        screen: &screen,
    };
    let groups = [
        ("Python", python::look(&context)),
        ("Agent", agent::look(&context)),
        ("Files", files::look(&context)),
        ("Jupyter", kernels::look(&context)),
        ("Terminal", terminal::look(&context)),
    ];
    if doctor.json {
        let findings: Vec<Value> = groups
            .iter()
            .flat_map(|(group, findings)| findings.iter().map(|finding| as_json(group, finding)))
            .collect();
        let all = json!({"version": env!("CARGO_PKG_VERSION"), "findings": findings});
        screen.write_trusted(format!("{all}\n").as_bytes())?;
    } else {
        for (group, findings) in &groups {
            screen.write_untrusted(&format!("{group}\n"))?;
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
    // In a file a finding is one line.
    let width = match screen.is_rich() {
        true => usize::from(screen.size().columns),
        false => usize::MAX,
    };
    let text = told(finding, width);
    let (word, rest) = text.split_at(VERDICT.min(text.len()));
    match screen.colour() {
        true => {
            screen.write_trusted(finding.verdict.colour().paint(word).to_string().as_bytes())?
        }
        false => screen.write_untrusted(word)?,
    }
    Ok(screen.write_untrusted(rest)?)
}

/// Width of the verdict in columns.
const VERDICT: usize = 10;

/// Indent of a finding's text, and (as `NARROW`) of its further rows on a screen narrower than `WIDE` columns.
const MARGIN: usize = 23;
const NARROW: usize = 4;
const WIDE: usize = 60;

fn told(finding: &Finding, width: usize) -> String {
    let (verdict, subject) = (finding.verdict.word(), finding.subject);
    let margin = if width < WIDE { NARROW } else { MARGIN };
    let message = visible(&finding.message);
    let mut text = format!("  {verdict:<8}{subject:<12} {message}\n");
    if let Some(mend) = &finding.mend {
        text.push_str(&format!("{:margin$}{}\n", "", visible(mend)));
    }
    indented(&text, width, margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_stay_in_their_columns() {
        let finding = Finding::warning(
            "clipboard",
            "one two three four five six seven eight",
            "work in `the tmux`",
        );
        let check = |width, expected: &[&str]| {
            assert_eq!(told(&finding, width).lines().collect::<Vec<_>>(), expected);
        };
        let first = "  warning clipboard    one two three four five six seven eight";
        let margin = " ".repeat(MARGIN);
        let (second, mend) = (
            format!("{margin}eight"),
            format!("{margin}work in `the tmux`"),
        );
        check(usize::MAX, &[first, &mend]);
        check(60, &[first.trim_end_matches(" eight"), &second, &mend]);
        check(
            36,
            &[
                "  warning clipboard    one two three",
                "    four five six seven eight",
                "    work in `the tmux`",
            ],
        );
    }
}
