//! HTML to readable text, for values that have no other form.
//!
//! In: any text and a width. Out: its words, without tags: block elements start new lines, tables have aligned
//! columns (`grid`), list items a mark or a number, links their address after them, images and players a
//! placeholder; scripts, style sheets and control characters are removed. Total and linear; nothing is fetched or
//! run. `html5gum` separates tags, text and entities as browsers do; the layout is by hand, since `html2text`
//! refuses lists nested deeper than the width, and its time is quadratic in the depth.
//!
//! Absent on purpose: layout beyond tables, style sheets.

mod grid;

use grid::Grid;

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use crate::NESTING;

/// Depth to which nested tables and nested lists are laid out; deeper ones become text.
const DEEPEST: usize = NESTING;

/// Longest address that is shown, in bytes.
const LONGEST_ADDRESS: usize = 2000;

/// Returns the text of `html`, without blank lines and without a newline at the end. Tables are at most `width`
/// columns wide.
pub(crate) fn html_to_text(html: &str, width: usize) -> String {
    let mut page = Page {
        width,
        ..Page::default()
    };
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true); // Scripts and style sheets hold no markup.
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        page.take(token);
    }
    while !page.tables.is_empty() {
        page.end_table();
    }
    page.flow.finish()
}

/// The text so far; the last line is kept apart until it ends.
#[derive(Default)]
struct Flow {
    out: String,
    line: String,
    /// A pending blank, written only if a word follows.
    gap: bool,
}

impl Flow {
    fn word(&mut self, c: char) {
        if self.gap && !self.line.is_empty() && !self.line.ends_with(' ') {
            self.line.push(' ');
        }
        self.gap = false;
        self.line.push(c);
    }

    fn end_line(&mut self) {
        let line = self.line.trim_end();
        if !line.is_empty() && !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out.push_str(line);
        self.line.clear();
        self.gap = false;
    }

    fn finish(mut self) -> String {
        self.end_line();
        self.out.truncate(self.out.trim_end().len());
        self.out
    }
}

struct Table {
    grid: Grid,
    caption: String,
    /// Text before the table.
    around: Flow,
}

impl Table {
    /// Adds the text so far to the open cell, if there is one.
    fn end_cell(&mut self, flow: &mut Flow) {
        let text = std::mem::take(flow).finish();
        if self.grid.is_in_cell() {
            self.grid.end_cell(text);
        } else if !text.is_empty() {
            self.caption.push_str(&text);
            self.caption.push('\n');
        }
    }
}

#[derive(Default)]
struct Page {
    width: usize,
    flow: Flow,
    preformatted: usize,
    tables: Vec<Table>,
    /// Open lists, innermost last: the number of the last item where they are ordered.
    lists: Vec<Option<u32>>,
    /// The element whose content is not shown, until it ends.
    hidden: Option<Vec<u8>>,
    /// The open link: its address, and where its text begins in the line.
    link: Option<(String, usize)>,
}

impl Page {
    fn take(&mut self, token: Token) {
        match token {
            Token::EndTag(tag) if self.hidden.is_some() => {
                self.hidden.take_if(|name| *name == *tag.name);
            }
            _ if self.hidden.is_some() => {}
            Token::String(text) => {
                let text = String::from_utf8_lossy(&text);
                text.chars().for_each(|c| self.character(c));
            }
            Token::StartTag(tag) => self.open(&tag),
            Token::EndTag(tag) => self.close(&String::from_utf8_lossy(&tag.name)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }

    fn character(&mut self, c: char) {
        if c.is_control() && !c.is_ascii_whitespace() {
            // Control characters never reach a terminal.
        } else if self.preformatted > 0 && c == '\n' {
            self.flow.end_line();
            self.flow.out.push('\n');
        } else if self.preformatted > 0 {
            self.flow.line.push(c);
        } else if c.is_ascii_whitespace() || c == '\u{a0}' {
            self.flow.gap = true;
        } else {
            self.flow.word(c);
        }
    }

    fn end_line(&mut self) {
        self.link = None;
        self.flow.end_line();
    }

    /// Writes a word that is not in the source, such as a placeholder.
    fn say(&mut self, word: &str) {
        self.flow.gap |= !self.flow.line.is_empty();
        word.chars().for_each(|c| self.flow.word(c));
    }

    fn open(&mut self, tag: &StartTag<()>) {
        let name = &*String::from_utf8_lossy(&tag.name);
        match name {
            "script" | "style" | "template" | "head" | "title" => {
                self.hidden = Some(tag.name.to_vec());
            }
            "audio" | "video" | "svg" | "canvas" | "iframe" | "object" => {
                let word = if name == "svg" { "drawing" } else { name };
                self.say(&format!("[{word}]"));
                self.hidden = (!tag.self_closing).then(|| tag.name.to_vec());
            }
            "pre" => {
                self.end_line();
                self.preformatted += 1;
            }
            "table" if self.tables.len() < DEEPEST => {
                self.end_line();
                let around = std::mem::take(&mut self.flow);
                self.tables.push(Table {
                    grid: Grid::default(),
                    caption: String::new(),
                    around,
                });
            }
            "tr" => match self.tables.last_mut() {
                Some(table) => {
                    table.end_cell(&mut self.flow);
                    table.grid.row();
                }
                None => self.end_line(),
            },
            "td" | "th" => match self.tables.last_mut() {
                Some(table) => {
                    table.end_cell(&mut self.flow);
                    let span = |name| attribute(tag, name).and_then(|n| n.parse().ok());
                    let (across, down) = (span("colspan"), span("rowspan"));
                    table
                        .grid
                        .begin_cell(name == "th", across.unwrap_or(1), down.unwrap_or(1));
                }
                None if !self.flow.line.is_empty() => {
                    self.flow.line.push_str("  ");
                    self.flow.gap = false;
                }
                None => {}
            },
            "ul" | "ol" | "menu" => {
                self.end_line();
                if self.lists.len() < DEEPEST {
                    let start = attribute(tag, "start").and_then(|n| n.parse().ok());
                    let first = start.unwrap_or(1u32).saturating_sub(1);
                    self.lists.push((name == "ol").then_some(first));
                }
            }
            "li" => {
                self.end_line();
                let depth = self.lists.len().saturating_sub(1);
                self.flow.line.push_str(&"  ".repeat(depth));
                match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number = number.saturating_add(1);
                        self.flow.line.push_str(&format!("{number}. "));
                    }
                    _ => self.flow.line.push_str("- "),
                }
            }
            "a" => {
                self.link = attribute(tag, "href")
                    .filter(|href| {
                        ["http://", "https://", "mailto:"]
                            .iter()
                            .any(|scheme| href.starts_with(scheme))
                            && href.len() <= LONGEST_ADDRESS
                            && !href.contains(|c: char| c.is_control() || c == ' ')
                    })
                    .map(|href| (href, self.flow.line.len()));
            }
            "img" => {
                let alt = attribute(tag, "alt").unwrap_or_default();
                let alt: String = alt.chars().filter(|c| !c.is_control()).collect();
                self.say(&match alt.trim() {
                    "" => "[image]".to_owned(),
                    alt => format!("[image: {alt}]"),
                });
            }
            _ => self.block(name),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "pre" => {
                self.end_line();
                self.preformatted = self.preformatted.saturating_sub(1);
            }
            "table" => self.end_table(),
            "tr" | "td" | "th" => match self.tables.last_mut() {
                Some(table) => table.end_cell(&mut self.flow),
                None if name == "tr" => self.end_line(),
                None => {}
            },
            "ul" | "ol" | "menu" => {
                self.end_line();
                self.lists.pop();
            }
            "a" => {
                let Some((href, from)) = self.link.take() else {
                    return;
                };
                let shown = self.flow.line.get(from..).unwrap_or_default().trim();
                let told = href.trim_start_matches("mailto:").trim_end_matches('/');
                if shown.is_empty() {
                    self.say(&href);
                } else if shown.trim_end_matches('/') != told {
                    self.say(&format!("({href})"));
                }
            }
            _ => self.block(name),
        }
    }

    fn block(&mut self, name: &str) {
        let breaks = matches!(
            name,
            "br" | "p"
                | "div"
                | "li"
                | "dl"
                | "dt"
                | "dd"
                | "section"
                | "article"
                | "header"
                | "footer"
                | "blockquote"
                | "hr"
                | "details"
                | "summary"
                | "caption"
                | "figure"
                | "h1"
                | "h2"
                | "h3"
                | "h4"
                | "h5"
                | "h6"
                | "table"
        );
        if breaks {
            self.end_line();
        }
    }

    fn end_table(&mut self) {
        let Some(mut table) = self.tables.pop() else {
            self.end_line();
            return;
        };
        self.link = None;
        table.end_cell(&mut self.flow);
        self.flow = table.around;
        let width = match self.tables.is_empty() {
            true => self.width,
            false => usize::MAX,
        };
        let lines = table.grid.lines(width);
        for line in table
            .caption
            .lines()
            .chain(lines.iter().map(String::as_str))
        {
            self.flow.end_line();
            self.flow.line.push_str(line);
        }
        self.flow.end_line();
    }
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::properties;
    use proptest::prelude::*;

    #[test]
    fn words_of_a_page() {
        let check = |html: &str, expected: &str| {
            assert_eq!(html_to_text(html, 80), expected, "{html}");
        };
        check("", "");
        check("plain  text\n here", "plain text here");
        check("<p>one</p><p>two<br>three</p>", "one\ntwo\nthree");
        check("a<b>b</b>c <i>d</i>", "abc d");
        check(
            "1 &lt; 2 &amp;&#38;&#x26; &nope; & x",
            "1 < 2 &&& &nope; & x",
        );
        check(
            "&#27;[31m&#0;&eacute;&nbsp;&hearts;&notin",
            "[31m\u{fffd}é ♥¬in",
        );
        check(
            "<style>p > q { }</style>x<script>if (a<b) {}</script>y",
            "xy",
        );
        check("<script>never ends", "");
        check("<!-- c > d -->x<!DOCTYPE html>y", "xy");
        check("a < b", "a < b");
        check("<a title=\"x>y\">z</a>", "z");
        check("<ul><li>a</li><li>b</li></ul>", "- a\n- b");
        check(
            "<table><tr><th>n</th><th>v</th></tr>\n<tr><td>a</td> <td>1</td></tr></table>",
            "n  v\na  1",
        );
        check("<pre>a\n  b\n\nc</pre>d", "a\n  b\n\nc\nd");
        check("<p", "");
        check(
            "<ol start=3><li>a<ul><li>b</li></ul></li><li>c</li></ol>",
            "3. a\n  - b\n4. c",
        );
        check(
            r#"see <a href="https://e.org/?a=1&amp;b">this</a>, <a href='https://e.org/'>https://e.org</a>"#,
            "see this (https://e.org/?a=1&b), https://e.org",
        );
        check(r#"<a href="javascript:x()">x</a> <a>y</a>"#, "x y");
        check(r#"<img alt="a cat" src=x> <img>"#, "[image: a cat] [image]");
        check(
            r#"<audio controls><source src="data:audio/wav;base64,AA"/>no audio</audio> b"#,
            "[audio] b",
        );
        check(
            "<table><caption>sizes</caption><tr><td>a<td>10<tr><td>bcd<td>2</table>end",
            "sizes\na    10\nbcd   2\nend",
        );
    }

    #[test]
    fn any_nesting_is_read() {
        properties::on_a_small_stack(|| {
            for (open, close) in [
                ("<div>", "</div>"),
                ("<table><tr><td>", "</table>"),
                ("<table><caption>", "</caption></table>"),
                ("<table><tr><td>a<td colspan=9>", "<tr><td>b</table>"),
                ("<ul><li>", "</ul>"),
                ("<ol><li>", ""),
                ("<pre>", "</pre>"),
                ("<a href='https://x.org'>", "</a>"),
                ("<", ">"),
                ("<!--", ""),
                ("&", ";"),
            ] {
                let html = open.repeat(100_000) + "innermost" + &close.repeat(100_000);
                let text = html_to_text(&html, 80);
                // Lines of a table are cut to the width.
                let whole = matches!(open, "<div>" | "<pre>" | "<ul><li>");
                assert!(text.contains("innermost") || !whole, "{open}");
            }
        });
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_text_is_read(html in any::<String>()) {
            html_to_text(&html, 20);
        }

        #[test]
        fn any_markup_is_read(parts in prop::collection::vec(prop::sample::select(vec![
            "<", ">", "</", "&", ";", "<pre>", "<table>", "</table>", "<tr>", "<td colspan=99999999>", "<th rowspan=3>",
            "<a href='https://x'>", "</a>", "<ol>", "</pre>", "<td>", "<li>", "é", "\"", "'", "<script>", "<!--", "-->",
            "\n", "&#x1b;",
        ]), 0..30)) {
            let text = html_to_text(&parts.concat(), 20);
            let escape = text.contains('\u{1b}');
            prop_assert!(!escape);
        }
    }
}
