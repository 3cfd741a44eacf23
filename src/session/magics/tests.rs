//! Commands as data: a line in, effects or the error line out.

mod pages;

use super::*;
use crate::agent::AgentCapabilities;
use crate::agent::Effort;
use crate::config::{Choices, Keymap, Provenance, SETTINGS};

fn choices() -> Choices {
    Choices {
        model: "gpt-5.5".into(),
        ..Choices::default()
    }
}

fn orders(line: &str) -> Result<Vec<MagicEffect>, String> {
    orders_with(line, &Keymap::default(), &AgentCapabilities::full("test"))
}

fn orders_with(
    line: &str,
    keys: &Keymap,
    able: &AgentCapabilities,
) -> Result<Vec<MagicEffect>, String> {
    let view = MagicContext {
        choices: &choices(),
        provenance: &Provenance::default(),
        keys,
        agent: able,
    };
    run(line, &view)
}

fn check(line: &str, expected: Result<&str, &str>) {
    let said = orders(line).map(|orders| {
        orders
            .iter()
            .filter_map(|order| match order {
                MagicEffect::Print(text) => Some(text.clone()),
                _ => None,
            })
            .collect::<Vec<_>>()
            .join("|")
    });
    assert_eq!(
        said.as_ref().map(String::as_str).map_err(String::as_str),
        expected,
        "{line}"
    );
}

#[test]
fn values_are_shown_and_set() {
    check("think", Ok("think is l"));
    check("think m", Ok("think is m"));
    check("think H", Ok("think is h"));
    check("search off", Ok("search is off"));
    check("log_exact yes", Ok("log_exact is true"));
    check("history_hint off", Ok("history_hint is false"));
    check("model ''", Ok("model is not set"));
    check("threads ephemeral", Ok("threads is ephemeral"));
}

#[test]
fn bad_values_name_the_allowed_ones() {
    check("think q", Err("think must be one of h/l/m/x, got 'q'"));
    check(
        "log_exact maybe",
        Err("log_exact must be a boolean, got 'maybe'"),
    );
    check(
        "bogus",
        Err("Unknown command: 'bogus'. Run %ipycodex help for available commands."),
    );
    check(
        "sesions",
        Err(
            "Unknown command: 'sesions'. Run %ipycodex help for available commands. (did you mean `sessions`?)",
        ),
    );
    check(
        "sandbox workspce-write",
        Err(
            "sandbox must be one of danger-full-access/read-only/workspace-write, got 'workspce-write' (did you mean \
             `workspace-write`?)",
        ),
    );
    check(
        "help bogus",
        Err("Unknown command: 'bogus'. Run %ipycodex help for available commands."),
    );
}

#[test]
fn values_of_what_the_agent_may_do() {
    check("approvals", Ok("approvals is never"));
    check("approvals ask", Ok("approvals is ask"));
    check(
        "approvals maybe",
        Err("approvals must be one of ask/never, got 'maybe'"),
    );
    check("run_cells AUTO", Ok("run_cells is auto"));
    check(
        "run_cells x",
        Err("run_cells must be one of ask/auto/off/preview, got 'x'"),
    );
    check("completion_model 'small'", Ok("completion_model is small"));
}

#[test]
fn entries_are_named_by_number_and_range() {
    let hide = |lines: &[(u32, u32)], hidden| {
        let lines = lines.iter().map(|(from, to)| *from..=*to).collect();
        Ok(vec![MagicEffect::Hide { lines, hidden }])
    };
    assert_eq!(orders("hide 3"), hide(&[(3, 3)], true));
    assert_eq!(orders("hide 3-5 8"), hide(&[(3, 5), (8, 8)], true));
    assert_eq!(
        orders("show  1,2-2 ,7"),
        hide(&[(1, 1), (2, 2), (7, 7)], false)
    );
    for word in [
        "x",
        "0",
        "5-3",
        "1-",
        "-1",
        "1-2-3",
        "+1",
        "99999999999",
        "½",
    ] {
        let told = format!("hide takes In numbers and ranges of them, like `3-5 8`, got '{word}'");
        assert_eq!(orders(&format!("hide 1 {word}")), Err(told));
    }
    assert_eq!(
        orders("show"),
        Err("Usage: %ipycodex show N, like `3-5 8`".into())
    );
}

#[test]
fn what_takes_no_arguments_says_so() {
    for name in [
        "undo",
        "retry",
        "usage",
        "context",
        "tools",
        "skills",
        "interrupt",
        "history",
        "reset",
    ] {
        assert_eq!(orders(name).map(|orders| orders.len()), Ok(1), "{name}");
        let told = format!("{name} takes no arguments, got 'now'");
        assert_eq!(orders(&format!("{name} now")), Err(told));
    }
    assert_eq!(
        orders("rename my work"),
        Ok(vec![MagicEffect::Rename("my work".into())])
    );
    for number in ["12", "-3", "'7'"] {
        let plain = number.trim_matches('\'');
        assert_eq!(
            orders(&format!("rename {number}")),
            Err(format!(
                "a name must not be a number: `-r {plain}` means the session with that ID"
            ))
        );
    }
    assert_eq!(
        orders("rename 12 apples"),
        Ok(vec![MagicEffect::Rename("12 apples".into())])
    );
    assert_eq!(orders("resume"), Ok(vec![MagicEffect::PickSession]));
    for bad in ["rename", "rename ''", "rename a\u{1b}b"] {
        assert_eq!(
            orders(bad),
            Err("Usage: %ipycodex rename NAME".into()),
            "{bad:?}"
        );
    }
}

#[test]
fn setting_orders_the_choice() {
    let orders = orders("think x").unwrap();
    assert!(
        matches!(&orders[0], MagicEffect::ApplyChoices(chosen) if chosen.think == Effort::ExtraHigh)
    );
}

#[test]
fn what_is_kept_is_checked_first() {
    let kept = |line: &str| match orders(line).as_deref() {
        Ok([MagicEffect::SaveSetting { name, value }]) => Ok((
            *name,
            value.as_ref().map(ToString::to_string).unwrap_or_default(),
        )),
        Ok(orders) => panic!("{line}: {orders:?}"),
        Err(why) => Err(why.to_owned()),
    };
    let is = |line: &str, name: &str, value: &str| {
        assert_eq!(kept(line), Ok((name, value.to_owned())), "{line}");
    };
    is("set think H", "think", "\"h\"");
    is("set model 'a b'", "model", "\"a b\"");
    is("set model ''", "model", "\"\"");
    is("set log_exact yes", "log_exact", "true");
    is("set prompt_mode off", "prompt_mode", "false");
    is("set edit_mode VI", "edit_mode", "\"vi\"");
    is("set agent demo", "agent", "\"demo\"");
    is("set agent acp:x --y", "agent", "\"acp:x --y\"");
    is("set python ~/x/bin/python", "python", "\"~/x/bin/python\"");
    is("set think", "think", "");
    for (line, part) in [
        ("set", "Usage: %ipycodex set NAME VALUE (names: model, "),
        (
            "set thnik h",
            "there is no setting `thnik` (did you mean `think`?)",
        ),
        ("set think q", "think must be one of h/l/m/x, got 'q'"),
        (
            "set edit_mode vim",
            "edit_mode must be one of emacs/vi, got 'vim'",
        ),
        ("set agent acp:", "agent must be one of codex/demo"),
        ("set keys x", "config.json"),
        ("set code_theme nope", "code_theme must be one of "),
    ] {
        let why = kept(line).unwrap_err();
        assert!(why.contains(part), "{line}: {why}");
    }
}

#[test]
fn what_means_nothing_to_the_agent_is_said_when_it_is_set() {
    let keys = Keymap::default();
    for (able, expected) in [
        (AgentCapabilities::full("a"), None),
        (
            AgentCapabilities::text_only("a"),
            Some("has no effect with the agent `a`"),
        ),
    ] {
        for line in [
            "think h",
            "set think h",
            "sandbox read-only",
            "search off",
            "approvals ask",
            "model x",
            "completion_model x",
            "run_cells off",
        ] {
            let orders = orders_with(line, &keys, &able).unwrap();
            let said = orders.iter().find_map(|order| match order {
                MagicEffect::Note(note) => note
                    .split_once("` ")
                    .filter(|(name, _)| line.contains(&name[1..])),
                _ => None,
            });
            assert_eq!(said.map(|(_, rest)| rest), expected, "{line}: {orders:?}");
        }
        let orders = orders_with("images off", &keys, &able).unwrap();
        assert!(!format!("{orders:?}").contains("no effect"));
    }
}

#[test]
fn the_words_that_may_follow_come_from_the_table() {
    let check = |name, expected: &[&'static str]| {
        assert_eq!(
            argument_values(name),
            CommandValues::Words(expected.to_vec()),
            "{name}"
        );
    };
    check("think", &["l", "m", "h", "x"]);
    check("log_exact", &["true", "false"]);
    check("run_cells", &["ask", "preview", "auto", "off"]);
    check(
        "sandbox",
        &["read-only", "workspace-write", "danger-full-access"],
    );
    check("edit_mode", &["emacs", "vi"]);
    assert!(
        matches!(argument_values("set"), CommandValues::Words(names) if names.contains(&"think"))
    );
    assert_eq!(argument_values("model"), CommandValues::Models);
    assert_eq!(argument_values("rename"), CommandValues::Unknown);
    assert_eq!(argument_values("nope"), CommandValues::Unknown);
    assert!(
        matches!(argument_values("code_theme"), CommandValues::Words(themes) if themes.contains(&"monokai"))
    );
}
