//! What one run has shown so far, on its way to the clients: printed text, displays, and the answer that grows.
//!
//! Invariants: what comes later stands below; an answer is sent at its [`Pace`] and whole at its end, what is printed
//! now and then (`printed`) and before everything else that is sent; what is silent sends nothing.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::Answer;
use super::forms;
use super::pace::Pace;
use super::printed::Printed;
use super::voice::Voice;
use crate::jupyter::{Request, fresh_name};
use crate::output::MimeBundle;
use crate::runtime::{CommMessage, Display, OutputStream};
use crate::session::AnswerEvent;

/// A part of an answer that has something unfinished in it.
struct Above {
    display: String,
    answer: Answer,
    grew: bool,
}

/// The output of one request.
pub(super) struct Sheet<'a> {
    voice: &'a Voice,
    request: Arc<Request>,
    silent: bool,
    /// The client prints what comes and takes nothing back: answers are text, as they come.
    prints: bool,
    /// Nothing is shown for now.
    quiet: bool,
    printed: Printed,
    answer: Answer,
    /// The display the answer stands in; `None`: in none yet.
    display: Option<String>,
    /// The answer has more to show.
    grew: bool,
    /// Parts of the answer above what came in between (a question, say): commands and tools in them go on still.
    above: Vec<Above>,
    pace: Pace,
    words: String,
    /// The display of the line that tells how far a cell is.
    status: Option<String>,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(voice: &'a Voice, request: Arc<Request>, silent: bool, prints: bool) -> Self {
        Sheet {
            voice,
            request,
            silent,
            prints,
            quiet: false,
            printed: Printed::default(),
            answer: Answer::default(),
            display: None,
            grew: false,
            above: Vec::new(),
            pace: Pace::default(),
            words: String::new(),
            status: None,
        }
    }

    /// What was to be run.
    pub(super) fn code(&self) -> &str {
        self.request.message.text("code")
    }

    /// Asks whoever sent the request for a line; the name of the question.
    pub(super) async fn ask(&self, prompt: &str, password: bool) -> String {
        self.voice.ask(&self.request, prompt, password).await
    }

    /// Sends a message of an object of the interpreter.
    pub(super) async fn say(&mut self, message: CommMessage) {
        self.flush().await;
        let parent = Some(self.request.header());
        let message = forms::comm(message, parent);
        self.voice.publish_whole(parent, message).await;
    }

    pub(super) async fn publish(&self, kind: &str, content: Value) {
        if !self.silent && !self.quiet {
            let parent = Some(self.request.header());
            self.voice.publish(parent, kind, content).await;
        }
    }

    /// Nothing is shown from now on, or everything again; what it was before.
    pub(super) async fn set_quiet(&mut self, quiet: bool) -> bool {
        self.flush().await;
        std::mem::replace(&mut self.quiet, quiet)
    }

    /// When there is something to send; `None`: there is nothing.
    pub(super) fn due(&self) -> Option<Instant> {
        let printed = self.printed.due(Instant::now());
        [self.answer_due(), printed].into_iter().flatten().min()
    }

    /// When the answer may be sent again.
    fn answer_due(&self) -> Option<Instant> {
        let at = self.pace.due(Instant::now());
        let grew = self.grew || self.above.iter().any(|above| above.grew);
        grew.then_some(at)
    }

    /// Sends what is due.
    pub(super) async fn send_due(&mut self) {
        if self.printed.is_due(Instant::now()) {
            self.flush().await;
        }
        if self.answer_due().is_some_and(|due| due <= Instant::now()) {
            self.show_answer().await;
        }
    }

    /// Sends what was printed.
    pub(super) async fn flush(&mut self) {
        let printed = self.printed.take(Instant::now());
        self.stream(printed).await;
    }

    async fn stream(&self, printed: Vec<(&'static str, String)>) {
        for (name, text) in printed {
            self.publish("stream", json!({"name": name, "text": text}))
                .await;
        }
    }

    /// Prints a line of our own.
    pub(super) async fn print(&mut self, stream: OutputStream, text: &str) {
        self.settle().await;
        self.push(stream, text.as_bytes()).await;
    }

    pub(super) async fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        self.printed.push(stream, bytes);
        if self.printed.is_enough() {
            self.flush().await;
        }
    }

    /// Sends the answer as it is now.
    pub(super) async fn show_answer(&mut self) {
        for above in self.above.iter().filter(|above| above.grew) {
            self.pace.sent(Instant::now());
            let content = shown(&above.answer, &above.display);
            self.publish("update_display_data", content).await;
        }
        self.above.retain(|above| above.answer.goes_on());
        self.above.iter_mut().for_each(|above| above.grew = false);
        if !std::mem::take(&mut self.grew) || self.prints {
            return;
        }
        self.pace.sent(Instant::now());
        let kind = match self.display {
            Some(_) => "update_display_data",
            None => "display_data",
        };
        let id = self.display.get_or_insert_with(fresh_name);
        let content = shown(&self.answer, id);
        self.publish(kind, content).await;
    }

    /// Tells how far a cell is, in place of what was told before.
    pub(super) async fn show_status(&mut self, text: &str) {
        self.flush().await;
        let kind = match self.status {
            Some(_) => "update_display_data",
            None => "display_data",
        };
        let id = self.status.get_or_insert_with(fresh_name).clone();
        let content = json!({
            "data": {"text/plain": text},
            "metadata": {},
            "transient": {"display_id": id},
        });
        self.publish(kind, content).await;
    }

    /// The answer so far is whole: what comes next stands below it.
    pub(super) async fn settle(&mut self) {
        self.show_answer().await;
        let answer = std::mem::take(&mut self.answer);
        let words = answer.words();
        if let Some(display) = self.display.take()
            && answer.goes_on()
        {
            self.above.push(Above {
                display,
                answer,
                grew: false,
            });
        }
        if !words.is_empty() && self.prints {
            self.push(OutputStream::Stdout, b"\n").await;
        }
        if !words.is_empty() {
            self.words.push_str(&words);
            self.words.push('\n');
        }
    }

    pub(super) async fn show(&mut self, display: &Display) {
        self.settle().await;
        self.flush().await;
        let (kind, content) = forms::display(display);
        self.publish(kind, content).await;
    }

    pub(super) async fn show_markdown(&mut self, markdown: String, plain: String) {
        let bundle = MimeBundle::new(vec![
            ("text/markdown".into(), markdown.into()),
            ("text/plain".into(), plain.into()),
        ]);
        self.show(&Display::of(bundle)).await;
    }

    pub(super) async fn answered(&mut self, event: AnswerEvent) {
        self.flush_before_answer().await;
        match event {
            AnswerEvent::Picture(url) => {
                if let Some(bundle) = picture(&url) {
                    self.show(&Display::of(bundle)).await;
                }
            }
            event if self.prints => self.print_answer(event).await,
            event => {
                let waits = |above: &&mut Above| above.answer.awaits(&event);
                match self.above.iter_mut().rev().find(waits) {
                    Some(above) if !self.answer.awaits(&event) => {
                        above.grew |= above.answer.on(event);
                    }
                    _ => self.grew |= self.answer.on(event),
                }
            }
        }
    }

    async fn flush_before_answer(&mut self) {
        if !self.prints && self.answer.is_empty() {
            self.flush().await;
        }
    }

    /// The answer for a client that prints: its words as they come, a line for each thing that was done.
    async fn print_answer(&mut self, event: AnswerEvent) {
        let line = match event {
            AnswerEvent::Text { message, delta } => {
                self.push(OutputStream::Stdout, delta.as_bytes()).await;
                self.answer.on(AnswerEvent::Text { message, delta });
                self.grew = true;
                return;
            }
            AnswerEvent::ToolRan { line, .. } => line,
            AnswerEvent::Progress(line) => line,
            AnswerEvent::AgentStarts(Some(waits)) => waits,
            AnswerEvent::FileWritten(written) => format!("✎ {}", written.told()),
            AnswerEvent::CommandRan {
                command, exit_code, ..
            } => match exit_code {
                Some(0) | None => format!("🔧 {command}"),
                Some(code) => format!("🔧 {command} (exit {code})"),
            },
            AnswerEvent::Worked(activity) => match activity.ended() {
                Some(line) => line,
                None => return,
            },
            _ => return,
        };
        self.print(OutputStream::Stderr, &format!("{line}\n")).await;
    }

    /// The client has cells, and room for one more.
    pub(super) fn has_cells(&self) -> bool {
        !self.prints
    }

    /// The answers' own words so far.
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    /// There is nothing of an answer yet.
    pub(super) fn has_no_answer(&self) -> bool {
        self.words.is_empty() && self.answer.is_empty()
    }

    /// Everything is sent that was shown.
    pub(super) async fn finish(&mut self) {
        self.settle().await;
        let printed = self.printed.end(Instant::now());
        self.stream(printed).await;
    }
}

/// Content of the message that shows an answer.
fn shown(answer: &Answer, display: &str) -> Value {
    json!({
        "data": {"text/markdown": answer.markdown(), "text/plain": answer.plain()},
        "metadata": {},
        "transient": {"display_id": display},
    })
}

/// A picture as a `data:` URL.
pub(super) fn picture(url: &str) -> Option<MimeBundle> {
    let (mime, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(MimeBundle::new(vec![
        (mime.to_owned(), data.into()),
        ("text/plain".to_owned(), format!("[{mime}]").into()),
    ]))
}
