//! Long help through a pager: `$PAGER`, else `less`, else a small built-in one; short help is printed.
//!
//! In: the bundle of a page event. Out: safe text (its own colours, no other sequence), printed or passed to a
//! program that owns the terminal meanwhile. Invariants: the guard lends the terminal and takes it back whatever the
//! pager does; where no pager can be started the page is printed. The reader of the keyboard has stopped before a
//! pager starts, since pages are shown when their run is over. Absent on purpose: paging of answers.

mod builtin;

use std::process::Command;

use crate::environment::Environment;
use crate::markdown::{Appearance, CodeHighlighter, render};
use crate::output::filter::Policy;
use crate::output::mime::{MimeBundle, TerminalForm};
use crate::process;
use crate::runtime::{SOURCE_MIME, TerminalSize};
use crate::screen::guard::TerminalGuard;
use crate::screen::{Screen, ScreenError};
use crate::text::columns;

/// Options for `less` unless the user has set some; as git: exit when the text is short, keep colours and the
/// screen.
const LESS_OPTIONS: &str = "FRX";

/// Renders a page as text that is safe to write, each line ended; `None` for pictures.
pub(super) fn page_text(
    bundle: &MimeBundle,
    width: usize,
    appearance: &Appearance,
    colour: bool,
) -> Option<String> {
    if let Some(parts) = bundle.get(SOURCE_MIME).and_then(|parts| parts.as_array())
        && let [before, source] = parts.as_slice()
    {
        let mut text = sanitize(before.as_str().unwrap_or_default(), colour);
        let mut code = CodeHighlighter::new("python", colour.then_some(appearance.theme));
        for line in sanitize(source.as_str().unwrap_or_default(), false).lines() {
            for (part, style) in code.line(line) {
                text.push_str(&style.paint(part).to_string());
            }
            text.push('\n');
        }
        return Some(text);
    }
    match bundle.for_terminal(width) {
        TerminalForm::Plain(text) | TerminalForm::Json { tree: text, .. } => {
            Some(sanitize(&text, colour))
        }
        TerminalForm::Markdown(source) => {
            let lines = render(&source, width, appearance);
            Some(
                lines
                    .iter()
                    .map(|line| line.to_ansi(colour) + "\n")
                    .collect(),
            )
        }
        TerminalForm::Nothing => Some(String::new()),
        TerminalForm::Image { .. } | TerminalForm::Drawing { .. } => None,
    }
}

/// Untrusted text made safe: its own colours if `colour`, no other sequence; ends in a newline.
fn sanitize(text: &str, colour: bool) -> String {
    let policy = if colour {
        Policy::Colours
    } else {
        Policy::Text
    };
    builtin::filtered(text.trim_end_matches('\n'), policy) + "\n"
}

/// True for a text that does not fit the screen together with the next prompt.
pub(super) fn is_long(text: &str, size: TerminalSize) -> bool {
    let (width, height) = (usize::from(size.columns).max(1), usize::from(size.rows));
    let mut rows = 0;
    text.lines().any(|line| {
        rows += columns(&builtin::filtered(line, Policy::Text)).saturating_sub(1) / width + 1;
        rows + 2 > height
    })
}

/// The pagers to try, best first; an empty list prints.
fn programs(environment: &Environment) -> Vec<Vec<String>> {
    match environment.variable("PAGER") {
        Some(chosen) => match shlex::split(chosen) {
            Some(words) if words.first().is_some_and(|word| word == "cat") => Vec::new(),
            Some(words) if !words.is_empty() => vec![words],
            _ => vec![vec!["less".into()]],
        },
        None => vec![vec!["less".into()]],
    }
}

/// Shows a long page; returns when the user has left it. Other readers of the keyboard must have stopped.
///
/// # Errors
/// The screen cannot be written.
pub fn show(
    page: &str,
    screen: &Screen,
    guard: Option<&TerminalGuard>,
    environment: &Environment,
) -> Result<(), ScreenError> {
    let programs = programs(environment);
    let Some(guard) = guard.filter(|_| !programs.is_empty() && screen.is_rich()) else {
        screen.write_trusted(page.as_bytes())?;
        return screen.flush();
    };
    screen.flush()?;
    for words in programs {
        guard.restore();
        let shown = run(&words, page, environment);
        guard.host_mode();
        if shown {
            return Ok(());
        }
    }
    builtin::show(page, screen, guard)
}

/// Runs a pager; returns false when it could not be started.
fn run(words: &[String], page: &str, environment: &Environment) -> bool {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    if environment.variable("LESS").is_none() {
        command.env("LESS", LESS_OPTIONS);
    }
    // The page was shown, whatever the pager's exit status.
    process::run_in_foreground(&mut command, Some(page.as_bytes())).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(bundle: serde_json::Value, colour: bool) -> String {
        let serde_json::Value::Object(entries) = bundle else {
            panic!("an object");
        };
        let bundle = MimeBundle::new(entries.into_iter().collect());
        page_text(&bundle, 40, &Appearance::default(), colour).unwrap()
    }

    #[test]
    fn foreign_text_keeps_its_colours_and_nothing_else() {
        let page =
            json!({"text/plain": "\u{1b}[31mred\u{1b}[0m\u{1b}[2J\u{1b}]0;title\u{7}\rend\n\n"});
        assert_eq!(text(page.clone(), true), "\u{1b}[31mred\u{1b}[0mend\n");
        assert_eq!(text(page, false), "redend\n");
    }

    #[test]
    fn source_is_coloured_and_stays_what_it_is() {
        let page = json!({SOURCE_MIME: ["Signature: f(a)", "def f(a):\n    return '\u{1b}[2J'"], "text/plain": "x"});
        let plain_text = text(page.clone(), false);
        assert_eq!(plain_text, "Signature: f(a)\ndef f(a):\n    return ''\n");
        let coloured = text(page, true);
        assert!(coloured.contains("\u{1b}["), "{coloured:?}");
        let uncoloured: String = coloured.lines().map(|line| sanitize(line, false)).collect();
        assert_eq!(uncoloured, plain_text);
    }

    #[test]
    fn long_is_what_does_not_fit() {
        let size = |columns, rows| TerminalSize { columns, rows };
        for (text, columns, rows, long) in [
            ("a\n".repeat(22), 80, 24, false),
            ("a\n".repeat(23), 80, 24, true),
            ("漢".repeat(20) + "\n", 10, 6, false),
            ("漢".repeat(25) + "\n", 10, 6, true),
            ("\u{1b}[31m".repeat(30) + "\n", 10, 6, false),
        ] {
            assert_eq!(is_long(&text, size(columns, rows)), long, "{text:?}");
        }
    }

    #[test]
    fn the_pager_is_taken_from_the_environment() {
        let check = |chosen: Option<&str>, expected: &[&[&str]]| {
            let mut environment = Environment::default();
            if let Some(chosen) = chosen {
                environment.variables.insert("PAGER".into(), chosen.into());
            }
            assert_eq!(programs(&environment), expected, "{chosen:?}");
        };
        check(None, &[&["less"]]);
        check(Some("most -w"), &[&["most", "-w"]]);
        check(Some("'/a b/less' -S"), &[&["/a b/less", "-S"]]);
        check(Some("cat"), &[]);
        check(Some("'broken"), &[&["less"]]);
    }
}
