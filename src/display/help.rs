//! Pages of help: static markdown of our own, laid out for the width at hand.

use termimad::{FmtText, MadSkin};

/// The page as text; its table wraps inside `columns`.
pub(super) fn page(markdown: &str, columns: usize, colour: bool) -> String {
    let skin = if colour {
        MadSkin::default()
    } else {
        MadSkin::no_style()
    };
    FmtText::from(&skin, markdown, Some(columns.max(8))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::columns;

    #[test]
    fn pages_stay_inside_the_width() {
        let markdown =
            "|:-|:-|\n|`name [VALUE]`|a text that is rather long for a terminal|\n|-|-|\n";
        for width in [20, 40, 80] {
            let shown = page(markdown, width, false);
            assert!(
                shown.lines().all(|line| columns(line) <= width),
                "{width}:\n{shown}"
            );
            assert!(shown.contains("VALUE"), "{shown}");
        }
    }
}
