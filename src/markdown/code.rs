//! Code blocks: lines of source to styled runs, with state kept from line to line.
//!
//! In: complete lines without their newline. Out: one list of runs a line. Invariant: a line costs the same wherever it
//! stands, since the parser's state is carried along; [`CodeCache`] gives back what was already highlighted while a
//! block is still growing. The syntax tables are loaded once, by whoever comes first: [`warm_up`] in the background, or
//! the first line that needs them. Absent on purpose: plain text as a stand-in for lines that become final.

use std::sync::OnceLock;

use nu_ansi_term::Style;
use syntect::easy::HighlightLines;
use syntect::highlighting::{FontStyle, Theme as SyntectTheme, ThemeSet};
use syntect::parsing::SyntaxSet;

use super::theme::{Theme, monokai};

/// Longer lines (minified files) are shown plain: highlighting is superlinear in the line's length.
pub(super) const LONGEST_LINE: usize = 2_000;

/// Runs of one line.
pub(crate) type Runs = Vec<(String, Style)>;

/// What syntect knows.
pub(super) struct Tables {
    pub(super) syntaxes: SyntaxSet,
    pub(super) themes: ThemeSet,
}

pub(super) fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut themes = ThemeSet::load_defaults();
        themes.themes.insert("monokai".to_owned(), monokai());
        Tables {
            syntaxes: SyntaxSet::load_defaults_newlines(),
            themes,
        }
    })
}

/// Loads syntaxes and themes and compiles what Python needs (some 8 ms of CPU): for a background thread.
pub fn warm_up() {
    let mut highlighter = CodeHighlighter::new("python", Some(Theme::default()));
    highlighter.line("def f(x: int = 1) -> str:  # \"warm\"");
    highlighter.line("    return f'{x}' if x else None");
}

/// Highlights the lines of one block, in order.
pub(crate) struct CodeHighlighter {
    state: Option<(HighlightLines<'static>, Theme)>,
    buffer: String,
}

impl CodeHighlighter {
    /// `info` is the fence's info string; `theme` is `None` without colours.
    pub(crate) fn new(info: &str, theme: Option<Theme>) -> Self {
        let state = theme
            .filter(|_| !language(info).is_empty())
            .and_then(|theme| {
                let tables = tables();
                let syntax = tables.syntaxes.find_syntax_by_token(syntax_token(info))?;
                let chosen: &SyntectTheme = tables
                    .themes
                    .themes
                    .get(theme.code_key())
                    .expect("theme names come from a table of the set's keys");
                Some((HighlightLines::new(syntax, chosen), theme))
            });
        CodeHighlighter {
            state,
            buffer: String::new(),
        }
    }

    /// The next line.
    pub(crate) fn line(&mut self, line: &str) -> Runs {
        let plain = || vec![(line.to_owned(), Style::new())];
        let Some((highlighter, theme)) = &mut self.state else {
            return plain();
        };
        if line.len() > LONGEST_LINE {
            return plain();
        }
        self.buffer.clear();
        self.buffer.push_str(line);
        self.buffer.push('\n');
        let Ok(runs) = highlighter.highlight_line(&self.buffer, &tables().syntaxes) else {
            return plain();
        };
        let mut out: Runs = Vec::new();
        for (style, text) in runs {
            let text = text.trim_end_matches('\n');
            let style = terminal_style(style, *theme);
            match out.last_mut() {
                // A blank has no colour worth the bytes.
                Some((last, known)) if *known == style || text.trim().is_empty() => {
                    last.push_str(text);
                }
                _ if text.is_empty() => {}
                _ => out.push((text.to_owned(), style)),
            }
        }
        out
    }
}

/// The theme's colour; text in the theme's default colour keeps the terminal's own.
fn terminal_style(style: syntect::highlighting::Style, theme: Theme) -> Style {
    let default = tables().themes.themes[theme.code_key()]
        .settings
        .foreground
        .unwrap_or(syntect::highlighting::Color::BLACK);
    let mut out = Style::new();
    if style.foreground != default {
        out = out.fg(theme.colour(style.foreground));
    }
    out.is_bold = style.font_style.contains(FontStyle::BOLD);
    out.is_italic = style.font_style.contains(FontStyle::ITALIC);
    out
}

/// First word of an info string: `rust` of `rust,ignore`, `python` of `{.python}`.
fn language(info: &str) -> &str {
    info.trim_start_matches(['{', '.', ' '])
        .split([',', ' ', '\t', '}', '{'])
        .next()
        .unwrap_or("")
}

/// Names models use that syntect's tables do not know.
pub(super) fn syntax_token(info: &str) -> &str {
    let language = language(info);
    match language.to_ascii_lowercase().as_str() {
        "ipython" | "python3" | "pycon" | "py3" => "python",
        "shell" | "console" | "zsh" | "shell-session" | "sh-session" => "bash",
        "jsonc" | "json5" | "jsonl" => "json",
        "typescript" | "ts" | "tsx" | "jsx" | "node" => "js",
        "c++" | "cxx" => "cpp",
        _ => language,
    }
}

/// What is already highlighted of the blocks of a tail that is laid out again and again.
#[derive(Default)]
pub(crate) struct CodeCache {
    blocks: Vec<CachedBlock>,
}

struct CachedBlock {
    info: String,
    lines: Vec<(String, Runs)>,
    highlighter: CodeHighlighter,
}

impl CodeCache {
    /// Forgets everything: the tail begins elsewhere now.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
    }

    /// The first `count` lines of the last block are gone from the tail.
    pub(crate) fn forget_lines(&mut self, count: usize) {
        if let Some(last) = self.blocks.last_mut() {
            last.lines.drain(..count.min(last.lines.len()));
        }
    }

    /// Line `number` of the `block`th code block of the tail. Lines are asked for in order.
    pub(crate) fn line(
        &mut self,
        block: usize,
        info: &str,
        theme: Option<Theme>,
        number: usize,
        line: &str,
    ) -> Runs {
        let fits = self
            .blocks
            .get(block)
            .is_some_and(|known| known.info == info && known.lines.len() >= number);
        if !fits {
            self.blocks.truncate(block);
            self.blocks.push(CachedBlock {
                info: info.to_owned(),
                lines: Vec::new(),
                highlighter: CodeHighlighter::new(info, theme),
            });
        }
        // `push` above makes it the last; a block never skipped makes it the `block`th.
        let known = match self.blocks.get_mut(block) {
            Some(known) => known,
            None => return CodeHighlighter::new(info, theme).line(line),
        };
        if let Some((text, runs)) = known.lines.get(number) {
            if text == line {
                return runs.clone();
            }
            // An earlier line changed: start this block over, from its first line.
            let before: Vec<String> = known
                .lines
                .drain(..)
                .map(|(text, _)| text)
                .take(number)
                .collect();
            known.highlighter = CodeHighlighter::new(info, theme);
            for text in before {
                let runs = known.highlighter.line(&text);
                known.lines.push((text, runs));
            }
        }
        let runs = known.highlighter.line(line);
        known.lines.push((line.to_owned(), runs.clone()));
        runs
    }
}
