//! Confirms leaving while jobs run, cells in the background or those of the shell: they end with us, so the first
//! attempt only warns.

use crate::display::print_notice;
use crate::screen::{Screen, ScreenError};
use crate::session::{Notice, SessionHandle};

const NAMED: usize = 3;

/// Remembers the warning; any other input resets it.
#[derive(Default)]
pub(super) struct ExitConfirmation {
    warned: bool,
}

impl ExitConfirmation {
    /// Returns true unless jobs would end and the user has not been warned yet.
    ///
    /// # Errors
    /// Fails when the terminal cannot be written.
    pub(super) fn confirm(
        &mut self,
        session: &SessionHandle,
        screen: &Screen,
    ) -> Result<bool, ScreenError> {
        if std::mem::replace(&mut self.warned, true) {
            return Ok(true);
        }
        let jobs = session.jobs();
        if !jobs.is_empty() {
            print_notice(screen, &warning(&jobs))?;
        }
        Ok(jobs.is_empty())
    }
}

fn warning(jobs: &[String]) -> Notice {
    let named = jobs.iter().take(NAMED).map(|job| format!("`{job}`"));
    let mut names: Vec<String> = named.collect();
    if jobs.len() > NAMED {
        names.push(format!("{} more", jobs.len() - NAMED));
    }
    let names = names.join(", ");
    Notice::warning(format!("these jobs would end: {names}"))
        .hint(
        "leave again to end them; `%ipycodex jobs` lists what works beside the prompt, `jobs` in shell mode its own",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_jobs_are_named_and_the_others_counted() {
        let jobs: Vec<String> = (1..=5).map(|n| format!("sleep {n}")).collect();
        for (count, expected) in [
            (1, "these jobs would end: `sleep 1`"),
            (
                5,
                "these jobs would end: `sleep 1`, `sleep 2`, `sleep 3`, 2 more",
            ),
        ] {
            assert_eq!(warning(&jobs[..count]).message, expected);
        }
    }
}
