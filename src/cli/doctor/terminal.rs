//! What the terminal can do, as far as its environment tells.

use super::finding::{Finding, Patient};
use crate::display::Pictures;

pub(super) fn look(patient: &Patient<'_>) -> Vec<Finding> {
    let environment = patient.environment;
    let screen = patient.screen;
    if !environment.stdout_is_terminal {
        let message = "standard output is no terminal, so none was looked at";
        return vec![Finding::ok("terminal", message)];
    }
    let name = environment.variable("TERM").unwrap_or("");
    let size = screen.size();
    let kind = match screen.rich() {
        true => Finding::ok(
            "terminal",
            format!("`{name}`, {} x {}", size.columns, size.rows),
        ),
        false => Finding::warning(
            "terminal",
            format!("TERM is `{name}`: the editor is plain, nothing is drawn"),
            "`export TERM=xterm-256color`, if your terminal is one",
        ),
    };
    let colours = match screen.colour() {
        true => Finding::ok("colours", "shown"),
        false => Finding::ok("colours", "not shown: NO_COLOR, TERM or `--color` say so"),
    };
    let pictures = Pictures::new(environment, patient.settings.choices.images);
    vec![
        kind,
        colours,
        Finding::ok("pictures", pictures.told(screen)),
        characters(patient),
    ]
}

/// Whether the locale has characters beyond ASCII.
fn characters(patient: &Patient<'_>) -> Finding {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let named = names
        .iter()
        .find_map(|name| Some((*name, patient.environment.variable(name)?)));
    let utf8 = |value: &str| {
        let value = value.to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    };
    match named {
        Some((_, value)) if utf8(value) => Finding::ok("characters", "UTF-8"),
        Some((name, _)) => Finding::warning(
            "characters",
            format!("{name} names a locale without UTF-8: programs in cells may print `?`"),
            format!("`export {name}=C.UTF-8`"),
        ),
        None => Finding::warning(
            "characters",
            "no locale is set: programs in cells may print `?`",
            "`export LANG=C.UTF-8`",
        ),
    }
}
