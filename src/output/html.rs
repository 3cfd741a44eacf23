//! HTML to readable text, for values that come in no other form.
//!
//! In goes any text and a width, out come its words: tags go, block elements start new lines, tables have their columns
//! aligned (`grid`), list items a mark or a number, links their address behind them, pictures and players a word;
//! scripts and styles vanish, the common entities are read. Total and linear; nothing is fetched or run.
//!
//! Absent on purpose: layout beyond tables, style sheets, the whole list of entities.

mod grid;

use grid::Grid;

/// Tables within tables that are kept apart; deeper ones are text.
const DEEPEST: usize = 4;

/// Lists within lists that are counted.
const LISTS: usize = 32;

/// The longest address that is shown, in bytes.
const LONGEST_ADDRESS: usize = 2000;

/// The text of `html`, without blank lines and without a newline at the end. Tables are at most `width` columns wide.
pub(crate) fn html_to_text(html: &str, width: usize) -> String {
    let mut page = Page {
        width,
        ..Page::default()
    };
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        page.text(&rest[..at]);
        rest = &rest[at..];
        rest = if rest.starts_with('&') {
            entity(rest, &mut page)
        } else {
            tag(rest, &mut page)
        };
    }
    page.text(rest);
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
    /// Blanks that count only if a word follows.
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

/// An open table.
struct Table {
    grid: Grid,
    /// What stands in it but in none of its cells.
    caption: String,
    /// What stands before it.
    around: Flow,
}

impl Table {
    /// The text so far belongs to the open cell, if there is one.
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
    /// Open tables.
    tables: Vec<Table>,
    /// Open lists: the number of the last item where they are numbered.
    lists: Vec<Option<u32>>,
    /// The open link: its address, and where its text begins in the line.
    link: Option<(String, usize)>,
}

impl Page {
    fn text(&mut self, text: &str) {
        for c in text.chars() {
            self.character(c);
        }
    }

    fn character(&mut self, c: char) {
        if self.preformatted > 0 && c == '\n' {
            self.flow.end_line();
            self.flow.out.push('\n');
        } else if self.preformatted > 0 {
            self.flow.line.push(c);
        } else if c.is_ascii_whitespace() {
            self.flow.gap = true;
        } else {
            self.flow.word(c);
        }
    }

    fn end_line(&mut self) {
        self.link = None;
        self.flow.end_line();
    }

    /// A word of our own.
    fn say(&mut self, word: &str) {
        self.flow.gap |= !self.flow.line.is_empty();
        word.chars().for_each(|c| self.flow.word(c));
    }

    fn open(&mut self, name: &str, attributes: &str) {
        match name {
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
                    let span = |name| attribute(attributes, name).and_then(|n| n.parse().ok());
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
                if self.lists.len() < LISTS {
                    let start = attribute(attributes, "start").and_then(|n| n.parse().ok());
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
                self.link = attribute(attributes, "href")
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
                let alt = attribute(attributes, "alt").unwrap_or_default();
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

/// Reads one tag or comment at the start of `text`; returns what follows.
fn tag<'a>(text: &'a str, page: &mut Page) -> &'a str {
    if let Some(comment) = text.strip_prefix("<!--") {
        return comment.find("-->").map_or("", |end| &comment[end + 3..]);
    }
    let inner = &text[1..];
    let closing = inner.starts_with('/');
    let name_start = usize::from(closing);
    let name_end = inner[name_start..]
        .find(|c: char| !c.is_ascii_alphanumeric())
        .map_or(inner.len(), |end| name_start + end);
    if name_end == name_start && !inner.starts_with(['!', '?']) {
        page.character('<');
        return inner;
    }
    let name = inner[name_start..name_end].to_ascii_lowercase();
    let Some(end) = end_of_tag(&inner[name_end..]) else {
        return "";
    };
    let attributes = &inner[name_end..name_end + end - 1];
    let after = &inner[name_end + end..];
    if closing {
        page.close(&name);
        return after;
    }
    match name.as_str() {
        "script" | "style" | "template" | "head" | "title" => after_closing(after, &name),
        "audio" | "video" | "svg" | "canvas" | "iframe" | "object" => {
            page.say(&format!(
                "[{}]",
                if name == "svg" { "drawing" } else { &name }
            ));
            after_closing(after, &name)
        }
        name => {
            page.open(name, attributes);
            after
        }
    }
}

/// The value of an attribute, its entities read.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '=');
        let end = end.unwrap_or(rest.len());
        if end == 0 && !rest.starts_with('=') {
            return None;
        }
        let found = rest[..end].eq_ignore_ascii_case(name);
        rest = rest[end..].trim_start();
        let Some(value) = rest.strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let inner = &value[1..];
                inner.split_once(quote).unwrap_or((inner, ""))
            }
            _ => value.split_at(
                value
                    .find(|c: char| c.is_ascii_whitespace())
                    .unwrap_or(value.len()),
            ),
        };
        if found {
            return Some(unescaped(value));
        }
        rest = after;
    }
}

fn unescaped(text: &str) -> String {
    let mut page = Page {
        preformatted: 1,
        ..Page::default()
    };
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        page.flow.line.push_str(&rest[..at]);
        rest = entity(&rest[at..], &mut page);
    }
    page.flow.line.push_str(rest);
    page.flow.line
}

/// One past the `>` of a tag; quoted attribute values may hold one.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// What follows `</name …>`; nothing when it never comes.
fn after_closing<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        let found = rest
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name));
        if found {
            return end_of_tag(rest).map_or("", |end| &rest[end..]);
        }
    }
    ""
}

/// Reads one entity at the start of `text`; returns what follows.
fn entity<'a>(text: &'a str, page: &mut Page) -> &'a str {
    const LONGEST: usize = 12;
    let end = text.bytes().take(LONGEST).position(|byte| byte == b';');
    let found = end.and_then(|end| read_entity(&text[1..end]).map(|c| (c, &text[end + 1..])));
    match found {
        Some((c, rest)) => {
            page.character(c);
            rest
        }
        None => {
            page.character('&');
            &text[1..]
        }
    }
}

fn read_entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control() || *c == '\n' || *c == '\t');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "hellip" => '…',
        "ndash" => '–',
        "mdash" => '—',
        "times" => '×',
        "middot" => '·',
        "deg" => '°',
        "copy" => '©',
        "rarr" => '→',
        "larr" => '←',
        "laquo" => '«',
        "raquo" => '»',
        _ => return None,
    })
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
        check("&#27;[31m&#0;", "&#27;[31m&#0;");
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

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_text_is_read(html in any::<String>()) {
            html_to_text(&html, 20);
        }

        #[test]
        fn any_markup_is_read(parts in prop::collection::vec(prop::sample::select(vec![
            "<", ">", "</", "&", ";", "<pre>", "<table>", "</table>", "<tr>", "<td colspan=99999999>", "<th rowspan=3>", "<a href='https://x'>", "</a>", "<ol>", "</pre>", "<td>", "<li>", "é", "\"", "'", "<script>", "<!--", "-->", "\n", "&#x1b;",
        ]), 0..30)) {
            let text = html_to_text(&parts.concat(), 20);
            let escape = text.contains('\u{1b}');
            prop_assert!(!escape);
        }
    }
}
