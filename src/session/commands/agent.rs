//! What the agent can tell: models, limits of the account; and what the record knows of tokens, how to log in.
//!
//! An agent that is missing or logged out costs one line: what does not need it is told all the same.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::oneshot;

use crate::agent::{
    AgentCapabilities, AgentFailure, Facts, Kept, Limit, Login, Lookup, Model, Selection, Usage,
};
use crate::history::TurnRow;
use crate::session::commands::preview::count;
use crate::session::events::{Notice, ToldEvent};
use crate::session::run::RunSender;
use crate::session::task::Session;
use crate::text::similar::did_you_mean;

type Found = Option<Result<Facts, AgentFailure>>;

impl Session {
    fn look_up(&mut self, lookup: Lookup) -> impl Future<Output = Found> + Send + use<> {
        let agent = self.exchanges.agent.get();
        let knows = lookup != Lookup::Models || agent.capabilities().models;
        let told = knows.then(|| agent.look_up(lookup));
        async move { told?.await.ok() }
    }

    /// Tells the models to whoever asks beside the conversation; none when the agent cannot tell.
    pub(in crate::session) fn tell_models(
        &mut self,
        answer: oneshot::Sender<Vec<(String, String)>>,
    ) {
        let models = self.look_up(Lookup::Models);
        tokio::spawn(async move {
            let models = match models.await {
                Some(Ok(Facts::Models(models))) => models,
                _ => Vec::new(),
            };
            let told = models
                .into_iter()
                .map(|model| (model.name, model.description));
            // Whoever asked may have gone.
            let _ = answer.send(told.collect());
        });
    }

    /// Says a value, then the models there are.
    pub(super) fn list_models(&mut self, current: String, out: &RunSender) {
        let models = self.look_up(Lookup::Models);
        self.later(out, models, move |_, found, out| match found {
            Some(Ok(Facts::Models(models))) if !models.is_empty() => {
                out.send(ToldEvent::Text(model_list(&models, &current)));
            }
            Some(Err(failure)) => out.send(unknown("models", &failure)),
            _ => {
                let message = "the agent does not tell which models there are";
                out.send(Notice::note(message));
            }
        });
    }

    /// Warns when the agent does not name the model that was chosen.
    pub(super) fn check_model(&mut self, name: String, out: &RunSender) {
        let models = self.look_up(Lookup::Models);
        self.later(out, models, move |_, found, out| {
            let Some(Ok(Facts::Models(models))) = found else {
                return;
            };
            if !models.is_empty() && models.iter().all(|model| model.name != name) {
                let message = format!("the agent does not list a model '{name}'");
                let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
                let notice =
                    Notice::warning(message).hint(format!("it lists {}", names.join(", ")));
                out.send(notice);
            }
        });
    }

    /// Tokens of each turn and of the session, and the account's limits when the agent tells.
    pub(super) fn show_usage(&mut self, out: &RunSender) {
        let history = self.history.clone();
        let limits = self.look_up(Lookup::Limits);
        let turns = async move { (history.turns().await, limits.await) };
        self.later(out, turns, |_, (turns, limits), out| {
            out.send(ToldEvent::Text(usage_table(&turns)));
            match limits {
                Some(Ok(Facts::Limits(limits))) if !limits.is_empty() => {
                    let now = SystemTime::now().duration_since(UNIX_EPOCH);
                    let now = now.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0));
                    let lines: Vec<String> =
                        limits.iter().map(|limit| limit_line(limit, now)).collect();
                    out.send(ToldEvent::Text(lines.join("\n")));
                }
                Some(Err(failure)) => {
                    out.send(unknown("limits of the account", &failure));
                }
                _ => {}
            }
        });
    }

    /// Tells what the agent has told of itself, and the conversations it keeps when it lists them.
    pub(super) fn describe_agent(&mut self, out: &RunSender) {
        let told = self.exchanges.offers.listing();
        if !told.is_empty() {
            out.send(ToldEvent::Text(told));
        }
        let agent = self.exchanges.agent.get();
        if agent.capabilities().sessions {
            let kept = agent.look_up(Lookup::Sessions);
            self.later(out, kept, |_, kept, out| match kept {
                Ok(Ok(Facts::Sessions(kept))) if !kept.is_empty() => {
                    let lines: Vec<String> = kept.iter().map(kept_line).collect();
                    out.send(ToldEvent::Text(lines.join("\n")));
                }
                Ok(Err(failure)) => {
                    let what = "conversations that the agent keeps";
                    out.send(unknown(what, &failure));
                }
                _ => {}
            });
        }
    }

    /// Sets an option of the agent's own, or tells it, or all.
    pub(super) fn choose_option(&mut self, name: String, value: String, out: &RunSender) {
        let offers = &self.exchanges.offers;
        let lines: Vec<String> = offers.selections().map(Selection::line).collect();
        if lines.is_empty() {
            let agent = self.exchanges.agent.get().capabilities().name;
            let message = format!("the agent `{agent}` has told of no modes and no other options");
            let notice = Notice::note(message).hint("one that has some tells them when it starts");
            return out.send(notice);
        }
        if name.is_empty() {
            return out.send(ToldEvent::Text(lines.join("\n")));
        }
        let Some(option) = offers.selections().find(|it| it.of.id == name) else {
            let names: Vec<&str> = offers.selections().map(|it| it.of.id.as_str()).collect();
            let meant = did_you_mean(&name, names.iter().copied());
            let message = format!("the agent has no option '{name}'{meant}");
            let notice = Notice::warning(message).hint(format!("it has {}", names.join(", ")));
            return out.send(notice);
        };
        if value.is_empty() {
            return out.send(ToldEvent::Text(option.line()));
        }
        let values: Vec<&str> = option.values.iter().map(|it| it.id.as_str()).collect();
        if !values.contains(&value.as_str()) {
            let meant = did_you_mean(&value, values.iter().copied());
            let values = values.join("/");
            let message = format!("{name} must be one of {values}, got '{value}'{meant}");
            return out.send(Notice::warning(message));
        }
        let done = self.exchanges.agent.get().choose(&name, &value);
        self.later(out, done, move |session, done, out| match done {
            Ok(Ok(())) => {
                session.exchanges.offers.choose(&name, &value);
                out.send(ToldEvent::Text(format!("{name}: {value}")));
            }
            Ok(Err(failure)) => {
                let mut notice = Notice::warning(failure.message);
                notice.hints = failure.hints;
                out.send(notice);
            }
            Err(_) => {
                let message = format!("the agent ended before it had set {name}");
                out.send(Notice::warning(message));
            }
        });
    }

    /// Logs in, or says how to.
    pub(super) fn log_in(&mut self, method: Option<String>, out: &RunSender) {
        let agent = self.exchanges.agent.get();
        let able = agent.capabilities();
        let known = match &able.login {
            Login::Methods(methods) => methods.as_slice(),
            Login::Unneeded | Login::Command { .. } => &[],
        };
        let Some(wanted) = method.filter(|_| !known.is_empty()) else {
            return out.send(ToldEvent::Text(ways_in(&able)));
        };
        if !known.iter().any(|known| known.id == wanted) {
            let message = format!("there is no way to log in called '{wanted}'");
            let notice = Notice::warning(message).hint(ways_in(&able));
            return out.send(notice);
        }
        let done = agent.log_in(&wanted);
        self.later(out, done, |_, done, out| match done {
            Ok(Ok(())) => out.send(ToldEvent::Text("Logged in.".to_owned())),
            Ok(Err(failure)) => {
                let mut notice = Notice::warning(failure.message);
                notice.hints = failure.hints;
                out.send(notice);
            }
            Err(_) => {
                let message = "the agent ended before it had logged in";
                out.send(Notice::warning(message));
            }
        });
    }
}

/// A conversation that the agent keeps.
fn kept_line(kept: &Kept) -> String {
    let parts = ["kept:", &kept.id, &kept.updated, &kept.title];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

/// How to log in.
fn ways_in(able: &AgentCapabilities) -> String {
    match &able.login {
        Login::Unneeded => format!("The agent `{}` needs no login.", able.name),
        Login::Command { line, more } => {
            let own = format!("Log in with `{line}`: in another terminal, or here as `!{line}`.");
            let next = "The next prompt uses the new login.";
            let parts = [own.as_str(), more, next].into_iter();
            let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
            parts.join("\n")
        }
        Login::Methods(methods) => {
            let lines = methods
                .iter()
                .map(|method| format!("%ipycodex login {}  {}", method.id, method.about()));
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// The one line that stands for what could not be told.
fn unknown(what: &str, failure: &AgentFailure) -> Notice {
    Notice::note(format!("the {what} are not known: {}", failure.message))
}

/// A line for each model: chosen one marked, efforts, default effort marked, description.
fn model_list(models: &[Model], current: &str) -> String {
    let width = models.iter().map(|model| model.name.chars().count()).max();
    let width = width.unwrap_or(0);
    let chosen = |model: &Model| match current {
        "" => model.is_default,
        current => model.name == current,
    };
    let line = |model: &Model| {
        let efforts: Vec<String> = model
            .efforts
            .iter()
            .map(|effort| match *effort == model.default_effort {
                true => format!("{effort} (default)"),
                false => effort.clone(),
            })
            .collect();
        let mark = if chosen(model) { '*' } else { ' ' };
        let default = if model.is_default { " [default]" } else { "" };
        let line = format!(
            "{mark} {:width$}  {}{default}  {}",
            model.name,
            efforts.join(", "),
            model.description
        );
        line.trim_end().to_owned()
    };
    models.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn usage_table(turns: &[TurnRow]) -> String {
    let counted: Vec<(u32, Usage)> = turns
        .iter()
        .filter_map(|turn| Some((turn.line, turn.usage?)))
        .collect();
    if counted.is_empty() {
        return "No tokens have been counted in this session.".to_owned();
    }
    let row = |name: &str, usage: &Usage| {
        format!(
            "{name:>6}  {:>12}  {:>12}  {:>12}  {:>12}",
            count(usage.input),
            count(usage.cached),
            count(usage.output),
            count(usage.reasoning)
        )
    };
    let mut sum = Usage::default();
    let mut lines = vec![format!(
        "{:>6}  {:>12}  {:>12}  {:>12}  {:>12}",
        "In", "Input", "Cached", "Output", "Reasoning"
    )];
    for (line, usage) in &counted {
        sum.input += usage.input;
        sum.cached += usage.cached;
        sum.output += usage.output;
        sum.reasoning += usage.reasoning;
        lines.push(row(&line.to_string(), usage));
    }
    lines.push(row("Sum", &sum));
    lines.join("\n")
}

/// `5 h: 42% used, begins anew in 2 h 13 min`.
fn limit_line(limit: &Limit, now: i64) -> String {
    let mut line = format!("{}: {:.0}% used", limit.window, limit.used_percent);
    if let Some(left) = limit.resets_at.map(|at| at - now).filter(|left| *left > 0) {
        let minutes = left / 60 + 1;
        let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
        let left = match (days, hours) {
            (0, 0) => format!("{minutes} min"),
            (0, hours) => format!("{hours} h {minutes} min"),
            (days, hours) => format!("{days} d {hours} h"),
        };
        line.push_str(&format!(", begins anew in {left}"));
    }
    line
}
