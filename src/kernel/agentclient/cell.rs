//! A cell as what is to be done: commands, each a line of its own, and prompts between them.
//!
//! Pure. A line that begins with `%agent`, `%mcp` or `%session` is a command wherever it stands outside of fences; any
//! other `%name` is one above the first prompt only, where it can be no part of a text. All else is a prompt, to the
//! letter, without the blank lines around it.

/// The names of commands.
pub(super) const NAMES: [&str; 3] = ["agent", "mcp", "session"];

/// One step of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A command: its line without the `%`.
    Command(String),
    /// For the agent.
    Prompt(String),
}

/// The steps of a cell, in order; none of an empty one.
pub(super) fn steps(cell: &str) -> Vec<Step> {
    let (mut steps, mut prompt, mut fenced) = (Vec::new(), String::new(), false);
    for line in cell.split_inclusive('\n') {
        let above = prompt.trim().is_empty() && !has_prompt(&steps);
        if let Some(command) = command(line.trim(), above).filter(|_| !fenced) {
            steps.extend(take(&mut prompt));
            steps.push(Step::Command(command.to_owned()));
            continue;
        }
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        prompt.push_str(line);
    }
    steps.extend(take(&mut prompt));
    steps
}

fn has_prompt(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Prompt(_)))
}

fn take(prompt: &mut String) -> Option<Step> {
    let text = std::mem::take(prompt);
    let text = text.trim_matches('\n').trim_end();
    (!text.trim().is_empty()).then(|| Step::Prompt(text.to_owned()))
}

/// The command of a line; `above`: no prompt has begun.
fn command(line: &str, above: bool) -> Option<&str> {
    let command = line.strip_prefix('%')?;
    let name = command.split_whitespace().next()?;
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_one = NAMES.contains(&name) || (above && begins && command.starts_with(name));
    is_one.then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_on_lines_of_their_own() {
        let check = |cell: &str, expected: &[&str]| {
            let steps = steps(cell).into_iter().map(|step| match step {
                Step::Command(line) => format!("%{line}"),
                Step::Prompt(text) => text,
            });
            assert_eq!(steps.collect::<Vec<_>>(), expected, "{cell:?}");
        };
        check("", &[]);
        check(" \n\t\n", &[]);
        check("/review  the change\n", &["/review  the change"]);
        check("\n  keep\n\n  this ", &["  keep\n\n  this"]);
        check(" %agent\n%foo x\n\nhello", &["%agent", "%foo x", "hello"]);
        check(
            "one\n%session new /x\ntwo",
            &["one", "%session new /x", "two"],
        );
        check(
            "what is this?\n%timeit f()",
            &["what is this?\n%timeit f()"],
        );
        check("see\n```\n%agent\n```", &["see\n```\n%agent\n```"]);
        check("% of what?\n%2 x", &["% of what?\n%2 x"]);
    }
}
