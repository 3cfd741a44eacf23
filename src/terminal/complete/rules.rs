//! Decides what Tab completes at a place in a text. Pure rules.
//!
//! In: the text being typed, the cursor (bytes), the input mode. Out: a [`CompletionSource`]: the source, and the
//! part of the text to send it. Total: any text and any cursor give one. `input` classifies the text; this file
//! only finds the place in it. Absent on purpose: the names themselves, and the requests to sources.

use std::ops::Range;

use crate::input::{Input, Mode, classify, file_reference_at_end};
use crate::terminal::complete::code_context::{CodeContext, place};
use crate::terminal::complete::strings::{is_key, names_symbol};

/// The source of completions. Offsets are bytes of the whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CompletionSource {
    /// None: prose, comments.
    Nothing,
    /// The interpreter, asked about this part of the text.
    Interpreter {
        /// The range of the text that is sent.
        part: Range<usize>,
        keep: Keep,
    },
    Files {
        /// Start of the path as typed.
        start: usize,
        writing: PathQuoting,
        wanted: FileKind,
    },
    /// Programs on the search path.
    Programs {
        /// Start of the name.
        start: usize,
    },
    /// Our commands, after `%ipycodex`.
    Commands {
        /// Start of the word.
        start: usize,
    },
    Values {
        /// Start of the word.
        start: usize,
        command: String,
    },
    /// Skills, by name.
    Skills {
        /// Start of the name.
        start: usize,
    },
}

/// Which completions of the interpreter's answer to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    All,
    /// All, and our own magics.
    Magics,
    Callables,
    /// Names of values that can be sent: no modules, keywords, magics.
    Values,
}

/// How a path is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathQuoting {
    /// In a Python string with backslash escapes, in these quotes.
    Text(char),
    /// In a raw Python string.
    Raw,
    /// Unquoted in a shell, with a backslash before blanks and the like.
    Shell,
    /// In these quotes of a shell.
    ShellQuoted(char),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Any,
    /// Folders only.
    Folders,
    /// Files that Python runs, and folders.
    Scripts,
    /// Notebooks, and folders.
    Notebooks,
}

/// A completion, before it is converted for reedline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundCompletion {
    /// Bytes from the start of the text.
    pub(super) start: usize,
    pub(super) value: String,
    /// Its kind, for the second column.
    pub(super) detail: String,
}

/// Magics whose arguments are paths.
const FILE_MAGICS: &[&str] = &[
    "cat",
    "edit",
    "ed",
    "file",
    "less",
    "load",
    "loadpy",
    "ls",
    "ll",
    "more",
    "pfile",
    "pycat",
    "rm",
    "cp",
    "mv",
    "save",
    "writefile",
    "logstart",
];

/// Cell magics whose body is for a shell.
const SHELL_CELLS: &[&str] = &["bash", "sh", "script", "system", "sx", "!"];

/// Cell magics whose body is Python.
const PYTHON_CELLS: &[&str] = &[
    "time", "timeit", "capture", "prun", "debug", "python", "pypy",
];

/// Returns the source of completions at `cursor`. A cursor inside a character counts as that character's start.
pub(super) fn source(text: &str, cursor: usize, mode: Mode) -> CompletionSource {
    let cursor = floor(text, cursor);
    let body = body_start(text);
    if cursor < body {
        return CompletionSource::Nothing;
    }
    if mode != Mode::Shell && text[body..].starts_with('.') {
        return prompt(text, cursor, body + 1);
    }
    if mode == Mode::Shell && text.trim().is_empty() {
        return CompletionSource::Nothing;
    }
    match classify(text, mode) {
        Input::Prompt(_) => prompt(text, cursor, body),
        Input::Exit => CompletionSource::Nothing,
        Input::Shell { .. } => shell_command(text, cursor, body),
        Input::Command { .. } => python(text, cursor, body),
        Input::Empty | Input::Note { .. } | Input::Cell { .. } => {
            let marked = mode == Mode::Prompts && text[body..].starts_with(';');
            python(text, cursor, body + usize::from(marked))
        }
    }
}

fn floor(text: &str, cursor: usize) -> usize {
    let mut cursor = cursor.min(text.len());
    while !text.is_char_boundary(cursor) {
        cursor -= 1;
    }
    cursor
}

/// Returns the start of the first line that is not blank.
fn body_start(text: &str) -> usize {
    let indent = text.len() - text.trim_start().len();
    text[..indent].rfind('\n').map_or(0, |at| at + 1)
}

/// In a prompt: the name of a reference, and skills. Words of prose have no source.
fn prompt(text: &str, cursor: usize, from: usize) -> CompletionSource {
    if cursor < from {
        return CompletionSource::Nothing;
    }
    let line = text[..cursor]
        .rfind('\n')
        .map_or(from, |at| (at + 1).max(from));
    if let Some((mark, open)) = open_reference(&text[line..cursor]) {
        let inside = line + open;
        return match mark {
            '!' => shell(text, cursor, inside),
            mark => CompletionSource::Interpreter {
                part: inside..cursor,
                keep: if mark == '&' {
                    Keep::Callables
                } else {
                    Keep::Values
                },
            },
        };
    }
    let before = &text[line..cursor];
    if let Some((name, quote)) = file_reference_at_end(before) {
        return CompletionSource::Files {
            start: line + name,
            writing: quote.map_or(PathQuoting::Shell, |_| PathQuoting::Raw),
            wanted: FileKind::Any,
        };
    }
    let word = before
        .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | ':')))
        .map_or(0, |at| {
            at + before[at..].chars().next().map_or(1, char::len_utf8)
        });
    let start = line + word;
    let (head, mark) = match before[..word].chars().next_back() {
        Some(mark @ ('$' | '/')) => (&before[..word - 1], Some(mark)),
        _ => (&before[..word], None),
    };
    let at_start = text[from..line].trim().is_empty() && head.trim().is_empty();
    let names_skill = match mark {
        Some('$') => head.is_empty() || head.ends_with(char::is_whitespace),
        Some(_) => at_start,
        None => {
            let last = head.trim_end();
            head.ends_with(' ') && (last.ends_with("skill") || last.ends_with("skills"))
        }
    };
    if names_skill {
        CompletionSource::Skills { start }
    } else {
        CompletionSource::Nothing
    }
}

/// Returns the mark of the reference that is open at the end of a line, and the start of its content.
fn open_reference(line: &str) -> Option<(char, usize)> {
    let mut at = 0;
    while let Some(found) = line[at..].find('`') {
        let open = at + found;
        let mark = line[..open].chars().next_back();
        let closes = line[open + 1..].find('`');
        match (mark, closes) {
            (Some(mark @ ('&' | '$' | '!')), None) => return Some((mark, open + 1)),
            (_, None) => return None,
            (_, Some(length)) => at = open + 1 + length + 1,
        }
    }
    None
}

/// In a cell whose code begins at `from`.
fn python(text: &str, cursor: usize, from: usize) -> CompletionSource {
    if cursor < from {
        return CompletionSource::Nothing;
    }
    let all = CompletionSource::Interpreter {
        part: from..text.len(),
        keep: Keep::All,
    };
    let first = text.len() - text[from..].trim_start().len();
    if text[first..].starts_with("%%") {
        let end = text[first..].find('\n').map_or(text.len(), |at| first + at);
        if cursor <= end {
            return magic(text, cursor, from, first);
        }
        let name = magic_name(&text[first + 2..end]);
        if SHELL_CELLS.contains(&name) {
            let line = text[..cursor].rfind('\n').map_or(0, |at| at + 1);
            return shell(text, cursor, line);
        }
        if !PYTHON_CELLS.contains(&name) {
            return CompletionSource::Nothing;
        }
        return in_code(text, cursor, from, end + 1, all);
    }
    in_code(text, cursor, from, from, all)
}

/// In Python code that begins at `code`.
fn in_code(
    text: &str,
    cursor: usize,
    from: usize,
    code: usize,
    all: CompletionSource,
) -> CompletionSource {
    match place(&text[code..cursor]) {
        CodeContext::Code => all,
        CodeContext::Comment => CompletionSource::Nothing,
        CodeContext::Escape(at) => {
            let at = code + at;
            if text[at..].starts_with('!') {
                let marks = text[at..].chars().take_while(|c| *c == '!').count();
                shell(text, cursor, (at + marks).min(cursor))
            } else {
                magic(text, cursor, from, at)
            }
        }
        CodeContext::StringLiteral { triple: true, .. } => CompletionSource::Nothing,
        CodeContext::StringLiteral {
            before,
            begin,
            quote,
            raw,
            ..
        } => {
            let typed = &text[code + begin..cursor];
            if is_key(&text[code..code + before]) || names_symbol(typed) {
                return all;
            }
            CompletionSource::Files {
                start: code + begin,
                writing: if raw {
                    PathQuoting::Raw
                } else {
                    PathQuoting::Text(quote)
                },
                wanted: FileKind::Any,
            }
        }
    }
}

/// Returns the first word of a magic's line, without marks.
fn magic_name(line: &str) -> &str {
    line.split(|c: char| c.is_whitespace()).next().unwrap_or("")
}

/// On the line of a magic whose mark is at `at`.
fn magic(text: &str, cursor: usize, from: usize, at: usize) -> CompletionSource {
    let marks = text[at..].chars().take_while(|c| *c == '%').count();
    let named = (at + marks).min(cursor);
    let name = magic_name(&text[named..cursor]);
    let after = named + name.len();
    let asked = |keep| CompletionSource::Interpreter {
        part: from..text.len(),
        keep,
    };
    if after == cursor {
        return asked(Keep::Magics);
    }
    let files = |wanted| {
        let (start, writing) = last_word(text, cursor, after);
        CompletionSource::Files {
            start,
            writing,
            wanted,
        }
    };
    match name {
        "ipycodex" => ours(text, cursor, after),
        "cd" | "pushd" | "bookmark" => files(FileKind::Folders),
        "run" => files(FileKind::Scripts),
        name if FILE_MAGICS.contains(&name) => files(FileKind::Any),
        name if SHELL_CELLS.contains(&name) => shell(text, cursor, after),
        _ => match place(&text[after..cursor]) {
            CodeContext::Code | CodeContext::Escape(_) => asked(Keep::All),
            CodeContext::Comment => CompletionSource::Nothing,
            CodeContext::StringLiteral {
                before,
                begin,
                quote,
                ..
            } => {
                if is_key(&text[after..after + before]) {
                    asked(Keep::All)
                } else {
                    CompletionSource::Files {
                        start: after + begin,
                        writing: PathQuoting::Text(quote),
                        wanted: FileKind::Any,
                    }
                }
            }
        },
    }
}

/// After `%ipycodex`.
fn ours(text: &str, cursor: usize, after: usize) -> CompletionSource {
    let typed = &text[after..cursor];
    let start = after + typed.len() - typed.trim_start().len();
    let typed = typed.trim_start();
    match typed.split_once(char::is_whitespace) {
        None => CompletionSource::Commands { start },
        Some((command, arguments)) => match setting(command, arguments) {
            "save" | "load" | "open" | "export" => {
                let (start, writing) = last_word(text, cursor, start + command.len());
                CompletionSource::Files {
                    start,
                    writing,
                    wanted: if command == "export" {
                        FileKind::Any
                    } else {
                        FileKind::Notebooks
                    },
                }
            }
            command => {
                let rest = text[..cursor]
                    .rfind(char::is_whitespace)
                    .map_or(cursor, |at| {
                        at + text[at..].chars().next().map_or(1, char::len_utf8)
                    });
                CompletionSource::Values {
                    start: rest,
                    command: command.to_owned(),
                }
            }
        },
    }
}

/// Returns the command whose values come next: behind `set NAME` those of NAME.
fn setting<'a>(command: &'a str, arguments: &'a str) -> &'a str {
    match arguments.trim_start().split_once(char::is_whitespace) {
        Some((name, _)) if command == "set" => name,
        _ => command,
    }
}

/// In a shell line that begins at `from`.
fn shell(text: &str, cursor: usize, from: usize) -> CompletionSource {
    let (start, _) = last_word(text, cursor, from);
    let word = &text[start..cursor];
    // `{name}` and `$name` are variables of the namespace.
    if let Some(open) = word.rfind('{').filter(|open| !word[*open..].contains('}')) {
        return CompletionSource::Interpreter {
            part: start + open + 1..cursor,
            keep: Keep::Values,
        };
    }
    if let Some(name) = word.strip_prefix('$') {
        return CompletionSource::Interpreter {
            part: cursor - name.len()..cursor,
            keep: Keep::Values,
        };
    }
    shell_command(text, cursor, from)
}

/// In a line that only a shell reads, so that no word is a variable of the namespace.
fn shell_command(text: &str, cursor: usize, from: usize) -> CompletionSource {
    let from = text[from..cursor]
        .rfind('\n')
        .map_or(from, |at| from + at + 1);
    let (start, writing) = last_word(text, cursor, from);
    let word = &text[start..cursor];
    let before = text[from..start].trim_end();
    let first = before.is_empty() || before.ends_with(['|', ';', '&', '(']);
    if first && writing == PathQuoting::Shell && !word.contains('/') && !word.starts_with('~') {
        return CompletionSource::Programs { start };
    }
    CompletionSource::Files {
        start,
        writing,
        wanted: if before == "cd" {
            FileKind::Folders
        } else {
            FileKind::Any
        },
    }
}

/// Returns the start of the last word of a shell line, quotes not counted, and how the word is quoted.
fn last_word(text: &str, cursor: usize, from: usize) -> (usize, PathQuoting) {
    let mut start = from;
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text[from..cursor].char_indices() {
        let next = from + at + c.len_utf8();
        match quote {
            _ if escaped => escaped = false,
            None if c == '\\' => escaped = true,
            Some('"') if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => {
                quote = Some(c);
                start = next;
            }
            None if c.is_whitespace() || matches!(c, '|' | ';' | '&' | '(' | '<' | '>' | '=') => {
                start = next
            }
            None => {}
        }
    }
    (
        start,
        quote.map_or(PathQuoting::Shell, PathQuoting::ShellQuoted),
    )
}
