//! A word for each event: what the tests of the loop compare.

use super::*;

pub(crate) fn words(run: &Run) -> Vec<String> {
    let mut words = Vec::new();
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            NextEvent::Ended => return words,
            NextEvent::Nothing => panic!("nothing for 60 s after {words:?}"),
            NextEvent::Event(event) if matches!(*event, SessionEvent::Cell(CellEvent::Started)) => {
            }
            NextEvent::Event(event) => words.push(word(&event)),
        }
    }
}

/// What a front-end sees in an event.
pub(crate) fn word(event: &SessionEvent) -> String {
    match event {
        SessionEvent::Begin(event) => begun(event),
        SessionEvent::Cell(event) => of_cell(event),
        SessionEvent::Answer(event) => of_answer(event),
        SessionEvent::Question(QuestionEvent::Asked(question)) => format!("? {}", question.id),
        SessionEvent::Question(QuestionEvent::Over(id)) => format!("over {id}"),
        SessionEvent::End(event) => ended(event),
        SessionEvent::Text(TextEvent::Text(text) | TextEvent::Verbatim(text)) => text.clone(),
        SessionEvent::Text(TextEvent::Help(page)) => page.text(),
        SessionEvent::Text(TextEvent::Earlier(earlier)) => {
            format!("earlier {}: {}", earlier.session, earlier.entries.len())
        }
        SessionEvent::Text(event) => format!("{event:?}"),
        SessionEvent::Notice(notice) => notice.message.clone(),
        SessionEvent::After(AfterEvent::Refill(text)) => format!("refill {text}"),
        SessionEvent::After(event) => format!("{event:?}"),
        SessionEvent::RuntimeDied { .. } => format!("{event:?}"),
    }
}

fn begun(event: &BeginEvent) -> String {
    match event {
        BeginEvent::Input { line, .. } => format!("[{line}]"),
        BeginEvent::Wait => "waits".to_owned(),
        BeginEvent::AgentCell {
            line,
            title,
            source,
        } => format!("({line}) {title}|{source}"),
        BeginEvent::Asked { line, prompt } => format!("[{line}] asks {prompt}"),
        BeginEvent::Step {
            step,
            of,
            line,
            source,
            ..
        } => format!("({step}/{of}) [{line}] {source}"),
    }
}

fn of_cell(event: &CellEvent) -> String {
    match event {
        CellEvent::Output { bytes, .. } => String::from_utf8_lossy(bytes).trim_end().to_owned(),
        CellEvent::Display(display) => {
            format!("= {}", display.bundle.for_model())
        }
        CellEvent::Late { line, event } => format!("late {line} {}", of_cell(event)),
        CellEvent::Ended { ending, .. } => format!("{ending:?}"),
        CellEvent::Raised(error) => error.summary(),
        other => format!("{other:?}"),
    }
}

fn of_answer(event: &AnswerEvent) -> String {
    match event {
        AnswerEvent::Text { delta, .. } => format!("> {delta}"),
        AnswerEvent::ToolRan { line, .. } => line.clone(),
        AnswerEvent::CommandStarted { command, .. } => {
            format!("⌛ {command}")
        }
        AnswerEvent::CommandRan {
            command, output, ..
        } => format!("🔧 {command} => {output}"),
        AnswerEvent::ToolStarted { call } => format!("{call}…"),
        AnswerEvent::Planned(steps) => {
            let steps: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
            format!("plan {}", steps.join(", "))
        }
        AnswerEvent::CellsProgress(cells) => {
            let cells: Vec<&str> = cells.iter().map(|cell| cell.status.as_str()).collect();
            format!("cells {}", cells.join(", "))
        }
        AnswerEvent::Worked(activity) => match activity.summary_line() {
            Some(line) => line,
            None => format!("⌛ {}", activity.title_with_locations()),
        },
        AnswerEvent::FilesChanged(files) => {
            let files = files
                .iter()
                .map(|file| format!("{} {}", file.change.as_str(), file.path));
            files.collect::<Vec<_>>().join(", ")
        }
        other => format!("{other:?}"),
    }
}

fn ended(event: &EndEvent) -> String {
    match event {
        EndEvent::Turn { outcome, .. } => match outcome {
            TurnOutcome::Failed(failure) => format!("Failed {}", failure.message),
            other => format!("{other:?}"),
        },
        EndEvent::Replay(replayed) => replayed.notice().message,
        other => format!("{other:?}"),
    }
}
