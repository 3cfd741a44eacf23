//! Parses the arguments of `run_cells`.

use std::time::Duration;

use serde_json::Value;

use super::super::arguments::Arguments;
use crate::input::is_ipycodex_input;
use crate::kernels::KernelChoice;
use crate::question::ProposedCell;
use crate::runtime::RuntimeCapabilities;

/// Time limit of a cell outside the live interpreter, if the call has none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) struct CellsRequest {
    pub cells: Vec<ProposedCell>,
    pub which: KernelChoice,
    /// As written by the agent.
    pub cwd: Option<String>,
    pub timeout: Option<Duration>,
}

impl CellsRequest {
    /// # Errors
    /// One line that names the wrong argument.
    pub(super) fn parse(arguments: &Value, able: &RuntimeCapabilities) -> Result<Self, String> {
        let arguments = Arguments::parse(arguments, "", &["cells", "kernel", "timeout", "cwd"])?;
        let which = parse_kernel(&arguments, able)?;
        let what = "a list of at least one cell, {code, title?, reset?, language?}";
        let list = match arguments.required("cells", what)? {
            Value::Array(list) if !list.is_empty() => list,
            other => return Err(arguments.wrong("cells", what, other)),
        };
        let cells = list.iter().enumerate();
        let cells =
            cells.map(|(index, cell)| parse_cell(cell, &format!("cells[{index}]"), which, able));
        let timeout = arguments.number("timeout", 1.0, 600.0)?;
        let cwd = match arguments.text_or_empty("cwd")? {
            "" => None,
            cwd => Some(cwd.to_owned()),
        };
        Ok(CellsRequest {
            cells: cells.collect::<Result<_, _>>()?,
            which,
            cwd,
            timeout: match (timeout, which) {
                (Some(seconds), _) => Some(Duration::from_secs_f64(seconds)),
                (None, KernelChoice::Live) => None,
                (None, KernelChoice::Scratch | KernelChoice::Fresh | KernelChoice::Copy) => {
                    Some(DEFAULT_TIMEOUT)
                }
            },
        })
    }
}

fn parse_kernel(
    arguments: &Arguments<'_>,
    able: &RuntimeCapabilities,
) -> Result<KernelChoice, String> {
    Ok(match arguments.text_or_empty("kernel")? {
        "" | "live" => KernelChoice::Live,
        "scratch" => KernelChoice::Scratch,
        "fresh" => KernelChoice::Fresh,
        "copy" if able.snapshot => KernelChoice::Copy,
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

fn parse_cell(
    cell: &Value,
    path: &str,
    which: KernelChoice,
    able: &RuntimeCapabilities,
) -> Result<ProposedCell, String> {
    let language = &able.language;
    let cell = Arguments::parse(cell, path, &["code", "title", "reset", "language"])?;
    let code = cell.text("code", language)?;
    let named = cell.text_or_empty("language")?;
    if !named.is_empty() && !named.eq_ignore_ascii_case(language) {
        return Err(format!(
            "`{path}.language`: expected {language}, which is what cells here are written in, not `{named}`"
        ));
    }
    if is_ipycodex_input(code) {
        return Err(format!(
            "`{path}.code` is a prompt or a command of the shell, which only the user gives; cells are {language}"
        ));
    }
    let reset = cell.flag("reset")?;
    if reset && which == KernelChoice::Live && !able.restart {
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
