//! Special treatment of Bash kernels: the code that changes a cell's directory, and a refusal of incomplete cells
//! (an open loop or quote), in which such a kernel would hang.
//!
//! In: a Bash cell. Out: code to run before it; Bash's own message about what is missing, where a Bash is installed
//! here, which parses the cell and runs nothing. The kernel of Bash does not recognise such cells, and hangs until
//! it is interrupted. Absent on purpose: other errors of a cell, which its kernel reports; other shells.

use std::process::Command;
use std::time::Duration;

use crate::output::traceback::CellError;
use crate::process::output_within;
use crate::request_kind::finished;
use crate::{Ending, Execute, RequestId, RuntimeEvent};

/// Time limit of Bash's syntax check.
const READS: Duration = Duration::from_secs(1);
/// Maximum bytes of a checked cell; a longer one does not fit into an argument.
const MOST: usize = 100_000;
/// Messages of Bash about an incomplete text.
const GOES_ON: [&str; 3] = [
    "unexpected end of file",
    "unexpected EOF",
    "delimited by end-of-file",
];

pub(super) fn setup_code(cell: &Execute) -> String {
    // A zero byte, which alone cannot be quoted, is in no path and no variable.
    let quoted = |text: &str| shlex::try_quote(text).unwrap_or_default().into_owned();
    let place = cell.directory.iter();
    let place = place.map(|place| format!("cd -- {}", quoted(&place.to_string_lossy())));
    let variables = cell.environment.iter().map(|(name, value)| match value {
        Some(value) => format!("export {name}={}", quoted(value)),
        None => format!("unset {name}"),
    });
    place.chain(variables).collect::<Vec<_>>().join("\n")
}

/// Returns the events of a cell that is refused as incomplete; `None` when it can run.
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

/// Returns Bash's message about what is missing at the end of a cell; `None` when nothing is, or no Bash can tell.
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
    // The message begins with Bash's own name and the name for the text.
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
