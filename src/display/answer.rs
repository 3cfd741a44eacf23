//! Rendering of an answer: streamed markdown, reasoning as a quote, commands live and then as one line.
//!
//! In: answer events and ticks (`follow.rs`). Out: finished lines, printed once, and a tail that is redrawn (an
//! unfinished block, a running command, the wait for the first word). On a terminal that cannot move its cursor only
//! final lines are printed.

use std::time::{Duration, Instant};

use nu_ansi_term::{Color, Style};

use super::diff;
use super::elapsed;
use super::last_line::last_line;
use super::picture::{PictureOutput, PictureSource, Pictures};
use super::progress;
use super::question_prompt::Typeahead;
use super::rows::{Rows, print};
use crate::agent::{Activity, FileChange, FileWritten, PlanStep, Usage, WorkStatus};
use crate::dialog::{command_line, denied_line};
use crate::markdown::{Appearance, MarkdownFrame, MarkdownStream};
use crate::output::filter::{Filter, Policy};
use crate::screen::live::LiveRegion;
use crate::screen::{Screen, ScreenError};
use crate::session::{Answer, AnswerEvent, TurnOutcome};
use crate::text::columns as columns_of;
use crate::text::escape::visible;
use crate::text::{Line, counted, cut, indented};

/// Lines of a changed file that are shown without folding.
const DIFF_LINES: usize = 20;

/// Shorter waits show nothing.
const SHOW_WAIT_AFTER: Duration = Duration::from_millis(400);

/// Longer waits show the time.
const SHOW_TIME_AFTER: Duration = Duration::from_secs(2);

const HANGING_INDENT: usize = 3;

const QUEUED: usize = 3;

#[derive(PartialEq, Eq, Clone, Copy)]
enum StreamKind {
    Text(u64),
    Thought(u64),
}

/// Renders one answer while it is streamed.
pub(super) struct AnswerView {
    screen: Screen,
    appearance: Appearance,
    pictures: Pictures,
    live: LiveRegion,
    stream: Option<(StreamKind, MarkdownStream)>,
    /// The answer so far, for what is redrawn.
    answer: Answer,
    /// The plan is among the final lines.
    plan_printed: bool,
    /// Filter of a tool's output, from its first byte to the next other output.
    tool_output: Option<Filter>,
    /// Full text of the last output that was shown folded.
    folded: Option<String>,
    /// Number of Python blocks shown so far; `None` shows no numbers.
    blocks: Option<usize>,
    started: Instant,
    /// True once something was printed: a blank line precedes the next block.
    printed: bool,
    ahead: Typeahead,
    /// The user has sent more input, and the agent has not begun to answer it.
    steered: bool,
    dirty: bool,
}

impl AnswerView {
    pub(super) fn new(screen: Screen, appearance: Appearance, pictures: Pictures) -> Self {
        let live = LiveRegion::new(screen.colour());
        AnswerView {
            blocks: (screen.is_rich() && screen.colour()).then_some(0),
            screen,
            appearance,
            pictures,
            live,
            stream: None,
            answer: Answer::default(),
            plan_printed: false,
            tool_output: None,
            folded: None,
            started: Instant::now(),
            printed: false,
            ahead: Typeahead::default(),
            steered: false,
            dirty: false,
        }
    }

    /// Starts the live region anew after other programs wrote to the terminal.
    pub(super) fn on_resume(&mut self) {
        self.live = LiveRegion::new(self.screen.colour());
        self.dirty = true;
    }

    pub(super) fn on_event(&mut self, event: AnswerEvent) -> Result<(), ScreenError> {
        self.dirty = true;
        self.print(&event)?;
        self.answer.apply(event);
        Ok(())
    }

    /// Prints what is final of an event, before it changes the answer.
    fn print(&mut self, event: &AnswerEvent) -> Result<(), ScreenError> {
        match event {
            AnswerEvent::Text { message, delta } => self.stream(StreamKind::Text(*message), delta),
            AnswerEvent::Thought { part, delta } => self.stream(StreamKind::Thought(*part), delta),
            AnswerEvent::Restarted { message } => {
                if let Some((kind, stream)) = &mut self.stream
                    && *kind == StreamKind::Text(*message)
                {
                    stream.restart();
                }
                // An agent that takes more input cuts what it was saying.
                if std::mem::take(&mut self.steered) {
                    return Ok(());
                }
                self.line(
                    "↻ the connection was lost; the answer starts again",
                    Style::new().dimmed(),
                )
            }
            // A live row, or a line on a terminal that cannot redraw.
            AnswerEvent::AgentStarts(Some(line)) if !self.screen.is_rich() => {
                self.line(&format!("{line}; Ctrl-C stops"), Style::new().dimmed())
            }
            AnswerEvent::AgentStarts(_)
            | AnswerEvent::CommandOutput { .. }
            | AnswerEvent::CellsProgress(_) => Ok(()),
            AnswerEvent::CommandStarted { .. } | AnswerEvent::ToolStarted { .. } => self.settle(),
            AnswerEvent::CommandRan {
                command,
                exit_code,
                output,
                ..
            } => self.tool_line(&command_line(command, *exit_code, output)),
            AnswerEvent::Denied { what, .. } => {
                let line = what.as_ref().map(|what| denied_line(what, ""));
                line.map_or(Ok(()), |line| self.line(&line, Color::Red.normal()))
            }
            AnswerEvent::ToolRan { line, success } => {
                self.tool_line(line)?;
                let cells = self.answer.cells();
                let cells = (!success).then(|| progress::failed_cells(cells)).flatten();
                cells.map_or(Ok(()), |cells| self.line(&cells, Style::new()))
            }
            AnswerEvent::Picture(url) => {
                self.settle()?;
                match self.pictures.resolve(url) {
                    Some(picture) => self.picture(&picture),
                    None => Ok(()),
                }
            }
            AnswerEvent::Planned(steps) => self.on_plan(steps),
            AnswerEvent::Worked(activity) => self.on_activity(activity),
            AnswerEvent::FilesChanged(changes) => self.on_files_changed(changes),
            AnswerEvent::FileWritten(written) => self.on_file_written(written),
            AnswerEvent::Steered { text, taken: true } => {
                self.steered = true;
                self.line(&format!("» {text}"), Style::new().bold())
            }
            AnswerEvent::Steered { text, .. } => {
                let line = format!(
                    "» {text}: not taken in the middle of this answer, so it comes after it"
                );
                self.line(&line, Style::new().dimmed())
            }
            AnswerEvent::Progress(message) => self.line(message, Style::new().dimmed()),
        }
    }

    /// Redraws the tail when something changed or the wait has to be shown.
    pub(super) fn tick(&mut self, ahead: Typeahead) -> Result<(), ScreenError> {
        self.dirty |= self.ahead != ahead;
        self.ahead = ahead;
        // No drawing after a line that a tool has not ended.
        if self
            .tool_output
            .as_ref()
            .is_some_and(|filter| !filter.at_line_start())
        {
            return Ok(());
        }
        let waiting =
            !self.printed && self.stream.is_none() && self.started.elapsed() > SHOW_WAIT_AFTER;
        if self.dirty || waiting || self.answer.running().next().is_some() {
            self.dirty = false;
            self.draw()?;
        }
        Ok(())
    }

    /// Makes the tail final and puts the cursor at the start of a line, before other output.
    pub(super) fn settle(&mut self) -> Result<(), ScreenError> {
        if let Some(mut filter) = self.tool_output.take() {
            self.screen.end_cell(&mut filter, true)?;
        }
        self.settle_tail()
    }

    /// Settles, and prints a blank line after earlier output.
    pub(super) fn start_block(&mut self) -> Result<(), ScreenError> {
        self.settle()?;
        self.separate()?;
        self.printed = true;
        Ok(())
    }

    /// Returns the full text of output that was folded since the last call.
    pub(super) fn take_folded(&mut self) -> Option<String> {
        self.folded.take()
    }

    fn settle_tail(&mut self) -> Result<(), ScreenError> {
        if let Some((_, mut stream)) = self.stream.take() {
            stream.finish();
            let size = self.screen.size();
            let frame = stream.frame(usize::from(size.columns), usize::MAX);
            self.blocks = stream.count().or(self.blocks);
            self.printed |= !frame.settled.is_empty();
            self.lines_and_pictures(&frame, &[])?;
        } else {
            let bytes = self.live.clear();
            self.screen.write_trusted(&bytes)?;
        }
        self.screen.flush()
    }

    /// Prints the last lines: the outcome and the cost of the turn.
    pub(super) fn on_end(
        &mut self,
        outcome: &TurnOutcome,
        usage: Option<Usage>,
        took: Duration,
    ) -> Result<(), ScreenError> {
        self.settle()?;
        let plan = self.answer.plan().to_vec();
        self.print_plan(&plan)?;
        match outcome {
            TurnOutcome::Complete => self.line(&last_line(usage, took), Style::new().dimmed()),
            TurnOutcome::Interrupted => self.line("stopped", Style::new()),
            TurnOutcome::Failed(failure) => {
                self.line(&format!("error: {}", failure.message), Color::Red.normal())?;
                failure
                    .hints
                    .iter()
                    .try_for_each(|hint| self.line(&format!("  hint: {hint}"), Style::new()))
            }
        }
    }

    fn stream(&mut self, kind: StreamKind, delta: &str) -> Result<(), ScreenError> {
        if self
            .stream
            .as_ref()
            .is_none_or(|(current, _)| *current != kind)
        {
            self.settle()?;
            self.separate()?;
            let stream = match kind {
                StreamKind::Text(_) => MarkdownStream::numbered(self.appearance, self.blocks),
                StreamKind::Thought(_) => MarkdownStream::quoted(self.appearance),
            };
            self.stream = Some((kind, stream));
        }
        if let Some((_, stream)) = &mut self.stream {
            stream.push(delta);
        }
        Ok(())
    }

    /// Prints a blank line after earlier output.
    fn separate(&mut self) -> Result<(), ScreenError> {
        match self.printed {
            true => self.screen.write_trusted(b"\n"),
            false => Ok(()),
        }
    }

    fn draw(&mut self) -> Result<(), ScreenError> {
        let size = self.screen.size();
        let rich = self.screen.is_rich();
        let columns = usize::from(size.columns);
        let ahead = self.ahead_rows(columns);
        let rows = if rich {
            usize::from(size.rows)
                .saturating_sub(2 + ahead.len())
                .max(1)
        } else {
            0
        };
        let mut frame = MarkdownFrame::default();
        let mut live = Vec::new();
        let plan = self.answer.plan();
        let plan = match progress::is_open(plan) && !self.plan_printed {
            true => progress::plan_rows(plan, columns),
            false => Vec::new(),
        };
        let rows_beside = rows.saturating_sub(plan.len()).max(1);
        if let Some((_, stream)) = &mut self.stream {
            frame = stream.frame(usize::from(size.columns), rows_beside);
            live = std::mem::take(&mut frame.live);
        }
        live.extend(plan);
        live.extend(progress::rows(&self.answer, columns, rows));
        if live.is_empty() && self.stream.is_none() && !self.printed {
            let waited = self.started.elapsed();
            let wait = match self.answer.agent_starts() {
                Some(starting) => format!(
                    "⏳ {} · Ctrl-C stops · {}",
                    elapsed::time(waited),
                    visible(starting)
                ),
                None if waited < SHOW_TIME_AFTER => {
                    "… waiting for the answer (Ctrl-C stops)".to_owned()
                }
                None => format!("⏳ {} · Ctrl-C stops", elapsed::time(waited)),
            };
            let mut row = Rows::new(columns);
            row.text(0, &cut(&wait, columns), Style::new().dimmed());
            live.extend(row.into_rows());
        }
        self.printed |= !frame.settled.is_empty();
        live.truncate(rows);
        if rich {
            live.extend(ahead);
        }
        self.lines_and_pictures(&frame, &live)?;
        self.screen.flush()
    }

    /// Rows of the typeahead, shown below the answer until the editor takes it.
    fn ahead_rows(&self, columns: usize) -> Vec<Line> {
        let mut rows = Rows::new(columns);
        let dim = Style::new().dimmed();
        for row in elapsed::queued_rows(&self.ahead, QUEUED, columns) {
            rows.text(0, &cut(&row, columns), dim);
        }
        if let Some(typed) = self.ahead.typed.lines().last() {
            let typed = visible(typed);
            let room = columns.saturating_sub(3);
            let start = typed.chars().count().saturating_sub(room / 2);
            let shown: String = match columns_of(&typed) > room {
                true => typed.chars().skip(start).collect(),
                false => typed.into_owned(),
            };
            rows.text(0, &format!("› {shown}"), dim);
        }
        rows.into_rows()
    }

    /// Prints settled lines, each picture below the block that names it, and draws `live` below.
    fn lines_and_pictures(
        &mut self,
        frame: &MarkdownFrame,
        live: &[Line],
    ) -> Result<(), ScreenError> {
        let mut printed = 0;
        if self.pictures.are_drawn(&self.screen) {
            for (below, target) in &frame.pictures {
                let Some(picture) = self.pictures.resolve(target) else {
                    continue;
                };
                let lines = &frame.settled[printed..*below];
                printed = *below;
                let bytes = self.live.draw(lines, &[], self.screen.size());
                self.screen.write_trusted(&bytes)?;
                self.picture(&picture)?;
            }
        }
        let bytes = self
            .live
            .draw(&frame.settled[printed..], live, self.screen.size());
        self.screen.write_trusted(&bytes)
    }

    /// Draws a picture at the start of a line; one that is not drawn is named by the text already.
    fn picture(&mut self, picture: &PictureSource) -> Result<(), ScreenError> {
        if !self.pictures.are_drawn(&self.screen) {
            return Ok(());
        }
        self.printed = true;
        match self.pictures.draw(picture, &self.screen) {
            PictureOutput::Drawn(drawn) => self.screen.write_trusted(&drawn.bytes),
            PictureOutput::Text(line) => {
                self.screen.write_trusted(line.as_bytes())?;
                self.screen.write_trusted(b"\n")
            }
        }
    }

    fn tool_line(&mut self, text: &str) -> Result<(), ScreenError> {
        self.line(&format!("🔧 {text}"), Style::new())
    }

    /// Shows the plan: a live block while it is open, final lines when it is done. On a terminal that cannot redraw,
    /// lines at each change.
    fn on_plan(&mut self, steps: &[PlanStep]) -> Result<(), ScreenError> {
        if steps == self.answer.plan() {
            return Ok(());
        }
        self.plan_printed = false;
        match self.screen.is_rich() && progress::is_open(steps) {
            true => Ok(()),
            false => self.print_plan(steps),
        }
    }

    fn print_plan(&mut self, steps: &[PlanStep]) -> Result<(), ScreenError> {
        if std::mem::replace(&mut self.plan_printed, true) {
            return Ok(());
        }
        let mut lines = steps.iter().map(progress::step_line);
        lines.try_for_each(|(line, style)| self.line(&line, style))
    }

    fn on_activity(&mut self, activity: &Activity) -> Result<(), ScreenError> {
        self.settle()?;
        let style = match activity.status {
            WorkStatus::Failed => Color::Red.normal(),
            _ => Style::new().dimmed(),
        };
        match activity.summary_line() {
            Some(line) if !activity.denied => self.line(&line, style),
            _ => Ok(()),
        }
    }

    /// Prints one final line of untrusted text; rows after the first are indented.
    fn line(&mut self, text: &str, style: Style) -> Result<(), ScreenError> {
        self.settle()?;
        let width = usize::from(self.screen.size().columns);
        let rows = indented(&visible(text), width, HANGING_INDENT);
        let line = match self.screen.colour() && style != Style::new() {
            true => style.paint(rows).to_string(),
            false => rows,
        };
        self.screen.write_trusted(line.as_bytes())?;
        self.screen.write_trusted(b"\n")?;
        self.printed = true;
        self.screen.flush()
    }

    pub(super) fn output(&mut self, bytes: &[u8]) -> Result<(), ScreenError> {
        self.settle_tail()?;
        let filter = self
            .tool_output
            .get_or_insert_with(|| Filter::new(Policy::Cell));
        self.screen.write_cell(filter, bytes)?;
        self.printed = true;
        self.dirty = true;
        self.screen.flush()
    }
}

impl AnswerView {
    /// Prints changed files with their diffs, long ones folded.
    fn on_files_changed(&mut self, changes: &[FileChange]) -> Result<(), ScreenError> {
        self.settle()?;
        let width = usize::from(self.screen.size().columns);
        let mut whole = Rows::new(width);
        let mut shortened = false;
        for change in changes {
            let head = format!("✎ {}", visible(&diff::head(change)));
            let mut rows = Rows::new(width);
            for rows in [&mut rows, &mut whole] {
                rows.text(0, &head, Style::new());
            }
            diff::body(change, usize::MAX, &self.appearance, &mut whole);
            let left_out = diff::body(change, DIFF_LINES, &self.appearance, &mut rows);
            if left_out > 0 {
                shortened = true;
                let more = counted(left_out, "more line") + " (Ctrl-O at the prompt shows all)";
                rows.text(0, &format!("  … {more}"), Style::new().dimmed());
            }
            print(&self.screen, &rows.into_rows())?;
        }
        self.printed = true;
        if shortened {
            let colour = self.screen.colour();
            let lines: Vec<String> = whole
                .into_rows()
                .iter()
                .map(|line| line.to_ansi(colour))
                .collect();
            self.folded = Some(lines.join("\n"));
        }
        self.screen.flush()
    }

    fn on_file_written(&mut self, written: &FileWritten) -> Result<(), ScreenError> {
        self.settle()?;
        let mut rows = Rows::new(usize::from(self.screen.size().columns));
        rows.text(
            0,
            &format!("✎ {}", visible(&written.summary())),
            Style::new(),
        );
        diff::body(&written.change, usize::MAX, &self.appearance, &mut rows);
        let rows = rows.into_rows();
        let more = match rows.len() > 1 {
            true => "  (Ctrl-O at the prompt shows it)",
            false => "",
        };
        self.line(&format!("✎ {}{more}", written.summary()), Style::new())?;
        if rows.len() > 1 {
            let colour = self.screen.colour();
            let lines: Vec<String> = rows.iter().map(|line| line.to_ansi(colour)).collect();
            // Several of them are unfolded together.
            let folded = self.folded.get_or_insert_default();
            if !folded.is_empty() {
                folded.push('\n');
            }
            folded.push_str(&lines.join("\n"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;
    use crate::agent::WorkStatus::{Done, Running};
    use crate::config::Images;
    use crate::environment::Environment;
    use crate::screen::ColorChoice;

    #[test]
    fn a_plan_that_is_told_again_unchanged_is_printed_once() {
        let environment = Environment::default();
        let mut file = tempfile::tempfile().unwrap();
        let screen = Screen::onto(&file, &environment, ColorChoice::Never).unwrap();
        let pictures = Pictures::new(&environment, Images::Off);
        let mut view = AnswerView::new(screen, Appearance::default(), pictures);
        for status in [Running, Running, Done, Done] {
            let step = PlanStep {
                text: "look".into(),
                status,
            };
            view.on_event(AnswerEvent::Planned(vec![step])).unwrap();
        }
        view.settle().unwrap();
        let mut printed = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut printed).unwrap();
        assert_eq!(printed.matches("look").count(), 2, "{printed}");
    }
}
