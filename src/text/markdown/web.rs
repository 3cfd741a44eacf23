//! Code to HTML with its colours, for exported pages.
//!
//! In: source and an info string. Out: the inside of a `<pre>`. Colours are those of the light theme `github`,
//! whatever the terminal shows; code of unknown languages is plain.

use syntect::easy::HighlightLines;
use syntect::highlighting::{Color, FontStyle, Theme};

use super::code::{LONGEST_LINE, syntax_token, tables};
use crate::xml_text;

const THEME: &str = "InspiredGitHub";

/// Renders `code` as the inside of a `<pre>`; `info` is a fence's info string.
pub fn code_to_html(info: &str, code: &str) -> String {
    let tables = tables();
    let token = syntax_token(info);
    let syntax = tables.syntaxes.find_syntax_by_token(token);
    let Some(syntax) = syntax.filter(|_| !token.is_empty()) else {
        return xml_text(code).into_owned();
    };
    let theme = &tables.themes.themes[THEME];
    let mut highlighter = HighlightLines::new(syntax, theme);
    let mut out = String::with_capacity(code.len() * 3);
    for line in code.split_inclusive('\n') {
        let runs = (line.len() <= LONGEST_LINE)
            .then(|| highlighter.highlight_line(line, &tables.syntaxes).ok())
            .flatten();
        let Some(runs) = runs else {
            out.push_str(&xml_text(line));
            continue;
        };
        for (style, text) in runs {
            let look = look(style.foreground, style.font_style, theme);
            if look.is_empty() || text.trim().is_empty() {
                out.push_str(&xml_text(text));
            } else {
                let text = xml_text(text);
                out.push_str(&format!("<span style=\"{look}\">{text}</span>"));
            }
        }
    }
    out
}

/// CSS of a run; empty for ordinary text.
fn look(colour: Color, font: FontStyle, theme: &Theme) -> String {
    let mut css = String::new();
    if Some(colour) != theme.settings.foreground {
        let Color { r, g, b, .. } = colour;
        css.push_str(&format!("color:#{r:02x}{g:02x}{b:02x};"));
    }
    if font.contains(FontStyle::BOLD) {
        css.push_str("font-weight:bold;");
    }
    if font.contains(FontStyle::ITALIC) {
        css.push_str("font-style:italic;");
    }
    css
}
