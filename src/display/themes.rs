//! The themes for code, each with a few lines in its colours.
//!
//! In: the theme in force. Out: rows for a terminal.

use nu_ansi_term::Style;

use crate::markdown::{CodeHighlighter, Theme};
use crate::text::Line;

const SAMPLE: [&str; 3] = [
    "def area(radius: float) -> float:  # of a disc",
    "    \"\"\"Return what is inside.\"\"\"",
    "    return 3.14159 * radius ** 2 if radius > 0 else None",
];

/// Returns the list of themes with samples, one row per line.
pub fn theme_rows(in_force: Theme, colour: bool) -> Vec<String> {
    let mut rows = Vec::new();
    for name in Theme::names() {
        let Ok(theme) = Theme::named(name) else {
            continue;
        };
        let theme = theme.like(in_force);
        let chosen = theme == in_force;
        let mut heading = Line::default();
        heading.push(if chosen { "* " } else { "  " }, Style::new(), None);
        heading.push(name, Style::new().bold(), None);
        if chosen {
            heading.push(" (in force)", Style::new(), None);
        }
        rows.push(heading.to_ansi(colour));
        // Without colour all samples look the same.
        if colour {
            let mut highlighter = CodeHighlighter::new("python", Some(theme));
            for line in SAMPLE {
                let mut row = Line::default();
                row.push("      ", Style::new(), None);
                for (text, style) in highlighter.line(line) {
                    row.push(&text, style, None);
                }
                rows.push(row.to_ansi(true));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_theme_in_force_is_marked_and_each_has_its_colours() {
        let theme = Theme::named("github").expect("known");
        let plain = theme_rows(theme, false);
        assert_eq!(plain.len(), Theme::names().count());
        assert!(
            plain.contains(&"* github (in force)".to_owned()),
            "{plain:?}"
        );
        assert_eq!(plain.iter().filter(|row| row.starts_with('*')).count(), 1);
        let coloured = theme_rows(theme, true);
        assert_eq!(coloured.len(), 4 * plain.len());
        let samples: std::collections::BTreeSet<&String> =
            coloured.iter().skip(1).step_by(4).collect();
        assert_eq!(samples.len(), plain.len(), "no two look the same");
    }
}
