//! `%ipycodex model`, `usage`, `agent`, `login`: answers of the agent, and the tokens in the record.
//!
//! A missing or logged-out agent costs one line; whatever does not need the agent is shown all the same.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::agent::{
    Agent, AgentCapabilities, AgentFailure, ConfigOption, Limit, ListedSession, Login, Lookup,
    LookupReply, Model, Usage,
};
use crate::agent_profile::AgentProfile;
use crate::editor::EditorRequest;
use crate::effect::{Effect, EffectsFuture, Found, To, emit, warn};
use crate::events::{Notice, TextEvent};
use crate::output::limits::grouped;
use crate::record::{RecordHandle, TurnRow};
use crate::text::similar::did_you_mean;

type Answer = Option<Result<LookupReply, AgentFailure>>;

fn look_up(agent: &mut dyn Agent, lookup: Lookup) -> impl Future<Output = Answer> + Send + use<> {
    let knows = lookup != Lookup::Models || agent.capabilities().models;
    let told = knows.then(|| agent.look_up(lookup));
    async move { told?.await.ok() }
}

/// Requests the models; none when the agent cannot list them.
fn models(
    agent: &mut dyn Agent,
) -> impl Future<Output = Result<Vec<Model>, AgentFailure>> + Send + use<> {
    let found = look_up(agent, Lookup::Models);
    async move {
        match found.await {
            Some(Ok(LookupReply::Models(models))) => Ok(models),
            Some(Err(failure)) => Err(failure),
            _ => Ok(Vec::new()),
        }
    }
}

/// Returns name and description of each model, for callers outside of any run.
pub(crate) fn model_names(
    agent: &mut dyn Agent,
) -> impl Future<Output = Vec<(String, String)>> + Send + use<> {
    let models = models(agent);
    async move {
        let models = models.await.unwrap_or_default().into_iter();
        models
            .map(|model| (model.name, model.description))
            .collect()
    }
}

/// Shows the current value, then the models.
pub(super) fn list_models(agent: &mut dyn Agent, current: String) -> EffectsFuture {
    let models = models(agent);
    Box::pin(async move {
        match models.await {
            Ok(models) if models.is_empty() => {
                emit(Notice::note("the agent does not list its models"))
            }
            Ok(models) => emit(TextEvent::Text(model_list(&models, &current))),
            Err(failure) => emit(unknown("models", &failure)),
        }
    })
}

pub(super) fn check_model(agent: &mut dyn Agent, name: String) -> EffectsFuture {
    let models = models(agent);
    Box::pin(async move {
        let models = models.await.unwrap_or_default();
        if models.is_empty() || models.iter().any(|model| model.name == name) {
            return Vec::new();
        }
        let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
        let notice = Notice::warning(format!("the agent does not list a model `{name}`"));
        emit(notice.hint(format!("its models: {}", names.join(", "))))
    })
}

/// Shows the tokens of each turn and of the session, and the account's limits when the agent reports them.
pub(super) fn show_usage(agent: &mut dyn Agent, record: RecordHandle) -> EffectsFuture {
    let limits = look_up(agent, Lookup::Limits);
    Box::pin(async move {
        let mut effects = emit(TextEvent::Text(usage_table(&record.turns().await)));
        match limits.await {
            Some(Ok(LookupReply::Limits(limits))) if !limits.is_empty() => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let now = now.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0));
                let lines = limits.iter().map(|limit| limit_line(limit, now));
                let lines: Vec<String> = lines.collect();
                effects.extend(emit(TextEvent::Text(lines.join("\n"))));
            }
            Some(Err(failure)) => effects.extend(emit(unknown("limits of the account", &failure))),
            _ => {}
        }
        effects
    })
}

/// Lists the conversations that the agent keeps; `None` when the agent cannot list them.
pub(super) fn list_kept(agent: &mut dyn Agent) -> Option<EffectsFuture> {
    let kept = agent
        .capabilities()
        .sessions
        .then(|| agent.look_up(Lookup::Sessions))?;
    Some(Box::pin(async move {
        match kept.await {
            Ok(Ok(LookupReply::Sessions(kept))) if !kept.is_empty() => {
                let lines: Vec<String> = kept.iter().map(kept_line).collect();
                emit(TextEvent::Text(lines.join("\n")))
            }
            Ok(Err(failure)) => emit(unknown("conversations that the agent keeps", &failure)),
            _ => Vec::new(),
        }
    }))
}

/// Sets one of the agent's own options; where there is nothing to set, returns the text about that option, or about
/// all.
pub(super) fn choose_option(
    agent: &mut dyn Agent,
    offers: &AgentProfile,
    name: String,
    value: String,
) -> Result<EffectsFuture, Vec<Effect>> {
    let lines: Vec<String> = offers.selections().map(ConfigOption::line).collect();
    if lines.is_empty() {
        let agent = agent.capabilities().name;
        let message = format!("the agent `{agent}` offers no modes or options");
        let notice = Notice::note(message)
            .hint("an agent reports its options when it starts: send a prompt first");
        return Err(emit(notice));
    }
    if name.is_empty() {
        return Err(emit(TextEvent::Text(lines.join("\n"))));
    }
    let Some(option) = offers.selections().find(|it| it.descriptor.id == name) else {
        let names: Vec<&str> = offers
            .selections()
            .map(|it| it.descriptor.id.as_str())
            .collect();
        let meant = did_you_mean(&name, names.iter().copied());
        let message = format!("the agent has no option `{name}`{meant}");
        let notice = Notice::warning(message).hint(format!("its options: {}", names.join(", ")));
        return Err(emit(notice));
    };
    if value.is_empty() {
        return Err(emit(TextEvent::Text(option.line())));
    }
    let values: Vec<&str> = option.values.iter().map(|it| it.id.as_str()).collect();
    if !values.contains(&value.as_str()) {
        let meant = did_you_mean(&value, values.iter().copied());
        let values = values.join("/");
        let message = format!("{name} must be one of {values}, got '{value}'{meant}");
        return Err(emit(Notice::warning(message)));
    }
    let done = agent.choose(&name, &value);
    Ok(Box::pin(async move {
        match done.await {
            Ok(Ok(())) => {
                let told = Effect::show(TextEvent::Text(format!("{name}: {value}")));
                let option = name;
                vec![told, Effect::found(Found::Option { option, value })]
            }
            Ok(Err(failure)) => emit(refused(failure)),
            Err(_) => warn(format!("the agent ended before it had set {name}")),
        }
    }))
}

/// Logs in, or shows how to.
pub(super) fn log_in(agent: &mut dyn Agent, method: Option<String>) -> EffectsFuture {
    let able = agent.capabilities();
    let known = match &able.login {
        Login::Methods(methods) => methods.as_slice(),
        Login::Unneeded | Login::Command { .. } => &[],
    };
    let wanted = method.filter(|_| !known.is_empty());
    let of = |wanted: &String| known.iter().find(|known| known.descriptor.id == *wanted);
    let found = wanted.as_ref().and_then(of);
    let program = found.and_then(|found| found.program.clone());
    let done = found.map(|found| agent.log_in(&found.descriptor.id));
    Box::pin(async move {
        match (wanted, done) {
            (_, Some(done)) => match done.await {
                Ok(Ok(())) => match program {
                    Some(program) => vec![Effect::RequestEditor(
                        To::Job,
                        EditorRequest::LogIn(program),
                    )],
                    None => emit(TextEvent::Text("Logged in.".to_owned())),
                },
                Ok(Err(failure)) => emit(refused(failure)),
                Err(_) => warn("the agent ended before it had logged in"),
            },
            (Some(wanted), None) => {
                let message = format!("there is no login method `{wanted}`");
                emit(Notice::warning(message).hint(ways_in(&able)))
            }
            (None, None) => emit(TextEvent::Text(ways_in(&able))),
        }
    })
}

fn refused(failure: AgentFailure) -> Notice {
    Notice {
        hints: failure.hints,
        ..Notice::warning(failure.message)
    }
}

fn kept_line(kept: &ListedSession) -> String {
    let parts = ["kept:", &kept.id, &kept.updated, &kept.title];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

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
            let lines = methods.iter().map(|method| {
                format!(
                    "%ipycodex login {}  {}",
                    method.descriptor.id,
                    method.descriptor.description_line()
                )
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Returns the line shown in place of a value that could not be read.
fn unknown(what: &str, failure: &AgentFailure) -> Notice {
    Notice::note(format!("the {what} could not be read: {}", failure.message))
}

/// Returns a line per model: the current one marked, its efforts with the default marked, its description.
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
    let row = |cells: [String; 6]| {
        let [name, input, cached, output, reasoning, cost] = cells;
        let line = format!(
            "{name:>6}  {input:>12}  {cached:>12}  {output:>12}  {reasoning:>12}  {cost:>12}"
        );
        line.trim_end().to_owned()
    };
    let of = |name: &str, usage: &Usage| {
        row([
            name.to_owned(),
            grouped(usage.input),
            grouped(usage.cached),
            grouped(usage.output),
            grouped(usage.reasoning),
            usage.cost.map(|cost| cost.to_string()).unwrap_or_default(),
        ])
    };
    let priced = counted.iter().any(|(_, usage)| usage.cost.is_some());
    let cost = if priced { "Cost so far" } else { "" };
    let head = ["In", "Input", "Cached", "Output", "Reasoning", cost];
    let mut sum = Usage::default();
    let mut lines = vec![row(head.map(str::to_owned))];
    for (line, usage) in &counted {
        sum.input += usage.input;
        sum.cached += usage.cached;
        sum.output += usage.output;
        sum.reasoning += usage.reasoning;
        lines.push(of(&line.to_string(), usage));
    }
    lines.push(of("Sum", &sum));
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
        line.push_str(&format!(", resets in {left}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Cost;

    #[test]
    fn tokens_stand_in_columns_and_a_price_where_one_is_told() {
        let turn = |line, cost| TurnRow {
            line,
            usage: Some(Usage {
                input: 1_234,
                output: 5,
                cost,
                ..Usage::default()
            }),
        };
        let plain = usage_table(&[turn(2, None)]);
        assert!(!plain.contains("Cost"), "{plain}");
        let priced = usage_table(&[turn(2, None), turn(14, Cost::new(0.0123, "USD"))]);
        let lines: Vec<&str> = priced.lines().collect();
        assert!(
            lines[0].ends_with("     Reasoning   Cost so far"),
            "{priced}"
        );
        assert!(lines[1].ends_with("             0"), "{priced}");
        assert!(lines[2].ends_with("  0.0123 USD"), "{priced}");
        assert!(lines.iter().all(|line| line.len() <= 80), "{priced}");
    }
}
