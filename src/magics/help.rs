//! `%ipycodex help [COMMAND]`: a page in markdown, laid out by whoever shows it.

use crate::magics::{Magic, Order, TABLE, View};

/// The row of the table.
pub(super) const ROW: Magic = Magic {
    name: "help",
    arguments: "[COMMAND]",
    help: "list the commands, or explain one",
    run: help,
};

fn help(_: &Magic, name: &str, _: &View<'_>) -> Result<Vec<Order>, String> {
    let rows: Vec<&Magic> = TABLE
        .iter()
        .filter(|magic| name.is_empty() || magic.name == name)
        .collect();
    if rows.is_empty() {
        return Err(format!(
            "Unknown command: '{name}'. Run %ipycodex help for available commands."
        ));
    }
    let mut page = String::from("|:-|:-|\n|after `%ipycodex`|does|\n|:-|:-|\n");
    for magic in rows {
        // A bar inside a cell would end it.
        let usage = format!("{} {}", magic.name, magic.arguments).replace('|', "/");
        page.push_str(&format!("|`{}`|{}|\n", usage.trim_end(), magic.help));
    }
    page.push_str("|-|-|\n");
    Ok(vec![Order::Help(page)])
}
