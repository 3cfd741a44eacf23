//! The prompt of a question or of a tool's `input()`: printed once in full, answered below, one line stays.
//!
//! In: a question (or a tool's `input()`), and keys through [`Keyboard`]. Out: rows on the screen and one reply.
//! Driven by ticks; callers defer other output while [`QuestionPrompt::is_open`]. Invariants: keys count only once
//! the choices are on the screen, and those appear only after a pause in typing, so typeahead never answers a
//! question; bytes after an answer are returned to the keyboard. The question is printed with the terminal's
//! wrapping on: where the terminal's widths differ from ours, the row breaks and nothing is cut off.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode};
use nu_ansi_term::{Color, Style};

use super::question::{KeyOutcome, OpenQuestion, QuestionFrame};
use super::rows::{Rows, print};
use crate::keys::entry::Entry;
use crate::keys::{Decoder, is_control, plain};
use crate::markdown::Appearance;
use crate::runtime::{InputReply, TerminalSize};
use crate::screen::live::LiveRegion;
use crate::screen::{Screen, ScreenError};
use crate::session::{Question, Reply};
use crate::text::escape::visible_lines;
use crate::text::{columns, cut};

/// Pause in typing after which keys are meant for the question.
const TYPING_PAUSE: Duration = Duration::from_millis(400);

/// Time after which bytes no longer belong to an `ESC` before them.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(60);

const BRACKETED_PASTE: &[u8] = b"\x1b[?2004h";

const CHOICE_ROWS: usize = 6;

/// Keys typed while something runs, kept for the editor or for a running program.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Typeahead {
    /// Lines that will run one after the other.
    pub queued: Vec<String>,
    /// The incomplete line, as far as the terminal does not show it by itself.
    pub typed: String,
    /// The running code waits for a line.
    pub input_awaited: bool,
}

/// The keyboard, as far as questions need it.
pub trait Keyboard: Send + Sync {
    /// Returns the keys kept for the editor.
    fn typeahead(&self) -> Typeahead;

    /// Time since the last key.
    fn since_last_key(&self) -> Duration;

    /// Starts collecting keys for the question, except Ctrl-C and Ctrl-Z.
    fn capture(&self);

    /// Returns the bytes typed for the question since the last call.
    fn take_captured(&self) -> Vec<u8>;

    /// Ends the question; `rest` was typed after its answer.
    fn release(&self, rest: &[u8]);

    /// True once after the program was stopped and continued.
    fn take_resumed(&self) -> bool;

    /// True after Ctrl-C was pressed at the question.
    fn is_interrupted(&self) -> bool;

    /// Stops the turn, as Ctrl-C does.
    fn interrupt(&self);

    fn answer(&self, question: u64, reply: Reply);

    fn reply_input(&self, call: u64, reply: InputReply);
}

/// The open question or input request, if there is one.
pub(super) struct QuestionPrompt {
    screen: Screen,
    appearance: Appearance,
    keyboard: Option<Arc<dyn Keyboard>>,
    open: Option<OpenPrompt>,
}

struct OpenPrompt {
    subject: PromptSubject,
    since: Instant,
    listening: bool,
    decoder: Decoder,
    last_byte: Instant,
    painter: PromptPainter,
    size: TerminalSize,
    /// The rows on the screen are no longer ours.
    stale: bool,
}

enum PromptSubject {
    Question(Box<OpenQuestion>),
    Input(InputRequest),
}

struct InputRequest {
    call: u64,
    label: String,
    entry: Entry,
}

impl QuestionPrompt {
    pub(super) fn new(
        screen: Screen,
        appearance: Appearance,
        keyboard: Option<Arc<dyn Keyboard>>,
    ) -> Self {
        QuestionPrompt {
            screen,
            appearance,
            keyboard,
            open: None,
        }
    }

    /// True while something waits for the user.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Prints a question; the cursor must be at the start of a row.
    pub(super) fn ask(&mut self, question: Question) -> Result<(), ScreenError> {
        if self.keyboard.is_none() {
            return Ok(());
        }
        let question = OpenQuestion::new(question);
        let size = self.screen.size();
        let width = usize::from(size.columns);
        let mut body = question.body(width, &self.appearance);
        if body.len() + CHOICE_ROWS > usize::from(size.rows) {
            let mut note = Rows::new(width);
            let text = format!("({} lines: its beginning is further up)", body.len());
            note.text(0, &text, Style::new().dimmed());
            body.extend(note.into_rows());
        }
        print(&self.screen, &body)?;
        self.screen.flush()?;
        self.begin(PromptSubject::Question(Box::new(question)));
        Ok(())
    }

    /// Shows the prompt of a tool that asks for a line.
    pub(super) fn input(
        &mut self,
        call: u64,
        prompt: &str,
        password: bool,
    ) -> Result<(), ScreenError> {
        if self.keyboard.is_none() {
            return Ok(());
        }
        let width = usize::from(self.screen.size().columns);
        let mut rows = Rows::new(width);
        rows.text(0, prompt, Style::new());
        let mut rows = rows.into_rows();
        let label = rows
            .pop_if(|last| last.width() * 4 <= width * 3)
            .map_or(String::new(), |last| last.plain());
        print(&self.screen, &rows)?;
        self.begin(PromptSubject::Input(InputRequest {
            call,
            label,
            entry: Entry::new(password),
        }));
        // A program that reads a line gets the keys typed before its prompt appeared, as on any terminal.
        self.listen()?;
        self.draw()
    }

    fn begin(&mut self, subject: PromptSubject) {
        self.open = Some(OpenPrompt {
            subject,
            since: Instant::now(),
            listening: false,
            decoder: Decoder::default(),
            last_byte: Instant::now(),
            painter: PromptPainter::new(self.screen.clone()),
            size: self.screen.size(),
            stale: false,
        });
    }

    fn listen(&mut self) -> Result<(), ScreenError> {
        if let (Some(open), Some(keyboard)) = (&mut self.open, &self.keyboard) {
            open.listening = true;
            keyboard.capture();
            if self.screen.is_rich() {
                self.screen.write_trusted(BRACKETED_PASTE)?;
            }
        }
        Ok(())
    }

    pub(super) fn close_question(&mut self, question: u64) -> Result<(), ScreenError> {
        match &self.open {
            Some(OpenPrompt {
                subject: PromptSubject::Question(open),
                ..
            }) if open.id() == question => self.dismiss(),
            _ => Ok(()),
        }
    }

    pub(super) fn close_input(&mut self) -> Result<(), ScreenError> {
        match &self.open {
            Some(OpenPrompt {
                subject: PromptSubject::Input(_),
                ..
            }) => self.dismiss(),
            _ => Ok(()),
        }
    }

    pub(super) fn dismiss(&mut self) -> Result<(), ScreenError> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let (line, call) = match &open.subject {
            PromptSubject::Question(question) => (Some(question.dismissed()), None),
            PromptSubject::Input(input) => (None, Some(input.call)),
        };
        self.close(line.as_deref(), &[])?;
        if let (Some(call), Some(keyboard)) = (call, &self.keyboard) {
            // After an interrupt that came before the tool began to wait, the tool would wait forever; a late reply
            // is ignored.
            keyboard.reply_input(call, InputReply::Eof);
        }
        Ok(())
    }

    /// True once after the program was stopped and continued: other programs may have overwritten the rows.
    pub(super) fn take_resumed(&mut self) -> Result<bool, ScreenError> {
        let resumed = self
            .keyboard
            .as_ref()
            .is_some_and(|keys| keys.take_resumed());
        if let Some(open) = self.open.as_mut().filter(|_| resumed) {
            open.painter = PromptPainter::new(self.screen.clone());
            open.stale = true;
            if open.listening && self.screen.is_rich() {
                self.screen.write_trusted(BRACKETED_PASTE)?;
            }
        }
        Ok(resumed)
    }

    pub(super) fn tick(&mut self) -> Result<(), ScreenError> {
        let Some(keyboard) = self.keyboard.clone() else {
            return Ok(());
        };
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        if keyboard.is_interrupted() {
            return self.dismiss();
        }
        let mut changed = std::mem::take(&mut open.stale);
        if !open.listening {
            if open.since.elapsed() < TYPING_PAUSE || keyboard.since_last_key() < TYPING_PAUSE {
                return Ok(());
            }
            self.listen()?;
            changed = true;
        }
        let bytes = keyboard.take_captured();
        for (at, byte) in bytes.iter().enumerate() {
            let Some(open) = &mut self.open else {
                return Ok(());
            };
            open.last_byte = Instant::now();
            if let Some(key) = open.decoder.push(*byte) {
                changed = true;
                if self.on_key(&key, &bytes[at + 1..])? {
                    return Ok(());
                }
            }
        }
        if let Some(open) = &mut self.open
            && open.last_byte.elapsed() > ESCAPE_TIMEOUT
            && let Some(key) = open.decoder.escape()
        {
            changed = true;
            if self.on_key(&key, &[])? {
                return Ok(());
            }
        }
        let size = self.screen.size();
        if let Some(open) = &mut self.open {
            changed |= std::mem::replace(&mut open.size, size) != size;
        }
        if changed { self.draw() } else { Ok(()) }
    }

    /// Passes a key on; returns true when nothing is open any more.
    fn on_key(&mut self, key: &Event, rest: &[u8]) -> Result<bool, ScreenError> {
        let (Some(open), Some(keyboard)) = (&mut self.open, self.keyboard.clone()) else {
            return Ok(true);
        };
        match &mut open.subject {
            PromptSubject::Question(question) => match question.take(key) {
                KeyOutcome::Open => Ok(false),
                KeyOutcome::Next(verdict) => {
                    let width = usize::from(self.screen.size().columns);
                    let more = question.more(width);
                    open.painter.clear()?;
                    self.print_verdict(&verdict)?;
                    print(&self.screen, &more)?;
                    Ok(false)
                }
                KeyOutcome::Over(verdict, reply) => {
                    let id = question.id();
                    self.close(Some(&verdict), rest)?;
                    keyboard.answer(id, reply);
                    Ok(true)
                }
                KeyOutcome::Interrupt => {
                    self.dismiss()?;
                    keyboard.interrupt();
                    Ok(true)
                }
            },
            PromptSubject::Input(input) => {
                let reply = match key {
                    key if plain(key) == KeyCode::Enter => {
                        InputReply::Line(input.entry.text().to_owned())
                    }
                    key if is_control(key, 'd') && input.entry.text().is_empty() => InputReply::Eof,
                    key if is_control(key, 'c') => {
                        self.dismiss()?;
                        keyboard.interrupt();
                        return Ok(true);
                    }
                    key => {
                        input.entry.take(key);
                        return Ok(false);
                    }
                };
                let call = input.call;
                let typed = format!("{}{}", input.label, input.entry.shown());
                open.painter.clear()?;
                let mut rows = Rows::new(usize::from(self.screen.size().columns));
                rows.text(0, &typed, Style::new());
                print(&self.screen, &rows.into_rows())?;
                self.close(None, rest)?;
                keyboard.reply_input(call, reply);
                Ok(true)
            }
        }
    }

    fn close(&mut self, verdict: Option<&str>, rest: &[u8]) -> Result<(), ScreenError> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        open.painter.clear()?;
        if let Some(keyboard) = self.keyboard.as_ref().filter(|_| open.listening) {
            keyboard.release(rest);
        }
        if let Some(verdict) = verdict {
            self.print_verdict(verdict)?;
        }
        self.screen.flush()
    }

    /// Prints the line that stays, in its colour.
    fn print_verdict(&self, verdict: &str) -> Result<(), ScreenError> {
        let width = usize::from(self.screen.size().columns);
        let style = match verdict.chars().next() {
            Some('✓') => Color::Green.normal(),
            Some('✗') => Color::Red.normal(),
            _ => Style::new().dimmed(),
        };
        let mut rows = Rows::new(width);
        rows.text(0, &cut(verdict, width), style);
        print(&self.screen, &rows.into_rows())
    }

    fn draw(&mut self) -> Result<(), ScreenError> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        if !open.listening {
            return Ok(());
        }
        let width = usize::from(self.screen.size().columns);
        match &open.subject {
            PromptSubject::Question(question) if self.screen.is_rich() => {
                open.painter.draw(&question.frame(width))
            }
            PromptSubject::Question(question) => open.painter.line(&question.line()),
            PromptSubject::Input(input) if self.screen.is_rich() => {
                let room = width.saturating_sub(columns(&input.label));
                let (shown, behind) = input.entry.window(room);
                let mut rows = Rows::new(width);
                rows.text(0, &format!("{}{shown}", input.label), Style::new());
                open.painter.draw(&QuestionFrame {
                    rows: rows.into_rows(),
                    back: behind,
                })
            }
            PromptSubject::Input(input) => {
                open.painter
                    .line(&format!("{}{}", input.label, input.entry.shown()))
            }
        }
    }
}

struct PromptPainter {
    screen: Screen,
    live: LiveRegion,
    /// Position of the cursor, in columns before the end of the last row.
    back: usize,
    /// The text in the current row, on a terminal that cannot move its cursor.
    line: String,
}

impl PromptPainter {
    fn new(screen: Screen) -> Self {
        let live = LiveRegion::new(screen.colour());
        PromptPainter {
            screen,
            live,
            back: 0,
            line: String::new(),
        }
    }

    fn draw(&mut self, frame: &QuestionFrame) -> Result<(), ScreenError> {
        self.return_cursor()?;
        let size = self.screen.size();
        let bytes = self.live.draw(&[], &frame.rows, size);
        self.screen.write_trusted(&bytes)?;
        if frame.back > 0 {
            self.screen
                .write_trusted(format!("\x1b[{}D", frame.back).as_bytes())?;
        }
        self.back = frame.back;
        self.screen.flush()
    }

    /// Writes without cursor movement: appended text is written, any other change is a new line.
    fn line(&mut self, text: &str) -> Result<(), ScreenError> {
        let safe = visible_lines(text).into_owned();
        match safe.strip_prefix(self.line.as_str()) {
            Some(added) => self.screen.write_trusted(added.as_bytes())?,
            None => self.screen.write_trusted(format!("\n{safe}").as_bytes())?,
        }
        self.line = safe;
        self.screen.flush()
    }

    fn clear(&mut self) -> Result<(), ScreenError> {
        self.return_cursor()?;
        let bytes = self.live.clear();
        self.screen.write_trusted(&bytes)?;
        if !std::mem::take(&mut self.line).is_empty() {
            self.screen.write_trusted(b"\n")?;
        }
        Ok(())
    }

    fn return_cursor(&mut self) -> Result<(), ScreenError> {
        match std::mem::take(&mut self.back) {
            0 => Ok(()),
            back => self
                .screen
                .write_trusted(format!("\x1b[{back}C").as_bytes()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::environment::Environment;
    use crate::screen::ColorChoice;

    /// Nobody types.
    #[derive(Default)]
    pub(in crate::display) struct Silent(Mutex<Vec<(u64, InputReply)>>);

    impl Keyboard for Silent {
        fn typeahead(&self) -> Typeahead {
            Typeahead::default()
        }
        fn since_last_key(&self) -> Duration {
            Duration::MAX
        }
        fn capture(&self) {}
        fn take_captured(&self) -> Vec<u8> {
            Vec::new()
        }
        fn release(&self, _rest: &[u8]) {}
        fn take_resumed(&self) -> bool {
            false
        }
        fn is_interrupted(&self) -> bool {
            false
        }
        fn interrupt(&self) {}
        fn answer(&self, _question: u64, _reply: Reply) {}
        fn reply_input(&self, call: u64, reply: InputReply) {
            self.0.lock().unwrap().push((call, reply));
        }
    }

    /// A prompt without a terminal, and what it replies.
    pub(in crate::display) fn prompt() -> (QuestionPrompt, Arc<Silent>) {
        let file = tempfile::tempfile().unwrap();
        let screen = Screen::onto(&file, &Environment::default(), ColorChoice::Never).unwrap();
        let keyboard = Arc::new(Silent::default());
        let shared: Arc<dyn Keyboard> = keyboard.clone();
        let prompt = QuestionPrompt::new(screen, Appearance::default(), Some(shared));
        (prompt, keyboard)
    }

    #[test]
    fn a_tool_that_asks_for_a_line_hears_of_its_end_when_its_turn_is_stopped() {
        let (mut prompt, keyboard) = prompt();
        prompt.input(7, "your name? ", false).unwrap();
        prompt.dismiss().unwrap();
        assert!(!prompt.is_open());
        let replies = keyboard.0.lock().unwrap();
        assert!(matches!(replies[..], [(7, InputReply::Eof)]), "{replies:?}");
    }
}
