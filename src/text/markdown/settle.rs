//! The part of a growing source that can no longer change.
//!
//! In: whole lines and the blocks they make. Out: how many bytes are final, and how the rest continues them.
//! Invariant: final source stays final whatever follows: everything before the last block; the last block too when a
//! blank line or its kind ends it; of a list, everything before its last item; of a fence, its opening line (its
//! lines belong to the fence). Absent on purpose: rows and widths.

use super::blocks::{Block, BlockKind, collect_definitions};
use super::fence::OpenFence;
use super::inline::Definitions;
use super::source::RESUMED;

/// Set when the first block of the tail is the rest of a list.
#[derive(Clone, Copy)]
pub(crate) struct OpenList {
    /// Number of the next item, when ordered.
    pub(crate) next: Option<u64>,
    /// A blank line precedes the next item.
    pub(crate) blank_before: bool,
    /// The items so far show nothing, and the empty row before the list is still due.
    pub(crate) gap_due: bool,
}

/// The part of a source of whole lines that can be settled.
#[derive(Default)]
pub(crate) struct StablePrefix {
    pub(crate) bytes: usize,
    pub(crate) fence: Option<OpenFence>,
    pub(crate) open_list: Option<OpenList>,
}

/// Removes from `blocks` all that cannot be settled yet.
pub(crate) fn stable_prefix(source: &str, blocks: &mut Vec<Block>, finished: bool) -> StablePrefix {
    let whole = StablePrefix {
        bytes: source.len(),
        ..StablePrefix::default()
    };
    if finished {
        return whole;
    }
    let Some(mut last) = blocks.pop() else {
        // Only definitions and blank lines.
        return if source.ends_with("\n\n") || source.trim().is_empty() {
            whole
        } else {
            StablePrefix::default()
        };
    };
    let start = line_start(source, last.range.start);
    match &mut last.kind {
        BlockKind::Heading(..) | BlockKind::Rule => {
            let end = block_end(source, last.range.end);
            blocks.push(last);
            StablePrefix {
                bytes: end,
                ..StablePrefix::default()
            }
        }
        BlockKind::Paragraph(_) | BlockKind::Table(..)
            if blank_line_after(source, last.range.end).is_some() =>
        {
            let end = blank_line_after(source, last.range.end).unwrap_or(source.len());
            blocks.push(last);
            StablePrefix {
                bytes: end,
                ..StablePrefix::default()
            }
        }
        BlockKind::Code { fenced: true, .. } => {
            let opener = next_line(source, start);
            StablePrefix {
                bytes: opener,
                fence: OpenFence::open(&source[start..opener]),
                open_list: None,
            }
        }
        BlockKind::List(first, items) if items.len() > 1 => {
            let next = items.pop().expect("there are at least two");
            let open_list = OpenList {
                next: first.map(|first| first.saturating_add(items.len() as u64)),
                blank_before: next.blank_before,
                gap_due: false,
            };
            blocks.push(last);
            StablePrefix {
                bytes: line_start(source, next.at),
                fence: None,
                open_list: Some(open_list),
            }
        }
        _ => StablePrefix {
            bytes: before_last(source, blocks.last(), &last, start),
            ..StablePrefix::default()
        },
    }
}

/// Offset up to which everything before the last block is final, such that the rest alone makes the same block.
fn before_last(source: &str, before: Option<&Block>, last: &Block, start: usize) -> usize {
    // A definition continues like a paragraph: `    x` or `2. x` after one is text, alone it is code or a list.
    let may_go_on = matches!(last.kind, BlockKind::Paragraph(_) | BlockKind::Table(..))
        && !ends_in_blank_line(&source[..start]);
    if !may_go_on {
        return start;
    }
    // Containers include definitions after them, so the end of their content is not known from their range.
    let (end, if_defined) = match before {
        Some(before) if before.kind.is_container() => (line_start(source, before.range.start), 0),
        Some(before) => {
            let end = block_end(source, before.range.end).min(start);
            (end, end)
        }
        None => (0, 0),
    };
    if source[end..start].contains("]:") {
        if_defined
    } else {
        start
    }
}

fn ends_in_blank_line(source: &str) -> bool {
    source
        .strip_suffix('\n')
        .is_some_and(|lines| lines[line_start(lines, lines.len())..].trim().is_empty())
}

pub(crate) fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

fn block_end(source: &str, at: usize) -> usize {
    if source[..at].ends_with('\n') {
        at
    } else {
        next_line(source, at)
    }
}

fn next_line(source: &str, at: usize) -> usize {
    source[at..]
        .find('\n')
        .map_or(source.len(), |newline| at + newline + 1)
}

/// Offset after the first blank line at or after the end of a block.
fn blank_line_after(source: &str, end: usize) -> Option<usize> {
    let mut at = block_end(source, end);
    while let Some(length) = source[at..].find('\n') {
        if source[at..at + length].trim().is_empty() {
            return Some(at + length + 1);
        }
        at += length + 1;
    }
    None
}

/// Bytes at the end that are not shown yet: a last line of nothing but marks (`-`, `` ``` ``, `1.`), which change
/// their meaning with the next character; and an incomplete table row, which would be redrawn cell by cell.
pub(crate) fn unsure_end(tail: &str) -> usize {
    let line = &tail[line_start(tail, tail.len())..];
    let marks = |c: char| c.is_ascii_digit() || " \t-=*_#`~|>+.:)[]!".contains(c);
    let table_row = line.trim_start().starts_with('|');
    if table_row || line.len() <= 80 && line.chars().all(marks) {
        line.len()
    } else {
        0
    }
}

pub(crate) enum Dropped {
    Nothing,
    /// That many lines of the tail's last code block.
    CodeLines(usize),
    /// The beginning of the tail's only block, which the rest continues.
    Start,
}

/// Removes from `tail` the source that is settled although its block is not, where the rest means the same without
/// it. `plain`: no inline element is open at `frozen`. Definitions in the removed source are added to `definitions`.
pub(crate) fn drop_frozen(
    tail: &mut String,
    blocks: &[Block],
    frozen: &mut usize,
    plain: bool,
    definitions: &mut Definitions,
) -> Dropped {
    if let Some(lines) = trailing_code(blocks) {
        // The opening line stays.
        let count = lines.iter().filter(|(at, _)| *at < *frozen).count();
        let on_a_line = lines.get(count).is_some_and(|(at, _)| *at == *frozen);
        if count == 0 || !on_a_line {
            return Dropped::Nothing;
        }
        drop_lines(tail, lines[0].0, frozen);
        return Dropped::CodeLines(count);
    }
    match blocks {
        [block]
            if plain
                && block.range.start < *frozen
                && matches!(block.kind, BlockKind::Paragraph(_)) =>
        {
            collect_definitions(&tail[..block.range.start], definitions);
            let blank = if tail[..*frozen].ends_with([' ', '\n']) {
                " "
            } else {
                ""
            };
            let mark = format!("{RESUMED}{blank}");
            tail.replace_range(..*frozen, &mark);
            *frozen = mark.len();
            Dropped::Start
        }
        [
            Block {
                kind: BlockKind::Table(_, rows),
                ..
            },
        ] if rows.len() > 1 && rows[1].0 < *frozen => {
            drop_lines(tail, rows[1].0, frozen);
            Dropped::Start
        }
        _ => Dropped::Nothing,
    }
}

fn drop_lines(tail: &mut String, first: usize, frozen: &mut usize) {
    let from = line_start(tail, first);
    let to = line_start(tail, *frozen);
    tail.replace_range(from..to, "");
    *frozen -= to - from;
}

/// The lines of the fenced code block at the end of a tail, at any depth.
fn trailing_code(blocks: &[Block]) -> Option<&[(usize, String)]> {
    match &blocks.last()?.kind {
        BlockKind::Code {
            fenced: true,
            lines,
            ..
        } => Some(lines),
        BlockKind::Quote(children) | BlockKind::Footnote(_, children) => trailing_code(children),
        BlockKind::List(_, items) => trailing_code(&items.last()?.children),
        _ => None,
    }
}
