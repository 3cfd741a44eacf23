//! Commands that show or set one choice: `%ipycodex think m`.

use crate::config::Choice;
use crate::magics::settings::shown;
use crate::magics::{Magic, Order, View};
use crate::markdown::Theme;
use crate::session::Choices;

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
    if value.is_empty() {
        return Ok(vec![Order::Say(shown(magic.name, &choices))]);
    }
    set(&mut choices, magic.name, unquoted(value))?;
    let line = shown(magic.name, &choices);
    Ok(vec![Order::Choose(Box::new(choices)), Order::Say(line)])
}

/// `''` and `""` stand for the empty value; quotes around a value are not part of it.
fn unquoted(value: &str) -> &str {
    for quote in ['\'', '"'] {
        if let Some(inner) = value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            return inner;
        }
    }
    value
}

fn set(choices: &mut Choices, name: &str, value: &str) -> Result<(), String> {
    match name {
        "model" => value.clone_into(&mut choices.model),
        "think" => choices.think = one_of(name, value)?,
        "search" => choices.search = one_of(name, value)?,
        "code_theme" => {
            Theme::named(value).map_err(|error| error.to_string())?;
            value.clone_into(&mut choices.code_theme);
        }
        "log_exact" => {
            choices.log_exact = match value.to_ascii_lowercase().as_str() {
                "1" | "true" | "yes" | "on" => true,
                "0" | "false" | "no" | "off" => false,
                _ => return Err(format!("log_exact must be a boolean, got '{value}'")),
            };
        }
        "threads" => choices.threads = one_of(name, value)?,
        _ => choices.sandbox = one_of(name, value)?,
    }
    Ok(())
}

fn one_of<C: Choice>(name: &str, value: &str) -> Result<C, String> {
    C::parse(value).map_err(|_| {
        let mut words: Vec<&str> = C::WORDS.iter().map(|(word, _)| *word).collect();
        words.sort_unstable();
        format!("{name} must be one of {}, got '{value}'", words.join("/"))
    })
}
