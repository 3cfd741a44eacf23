//! A word for each event: what the tests of the loop compare.

use super::*;

pub(in crate::session) fn words(run: &Run) -> Vec<String> {
    let mut words = Vec::new();
    loop {
        match run.next_blocking(Some(Duration::from_secs(60))) {
            Next::Ended => return words,
            Next::Nothing => panic!("nothing for 60 s after {words:?}"),
            Next::Event(event) if matches!(*event, SessionEvent::Cell(CellEvent::Started)) => {}
            Next::Event(event) => words.push(word(&event)),
        }
    }
}

/// What a front-end sees in an event.
pub(in crate::session) fn word(event: &SessionEvent) -> String {
    match event {
        SessionEvent::Begin(event) => begun(event),
        SessionEvent::Cell(event) => of_cell(event),
        SessionEvent::Answer(event) => of_answer(event),
        SessionEvent::Question(QuestionEvent::Asked(question)) => format!("? {}", question.id),
        SessionEvent::Question(QuestionEvent::Over(id)) => format!("over {id}"),
        SessionEvent::End(event) => ended(event),
        SessionEvent::Told(ToldEvent::Text(text) | ToldEvent::Verbatim(text)) => text.clone(),
        SessionEvent::Told(ToldEvent::Help(page)) => page.text(),
        SessionEvent::Told(ToldEvent::Earlier(earlier)) => {
            format!("earlier {}: {}", earlier.session, earlier.entries.len())
        }
        SessionEvent::Told(event) => format!("{event:?}"),
        SessionEvent::Notice(notice) => notice.message.clone(),
        SessionEvent::After(AfterEvent::Refill(text)) => format!("refill {text}"),
        SessionEvent::After(event) => format!("{event:?}"),
        SessionEvent::RuntimeDied { .. } => format!("{event:?}"),
    }
}

fn begun(event: &BeginEvent) -> String {
    match event {
        BeginEvent::Input { line, .. } => format!("[{line}]"),
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
        AnswerEvent::CellsStand(cells) => {
            let cells: Vec<&str> = cells.iter().map(|cell| cell.status.word()).collect();
            format!("cells {}", cells.join(", "))
        }
        AnswerEvent::Worked(activity) => match activity.ended() {
            Some(line) => line,
            None => format!("⌛ {}", activity.told()),
        },
        AnswerEvent::FilesChanged(files) => {
            let files = files
                .iter()
                .map(|file| format!("{} {}", file.change.word(), file.path));
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
