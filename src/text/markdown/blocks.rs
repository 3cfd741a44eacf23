//! Source to a tree of blocks with their byte offsets in the source.
//!
//! In: cleaned markdown (CommonMark 0.31 with tables, strikethrough, task boxes and footnotes, as `pulldown-cmark`
//! 0.13 reads it). Out: [`Block`]s. Invariant: the result for a top-level block (or top-level list item) depends on
//! its own source and on reference definitions before it, never on what follows: else a stream could not settle it.
//! A tree is at most [`NESTING`] containers deep; deeper content is kept as source. Absent on purpose: widths, rows,
//! gaps decided by a whole list (a gap exists where the source has a blank line).

use std::collections::HashMap;
use std::ops::Range;

use nu_ansi_term::Style;
use pulldown_cmark::{Alignment, BrokenLink, CodeBlockKind, CowStr, Event, Options, Parser, Tag};

use super::depth::bounded;
use super::inline::{Builder, Context, Definitions, InlinePiece, label_key};
use super::source::clean;
use super::theme;
use crate::NESTING;

#[derive(Debug)]
pub(crate) struct ListItem {
    pub(crate) at: usize,
    pub(crate) blank_before: bool,
    /// `Some(done)` for a task.
    pub(crate) task: Option<bool>,
    pub(crate) children: Vec<Block>,
}

#[derive(Debug)]
pub(crate) enum BlockKind {
    Paragraph(Vec<InlinePiece>),
    /// Level 1 to 6, and the text.
    Heading(usize, Vec<InlinePiece>),
    /// Info string, and lines with their offsets; `open` when the last line has no newline yet.
    Code {
        info: String,
        fenced: bool,
        lines: Vec<(usize, String)>,
        open: bool,
    },
    Quote(Vec<Block>),
    /// `Some(first number)` when ordered.
    List(Option<u64>, Vec<ListItem>),
    /// Rows of cells, the header first, each row with its byte offset.
    Table(Vec<Alignment>, Vec<(usize, Vec<Vec<InlinePiece>>)>),
    Rule,
    /// Lines shown as source, with their byte offsets: HTML, and content nested too deep.
    Html(Vec<(usize, String)>),
    Footnote(String, Vec<Block>),
}

impl BlockKind {
    pub(crate) fn is_container(&self) -> bool {
        matches!(
            self,
            BlockKind::Quote(_) | BlockKind::List(..) | BlockKind::Footnote(..)
        )
    }
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
    pub(crate) range: Range<usize>,
    /// True when a blank line precedes the block.
    pub(crate) blank_before: bool,
}

pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
}

pub(crate) fn parse(source: &str, context: &Context<'_>) -> Vec<Block> {
    let mut room = String::new();
    let bounded = bounded(source, &mut room);
    let source = bounded.source;
    let known = context.definitions;
    let lookup = |link: BrokenLink<'_>| {
        known
            .get(&label_key(&link.reference))
            .map(|target| (CowStr::from(target.clone()), CowStr::from("")))
    };
    let parser = Parser::new_with_broken_link_callback(source, options(), Some(lookup));
    let own: HashMap<String, usize> = parser
        .reference_definitions()
        .iter()
        .map(|(label, definition)| (label_key(label), definition.span.start))
        .collect();
    let text = Builder {
        bounded,
        source,
        context,
        own,
        events: parser.into_offset_iter(),
        unit_start: 0,
        passed: 0,
        paragraph_end: 0,
        task: None,
        styles: vec![Style::new()],
        links: Vec::new(),
        too_deep: 0,
    };
    let mut reader = Reader {
        text,
        depth: 0,
        containers: 0,
    };
    reader.blocks()
}

/// Adds the reference definitions of `source` to `into`; earlier definitions of a label take precedence.
pub(crate) fn collect_definitions(source: &str, into: &mut Definitions) {
    if !source.contains("]:") {
        return;
    }
    let mut room = String::new();
    let parser = Parser::new_ext(bounded(source, &mut room).source, options());
    for (label, definition) in parser.reference_definitions().iter() {
        into.entry(label_key(label))
            .or_insert_with(|| definition.dest.to_string());
    }
}

/// Returns the targets of the images that `source` shows, in order.
pub(crate) fn images(source: &str) -> Vec<String> {
    if !source.contains("![") {
        return Vec::new();
    }
    let mut room = String::new();
    Parser::new_ext(bounded(source, &mut room).source, options())
        .filter_map(|event| match event {
            Event::Start(Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
            _ => None,
        })
        .collect()
}

/// Reads block events of the parser; [`Builder`] reads the text in them.
struct Reader<'s, 'c, F: pulldown_cmark::BrokenLinkCallback<'s>> {
    text: Builder<'s, 'c, F>,
    depth: usize,
    containers: usize,
}

impl<'s, F: pulldown_cmark::BrokenLinkCallback<'s>> Reader<'s, '_, F> {
    /// Reads blocks up to the end of the enclosing one. Text directly in an item becomes a paragraph.
    fn blocks(&mut self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        // Inline events of a tight item, gathered until a block begins.
        let mut loose: Vec<InlinePiece> = Vec::new();
        let mut loose_from = 0;
        loop {
            let next = self.text.events.next();
            let ends = matches!(next, None | Some((Event::End(_), _)));
            let inline = next.as_ref().is_some_and(|(event, _)| is_inline(event));
            if !inline && !loose.is_empty() {
                let end = loose.last().map_or(loose_from, |piece| piece.at + 1);
                let kind = BlockKind::Paragraph(std::mem::take(&mut loose));
                blocks.push(self.block(kind, loose_from..end));
            }
            if ends {
                return blocks;
            }
            let Some((event, range)) = next else {
                return blocks;
            };
            match event {
                Event::Rule => blocks.push(self.block(BlockKind::Rule, range)),
                Event::Start(tag) if !inline => {
                    if self.depth == 0 {
                        self.text.unit_start = range.start;
                    }
                    self.depth += 1;
                    let kind = self.container(tag, &range);
                    self.depth -= 1;
                    blocks.push(self.block(kind, range));
                }
                inline => {
                    if loose.is_empty() {
                        loose_from = range.start;
                    }
                    let mut open = usize::from(matches!(inline, Event::Start(_)));
                    self.text.inline(inline, range, &mut loose);
                    while open > 0
                        && let Some((event, range)) = self.text.events.next()
                    {
                        match event {
                            Event::Start(_) => open += 1,
                            Event::End(_) => open -= 1,
                            _ => {}
                        }
                        self.text.inline(event, range, &mut loose);
                    }
                }
            }
        }
    }

    fn block(&self, kind: BlockKind, range: Range<usize>) -> Block {
        Block {
            kind,
            blank_before: blank_line_before(self.text.source, range.start),
            range,
        }
    }

    fn container(&mut self, tag: Tag<'s>, range: &Range<usize>) -> BlockKind {
        if let Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) | Tag::List(_) = tag {
            if self.containers == NESTING {
                return self.as_written(range);
            }
            self.containers += 1;
            let kind = self.nested(tag);
            self.containers -= 1;
            return kind;
        }
        match tag {
            Tag::Heading { level, .. } => {
                BlockKind::Heading(level as usize, self.text.pieces(theme::heading()))
            }
            Tag::CodeBlock(kind) => {
                let (info, fenced) = match kind {
                    CodeBlockKind::Fenced(info) => (clean(&info).into_owned(), true),
                    CodeBlockKind::Indented => (String::new(), false),
                };
                let (lines, open) = self.raw_lines();
                BlockKind::Code {
                    info,
                    fenced,
                    lines,
                    open,
                }
            }
            Tag::HtmlBlock => BlockKind::Html(self.raw_lines().0),
            Tag::Table(alignments) => BlockKind::Table(alignments, self.rows()),
            // Paragraphs, and tags that these parser options never produce.
            _ => {
                self.text.paragraph_end = range.end;
                BlockKind::Paragraph(self.text.pieces(Style::new()))
            }
        }
    }

    fn nested(&mut self, tag: Tag<'s>) -> BlockKind {
        match tag {
            Tag::List(start) => BlockKind::List(start, self.items()),
            Tag::FootnoteDefinition(label) => {
                let label = self.text.bounded.shown(&label).into_owned();
                BlockKind::Footnote(label, self.blocks())
            }
            _ => BlockKind::Quote(self.blocks()),
        }
    }

    /// Skips the container that has begun and returns its source.
    fn as_written(&mut self, range: &Range<usize>) -> BlockKind {
        let mut open = 1;
        while open > 0
            && let Some((event, _)) = self.text.events.next()
        {
            match event {
                Event::Start(_) => open += 1,
                Event::End(_) => open -= 1,
                _ => {}
            }
        }
        let mut at = range.start;
        let mut lines = Vec::new();
        for line in self.text.source[range.clone()].split_inclusive('\n') {
            let shown = self.text.bounded.shown(line.trim_end_matches('\n'));
            lines.push((at, shown.into_owned()));
            at += line.len();
        }
        BlockKind::Html(lines)
    }

    fn items(&mut self) -> Vec<ListItem> {
        let mut items = Vec::new();
        while let Some((Event::Start(_), range)) = self.text.events.next() {
            if self.depth == 1 {
                self.text.unit_start = range.start;
            }
            self.depth += 1;
            let outer = self.text.task.take();
            let children = self.blocks();
            let task = std::mem::replace(&mut self.text.task, outer);
            self.depth -= 1;
            items.push(ListItem {
                at: range.start,
                blank_before: blank_line_before(self.text.source, range.start),
                task,
                children,
            });
        }
        items
    }

    fn rows(&mut self) -> Vec<(usize, Vec<Vec<InlinePiece>>)> {
        let mut rows = Vec::new();
        // Head or row of the table, each a list of cells.
        while let Some((Event::Start(tag), range)) = self.text.events.next() {
            let style = match tag {
                Tag::TableHead => theme::heading(),
                _ => Style::new(),
            };
            let mut cells = Vec::new();
            while let Some((Event::Start(_), _)) = self.text.events.next() {
                cells.push(self.text.pieces(style));
            }
            rows.push((range.start, cells));
        }
        rows
    }

    /// Reads the lines up to the end of the enclosing block; true when the last one lacks its newline.
    fn raw_lines(&mut self) -> (Vec<(usize, String)>, bool) {
        let mut lines: Vec<(usize, String)> = Vec::new();
        let mut open = false;
        let bounded = self.text.bounded;
        for (event, range) in self.text.events.by_ref() {
            let (Event::Text(text) | Event::Html(text) | Event::InlineHtml(text)) = event else {
                if matches!(event, Event::End(_)) {
                    break;
                }
                continue;
            };
            let mut at = range.start;
            for line in text.split_inclusive('\n') {
                let content = bounded.shown(line.trim_end_matches('\n'));
                match lines.last_mut() {
                    Some((_, last)) if open => last.push_str(&content),
                    _ => lines.push((at, content.into_owned())),
                }
                open = !line.ends_with('\n');
                at += line.len();
            }
        }
        (lines, open)
    }
}

fn is_inline(event: &Event<'_>) -> bool {
    match event {
        Event::Start(tag) => matches!(
            tag,
            Tag::Emphasis
                | Tag::Strong
                | Tag::Strikethrough
                | Tag::Superscript
                | Tag::Subscript
                | Tag::Link { .. }
                | Tag::Image { .. }
        ),
        Event::End(_) | Event::Rule => false,
        _ => true,
    }
}

/// True when the line before the one at `at` is blank, not counting quote markers.
fn blank_line_before(source: &str, at: usize) -> bool {
    let line_start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let Some(before) = source[..line_start].strip_suffix('\n') else {
        return false;
    };
    before
        .rsplit('\n')
        .next()
        .is_some_and(|line| line.bytes().all(|b| matches!(b, b' ' | b'\t' | b'>')))
}
