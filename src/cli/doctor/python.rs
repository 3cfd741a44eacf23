//! Checks the interpreter that runs the cells, its packages, and the confinement of the agent's code.
//!
//! In: the environment and the settings. Out: findings. Candidates are started in the shell's order, each with a
//! time limit.

use std::process::Command;

use serde_json::Value;

use super::finding::{DoctorContext, Finding, PATIENCE};
use crate::assemble::python_plan;
use crate::process::output_within;
use crate::runtime::connect::{Candidate, ManagedPython, ManagedState, interpreters};

/// Python code that prints the interpreter's facts as one line of JSON.
const QUESTION: &str = r#"
import json, sys
def version(name):
    try:
        from importlib.metadata import version
        return version(name)
    except Exception:
        return None
def landlock():
    try:
        import ctypes
        return ctypes.CDLL(None).syscall(444, None, 0, 1)
    except Exception:
        return 0
print(json.dumps({"python": "%d.%d.%d" % sys.version_info[:3], "old": sys.version_info < (3, 8),
    "ipython": version("ipython"), "landlock": landlock()}))
"#;

pub(super) fn look(context: &DoctorContext<'_>) -> Vec<Finding> {
    let cwd = context
        .environment
        .cwd
        .clone()
        .unwrap_or_else(|| "/".into());
    let search = interpreters(&python_plan(context.environment, context.settings, cwd));
    let mut findings: Vec<Finding> = search
        .rejected
        .iter()
        .map(|why| {
            Finding::warning(
                "interpreter",
                why.as_str(),
                "deactivate that environment, or create it again",
            )
        })
        .collect();
    // As in the shell: the first candidate that starts runs the cells.
    for candidate in &search.candidates {
        let place = context.shown(&candidate.program);
        match ask(candidate) {
            Ok(facts) => {
                findings.extend(told(&facts, &place, candidate.origin, context));
                return findings;
            }
            Err(why) => findings.push(Finding::warning(
                "interpreter",
                format!("{place} ({}) {why}", candidate.origin),
                "the next one is tried; name another with `--python PATH`",
            )),
        }
    }
    findings.push(Finding::error(
        "interpreter",
        "no Python was found that starts",
        "install python3 (3.8 or newer), or name one with `--python PATH`",
    ));
    findings
}

/// Returns the interpreter's facts; the error is a phrase that follows its name.
fn ask(candidate: &Candidate) -> Result<Value, String> {
    let mut command = Command::new(&candidate.program);
    command.args(["-c", QUESTION]);
    command.env_clear().envs(&candidate.variables);
    let answer = output_within(&mut command, PATIENCE).map_err(|error| error.to_string())?;
    let Some(answer) = answer else {
        return Err(format!("said nothing within {} s", PATIENCE.as_secs()));
    };
    let line = answer
        .stdout
        .split(|byte| *byte == b'\n')
        .rfind(|line| !line.is_empty());
    line.and_then(|line| serde_json::from_slice(line).ok())
        .ok_or_else(|| format!("is not a working Python ({})", answer.status))
}

fn told(facts: &Value, place: &str, origin: &str, context: &DoctorContext<'_>) -> Vec<Finding> {
    let version = facts["python"].as_str().unwrap_or("?");
    let which = format!("{place}, Python {version} from {origin}");
    let interpreter = match facts["old"] == true {
        false => Finding::ok("interpreter", which),
        true => Finding::error(
            "interpreter",
            which,
            "cells need 3.8 or newer: name one with `--python PATH`",
        ),
    };
    vec![
        interpreter,
        ipython(facts["ipython"].as_str(), context),
        managed(context),
        confinement(facts["landlock"].as_i64().unwrap_or(0)),
    ]
}

fn ipython(version: Option<&str>, context: &DoctorContext<'_>) -> Finding {
    let name = context.settings.choices.ipython_profile.trim();
    match version {
        _ if !context.settings.ipython => {
            Finding::ok("IPython", "not used: `--no-ipython` was given")
        }
        Some(version) if name.is_empty() => {
            Finding::ok("IPython", format!("{version}, without a profile"))
        }
        Some(version) => Finding::ok("IPython", format!("{version}, profile `{name}`")),
        None => Finding::warning(
            "IPython",
            "not installed there: cells run in the built-in engine, which has no extensions",
            "`ipycodex setup` makes an environment that has it, or `pip install ipython` there",
        ),
    }
}

fn managed(context: &DoctorContext<'_>) -> Finding {
    let managed = ManagedPython::below(&context.settings.paths.data_dir);
    let place = context.shown(managed.folder());
    match managed.state() {
        ManagedState::Missing => {
            Finding::ok("setup", "not used: `ipycodex setup` has not been run")
        }
        ManagedState::Ready => Finding::ok("setup", format!("{place} is ready")),
        ManagedState::Broken => Finding::warning(
            "setup",
            format!("{place} is incomplete, and is not used"),
            "`ipycodex setup` makes it anew, `ipycodex setup --undo` removes it",
        ),
        ManagedState::Foreign => Finding::warning(
            "setup",
            format!("{place} was not made by `ipycodex setup`, and is not used"),
            "move it away",
        ),
    }
}

fn confinement(landlock: i64) -> Finding {
    match landlock {
        version @ 1.. => Finding::ok(
            "confinement",
            format!("Landlock version {version}: the agent's own code can be confined"),
        ),
        _ => Finding::warning(
            "confinement",
            "this Linux kernel has no Landlock: you are asked before the agent's own code runs",
            "Linux 5.13 or newer with `landlock` among its security modules can confine it",
        ),
    }
}
