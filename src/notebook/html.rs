//! A session as one HTML page: code highlighted, answers rendered from markdown, pictures embedded; the page loads
//! and runs nothing.
//!
//! In: a session, all of whose text is untrusted. Out: HTML. Invariants: foreign text reaches the page escaped;
//! markup in an answer is shown as text; links lead to the web or are dropped; all pictures come from the record.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::saved::{SavedCell, SavedEntry, SavedPrompt, SavedSession};
use crate::dialog::{AnswerPart, answer_parts};
use crate::input::note_value;
use crate::output::{CellOutput, MimeBundle};
use crate::text::xml_text;
use ipycodex_text::markdown::code_to_html;

/// The page of a session. Calls `done` with the number of finished entries: highlighting a long session takes
/// seconds.
pub fn to_html(session: &SavedSession, title: &str, mut done: impl FnMut(usize)) -> String {
    let mut page = head(&xml_text(title));
    for (count, entry) in session.entries().iter().enumerate() {
        done(count);
        match entry {
            SavedEntry::Code(cell) => code(cell, &mut page),
            SavedEntry::Prompt(prompt) => exchange(prompt, &mut page),
        }
    }
    page.push_str(TAIL);
    page
}

fn code(cell: &SavedCell, page: &mut String) {
    page.push_str("<div class=\"cell\">\n");
    if let Some(value) = note_value(&cell.source) {
        prose(&value, page);
    } else {
        page.push_str(&format!(
            "<div class=\"number\">In [{}]</div>\n<pre class=\"code\">{}</pre>\n",
            cell.line,
            code_to_html("python", &cell.source)
        ));
        for output in &cell.outputs {
            match output {
                CellOutput::Stream { text, .. } => preformatted("output", text, page),
                CellOutput::Error(error) => preformatted("error", &error.plain(), page),
                CellOutput::Result(bundle) => {
                    let number = format!("<div class=\"number\">Out[{}]</div>\n", cell.line);
                    page.push_str(&number);
                    value(bundle, page);
                }
                CellOutput::Display(bundle) => value(bundle, page),
            }
        }
    }
    page.push_str("</div>\n");
}

fn value(bundle: &MimeBundle, page: &mut String) {
    let pictures = bundle.images();
    for (mime, base64) in &pictures {
        picture(mime, base64, page);
    }
    if !pictures.is_empty() {
        return;
    }
    if let Some(svg) = bundle.text("image/svg+xml") {
        // SVG as a picture can load and run nothing.
        picture("image/svg+xml", &BASE64_STANDARD.encode(svg), page);
    } else if let Some(markdown) = bundle.text("text/markdown") {
        prose(&markdown, page);
    } else {
        preformatted("output", &bundle.for_model(), page);
    }
}

fn picture(mime: &str, base64: &str, page: &mut String) {
    page.push_str(&format!(
        "<img alt=\"{mime}\" src=\"data:{mime};base64,{base64}\">\n"
    ));
}

fn preformatted(class: &str, text: &str, page: &mut String) {
    let text = xml_text(text.trim_end_matches('\n'));
    if !text.is_empty() {
        page.push_str(&format!("<pre class=\"{class}\">{text}</pre>\n"));
    }
}

fn exchange(prompt: &SavedPrompt, page: &mut String) {
    page.push_str(&format!(
        "<div class=\"prompt\">{}</div>\n",
        xml_text(&prompt.prompt)
    ));
    for part in answer_parts(&prompt.response) {
        match part {
            AnswerPart::Text(text) if text.trim().is_empty() => {}
            AnswerPart::Text(text) => prose(&text, page),
            AnswerPart::Thought(thought) => {
                page.push_str("<details>\n<summary>Reasoning</summary>\n");
                prose(&thought, page);
                page.push_str("</details>\n");
            }
            AnswerPart::Call { line, result } => {
                page.push_str(&format!(
                    "<details>\n<summary>{}</summary>\n",
                    xml_text(&line)
                ));
                preformatted("output", &result, page);
                page.push_str("</details>\n");
            }
        }
    }
}

fn prose(markdown: &str, page: &mut String) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let mut block: Option<(String, String)> = None;
    let mut events = Vec::new();
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                block = Some((info, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((info, code)) = block.take() {
                    let code = code_to_html(&info, code.trim_end_matches('\n'));
                    events.push(Event::Html(format!("<pre>{code}</pre>\n").into()));
                }
            }
            Event::Text(text) => match &mut block {
                Some((_, code)) => code.push_str(&text),
                None => events.push(Event::Text(text)),
            },
            other => events.push(sanitize(other)),
        }
    }
    page.push_str("<div class=\"answer\">\n");
    html::push_html(page, events.into_iter());
    page.push_str("</div>\n");
}

/// Markup becomes text, pictures become links, and only links to the web stay.
fn sanitize(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(
            Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            }
            | Tag::Image {
                link_type,
                dest_url,
                title,
                id,
            },
        ) => {
            let dest_url = if is_web_url(&dest_url) {
                dest_url
            } else {
                CowStr::Borrowed("#")
            };
            Event::Start(Tag::Link {
                link_type,
                dest_url,
                title,
                id,
            })
        }
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        other => other,
    }
}

fn is_web_url(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default();
    url.contains(':') && ["http", "https", "mailto"].contains(&scheme.to_ascii_lowercase().as_str())
}

/// Everything before the first entry. `title` is escaped already.
fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src \
         data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    )
}

const TAIL: &str = "</body>\n</html>\n";

const STYLE: &str = "\
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #24292e; background: #fff;
  font: 16px/1.5 system-ui, sans-serif; }
pre, code { font: 14px/1.45 ui-monospace, monospace; }
pre { margin: .3rem 0; padding: .5rem .8rem; overflow-x: auto; border-radius: 4px; }
.cell { margin: 1rem 0; }
.code, .answer pre { background: #f6f8fa; }
.number { color: #6a737d; font: 12px ui-monospace, monospace; }
.error { background: #fff0f0; }
.prompt { margin: 1.2rem 0 .5rem; padding: .4rem .8rem; border-left: 4px solid #0366d6; background: #f1f8ff;
  white-space: pre-wrap; }
.answer blockquote { margin-left: 0; padding-left: .8rem; border-left: 3px solid #d1d5da; color: #6a737d; }
details { margin: .3rem 0; color: #6a737d; }
summary { cursor: pointer; font: 14px/1.45 ui-monospace, monospace; }
img { max-width: 100%; }
table { border-collapse: collapse; }
th, td { border: 1px solid #d1d5da; padding: .2rem .6rem; }
";
