//! `%ipycodex help [COMMAND]` and `help keys`: a page in markdown, laid out by whoever shows it.

use super::order::CommandUsage;
use super::setting;
use crate::config::{ActionRow, GROUPS, Keymap, Setting};

/// The page that explains the command or setting `name`, all of `commands` when it is empty, or the keys. None when
/// there is nothing of that name.
pub(super) fn page(
    name: &str,
    commands: impl Iterator<Item = CommandUsage>,
    keymap: &Keymap,
) -> Option<String> {
    if name == "keys" {
        return Some(keys(keymap));
    }
    let mut rows: Vec<CommandUsage> = commands
        .filter(|usage| name.is_empty() || usage.name == name)
        .collect();
    if rows.is_empty() {
        rows.push(setting::usage(Setting::named(name)?));
    }
    let mut page = String::from("|:-|:-|\n|after `%ipycodex`|does|\n|:-|:-|\n");
    for row in rows {
        // A bar inside a cell would end it.
        let usage = format!("{} {}", row.name, row.arguments).replace('|', "/");
        page.push_str(&format!("|`{}`|{}|\n", usage.trim_end(), row.help));
    }
    page.push_str("|-|-|\n");
    Some(page)
}

/// Every action of the editor with the chords in force, the user's own marked.
fn keys(keymap: &Keymap) -> String {
    let mut page = String::from("|:-|:-|:-|\n|keys|do|name in `config.json`|\n");
    for (title, rows) in GROUPS {
        page.push_str(&format!("|:-|:-|:-|\n|**{title}**|||\n"));
        for row in *rows {
            page.push_str(&key_row(keymap, row));
        }
    }
    page.push_str(
        "|-|-|-|\n\nEsc and then a key is that key with Alt. In vi's normal mode the keys vi uses itself are vi's.\n\
         While something runs, Up takes the last line typed ahead back, Ctrl-C all of them.\n\
         Your own: `\"keys\": {\"suggest\": \"ctrl-space\", \"open_editor\": [\"f4\", \"ctrl-x ctrl-e\"], \"recall\": \
         \"\"}`\n",
    );
    page
}

fn key_row(keymap: &Keymap, row: &ActionRow) -> String {
    let bindings: Vec<_> = keymap.of(row.action).collect();
    let own = bindings.iter().any(|binding| binding.own);
    let chords: Vec<String> = bindings
        .iter()
        .map(|binding| format!("`{}`", cell_text(&binding.chord.to_string())))
        .collect();
    let shown = match (chords.is_empty(), own) {
        (true, _) => "none".to_owned(),
        (false, false) => chords.join(" · "),
        (false, true) => format!("{} (yours)", chords.join(" · ")),
    };
    format!("|{shown}|{}|`{}`|\n", row.help, row.name)
}

/// A chord without what would end its cell or its code.
fn cell_text(chord: &str) -> String {
    chord.replace('|', "bar").replace('`', "backtick")
}
