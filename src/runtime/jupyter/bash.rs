//! What a kernel of Bash needs: the way to where a cell wants to be, and a refusal of cells that it would wait in for
//! ever, a loop without its end or a quote that is not closed.
//!
//! In: a cell of Bash. Out: code that goes before it; what Bash itself says is missing, where there is a Bash here to
//! ask: it reads the cell and runs nothing. The kernel of Bash does not tell such cells from others, and hangs in them
//! until it is interrupted. Absent on purpose: what else may be wrong with a cell, which its kernel says; other shells.

use std::process::Command;
use std::time::Duration;

use crate::output::traceback::CellError;
use crate::process::output_within;
use crate::runtime::python::finished;
use crate::runtime::{Ending, Execute, RequestId, RuntimeEvent};

/// How long Bash may take.
const READS: Duration = Duration::from_secs(1);
/// Longer cells do not fit into an argument.
const MOST: usize = 100_000;
/// What Bash says of a text that goes on.
const GOES_ON: [&str; 3] = [
    "unexpected end of file",
    "unexpected EOF",
    "delimited by end-of-file",
];

/// Code that goes where a cell wants to be, and sets the variables it wants.
pub(super) fn setup_code(cell: &Execute) -> String {
    // The one thing that cannot be quoted, a zero byte, stands in no path and in no variable.
    let quoted = |text: &str| shlex::try_quote(text).unwrap_or_default().into_owned();
    let place = cell.directory.iter();
    let place = place.map(|place| format!("cd -- {}", quoted(&place.to_string_lossy())));
    let variables = cell.environment.iter().map(|(name, value)| match value {
        Some(value) => format!("export {name}={}", quoted(value)),
        None => format!("unset {name}"),
    });
    place.chain(variables).collect::<Vec<_>>().join("\n")
}

/// How a cell ends that is not even begun, since something is missing at its end; `None`: it can run.
pub(super) fn refusal(id: RequestId, code: &str) -> Option<[RuntimeEvent; 3]> {
    let missing = missing(code)?;
    let error = CellError {
        name: "SyntaxError".to_owned(),
        value: format!("the cell is not finished: {missing}"),
        traceback: Vec::new(),
        leaves: None,
    };
    Some([
        RuntimeEvent::Started { id },
        RuntimeEvent::Error { id, error },
        finished(id, Ending::Error),
    ])
}

/// What is missing at the end of a cell of Bash, in Bash's words; `None`: nothing, or nobody can tell.
fn missing(code: &str) -> Option<String> {
    if code.len() > MOST {
        return None;
    }
    let mut bash = Command::new("bash");
    bash.args(["--norc", "--noprofile", "-n", "-c", code])
        .env("LC_ALL", "C")
        .env_remove("BASH_ENV");
    let told = output_within(&mut bash, READS).ok()??;
    let told = String::from_utf8_lossy(&told.stderr);
    let line = told
        .lines()
        .find(|line| GOES_ON.iter().any(|said| line.contains(said)))?;
    // It begins with its own name and ours for the text.
    let said = line.split_once(": -c: ").map_or(line, |(_, said)| said);
    Some(said.trim_start_matches("bash: ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_told_from_what_is_wrong() {
        for (code, goes_on) in [
            ("for x in 1 2; do", true),
            ("if true", true),
            ("echo 'open", true),
            ("echo $(", true),
            ("cat <<E\nx", true),
            ("f() {", true),
            ("for x in 1 2; do echo $x; done", false),
            ("cat <<E\nx\nE", false),
            ("echo )", false),
            ("case x in x) ;; esac # it's", false),
            ("exit 3; echo $((", true),
            ("", false),
        ] {
            assert_eq!(
                missing(code).is_some(),
                goes_on,
                "{code}: {:?}",
                missing(code)
            );
        }
        let told = missing("for x in 1 2; do").unwrap();
        assert!(told.contains("unexpected end of file"), "{told}");
        assert!(!told.contains("bash:"), "{told}");
    }
}
