//! Completions from sources other than the interpreter. Slow sources (directories, the record, the agent) are read
//! here, on a thread of their own, never in the editor.

use crate::environment::Environment;
use crate::magics::{self, CommandValues, argument_values};
use crate::session::SessionHandle;
use crate::terminal::complete::files::{files, programs};
use crate::terminal::complete::rules::{CompletionSource, FoundCompletion};

pub(super) fn look_up(
    source: &CompletionSource,
    before: &str,
    session: &SessionHandle,
    environment: &Environment,
) -> Vec<FoundCompletion> {
    let typed = |start: usize| before.get(start..).unwrap_or_default();
    match source {
        CompletionSource::Nothing | CompletionSource::Interpreter { .. } => Vec::new(),
        CompletionSource::Files {
            start,
            writing,
            wanted,
        } => {
            let home = environment.home.as_deref();
            let cwd = session.surroundings().cwd;
            files(typed(*start), *start, *writing, *wanted, &cwd, home)
        }
        CompletionSource::Programs { start } => {
            let path = environment.variables.get(std::ffi::OsStr::new("PATH"));
            let names = programs(typed(*start), path.map(AsRef::as_ref));
            fitting(names.into_iter().map(plain), *start, "")
        }
        CompletionSource::Commands { start } => fitting(commands(), *start, typed(*start)),
        CompletionSource::Values { start, command } => {
            let typed = typed(*start);
            match argument_values(command) {
                CommandValues::Words(words) => fitting(
                    words.into_iter().map(|word| plain(word.to_owned())),
                    *start,
                    typed,
                ),
                CommandValues::Commands => fitting(commands(), *start, typed),
                CommandValues::Models => fitting(session.models().into_iter(), *start, typed),
                CommandValues::Sessions => {
                    let rows = session.sessions(false).into_iter().map(|row| {
                        let said = [row.last_prompt, row.last_input];
                        let said = said.into_iter().find(|text| !text.is_empty());
                        let said = row.name.or(said).unwrap_or_default();
                        (row.id.to_string(), said)
                    });
                    fitting(rows, *start, typed)
                }
                CommandValues::Options => {
                    let options = session.surroundings().options;
                    fitting(options.into_iter(), *start, typed)
                }
                CommandValues::Unknown => Vec::new(),
            }
        }
        CompletionSource::Skills { start } => {
            let around = session.surroundings();
            // The agent's own commands begin with the slash that a skill may have.
            let commands = match before[..*start].ends_with('/') {
                true => around.commands,
                false => Vec::new(),
            };
            let names = commands.into_iter().chain(around.skills);
            fitting(names, *start, typed(*start))
        }
    }
}

fn plain(word: String) -> (String, String) {
    (word, String::new())
}

fn commands() -> impl Iterator<Item = (String, String)> {
    magics::commands().map(|usage| (usage.name, usage.help))
}

fn fitting(
    words: impl Iterator<Item = (String, String)>,
    start: usize,
    typed: &str,
) -> Vec<FoundCompletion> {
    words
        .filter(|(word, _)| word.starts_with(typed))
        .map(|(value, detail)| FoundCompletion {
            start,
            value,
            detail,
        })
        .collect()
}
