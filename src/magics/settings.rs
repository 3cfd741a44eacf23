//! The listing of settings and files: `%ipycodex` alone.

use crate::config::Choice;
use crate::magics::View;
use crate::session::Choices;

/// What a session can change.
pub(super) const NAMES: [&str; 13] = [
    "model",
    "completion_model",
    "think",
    "search",
    "code_theme",
    "log_exact",
    "threads",
    "approvals",
    "sandbox",
    "run_cells",
    "images",
    "history_hint",
    "agent",
];

/// Every choice and every file, a line each.
pub(super) fn listing(view: &View<'_>) -> String {
    let choices = NAMES.iter().map(|name| shown(name, view.choices));
    let places = view
        .places
        .iter()
        .map(|(label, path)| format!("{label}=PosixPath('{}')", path.display()));
    choices.chain(places).collect::<Vec<_>>().join("\n")
}

/// One choice as it is shown: `self.think='l'`.
pub(super) fn shown(name: &str, choices: &Choices) -> String {
    let truth = |value| format!("self.{name}={}", if value { "True" } else { "False" });
    let quoted = |value: &str| format!("self.{name}='{value}'");
    match name {
        "agent" => quoted(&choices.agent.to_string()),
        "model" => quoted(&choices.model),
        "completion_model" => quoted(&choices.completion_model),
        "think" => quoted(choices.think.word()),
        "search" => quoted(choices.search.word()),
        "code_theme" => quoted(&choices.code_theme),
        "log_exact" => truth(choices.log_exact),
        "history_hint" => truth(choices.history_hint),
        "threads" => quoted(choices.threads.word()),
        "approvals" => quoted(choices.approvals.word()),
        "images" => quoted(choices.images.word()),
        "run_cells" => quoted(choices.run_cells.word()),
        _ => quoted(choices.sandbox.word()),
    }
}
