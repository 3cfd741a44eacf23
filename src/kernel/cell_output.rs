//! The output of one request, or of what runs behind requests: printed text, displays, and an agent's answer in a
//! display that is updated.
//!
//! In: what events put out ([`Out`]). Out: messages under the header of the request.
//! Invariants: later output stands below earlier output; an answer is sent at the rate of [`Throttle`] and whole at
//! its end; printed text is sent at intervals ([`StreamBuffer`]) and before every other message; a silent request
//! publishes no output.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer;
use super::event_mapper::Out;
use super::messages;
use super::stream_buffer::StreamBuffer;
use crate::agent::PlanStep;
use crate::jupyter::{ClientRequest, KernelServer, unique_id};
use crate::output::MimeBundle;
use crate::runtime::{CommMessage, DisplayData, OutputStream};
use crate::session::{Answer, AnswerEvent};

/// Time between two states of an answer, since front-ends redraw the whole answer for each.
const ANSWER_INTERVAL: Duration = Duration::from_millis(80);

/// The rate of the states of an answer: in any second at most 15, including the last one, which does not wait.
#[derive(Debug, Default)]
struct Throttle {
    last_sent: Option<Instant>,
}

impl Throttle {
    /// When the next state may be sent.
    fn due(&self, now: Instant) -> Instant {
        self.last_sent.map_or(now, |sent| sent + ANSWER_INTERVAL)
    }

    fn sent(&mut self, now: Instant) {
        self.last_sent = Some(now);
    }
}

/// An answer and its display.
#[derive(Default)]
struct ShownAnswer {
    answer: Answer,
    /// The id of the display; `None`: there is none yet.
    display: Option<String>,
    /// The answer has content that was not sent.
    changed: bool,
}

impl ShownAnswer {
    fn apply(&mut self, event: AnswerEvent) {
        self.changed |= self.answer.apply(event);
    }
}

pub(super) struct CellOutput {
    server: KernelServer,
    /// `None`: nobody has asked for this output.
    request: Option<Arc<ClientRequest>>,
    silent: bool,
    /// The client appends output and cannot replace any: answers are printed as they arrive.
    is_console: bool,
    /// Publishing is stopped for now.
    muted: bool,
    printed: StreamBuffer,
    current: ShownAnswer,
    /// Answers that were ended by other output while commands or tools of them still run.
    earlier: Vec<ShownAnswer>,
    throttle: Throttle,
    answer_text: String,
    /// The id of the display of the cell's progress.
    progress: Option<String>,
    /// The plan of the turn: it has one display, wherever the answer goes on.
    plan: Option<(String, Vec<PlanStep>)>,
}

impl CellOutput {
    pub(super) fn new(
        server: KernelServer,
        request: Option<Arc<ClientRequest>>,
        silent: bool,
        is_console: bool,
    ) -> Self {
        CellOutput {
            server,
            request,
            silent,
            is_console,
            muted: false,
            printed: StreamBuffer::default(),
            current: ShownAnswer::default(),
            earlier: Vec::new(),
            throttle: Throttle::default(),
            answer_text: String::new(),
            progress: None,
            plan: None,
        }
    }

    /// Sends what an event puts out; requests to the user are left to the caller.
    pub(super) async fn put(&mut self, out: Out) {
        match out {
            Out::Bytes(stream, bytes) => {
                self.end_answer().await;
                self.write(stream, &bytes).await;
            }
            Out::Display(display) => self.display(&display).await,
            Out::Answer(event) => self.on_answer(event).await,
            Out::EndAnswer => self.end_answer().await,
            Out::EndPlan => self.end_plan().await,
            Out::Progress(text) => self.publish_progress(&text).await,
            Out::Comm(message) => self.publish_comm(message).await,
            Out::Flush => self.flush().await,
            Out::Message(kind, content) => self.publish(kind, content).await,
            Out::Error(content) => {
                self.end_answer().await;
                self.flush().await;
                let muted = std::mem::replace(&mut self.muted, false);
                self.publish("error", content).await;
                self.muted = muted;
            }
            Out::Mute(muted) => {
                self.flush().await;
                self.muted = muted;
            }
            Out::Ask(_) | Out::Withdraw(_) => {}
        }
    }

    /// Sends an `input_request` to the sender of the request; returns the id of the message.
    pub(super) async fn request_input(&self, prompt: &str, password: bool) -> Option<String> {
        let request = self.request.as_deref()?;
        Some(self.server.request_input(request, prompt, password).await)
    }

    /// From now on, output belongs to this request.
    pub(super) async fn set_request(&mut self, request: Option<Arc<ClientRequest>>) {
        if self.request.as_ref().map(Arc::as_ptr) != request.as_ref().map(Arc::as_ptr) {
            self.flush().await;
            self.request = request;
        }
    }

    /// Publishes a comm message of the interpreter, also for a silent request.
    async fn publish_comm(&mut self, message: CommMessage) {
        self.flush().await;
        let parent = self.request.as_deref().map(ClientRequest::header);
        let message = messages::comm_message(message, parent);
        self.server.publish_message(parent, message).await;
    }

    async fn publish(&self, kind: &str, content: Value) {
        if !self.silent && !self.muted {
            let parent = self.request.as_deref().map(ClientRequest::header);
            self.server.publish(parent, kind, content).await;
        }
    }

    /// When the next output is to be sent; `None`: there is none.
    pub(super) fn due(&self) -> Option<Instant> {
        let printed = self.printed.due(Instant::now());
        [self.answer_due(), printed].into_iter().flatten().min()
    }

    fn answer_due(&self) -> Option<Instant> {
        let at = self.throttle.due(Instant::now());
        let mut all = self.earlier.iter().chain([&self.current]);
        let changed = all.any(|shown| shown.changed);
        changed.then_some(at)
    }

    pub(super) async fn send_due(&mut self) {
        if self.printed.is_due(Instant::now()) {
            self.flush().await;
        }
        if self.answer_due().is_some_and(|due| due <= Instant::now()) {
            self.publish_answer().await;
        }
    }

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

    /// Prints a line of our own, below the answer.
    pub(super) async fn print(&mut self, stream: OutputStream, line: &str) {
        self.end_answer().await;
        self.write(stream, format!("{line}\n").as_bytes()).await;
    }

    async fn write(&mut self, stream: OutputStream, bytes: &[u8]) {
        self.printed.push(stream, bytes);
        if self.printed.is_full() {
            self.flush().await;
        }
    }

    /// Sends the current state of the answers that have changed.
    async fn publish_answer(&mut self) {
        for at in 0..=self.earlier.len() {
            let shown = self.earlier.get_mut(at).unwrap_or(&mut self.current);
            if !std::mem::take(&mut shown.changed) || self.is_console {
                continue;
            }
            let is_new = shown.display.is_none();
            let id = shown.display.get_or_insert_with(unique_id).clone();
            let forms = answer_forms(&shown.answer);
            self.throttle.sent(Instant::now());
            self.show(is_new, &id, forms).await;
        }
        self.earlier
            .retain(|earlier| earlier.answer.running().next().is_some());
    }

    /// Shows the progress of a cell in place of the progress before.
    async fn publish_progress(&mut self, text: &str) {
        self.flush().await;
        let is_new = self.progress.is_none();
        let id = self.progress.get_or_insert_with(unique_id).clone();
        self.show(is_new, &id, json!({ "text/plain": text })).await;
    }

    /// Publishes the content of the display of this id.
    async fn show(&self, is_new: bool, id: &str, data: Value) {
        let kind = match is_new {
            true => "display_data",
            false => "update_display_data",
        };
        let transient = json!({ "display_id": id });
        let content = json!({"data": data, "metadata": {}, "transient": transient});
        self.publish(kind, content).await;
    }

    /// Ends the answer so far: later output stands below it.
    async fn end_answer(&mut self) {
        self.publish_answer().await;
        let ended = std::mem::take(&mut self.current);
        let text = ended.answer.text();
        if ended.display.is_some() && ended.answer.running().next().is_some() {
            self.earlier.push(ended);
        }
        if !text.is_empty() && self.is_console {
            self.write(OutputStream::Stdout, b"\n").await;
        }
        if !text.is_empty() {
            self.answer_text.push_str(&text);
            self.answer_text.push('\n');
        }
    }

    async fn display(&mut self, display: &DisplayData) {
        self.end_answer().await;
        self.flush().await;
        let (kind, content) = messages::display_message(display);
        self.publish(kind, content).await;
    }

    async fn on_answer(&mut self, event: AnswerEvent) {
        self.flush_before_answer().await;
        match event {
            AnswerEvent::Picture(url) => self.picture(&url).await,
            AnswerEvent::Planned(steps) => self.on_plan(steps).await,
            event if self.is_console => self.print_answer(event).await,
            event => {
                let expects = |shown: &&mut ShownAnswer| shown.answer.expects(&event);
                let earlier = self.earlier.iter_mut().rev().find(expects);
                match earlier.filter(|_| !self.current.answer.expects(&event)) {
                    Some(earlier) => earlier.apply(event),
                    None => self.current.apply(event),
                }
            }
        }
    }

    async fn on_plan(&mut self, steps: Vec<PlanStep>) {
        let known = self.plan.take().map(|(id, _)| id);
        let (is_new, id) = (known.is_none(), known.unwrap_or_else(unique_id));
        if !self.is_console {
            if is_new {
                self.end_answer().await;
            }
            let forms = json!({
                "text/markdown": answer::plan_markdown(&steps),
                "text/plain": answer::plan_plain(&steps),
            });
            self.show(is_new, &id, forms).await;
        }
        self.plan = Some((id, steps));
    }

    /// Forgets the plan of a turn that is over; a console gets it as it stands.
    async fn end_plan(&mut self) {
        if let Some((_, steps)) = self.plan.take()
            && self.is_console
        {
            let plan = answer::plan_plain(&steps);
            self.print(OutputStream::Stderr, &plan).await;
        }
    }

    /// Shows a picture from its `data:` URL.
    async fn picture(&mut self, url: &str) {
        let Some((mime, data)) = url
            .strip_prefix("data:")
            .and_then(|url| url.split_once(";base64,"))
        else {
            return;
        };
        let bundle = MimeBundle::new(vec![
            (mime.to_owned(), data.into()),
            ("text/plain".to_owned(), format!("[{mime}]").into()),
        ]);
        self.display(&DisplayData::new(bundle)).await;
    }

    async fn flush_before_answer(&mut self) {
        if !self.is_console && self.current.answer.blocks().is_empty() {
            self.flush().await;
        }
    }

    /// Prints the answer for a console: its text as it arrives, a line for each command, tool and file.
    async fn print_answer(&mut self, event: AnswerEvent) {
        let line = match event {
            AnswerEvent::Text { message, delta } => {
                self.write(OutputStream::Stdout, delta.as_bytes()).await;
                self.current.apply(AnswerEvent::Text { message, delta });
                return;
            }
            AnswerEvent::ToolRan { line, .. } => line,
            AnswerEvent::Progress(line) => line,
            AnswerEvent::AgentStarts(Some(line)) => line,
            AnswerEvent::FileWritten(written) => format!("✎ {}", written.summary()),
            AnswerEvent::CommandRan {
                command, exit_code, ..
            } => match exit_code {
                Some(0) | None => format!("🔧 {command}"),
                Some(code) => format!("🔧 {command} (exit {code})"),
            },
            AnswerEvent::Worked(activity) => match activity.summary_line() {
                Some(line) => line,
                None => return,
            },
            _ => return,
        };
        self.print(OutputStream::Stderr, &line).await;
    }

    /// The text of the answers so far; `None` for a console, which has no cells to put code into.
    pub(super) fn answer_for_cells(&self) -> Option<&str> {
        (!self.is_console).then_some(&self.answer_text)
    }

    pub(super) fn has_answer(&self) -> bool {
        !self.answer_text.is_empty() || !self.current.answer.blocks().is_empty()
    }

    pub(super) async fn finish(&mut self) {
        self.end_answer().await;
        let printed = self.printed.end(Instant::now());
        self.stream(printed).await;
    }
}

fn answer_forms(answer: &Answer) -> Value {
    json!({"text/markdown": answer::markdown(answer), "text/plain": answer::plain(answer)})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_15_states_of_an_answer_are_sent_in_a_second() {
        let start = Instant::now();
        // Time between two pieces of the answer, in ms; the last piece ends it.
        for every in [1, 7, 40, 79, 80, 81, 200] {
            let mut throttle = Throttle::default();
            let mut sent: Vec<Instant> = Vec::new();
            let end = 5_000;
            let mut grown = 0;
            for at in 0..=end {
                let now = start + Duration::from_millis(at);
                grown += u64::from(at % every == 0);
                if (grown > 0 && throttle.due(now) <= now) || at == end {
                    throttle.sent(now);
                    sent.push(now);
                    grown = 0;
                }
            }
            for first in &sent {
                let within =
                    |it: &&Instant| (*first..*first + Duration::from_secs(1)).contains(*it);
                let count = sent.iter().filter(within).count();
                assert!(
                    count <= 15,
                    "{count} states in a second, pieces every {every} ms"
                );
            }
            let most = sent.windows(2).map(|pair| pair[1] - pair[0]).max();
            let wait = Duration::from_millis(every.max(80) + every);
            assert!(
                most.is_some_and(|most| most <= wait),
                "{most:?} between two, every {every} ms"
            );
        }
    }
}
