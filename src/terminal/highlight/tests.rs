//! Code as it is painted while it is typed: the colour of each piece, and the edits that the thread gets.

use std::time::{Duration, Instant};

use nu_ansi_term::{Color, Style};
use proptest::prelude::*;
use reedline::Highlighter;

use super::cache::{HighlightCache, Span};
use super::line_painter::LinePainter;
use super::*;
use crate::input::Mode;
use crate::properties;
use crate::terminal::snapshot::Snapshot;

/// Paints until all lines are painted.
fn paint(cache: &mut HighlightCache, brush: &mut LinePainter) {
    while let Some(task) = brush.next(cache) {
        let spans = brush.paint(&task);
        cache.painted(task.at, spans);
    }
}

fn spans(cache: &HighlightCache) -> Vec<Vec<Span>> {
    cache
        .lines()
        .iter()
        .map(|line| line.spans.clone())
        .collect()
}

/// Returns the coloured words of a text; true for the colour of magics.
fn coloured(text: &str) -> Vec<(String, bool)> {
    let theme = Theme::default();
    let mut cache = HighlightCache::new(theme);
    cache.set_text(text);
    paint(
        &mut cache,
        &mut LinePainter::new(theme).expect("Python is known"),
    );
    let pieces = compose(&cache, text, 0, &[], 0..text.len());
    let together: String = pieces.iter().map(|(_, piece)| piece.as_str()).collect();
    assert_eq!(together, text);
    pieces
        .into_iter()
        .filter_map(|(style, piece)| {
            let magic = style.foreground? == Color::Purple;
            Some((piece.trim().to_owned(), magic))
        })
        .collect()
}

#[test]
fn python_magics_and_commands_have_their_colours() {
    let check = |text: &str, with: &[(&str, bool)], without: &[&str]| {
        let found = coloured(text);
        for (word, magic) in with {
            assert!(
                found.contains(&((*word).to_owned(), *magic)),
                "{word:?} of {text:?} in {found:?}"
            );
        }
        for word in without {
            assert!(
                !found.iter().any(|(piece, _)| piece.contains(word)),
                "{word:?} of {text:?} in {found:?}"
            );
        }
    };
    check(
        "for i in x: pass",
        &[("for", false), ("pass", false)],
        &["x"],
    );
    check(
        "%timeit return 1",
        &[("%timeit", true), ("return", false)],
        &[],
    );
    check("%cd for", &[("%cd", true)], &["for"]);
    check("!for x in y", &[("!", true), ("for", false)], &[]);
    check("x = !for", &[("!", true), ("for", false)], &[]);
    check(
        "%%bash\nif true; then x; fi",
        &[("%%bash", true), ("if", false)],
        &[],
    );
    check(
        "%%time\nreturn 1",
        &[("%%time", true), ("return", false)],
        &[],
    );
    check(
        "%%writefile a.txt\nreturn 1",
        &[("%%writefile", true)],
        &["return"],
    );
    check(
        "%%javascript\nvar x = function() {}",
        &[("function", false)],
        &[],
    );
    check("len??", &[("??", true)], &[]);
    // The line that is not Python does not affect the lines behind it.
    check("!echo '''\nreturn 1", &[("return", false)], &[]);
}

proptest! {
    #![proptest_config(properties::cases(64))]

    /// Painting after edits ends where painting from scratch does, and every line is covered at any time.
    #[test]
    fn painting_goes_on_where_it_has_to(
        texts in prop::collection::vec("(%%(bash|time|html)\n\
                                        )?(def f\\(\\):|'''|x = \\(|\\)|!ls \\\\|a\\?|%x 1|é\"|# '| *)(\n\
                                        (def f\\(\\):|'''|x = \\(|\\)|!ls \\\\|a\\?|%x 1|é\"|# '| *)){0,5}", 1..6),
        steps in prop::collection::vec(0usize..4, 6),
    ) {
        let theme = Theme::default();
        let mut cache = HighlightCache::new(theme);
        let mut brush = LinePainter::new(theme).expect("Python is known");
        for (text, steps) in texts.iter().zip(&steps) {
            cache.set_text(text);
            for _ in 0..*steps {
                if let Some(task) = brush.next(&mut cache) {
                    let spans = brush.paint(&task);
                    cache.painted(task.at, spans);
                }
            }
            for line in cache.lines() {
                let covered: usize = line.spans.iter().map(|(length, _)| length).sum();
                prop_assert_eq!(covered, line.text.len());
            }
        }
        paint(&mut cache, &mut brush);
        let mut fresh = HighlightCache::new(theme);
        fresh.set_text(texts.last().expect("one at least"));
        paint(&mut fresh, &mut LinePainter::new(theme).expect("Python is known"));
        prop_assert_eq!(spans(&cache), spans(&fresh));
    }
}

fn highlight(theme: Option<Theme>, mode: Mode, size: (u16, u16)) -> InputHighlighter {
    let look = InputRenderer::new(Snapshot::new(mode), theme, Box::new(move || size));
    let label = Label::new(1, Snapshot::new(mode));
    let _ = look.windowed_prompt(&label, &PaintCapture::default());
    InputHighlighter {
        look,
        on_prompt: Box::new(|| {}),
        before: Box::new(|| {}),
    }
}

proptest! {
    #![proptest_config(properties::cases(properties::USUAL))]

    /// The editor finds its cursor: the bytes up to it are as many as in the text, and the visible ones are those
    /// of the text.
    #[test]
    fn bytes_are_kept(
        lines in prop::collection::vec("[a-z'\"#!%.@(){}0-9é漢 ;]{0,30}", 0..20),
        cursor in 0usize..600,
        rows in 3u16..12,
        prompts in any::<bool>(),
        colour in any::<bool>(),
    ) {
        let text = lines.join("\n");
        let cursor = (0..=cursor.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let mode = if prompts { Mode::Prompts } else { Mode::Cells };
        let highlight = highlight(colour.then(Theme::default), mode, (20, rows));
        let painted = highlight.highlight(&text, cursor).raw_string();
        let hidden = painted.len() - painted.trim_start_matches('\0').len();
        prop_assert!(cursor >= hidden && cursor <= painted.len());
        prop_assert_eq!(&painted[hidden..], &text[hidden..painted.len()]);
    }
}

/// Paints until the thread has painted all.
fn settled(highlight: &InputHighlighter, text: &str, cursor: usize) -> Vec<(Style, String)> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let painted = highlight.highlight(text, cursor).buffer;
        let colours = highlight.look.colours.as_ref().expect("with colour");
        let cache = colours.cache();
        if cache.ready && !cache.owed && cache.done == cache.lines().len() {
            return painted;
        }
        drop(cache);
        assert!(Instant::now() < deadline, "the thread has not painted");
        std::thread::yield_now();
    }
}

#[test]
fn the_thread_paints_and_the_theme_changes() {
    let highlight = highlight(Some(Theme::default()), Mode::Cells, (80, 24));
    let before = settled(&highlight, "def f(): return 1", 0);
    assert!(
        before
            .iter()
            .any(|(style, word)| word.trim() == "return" && style.foreground.is_some())
    );
    highlight.look.set_theme(Theme::named("github").unwrap());
    let after = settled(&highlight, "def f(): return 1", 0);
    assert_ne!(before, after);
}

#[test]
fn prompts_are_plain_and_code_in_prompt_mode_is_not() {
    let theme = Some(Theme::default());
    for text in [".def f", "%%ipycodex\nreturn 1", ""] {
        let cells = highlight(theme, Mode::Cells, (80, 24));
        for (style, _) in cells.highlight(text, 0).buffer {
            assert_eq!(style, Style::default(), "{text:?}");
        }
    }
    let prompts = highlight(theme, Mode::Prompts, (80, 24));
    assert_eq!(prompts.highlight("return", 0).buffer.len(), 1);
    let painted = settled(&prompts, ";return 1", 0);
    assert!(
        painted
            .iter()
            .any(|(style, word)| word.trim() == "return" && style.foreground.is_some())
    );
}

#[test]
fn marks_are_gone_from_what_was_submitted() {
    let highlight = highlight(Some(Theme::default()), Mode::Cells, (80, 24));
    let marked = |highlight: &InputHighlighter| {
        let painted = highlight.highlight("f(x)", 4).buffer;
        painted
            .iter()
            .filter(|(style, _)| style.is_underline)
            .count()
    };
    assert_eq!(marked(&highlight), 2);
    lock_snapshot(&highlight.look.snapshot).submitted = true;
    assert_eq!(marked(&highlight), 0);
}

#[test]
fn what_is_submitted_before_the_colours_are_loaded_has_them() {
    let highlight = highlight(Some(Theme::default()), Mode::Cells, (80, 24));
    lock_snapshot(&highlight.look.snapshot).submitted = true;
    let painted = highlight.highlight("return 1", 8).buffer;
    let coloured =
        |(style, word): &(Style, String)| word.trim() == "return" && style.foreground.is_some();
    assert!(painted.iter().any(coloured), "{painted:?}");
}

#[test]
fn a_long_text_is_printed_whole_when_it_is_submitted() {
    let highlight = highlight(None, Mode::Cells, (80, 10));
    let label = Label::new(1, Snapshot::new(Mode::Cells));
    let text = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk";
    highlight.highlight(text, 0);
    let whole = highlight
        .look
        .whole(text, &label)
        .expect("not all of it was shown");
    let (erase, print) = whole.split_at(whole.find('\r').unwrap());
    assert_eq!(erase, "\x1b[1A\x1b[2K".repeat(9));
    assert_eq!(print.matches("   ...: ").count(), 10);
    assert!(print.starts_with("\rIn [1]: a\r\n") && print.ends_with(": k\r\n"));
    highlight.highlight("a\nb", 0);
    assert_eq!(highlight.look.whole("a\nb", &label), None);
}
