//! Lists the recorded sessions, as a table, and goes on in another one.

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
    let SwitchedSession { start, thread, .. } = session;
    kernels::driver::end_all(step);
    step.push(Effect::ChangeSession(start.clone()));
    let state = &mut *step.state;
    state.turns.set_recorded_thread(thread);
    state.skill_registry.clear_newly_loaded();
    let mut policy = ApprovalPolicy {
        run_cells: &mut state.choices.run_cells,
        grants: &mut state.approvals.grants,
        can_ask: false,
    };
    policy.end_session();
    let left = state.numbering.session();
    let index = state.step_log.change(left, start.number);
    state.numbering.on_change(start);
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

/// Formats sessions as a table, newest first. A session with a name shows it before its last prompt, or before its
/// last cell when it has no prompt.
pub fn listing(rows: &[SessionRow]) -> String {
    if rows.is_empty() {
        return "No sessions found for this directory.".to_owned();
    }
    let mut lines = vec!["    ID  Start                  Cmds  Last prompt".to_owned()];
    lines.extend(rows.iter().map(|row| {
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
        let shown = shown.trim_end();
        format!("{:>6}  {start:20}  {:>5}  {shown}", row.id, row.commands)
    }));
    lines.join("\n")
}
