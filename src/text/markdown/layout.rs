//! Blocks to rows at a width.
//!
//! In: blocks, a width, and the source offset up to which everything is settled. Out: rows with the source offsets
//! where they begin. Invariant: rows never exceed the width; rows laid out with `from` equal to a resumable row's
//! offset are that row and its successors. Containers put a prefix before each row (`• `, `> `), cut to half the
//! width where it is narrow, so that even one column shows text. Absent on purpose: memory of earlier layouts,
//! except the code cache and table widths that the stream passes in.

use nu_ansi_term::Style;

use super::blocks::{Block, BlockKind, ListItem};
use super::code::{CodeCache, Runs};
use super::fences::is_python;
use super::inline::InlinePiece;
use super::settle::OpenList;
use super::table::{Columns, lay_out_table};
use super::theme::{self, Theme};
use super::wrap::{chop, wrap};
use crate::{Line, columns, expand_tabs, split_at_columns};

/// A row of the screen and its offset in the source.
pub(crate) struct MarkdownRow {
    pub(crate) line: Line,
    pub(crate) at: usize,
    pub(crate) resumable: bool,
    /// True when its first character is in no inline element.
    pub(crate) plain: bool,
}

struct Prefix {
    first: String,
    rest: String,
    used: bool,
}

/// Widest prose, in columns; code and tables may be wider.
const WIDEST: usize = 100;

pub(crate) struct Layout<'a> {
    pub(crate) rows: Vec<MarkdownRow>,
    width: usize,
    from: usize,
    code_theme: Option<Theme>,
    code: &'a mut CodeCache,
    code_blocks: usize,
    /// Widths of the table whose first rows are settled.
    fixed: Option<&'a Columns>,
    /// Widths of the first table of this pass.
    pub(crate) first_table: Option<Columns>,
    prefixes: Vec<Prefix>,
    quotes: usize,
    numbered: Option<usize>,
    /// An empty row is due before the next one, with that many prefixes.
    gap: Option<usize>,
    shown: usize,
    quoted: bool,
}

impl<'a> Layout<'a> {
    pub(crate) fn new(
        width: usize,
        from: usize,
        code_theme: Option<Theme>,
        code: &'a mut CodeCache,
        fixed: Option<&'a Columns>,
        quoted: bool,
        numbered: Option<usize>,
    ) -> Self {
        let mut layout = Layout {
            rows: Vec::new(),
            width,
            from,
            code_theme,
            code,
            code_blocks: 0,
            fixed,
            first_table: None,
            prefixes: Vec::new(),
            quotes: 0,
            numbered,
            gap: None,
            shown: 0,
            quoted,
        };
        if quoted {
            layout.enter("> ", "> ");
        }
        layout
    }

    /// Requests an empty row before the next one.
    pub(crate) fn gap(&mut self) {
        let depth = self.prefixes.len();
        self.gap = Some(self.gap.map_or(depth, |due| due.min(depth)));
    }

    pub(crate) fn gap_is_due(&self) -> bool {
        self.gap.is_some()
    }

    /// Lays out one top-level block, which may be the rest of a list.
    pub(crate) fn top_level(&mut self, block: &Block, goes_on: Option<OpenList>) {
        match (&block.kind, goes_on) {
            (BlockKind::List(start, items), Some(list)) => {
                self.list(start.and(list.next), items, list.blank_before);
            }
            (_, Some(list)) => self.spaced(list.blank_before, |layout| layout.block(block)),
            (_, None) => self.block(block),
        }
    }

    /// Lays out one complete or unfinished line of a top-level code block; `first` for the first line of Python that
    /// is not blank.
    pub(crate) fn code_line(&mut self, runs: &Runs, first: bool) {
        let number = self.number(first);
        self.code_rows(runs, 0, number);
    }

    pub(crate) fn numbered(&self) -> Option<usize> {
        self.numbered
    }

    /// Returns the number of the block when this is its beginning.
    fn number(&mut self, begins: bool) -> Option<usize> {
        let number = self.numbered.as_mut().filter(|_| begins)?;
        *number += 1;
        Some(*number)
    }

    fn children(&mut self, blocks: &[Block]) {
        for (n, block) in blocks.iter().enumerate() {
            self.spaced(n > 0 && block.blank_before, |layout| layout.block(block));
        }
    }

    fn block(&mut self, block: &Block) {
        match &block.kind {
            BlockKind::Paragraph(pieces) => self.paragraph(pieces),
            BlockKind::Heading(level, pieces) => {
                let marker = InlinePiece {
                    text: "#".repeat(*level) + " ",
                    style: theme::heading(),
                    link: None,
                    at: block.range.start,
                    exact: false,
                };
                let bold = |piece: &InlinePiece| InlinePiece {
                    style: piece.style.bold(),
                    ..piece.clone()
                };
                let marked: Vec<InlinePiece> = std::iter::once(marker)
                    .chain(pieces.iter().map(bold))
                    .collect();
                self.paragraph(&marked);
            }
            BlockKind::Code {
                info,
                fenced,
                lines,
                open,
            } => self.code_block(info, *fenced && is_python(info), lines, *open),
            BlockKind::Quote(children) => {
                self.enter("> ", "> ");
                self.quotes += 1;
                self.children(children);
                self.quotes -= 1;
                self.leave();
            }
            BlockKind::List(start, items) => self.list(*start, items, false),
            BlockKind::Table(alignments, rows) => self.table(alignments, rows),
            BlockKind::Rule => {
                let width = self.available(WIDEST);
                let mut line = Line::default();
                line.push(&"─".repeat(width), theme::faint(), None);
                self.emit(line, block.range.start, true);
            }
            BlockKind::Html(lines) => {
                for (at, line) in lines {
                    let runs = vec![(expand_tabs(line, 0), theme::faint())];
                    for row in chop(&runs, self.available(WIDEST)) {
                        self.emit(row, *at, true);
                    }
                }
            }
            BlockKind::Footnote(label, children) => {
                let marker = format!("[^{label}]: ");
                self.enter(&marker, "    ");
                self.children(children);
                self.leave();
            }
        }
    }

    fn paragraph(&mut self, pieces: &[InlinePiece]) {
        if pieces.first().is_some_and(|piece| piece.at < self.from) {
            self.mark_prefixes_used();
            self.shown += 1;
            self.gap = None;
        }
        for row in wrap(pieces, self.available(WIDEST), self.from) {
            self.emit_row(row.line, row.at.max(self.from), row.resumable, row.plain);
        }
    }

    fn code_block(&mut self, info: &str, python: bool, lines: &[(usize, String)], open: bool) {
        let block = self.code_blocks;
        self.code_blocks += 1;
        let mut uncounted = python && self.quotes == 0;
        if uncounted && self.code.is_cut(block) {
            // Its number has been shown above.
            self.number(true);
            uncounted = false;
        }
        for (n, (at, line)) in lines.iter().enumerate() {
            let first = uncounted && !line.trim().is_empty();
            uncounted &= !first;
            let number = self.number(first);
            let line = expand_tabs(line, 0);
            let runs = if open && n + 1 == lines.len() {
                vec![(line, Style::new())]
            } else {
                self.code.line(block, info, self.code_theme, n, &line)
            };
            self.code_rows(&runs, *at, number);
        }
    }

    /// Adds the rows of a code line; `number` replaces the indent and names the key that takes the block.
    fn code_rows(&mut self, runs: &Runs, at: usize, number: Option<usize>) {
        let indent = if self.width >= 12 { "  " } else { "" };
        match number.filter(|number| *number < 10 && !indent.is_empty()) {
            Some(number) => self.enter(&format!("{number} "), indent),
            None => self.enter(indent, indent),
        }
        for (n, row) in chop(runs, self.available(self.width))
            .into_iter()
            .enumerate()
        {
            self.emit(row, at, n == 0);
        }
        self.leave();
    }

    fn list(&mut self, start: Option<u64>, items: &[ListItem], gap_before: bool) {
        for (n, item) in items.iter().enumerate() {
            let tick = match item.task {
                Some(true) => "☑ ",
                Some(false) => "☐ ",
                None => "",
            };
            let marker = match start {
                Some(first) => format!("{}. {tick}", first.saturating_add(n as u64)),
                None if tick.is_empty() => "• ".to_owned(),
                None => tick.to_owned(),
            };
            let indent = " ".repeat(columns(&marker));
            let gap = if n == 0 {
                gap_before
            } else {
                item.blank_before
            };
            self.spaced(gap, |layout| {
                layout.enter(&marker, &indent);
                layout.children(&item.children);
                if item.children.is_empty() {
                    layout.emit(Line::default(), item.at, true);
                }
                layout.leave();
            });
        }
    }

    /// Adds content with an empty row before it, if there is any content.
    fn spaced(&mut self, gap: bool, content: impl FnOnce(&mut Self)) {
        let (due, shown) = (self.gap, self.shown);
        if gap {
            self.gap();
        }
        content(self);
        if self.shown == shown {
            self.gap = due;
        }
    }

    fn table(
        &mut self,
        alignments: &[pulldown_cmark::Alignment],
        rows: &[(usize, Vec<Vec<InlinePiece>>)],
    ) {
        let width = self.available(self.width);
        let fixed = self.fixed.take().filter(|known| known.fit(width, rows));
        let (used, lines) = lay_out_table(alignments, rows, width, fixed);
        if self.first_table.is_none() {
            self.first_table = Some(used);
        }
        let mut last = None;
        for (at, line) in lines {
            self.emit(line, at, last != Some(at));
            last = Some(at);
        }
    }

    fn enter(&mut self, first: &str, rest: &str) {
        self.prefixes.push(Prefix {
            first: first.to_owned(),
            rest: rest.to_owned(),
            used: false,
        });
    }

    fn leave(&mut self) {
        self.prefixes.pop();
    }

    fn mark_prefixes_used(&mut self) {
        for prefix in &mut self.prefixes {
            prefix.used = true;
        }
    }

    fn prefix_columns(&self) -> usize {
        let wanted: usize = self
            .prefixes
            .iter()
            .map(|prefix| columns(&prefix.first).max(columns(&prefix.rest)))
            .sum();
        wanted.min(self.width.min(WIDEST) / 2)
    }

    /// Columns after the prefixes, for a row of at most `most`.
    fn available(&self, most: usize) -> usize {
        (self.width.min(most) - self.prefix_columns()).max(1)
    }

    /// Text of the prefixes for the next row, or, for an empty row, of the outer `depth` ones.
    fn prefix(&mut self, depth: Option<usize>) -> String {
        let limit = self.prefix_columns();
        let mut text = String::new();
        let count = self.prefixes.len();
        for (n, prefix) in self.prefixes.iter_mut().enumerate() {
            let part = match depth {
                Some(depth) if n >= depth => break,
                Some(_) => &prefix.rest,
                None if std::mem::replace(&mut prefix.used, true) => &prefix.rest,
                None => &prefix.first,
            };
            let innermost = n + 1 == count && columns(part) > limit;
            text.push_str(if innermost {
                split_at_columns(part, limit).0
            } else {
                part
            });
        }
        // Without enough room the innermost prefixes are kept.
        let over = columns(&text).saturating_sub(limit);
        text.drain(..split_at_columns(&text, over).0.len());
        if depth.is_some() {
            text.truncate(text.trim_end().len());
        }
        text
    }

    fn emit(&mut self, content: Line, at: usize, resumable: bool) {
        self.emit_row(content, at, resumable, false);
    }

    fn emit_row(&mut self, content: Line, at: usize, resumable: bool, plain: bool) {
        self.shown += 1;
        if at < self.from {
            self.mark_prefixes_used();
            self.gap = None;
            return;
        }
        if let Some(depth) = self.gap.take() {
            let line = self.assemble(Some(depth), &Line::default());
            self.rows.push(MarkdownRow {
                line,
                at,
                resumable,
                plain,
            });
        }
        let line = self.assemble(None, &content);
        self.rows.push(MarkdownRow {
            line,
            at,
            resumable,
            plain,
        });
    }

    fn assemble(&mut self, blank: Option<usize>, content: &Line) -> Line {
        let prefix = self.prefix(blank);
        if prefix.is_empty() && !self.quoted {
            return content.clone();
        }
        let mut line = Line::default();
        let marker = if prefix.trim().is_empty() {
            Style::new()
        } else {
            theme::faint()
        };
        line.push(&prefix, marker, None);
        for span in content.spans() {
            let style = if self.quoted {
                Style {
                    is_dimmed: true,
                    ..span.style
                }
            } else {
                span.style
            };
            line.push(&span.text, style, span.link.as_ref());
        }
        line
    }
}
