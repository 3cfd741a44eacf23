//! Defaults without conflicts, the user's chords over them, and the reports on wrong ones.

use std::collections::HashSet;

use super::*;
use serde_json::json;

fn keymap(setting: Value) -> (Keymap, Vec<WrongKey>) {
    Keymap::new(setting.as_object().unwrap())
}

fn meaning(keymap: &Keymap, chord: &str) -> KeyMatch {
    let chord: Chord = chord.parse().unwrap();
    keymap.lookup(chord.strokes())
}

fn only(action: KeyAction) -> KeyMatch {
    KeyMatch::Actions(vec![action])
}

#[test]
fn the_defaults_have_no_conflicts_and_every_name_is_one_word() {
    let keymap = Keymap::default();
    for (at, first) in keymap.bindings.iter().enumerate() {
        for second in &keymap.bindings[at + 1..] {
            assert!(
                !first.chord.conflicts_with(&second.chord)
                    || shared(first, second.action, &second.chord),
                "{first:?} {second:?}"
            );
            assert_ne!((first.action, &first.chord), (second.action, &second.chord));
        }
    }
    let names: HashSet<&str> = KeyAction::rows().map(|row| row.name).collect();
    assert_eq!(names.len(), KeyAction::rows().count());
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    for row in KeyAction::rows() {
        assert!(
            row.name.chars().all(word) && !row.chords.is_empty(),
            "{row:?}"
        );
        assert!(
            !row.help.ends_with('.') && !row.help.contains('|'),
            "{row:?}"
        );
        assert_eq!(KeyAction::from_name(row.name), Some(row.action));
    }
}

#[test]
fn keys_mean_what_the_table_says() {
    let keymap = Keymap::default();
    for (chord, expected) in [
        ("alt-p", only(KeyAction::PromptMode)),
        ("alt-shift-w", only(KeyAction::Blocks)),
        ("ctrl-x", KeyMatch::Prefix),
        ("ctrl-x ctrl-e", only(KeyAction::OpenEditor)),
        ("ctrl-x ctrl-p", KeyMatch::NoMatch),
        ("alt-x", KeyMatch::NoMatch),
        (
            "right",
            KeyMatch::Actions(vec![KeyAction::AcceptSuggestion, KeyAction::Right]),
        ),
        (
            "alt-c",
            KeyMatch::Actions(vec![KeyAction::Copy, KeyAction::Capitalize]),
        ),
    ] {
        assert_eq!(meaning(&keymap, chord), expected, "{chord}");
    }
}

#[test]
fn the_users_own_take_the_place_of_the_defaults() {
    let (keymap, wrong) = keymap(json!({
        "suggest": "ctrl-space",
        "prompt_mode": ["f3", "ctrl-x p"],
        "block_1": ["alt-1"],
        "recall": "",
        "unfold": [],
        "blocks": null,
        "accept_word": "ctrl-f",
    }));
    assert_eq!(wrong, []);
    for (chord, expected) in [
        ("ctrl-space", only(KeyAction::Suggest)),
        ("alt-.", KeyMatch::NoMatch),
        ("f3", only(KeyAction::PromptMode)),
        ("ctrl-x p", only(KeyAction::PromptMode)),
        ("alt-p", KeyMatch::NoMatch),
        ("alt-1", only(KeyAction::Block1)),
        ("alt-!", KeyMatch::NoMatch),
        ("alt-r", KeyMatch::NoMatch),
        ("ctrl-o", KeyMatch::NoMatch),
        ("alt-shift-w", only(KeyAction::Blocks)),
        (
            "ctrl-f",
            KeyMatch::Actions(vec![KeyAction::AcceptWord, KeyAction::Right]),
        ),
    ] {
        assert_eq!(meaning(&keymap, chord), expected, "{chord}");
    }
    let own: Vec<String> = keymap
        .bindings_of(KeyAction::PromptMode)
        .filter(|binding| binding.own)
        .map(|binding| binding.chord.to_string())
        .collect();
    assert_eq!(own, ["f3", "ctrl-x p"]);
}

#[test]
fn a_chord_taken_from_an_action_that_has_others_is_nobodys_trouble() {
    let (keymap, wrong) = keymap(json!({"suggest": "ctrl-f", "blocks": "ctrl-e"}));
    assert_eq!(wrong, []);
    for (chord, action) in [
        ("ctrl-f", KeyAction::Suggest),
        ("ctrl-e", KeyAction::Blocks),
    ] {
        let expected = vec![KeyAction::AcceptSuggestion, action];
        assert_eq!(meaning(&keymap, chord), KeyMatch::Actions(expected));
    }
}

#[test]
fn wrong_ones_are_named_and_the_rest_holds() {
    let check = |setting: Value, said: &[(&str, &str)]| {
        let (keymap, wrong) = keymap(setting);
        assert_eq!(wrong.len(), said.len(), "{wrong:?}");
        for (wrong, (action, allowed)) in wrong.iter().zip(said) {
            assert_eq!(wrong.action, *action);
            assert!(wrong.allowed.contains(allowed), "{wrong:?}");
        }
        keymap
    };
    check(json!({"sugest": "alt-x"}), &[("sugest", "`suggest`")]);
    check(json!({"qq": "alt-x"}), &[("qq", "help keys")]);
    let kept = check(
        json!({"suggest": "x", "recall": 5}),
        &[("suggest", "alt-."), ("recall", "a list of chords")],
    );
    assert_eq!(meaning(&kept, "alt-."), only(KeyAction::Suggest));
    check(json!({"suggest": ["alt-x", 1]}), &[("suggest", "a list")]);
    // Two chords of the user's, also where one is a prefix of the other.
    let first = check(
        json!({"suggest": "f5", "recall": ["f6", "f5 f5"]}),
        &[("recall", "`suggest`")],
    );
    assert_eq!(meaning(&first, "f5"), only(KeyAction::Suggest));
    assert_eq!(meaning(&first, "f6"), only(KeyAction::Recall));
    // An action that the setting does not name loses its only chord, also to a prefix of it.
    let taken = check(json!({"suggest": "alt-p"}), &[("suggest", "`prompt_mode`")]);
    assert_eq!(meaning(&taken, "alt-p"), only(KeyAction::Suggest));
    check(json!({"suggest": "alt-p", "prompt_mode": ""}), &[]);
    let prefix = check(json!({"suggest": "ctrl-x"}), &[("suggest", "`kill_text`")]);
    assert_eq!(meaning(&prefix, "ctrl-x"), only(KeyAction::Suggest));
}
