//! The end of a turn and its interruption, beside a process that sends back what it is sent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::*;
use crate::agent_process::{Timeouts, next_of};
use crate::rpc::{Dialect, Launch, RpcMessage};
use crate::turn::tests::request;
use crate::{FailureKind, TurnId};

const TURN: TurnId = TurnId(1);

/// A turn that runs in the thread `T`.
fn current(threads: ThreadMode, cancelled: bool) -> ActiveTurn {
    let mut request = Box::new(request());
    request.settings.threads = threads;
    let mut state = TurnState::new(&request);
    assert!(!state.interrupt_sent && state.running.is_none());
    state.running = Some(RunningTurn::new(TURN, "T".into()));
    ActiveTurn {
        turn: TURN,
        request,
        sent: true,
        cancelled: cancelled.then(Instant::now),
        state,
    }
}

/// A process, and the methods of the requests that `work` sends to it.
fn sent(work: impl FnOnce(&mut AgentProcess)) -> Vec<String> {
    let launch = Launch {
        program: "/bin/cat".into(),
        arguments: Vec::new(),
        variables: BTreeMap::new(),
        cwd: None,
        dialect: Dialect::Bare,
        name: "test".into(),
    };
    let mut process = AgentProcess::spawn(launch, Timeouts::default()).expect("a process");
    work(&mut process);
    process.notify("last", serde_json::Value::Null);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let (mut process, mut methods) = (Some(process), Vec::new());
    while let Some(RpcMessage::Request { method, params, .. }) =
        runtime.block_on(next_of(&mut process))
    {
        assert_eq!(params["threadId"], "T", "{method}");
        methods.push(method);
    }
    if let Some(process) = process {
        process.end(Duration::from_secs(5)).expect("an end");
    }
    methods
}

#[test]
fn only_a_whole_turn_of_a_session_leaves_its_thread() {
    use ThreadMode::{Ephemeral, Session};
    let (clean, leave) = ("thread/backgroundTerminals/clean", "thread/unsubscribe");
    let kept = "finished Some(\"T\")";
    for (threads, cancelled, end, word, methods) in [
        (Session, false, TurnEnd::Completed, kept, vec![]),
        (Session, true, TurnEnd::Completed, kept, vec![]),
        (
            Ephemeral,
            false,
            TurnEnd::Completed,
            "finished None",
            vec![leave],
        ),
        (
            Session,
            true,
            TurnEnd::Interrupted,
            "interrupted",
            vec![clean, leave],
        ),
        (
            Session,
            false,
            TurnEnd::Interrupted,
            "interrupted",
            vec![clean, leave],
        ),
        (
            Session,
            true,
            TurnEnd::Failed(None),
            "interrupted",
            vec![clean, leave],
        ),
        (
            Session,
            false,
            TurnEnd::Failed(None),
            "failed",
            vec![clean, leave],
        ),
        (
            Ephemeral,
            false,
            TurnEnd::Failed(None),
            "failed",
            vec![clean, leave],
        ),
    ] {
        let case = format!("{threads:?} {cancelled} {end:?}");
        let diverged = (!matches!(end, TurnEnd::Completed)).then(|| "T".to_owned());
        let mut told = None;
        let got =
            sent(|process| told = Some(ended(Some(process), current(threads, cancelled), end)));
        let (event, thread) = told.expect("an end");
        let got_word = match event {
            AgentEvent::Finished {
                interrupted: true,
                thread: None,
                ..
            } => "interrupted".to_owned(),
            AgentEvent::Finished {
                interrupted: false,
                thread,
                ..
            } => format!("finished {thread:?}"),
            AgentEvent::Failed { failure, .. } if failure.kind == FailureKind::Upstream => {
                "failed".to_owned()
            }
            other => format!("{other:?}"),
        };
        assert_eq!(
            (got_word.as_str(), thread, got),
            (word, diverged, methods_of(&methods)),
            "{case}"
        );
    }
}

fn methods_of(methods: &[&str]) -> Vec<String> {
    methods.iter().map(|&method| method.to_owned()).collect()
}

#[test]
fn a_cancelled_turn_is_interrupted_once_when_its_id_is_known() {
    let mut turn = current(ThreadMode::Session, false);
    let mut interrupts = |id: Option<&str>, cancelled: bool| {
        let running = turn.state.running.as_mut().expect("it runs");
        running.turn_id = id.map(str::to_owned);
        turn.cancelled = cancelled.then(Instant::now);
        let methods = sent(|process| interrupt(process, &mut turn));
        (methods.len(), turn.state.interrupt_sent)
    };
    assert_eq!(interrupts(Some("t"), false), (0, false), "not cancelled");
    assert_eq!(interrupts(None, true), (0, false), "no id");
    assert_eq!(interrupts(Some("t"), true), (1, true));
    assert_eq!(interrupts(Some("t"), true), (0, true), "once");
}
