//! The front-end without an editor: `-c`, piped text, `run`, `ask`.
//!
//! Inputs are worked off in order; the exit code is that of the first failure. On a terminal it shows what the REPL
//! shows; anywhere else bytes go out as they came, values as plain text, answers as raw markdown, errors to standard
//! error.

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
use crate::input::{Mode, has_prompt_dot};
use crate::markdown::{Appearance, Theme};
use crate::output::traceback::CellError;
use crate::report::Report;
use crate::runtime::{Ending, InputReply};
use crate::screen::Screen;
use crate::session::{
    AfterEvent, CellEvent, EditorRequest, EndEvent, LoadRequest, NO_SHELL, NextEvent, PICK_USAGE,
    Run, SessionEvent, SessionHandle, Submission, TurnOutcome, no_terminal_message,
};
pub use ask::ask;
pub use notebook_run::NotebookRun;
pub use piped::PipedInput;
use plain::Plain;
use silent::Silent;
use timeout::Watch;

/// The exit code after Ctrl-C, as a shell tells it of SIGINT; nothing more is run then.
const INTERRUPTED: i32 = 130;

/// How a batch runs.
pub struct BatchOptions {
    /// The writer.
    pub screen: Screen,
    /// How markdown looks on a terminal.
    pub appearance: Appearance,
    /// How pictures are drawn on a terminal.
    pub pictures: Pictures,
    /// Standard output is a terminal.
    pub terminal: bool,
    /// Stop at the first failure.
    pub stop: bool,
    /// Numbers of inputs, from 0, whose errors are no failures.
    pub may_raise: Vec<usize>,
    /// What users have done before their first input is done.
    pub set_up: bool,
    /// Loaded before the first input, in this order.
    pub load: Vec<LoadRequest>,
    /// Cells may read standard input (it is not where the cells come from).
    pub stdin_is_free: bool,
    /// Nothing is shown but notices.
    pub silent: bool,
    /// How long a cell may take.
    pub timeout: Option<Duration>,
}

/// Runs inputs to their end, `kept` in a notebook; returns the exit code of the first failure, or 0.
///
/// # Errors
/// When nothing can be written any more.
pub fn run(
    session: &SessionHandle,
    background: &Run,
    inputs: impl IntoIterator<Item = Submission>,
    mut kept: Option<&mut NotebookRun>,
    options: &BatchOptions,
) -> Result<i32, Report> {
    let ending = signals::listen(session.clone())?;
    let wishes = session.editor_requests();
    let mut first_failure = 0;
    let mut toggled = false;
    if options.set_up {
        let ended = show(session, &session.run_startup(), None, None, options)?;
        ending.leave_it_to_the_signal();
        drain(background, options)?;
        // What else went wrong has been said, and is no fault of the inputs.
        if ended.code == INTERRUPTED {
            return Ok(ended.code);
        }
    }
    for file in &options.load {
        let ended = show(session, &session.load(file.clone()), None, None, options)?;
        ending.leave_it_to_the_signal();
        drain(background, options)?;
        // What comes next counts on it.
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
        // No interpreter tells when such an input begins.
        if to_the_agent {
            watch.begin();
        }
        let mut ended = show(session, &run, kept.as_deref_mut(), Some(&watch), options)?;
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
        ending.leave_it_to_the_signal();
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
                // Nobody is there to pick.
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

/// The themes for code, a line each.
fn show_themes(in_force: &str, options: &BatchOptions) -> Result<(), Report> {
    let theme = Theme::named(in_force).unwrap_or_default();
    let colour = options.terminal && options.screen.colour();
    let rows = theme_rows(theme.like(options.appearance.theme), colour).join("\n");
    Ok(options
        .screen
        .write_trusted(format!("{rows}\n").as_bytes())?)
}

/// How one input ended.
#[derive(Default)]
struct Ended {
    code: i32,
    left: bool,
    /// The code is that of an error a cell raised.
    raised: bool,
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

/// Takes from an event what the exit code depends on.
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
        // What a cell asked for is the cell's affair.
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

/// A line of standard input for a cell that asks.
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

/// Shows what came between runs.
///
/// # Errors
/// When nothing can be written any more.
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

/// Standard input as text.
///
/// # Errors
/// When it cannot be read or is not UTF-8; then nothing has been run.
pub fn standard_input() -> Result<String, Report> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Report::failure("cannot read standard input").because(error))?;
    as_text(bytes, "standard input")
}

/// Bytes of a file of cells as text; a byte order mark is left out.
///
/// # Errors
/// When they are not UTF-8: names the line and the byte.
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
