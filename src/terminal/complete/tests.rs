//! The source chosen at a place: cases as text, with `|` as the cursor.

use super::code_context::{CodeContext, place};
use super::rules::{CompletionSource, FileKind, Keep, PathQuoting, source};
use crate::input::Mode;
use crate::properties;
use proptest::prelude::*;

/// The chosen source, in one line.
fn said(marked: &str, mode: Mode) -> String {
    let cursor = marked.find('¦').unwrap();
    let text = marked.replacen('¦', "", 1);
    let rest = |start: usize| text[start..cursor].to_owned();
    match source(&text, cursor, mode) {
        CompletionSource::Nothing => "nothing".into(),
        CompletionSource::Interpreter { part, keep } => {
            let keep = match keep {
                Keep::All => "python",
                Keep::Magics => "magics",
                Keep::Callables => "callables",
                Keep::Values => "values",
            };
            format!("{keep} {}", &text[part])
        }
        CompletionSource::Files {
            start,
            writing,
            wanted,
        } => {
            let writing = match writing {
                PathQuoting::Text(quote) => format!("in {quote}"),
                PathQuoting::Raw => "raw".into(),
                PathQuoting::Shell => "bare".into(),
                PathQuoting::ShellQuoted(quote) => format!("shell {quote}"),
            };
            let wanted = match wanted {
                FileKind::Any => "files",
                FileKind::Folders => "folders",
                FileKind::Scripts => "scripts",
                FileKind::Notebooks => "notebooks",
            };
            format!("{wanted} {writing} {}", rest(start))
        }
        CompletionSource::Programs { start } => format!("programs {}", rest(start)),
        CompletionSource::Commands { start } => format!("commands {}", rest(start)),
        CompletionSource::Values { start, command } => format!("{command} {}", rest(start)),
        CompletionSource::Skills { start } => format!("skills {}", rest(start)),
    }
}

#[track_caller]
fn check(mode: Mode, cases: &[(&str, &str)]) {
    for (marked, expected) in cases {
        assert_eq!(said(marked, mode), *expected, "{marked:?}");
    }
}

#[test]
fn python_is_completed_by_the_interpreter() {
    check(
        Mode::Cells,
        &[
            ("os.pa¦", "python os.pa"),
            ("os.pa¦ + 1", "python os.pa + 1"),
            ("a = 1\nb = os.pa¦", "python a = 1\nb = os.pa"),
            ("d['al¦", "python d['al"),
            ("d['a']['b¦", "python d['a']['b"),
            ("f(x)[\"k¦", "python f(x)[\"k"),
            ("d [\"a b¦", "python d [\"a b"),
            ("d['a', 'b ¦", "python d['a', 'b "),
            ("f(1, d[x(2), 'b¦", "python f(1, d[x(2), 'b"),
            ("df[['a b', 'c¦", "python df[['a b', 'c"),
            ("df.loc[:, 'c d¦", "python df.loc[:, 'c d"),
            (r"x = \al¦", r"python x = \al"),
            (r"title('\alp¦", r"python title('\alp"),
            (r"title(r'$\GREEK SMALL¦", r"python title(r'$\GREEK SMALL"),
            (r"title('\α¦", r"python title('\α"),
            ("f'{os.pa¦", "python f'{os.pa"),
            ("f'{d[\"a¦", "python f'{d[\"a"),
            ("# os.pa¦", "nothing"),
            ("x = 1 # os¦", "nothing"),
            ("'#' + os.pa¦", "python '#' + os.pa"),
            ("\"\"\"doc os.pa¦", "nothing"),
            ("x = '''\n''' + os.pa¦", "python x = '''\n''' + os.pa"),
            ("10 % os.pa¦", "python 10 % os.pa"),
            ("a != os.pa¦", "python a != os.pa"),
            ("%time os.pa¦", "python %time os.pa"),
            ("%%timeit\nos.pa¦", "python %%timeit\nos.pa"),
            ("!echo {na¦", "values na"),
            ("!echo $na¦", "values na"),
        ],
    );
}

#[test]
fn strings_shell_lines_and_file_magics_name_files() {
    check(
        Mode::Cells,
        &[
            ("open('da¦", "files in ' da"),
            ("open(\"~/da¦\")", "files in \" ~/da"),
            ("open(r'da¦", "files raw da"),
            ("x = ['da¦", "files in ' da"),
            ("return ['da¦", "files in ' da"),
            ("x = ['a', 'da¦", "files in ' da"),
            ("f(d['a'], 'da¦", "files in ' da"),
            ("assert ['da¦", "files in ' da"),
            (r"open('a\\da¦", r"files in ' a\\da"),
            (r"open('\n¦", r"files in ' \n"),
            (r"open('my\ da¦", r"files in ' my\ da"),
            ("return [['a', 'da¦", "files in ' da"),
            ("a = 1\n['da¦", "files in ' da"),
            ("f'da{x}/¦", "files in ' da{x}/"),
            ("!ls da¦", "files bare da"),
            ("!ls my\\ da¦", "files bare my\\ da"),
            ("!ls 'my da¦", "files shell ' my da"),
            ("!ls \"my da¦", "files shell \" my da"),
            ("!l¦", "programs l"),
            ("!!l¦", "programs l"),
            ("!¦", "programs "),
            ("!ls | gr¦", "programs gr"),
            ("!./ru¦", "files bare ./ru"),
            ("!ls > ou¦", "files bare ou"),
            ("!cd da¦", "folders bare da"),
            ("x = !l¦", "programs l"),
            ("x = !ls d¦", "files bare d"),
            ("%cd da¦", "folders bare da"),
            ("%run da¦", "scripts bare da"),
            ("%load ~/da¦", "files bare ~/da"),
            ("%%writefile da¦", "files bare da"),
            ("%%writefile a.py\nos.pa¦", "nothing"),
            ("%%bash\nl¦", "programs l"),
            ("%%bash\nls d¦", "files bare d"),
            ("a = 1\n!ls d¦", "files bare d"),
        ],
    );
}

#[test]
fn magics_and_our_commands() {
    check(
        Mode::Cells,
        &[
            ("%ti¦", "magics %ti"),
            ("%¦", "magics %"),
            ("%%ba¦", "magics %%ba"),
            ("x = %pw¦", "magics x = %pw"),
            ("a = 1\n%ti¦", "magics a = 1\n%ti"),
            ("%ipycodex ¦", "commands "),
            ("%ipycodex th¦", "commands th"),
            ("%ipycodex think ¦", "think "),
            ("%ipycodex think m¦", "think m"),
            ("%ipycodex set ¦", "set "),
            ("%ipycodex set th¦", "set th"),
            ("%ipycodex set think ¦", "think "),
            ("%ipycodex set think m¦", "think m"),
            ("%ipycodex help th¦", "help th"),
            ("%ipycodex save my¦", "notebooks bare my"),
            ("%ipycodex resume ¦", "resume "),
        ],
    );
}

#[test]
fn prompts_know_references_files_and_skills_only() {
    let cases = &[
        (".what is os.pa¦", "nothing"),
        (".¦", "nothing"),
        (".use &`we¦", "callables we"),
        (".use &`weather` and $`te¦", "values te"),
        (".use &`weather` and `te¦", "nothing"),
        (".see !`ls da¦", "files bare da"),
        (".see !`l¦", "programs l"),
        (".$py¦", "skills py"),
        (".with $py¦ do", "skills py"),
        (".it costs 5$py¦", "nothing"),
        ("./py¦", "skills py"),
        (".read /py¦", "nothing"),
        (".use the skill py¦", "skills py"),
        (".a\n$`x¦", "values x"),
        ("a\n.os.pa¦", "python a\n.os.pa"),
    ];
    check(Mode::Cells, cases);
    check(
        Mode::Prompts,
        &[
            ("what is os.pa¦", "nothing"),
            ("use &`we¦", "callables we"),
            ("/py¦", "skills py"),
            (";os.pa¦", "python os.pa"),
            ("!ls d¦", "files bare d"),
            ("%ti¦", "magics %ti"),
            ("%ipycodex th¦", "commands th"),
            ("exit¦", "nothing"),
        ],
    );
}

#[test]
fn places_in_code() {
    let kind = |code: &str| match place(code) {
        CodeContext::Code => "code",
        CodeContext::Comment => "comment",
        CodeContext::Escape(_) => "escape",
        CodeContext::StringLiteral { .. } => "text",
    };
    for (code, expected) in [
        ("", "code"),
        ("'a'", "code"),
        ("'a", "text"),
        ("'a\n", "code"),
        ("'a\\'", "text"),
        ("'''a'b", "text"),
        ("'''a'''", "code"),
        ("rb'a", "text"),
        ("f'{a", "code"),
        ("f'{{a", "text"),
        ("f'{a}b", "text"),
        ("f'{a[\"b", "text"),
        ("f'{a:>{w", "code"),
        ("x = %ti", "escape"),
        ("f(a=%ti", "code"),
        ("(\n%x", "code"),
        ("x = 1 \\\n!y", "code"),
        ("!a \\\nb", "escape"),
        ("!a\nb", "code"),
        ("  !a", "escape"),
    ] {
        assert_eq!(kind(code), expected, "{code:?}");
    }
}

proptest! {
    #![proptest_config(properties::cases(properties::USUAL))]

    /// Any text and any cursor give a source inside of the text, on whole characters, that ends at the cursor or
    /// later.
    #[test]
    fn any_place_has_a_source(
        text in "(?s)[.;%!&$`'\"fr\\[\\](){}#=/~ \\\\\n a-c漢é]{0,40}",
        cursor in 0usize..60,
        prompts in any::<bool>(),
    ) {
        let mode = if prompts { Mode::Prompts } else { Mode::Cells };
        let start = match source(&text, cursor, mode) {
            CompletionSource::Nothing => 0,
            CompletionSource::Interpreter { part, .. } => {
                prop_assert!(text.get(part.clone()).is_some());
                prop_assert!(part.start <= cursor);
                part.start
            }
            CompletionSource::Files { start, .. }
            | CompletionSource::Programs { start }
            | CompletionSource::Commands { start }
            | CompletionSource::Values { start, .. }
            | CompletionSource::Skills { start } => {
                prop_assert!(start <= cursor);
                start
            }
        };
        prop_assert!(text.is_char_boundary(start));
    }
}
