//! `%ipycodex help [COMMAND]`.

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
    let usage = |magic: &Magic| {
        format!("{} {}", magic.name, magic.arguments)
            .trim_end()
            .to_owned()
    };
    let widest = rows
        .iter()
        .map(|magic| usage(magic).len())
        .max()
        .unwrap_or_default();
    let lines: Vec<String> = rows
        .iter()
        .map(|magic| format!("  {:widest$}  {}", usage(magic), magic.help))
        .collect();
    let head = if name.is_empty() {
        "After %ipycodex:\n"
    } else {
        ""
    };
    Ok(vec![Order::Say(format!("{head}{}", lines.join("\n")))])
}
