//! Values of the past as lines: one for each run of cells with the same value, with a mark where it changed. Pure.
//!
//! In: states of the interpreter, oldest first. Out: text for a user or a model. Invariant: a change between two values
//! is said of all cells that may have made it, those without a checkpoint between them included.

pub(super) mod replayed;

use std::collections::BTreeSet;

use crate::runtime::{PastState, PastValue};

use crate::text::{aligned, counted, cut};
use crate::undo::InterpreterSessions;

/// Stands before a value that differs from the one above it.
const CHANGED: &str = "→";

/// Characters of a value in a list for the user, and for the model.
pub(super) const SHOWN: usize = 60;
pub(super) const FOR_MODEL: usize = 400;

/// How the reason begins where there was no time to ask.
const LATE: &str = "it was not asked";

/// Ranges of cells without a value that a line names.
const NAMED: usize = 3;

/// Cells one after the other with the same value.
struct SameValue<'a> {
    value: &'a PastValue,
    first: &'a PastState,
    last: &'a PastState,
    /// The states between the value above and this one, which have none.
    before: Vec<&'a PastState>,
    /// States in between that have none.
    within: Vec<&'a PastState>,
}

/// Returns the list of values, and a line that says where they changed.
pub(super) fn listed(states: &[PastState], sessions: &InterpreterSessions, most: usize) -> String {
    let (runs, rest) = runs(states);
    let Some(first) = runs.first() else {
        return "no state could be asked".to_owned();
    };
    let mut rows = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        if let Some(row) = without_value(&run.before, sessions) {
            rows.push(row);
        }
        let mark = if at > 0 { CHANGED } else { " " };
        let mut note = match at {
            0 => String::new(),
            _ => cause(run, sessions),
        };
        if !run.within.is_empty() {
            let cells = ranges(&run.within, sessions);
            note = [note, format!("no checkpoint: {cells}")]
                .join("  ")
                .trim()
                .to_owned();
        }
        let value = one_line(&run.value.text, most);
        rows.push([
            mark.to_owned(),
            range(run.first, run.last, sessions),
            value,
            note,
        ]);
    }
    rows.extend(without_value(&rest, sessions));
    let mut lines = aligned(&rows);
    lines.extend(reasons(states, sessions));
    lines.push(summary(&runs, first, sessions));
    lines.join("\n")
}

/// Returns the runs of equal values, and the states without a value after the last one.
fn runs(states: &[PastState]) -> (Vec<SameValue<'_>>, Vec<&PastState>) {
    let mut runs: Vec<SameValue<'_>> = Vec::new();
    let mut without = Vec::new();
    for state in states {
        let Some(value) = &state.value else {
            without.push(state);
            continue;
        };
        let between = std::mem::take(&mut without);
        match runs.last_mut() {
            Some(run) if run.value.key == value.key => {
                run.within.extend(between);
                run.last = state;
            }
            _ => runs.push(SameValue {
                value,
                first: state,
                last: state,
                before: between,
                within: Vec::new(),
            }),
        }
    }
    (runs, without)
}

fn without_value(states: &[&PastState], sessions: &InterpreterSessions) -> Option<[String; 4]> {
    let (first, last) = (states.first()?, states.last()?);
    let cells = range(first, last, sessions);
    let late = states.iter().all(|state| state.why.starts_with(LATE));
    let what = if late { "not asked" } else { "no checkpoint" };
    Some([" ".to_owned(), cells, what.to_owned(), String::new()])
}

/// Returns the cells that may have made the value what it is.
fn cause(run: &SameValue<'_>, sessions: &InterpreterSessions) -> String {
    match run.before.first() {
        None => {
            let line = run.first.after.as_ref().map(|cell| cell.line.as_str());
            format!("changed by {}", line.unwrap_or_default())
        }
        Some(first) => format!(
            "changed by one of {}",
            range(first, run.first, sessions).trim_end_matches(", now")
        ),
    }
}

/// Returns why states have no value, a line for each reason.
fn reasons(states: &[PastState], sessions: &InterpreterSessions) -> Vec<String> {
    let without = || states.iter().filter(|state| state.value.is_none());
    let reasons: BTreeSet<&str> = without().map(|state| state.why.as_str()).collect();
    let line = |why| {
        let cells: Vec<&PastState> = without().filter(|state| state.why == why).collect();
        format!("not seen: {} ({why})", ranges(&cells, sessions))
    };
    reasons.into_iter().map(line).collect()
}

fn summary(
    runs: &[SameValue<'_>],
    first: &SameValue<'_>,
    sessions: &InterpreterSessions,
) -> String {
    let changes: Vec<String> = runs[1..]
        .iter()
        .map(|run| changed_at(run, sessions))
        .collect();
    if changes.is_empty() {
        let unseen = if first.within.is_empty() {
            ""
        } else {
            ", as far as it was seen"
        };
        return format!("It did not change{unseen}.");
    }
    let left_out = changes.len().saturating_sub(8);
    let more = if left_out > 0 {
        format!(", and {left_out} times before")
    } else {
        String::new()
    };
    let times = match changes.len() {
        1 => "once".to_owned(),
        times => counted(times, "time"),
    };
    format!(
        "It changed {times}: {}{more}.",
        changes[left_out..].join(", ")
    )
}

fn changed_at(run: &SameValue<'_>, sessions: &InterpreterSessions) -> String {
    let name = range(run.first, run.first, sessions);
    let name = name.trim_end_matches(", now");
    match run.before.first() {
        None => format!("by {name}"),
        Some(first) => {
            let cells = range(first, run.first, sessions);
            format!("somewhere in {}", cells.trim_end_matches(", now"))
        }
    }
}

/// `In [3]`, `In [3] to In [5]`, `at the start`.
fn range(first: &PastState, last: &PastState, sessions: &InterpreterSessions) -> String {
    let name = |state: &PastState| match &state.after {
        Some(cell) => sessions.name(cell),
        None => "at the start".to_owned(),
    };
    let now = match last.now {
        true if last.after.is_none() => return "now".to_owned(),
        true => ", now",
        false => "",
    };
    match first == last {
        true => format!("{}{now}", name(last)),
        false => format!("{} to {}{now}", name(first), name(last)),
    }
}

/// Names ranges of states; those that follow each other by their numbers are one.
fn ranges(states: &[&PastState], sessions: &InterpreterSessions) -> String {
    let mut parts: Vec<(&PastState, &PastState)> = Vec::new();
    let number = |state: &PastState| state.after.as_ref().map(|cell| (cell.session, cell.number));
    for state in states {
        match (parts.last_mut(), number(state)) {
            (Some((_, last)), Some((session, at))) if number(last) == Some((session, at - 1)) => {
                *last = state;
            }
            _ => parts.push((state, state)),
        }
    }
    let more = parts.len().saturating_sub(NAMED);
    let shown = parts.iter().take(NAMED);
    let mut named: Vec<String> = shown.map(|(a, b)| range(a, b, sessions)).collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    named.join(", ")
}

fn one_line(text: &str, most: usize) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), most).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::CellStep;

    fn state(number: u32, value: &str) -> PastState {
        PastState {
            after: (number > 0).then(|| CellStep {
                number,
                line: format!("line {number}"),
                ..CellStep::default()
            }),
            value: (!value.is_empty()).then(|| PastValue {
                text: value.to_owned(),
                key: value.to_owned(),
                failed: false,
            }),
            why: if value.is_empty() {
                "thinned out".to_owned()
            } else {
                String::new()
            },
            now: false,
        }
    }

    fn check(values: &[&str], expected: &str) {
        let mut states: Vec<PastState> = (0..)
            .zip(values)
            .map(|(number, value)| state(number, value))
            .collect();
        if let Some(last) = states.last_mut() {
            last.now = true;
        }
        let said = listed(&states, &InterpreterSessions::default(), SHOWN);
        assert_eq!(said, expected.trim_start_matches('\n'), "{values:?}");
    }

    #[test]
    fn a_change_is_said_of_all_cells_that_may_have_made_it() {
        check(
            &["not defined", "9", "9", "9", "", "", "4", "4", "", "4"],
            "
   at the start           not defined
→  In [1] to In [3]       9              changed by line 1
   In [4] to In [5]       no checkpoint
→  In [6] to In [9], now  4              changed by one of In [4] to In [6]  no checkpoint: In [8]
not seen: In [4] to In [5], In [8] (thinned out)
It changed 2 times: by In [1], somewhere in In [4] to In [6].",
        );
        check(
            &["1", "1", "1"],
            "
   at the start to In [2], now  1
It did not change.",
        );
        check(
            &["1", "", "1"],
            "
   at the start to In [2], now  1  no checkpoint: In [1]
not seen: In [1] (thinned out)
It did not change, as far as it was seen.",
        );
        check(
            &["", "2\n3", ""],
            "
   at the start  no checkpoint
   In [1]        2 3
   In [2], now   no checkpoint
not seen: at the start, In [2], now (thinned out)
It did not change.",
        );
        check(&["1"], "   now  1\nIt did not change.");
        check(&[""], "no state could be asked");
    }
}
