//! One prompt and its answer.
//!
//! With a JSON schema the answer is shown only when it fits; one that does not fit is requested a second time,
//! once.

use std::time::Duration;

use super::json::Json;
use super::plain::Plain;
use super::{BatchOptions, displayed, show_on, signals};
use crate::display::RunRenderer;
use crate::schema::{self, AnswerSchema};
use crate::screen::ScreenError;
use crate::session::{AnswerEvent, SessionEvent, SessionHandle, Submission};
use crate::text::report::Report;

/// Runs one prompt; its answer goes to standard output as JSON, or as in [`run`](super::run). An answer that does
/// not fit the schema is requested once more.
///
/// # Errors
/// Standard output is closed, or the second answer does not fit the schema either.
pub fn ask(
    session: &SessionHandle,
    prompt: Submission,
    schema: Option<&AnswerSchema>,
    as_json: bool,
    options: &BatchOptions,
) -> Result<i32, Report> {
    let ending = signals::listen(session.clone())?;
    let mut json = as_json.then(Json::default);
    let code = match schema {
        Some(schema) => ask_for_data(session, prompt, schema, json.as_mut(), options)?,
        None => answer(session, prompt, json.as_mut(), None, options)?,
    };
    ending.leave_it_to_the_signal();
    if let Some(json) = json {
        options
            .screen
            .write_trusted(format!("{}\n", json.into_value()).as_bytes())?;
    }
    options.screen.flush()?;
    Ok(code)
}

/// Requests an answer that fits, at most twice.
fn ask_for_data(
    session: &SessionHandle,
    mut prompt: Submission,
    schema: &AnswerSchema,
    mut json: Option<&mut Json>,
    options: &BatchOptions,
) -> Result<i32, Report> {
    let asked = prompt.text.trim_start_matches('.').to_owned();
    for last_time in [false, true] {
        let mut said = String::new();
        let code = answer(
            session,
            prompt.clone(),
            json.as_deref_mut(),
            Some(&mut said),
            options,
        )?;
        if code != 0 {
            return Ok(code);
        }
        match (schema.parse_answer(&said), &mut json) {
            (Ok(fitting), Some(json)) => return Ok(json.fits(&fitting)),
            (Ok(fitting), None) => {
                options.screen.write_untrusted(&format!("{fitting}\n"))?;
                return Ok(0);
            }
            (Err(problems), _) if !last_time => {
                prompt.text = format!(".{}", schema::retry_prompt(&problems, &asked));
                prompt.attached.clear();
            }
            (Err(problems), Some(json)) => {
                return Ok(json.fails(schema::mismatch_message(&problems, &said)));
            }
            (Err(problems), None) => {
                return Err(Report::failure(schema::mismatch_message(&problems, &said)));
            }
        }
    }
    Ok(1)
}

/// Runs one prompt; its last message goes to `said` where that is given, and is then not shown.
fn answer(
    session: &SessionHandle,
    prompt: Submission,
    json: Option<&mut Json>,
    said: Option<&mut String>,
    options: &BatchOptions,
) -> Result<i32, Report> {
    let run = session.submit(prompt);
    let (mut plain, mut display);
    let view: &mut dyn RunRenderer = match json {
        Some(json) => {
            json.begin();
            json
        }
        None if options.terminal => {
            display = displayed(options);
            &mut display
        }
        None => {
            plain = Plain::new(options.screen.clone());
            &mut plain
        }
    };
    let ended = match said {
        Some(said) => {
            let mut withheld = TextCapture::over(view);
            let ended = show_on(&mut withheld, session, &run, None, None, options)?;
            *said = withheld.last();
            ended
        }
        None => show_on(view, session, &run, None, None, options)?,
    };
    Ok(ended.code)
}

/// Captures the texts of an answer; other events are shown.
struct TextCapture<'a> {
    view: &'a mut dyn RunRenderer,
    /// Number and text of the last message.
    last: (u64, String),
}

impl<'a> TextCapture<'a> {
    fn over(view: &'a mut dyn RunRenderer) -> Self {
        TextCapture {
            view,
            last: (0, String::new()),
        }
    }

    fn last(self) -> String {
        self.last.1
    }
}

impl RunRenderer for TextCapture<'_> {
    fn on_event(&mut self, event: SessionEvent) -> Result<(), ScreenError> {
        match event {
            SessionEvent::Answer(AnswerEvent::Text { message, delta }) => {
                if self.last.0 != message {
                    self.last = (message, String::new());
                }
                self.last.1.push_str(&delta);
                Ok(())
            }
            SessionEvent::Answer(AnswerEvent::Restarted { message }) if message == self.last.0 => {
                self.last.1.clear();
                self.view.on_event(event)
            }
            event => self.view.on_event(event),
        }
    }

    fn is_live(&self) -> bool {
        self.view.is_live()
    }

    fn until_redraw(&self) -> Option<Duration> {
        self.view.until_redraw()
    }

    fn awaits_user(&self) -> bool {
        self.view.awaits_user()
    }

    fn is_full(&self) -> bool {
        self.view.is_full()
    }

    fn tick(&mut self) -> Result<(), ScreenError> {
        self.view.tick()
    }

    fn settle(&mut self) -> Result<(), ScreenError> {
        self.view.settle()
    }
}
