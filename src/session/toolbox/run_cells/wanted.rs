//! What a call of `run_cells` wants, read from its arguments.

use std::time::Duration;

use serde_json::Value;

use super::super::arguments::Arguments;
use crate::input::is_ours;
use crate::runtime::RuntimeCapabilities;
use crate::session::kernels::Which;
use crate::session::question::ProposedCell;

/// What a cell may take in a kernel of the agent's own, where the call does not say.
const OWN_TIMEOUT: Duration = Duration::from_secs(30);

/// A call, read.
pub(super) struct Wanted {
    pub cells: Vec<ProposedCell>,
    pub which: Which,
    /// Where, as written.
    pub cwd: Option<String>,
    /// What each cell may take.
    pub timeout: Option<Duration>,
}

impl Wanted {
    /// # Errors
    /// What is wrong with the arguments, in a line.
    pub(super) fn read(arguments: &Value, able: &RuntimeCapabilities) -> Result<Self, String> {
        let arguments = Arguments::of(arguments, "", &["cells", "kernel", "timeout", "cwd"])?;
        let which = which(&arguments, able)?;
        let what = "a list of at least one cell, {code, title?, reset?, language?}";
        let list = match arguments.required("cells", what)? {
            Value::Array(list) if !list.is_empty() => list,
            other => return Err(arguments.wrong("cells", what, other)),
        };
        let cells = list.iter().enumerate();
        let cells =
            cells.map(|(index, cell)| proposed(cell, &format!("cells[{index}]"), which, able));
        let timeout = arguments.number("timeout", 1.0, 600.0)?;
        let cwd = match arguments.text_or_empty("cwd")? {
            "" => None,
            cwd => Some(cwd.to_owned()),
        };
        Ok(Wanted {
            cells: cells.collect::<Result<_, _>>()?,
            which,
            cwd,
            timeout: match (timeout, which) {
                (Some(seconds), _) => Some(Duration::from_secs_f64(seconds)),
                (None, Which::Live) => None,
                (None, Which::Scratch | Which::Fresh | Which::Copy) => Some(OWN_TIMEOUT),
            },
        })
    }
}

fn which(arguments: &Arguments<'_>, able: &RuntimeCapabilities) -> Result<Which, String> {
    Ok(match arguments.text_or_empty("kernel")? {
        "" | "live" => Which::Live,
        "scratch" => Which::Scratch,
        "fresh" => Which::Fresh,
        "copy" if able.snapshot => Which::Copy,
        "copy" => {
            return Err(format!(
                "`kernel`: copy cannot be had: the {} runtime makes no copies of itself; expected live, scratch or \
                 fresh",
                able.language
            ));
        }
        other => {
            return Err(format!(
                "`kernel`: expected live, copy, scratch or fresh, not `{other}`"
            ));
        }
    })
}

fn proposed(
    cell: &Value,
    path: &str,
    which: Which,
    able: &RuntimeCapabilities,
) -> Result<ProposedCell, String> {
    let language = &able.language;
    let cell = Arguments::of(cell, path, &["code", "title", "reset", "language"])?;
    let code = cell.text("code", language)?;
    let wanted = cell.text_or_empty("language")?;
    if !wanted.is_empty() && !wanted.eq_ignore_ascii_case(language) {
        return Err(format!(
            "`{path}.language`: expected {language}, which is what cells here are written in, not `{wanted}`"
        ));
    }
    if is_ours(code) {
        return Err(format!(
            "`{path}.code` is a prompt or a command of the shell, which only the user gives; cells are {language}"
        ));
    }
    let reset = cell.flag("reset")?;
    if reset && which == Which::Live && !able.restart {
        return Err(format!(
            "`{path}.reset` cannot be had: the {language} runtime cannot be restarted from here"
        ));
    }
    Ok(ProposedCell {
        code: code.trim_end_matches(['\n', '\r']).to_owned(),
        title: cell.text_or_empty("title")?.to_owned(),
        reset,
    })
}
