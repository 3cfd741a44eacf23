//! What is typed, answered and printed: the classifier, markdown while it streams, the filter of outputs, transcripts.

use ipycodex::input::{
    self, Input, Mode, PipedText, classify, completeness, prompt_source, shell_cell,
    shell_command_of,
};
use ipycodex::markdown::{Appearance, MarkdownStream, render};
use ipycodex::output::filter::{Filter, Policy};
use ipycodex::output::transcript::Transcript;
use ipycodex::text::Line;

use super::mutate::{cuts, pieces};
use crate::repl::sequences::foreign;

/// What comes of a text is the text: nothing is added, and only blanks and the marks before it are taken away.
pub fn classifier(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for mode in [Mode::Cells, Mode::Prompts, Mode::Shell] {
        let classified = classify(&text, mode);
        unchanged(&text, &classified);
        again(&classified, mode);
        completeness(&text, mode);
        input::clause_indent(&text, mode);
        if let Some(at) = input::code_start(&text, mode) {
            assert!(text.is_char_boundary(at));
        }
    }
    for reference in input::file_references(&text) {
        assert!(!reference.path.is_empty());
    }
    input::file_reference_at_end(&text);
    input::references(&text);
    input::is_private(&text);
    for shell in ["bash", "zsh"] {
        if !text.trim().is_empty() {
            assert_eq!(shell_command_of(&shell_cell(&text, shell)), Some(&*text));
        }
    }
    piped(&text);
}

fn unchanged(text: &str, classified: &Input) {
    let unix_line_ends = |mut text: String| {
        while text.contains("\r\n") {
            text = text.replace("\r\n", "\n");
        }
        text
    };
    let unix = unix_line_ends(text.to_owned());
    let (kept, whole) = match classified {
        Input::Cell { source } | Input::Note { source, .. } => (source, unix),
        Input::Command { line } => (line, unix),
        Input::Shell { command } => (command, unix),
        Input::Prompt(prompt) => (&prompt.text, unix_line_ends(unix.replace("\\\n", "\n"))),
        Input::Empty | Input::Exit => {
            let words = ["exit", "quit", "exit()", "quit()", "logout"];
            let joined = unix.replace("\\\n", "\n");
            let word = joined.trim();
            let marks = ['.', ';', '%'];
            let rest = word
                .trim_start_matches(marks)
                .trim_start_matches("ipycodex");
            assert!(
                words.contains(&word) || rest.trim_matches('.').trim().is_empty(),
                "{text:?}"
            );
            return;
        }
    };
    let (before, after) = match whole.rfind(kept.as_str()) {
        Some(at) => (&whole[..at], &whole[at + kept.len()..]),
        None => {
            // The first line of this magic is trimmed.
            let bare = |text: &str| text.replace(char::is_whitespace, "").replace('\\', "");
            assert!(whole.contains("%%ipycodex"), "{classified:?} of {text:?}");
            assert!(
                bare(&whole).ends_with(&bare(kept)),
                "{classified:?} of {text:?}"
            );
            return;
        }
    };
    let marks = [
        "",
        ".",
        ";",
        "%ipycodex",
        "%%ipycodex",
        ";%ipycodex",
        ";%%ipycodex",
    ];
    let mark: String = before.split_whitespace().collect();
    assert!(marks.contains(&&*mark), "{classified:?} of {text:?}");
    assert!(after.trim().is_empty(), "{classified:?} of {text:?}");
}

/// What was classified is classified as the same when it comes back from the record.
fn again(classified: &Input, mode: Mode) {
    match classified {
        // Of a cell magic, each time the blank line that ended it goes.
        Input::Cell { source } if source.trim_start().starts_with("%%") => {}
        Input::Cell { source } | Input::Note { source, .. } if mode == Mode::Cells => {
            assert_eq!(&classify(source, Mode::Cells), classified);
        }
        Input::Prompt(prompt) if !prompt.text.contains("\\\n") => {
            match classify(&prompt_source(&prompt.text), Mode::Cells) {
                Input::Prompt(again) => assert_eq!(
                    again.text.trim_end_matches('\n'),
                    prompt.text.trim_end_matches('\n')
                ),
                // `...` is Python's.
                other => assert!(prompt.text.trim_end() == "..", "{other:?} of {prompt:?}"),
            }
        }
        _ => {}
    }
}

/// The pieces of piped text do not depend on when it comes, and are all of it but blanks and markers.
fn piped(text: &str) {
    let whole = input::split_piped(text);
    let mut arriving = PipedText::default();
    let mut found = Vec::new();
    for piece in pieces(text) {
        arriving.push(piece);
        found.extend(arriving.whole(false));
    }
    found.extend(arriving.rest());
    assert_eq!(found, whole);
    let mut rest = text;
    for piece in &whole {
        assert!(!piece.trim().is_empty());
        let at = rest.find(piece.as_str()).expect("a piece is of the text");
        rest = &rest[at + piece.len()..];
    }
}

fn plain(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::plain).collect()
}

/// Whether brackets around a reference to a footnote are those of a link depends on whether the footnote itself is
/// parsed with them: such a reference becomes one to a link.
fn without_footnotes_in_brackets(text: &str) -> String {
    let (mut out, mut open) = (String::new(), 0_usize);
    for c in text.chars() {
        if c == '^' && open > 1 && out.ends_with('[') {
            continue;
        }
        match c {
            '[' => open += 1,
            ']' => open = open.saturating_sub(1),
            '\n' if out.ends_with('\n') => open = 0,
            _ => {}
        }
        out.push(c);
    }
    out
}

/// However an answer is cut, its lines are those of the whole; none is too wide or holds a control character.
pub fn markdown(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let width = 1 + bytes.len() % 90;
    let colour = Appearance {
        colour: true,
        links: true,
        ..Appearance::default()
    };
    let linked = Appearance {
        links: true,
        ..Appearance::default()
    };
    let linked = render(&text, width, &linked);
    let painted = render(&text, width, &colour);
    assert_eq!(plain(&painted), plain(&linked), "colours change the layout");
    for line in &painted {
        assert!(line.width() <= width, "{:?} at {width}", line.plain());
        assert!(!line.plain().contains(char::is_control), "{line:?}");
        let targets = line.spans().iter().filter_map(|span| span.link.as_deref());
        assert!(
            !targets
                .into_iter()
                .any(|link| link.contains(char::is_control))
        );
    }
    let text = without_footnotes_in_brackets(&text);
    let whole = render(&text, width, &Appearance::default());
    let mut stream = MarkdownStream::new(Appearance::default());
    let mut lines = Vec::new();
    for piece in pieces(&text) {
        stream.push(piece);
        let frame = stream.frame(width, usize::MAX);
        assert!(frame.live.iter().all(|line| line.width() <= width));
        lines.extend(frame.settled);
    }
    stream.finish();
    let end = stream.frame(width, usize::MAX);
    assert!(end.live.is_empty());
    lines.extend(end.settled);
    assert_eq!(
        plain(&lines),
        plain(&whole),
        "{:?} at {width}",
        cuts(text.as_bytes())
    );
    // Few live rows, and another width on the way: no more is promised than the bounds.
    let mut stream = MarkdownStream::numbered(colour, Some(3));
    for piece in pieces(&text) {
        stream.push(piece);
        for (width, rows) in [(width, 3), (3, 2), (80, 1)] {
            let frame = stream.frame(width, rows);
            let mut all = frame.settled.iter().chain(&frame.live);
            assert!(all.all(|line| !line.plain().contains(char::is_control)));
        }
    }
    ipycodex::markdown::fences::python_blocks(&text);
}

fn filtered(policy: Policy, bytes: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut filter = Filter::new(policy);
    let mut out = Vec::new();
    let mut from = 0;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        filter.push(&bytes[from..cut], &mut out);
        from = cut;
    }
    filter.finish(&mut out);
    out
}

/// However output is cut: what comes out is the same, and nothing but listed sequences; a transcript of what was
/// filtered has no control character.
pub fn output(bytes: &[u8]) {
    let cuts = cuts(bytes);
    for policy in [Policy::Text, Policy::Colours, Policy::Cell, Policy::Shell] {
        let whole = filtered(policy, bytes, &[]);
        assert_eq!(
            filtered(policy, bytes, &cuts),
            whole,
            "{policy:?} cut at {cuts:?}"
        );
        let mut found = foreign(&whole);
        if policy == Policy::Shell {
            found.retain(|it| !matches!(&**it, "\\x1b[2J" | "\\x1b[3J"));
        }
        assert_eq!(found, [""; 0], "{policy:?}");
        let text = String::from_utf8(whole).expect("UTF-8 comes out");
        let allowed = |c: char| match policy {
            Policy::Text => matches!(c, '\n' | '\t'),
            Policy::Colours => matches!(c, '\n' | '\t' | '\x1b'),
            Policy::Cell | Policy::Shell => matches!(c, '\n' | '\t' | '\r' | '\x08' | '\x1b'),
        };
        assert!(
            !text.contains(|c: char| c.is_control() && !allowed(c)),
            "{text:?}"
        );
    }
    let transcript = |cuts: &[usize], limit| {
        let mut transcript = Transcript::new(limit);
        let mut from = 0;
        for &cut in cuts.iter().chain([&bytes.len()]) {
            transcript.push(&bytes[from..cut]);
            from = cut;
        }
        transcript.finish();
        transcript.snapshot()
    };
    for limit in [1 << 20, 200] {
        let whole = transcript(&[], limit);
        let split = transcript(&cuts, limit);
        assert_eq!(split, whole, "cut at {cuts:?}");
        let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
        assert!(whole.text.chars().all(plain), "{:?}", whole.text);
        assert!(
            limit > 200 || whole.text.len() < 1_000,
            "{}",
            whole.text.len()
        );
    }
}
