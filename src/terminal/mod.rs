//! The REPL: line editor, cells on their own terminal, streamed answers.
//!
//! The terminal has one owner at a time: the editor between runs, the display during one. In both states the terminal
//! neither echoes keys nor turns them into signals (`screen::guard`), so nothing typed is lost or shown twice.
//!
//! Absent on purpose: the meaning of inputs (`input`), and running them (`session`).

mod background_color;
mod background_output;
mod blocks;
mod buffer_edits;
mod cell_language;
mod complete;
mod editor;
mod editor_history;
mod editor_requests;
mod editor_wait;
mod editor_waker;
mod exit_confirmation;
mod external_programs;
mod focus;
mod greeting;
mod highlight;
mod hint;
mod host_command;
mod incoming_calls;
mod input_router;
mod interruptions;
mod keyboard_reader;
mod keys;
mod list;
mod options;
mod paint_capture;
mod panel;
pub mod picker;
mod prompt;
mod query;
mod reverse_search;
mod run_view;
mod signals;
mod snapshot;
mod startup;
mod steering;
mod typeahead;
mod window;
mod windowed_prompt;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reedline::ExternalPrinter;

use crate::config::KeyAction;
use crate::display::{RunOutcome, RunSummary, notice_text, print_notice, show_earlier};
use crate::input::{Input, Mode, classify, is_private};
use crate::markdown::warm_up;
use crate::screen::Screen;
use crate::screen::guard::TerminalGuard;
use crate::session::{LoadRequest, Notice, Run, SessionHandle, Submission};
use crate::text::report::Report;
use background_output::{BackgroundOutput, EditorPrinter};
use complete::Sources;
use editor::{Edited, Editor};
use editor_requests::{EditorRequestHandler, ServedRequest};
use editor_waker::EditorWaker;
use exit_confirmation::ExitConfirmation;
use external_programs::ExternalPrograms;
use focus::Focus;
pub use greeting::Greeting;
use incoming_calls::PendingCalls;
use interruptions::Interruptions;
use keyboard_reader::ReaderWaker;
use keys::key_queue::{InputWaker, SharedKeyQueue, lock_queue};
pub use options::{Ready, ReplOptions};
use prompt::Label;
use run_view::RunView;
use signals::{CellTerminalSlot, SignalTargets};
use snapshot::Snapshot;
use startup::Startup;
use typeahead::initial_text;

/// Lines of background output that may wait in the editor.
const PRINTER_LINES: usize = 1024;

const LEAVE: Duration = Duration::from_secs(10);

/// Runs until the user leaves; returns the exit status.
///
/// # Errors
/// Fails when the terminal cannot be read or written.
pub fn run(session: &SessionHandle, background: Run, options: ReplOptions) -> Result<i32, Report> {
    let guard = TerminalGuard::acquire().map(Arc::new);
    if let Some(guard) = &guard {
        guard.restore_on_crash();
        guard.allow_disambiguation(options.environment.supports_kitty_keyboard());
        guard.host_mode();
    }
    let attached = CellTerminalSlot::default();
    let (reader_waker, key_queue) = (ReaderWaker::default(), SharedKeyQueue::default());
    let editor_waker = EditorWaker::new()?;
    let waker = InputWaker {
        key_queue: Arc::clone(&key_queue),
        editor_waker: editor_waker.clone(),
    };
    let ending = Arc::new(AtomicBool::new(false));
    let restorer = guard.as_ref().map(|guard| guard.restorer());
    signals::listen(
        session.clone(),
        options.screen.clone(),
        restorer,
        SignalTargets {
            cells: Arc::clone(&attached),
            reader_waker: reader_waker.clone(),
            waker: waker.clone(),
            dying: options.dying,
        },
        Arc::clone(&ending),
    )?;
    if let Some(guard) = &guard {
        // A stop and continue before this moment was not noticed.
        guard.host_mode();
    }
    let snapshot = Snapshot::new(if options.prompt_mode {
        Mode::Prompts
    } else {
        Mode::Cells
    });
    snapshot::lock_snapshot(&snapshot).cell_language =
        cell_language::CellLanguage::new(session.clone());
    let printer = ExternalPrinter::new(PRINTER_LINES);
    let lines = EditorPrinter {
        lines: printer.sender(),
        editor_waker: editor_waker.clone(),
        snapshot: Arc::clone(&snapshot),
    };
    let background = BackgroundOutput::start(background, lines, options.screen.clone())?;
    let pending_calls = PendingCalls::receive(
        session.incoming_calls(),
        background.clone(),
        options.screen.clone(),
        waker.clone(),
    )?;
    let warm = session.clone();
    let asked = session.clone();
    let answered = session.clone();
    let planning = session.clone();
    let reverse_search =
        reverse_search::search_history(&options.screen, guard.clone(), &options.recall);
    let (ready, teller, told_on) = (options.ready, background.clone(), options.screen.clone());
    let say_above: Box<dyn Fn(&Notice) + Send> =
        Box::new(move |notice| teller.print(&notice_text(notice, &told_on)));
    let background_key = options.keys.control_byte(KeyAction::Background);
    let mut editor = Editor::new(editor::EditorOptions {
        recall: options.recall,
        screen: options.screen.clone(),
        theme: options.appearance.theme,
        snapshot,
        keymap: options.keys,
        edit_mode: options.edit_mode,
        key_queue,
        external: ExternalPrograms {
            command: options.external_editor,
            guard: guard.clone(),
        },
        printer,
        background: background.clone(),
        editor_waker,
        on_prompt: Arc::new(move || {
            warm.warm_agent();
            // Colours for code take a few ms to load; without a thread they are loaded when needed.
            let _ = std::thread::Builder::new()
                .name("colours".into())
                .spawn(warm_up);
        }),
        on_plan_mode: Box::new(move |on| planning.set_plan_mode(on)),
        last: Box::new(move || asked.last_exchange()),
        on_background: Box::new(move |background| answered.on_background(background)),
        reverse_search,
        pending_calls: pending_calls.clone(),
        ready: Box::new(move || ready(say_above)),
        sources: Sources::new(session.clone(), options.environment.clone()),
    });
    editor.suggest_history(options.history_hint);
    let asking = pending_calls.clone();
    let startup = Startup::start(
        session,
        options.startup,
        move || {
            asking.set_startup_asks(true);
            waker.notify_call();
        },
        background.clone(),
        options.screen.clone(),
        editor.repainter(),
    );
    let (suggests, sayer) = (session.clone(), background.clone());
    editor.suggest_with(
        Box::new(move |draft, take| suggests.suggest(draft, take)),
        move |text| sayer.print(text),
    );
    let screen = options.screen;
    let mut shell = Repl {
        interruptions: Interruptions {
            startup,
            pending_calls,
            background: background.clone(),
            screen: screen.clone(),
        },
        session: session.clone(),
        editor_requests: EditorRequestHandler {
            requests: session.editor_requests(),
            screen: screen.clone(),
            guard: guard.clone(),
            record: options.record,
        },
        run_view: RunView {
            session: session.clone(),
            screen: screen.clone(),
            guard: guard.clone(),
            appearance: options.appearance,
            pictures: options.pictures,
            cells: CellTerminalSlot::default(),
            in_front: attached,
            reader_waker,
            key_queue: editor.key_queue(),
            background_reply: editor.background_reply().clone(),
            snapshot: editor.snapshot(),
            background_key,
            focus: Focus::default(),
            asks_background: options.asks_background,
            early: Vec::new(),
            environment: options.environment,
        },
        screen,
        editor,
        background,
        exit_confirmation: ExitConfirmation::default(),
        ending,
    };
    if let Some(greeting) = &options.greeting {
        let width = usize::from(shell.screen.size().columns);
        let text = greeting.text(shell.screen.colour(), width);
        shell.screen.write_trusted(text.as_bytes())?;
    }
    for report in &options.reports {
        print_notice(&shell.screen, &crate::session::report_notice(report))?;
    }
    if options.resumed {
        shell.run_view.early = shell.run_view.await_background()?;
        shell.show_resumed()?;
    }
    let status = match shell
        .load(options.load)
        .and_then(|loaded| shell.run_loop(loaded, options.first))
    {
        Ok(status) => status,
        Err(error) => {
            // The terminal hung up: pending rows are committed before we leave.
            session.close(LEAVE);
            return Err(error);
        }
    };
    shell.leave()?;
    if let Some(guard) = guard {
        guard.restore();
    }
    Ok(status)
}

/// A run that is over, for the loop to act on.
struct RunEnd {
    summary: RunSummary,
    /// Bytes typed meanwhile that no program read.
    typed: Vec<u8>,
    /// A prompt to be edited: its In number and its text.
    edits: Option<(u32, String)>,
}

struct Repl {
    interruptions: Interruptions,
    session: SessionHandle,
    editor_requests: EditorRequestHandler,
    run_view: RunView,
    screen: Screen,
    editor: Editor,
    background: BackgroundOutput,
    exit_confirmation: ExitConfirmation,
    /// A signal ends us: the signal thread owns the terminal.
    ending: Arc<AtomicBool>,
}

impl Repl {
    /// Reads and runs inputs, starting with `first`; `loaded` is the outcome of the files loaded before.
    fn run_loop(&mut self, loaded: RunOutcome, mut first: Option<String>) -> Result<i32, Report> {
        let early = std::mem::take(&mut self.run_view.early);
        self.editor.type_ahead(&early);
        let mut begins_with = match first {
            None => initial_text(String::new(), loaded, || self.editor.take_queue()),
            Some(_) => String::new(),
        };
        let mut replacing = None;
        self.run_view.ask_background_by_the_way()?;
        loop {
            while self.ending.load(Ordering::SeqCst) {
                std::thread::park();
            }
            self.interruptions.show_background()?;
            let mut label = Label::new(self.session.next_line(), self.editor.snapshot());
            if self.interruptions.startup.is_some() {
                label = label.following(self.session.clone());
            }
            self.background.set_editing(true);
            let text = std::mem::take(&mut begins_with);
            let queued = lock_queue(&self.run_view.key_queue).has_keys();
            let edited = match first.take() {
                Some(first) => Ok(Edited::Submitted(first, None)),
                None => {
                    // The editor does not write through the screen: text buffered there would appear below the
                    // prompt.
                    self.screen.flush()?;
                    self.editor.read(&label, &text, replacing.take())
                }
            };
            self.background.set_editing(false);
            if !queued {
                self.run_view.focus.is_here();
            }
            match edited? {
                Edited::Cleared => {}
                Edited::Interrupted(replaces) => {
                    replacing = replaces;
                    self.interruptions
                        .show_all(&mut self.run_view, &self.editor)?;
                }
                Edited::Left
                    if self
                        .exit_confirmation
                        .confirm(&self.session, &self.screen)? =>
                {
                    return Ok(0);
                }
                Edited::Left => {}
                Edited::Submitted(text, replaces) => {
                    // Only a prompt can replace a prompt.
                    let replaces = replaces.filter(|_| self.is_prompt(&text));
                    let RunEnd {
                        summary,
                        typed,
                        edits,
                    } = self.run(text, replaces)?;
                    self.editor.set_theme(self.run_view.appearance().theme);
                    if let Some(choices) = self.session.choices() {
                        self.editor.suggest_history(choices.history_hint);
                        self.editor.set_plan_mode(choices.plan);
                    }
                    match summary.exit_status {
                        Some(status)
                            if self
                                .exit_confirmation
                                .confirm(&self.session, &self.screen)? =>
                        {
                            return Ok(status);
                        }
                        Some(_) => {}
                        None => self.exit_confirmation = ExitConfirmation::default(),
                    }
                    let refill = match edits {
                        Some((line, text)) => {
                            replacing = Some(line);
                            text
                        }
                        None => {
                            replacing = replaces.filter(|_| !summary.refill.is_empty());
                            summary.refill
                        }
                    };
                    if let Some(folded) = summary.folded {
                        self.editor.set_folded(folded);
                    }
                    self.editor.type_ahead(&typed);
                    let queued = || self.editor.take_queue();
                    begins_with = initial_text(refill, summary.outcome, queued);
                    self.screen.write_trusted(b"\n")?;
                    self.screen.flush()?;
                }
            }
        }
    }

    /// Shows the end of a resumed session; missing variables are reported once they are known.
    fn show_resumed(&mut self) -> Result<(), Report> {
        let Some(earlier) = self.session.earlier() else {
            return Ok(());
        };
        show_earlier(&self.screen, &self.run_view.appearance(), &earlier)?;
        let choices = self.session.choices();
        if let Some(notice) = self.session.other_agent(&earlier) {
            print_notice(&self.screen, &notice)?;
        }
        if !choices.is_some_and(|choices| choices.keep_variables) {
            self.session.find_missing_names();
            return Ok(());
        }
        self.interruptions.finish_startup(&mut self.run_view)?;
        let run = self.session.restore_variables();
        self.run_view.early = self.run_view.show(&run)?.1;
        Ok(())
    }

    fn is_prompt(&self, text: &str) -> bool {
        matches!(classify(text, self.editor.mode()), Input::Prompt(_))
    }

    fn load(&mut self, files: Vec<LoadRequest>) -> Result<RunOutcome, Report> {
        let mut ended = RunOutcome::Succeeded;
        for file in files {
            self.interruptions.finish_startup(&mut self.run_view)?;
            let run = self.session.load(file);
            let (summary, early) = self.run_view.show(&run)?;
            self.run_view.early = early;
            ended = summary.outcome;
        }
        Ok(ended)
    }

    /// Runs one input to its end.
    fn run(&mut self, text: String, replaces: Option<u32>) -> Result<RunEnd, Report> {
        self.interruptions.finish_startup(&mut self.run_view)?;
        // Calls that asked earlier come first.
        if self.interruptions.pending_calls.is_waiting() {
            self.interruptions
                .show_calls(&mut self.run_view, &self.editor)?;
        }
        let submission = Submission {
            store_history: !is_private(&text),
            text,
            mode: self.editor.mode(),
            replaces,
            ..Submission::default()
        };
        let run = self.session.submit(submission);
        self.interruptions
            .wait_for_start(&run, &mut self.run_view, &self.editor)?;
        let (mut summary, mut typed) = self.run_view.show(&run)?;
        let mut edits = None;
        while let Some(wish) = self.editor_requests.take() {
            let theme = self.run_view.appearance().theme;
            match self.editor_requests.handle(wish, &mut self.editor, theme)? {
                ServedRequest::Done => {}
                ServedRequest::Session(id) => {
                    let resumed = self.run(format!("%ipycodex resume {id}"), None)?;
                    summary = resumed.summary;
                    typed.extend(resumed.typed);
                }
                ServedRequest::Prompt(line, text) => edits = Some((line, text)),
            }
        }
        Ok(RunEnd {
            summary,
            typed,
            edits,
        })
    }

    fn leave(&mut self) -> Result<(), Report> {
        let (interruptions, guard) = (&self.interruptions, self.run_view.guard.as_deref());
        if let Some(guard) = guard {
            // Keys from here on are for the next owner of the terminal, except Ctrl-C.
            guard.restore();
        }
        let closed = self.session.close_while(LEAVE, || {
            // A broken screen is noticed below.
            let _ = interruptions.show_background();
            if guard.is_some_and(TerminalGuard::take_interrupt) {
                self.session.interrupt();
            }
        });
        self.interruptions.background.await_end();
        self.interruptions.show_background()?;
        if let Some(number) = closed.resumable {
            self.screen
                .write_trusted(format!("\nTo resume: ipycodex -r {number}\n").as_bytes())?;
        }
        Ok(self.screen.flush()?)
    }
}
