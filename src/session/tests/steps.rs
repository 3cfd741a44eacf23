//! Steps of the state as tables: an event in, its effects out. Nothing is carried out here.

use super::*;
use crate::effect::{CodeStarter, Effect, Found, RecordWrite};
use crate::external_calls::ExternalCall;
use crate::handle::SessionHandle;
use crate::ids::ToolCaller;
use crate::record::SessionStart;
use crate::run::{RunSender, stream};
use crate::runtimes::RuntimeRole;
use crate::session::Session;

/// A session that is not run, its record open.
struct Steps {
    session: Session,
    out: RunSender,
    _streams: [Run; 2],
}

impl Steps {
    fn new() -> Self {
        let (commands, _) = tokio::sync::mpsc::unbounded_channel();
        let (background, behind) = stream();
        let (out, run) = stream();
        let (_, shared) = SessionHandle::new(commands.clone(), "Python".into());
        let parts = parts_of(usual(), scripted::Script::new(Vec::new()));
        let (session, _) = Session::new(parts, commands, background, shared);
        let mut steps = Steps {
            session,
            out,
            _streams: [behind, run],
        };
        let start = SessionStart {
            number: 1,
            next_line: 1,
            resumed: false,
            recorded: true,
        };
        let started = Event::Started(Ok(start), Default::default());
        assert_eq!(steps.step(started), ["record opened", "advance"]);
        steps
    }

    fn step(&mut self, event: Event) -> Vec<String> {
        let effects = route::step(&mut self.session.state, event, &self.session.io.context());
        effects.iter().map(effect_word).collect()
    }

    fn input(&mut self, text: &str) -> Vec<String> {
        let submission = Submission {
            text: text.into(),
            ..Submission::default()
        };
        self.step(Event::Input(submission, self.out.clone()))
    }

    fn job(&self) -> ids::JobId {
        self.session.state.scheduler.ticket().unwrap()
    }

    /// Begins this cell, up to the moment in which the runtime has it as request 1.
    fn run_cell(&mut self, text: &str) {
        self.input(text);
        self.step(Event::Advance);
        let start = effect::CellStart {
            role: RuntimeRole::User,
            execute: crate::runtime::Execute::numbered(text.into(), 1),
            origin: crate::cell::CellOrigin::User(1),
            stops: true,
            behind: false,
        };
        let job = self.job();
        self.step(Event::WaitOver(job, Vec::new()));
        let found = Found::Cell(Box::new(start));
        let executes = self.step(Event::Found(found, effect::To::Run(self.out.clone())));
        assert_eq!(executes, ["execute User"]);
        let starter = CodeStarter::Job(self.job());
        assert!(
            self.step(Event::Submitted(starter, RequestId(1)))
                .is_empty()
        );
    }

    fn runtime(&mut self, event: RuntimeEvent) -> Vec<String> {
        self.step(Event::Runtime(RuntimeRole::User, event))
    }
}

fn effect_word(effect: &Effect) -> String {
    match effect {
        Effect::Emit(_, event) => word(event),
        Effect::Record(RecordWrite::Input { line, .. }) => format!("record input {line}"),
        Effect::Record(RecordWrite::Output(output)) => format!("record output {}", output.line),
        Effect::Record(RecordWrite::Decision(_)) => "record decision".into(),
        Effect::Record(_) => "record".into(),
        Effect::RecordOpened(_) => "record opened".into(),
        Effect::Await(..) => "await".into(),
        Effect::Spawn(..) => "spawn".into(),
        Effect::StartRuntime => "start runtime".into(),
        Effect::Execute { role, .. } => format!("execute {role:?}"),
        Effect::Interrupt { role, .. } => format!("interrupt {role:?}"),
        Effect::SaveOutputs(_) => "save outputs".into(),
        Effect::ToolsChanged => "tools changed".into(),
        Effect::Notify(role, _) => format!("notify {role:?}"),
        Effect::Raise(event) => event_word(event).into(),
        _ => "other".into(),
    }
}

fn event_word(event: &Event) -> &'static str {
    match event {
        Event::Advance => "advance",
        Event::Free => "free",
        Event::Interrupted => "interrupted",
        Event::Queued(..) => "queued",
        Event::WaitStopped(_) => "wait stopped",
        Event::DeathTold => "death told",
        Event::Found(Found::Cell(_), _) => "found cell",
        Event::BeginTool(ToolCaller::Turn, _) => "begin tool",
        Event::Replied(..) => "replied",
        Event::NextQuestion => "next question",
        Event::CallReturned(_) => "call returned",
        Event::JobOver => "job over",
        _ => "other event",
    }
}

#[test]
fn a_cell_is_in_the_record_before_it_runs() {
    let mut steps = Steps::new();
    assert_eq!(steps.input("1+1"), ["advance"]);
    let begun = ["record input 1", "[1]", "start runtime", "await", "advance"];
    assert_eq!(steps.step(Event::Advance), begun);
    let job = steps.job();
    let written = steps.step(Event::WaitOver(job, Vec::new()));
    assert_eq!(written, ["advance"]);
}

#[test]
fn a_cell_that_is_stopped_while_it_is_recorded_is_interrupted_once_it_runs() {
    let mut steps = Steps::new();
    steps.input("1+1");
    steps.step(Event::Advance);
    assert!(steps.step(Event::Interrupted).is_empty());
    let job = steps.job();
    let written = steps.step(Event::WaitOver(job, Vec::new()));
    assert_eq!(written, ["interrupted", "advance"]);
}

#[test]
fn a_cell_ends_with_its_row_and_the_next_job_begins() {
    let mut steps = Steps::new();
    steps.run_cell("1+1");
    let id = RequestId(1);
    assert_eq!(steps.runtime(RuntimeEvent::Started { id }), ["Started"]);
    assert_eq!(steps.runtime(output(id, "2\n")), ["2"]);
    assert_eq!(steps.input("2+2"), ["advance"]);
    assert!(steps.step(Event::Advance).is_empty(), "one job at a time");
    assert_eq!(steps.step(Event::Interrupted), ["interrupt User"]);
    let ended = steps.runtime(RuntimeEvent::Finished {
        id,
        finish: finish(Ending::Ok),
    });
    assert_eq!(ended, ["record output 1", "Ok", "free"]);
    let free = ["tools changed", "save outputs", "advance"];
    assert_eq!(steps.step(Event::Free), free);
    assert_eq!(steps.step(Event::Advance)[..2], ["record input 2", "[2]"]);
    // Output of what the ended cell left behind.
    assert_eq!(steps.runtime(output(id, "late\n")), ["late 1 late"]);
}

#[test]
fn a_wait_that_was_stopped_has_no_effects_when_it_is_over() {
    let mut steps = Steps::new();
    steps.input("%ipycodex sessions");
    assert_eq!(
        steps.step(Event::Advance),
        ["record input 1", "[1]", "await", "advance"]
    );
    let job = steps.job();
    assert_eq!(steps.step(Event::Interrupted), ["wait stopped"]);
    let late = vec![Effect::show(Notice::note("too late"))];
    assert!(steps.step(Event::WaitOver(job, late)).is_empty());
}

#[test]
fn a_call_from_outside_waits_in_the_queue_and_its_end_ends_the_job() {
    let mut steps = Steps::new();
    let call = ExternalCall {
        id: 1,
        call: ToolCall {
            id: String::new(),
            name: "pyrun".into(),
            arguments: json!({"code": "1"}),
        },
        caller: Caller {
            name: "client".into(),
            asks: false,
            inside: false,
        },
    };
    let out = steps.out.clone();
    assert_eq!(steps.step(Event::ExternalCall(call, out)), ["queued"]);
}

#[test]
fn the_consequences_of_an_answer_come_before_the_next_question() {
    let mut steps = Steps::new();
    steps.input("%ipycodex undo");
    steps.step(Event::Advance);
    let asks = |file: &str| {
        let kept = crate::runtime::SavedVariables::default();
        let requester = crate::approvals::ApprovalRequester::RestoreVariables(file.into());
        Event::Ask(QuestionSubject::Variables(kept), requester)
    };
    assert_eq!(steps.step(asks("first")), ["? 1"]);
    assert!(steps.step(asks("second")).is_empty());
    let yes = Reply::Chosen(QuestionChoice::Once);
    let answered = steps.step(Event::Answered(1, yes));
    assert_eq!(answered, ["record decision", "replied", "next question"]);
    assert_eq!(steps.step(Event::NextQuestion), ["? 2"]);
}
