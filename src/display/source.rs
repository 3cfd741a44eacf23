//! The source of a cell as in the scrollback after it was typed: label, colours, continuation labels.
//!
//! For cells that an agent runs. The source is untrusted: escaped and hard-wrapped.

use nu_ansi_term::{Color, Style};

use super::colours::paint;
use super::rows::Rows;
use crate::text::escape::visible_lines;
use crate::text::{Line, counted, expand_tabs};

/// Lines shown of a prompt that a cell sends.
const ASKED: usize = 8;

/// Returns the rows of a cell with this number; its title is above.
pub(super) fn rows(number: u32, title: &str, source: &str, width: usize) -> Vec<Line> {
    let mut rows = Rows::new(width);
    if !title.trim().is_empty() {
        rows.text(0, title.trim(), Style::new().dimmed());
    }
    let label = format!("In [{number}]: ");
    let continuation = format!("{:>1$}", "...: ", label.len());
    let source = expand_tabs(&visible_lines(source.trim_end_matches('\n')), 0);
    let mut runs: Vec<Vec<(String, Style)>> = vec![Vec::new()];
    for (range, style) in paint(&source, false) {
        for (place, piece) in source[range].split('\n').enumerate() {
            if place > 0 {
                runs.push(Vec::new());
            }
            if let Some(last) = runs.last_mut().filter(|_| !piece.is_empty()) {
                last.push((piece.to_owned(), style));
            }
        }
    }
    let blank = " ".repeat(label.len());
    for (place, line) in runs.iter().enumerate() {
        let margin = if place == 0 { &label } else { &continuation };
        rows.runs((margin, Color::Green.normal()), &blank, line);
    }
    rows.into_rows()
}

/// Returns the rows of a prompt that a cell sends, as if it had been typed; of a long one the beginning.
pub(super) fn asked_rows(number: u32, prompt: &str, width: usize) -> Vec<Line> {
    let mut rows = Rows::new(width);
    let label = format!("In [{number}]: ");
    let blank = " ".repeat(label.len());
    let text = expand_tabs(&visible_lines(prompt.trim()), 0);
    let lines: Vec<&str> = text.split('\n').collect();
    for (place, line) in lines.iter().take(ASKED).enumerate() {
        let (margin, line) = match place {
            0 => (&label, format!(".{line}")),
            _ => (&blank, (*line).to_owned()),
        };
        let run = [(line, Style::new())];
        rows.runs((margin, Color::Green.normal()), &blank, &run);
    }
    if lines.len() > ASKED {
        let more = format!("… {}", counted(lines.len() - ASKED, "more line"));
        rows.text(label.len(), &more, Style::new().dimmed());
    }
    rows.into_rows()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_looks_as_if_it_had_been_typed() {
        let check = |width: usize, title: &str, source: &str, expected: &[&str]| {
            let rows: Vec<String> = rows(7, title, source, width)
                .iter()
                .map(Line::plain)
                .collect();
            assert_eq!(rows, expected, "{source:?}");
        };
        check(80, "", "a = 1\n", &["In [7]: a = 1"]);
        check(
            80,
            "look",
            "for i in x:\n\tprint(i)\n\n'''a\nb'''",
            &[
                "look",
                "In [7]: for i in x:",
                "   ...:     print(i)",
                "   ...: ",
                "   ...: '''a",
                "   ...: b'''",
            ],
        );
        check(
            20,
            "",
            "abcdefghijklmnop",
            &["In [7]: abcdefghijkl", "        mnop"],
        );
        check(
            80,
            "t\x1b[2J",
            "x\x1b]0;t\x07",
            &["t^[[2J", "In [7]: x^[]0;t^G"],
        );
        check(80, "", "", &["In [7]: "]);
    }

    #[test]
    fn the_label_is_green_and_words_are_painted() {
        let rows = rows(1, "", "for x", 80);
        assert_eq!(rows[0].to_ansi(true), "\x1b[32mIn [1]: \x1b[1mfor\x1b[0m x");
    }
}
