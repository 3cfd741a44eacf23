//! `-i FILE ARG…` and `-m MODULE ARG…`: a script that runs in the interpreter and leaves its names there.
//!
//! In: the command line. Out: the script's own arguments, removed before the line is parsed; and the cell that runs
//! the script, which is the first input, so that the record and the agent see it as if the user had typed it.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Command;

use crate::cli::args::Arguments;
use crate::environment::Environment;
use crate::session::not_found_message;
use crate::text::report::Report;

/// Removes the script's arguments from a command line: those after `-m MODULE`, and after FILE where `-i` precedes
/// it.
pub(super) fn without_arguments(
    command: &Command,
    mut words: Vec<OsString>,
) -> (Vec<OsString>, Vec<OsString>) {
    let end = script_ends(command, &words).unwrap_or(words.len());
    let rest = words.split_off(end);
    (words, rest)
}

fn script_ends(command: &Command, words: &[OsString]) -> Option<usize> {
    let takes = |known: &dyn Fn(&clap::Arg) -> bool| {
        let option = command.get_arguments().find(|option| known(option))?;
        // An option with an optional value does not take the next word, unless the word can be nothing else.
        let needs = option
            .get_num_args()
            .is_none_or(|count| count.min_values() > 0);
        Some(option.get_action().takes_values() && needs)
    };
    let mut interactive = false;
    let mut at = 1;
    while at < words.len() {
        let word = words[at].to_str().unwrap_or_default();
        at += 1;
        if word == "--" {
            return interactive
                .then_some(at + 1)
                .filter(|end| *end <= words.len());
        }
        if let Some(name) = word.strip_prefix("--") {
            let long = |option: &clap::Arg| option.get_long() == Some(name);
            at += usize::from(takes(&long).unwrap_or(false));
            continue;
        }
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            let is_command = command.find_subcommand(word).is_some();
            return (interactive && !is_command).then_some(at);
        };
        for (place, letter) in letters.char_indices() {
            interactive |= letter == 'i';
            let short = |option: &clap::Arg| option.get_short() == Some(letter);
            if takes(&short).unwrap_or(false) {
                let apart = place + letter.len_utf8() == letters.len();
                at += usize::from(apart);
                if letter == 'm' {
                    return Some(at).filter(|end| *end <= words.len());
                }
                break;
            }
        }
    }
    None
}

/// Returns the cell that runs the first input of the command line; `None` where there is none.
///
/// # Errors
/// The file does not exist, or an argument cannot be quoted in a cell.
pub(super) fn first_input(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<Option<String>, Report> {
    let rest = &arguments.arguments;
    if let Some(module) = &arguments.module {
        let mut all = vec![OsStr::new(module)];
        if !rest.is_empty() {
            all.push(OsStr::new("--"));
        }
        let rest = rest.iter().map(OsString::as_os_str);
        return line("%run -m", all.into_iter().chain(rest)).map(Some);
    }
    match &arguments.file {
        Some(file) if arguments.interactive => {
            let path = match &environment.cwd {
                Some(cwd) => cwd.join(file),
                None => file.clone(),
            };
            if !path.is_file() {
                let script = Path::new("script.py");
                return Err(Report::failure(not_found_message(
                    script,
                    &file.display().to_string(),
                )));
            }
            // The shell has expanded `*` already.
            let head = match rest.is_empty() {
                true => "%run -i",
                false => "%run -i -G",
            };
            let rest = rest.iter().map(OsString::as_os_str);
            line(head, std::iter::once(file.as_os_str()).chain(rest)).map(Some)
        }
        _ => Ok(arguments.code.clone()),
    }
}

/// Returns a magic's line with `words` after `head`, quoted as for a shell and without expressions.
fn line(head: &str, words: impl Iterator<Item = impl AsRef<OsStr>>) -> Result<String, Report> {
    let mut line = head.to_owned();
    for word in words {
        line.push(' ');
        line.push_str(&quoted(word.as_ref())?);
    }
    // Magics expand expressions in braces.
    Ok(match line.contains('{') {
        true => line.replace('{', "{{").replace('}', "}}"),
        false => line,
    })
}

fn quoted(word: &OsStr) -> Result<String, Report> {
    let text = word
        .to_str()
        .filter(|text| !text.contains(['\n', '\r', '\0']));
    let Some(text) = text else {
        let shown = word.to_string_lossy();
        return Err(Report::usage(format!(
            "`{}` cannot be passed to a script with `-i`, or to a module with `-m`",
            shown.escape_debug()
        ))
        .because("it holds a line break, or is not UTF-8")
        .hint("`ipycodex run FILE ARG…` takes any argument"));
    };
    // Magics also expand `$NAME`, quoted or not: the quotes must end before each `$`.
    let mut pieces = text.split('$');
    let first = pieces.next().unwrap_or_default();
    let mut quoted = match shlex::try_quote(first) {
        Ok(_) if first.is_empty() && text.contains('$') => String::new(),
        Ok(quoted) => quoted.into_owned(),
        Err(_) => unreachable!("it holds no NUL"),
    };
    for piece in pieces {
        quoted.push('$');
        if !piece.is_empty() {
            quoted.push_str(&format!("'{}'", piece.replace('\'', r#"'"'"'"#)));
        }
    }
    Ok(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn os(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn what_follows_the_script_is_the_scripts() {
        let command = Arguments::command();
        for (line, ours, its) in [
            ("-i x.py a --model b", "-i x.py", "a --model b"),
            ("-i --model m x.py run -i", "-i --model m x.py", "run -i"),
            ("--no-record -pi x", "--no-record -pi x", ""),
            ("-m a.b --version", "-m a.b", "--version"),
            ("-ima.b -c", "-ima.b", "-c"),
            ("-im a.b -h", "-im a.b", "-h"),
            ("-i -- x.py --", "-i -- x.py", "--"),
            ("-i -r x.py -h", "-i -r x.py", "-h"),
            ("x.py -h", "x.py -h", ""),
            ("-i run x.py -h", "-i run x.py -h", ""),
            ("-i", "-i", ""),
            ("-m", "-m", ""),
        ] {
            let all = [os("ipycodex"), os(line)].concat();
            let expected = ([os("ipycodex"), os(ours)].concat(), os(its));
            assert_eq!(without_arguments(&command, all), expected, "{line}");
        }
    }

    #[test]
    fn the_first_input_is_what_a_user_would_type() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a b"), "").unwrap();
        let environment = Environment {
            cwd: Some(folder.path().to_owned()),
            ..Environment::default()
        };
        let check = |line: &[&str], rest: &[&str], expected: Option<&str>| {
            use clap::Parser;
            let line = [&["ipycodex"], line].concat();
            let mut arguments = Arguments::try_parse_from(line).unwrap();
            arguments.arguments = rest.iter().map(OsString::from).collect();
            let found = first_input(&arguments, &environment).ok();
            assert_eq!(found.unwrap_or_default().as_deref(), expected);
        };
        check(&["-i", "a b"], &[], Some("%run -i 'a b'"));
        check(
            &["-i", "a b"],
            &["*", "a$x$", "$", "it's", "{id}"],
            Some("%run -i -G 'a b' '*' a$'x'$ $ \"it's\" '{{id}}'"),
        );
        check(&["-m", "a.b"], &["-x"], Some("%run -m a.b -- -x"));
        check(&["-ic", "x = 1"], &[], Some("x = 1"));
        check(&["-i"], &[], None);
        check(&["a b"], &[], None);
        check(&["-i", "gone.py"], &[], None);
        check(&["-i", "a b"], &["x\ny"], None);
    }
}
