//! Pages of `%ipycodex help [COMMAND]` and `help keys`; the front-end lays them out.
//!
//! Invariant: no row is wider than 80 columns.

use super::magic::{CommandUsage, Magic};
use super::page::{Page, Section};
use super::setting;
use crate::config::{ActionRow, GROUPS, KeyAction, Keymap, Setting, TakesEffect};

/// The group of commands that the settings join.
pub(super) const SETTINGS: &str = "Settings";

/// The group of commands that begins with keys.
pub(super) const ABOUT_KEYS: &str = "Keys";

/// The keys listed together with the commands.
const KEYS: &[KeyAction] = &[
    KeyAction::Enter,
    KeyAction::Newline,
    KeyAction::Complete,
    KeyAction::Inspect,
    KeyAction::Suggest,
    KeyAction::Blocks,
    KeyAction::SearchHistory,
    KeyAction::OpenEditor,
    KeyAction::Unfold,
];

/// Returns the page of the command or setting `name`, of all `groups` when the name is empty, or of the keys;
/// `None` for an unknown name.
pub(super) fn page(
    name: &str,
    groups: &[(&'static str, &'static [Magic])],
    keymap: &Keymap,
) -> Option<Page> {
    match name {
        "" => Some(everything(groups, keymap)),
        "keys" => Some(keys(keymap)),
        name => {
            let mut magics = groups.iter().flat_map(|(_, magics)| magics.iter());
            match magics.find(|magic| magic.name == name) {
                Some(magic) => Some(of_command(magic)),
                None => of_setting(name.strip_prefix("set ").unwrap_or(name)),
            }
        }
    }
}

fn row(cells: [&str; 2]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn usage_row(usage: &CommandUsage) -> Vec<String> {
    let typed = format!("{} {}", usage.name, usage.arguments);
    row([typed.trim_end(), &usage.help])
}

fn everything(groups: &[(&'static str, &'static [Magic])], keymap: &Keymap) -> Page {
    let mut sections = vec![Section {
        paragraphs: vec![
            "Type a command after `%ipycodex`; `%ipycodex help COMMAND` explains it.".to_owned(),
        ],
        ..Section::default()
    }];
    for (title, magics) in groups {
        let magics = magics.iter().map(|magic| {
            let typed = format!("{} {}", magic.name, magic.arguments);
            row([typed.trim_end(), magic.help])
        });
        let keys = KEYS.iter().filter(|_| *title == ABOUT_KEYS);
        let keys = keys.filter_map(|action| key(*action, keymap));
        let settings = setting::commands().filter(|_| *title == SETTINGS);
        let settings = settings.map(|it| usage_row(&setting::usage(it)));
        let title = match *title {
            SETTINGS => format!("{title} (they hold for this session; `set` keeps them)"),
            title => title.to_owned(),
        };
        let rows = keys.chain(magics).chain(settings).collect();
        sections.push(Section::titled(title, rows));
    }
    Page { sections }
}

/// Returns the first chord of an action, and what the action does.
fn key(action: KeyAction, keymap: &Keymap) -> Option<Vec<String>> {
    let what = KeyAction::rows().find(|it| it.action == action)?.help;
    let chord = keymap.bindings_of(action).next()?.chord.to_string();
    Some(row([&chord, what]))
}

fn of_command(magic: &Magic) -> Page {
    let typed = format!("%ipycodex {} {}", magic.name, magic.arguments);
    explained(&typed, magic.help, Vec::new(), magic.more)
}

fn of_setting(name: &str) -> Option<Page> {
    let setting = Setting::from_name(name)?;
    let usage = setting::usage(setting);
    let typed = format!("%ipycodex {} {}", usage.name, usage.arguments);
    let lasts = match setting.when {
        TakesEffect::Now => {
            format!(
                "It holds for this session; `%ipycodex set {name} VALUE` keeps it. Without a value, it is shown."
            )
        }
        TakesEffect::NextStart => {
            "`set` writes it into `config.json`; it applies from the next start.".to_owned()
        }
        TakesEffect::InFile => {
            "Set it in `config.json`; it applies from the next start.".to_owned()
        }
    };
    let meanings = setting.meanings.iter();
    let meanings = meanings.map(|(word, what)| row([word, what])).collect();
    Some(explained(&typed, setting.help, meanings, &lasts))
}

fn explained(typed: &str, help: &str, meanings: Vec<Vec<String>>, more: &str) -> Page {
    let mut characters = help.chars();
    let first = characters.next().map(|c| c.to_uppercase().to_string());
    let help = format!("{}{}.", first.unwrap_or_default(), characters.as_str());
    let paragraphs = |text: &str| Section {
        paragraphs: vec![text.to_owned()],
        ..Section::default()
    };
    let mut sections = vec![Section {
        paragraphs: vec![help],
        ..Section::titled(typed.trim_end(), Vec::new())
    }];
    if !meanings.is_empty() {
        sections.push(Section::titled("Values", meanings));
    }
    if !more.is_empty() {
        sections.push(paragraphs(more));
    }
    Page { sections }
}

/// Lists every action of the editor with its chords; marks chords that the user set.
fn keys(keymap: &Keymap) -> Page {
    let mut sections: Vec<Section> = Vec::new();
    for (title, rows) in GROUPS {
        let rows = rows.iter().map(|row| key_row(keymap, row)).collect();
        sections.push(Section::titled(*title, rows));
    }
    if let Some(first) = sections.first_mut() {
        first.head = ["keys", "name", "what they do"].map(str::to_owned).to_vec();
    }
    let paragraphs = [
        "Esc followed by a key is the same as Alt with that key. In vi's normal mode, vi's own keys come first.",
        "Up and Down look for inputs that begin with the text before the cursor. Keys that take the grey text keep \
         their usual meaning when there is none; Alt-c copies the last answer only while nothing is typed.",
        "While something runs, Up takes back the last line typed ahead, Ctrl-C all of them.",
        "While an answer streams, Enter sends a prompt into its turn, Tab queues it behind.",
        "Change a key by its name in `config.json`: `\"keys\": {\"suggest\": \"ctrl-space\", \"open_editor\": \
         [\"f4\", \"ctrl-x ctrl-e\"], \"recall\": \"\"}`. An empty string removes the key.",
    ];
    sections.push(Section {
        paragraphs: paragraphs.map(str::to_owned).to_vec(),
        ..Section::default()
    });
    Page { sections }
}

fn key_row(keymap: &Keymap, row: &ActionRow) -> Vec<String> {
    let bindings: Vec<_> = keymap.bindings_of(row.action).collect();
    let own = bindings.iter().any(|binding| binding.own);
    let chords: Vec<String> = bindings
        .iter()
        .map(|binding| binding.chord.to_string())
        .collect();
    let shown = match (chords.is_empty(), own) {
        (true, _) => "none".to_owned(),
        (false, false) => chords.join(" · "),
        (false, true) => format!("{} (yours)", chords.join(" · ")),
    };
    vec![shown, row.name.to_owned(), row.help.to_owned()]
}
