//! Sources other than the interpreter, asked. Slow things (folders, the record, the agent) are waited for here, so it
//! runs on a thread of its own, never in the editor.

use crate::environment::Environment;
use crate::magics::{self, Values, values};
use crate::session::SessionHandle;
use crate::terminal::complete::files::{files, programs};
use crate::terminal::complete::found::Found;
use crate::terminal::complete::rules::Source;

/// What may stand at the end of `before`, the text up to the cursor.
pub(super) fn look_up(
    source: &Source,
    before: &str,
    session: &SessionHandle,
    environment: &Environment,
) -> Vec<Found> {
    let typed = |start: usize| before.get(start..).unwrap_or_default();
    match source {
        Source::Nothing | Source::Interpreter { .. } => Vec::new(),
        Source::Files {
            start,
            writing,
            wanted,
        } => {
            let home = environment.home.as_deref();
            let cwd = session.surroundings().cwd;
            files(typed(*start), *start, *writing, *wanted, &cwd, home)
        }
        Source::Programs { start } => {
            let path = environment.variables.get(std::ffi::OsStr::new("PATH"));
            let names = programs(typed(*start), path.map(AsRef::as_ref));
            fitting(names.into_iter().map(plain), *start, "")
        }
        Source::Commands { start } => fitting(commands(), *start, typed(*start)),
        Source::Values { start, command } => {
            let typed = typed(*start);
            match values(command) {
                Values::Words(words) => fitting(
                    words.into_iter().map(|word| plain(word.to_owned())),
                    *start,
                    typed,
                ),
                Values::Commands => fitting(commands(), *start, typed),
                Values::Models => fitting(session.models().into_iter(), *start, typed),
                Values::Sessions => {
                    let rows = session.sessions(false).into_iter().map(|row| {
                        let said = [row.last_prompt, row.last_input];
                        let said = said.into_iter().find(|text| !text.is_empty());
                        let said = row.name.or(said).unwrap_or_default();
                        (row.id.to_string(), said)
                    });
                    fitting(rows, *start, typed)
                }
                Values::Options => {
                    let options = session.surroundings().options;
                    fitting(options.into_iter(), *start, typed)
                }
                Values::Unknown => Vec::new(),
            }
        }
        Source::Skills { start } => {
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

/// Those that begin as typed.
fn fitting(words: impl Iterator<Item = (String, String)>, start: usize, typed: &str) -> Vec<Found> {
    words
        .filter(|(word, _)| word.starts_with(typed))
        .map(|(value, detail)| Found {
            start,
            value,
            detail,
        })
        .collect()
}
