//! What fills the model's window: the parts of a request, each with its share, and what to hide to save most.
//!
//! In: a request as it would be sent, the conversation it was built from, and the tokens of the last turn. Out: lines
//! of text. All counts are estimates. Invariant: what hiding an entry saves is measured on the conversation without
//! it, because the cells of a hidden exchange come back into the context.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::agent::{InputPart, ToolSpec, TurnRequest, Usage};
use crate::dialog::{CellEntry, Dialog};
use crate::input::is_ipycodex_input;
use crate::output::MODEL_CHARACTERS;
use crate::output::limits::grouped;
use crate::picture;

/// ASCII characters per token; any other character counts as one token.
pub(super) const ASCII_PER_TOKEN: usize = 4;

/// Pixels of a picture per token.
const PIXELS_PER_TOKEN: u64 = 750;
/// Most tokens of a picture: models scale down what is larger.
const MOST_PER_PICTURE: usize = 1_600;
/// Base64 characters in which the header of most pictures ends.
const HEADER: usize = 1 << 16;

/// Width of the longest bar, in columns.
const BAR: usize = 24;
/// Eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Entries that are named as those to hide.
const NAMED: usize = 3;
/// Entries whose saving is measured, by their own size.
const MEASURED: usize = 8;
/// Savings below this are not named, in tokens.
const LEAST_SAVING: usize = 20;

/// The size of texts, in characters by kind, for an estimate of tokens.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TextSize {
    ascii: usize,
    other: usize,
}

impl TextSize {
    pub(super) fn measure(text: &str) -> Self {
        let characters = text.chars().count();
        let ascii = text.bytes().filter(u8::is_ascii).count();
        TextSize {
            ascii,
            other: characters - ascii,
        }
    }

    pub(super) fn of_tool(tool: &ToolSpec) -> Self {
        TextSize::measure(&tool.name)
            .plus(TextSize::measure(&tool.description))
            .plus(TextSize::measure(&tool.schema.to_string()))
    }

    pub(super) fn plus(self, other: TextSize) -> TextSize {
        TextSize {
            ascii: self.ascii + other.ascii,
            other: self.other + other.other,
        }
    }

    fn minus(self, other: TextSize) -> TextSize {
        TextSize {
            ascii: self.ascii.saturating_sub(other.ascii),
            other: self.other.saturating_sub(other.other),
        }
    }

    pub(super) fn characters(self) -> usize {
        self.ascii + self.other
    }

    pub(super) fn tokens(self) -> usize {
        self.ascii.div_ceil(ASCII_PER_TOKEN) + self.other
    }
}

/// Returns the parts of `request` with a bar and a share each, then what to hide. `used`: the tokens of the last turn
/// that told them.
pub(super) fn shares(
    request: &TurnRequest,
    added_instructions: &str,
    dialog: &Dialog,
    used: Option<Usage>,
) -> String {
    let parts = parts(request, added_instructions, dialog);
    let total: usize = parts.iter().map(|(_, tokens)| tokens).sum();
    let window = used.and_then(|used| used.window).filter(|size| *size > 0);
    let whole = window.unwrap_or(total as u64).max(1);
    let mut lines = vec![match window {
        Some(window) => format!(
            "[about {} of the {} tokens of the window, {}]",
            grouped(total as u64),
            grouped(window),
            percent(total as u64, whole)
        ),
        None => "[shares of what is sent; the size of the window is known after an answer]".into(),
    }];
    let most = parts.iter().map(|(_, tokens)| *tokens).max().unwrap_or(0);
    lines.extend(parts.iter().map(|(name, tokens)| {
        let count = grouped(*tokens as u64);
        let share = percent(*tokens as u64, whole);
        let line = format!("{name:12}  {count:>9}  {share:>5}  {}", bar(*tokens, most));
        line.trim_end().to_owned()
    }));
    let full = used.and_then(|used| used.filled.zip(used.fullness()));
    lines.extend(full.map(|(filled, percent)| {
        format!(
            "[the last turn left {} tokens in it, {percent}%, with what the agent adds and its own work]",
            grouped(filled)
        )
    }));
    let saved = savings(dialog, has_pictures(request));
    if !saved.is_empty() {
        lines.push("[hide to save most]".into());
    }
    lines.extend(saved.into_iter().map(|(line, tokens, title)| {
        let command = format!("%ipycodex hide {line}");
        format!(
            "{command:20}  about {} tokens: {title}",
            grouped(tokens as u64)
        )
    }));
    lines.join("\n")
}

/// The parts of a request, and their tokens.
fn parts(
    request: &TurnRequest,
    added_instructions: &str,
    dialog: &Dialog,
) -> [(&'static str, usize); 6] {
    let sum =
        |sizes: &mut dyn Iterator<Item = TextSize>| sizes.fold(TextSize::default(), TextSize::plus);
    let mut instructions = TextSize::measure(&request.instructions);
    if !request.tools.is_empty() {
        instructions = instructions.plus(TextSize::measure(added_instructions));
    }
    let tools = sum(&mut request.tools.iter().map(TextSize::of_tool));
    let answers = request.history.iter();
    let answers = sum(&mut answers.map(|past| TextSize::measure(&past.assistant)));
    let prompts = dialog.prompts.iter().filter(|prompt| !prompt.hidden);
    let prompts = sum(&mut prompts.map(|prompt| {
        TextSize::measure(&prompt.expansion.xml).plus(TextSize::measure(prompt.prompt.trim()))
    }));
    let sent = request.input.iter().filter_map(InputPart::as_text);
    let sent = sent.chain(request.history.iter().map(|past| past.user.as_str()));
    let cells = sum(&mut sent.map(TextSize::measure)).minus(prompts);
    let earlier = request.history.iter().flat_map(|past| &past.images);
    let next = request.input.iter().filter_map(|part| match part {
        InputPart::Image(url) => Some(url.as_str()),
        InputPart::Text(_) | InputPart::File { .. } => None,
    });
    let pictures = earlier.map(|url| &**url).chain(next).map(picture_tokens);
    [
        ("instructions", instructions.tokens()),
        ("tools", tools.tokens()),
        ("cells", cells.tokens()),
        ("prompts", prompts.tokens()),
        ("answers", answers.tokens()),
        ("pictures", pictures.sum()),
    ]
}

/// True unless the conversation has pictures that are not sent.
fn has_pictures(request: &TurnRequest) -> bool {
    let next = request.input.iter();
    let mut next = next.filter(|part| matches!(part, InputPart::Image(_)));
    next.next().is_some() || request.history.iter().any(|past| !past.images.is_empty())
}

/// Tokens of a picture, from the size in its header.
fn picture_tokens(url: &str) -> usize {
    let Some((_, data)) = url.split_once(";base64,") else {
        return MOST_PER_PICTURE;
    };
    let size = |data: &str| {
        let bytes = BASE64_STANDARD.decode(data).ok()?;
        picture::size(&bytes).ok()
    };
    let header = data.get(..HEADER).and_then(size);
    header
        .or_else(|| size(data))
        .map_or(MOST_PER_PICTURE, |(width, height)| {
            let tokens = u64::from(width) * u64::from(height) / PIXELS_PER_TOKEN;
            usize::try_from(tokens)
                .map_or(MOST_PER_PICTURE, |tokens| tokens.clamp(1, MOST_PER_PICTURE))
        })
}

/// The entries that save most when hidden: In number, tokens, title.
fn savings(dialog: &Dialog, pictures: bool) -> Vec<(u32, usize, String)> {
    let all = conversation(dialog, pictures);
    let prompts = dialog.prompts.iter().filter(|prompt| !prompt.hidden);
    let prompts = prompts.map(|prompt| {
        let size = prompt.response.len() + prompt.expansion.xml.len() + prompt.prompt.len();
        let images = prompt.expansion.images.len() * usize::from(pictures);
        (rough(size, images), prompt.line, title('.', &prompt.prompt))
    });
    let cells = dialog.cells.iter().filter(|cell| {
        !cell.is_excluded() && cell.in_answer_of.is_none() && !is_ipycodex_input(&cell.source)
    });
    let cells = cells.map(|cell| {
        let images = cell.images.len() * usize::from(pictures);
        (
            rough(own_size(cell), images),
            cell.line,
            title_of_cell(cell),
        )
    });
    let mut entries: Vec<_> = prompts.chain(cells).collect();
    entries.sort_by_key(|(size, line, _)| (std::cmp::Reverse(*size), *line));
    let measured = entries.into_iter().take(MEASURED).map(|(_, line, title)| {
        let mut without = dialog.clone();
        without.hide(&(line..=line), true);
        let saved = all.saturating_sub(conversation(&without, pictures));
        (line, saved, title)
    });
    let mut saved: Vec<_> = measured
        .filter(|(_, tokens, _)| *tokens >= LEAST_SAVING)
        .collect();
    saved.sort_by_key(|(line, tokens, _)| (std::cmp::Reverse(*tokens), *line));
    saved.truncate(NAMED);
    saved
}

/// Tokens of the exchanges and of the next context.
fn conversation(dialog: &Dialog, pictures: bool) -> usize {
    let mut text = TextSize::measure(&dialog.next_context());
    let mut images = 0;
    for past in dialog.exchanges() {
        text = text.plus(TextSize::measure(&past.user));
        text = text.plus(TextSize::measure(&past.assistant));
        images += past
            .images
            .iter()
            .map(|url| picture_tokens(url))
            .sum::<usize>();
    }
    let next = dialog.next_pictures(&Default::default());
    images += next.iter().map(|url| picture_tokens(url)).sum::<usize>();
    text.tokens() + images * usize::from(pictures)
}

fn own_size(cell: &CellEntry) -> usize {
    let output = cell.output.as_deref().map_or(0, str::len);
    cell.source.len() + output.min(MODEL_CHARACTERS)
}

fn rough(bytes: usize, images: usize) -> usize {
    bytes / ASCII_PER_TOKEN + images * MOST_PER_PICTURE
}

fn title_of_cell(cell: &CellEntry) -> String {
    match &cell.shell {
        Some(shell) => title('!', &shell.command),
        None => first_line(&cell.source),
    }
}

fn title(prefix: char, text: &str) -> String {
    format!("{prefix}{}", first_line(text))
}

fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut title: String = line.chars().take(40).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    title
}

/// A share with one decimal below 10 percent.
fn percent(part: u64, whole: u64) -> String {
    let tenths = part.saturating_mul(1_000) / whole;
    match tenths {
        0 if part > 0 => "<0.1%".to_owned(),
        0..100 => format!("{}.{}%", tenths / 10, tenths % 10),
        _ => format!("{}%", tenths / 10),
    }
}

fn bar(part: usize, most: usize) -> String {
    let eighths = (part * BAR * 8).checked_div(most).unwrap_or(0);
    let eighths = if part > 0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}
