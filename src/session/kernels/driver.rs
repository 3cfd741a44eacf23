//! Starts, awaits and ends the agent's own kernels.
//!
//! Invariant: nothing here blocks. Directories are checked and kernels ended on threads of their own.

use std::path::Path;

use super::{CheckedDirectory, KernelChoice, KernelPlacement, KernelRequest, Lease, OpenedKernel};
use crate::effect::{Effect, Event};
use crate::events::Notice;
use crate::ids::{CallId, ToolCaller};
use crate::runtime::{Death, StartFailure};
use crate::step::Step;
use crate::text::counted;
use crate::tools::ToolEvent;

/// Finds the directory that a call asks for and the kernel there; [`ToolEvent::KernelOpened`] follows.
pub(crate) fn open(step: &mut Step<'_>, opening: KernelPlacement) {
    let call = step.state.tool_runner.call_id();
    let place = match &opening.cwd {
        Some(folder) => step.state.cwd.join(folder),
        None => step.state.cwd.clone(),
    };
    step.spawn_blocking(move || Event::DirectoryChecked(call, opening, check_directory(&place)));
}

pub(crate) fn open_at(
    step: &mut Step<'_>,
    call: CallId,
    opening: &KernelPlacement,
    checked: CheckedDirectory,
) {
    if step.state.tool_runner.call_id() != call || step.state.tool_runner.is_idle() {
        return;
    }
    let cwd = match checked {
        Err(why) => return opened(step, Err(why)),
        Ok(cwd) if opening.which == KernelChoice::Live => {
            return opened(step, Ok(OpenedKernel::live(cwd)));
        }
        Ok(cwd) => cwd,
    };
    let sandbox = step.state.choices.sandbox;
    let request = KernelRequest { cwd, sandbox };
    let fresh = opening.which == KernelChoice::Fresh;
    let kernels = &mut step.state.kernels;
    let (leased, ends) = kernels.lease(request.clone(), fresh, opening.reset, step.ctx.now);
    end(step, ends);
    match leased {
        Err(why) => opened(step, Err(why)),
        Ok(Lease::Up(kernel)) => opened(step, Ok(kernel)),
        Ok(Lease::Starting) => {}
        Ok(Lease::Start(number)) => step.push(Effect::StartKernel(number, request)),
    }
}

fn opened(step: &mut Step<'_>, opened: Result<OpenedKernel, String>) {
    let event = ToolEvent::KernelOpened(opened);
    step.raise(Event::Tool(ToolCaller::Turn, event));
}

pub(crate) fn on_ready(step: &mut Step<'_>, number: u32, unprotected: Option<String>) {
    if let Some(kernel) = step.state.kernels.up(number, unprotected) {
        opened(step, Ok(kernel));
    }
}

/// Where there was no room for the kernel, ends the idle ones and starts this one again.
pub(crate) fn on_start_failure(step: &mut Step<'_>, number: u32, failure: StartFailure) {
    if failure.is_resource_exhaustion() && evict_for(step, number) {
        return;
    }
    let awaited = step.state.kernels.failed(number);
    end(step, vec![number]);
    if awaited {
        let why = format!("{}; {}", failure.message, failure.hint);
        opened(step, Err(why));
    }
}

/// Returns false when no kernel was idle.
fn evict_for(step: &mut Step<'_>, number: u32) -> bool {
    let Some((request, mut ends)) = step.state.kernels.evict_idle(number) else {
        return false;
    };
    let were = if ends.len() == 1 { "was" } else { "were" };
    step.show(Notice::note(format!(
        "there was no room for another agent kernel: {} {were} ended to make room",
        counted(ends.len(), "idle kernel")
    )));
    ends.push(number);
    step.push(Effect::EvictKernels {
        ends,
        number,
        request,
    });
    true
}

pub(crate) fn on_evicted(step: &mut Step<'_>, number: u32, request: KernelRequest) {
    if step.state.kernels.has(number) {
        step.push(Effect::StartKernel(number, request));
    }
}

pub(crate) fn on_death(step: &mut Step<'_>, number: u32, death: &Death, restarting: bool) {
    // A kernel that was killed over its time limit has not failed by itself.
    let counts = !matches!(death, Death::Killed | Death::TimedOut);
    let (kernels, now) = (&mut step.state.kernels, step.ctx.now);
    kernels.died(number, &death.to_string(), counts, !restarting, now);
    if !restarting {
        end(step, vec![number]);
    }
}

/// Ends the lease of the call that is over.
pub(crate) fn release(step: &mut Step<'_>) {
    let ends = step.state.kernels.release(step.ctx.now);
    end(step, ends);
}

/// Ends the kernels that have been idle for too long.
pub(crate) fn sweep(step: &mut Step<'_>) {
    let ends = step.state.kernels.sweep(step.ctx.now);
    end(step, ends);
}

/// Ends all kernels, with the session they were kept for.
pub(crate) fn end_all(step: &mut Step<'_>) {
    release(step);
    let ends = step.state.kernels.clear();
    end(step, ends);
}

fn end(step: &mut Step<'_>, numbers: Vec<u32>) {
    if !numbers.is_empty() {
        step.push(Effect::EndKernels(numbers));
    }
}

/// Returns the directory, or why it cannot be used.
fn check_directory(place: &Path) -> CheckedDirectory {
    let shown = place.display();
    match place.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(format!(
            "`cwd`: {shown} is not a directory; no cell was run"
        )),
        Err(error) => Err(format!("`cwd`: {shown}: {error}; no cell was run")),
    }
}
