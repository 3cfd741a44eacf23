//! Lists the recorded sessions, as a table with forks below their parents, and goes on in another one.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::approvals::ApprovalPolicy;
use crate::effect::{Effect, Event};
use crate::events::TextEvent;
use crate::kernels;
use crate::record::{RecordHandle, RecordedCell, SessionRow, SessionTail, SwitchedSession};
use crate::resume::{self, MissingNames};
use crate::run::RunSender;
use crate::step::Step;

/// Continues in another session; interpreter, variables and choices stay.
pub(crate) fn switch(
    step: &mut Step<'_>,
    (session, earlier): (SwitchedSession, Option<SessionTail>),
    out: &RunSender,
) {
    let SwitchedSession {
        start,
        threads,
        forked_at,
        ..
    } = session;
    kernels::driver::end_all(step);
    step.state.branches.forget_lines();
    step.push(Effect::ChangeSession(start.clone()));
    let state = &mut *step.state;
    state.turns.set_recorded_threads(threads);
    state.skill_registry.clear_newly_loaded();
    let mut policy = ApprovalPolicy {
        run_cells: &mut state.choices.run_cells,
        grants: &mut state.approvals.grants,
        can_ask: false,
    };
    policy.end_session();
    let left = state.numbering.session();
    let index = match forked_at {
        Some(before) => state.step_log.fork(left, start.number, before),
        None => state.step_log.change(left, start.number),
    };
    match forked_at {
        Some(_) => state.numbering.on_fork(start),
        None => state.numbering.on_change(start),
    }
    step.push(Effect::NumberIn(index));
    if let Some(earlier) = earlier {
        let other = resume::other_agent(&earlier, &step.state.choices, &step.ctx.deps.missing);
        step.send(out, TextEvent::Earlier(Box::new(earlier)));
        other.into_iter().for_each(|notice| step.send(out, notice));
    }
    step.raise(Event::RestoreVariables(out.clone()));
}

/// Reports which names of these cells the interpreter lacks; with `beside`, outside of the queue.
pub(crate) fn find_missing_names(
    step: &mut Step<'_>,
    cells: Vec<RecordedCell>,
    beside: bool,
    out: &RunSender,
) {
    let Some(gone) = MissingNames::among(cells, step.state.numbering.gone_before()) else {
        return;
    };
    let told = step.ask_runtime(gone.request());
    match beside {
        true => step.spawn(gone.said(told)),
        false => step.wait(out, gone.said(told)),
    }
}

/// Returns the sessions that the record holds entries of, newest first.
pub(crate) async fn recorded_sessions(
    record: RecordHandle,
    cwd: PathBuf,
    all: bool,
) -> Vec<SessionRow> {
    let mut rows = record.sessions(cwd, all).await;
    rows.retain(|row| row.commands > 0);
    rows
}

/// Formats sessions as a table, newest first; a fork stands below the session that it was forked from. A session with a
/// name shows it before its last prompt, or before its last cell when it has no prompt.
pub fn listing(rows: &[SessionRow]) -> String {
    if rows.is_empty() {
        return "No sessions found for this directory.".to_owned();
    }
    let mut lines = vec!["    ID  Start                  Cmds  Last prompt".to_owned()];
    lines.extend(tree(rows).into_iter().map(|(row, depth)| {
        let start: String = row.start.chars().take(19).collect();
        // A session without prompts is described by its last cell.
        let said = [&row.last_prompt, &row.last_input];
        let said = said.into_iter().find(|text| !text.is_empty());
        let prompt = said.map_or(String::new(), |text| text.replace('\n', " "));
        let mut shown: String = prompt.chars().take(60).collect();
        if prompt.chars().count() > 60 {
            shown.push_str("...");
        }
        if let Some(name) = &row.name {
            shown = format!("[{name}] {shown}");
        }
        let origin = row.fork.map(|fork| match depth {
            0 => format!("fork of {} before [{}]: ", fork.parent, fork.before),
            depth => format!("{}└ before [{}]: ", "  ".repeat(depth - 1), fork.before),
        });
        let shown = origin.unwrap_or_default() + &shown;
        let shown = shown.trim_end();
        format!("{:>6}  {start:20}  {:>5}  {shown}", row.id, row.commands)
    }));
    lines.join("\n")
}

/// Returns the sessions and how deep each stands below others: those with the newest session in them first.
fn tree(rows: &[SessionRow]) -> Vec<(&SessionRow, usize)> {
    let parent = |row: &SessionRow| {
        let parent = row.fork?.parent;
        // A record of another program could name a later session.
        rows.iter()
            .find(|other| other.id == parent && parent < row.id)
    };
    let mut newest: BTreeMap<i64, i64> = rows.iter().map(|row| (row.id, row.id)).collect();
    for row in rows {
        let above = std::iter::successors(parent(row), |row| parent(row));
        above.for_each(|above| {
            let known = newest.entry(above.id).or_default();
            *known = row.id.max(*known);
        });
    }
    let mut ordered: Vec<&SessionRow> = rows.iter().collect();
    ordered.sort_by_key(|row| Reverse(newest.get(&row.id).copied()));
    let mut placed = Vec::new();
    let roots = ordered.iter().filter(|row| parent(row).is_none());
    // What is still to be placed, the next one last.
    let mut due: Vec<(&SessionRow, usize)> = roots.rev().map(|row| (*row, 0)).collect();
    while let Some((row, depth)) = due.pop() {
        placed.push((row, depth));
        let below = ordered.iter().rev();
        let below = below.filter(|other| parent(other).is_some_and(|it| it.id == row.id));
        due.extend(below.map(|other| (*other, depth + 1)));
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ForkOrigin;

    #[test]
    fn forks_stand_below_the_session_they_were_forked_from() {
        let row = |id: i64, fork: Option<(i64, u32)>| SessionRow {
            id,
            start: "2026-01-02 03:04:05.000006".into(),
            end: None,
            commands: 3,
            last_prompt: format!("p{id}"),
            name: (id == 4).then(|| "kept".into()),
            cwd: String::new(),
            first_prompt: String::new(),
            last_input: String::new(),
            once: false,
            fork: fork.map(|(parent, before)| ForkOrigin { parent, before }),
        };
        let rows = [
            row(9, Some((99, 1))),
            row(8, Some((4, 2))),
            row(7, None),
            row(6, Some((4, 7))),
            row(5, Some((2, 3))),
            row(4, Some((3, 5))),
            row(3, None),
        ];
        let text = listing(&rows);
        let shown: Vec<&str> = text.lines().skip(1).map(|line| &line[37..]).collect();
        assert_eq!(
            shown,
            [
                "fork of 99 before [1]: p9",
                "p3",
                "└ before [5]: [kept] p4",
                "  └ before [2]: p8",
                "  └ before [7]: p6",
                "p7",
                "fork of 2 before [3]: p5",
            ],
            "{text}"
        );
    }
}
