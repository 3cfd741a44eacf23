//! Commands that show or set one choice: `%ipycodex think m`.

use crate::config::Choice;
use crate::magics::settings::shown;
use crate::magics::{Magic, Order, View, unquoted};
use crate::markdown::Theme;
use crate::session::Choices;
use crate::text::similar::did_you_mean;

/// A row of the table for the choice `name`.
pub(super) const fn row(name: &'static str, arguments: &'static str, help: &'static str) -> Magic {
    Magic {
        name,
        arguments,
        help,
        run: show_or_set,
    }
}

fn show_or_set(magic: &Magic, value: &str, view: &View<'_>) -> Result<Vec<Order>, String> {
    let mut choices = view.choices.clone();
    let named = |choices: &Choices| match magic.name {
        "model" => Some(choices.model.clone()),
        "completion_model" => Some(choices.completion_model.clone()),
        _ => None,
    };
    if value.is_empty() {
        let mut orders = vec![Order::Say(shown(magic.name, &choices))];
        orders.extend(named(&choices).map(Order::ListModels));
        if magic.name == "code_theme" {
            orders.push(Order::Themes(choices.code_theme));
        }
        return Ok(orders);
    }
    set(&mut choices, magic.name, unquoted(value))?;
    let note = Order::Note(for_now(magic.name, value));
    let mut orders = vec![Order::Say(shown(magic.name, &choices)), note];
    let model = named(&choices).filter(|model| !model.is_empty());
    orders.insert(0, Order::Choose(Box::new(choices)));
    orders.extend(model.map(Order::CheckModel));
    Ok(orders)
}

/// What is said of a value that goes with the session.
pub fn for_now(name: &str, value: &str) -> String {
    format!("for this session; `%ipycodex set {name} {value}` keeps it")
}

pub(super) fn set(choices: &mut Choices, name: &str, value: &str) -> Result<(), String> {
    match name {
        "model" => value.clone_into(&mut choices.model),
        "completion_model" => value.clone_into(&mut choices.completion_model),
        "think" => choices.think = one_of(name, value)?,
        "search" => choices.search = one_of(name, value)?,
        "code_theme" => {
            Theme::named(value).map_err(|error| error.to_string())?;
            value.clone_into(&mut choices.code_theme);
            choices.code_theme_chosen = true;
        }
        "log_exact" => choices.log_exact = truth(name, value)?,
        "history_hint" => choices.history_hint = truth(name, value)?,
        "threads" => choices.threads = one_of(name, value)?,
        "approvals" => choices.approvals = one_of(name, value)?,
        "images" => choices.images = one_of(name, value)?,
        "run_cells" => choices.run_cells = one_of(name, value)?,
        _ => choices.sandbox = one_of(name, value)?,
    }
    Ok(())
}

/// A boolean as people write it.
pub(super) fn truth(name: &str, value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(format!("{name} must be a boolean, got '{value}'")),
    }
}

pub(super) fn one_of<C: Choice>(name: &str, value: &str) -> Result<C, String> {
    C::parse(value).map_err(|_| {
        let mut words: Vec<&str> = C::WORDS.iter().map(|(word, _)| *word).collect();
        words.sort_unstable();
        let meant = did_you_mean(value, words.iter().copied());
        format!(
            "{name} must be one of {}, got '{value}'{meant}",
            words.join("/")
        )
    })
}
