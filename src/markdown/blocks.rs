//! Source to a tree of blocks, each piece of which knows where in the source it stands.
//!
//! In: cleaned markdown (CommonMark 0.31 with tables, strikethrough, task boxes and footnotes, as `pulldown-cmark` 0.13
//! reads it). Out: [`Block`]s with byte offsets into that source. Invariant: what a top-level block (or top-level list
//! item) becomes depends on its own source and on reference definitions that stand before it, never on what follows:
//! else a stream could not settle it. A tree is at most [`NESTING`] containers deep; what is deeper stands in it as
//! source. Absent on purpose: widths, rows, gaps between lists' items decided by the whole
//! list (each gap is there if the source has a blank line there).

use std::collections::HashMap;
use std::ops::Range;

use nu_ansi_term::Style;
use pulldown_cmark::{Alignment, BrokenLink, CodeBlockKind, CowStr, Event, Options, Parser, Tag};

use super::depth::bounded;
use super::inline::{Builder, Context, Definitions, InlinePiece, label_key};
use super::theme;
use crate::text::NESTING;

#[derive(Debug)]
pub(crate) struct ListItem {
    /// Where its marker stands.
    pub(crate) at: usize,
    pub(crate) blank_before: bool,
    /// A task, and whether it is done.
    pub(crate) task: Option<bool>,
    pub(crate) children: Vec<Block>,
}

#[derive(Debug)]
pub(crate) enum BlockKind {
    Paragraph(Vec<InlinePiece>),
    /// Level 1 to 6.
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
    /// Rows of cells, the header first, each row with its offset.
    Table(Vec<Alignment>, Vec<(usize, Vec<Vec<InlinePiece>>)>),
    Rule,
    /// Shown as it is written: HTML, and what is nested too deep.
    Html(Vec<(usize, String)>),
    Footnote(String, Vec<Block>),
}

impl BlockKind {
    /// Whether it holds other blocks.
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
    /// Source it covers.
    pub(crate) range: Range<usize>,
    /// Whether a blank line stands before it.
    pub(crate) blank_before: bool,
}

pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
}

/// The top-level blocks of `source`.
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

/// Reference definitions that stand in `source`, without replacing earlier ones.
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

/// The targets of the pictures that `source` shows in its text, in order.
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

/// Reads the parser's events: blocks here, their text where [`Builder`] is.
struct Reader<'s, 'c, F: pulldown_cmark::BrokenLinkCallback<'s>> {
    text: Builder<'s, 'c, F>,
    /// Blocks and items that are open.
    depth: usize,
    /// Quotes, lists and footnotes among them.
    containers: usize,
}

impl<'s, F: pulldown_cmark::BrokenLinkCallback<'s>> Reader<'s, '_, F> {
    /// Blocks up to the end of the enclosing one. Text that stands directly in an item becomes a paragraph.
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
                    CodeBlockKind::Fenced(info) => {
                        (self.text.bounded.shown(&info).into_owned(), true)
                    }
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
            // Paragraphs, and what our options never produce.
            _ => {
                self.text.paragraph_end = range.end;
                BlockKind::Paragraph(self.text.pieces(Style::new()))
            }
        }
    }

    /// A quote, a footnote or a list.
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

    /// The source of the container that has begun, which is passed over.
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
        // Table head or row, each a list of cells.
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

    /// Text up to the end of the enclosing block, as lines; and whether the last one lacks its newline.
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

/// Whether the line before the one that holds `at` is blank; quote markers do not count.
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
