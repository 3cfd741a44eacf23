//! The front-end without an editor: `-c`, piped text, `run`, `ask`.
//!
//! In: inputs, run in order. Out: their output, and the exit code of the first failure. On a terminal the output is
//! that of the REPL; elsewhere bytes are unchanged, values are plain text, answers raw markdown, and errors go to
//! standard error. Absent on purpose: keys.

mod ask;
mod cell_outputs;
mod json;
mod notebook_run;
mod piped;
mod plain;
mod signals;
mod silent;
mod timeout;
mod widgets;

use std::io::Read;
use std::time::Duration;

use crate::display::{Display, Pictures, RunRenderer, copy_to_clipboard, follow, theme_rows};
use crate::input::{Input, Mode, classify, has_prompt_dot};
use crate::markdown::{Appearance, Theme};
use crate::output::traceback::CellError;
use crate::runtime::{Ending, InputReply};
use crate::screen::Screen;
use crate::session::{
    AfterEvent, CellEvent, EditorRequest, EndEvent, LoadRequest, NO_SHELL, NextEvent, PICK_USAGE,
    Run, SessionEvent, SessionHandle, Submission, TurnOutcome, next_replaces_message,
    no_terminal_message,
};
use crate::text::report::Report;
pub use ask::ask;
pub use notebook_run::NotebookRun;
pub use piped::PipedInput;
use plain::Plain;
use silent::Silent;
use timeout::Watch;

/// Exit code after Ctrl-C (128 + SIGINT); no further input is run.
const INTERRUPTED: i32 = 130;

pub struct BatchOptions {
    pub screen: Screen,
    pub appearance: Appearance,
    pub pictures: Pictures,
    pub terminal: bool,
    /// Stop at the first failure.
    pub stop: bool,
    /// Numbers of inputs, from 0, whose errors are no failures.
    pub may_raise: Vec<usize>,
    /// Run the start-up files before the first input.
    pub set_up: bool,
    /// Files to load before the first input, in order.
    pub load: Vec<LoadRequest>,
    /// Cells may read standard input, because the inputs do not come from there.
    pub stdin_is_free: bool,
    /// Show nothing but notices.
    pub silent: bool,
    /// Time limit of a cell.
    pub timeout: Option<Duration>,
}

/// Runs inputs to their end and stores their outputs in `kept`; returns the exit code of the first failure, or 0.
///
/// # Errors
/// Standard output is closed, or the notebook cannot be written.
pub fn run(
    session: &SessionHandle,
    background: &Run,
    inputs: impl IntoIterator<Item = Submission>,
    mut kept: Option<&mut NotebookRun>,
    options: &BatchOptions,
) -> Result<i32, Report> {
    let heard = signals::listen(session.clone())?;
    let wishes = session.editor_requests();
    let mut first_failure = 0;
    let (mut toggled, mut replaces) = (false, None);
    if options.set_up {
        let ended = show(session, &session.run_startup(), None, None, options)?;
        heard.leave_it_to_the_signal();
        drain(background, options)?;
        // Other failures have been reported, and are not failures of the inputs.
        if ended.code == INTERRUPTED {
            return Ok(ended.code);
        }
    }
    for file in &options.load {
        let ended = show(session, &session.load(file.clone()), None, None, options)?;
        heard.leave_it_to_the_signal();
        drain(background, options)?;
        // Later inputs depend on the file.
        if ended.left || ended.code != 0 {
            options.screen.flush()?;
            return Ok(ended.code);
        }
    }
    for (number, mut input) in inputs.into_iter().enumerate() {
        if toggled {
            input.mode = match input.mode {
                Mode::Prompts => Mode::Cells,
                Mode::Cells | Mode::Shell => Mode::Prompts,
            };
        }
        let replaced = replaces.take();
        if matches!(classify(&input.text, input.mode), Input::Prompt(_)) {
            input.replaces = input.replaces.or(replaced);
        }
        if let Some(kept) = kept.as_deref_mut() {
            kept.began(number);
            if options.terminal && !options.silent {
                let line = format!("cell {} of {}", number + 1, kept.len());
                options.screen.print_notice(&line)?;
            }
        }
        let prompts = has_prompt_dot(&input.text);
        let to_the_agent = prompts || input.mode == Mode::Prompts;
        let run = session.submit(input);
        let watch = Watch::over(session, options.timeout);
        // No `Started` event of an interpreter comes for such an input.
        if to_the_agent {
            watch.begin();
        }
        let mut ended = show(session, &run, kept.as_deref_mut(), Some(&watch), options)?;
        if heard.take_interrupt() && ended.died {
            ended = Ended {
                code: INTERRUPTED,
                left: true,
                ..Ended::default()
            };
        }
        if ended.raised && options.may_raise.contains(&number) {
            ended.code = 0;
        }
        if let Some(after) = watch.ended() {
            ended = Ended {
                code: 1,
                ..Ended::default()
            };
            options.screen.print_notice(&timeout::said(after))?;
            if let Some(kept) = kept.as_deref_mut() {
                kept.timed_out(after);
            }
        }
        if let Some(kept) = kept.as_deref_mut() {
            let last = prompts.then(|| session.last_exchange()).flatten();
            kept.ended(last.map(|exchange| exchange.response))?;
        }
        heard.leave_it_to_the_signal();
        while let Some(wish) = wishes.take() {
            match wish {
                EditorRequest::TogglePrompts => toggled ^= true,
                EditorRequest::ToggleShell => options.screen.print_notice(NO_SHELL)?,
                EditorRequest::ShowThemes(in_force) => show_themes(&in_force, options)?,
                EditorRequest::Copy { what, text } => {
                    options.screen.print_notice(&copy_to_clipboard(
                        &options.screen,
                        &what,
                        &text,
                    ))?;
                }
                EditorRequest::LogIn(program) => options
                    .screen
                    .print_notice(&no_terminal_message(&program))?,
                EditorRequest::EditPrompt { line, .. } => {
                    options.screen.print_notice(&next_replaces_message(line))?;
                    replaces = Some(line);
                }
                // Without a user there is no picker.
                EditorRequest::PickSession(_) => options.screen.print_notice(PICK_USAGE)?,
            }
        }
        drain_into(background, kept.as_deref_mut(), options)?;
        if first_failure == 0 {
            first_failure = ended.code;
        }
        if ended.left || (options.stop && first_failure != 0) {
            break;
        }
    }
    options.screen.flush()?;
    Ok(first_failure)
}

fn show_themes(in_force: &str, options: &BatchOptions) -> Result<(), Report> {
    let theme = Theme::named(in_force).unwrap_or_default();
    let colour = options.terminal && options.screen.colour();
    let rows = theme_rows(theme.like(options.appearance.theme), colour).join("\n");
    Ok(options
        .screen
        .write_trusted(format!("{rows}\n").as_bytes())?)
}

#[derive(Default)]
struct Ended {
    code: i32,
    left: bool,
    /// The exit code is that of an exception in a cell.
    raised: bool,
    /// The interpreter died of it, or was lost.
    died: bool,
}

fn show(
    session: &SessionHandle,
    run: &Run,
    kept: Option<&mut NotebookRun>,
    watch: Option<&Watch>,
    options: &BatchOptions,
) -> Result<Ended, Report> {
    let screen = options.screen.clone();
    if options.silent {
        show_on(&mut Silent::new(screen), session, run, kept, watch, options)
    } else if options.terminal {
        show_on(&mut displayed(options), session, run, kept, watch, options)
    } else {
        show_on(&mut Plain::new(screen), session, run, kept, watch, options)
    }
}

fn displayed(options: &BatchOptions) -> Display {
    let (screen, pictures) = (options.screen.clone(), options.pictures.clone());
    Display::new(screen, options.appearance, pictures, None, None)
}

fn show_on(
    view: &mut dyn RunRenderer,
    session: &SessionHandle,
    run: &Run,
    mut kept: Option<&mut NotebookRun>,
    watch: Option<&Watch>,
    options: &BatchOptions,
) -> Result<Ended, Report> {
    let mut ended = Ended::default();
    follow(run, &options.screen, view, |event| {
        note(event, &mut ended);
        if let (SessionEvent::Cell(CellEvent::Started), Some(watch)) = (event, watch) {
            watch.begin();
        }
        if let Some(kept) = kept.as_deref_mut() {
            kept.on(event)?;
        }
        if let SessionEvent::Cell(CellEvent::InputRequested { call, prompt, .. }) = event {
            session.reply_input(*call, answer_input(prompt, options)?);
        }
        Ok::<(), Report>(())
    })?;
    Ok(ended)
}

/// Extracts from an event what determines the exit code.
fn note(event: &SessionEvent, ended: &mut Ended) {
    match event {
        SessionEvent::Cell(CellEvent::Raised(CellError {
            leaves: Some(leaving),
            ..
        })) => {
            ended.left = true;
            ended.code = leaving.status;
        }
        SessionEvent::After(AfterEvent::Leave(status)) => {
            ended.left = true;
            ended.code = *status;
        }
        SessionEvent::After(AfterEvent::Detach) => ended.left = true,
        SessionEvent::Cell(CellEvent::Ended { ending, .. }) if ended.code == 0 && !ended.left => {
            ended.code = match ending {
                Ending::Ok => 0,
                Ending::Interrupted => INTERRUPTED,
                Ending::Error | Ending::Died(_) | Ending::Lost(_) => 1,
            };
            ended.raised = *ending == Ending::Error;
            ended.died = matches!(ending, Ending::Died(_) | Ending::Lost(_));
            ended.left = ended.code == INTERRUPTED;
        }
        SessionEvent::End(EndEvent::Turn { outcome, .. }) => {
            ended.code = match outcome {
                TurnOutcome::Complete => 0,
                TurnOutcome::Interrupted => INTERRUPTED,
                TurnOutcome::Failed(_) => 1,
            };
            ended.left = ended.code == INTERRUPTED;
        }
        SessionEvent::Notice(notice) if notice.warning && ended.code == 0 => ended.code = 1,
        SessionEvent::Begin(_)
        | SessionEvent::Cell(
            CellEvent::Started
            | CellEvent::Output { .. }
            | CellEvent::Display(_)
            | CellEvent::Clear { .. }
            | CellEvent::Comm(_)
            | CellEvent::Status(_)
            | CellEvent::Late { .. }
            | CellEvent::InputRequested { .. }
            | CellEvent::Raised(_)
            | CellEvent::Ended { .. },
        )
        | SessionEvent::Answer(_)
        | SessionEvent::Question(_)
        // Errors of a prompt that a cell sent are handled by the cell.
        | SessionEvent::End(
            EndEvent::Asked { .. }
            | EndEvent::Replay(_)
            | EndEvent::Call { .. }
            | EndEvent::NotRun,
        )
        | SessionEvent::Text(_)
        | SessionEvent::Notice(_)
        | SessionEvent::After(AfterEvent::Refill(_) | AfterEvent::Replace(_))
        | SessionEvent::RuntimeDied { .. } => {}
    }
}

/// Reads a line of standard input for a cell that calls `input()`.
fn answer_input(prompt: &str, options: &BatchOptions) -> Result<InputReply, Report> {
    if !options.stdin_is_free {
        return Ok(InputReply::Eof);
    }
    options.screen.write_untrusted(prompt)?;
    options.screen.flush()?;
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => Ok(InputReply::Eof),
        Ok(_) => Ok(InputReply::Line(
            line.trim_end_matches(['\n', '\r']).to_owned(),
        )),
    }
}

/// Shows events from between the runs.
///
/// # Errors
/// Standard output is closed.
pub fn drain(background: &Run, options: &BatchOptions) -> Result<(), Report> {
    drain_into(background, None, options)
}

fn drain_into(
    background: &Run,
    mut kept: Option<&mut NotebookRun>,
    options: &BatchOptions,
) -> Result<(), Report> {
    let mut view = Plain::new(options.screen.clone());
    while let NextEvent::Event(event) = background.next_blocking(Some(std::time::Duration::ZERO)) {
        if let Some(kept) = kept.as_deref_mut() {
            kept.on_late(&event);
        }
        view.on_event(*event)?;
    }
    Ok(())
}

/// Reads standard input as text.
///
/// # Errors
/// Standard input is not readable or not UTF-8; nothing has been run then.
pub fn standard_input() -> Result<String, Report> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Report::failure("cannot read standard input").because(error))?;
    as_text(bytes, "standard input")
}

/// Decodes a file of cells; a byte order mark is dropped.
///
/// # Errors
/// The bytes are not UTF-8: the report names the line and the byte.
pub fn as_text(bytes: Vec<u8>, name: &str) -> Result<String, Report> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        Report::failure(format!(
            "{name} is not valid UTF-8: byte {at}, line {line}; nothing was run"
        ))
        .hint("convert it, for example with `iconv -f latin1 -t utf-8`")
    })?;
    Ok(text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_text_names_the_place() {
        let report = as_text(b"a = 1\nb = '\xff'\n".to_vec(), "standard input").unwrap_err();
        assert!(report.message.contains("byte 11, line 2"), "{report}");
        assert_eq!(as_text(b"\xef\xbb\xbfx".to_vec(), "f").unwrap(), "x");
    }
}
