//! A stream of markdown: deltas in, settled lines and a live tail out.
//!
//! In: pieces of an answer, cut anywhere. Out: [`MarkdownFrame`]s. Invariants: a settled line is returned once and
//! never changes; the settled lines after [`MarkdownStream::finish`] are the same however the text was cut, as long
//! as no block outgrew the live rows; only the source of the last block is kept (for a list, of its last item), and
//! where that is a paragraph or table taller than the live rows, only that of the live rows, so the whole takes
//! linear time. Absent on purpose: terminals, clocks, ticks. The width is an argument of each frame; settled lines
//! keep theirs.

use super::blocks::{Block, BlockKind, collect_definitions, images, parse};
use super::code::CodeCache;
use super::fence::OpenFence;
use super::inline::{Context, Definitions};
use super::layout::{Layout, MarkdownRow};
use super::settle::{Dropped, OpenList, drop_frozen, stable_prefix, unsure_end};
use super::source::clean_into;
use super::table::Columns;
use super::theme::Appearance;
use crate::Line;

/// The lines to show now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MarkdownFrame {
    /// New final lines, to be printed once.
    pub settled: Vec<Line>,
    /// Images in settled blocks (`![…](target)`): how many of `settled` are above each, and its target.
    pub pictures: Vec<(usize, String)>,
    /// The whole unsettled tail, to be shown below the settled lines until the next frame.
    pub live: Vec<Line>,
}

struct LaidOut {
    rows: Vec<MarkdownRow>,
    /// Images in the blocks: how many rows are above each, and its target.
    pictures: Vec<(usize, String)>,
    /// Number of Python blocks including those of this layout, when they are numbered.
    numbered: Option<usize>,
    first_table: Option<Columns>,
    /// The last block shows nothing so far, and an empty row is due before its content.
    gap_due: bool,
}

/// Turns an answer that is still being written into lines.
#[derive(Default)]
pub struct MarkdownStream {
    appearance: Appearance,
    quoted: bool,
    /// Number of settled Python blocks, when they are numbered.
    numbered: Option<usize>,
    /// The count before the first block.
    numbered_from: Option<usize>,
    tail: String,
    /// Bytes of `tail`, whole lines, that were already searched for what can be settled.
    searched: usize,
    /// Bytes of `tail` whose rows are settled though their block is not.
    frozen: usize,
    fence: Option<OpenFence>,
    list: Option<OpenList>,
    /// The tail begins inside a block: no gap before it.
    resumed: bool,
    /// Something was shown before the tail.
    started: bool,
    finished: bool,
    definitions: Definitions,
    columns: Option<Columns>,
    cache: CodeCache,
    /// The last frame's live rows, with the bytes of the tail they show and their width.
    shown: Option<(usize, usize, Vec<Line>)>,
    parsed: u64,
}

impl MarkdownStream {
    /// Creates an empty stream.
    pub fn new(appearance: Appearance) -> Self {
        MarkdownStream {
            appearance,
            ..MarkdownStream::default()
        }
    }

    /// Creates a stream for reasoning: every line is faint and follows `> `.
    pub fn quoted(appearance: Appearance) -> Self {
        MarkdownStream {
            quoted: true,
            ..MarkdownStream::new(appearance)
        }
    }

    /// Creates a stream whose Python blocks show numbers, from `count + 1` on; `None` shows none.
    pub fn numbered(appearance: Appearance, count: Option<usize>) -> Self {
        MarkdownStream {
            numbered: count,
            numbered_from: count,
            ..MarkdownStream::new(appearance)
        }
    }

    /// Returns the number of the last settled Python block, when they are numbered.
    pub fn count(&self) -> Option<usize> {
        self.numbered
    }

    /// Takes the next piece of text; nothing is parsed before the next [`frame`](Self::frame).
    pub fn push(&mut self, delta: &str) {
        self.finished = false;
        let from = self.tail.len();
        clean_into(delta, &mut self.tail);
        if self.tail[from..].contains('\t') {
            let arrived = self.tail.split_off(from);
            self.push_with_margins(&arrived);
        }
    }

    /// Appends text whose tabs before the first word of a line become blanks. They mean the same (CommonMark 2.2), but
    /// how wide one is at the start of code in a list depends on how much of the list is parsed with it.
    fn push_with_margins(&mut self, text: &str) {
        for piece in text.split_inclusive('\t') {
            let kept = piece.trim_end_matches('\t');
            self.tail.push_str(kept);
            if kept.len() < piece.len() {
                match self.margin() {
                    Some(columns) => self.tail.push_str(&" ".repeat(4 - columns % 4)),
                    None => self.tail.push('\t'),
                }
            }
        }
    }

    /// The length of the last line, if there is nothing in it yet but blanks and the marks of quotes and lists.
    fn margin(&self) -> Option<usize> {
        const MOST: usize = 400;
        let line = self.tail.bytes().rev().take_while(|byte| *byte != b'\n');
        let mut columns = 0;
        for byte in line.take(MOST) {
            if !matches!(byte, b' ' | b'>' | b'-' | b'+' | b'*') {
                return None;
            }
            columns += 1;
        }
        (columns < MOST).then_some(columns)
    }

    /// Ends the text: the next frame settles everything.
    pub fn finish(&mut self) {
        self.finished = true;
        if !self.tail.is_empty() && !self.tail.ends_with('\n') {
            self.tail.push('\n');
        }
    }

    /// Discards the unsettled text, for a retried answer; settled lines stay.
    pub fn restart(&mut self) {
        self.tail.clear();
        self.fence = None;
        self.list = None;
        self.resumed = false;
        self.numbered = self.numbered_from;
        self.settled_to_the_end();
    }

    /// Returns the bytes given to the markdown parser so far, to which the cost is proportional.
    pub fn parsed_bytes(&self) -> u64 {
        self.parsed
    }

    /// Returns the lines at `width` columns with at most `max_live_rows` unsettled rows (a single row of a table may
    /// exceed that). Each settled line is returned exactly once.
    pub fn frame(&mut self, width: usize, max_live_rows: usize) -> MarkdownFrame {
        let width = width.max(1);
        let mut frame = MarkdownFrame::default();
        loop {
            if self.fence.is_some() {
                if !self.settle_code(width, &mut frame.settled) {
                    break;
                }
            } else if !self.settle_blocks(width, &mut frame) {
                break;
            }
        }
        let showing = self.tail.len() - unsure_end(&self.tail);
        if self.fence.is_none()
            && let Some((bytes, columns, live)) = &self.shown
            && (*bytes, *columns) == (showing, width)
            && live.len() <= max_live_rows
        {
            frame.live.clone_from(live);
        } else {
            let rows = match self.fence {
                Some(_) => self.live_code(width),
                None => self.live_blocks(showing, width),
            };
            let frozen = self.frozen;
            self.freeze(rows, max_live_rows.max(1), &mut frame);
            self.shown = (frozen == self.frozen).then(|| (showing, width, frame.live.clone()));
        }
        self.started |= !frame.settled.is_empty();
        frame
    }

    fn layout<'a>(
        appearance: &Appearance,
        quoted: bool,
        width: usize,
        from: usize,
        cache: &'a mut CodeCache,
        columns: Option<&'a Columns>,
        numbered: Option<usize>,
    ) -> Layout<'a> {
        let theme = appearance.colour.then_some(appearance.theme);
        Layout::new(width, from, theme, cache, columns, quoted, numbered)
    }

    /// Settles whole code lines of the open fence. Returns true when the fence is closed and more may be settled.
    fn settle_code(&mut self, width: usize, settled: &mut Vec<Line>) -> bool {
        let Some(fence) = &mut self.fence else {
            return false;
        };
        let mut layout = Self::layout(
            &self.appearance,
            self.quoted,
            width,
            0,
            &mut self.cache,
            None,
            self.numbered,
        );
        let mut used = 0;
        let mut closed = false;
        while let Some(length) = self.tail[used..].find('\n') {
            let line = &self.tail[used..used + length];
            used += length + 1;
            if fence.closes(line) {
                closed = true;
                break;
            }
            if std::mem::take(&mut fence.gap) {
                layout.gap();
            }
            let runs = fence.highlight(line);
            let first = fence.uncounted && !line.trim().is_empty();
            fence.uncounted &= !first;
            layout.code_line(&runs, first);
        }
        self.numbered = layout.numbered();
        settled.extend(layout.rows.into_iter().map(|row| row.line));
        self.started |= !settled.is_empty();
        self.tail.drain(..used);
        if closed || self.finished {
            self.fence = None;
            self.resumed = false;
            self.settled_to_the_end();
        }
        closed
    }

    fn settled_to_the_end(&mut self) {
        self.searched = 0;
        self.frozen = 0;
        self.shown = None;
        self.columns = None;
        self.cache.clear();
    }

    /// Settles what can no longer change. Returns true when more may be settled.
    fn settle_blocks(&mut self, width: usize, frame: &mut MarkdownFrame) -> bool {
        let complete = if self.finished {
            self.tail.len()
        } else {
            self.tail.rfind('\n').map_or(0, |newline| newline + 1)
        };
        if complete <= self.searched && !(self.finished && complete > 0) {
            return false;
        }
        self.parsed += complete as u64;
        let source = &self.tail[..complete];
        let mut blocks = parse(source, &self.context());
        let cut = stable_prefix(source, &mut blocks, self.finished);
        if cut.bytes == 0 && cut.fence.is_none() {
            self.searched = complete;
            return false;
        }
        collect_definitions(&self.tail[..cut.bytes], &mut self.definitions);
        let laid_out = self.lay_out(&blocks, width);
        self.numbered = laid_out.numbered;
        let above = frame.settled.len();
        let below = |(rows, target)| (above + rows, target);
        frame
            .pictures
            .extend(laid_out.pictures.into_iter().map(below));
        frame
            .settled
            .extend(laid_out.rows.into_iter().map(|row| row.line));
        self.started |= !frame.settled.is_empty();
        self.list = cut.open_list.map(|mut list| {
            list.gap_due = laid_out.gap_due;
            // Numbers of a continued list count from its earlier items.
            if let (
                1,
                Some(before),
                Some(Block {
                    kind: BlockKind::List(_, items),
                    ..
                }),
            ) = (blocks.len(), self.list, blocks.first())
            {
                list.next = before
                    .next
                    .map(|next| next.saturating_add(items.len() as u64));
            }
            list
        });
        self.fence = cut.fence.map(|mut fence| {
            fence.begin(&self.appearance);
            fence.gap = self.started;
            fence
        });
        self.tail.drain(..cut.bytes);
        self.shown = None;
        self.searched = if self.fence.is_some() {
            0
        } else {
            complete - cut.bytes
        };
        self.resumed = false;
        self.frozen = self.frozen.saturating_sub(cut.bytes);
        self.columns = None;
        self.cache.clear();
        self.fence.is_some()
    }

    fn context(&self) -> Context<'_> {
        Context {
            links: self.appearance.links,
            definitions: &self.definitions,
        }
    }

    fn lay_out(&mut self, blocks: &[Block], width: usize) -> LaidOut {
        let mut layout = Self::layout(
            &self.appearance,
            self.quoted,
            width,
            self.frozen,
            &mut self.cache,
            self.columns.as_ref().filter(|_| self.frozen > 0),
            self.numbered,
        );
        let mut started = self.started;
        let mut pictures = Vec::new();
        for (n, block) in blocks.iter().enumerate() {
            let goes_on = self.list.filter(|_| n == 0);
            let gap = match goes_on {
                Some(list) => list.gap_due,
                None => started && !(n == 0 && (self.resumed || self.frozen > 0)),
            };
            if gap {
                layout.gap();
            }
            layout.top_level(block, goes_on);
            let rows = layout.rows.len();
            let named = self.tail.get(block.range.clone()).map(images);
            pictures.extend(named.into_iter().flatten().map(|target| (rows, target)));
            started |= !layout.rows.is_empty();
        }
        LaidOut {
            pictures,
            numbered: layout.numbered(),
            gap_due: layout.gap_is_due(),
            first_table: layout.first_table,
            rows: layout.rows,
        }
    }

    fn live_code(&mut self, width: usize) -> Vec<MarkdownRow> {
        let Some(fence) = &self.fence else {
            return Vec::new();
        };
        if self.tail.is_empty() || fence.may_close(&self.tail) {
            return Vec::new();
        }
        let mut layout = Self::layout(
            &self.appearance,
            self.quoted,
            width,
            0,
            &mut self.cache,
            None,
            self.numbered,
        );
        if fence.gap {
            layout.gap();
        }
        let first = fence.uncounted && !self.tail.trim().is_empty();
        layout.code_line(&fence.plain(&self.tail), first);
        layout.rows
    }

    fn live_blocks(&mut self, shown: usize, width: usize) -> Vec<MarkdownRow> {
        if self.tail[..shown].trim().is_empty() {
            return Vec::new();
        }
        self.parsed += shown as u64;
        let blocks = parse(&self.tail[..shown], &self.context());
        let LaidOut {
            rows, first_table, ..
        } = self.lay_out(&blocks, width);
        if let [
            Block {
                kind: BlockKind::Table(..),
                ..
            },
        ] = blocks.as_slice()
        {
            self.columns = self
                .columns
                .take()
                .filter(|_| self.frozen > 0)
                .or(first_table);
        }
        rows
    }

    /// Settles the upper rows of a tail that is too tall, and drops their source where possible.
    fn freeze(&mut self, mut rows: Vec<MarkdownRow>, max: usize, frame: &mut MarkdownFrame) {
        let resumable = |n: usize| rows[n].resumable && rows[n - 1].at < rows[n].at;
        let over = rows.len().saturating_sub(max);
        let boundary = (over > 0)
            .then(|| {
                (over..rows.len())
                    .find(|n| resumable(*n))
                    .or_else(|| (1..over).rev().find(|n| resumable(*n)))
            })
            .flatten()
            .unwrap_or(0);
        let live = rows.split_off(boundary);
        if boundary > 0 {
            self.frozen = live[0].at;
            self.drop_frozen_source(live[0].plain);
        }
        frame.settled.extend(rows.into_iter().map(|row| row.line));
        frame.live = live.into_iter().map(|row| row.line).collect();
    }

    /// Removes the frozen part of the tail's source where the rest means the same without it.
    fn drop_frozen_source(&mut self, plain: bool) {
        self.parsed += self.tail.len() as u64;
        let blocks = parse(&self.tail, &self.context());
        let before = self.tail.len();
        match drop_frozen(
            &mut self.tail,
            &blocks,
            &mut self.frozen,
            plain,
            &mut self.definitions,
        ) {
            Dropped::Nothing => {}
            Dropped::CodeLines(count) => self.cache.forget_lines(count),
            Dropped::Start => self.resumed = true,
        }
        self.searched = (self.searched + self.tail.len()).saturating_sub(before);
    }
}
