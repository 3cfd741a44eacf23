//! The scheduler as tables of events and effects.

use super::*;
use crate::Submission;
use crate::cell::CellOrigin;
use crate::events::{EndEvent, SessionEvent};
use crate::output::transcript::TranscriptText;
use crate::replay::{Replay, ReplayPurpose, ReplayStep};
use crate::replay_summary::{ReplayStop, ReplaySummary};
use crate::run::stream;
use crate::runtime::{Death, Ending};

fn result(ending: Ending) -> CellResult {
    CellResult {
        took: Default::default(),
        outputs: Vec::new(),
        kept: None,
        ending,
        shown: TranscriptText::default(),
        images: Vec::new(),
        raised: Some("ValueError: bad".into()),
        leaving: false,
        cwd: None,
    }
}

fn cell(out: &RunSender, replay: Option<Box<ReplayRun>>) -> ActiveJob {
    let run = CellRun::new(CellOrigin::User(1), out.clone());
    ActiveJob::Cell(Box::new(CellJob::new(run, replay)))
}

fn replay(out: RunSender) -> Box<ReplayRun> {
    let step = |line| ReplayStep::Cell {
        source: "x".into(),
        again: Some(line),
        place: None,
        metadata: Default::default(),
    };
    let replay = Replay {
        name: "it".into(),
        steps: (1..=3).map(step).collect(),
        quiet: false,
    };
    let purpose = ReplayPurpose::Again { all: false };
    Box::new(ReplayRun::new(replay, 0, purpose, out))
}

fn word(effect: &Effect) -> &'static str {
    match effect {
        Effect::Interrupt { .. } => "interrupt",
        Effect::Raise(Event::Prompt(_, PromptEvent::Interrupted)) => "stop prompt",
        Effect::Raise(Event::CallStopped) => "stop call",
        Effect::Raise(Event::WaitStopped(_)) => "stopped waiting",
        Effect::Raise(Event::Free) => "free",
        Effect::Emit(To::Run(_), SessionEvent::End(EndEvent::NotRun)) => "not run",
        _ => "other",
    }
}

/// Feeds events to a scheduler whose active job is `holder`; returns a word for each effect.
fn told(
    holder: ActiveJob,
    out: &RunSender,
    events: Vec<SchedulerEvent<'_>>,
) -> (Vec<&'static str>, bool) {
    let mut scheduler = Scheduler::default();
    scheduler.start(holder, out.clone());
    let mut words = Vec::new();
    for event in events {
        words.extend(scheduler.on(event).iter().map(word));
        if scheduler.take_replay().is_some() {
            words.push("go on");
        }
    }
    (words, scheduler.active().is_some())
}

#[test]
fn what_happens_to_each_holder() {
    let (ok, died) = (result(Ending::Ok), result(Ending::Died(Death::Killed)));
    let (out, _run) = stream();
    let command = |firm| ActiveJob::Command { firm };
    let one = || cell(&out, None);
    let step = || cell(&out, Some(replay(out.clone())));
    use SchedulerEvent::{CellDied, CellEnded, DeathTold, Interrupted, Skipped};
    for (holder, events, expected, held) in [
        (one(), vec![CellEnded(&ok)], vec!["free"], false),
        (step(), vec![CellEnded(&ok)], vec!["free", "go on"], false),
        (one(), vec![CellDied(&died)], vec![], true),
        (one(), vec![CellDied(&died), DeathTold], vec!["free"], false),
        (
            step(),
            vec![CellDied(&died), DeathTold],
            vec!["free", "go on"],
            false,
        ),
        // The death of an interpreter unrelated to the cell ends nothing.
        (one(), vec![DeathTold], vec![], true),
        (one(), vec![Interrupted], vec!["interrupt"], true),
        (one(), vec![Skipped], vec![], true),
        (
            step(),
            vec![Skipped, CellEnded(&ok)],
            vec!["interrupt", "free", "go on"],
            false,
        ),
        (
            command(false),
            vec![Interrupted],
            vec!["stopped waiting"],
            false,
        ),
        (
            ActiveJob::Call {
                id: 0,
                caller: String::new(),
                asks: true,
                stopped: false,
                left: false,
                told: None,
            },
            vec![Interrupted, CellEnded(&ok)],
            vec!["stop call"],
            true,
        ),
        (
            command(true),
            vec![Interrupted, Skipped, DeathTold],
            vec![],
            true,
        ),
    ] {
        assert_eq!(told(holder, &out, events), (expected, held));
    }
}

#[test]
fn a_free_floor_hears_nothing() {
    let mut scheduler = Scheduler::default();
    let ok = result(Ending::Ok);
    for event in [
        SchedulerEvent::CellEnded(&ok),
        SchedulerEvent::CellDied(&ok),
        SchedulerEvent::DeathTold,
        SchedulerEvent::Interrupted,
        SchedulerEvent::Skipped,
    ] {
        assert!(scheduler.on(event).is_empty());
    }
}

#[test]
fn work_waits_in_order_and_not_beside_a_holder() {
    let mut scheduler = Scheduler::default();
    let (out, _run) = stream();
    for name in ["a", "b"] {
        let submission = Submission {
            text: name.into(),
            ..Submission::default()
        };
        scheduler.enqueue(QueuedJob::Input(submission), out.clone());
    }
    let next = |scheduler: &mut Scheduler| match scheduler.next() {
        Some((QueuedJob::Input(submission), _)) => Some(submission.text),
        _ => None,
    };
    assert_eq!(next(&mut scheduler).as_deref(), Some("a"));
    let job = scheduler.start(ActiveJob::Command { firm: false }, out.clone());
    assert_eq!(next(&mut scheduler), None);
    assert!(scheduler.finish_wait(job).is_some());
    assert_eq!(next(&mut scheduler).as_deref(), Some("b"));
    // An old job does not end a later job.
    for later in [cell(&out, None), ActiveJob::Command { firm: false }] {
        scheduler.start(later, out.clone());
        assert!(scheduler.finish_wait(job).is_none());
        assert!(scheduler.active().is_some());
    }
}

#[test]
fn a_cell_is_found_by_its_request_and_role() {
    let mut scheduler = Scheduler::default();
    let (out, _run) = stream();
    let job = scheduler.start(cell(&out, None), out.clone());
    scheduler.submitted(job, RequestId(1));
    let (user, shell) = (RuntimeRole::User, RuntimeRole::Shell);
    assert!(scheduler.cell(user, RequestId(1)).is_some());
    assert!(scheduler.cell(user, RequestId(2)).is_none());
    assert!(scheduler.cell(shell, RequestId(1)).is_none());
    assert!(!scheduler.is_suspended(user, RequestId(1)));
}

#[test]
fn a_call_is_left_only_by_its_caller_and_a_cleared_queue_is_empty() {
    let mut scheduler = Scheduler::default();
    let (out, _run) = stream();
    let call = |id| ActiveJob::Call {
        id,
        caller: "x".into(),
        asks: true,
        stopped: false,
        left: false,
        told: None,
    };
    assert!(!scheduler.abandon_call(1));
    assert_eq!(scheduler.caller(), None);
    scheduler.start(call(1), out.clone());
    assert_eq!(scheduler.caller(), Some("x"));
    assert!(!scheduler.abandon_call(2));
    assert!(matches!(
        scheduler.active(),
        Some(ActiveJob::Call { left: false, .. })
    ));
    assert!(scheduler.abandon_call(1));
    assert!(matches!(
        scheduler.active(),
        Some(ActiveJob::Call { left: true, .. })
    ));
    let mut scheduler = Scheduler::default();
    scheduler.enqueue(QueuedJob::Input(Submission::default()), out);
    scheduler.clear();
    assert!(scheduler.next().is_none());
}

/// Plays a replay of three cells with these endings; returns its summary.
fn replayed(endings: &[(Ending, Option<SchedulerEvent<'_>>)]) -> ReplaySummary {
    let (out, _run) = stream();
    let mut held = replay(out.clone());
    for (ending, before) in endings {
        held.next().expect("a step");
        let mut scheduler = Scheduler::default();
        scheduler.start(cell(&out, Some(held)), out.clone());
        let before = match before {
            Some(SchedulerEvent::Skipped) => Some(SchedulerEvent::Skipped),
            Some(_) => Some(SchedulerEvent::Interrupted),
            None => None,
        };
        before.map(|event| scheduler.on(event));
        let ended = result(ending.clone());
        scheduler.on(SchedulerEvent::CellEnded(&ended));
        held = scheduler.take_replay().expect("the replay is handed on");
    }
    assert!(held.next().is_none(), "a step is left");
    match held.end() {
        (Some(Effect::Emit(_, SessionEvent::End(EndEvent::Replay(replayed)))), false) => replayed,
        _ => panic!("no summary"),
    }
}

#[test]
fn the_end_of_a_replay() {
    let ok = || (Ending::Ok, None);
    let check = |endings: &[(Ending, Option<SchedulerEvent<'_>>)], ran, skipped, stopped| {
        let told = replayed(endings);
        assert_eq!((told.ran, told.skipped), (ran, skipped));
        assert_eq!(told.stopped, stopped);
    };
    check(&[ok(), ok(), ok()], 3, 0, None);
    let skip = || (Ending::Interrupted, Some(SchedulerEvent::Skipped));
    check(&[ok(), skip(), ok()], 2, 1, None);
    let stop = || (Ending::Ok, Some(SchedulerEvent::Interrupted));
    let stopped = ReplayStop::Interrupted { line: 0 };
    check(&[ok(), stop()], 1, 0, Some(stopped));
    let error = "ValueError: bad".to_owned();
    let failed = ReplayStop::Failed { line: 0, error };
    check(&[(Ending::Error, None)], 0, 0, Some(failed));
}

#[test]
fn what_the_user_wants_of_a_cell_on_its_way_into_the_record_follows_when_it_runs() {
    let (out, _run) = stream();
    let on_its_way = || {
        let mut scheduler = Scheduler::default();
        let recording = ActiveJob::Recording {
            interrupted: false,
            behind: false,
        };
        let job = scheduler.start(recording, out.clone());
        (scheduler, job)
    };
    let (mut scheduler, job) = on_its_way();
    assert!(matches!(scheduler.finish_wait(job), Some((_, None))));
    assert!(scheduler.active().is_none());
    let (mut scheduler, job) = on_its_way();
    assert!(matches!(scheduler.movable_cell(), MovableCell::Later));
    let wish = scheduler.finish_wait(job).and_then(|(_, wish)| wish);
    assert!(matches!(wish, Some(Event::BackgroundWanted)));
    let (mut scheduler, job) = on_its_way();
    assert!(matches!(scheduler.movable_cell(), MovableCell::Later));
    assert!(scheduler.on(SchedulerEvent::Interrupted).is_empty());
    let wish = scheduler.finish_wait(job).and_then(|(_, wish)| wish);
    assert!(matches!(wish, Some(Event::Interrupted)));
}
