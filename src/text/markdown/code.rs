//! Highlighting of code: lines of source to styled runs, with state kept from line to line.
//!
//! In: complete lines without their newline. Out: one list of runs per line. [`CodePainter`] is one language in one
//! theme; [`CodeState`] is the state between two lines, so that an editor can resume from any of them. Invariant:
//! the cost of a line does not depend on its position, since the parser's state is carried along; [`CodeCache`]
//! keeps what was highlighted while a block is still growing. The syntax tables are loaded once: by [`warm_up`] in
//! the background, or by the first line that needs them. Absent on purpose: plain text as a stand-in for lines that
//! become final.

use std::sync::OnceLock;

use nu_ansi_term::Style;
use syntect::highlighting::{
    Color as SyntectColor, FontStyle, HighlightIterator, HighlightState, Highlighter,
    Style as SyntectStyle, Theme as SyntectTheme, ThemeSet,
};
use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use super::theme::{Theme, monokai};

/// Longest line that is highlighted, in bytes: highlighting is superlinear in the line's length, and minified files
/// have very long lines.
pub(super) const LONGEST_LINE: usize = 2_000;

/// Runs of one line: text and style.
pub(crate) type Runs = Vec<(String, Style)>;

pub(super) struct Tables {
    pub(super) syntaxes: SyntaxSet,
    pub(super) themes: ThemeSet,
}

static TABLES: OnceLock<Tables> = OnceLock::new();

pub(super) fn tables() -> &'static Tables {
    TABLES.get_or_init(|| {
        let mut themes = ThemeSet::load_defaults();
        themes.themes.insert("monokai".to_owned(), monokai());
        Tables {
            syntaxes: SyntaxSet::load_defaults_newlines(),
            themes,
        }
    })
}

/// Loads syntaxes and themes and compiles what Python needs (some 8 ms of CPU); meant for a background thread.
pub fn warm_up() {
    let mut highlighter = CodeHighlighter::new("python", Some(Theme::default()));
    highlighter.line("def f(x: int = 1) -> str:  # \"warm\"");
    highlighter.line("    return f'{x}' if x else None");
}

/// State of highlighting between two lines. Equal states colour the following lines equally.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeState {
    parse: ParseState,
    highlight: HighlightState,
}

pub struct CodePainter {
    syntax: &'static SyntaxReference,
    highlighter: Highlighter<'static>,
    /// The theme's colour for text that no rule matches; such text keeps the terminal's own colour.
    plain: SyntectColor,
    theme: Theme,
}

impl CodePainter {
    /// Creates a painter for a fence's info string or a file's extension; `None` for unknown languages. Loads the
    /// tables when they are not loaded yet (some 8 ms).
    pub fn new(info: &str, theme: Theme) -> Option<Self> {
        if language(info).is_empty() {
            return None;
        }
        let tables = tables();
        let syntax = tables.syntaxes.find_syntax_by_token(syntax_token(info))?;
        let chosen: &SyntectTheme = tables
            .themes
            .themes
            .get(theme.code_key())
            .expect("theme names come from a table of the set's keys");
        Some(CodePainter {
            syntax,
            highlighter: Highlighter::new(chosen),
            plain: chosen.settings.foreground.unwrap_or(SyntectColor::BLACK),
            theme,
        })
    }

    pub fn start(&self) -> CodeState {
        CodeState {
            parse: ParseState::new(self.syntax),
            highlight: HighlightState::new(&self.highlighter, ScopeStack::new()),
        }
    }

    /// Returns the runs of `line` as lengths in bytes and styles; neighbours of one style are joined, and the
    /// lengths add up to the line. `state` advances past the line. A line that cannot be parsed is plain.
    pub fn line(&self, state: &mut CodeState, line: &str) -> Vec<(usize, Style)> {
        let plain = || vec![(line.len(), Style::new())];
        if line.len() > LONGEST_LINE {
            return plain();
        }
        let with_end = format!("{line}\n");
        let Ok(changes) = state.parse.parse_line(&with_end, &tables().syntaxes) else {
            return plain();
        };
        let runs =
            HighlightIterator::new(&mut state.highlight, &changes, &with_end, &self.highlighter);
        let mut out: Vec<(usize, Style)> = Vec::new();
        for (style, text) in runs {
            let text = text.trim_end_matches('\n');
            let style = self.terminal_style(style);
            match out.last_mut() {
                // A blank needs no colour of its own.
                Some((length, known)) if *known == style || text.trim().is_empty() => {
                    *length += text.len();
                }
                _ if text.is_empty() => {}
                _ => out.push((text.len(), style)),
            }
        }
        out
    }

    fn terminal_style(&self, style: SyntectStyle) -> Style {
        let mut out = Style::new();
        if style.foreground != self.plain {
            out = out.fg(self.theme.colour(style.foreground));
        }
        out.is_bold = style.font_style.contains(FontStyle::BOLD);
        out.is_italic = style.font_style.contains(FontStyle::ITALIC);
        out
    }
}

pub struct CodeHighlighter {
    state: Option<(CodePainter, CodeState)>,
}

impl CodeHighlighter {
    /// `info` is the fence's info string; `theme` is `None` without colours.
    pub fn new(info: &str, theme: Option<Theme>) -> Self {
        let painter = theme.and_then(|theme| CodePainter::new(info, theme));
        CodeHighlighter {
            state: painter.map(|painter| {
                let start = painter.start();
                (painter, start)
            }),
        }
    }

    pub fn line(&mut self, line: &str) -> Runs {
        let Some((painter, state)) = &mut self.state else {
            return vec![(line.to_owned(), Style::new())];
        };
        let mut rest = line;
        painter
            .line(state, line)
            .into_iter()
            .map(|(length, style)| {
                let (run, after) = rest.split_at(length);
                rest = after;
                (run.to_owned(), style)
            })
            .collect()
    }
}

/// First word of an info string: `rust` of `rust,ignore`, `python` of `{.python}`.
fn language(info: &str) -> &str {
    info.trim_start_matches(['{', '.', ' '])
        .split([',', ' ', '\t', '}', '{'])
        .next()
        .unwrap_or("")
}

/// Maps names that models use to the names in syntect's tables.
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

/// Highlighted lines of the blocks in a tail that is laid out again and again.
#[derive(Default)]
pub(crate) struct CodeCache {
    blocks: Vec<CachedBlock>,
}

struct CachedBlock {
    info: String,
    /// Some lines of the block are settled and no longer in the tail.
    cut: bool,
    lines: Vec<(String, Runs)>,
    highlighter: CodeHighlighter,
}

impl CodeCache {
    /// Empties the cache, for a tail that begins elsewhere.
    pub(crate) fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Forgets the first `count` lines of the last block, which have left the tail.
    pub(crate) fn forget_lines(&mut self, count: usize) {
        if let Some(last) = self.blocks.last_mut() {
            let mut gone = last.lines.drain(..count.min(last.lines.len()));
            last.cut |= gone.any(|(text, _)| !text.trim().is_empty());
        }
    }

    /// True when lines of the `block`th code block have been settled: its number has been shown.
    pub(crate) fn is_cut(&self, block: usize) -> bool {
        self.blocks.get(block).is_some_and(|known| known.cut)
    }

    /// Returns line `number` of the `block`th code block of the tail. Callers ask for lines in order.
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
                cut: false,
                lines: Vec::new(),
                highlighter: CodeHighlighter::new(info, theme),
            });
        }
        // The `push` above makes it the last; as no block is skipped, it is the `block`th.
        let known = match self.blocks.get_mut(block) {
            Some(known) => known,
            None => return CodeHighlighter::new(info, theme).line(line),
        };
        if let Some((text, runs)) = known.lines.get(number) {
            if text == line {
                return runs.clone();
            }
            // An earlier line changed: the block is highlighted again from its first line.
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
