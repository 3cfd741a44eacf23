//! HTML to readable text, for values that come in no other form.
//!
//! In goes any text, out comes its words: tags go, block elements start new lines, table cells are set apart by two
//! blanks, list items by `- `, scripts and styles vanish, the common entities are read. Total and linear; nothing is
//! fetched or run.
//!
//! Absent on purpose: layout, links' addresses, the whole list of entities.

/// The text of `html`, without blank lines and without a newline at the end.
pub(crate) fn html_to_text(html: &str) -> String {
    let mut page = Page::default();
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
    page.end_line();
    page.out.truncate(page.out.trim_end().len());
    page.out
}

/// The text so far; the last line is kept apart until it ends.
#[derive(Default)]
struct Page {
    out: String,
    line: String,
    /// Blanks that count only if a word follows.
    gap: bool,
    preformatted: usize,
}

impl Page {
    fn text(&mut self, text: &str) {
        for c in text.chars() {
            self.character(c);
        }
    }

    fn character(&mut self, c: char) {
        if self.preformatted > 0 && c == '\n' {
            self.end_line();
            self.out.push('\n');
        } else if self.preformatted > 0 {
            self.line.push(c);
        } else if c.is_ascii_whitespace() {
            self.gap = true;
        } else {
            if self.gap && !self.line.is_empty() && !self.line.ends_with(' ') {
                self.line.push(' ');
            }
            self.gap = false;
            self.line.push(c);
        }
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
    let after = &inner[name_end + end..];
    match name.as_str() {
        "script" | "style" | "template" | "head" | "title" if !closing => {
            return after_closing(after, &name);
        }
        "pre" => {
            page.end_line();
            page.preformatted = if closing {
                page.preformatted.saturating_sub(1)
            } else {
                page.preformatted + 1
            };
        }
        "td" | "th" if !closing && !page.line.is_empty() => {
            page.line.push_str("  ");
            page.gap = false;
        }
        "li" if !closing => {
            page.end_line();
            page.line.push_str("- ");
        }
        "br" => page.end_line(),
        "p" | "div" | "tr" | "table" | "ul" | "ol" | "li" | "dl" | "dt" | "dd" | "h1" | "h2"
        | "h3" | "h4" | "h5" | "h6" | "section" | "article" | "header" | "footer"
        | "blockquote" | "hr" | "details" | "summary" | "thead" | "tbody" | "caption"
        | "figure" => page.end_line(),
        _ => {}
    }
    after
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
        let check = |html: &str, expected: &str| assert_eq!(html_to_text(html), expected, "{html}");
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
    }

    proptest! {
        #![proptest_config(properties::cases(properties::USUAL))]

        #[test]
        fn any_text_is_read(html in any::<String>()) {
            html_to_text(&html);
        }

        #[test]
        fn any_markup_is_read(parts in prop::collection::vec(prop::sample::select(vec![
            "<", ">", "</", "&", ";", "<pre>", "</pre>", "<td>", "<li>", "é", "\"", "'", "<script>", "<!--", "-->", "\n", "&#x1b;",
        ]), 0..30)) {
            let text = html_to_text(&parts.concat());
            let escape = text.contains('\u{1b}');
            prop_assert!(!escape);
        }
    }
}
