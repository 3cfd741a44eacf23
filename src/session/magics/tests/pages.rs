//! The pages of `%ipycodex` alone and of its `help`.

use super::*;
use crate::magics::Page;
use crate::text::columns;

fn page(orders: Result<Vec<MagicEffect>, String>) -> Page {
    match orders.unwrap().as_slice() {
        [MagicEffect::ShowPage(page)] => page.clone(),
        orders => panic!("{orders:?}"),
    }
}

#[test]
fn alone_lists_everything() {
    let page = page(orders(""));
    let text = page.text();
    let rows: Vec<&str> = text.lines().take_while(|row| !row.is_empty()).collect();
    assert!(rows[0].starts_with("setting           value"), "{text}");
    assert!(rows[1].starts_with("model             gpt-5.5"), "{text}");
    assert!(rows[2].starts_with("completion_model  -"), "{text}");
    let from: Vec<_> = rows
        .iter()
        .map(|row| row[rows[0].find("from").unwrap()..].split(' ').next())
        .collect();
    assert_eq!(from[..3], [Some("from"), Some("session"), Some("default")]);
    assert_eq!(rows.len(), 1 + SETTINGS.len());
    for row in page.ansi(80, false).lines() {
        assert!(columns(row) <= 80, "{row}");
    }
    let rows = |width| page.ansi(width, false).lines().count();
    assert_eq!(rows(80), rows(120) + 1, "a row wraps");
}

#[test]
fn help_has_a_line_for_every_command() {
    let all = page(orders("help"));
    let told = all.ansi(80, false);
    let told: Vec<&str> = told.lines().collect();
    for usage in commands() {
        let row = format!("  {} ", usage.name);
        assert!(
            told.iter().any(|it| it.starts_with(&row)),
            "{row}: {told:#?}"
        );
    }
    // No row is wrapped: there are as many as on a wide screen.
    assert!(told.iter().all(|row| columns(row) <= 80), "{told:#?}");
    assert_eq!(
        told.len(),
        all.ansi(200, false).lines().count(),
        "{told:#?}"
    );
    for (name, parts) in [
        (
            "think",
            &[
                "%ipycodex think [l|m|h|x]",
                "  x  extra high",
                "%ipycodex set think VALUE",
            ][..],
        ),
        (
            "sandbox",
            &[
                "%ipycodex sandbox [VALUE]",
                "  read-only           reading files",
            ],
        ),
        (
            "edit_mode",
            &[
                "%ipycodex set edit_mode [emacs|vi]",
                "it applies from the next start",
            ],
        ),
        (
            "save",
            &[
                "%ipycodex save [-f] [FILE]",
                "Save the session as a Jupyter notebook.",
            ],
        ),
    ] {
        let text = page(orders(&format!("help {name}"))).text();
        for part in parts {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("context"), "{text}");
    }
}

#[test]
fn the_keys_in_force_are_listed_and_the_users_own_marked() {
    let setting = serde_json::json!({"suggest": "ctrl-space", "recall": ""});
    let (keys, wrong) = Keymap::new(setting.as_object().unwrap());
    assert!(wrong.is_empty());
    let able = AgentCapabilities::full("test");
    let page = page(orders_with("help keys", &keys, &able));
    let text = page.text();
    for part in ["ctrl-space (yours)  ", "f2 · ctrl-x ctrl-e  ", "none  "] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for row in crate::config::KeyAction::rows() {
        let wide = format!("  {}", row.name);
        assert!(text.contains(&wide), "{row:?}");
    }
    for row in page.ansi(80, false).lines() {
        assert!(columns(row) <= 80, "{row}");
    }
}
